# SPDX-License-Identifier: Apache-2.0
"""The Docker that docker/run started, and what the daemon says of it: for the tests of this folder."""
import contextlib
import http.client
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from daemon import wait_for  # noqa: E402

FOLDER = os.path.dirname(os.environ["DOCKER_HOST"].removeprefix("unix://"))
AWAY = (OSError, http.client.HTTPException)  # what a client sees of a front that ends, or is not there yet


def docker(*words, **more):
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True, timeout=120, **more).stdout


def containers():
    return docker("ps", "-aq", "--filter", "label=cay.id").split()


def container_of(box):
    """Once it runs: a sandbox without an init has one when its command begins."""
    return wait_for("a container that runs", lambda: docker("ps", "-q", "--filter", f"label=cay.id={box}").strip())


def dockerd():
    """Its pid as seen from here; it lives in namespaces of its own."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            if words[0].endswith(b"dockerd") and (FOLDER + "/data").encode() in words:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    found[int(pid)] = int(f.read().rpartition(")")[2].split()[1])
    # What it starts has its words too, for a moment.
    return next((pid for pid, parent in found.items() if parent not in found), None)


def answers():
    return subprocess.run(["docker", "version"], capture_output=True, check=False, timeout=120).returncode == 0


@contextlib.contextmanager
def comes_back():
    """Within, dockerd is killed: it is started again as often as it ends, until it answers behind this."""
    again = os.path.join(FOLDER, "again")
    open(again, "x", encoding="utf-8").close()
    try:
        yield
        wait_for("Docker again", answers)
    finally:
        os.unlink(again)


def engines(d):
    return {e["name"]: e for e in d.must(200, "GET", "/api/engines", unix=True, token=False)["engines"]}  # root: reasons in full


def with_docker(d):
    """A daemon is there before its Docker has answered (Silent, in test_once.py): for those who need it at once."""
    wait_for("Docker", lambda: engines(d)["docker"]["up"])
    return d


def try_run(d, box, command):
    """None while there is nobody to be asked."""
    try:
        a = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": command})
    except AWAY:
        return None
    return a.json["stdout"] if a.status == 200 else None
