#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Upgrades of a daemon that runs: SIGUSR2 replaces its programs, and what runs in sandboxes does not notice."""
import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import daemon  # noqa: E402
from daemon import BUILD, Daemon, children, is_alive, ready_again, wait_for  # noqa: E402

PROGRAMS = ("cay", "cay-warden", "cay-front", "cay-init", "cay-net")


def install(place, names=PROGRAMS):
    """As a package would: other files take the programs' places."""
    for name in names:
        shutil.copy2(os.path.join(BUILD, name), f"{place}/{name}.next")
        os.rename(f"{place}/{name}.next", f"{place}/{name}")


def program(pid):
    try:
        st = os.stat(f"/proc/{pid}/exe")
    except OSError:
        return None
    return st.st_ino


def inode(path):
    return os.stat(path).st_ino


def count_files(d):
    """That the warden and the keeper have open."""
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (d.child("cay-warden"), d.process.pid)]


def upgrade(d, place):
    """All three are the new files, and none but the front is another process."""
    keeper, warden, front = d.process.pid, d.child("cay-warden"), d.child("cay-front")
    inits = sorted(p for p, _ in children(warden))
    install(place)
    os.kill(keeper, signal.SIGUSR2)

    def done():
        fronts = [p for p, comm in children(keeper) if comm == "cay-front"]
        return (program(keeper) == inode(f"{place}/cay") and program(warden) == inode(f"{place}/cay-warden")
                and len(fronts) == 1 and fronts[0] != front and program(fronts[0]) == inode(f"{place}/cay-front"))

    wait_for("three new programs", done)
    ready_again(d)
    assert d.process.poll() is None and d.child("cay-warden") == warden
    assert sorted(p for p, _ in children(warden)) == inits, (inits, children(warden))
    return inits


def output(d, box, exec_id, cursor=0):
    """All that it printed from there on, and its end."""
    r, c = d.begin("GET", f"/api/sandboxes/{box}/execs/{exec_id}/output?from={cursor}")
    out, last = b"", None
    for line in r:
        if not line.strip():
            continue
        last = json.loads(line)
        if last["event"] == "stdout":
            out += last["text"].encode() if "text" in last else base64.b64decode(last["base64"])
    c.close()
    return out, last


def test_twice(d, place):
    box, paused, stopped = d.make(name="busy"), d.make(name="paused"), d.make(name="stopped")
    d.must(200, "POST", f"/api/sandboxes/{stopped}/stop")
    back = d.must(202, "POST", f"/api/sandboxes/{box}/execute",
                  {"command": "i=0; while ! test -e enough; do i=$((i + 1)); echo line $i; sleep 0.02; done", "background": True})
    held = d.must(202, "POST", f"/api/sandboxes/{paused}/execute",
                  {"command": "while ! test -e go; do sleep 0.05; done; echo went", "background": True})
    limits = d.must(200, "GET", f"/api/sandboxes/{box}")["limits"]
    d.must(200, "POST", f"/api/sandboxes/{paused}/pause")
    inits = upgrade(d, place)
    assert len(inits) == 2, inits
    fds = count_files(d)
    states = [d.must(200, "GET", f"/api/sandboxes/{b}")["status"] for b in (box, paused, stopped)]
    assert states == ["busy", "paused", "stopped"], states
    upgrade(d, place)
    wait_for(f"no more than {fds} descriptors", lambda: all(now <= then for now, then in zip(count_files(d), fds)))

    d.run(box, ["touch", "enough"])
    out, last = output(d, box, back["exec_id"])
    count = out.count(b"\n")
    assert count > 0 and out == b"".join(b"line %d\n" % i for i in range(1, count + 1)), (len(out), out[-100:])
    assert last["event"] == "exited" and last["exit_code"] == 0, last
    d.must(200, "POST", f"/api/sandboxes/{paused}/resume")

    def went():  # cay-init has two links to look at first; until then the answer is "try again"
        a = d.ask("POST", f"/api/sandboxes/{paused}/execute", {"command": ["touch", "go"]})
        assert a.status in (200, 503), a
        return a.status == 200

    wait_for("the one that was paused", went)
    assert output(d, paused, held["exec_id"])[0] == b"went\n"

    # What the first warden made is the third one's: limits, figures, ends, and the unmaking.
    got = d.must(200, "GET", f"/api/sandboxes/{box}")
    assert got["limits"] == limits and got["limits_skipped"] == [], got
    small = d.make(limits={"memory": "32m"}, name="small", volumes=["over:/over"])
    d.run(small, "echo kept > /over/f")
    upgrade(d, place)
    beside = d.make(name="beside", volumes=["over:/over"])  # the same mount, of the earlier warden's
    assert d.run(beside, "cat /over/f; echo more >> /over/f")["stdout"] == "kept\n"
    assert d.run(small, "cat /over/f")["stdout"] == "kept\nmore\n"
    d.must(200, "DELETE", f"/api/sandboxes/{beside}")
    ran = d.run(small, ["python3", "-c", "x = bytearray(100 << 20)"])
    assert ran["cause"] in ("memory", "oom") or ran["exit_code"] != 0, ran
    assert d.must(200, "GET", f"/api/sandboxes/{box}/stats")["pids"] >= 0
    init = next(p for p in sorted(p for p, _ in children(d.child("cay-warden"))) if p in inits)
    os.kill(init, signal.SIGKILL)  # one that the first warden made ends by itself

    def gone():
        found = [d.must(200, "GET", f"/api/sandboxes/{b}") for b in (box, paused)]
        return next((b for b in found if b["status"] == "error"), None)

    lost = wait_for("its end", gone)
    assert lost["cause"], lost
    d.must(200, "POST", f"/api/sandboxes/{stopped}/start")
    assert d.run(stopped, ["true"])["exit_code"] == 0
    for b in (box, paused, stopped, small):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def test_refused(d, place):
    """Something is wrong with the new programs: the old ones go on, and say why."""
    box = d.make()
    pids = d.process.pid, d.child("cay-warden"), d.child("cay-front")

    def refuse(reason):
        before = d.log().count("upgrade refused")
        os.kill(d.process.pid, signal.SIGUSR2)
        wait_for("a refusal", lambda: d.log().count("upgrade refused") > before)
        line = [x for x in d.log().splitlines() if "upgrade refused" in x][-1]
        assert reason in line, (reason, line)
        assert (d.process.pid, d.child("cay-warden"), d.child("cay-front")) == pids
        assert d.run(box, ["echo", "on"])["stdout"] == "on\n"

    for name in ("cay-warden", "cay"):
        os.rename(f"{place}/{name}", f"{place}/away")
        refuse("is missing")
        with open(f"{place}/{name}", "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexit 0\n")
        os.chmod(f"{place}/{name}", 0o755)
        refuse("cannot take over")
        os.rename(f"{place}/away", f"{place}/{name}")
    os.rename(f"{place}/cay-init", f"{place}/away")
    refuse("cannot take over")
    os.rename(f"{place}/away", f"{place}/cay-init")
    upgrade(d, place)
    assert d.run(box, ["echo", "on"])["stdout"] == "on\n"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


class Squatter(threading.Thread):
    """Wants a port, and is shown what its clients send as soon as it is free for a moment."""
    def __init__(self, port):
        super().__init__()
        self.port, self.over, self.got = port, threading.Event(), False

    def run(self):
        while not self.over.wait(0.0002) and not self.got:
            with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", self.port)):
                self.got = True


def test_clients_wait(d, place):
    """Who calls while there is no front is answered by the next one; a port that stands for a sandbox is nobody else's meanwhile."""
    made = d.must(201, "POST", "/api/sandboxes", {"ports": [18765]})
    box, squatter = made["sandbox_id"], Squatter(made["ports"][0]["host"])
    install(place)
    front = d.child("cay-front")
    squatter.start()
    os.kill(d.process.pid, signal.SIGUSR2)
    wait_for("the front's end", lambda: front not in [p for p, _ in children(d.process.pid)])

    def answered():
        a = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": ["echo", "late"]})
        assert a.status in (200, 503), a  # 503: it is there, and is taking stock
        return a.json["stdout"] if a.status == 200 else None

    assert wait_for("an answer", answered) == "late\n"
    wait_for("the new keeper", lambda: program(d.process.pid) == inode(f"{place}/cay"))
    ready_again(d)
    squatter.over.set()
    squatter.join()
    assert not squatter.got and d.must(200, "GET", f"/api/sandboxes/{box}")["ports"] == made["ports"]
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_warden_killed(d, place):
    """After an upgrade as before it: with the warden go its boxes, a paused one too, each with a cause; the next warden serves."""
    box, paused = d.make(), d.make()
    d.must(200, "POST", f"/api/sandboxes/{paused}/pause")
    inits = upgrade(d, place)
    warden = d.child("cay-warden")
    os.kill(warden, signal.SIGKILL)
    wait_for("their processes' end", lambda: not any(map(is_alive, inits)))

    def lost():
        try:
            got = [d.ask("GET", f"/api/sandboxes/{b}") for b in (box, paused)]
        except OSError:
            return None
        return got if all(a.status == 200 and a.json["status"] == "error" for a in got) else None

    for a in wait_for("the sandboxes' end", lost):
        assert a.json["cause"] == "engine_lost" and a.json["cause_text"], a
    wait_for("another warden", lambda: d.child("cay-warden") != warden)
    d.start_again(box)
    assert d.run(box, ["true"])["exit_code"] == 0
    upgrade(d, place)
    for b in (box, paused):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def main():
    place = tempfile.mkdtemp(prefix="cay-programs-")
    os.chmod(place, 0o755)
    install(place)
    daemon.CAY = f"{place}/cay"
    try:
        with Daemon("--rate-limit", "0") as d:
            for test in (test_twice, test_refused, test_clients_wait, test_warden_killed):
                if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
                    print(test.__name__, flush=True)
                    test(d, place)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
