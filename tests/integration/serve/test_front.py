#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The front's walls, the service around it, and serving without root: one function each. test_front.py [NAME…] runs some of them."""
import contextlib
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import BUILD, CAY, PATIENCE_S, Daemon, run_tests, wait_for  # noqa: E402

SOURCE = os.environ.get("CAY_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
USER = 4243


class Wrapped(Daemon):
    """Started through another program (setpriv, say), which becomes it."""

    def __init__(self, *flags, before=(), owner=None, **more):
        super().__init__(*flags, **more)
        self.before = before
        if owner is not None:
            os.chown(self.folder, owner, owner)
            os.chmod(self.folder, 0o755)

    def start(self):
        env = {"PATH": "/usr/bin:/bin", "HOME": self.folder, **self.env}
        with open(os.path.join(self.folder, "out"), "wb") as out, open(os.path.join(self.folder, "err"), "ab") as err:
            process = subprocess.Popen(
                [*self.before, CAY, "serve", "--data", os.path.join(self.folder, "data"), "--listen", "127.0.0.1:0", *self.flags],
                stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=env)
        return self.adopt(process)


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def is_sanitized(d):
    return "sanitizer build" in d.log()


def use(d):
    """A sandbox's life: what every kind of service must be able to do."""
    box = d.make(limits={"memory": "128m"})
    assert d.run(box, "id -u; echo hi")["stdout"] == "1001\nhi\n"
    d.must(200, "PUT", f"/api/sandboxes/{box}/files?path=a", b"abc")
    assert d.must(200, "GET", f"/api/sandboxes/{box}/files?path=a") == b"abc"
    d.must(200, "GET", f"/api/sandboxes/{box}/archive?path=.")
    r, c = d.begin("POST", f"/api/sandboxes/{box}/execute", {"command": "echo a; echo b >&2", "stream": True})
    text = r.read()
    c.close()
    assert b'"exited"' in text, text
    d.must(200, "GET", f"/api/sandboxes/{box}/stats")
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert d.run(box, ["echo", "again"])["stdout"] == "again\n"
    return box


def test_walls():
    """The real front has its filter, in every thread, and lives well behind it."""
    with Daemon("--rate-limit", "0", "--log-level", "debug") as d:
        front = d.child("cay-front")
        if is_sanitized(d):
            print("  sanitizer build: no filter to look at")
        else:
            for thread in os.listdir(f"/proc/{front}/task"):
                s = status_of(f"{front}/task/{thread}")
                assert s["Seccomp"] == "2" and s["NoNewPrivs"] == "1", s
        d.must(200, "DELETE", f"/api/sandboxes/{use(d)}")
        assert "landlock" in d.log(), d.log()
        assert d.child("cay-front") == front


def test_denied_call_is_told():
    """A forbidden call (put in by a tracer) ends the front; the log names it, the keeper says so, the next front serves."""
    if not shutil.which("strace"):
        print("  skipped: strace is not installed")
        return
    with Daemon("--rate-limit", "0") as d:
        if is_sanitized(d):
            print("  sanitizer build: no filter to run into")
            return
        d.check_log = lambda: None  # this front is meant to fall
        front, box = d.child("cay-front"), d.make()
        tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(front), "-e", "inject=accept4:error=EAGAIN:syscall=getpgrp"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for("the tracer", lambda: status_of(front)["TracerPid"] == str(tracer.pid))

            def fell():  # one that is traced is not yet one whose calls are looked at: knocked at until it opens
                socket.create_connection(("127.0.0.1", d.port), timeout=PATIENCE_S).close()
                return "the front is back" in d.log()

            wait_for("another front", fell)
        finally:
            tracer.kill()
            tracer.wait(PATIENCE_S)
        log = d.log()
        assert "a forbidden system call ended the front call=getpgrp" in log, log
        assert "what its filter forbids" in log and "status=159" in log, log
        assert d.child("cay-front") != front
        assert d.run(box, ["echo", "alive"])["stdout"] == "alive\n"
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_request_that_ends_fronts():
    """At the second crash the same client's requests to the same route are refused; other routes and other clients are served."""
    if not shutil.which("strace"):
        print("  skipped: strace is not installed")
        return
    with Daemon("--rate-limit", "0") as d:
        if is_sanitized(d):
            print("  sanitizer build: no filter to run into")
            return
        d.check_log = lambda: None  # these fronts are meant to fall
        box = d.make()
        for count in (1, 2):
            front = d.child("cay-front")
            tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(front), "-e", "trace=getrandom",
                                       "-e", "inject=getrandom:error=EAGAIN:syscall=getpgrp"],  # what every request does, at its beginning
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_for("the tracer", lambda p=tracer, f=front: status_of(f)["TracerPid"] == str(p.pid))

                def fell(count=count):
                    with contextlib.suppress(OSError, http.client.HTTPException):
                        d.ask("GET", "/api/templates/host")
                    return d.log().count("the front is back") == count

                wait_for("another front", fell)
            finally:
                tracer.kill()
                tracer.wait(PATIENCE_S)
        said = [line for line in d.log().splitlines() if "GET /api/templates/host of 127.0.0.1" in line]
        assert len(said) == 2 and "refused for a while" in said[1], said
        refused = d.ask("GET", "/api/templates/host")
        assert refused.status == 503 and "crashed the daemon's front twice" in refused.json["error"]["message"], refused
        assert refused.headers["X-Request-Id"] == refused.json["error"]["request_id"], refused.headers
        d.must(200, "GET", "/api/templates")
        d.must(200, "GET", "/api/templates/host", token=None, unix=True)
        assert d.run(box, ["echo", "alive"])["stdout"] == "alive\n"
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ids_of_their_own():
    """Fronts of two daemons can't signal each other or open each other's files: no two have the same id, in whatever order they start."""
    def uid(d):
        ids = set(status_of(d.child("cay-front"))["Uid"].split())
        assert len(ids) == 1 and ids != {"0"}, ids
        return ids.pop()

    with Daemon("--rate-limit", "0") as a:
        with Daemon("--rate-limit", "0") as b:
            ids = {uid(a), uid(b)}
            assert len(ids) == 2, ids
            box = use(b)
            first = uid(b)
            b.stop()
            # as if an earlier version had made it: the folder and all in it are of the id that the other one has
            state = os.path.join(b.folder, "data", "state")
            for folder, folders, files in os.walk(state):
                for name in [".", *folders, *files]:
                    os.chown(os.path.join(folder, name), int(uid(a)), int(uid(a)))
            b.start()
            assert uid(b) != uid(a) and os.stat(state).st_uid == int(uid(b)), (uid(a), uid(b), first)
            b.must(200, "POST", f"/api/sandboxes/{box}/start")
            assert b.run(box, ["echo", "alive"])["stdout"] == "alive\n"
            os.kill(b.child("cay-front"), 9)
            before = os.stat(state).st_uid
            wait_for("the next front", lambda: "the front is back" in b.log())
            assert uid(b) == str(before) and uid(b) != uid(a)
            b.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_deaths_end_no_sandbox():
    """However often fronts die, served or not, the keeper goes on and so do the sandboxes."""
    def back(count):
        return lambda: d.log().count("the front is back") == count

    with Daemon("--rate-limit", "0") as d:
        box = d.make()
        long = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["sleep", "1000"], "background": True})["exec_id"]
        keeper = d.process.pid
        for i in range(15):  # fronts that served
            os.kill(d.child("cay-front"), 9)
            wait_for("the next front", back(i + 1))
        assert d.run(box, ["echo", "alive"])["stdout"] == "alive\n"
        d.check_log()
        d.check_log = lambda: None  # the next ones are meant to fail
        # fronts that do not get so far: their state is not readable for a while
        state, away = os.path.join(d.folder, "data", "state"), os.path.join(d.folder, "data", "away")
        os.rename(state, away)
        with open(state, "wb"):
            pass
        os.kill(d.child("cay-front"), 9)
        wait_for("fronts that fail", lambda: d.log().count("the front ended before it was ready") >= 2)
        os.unlink(state)
        os.rename(away, state)
        wait_for("the next front", back(16))
        assert d.process.pid == keeper and d.process.poll() is None
        assert d.must(200, "GET", f"/api/sandboxes/{box}/execs/{long}")["status"] == "running"
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_start_after_kill():
    """A daemon that is started while the one before, which was killed, is still on its way out: it waits for it and serves. One that lives keeps
    its folder."""
    with Daemon("--rate-limit", "0") as d:
        box = d.make()
        d.must(200, "PUT", f"/api/sandboxes/{box}/files?path=a", b"abc")
        for _ in range(5):
            before, port = d.process, d.port
            before.kill()
            d.flags = ("--rate-limit", "0", "--listen", f"127.0.0.1:{port}")  # the same place, as a service has it
            d.start()
            before.wait(PATIENCE_S)
            d.start_again(box)
            assert d.must(200, "GET", f"/api/sandboxes/{box}/files?path=a") == b"abc"
        second = subprocess.run([CAY, "serve", "--data", os.path.join(d.folder, "data"), "--listen", "127.0.0.1:0"], capture_output=True,
                                text=True, timeout=PATIENCE_S, check=False)
        assert second.returncode != 0 and f"another cay serve (pid {d.process.pid})" in second.stderr, second
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ceiling():
    """The operator's maxima are the warden's own: an admin and a default above them get no sandbox, and are told the setting's name."""
    with Daemon("--rate-limit", "0", "--hard-memory", "256m", "--default-memory", "128m", "--hard-disk", "64m", "--default-disk", "32m",
                "--max-sandboxes", "2") as d:
        box = d.make(limits={"memory": "256m", "disk": "64m"})
        for limits, key in (({"memory": "257m"}, "hard_memory"), ({"disk": "65m"}, "hard_disk")):
            a = d.ask("POST", "/api/sandboxes", {"limits": limits}, token=None, unix=True)  # root, who is admin
            assert a.status == 400 and key in a.json["error"]["message"], a
        other = d.make()
        assert d.ask("POST", "/api/sandboxes", {}).status == 429
        for one in (box, other):  # room again at once
            d.must(200, "DELETE", f"/api/sandboxes/{one}")
            d.make()


def test_without_landlock():
    with Daemon("--rate-limit", "0", env={"CAY_TEST_NO": "landlock"}) as d:
        if "has no landlock" not in d.log():
            print("  skipped: needs a build with test hooks")
            return
        d.must(200, "DELETE", f"/api/sandboxes/{use(d)}")


def test_readiness():
    """What systemd is told, and when: nothing before requests are answered."""
    folder = tempfile.mkdtemp(prefix="cay-notify-")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(os.path.join(folder, "notify"))
            told.settimeout(PATIENCE_S)
            with Daemon(env={"NOTIFY_SOCKET": os.path.join(folder, "notify")}) as d:
                assert told.recv(100) == b"READY=1"
                d.must(200, "GET", "/api/version")
            assert told.recv(100) == b"STOPPING=1"
    finally:
        shutil.rmtree(folder)


def unit_text():
    with open(os.path.join(SOURCE, "packaging", "cay.service.in"), encoding="utf-8") as f:
        return f.read().replace("@BINDIR@", BUILD)


def test_unit():
    """systemd reads it without complaint, and the daemon does its work with what it leaves of root."""
    text = unit_text()
    if shutil.which("systemd-analyze"):
        folder = tempfile.mkdtemp(prefix="cay-unit-")
        try:
            with open(os.path.join(folder, "cay.service"), "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", os.path.join(folder, "cay.service")], check=False,
                                  capture_output=True, text=True, timeout=PATIENCE_S)
            ours = [line for line in done.stderr.splitlines() if "cay.service" in line]
            assert done.returncode == 0 and not ours, done
        finally:
            shutil.rmtree(folder)
    else:
        print("  systemd-analyze is not installed: the unit was not read by systemd")
    for line in ("Type=notify", "Delegate=yes", "KillMode=mixed", "NoNewPrivileges=yes", "WantedBy=multi-user.target"):
        assert f"\n{line}\n" in text, line
    caps = re.search(r"^CapabilityBoundingSet=(.*)$", text, re.M).group(1).lower().replace("cap_", "").split()
    bound = ",".join(["-all"] + ["+" + c for c in caps])
    with Wrapped("--rate-limit", "0", before=["setpriv", "--no-new-privs", "--bounding-set", bound, "--inh-caps=-all"]) as d:
        box = use(d)
        d.must(200, "POST", f"/api/sandboxes/{box}/pause")
        d.must(200, "POST", f"/api/sandboxes/{box}/resume")
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_rootless():
    """An ordinary user's own daemon: the same operations, but for what the machine does not give a user."""
    with Wrapped("--rate-limit", "0", owner=USER, before=["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
                                                         "--inh-caps=-all"]) as d:
        front = d.child("cay-front")
        s = status_of(front)
        assert s["Uid"].split() == [str(USER)] * 4 and int(s["CapEff"], 16) == 0 and s["NoNewPrivs"] == "1", s
        assert is_sanitized(d) or s["Seccomp"] == "2", s
        boxes = [use(d), use(d)]
        paused = d.ask("POST", f"/api/sandboxes/{boxes[0]}/pause")  # freezing needs a control group of one's own
        assert paused.status == 200 or (paused.status == 422 and paused.json["error"]["code"] == "unsupported"), paused
        if paused.status == 200:
            d.must(200, "POST", f"/api/sandboxes/{boxes[0]}/resume")
        else:  # why, and what helps
            said = paused.json["error"]["message"]
            assert "cgroup2 group of its own" in said and "Delegate=yes" in said and "box_freeze" not in said, paused
        got = d.must(200, "GET", f"/api/sandboxes/{boxes[0]}")
        assert isinstance(got["limits_skipped"], list) and isinstance(got["limits_watched"], list), got
        for a in (d.must(422, "POST", "/api/sandboxes", {"volumes": ["data:/data"]}), d.must(422, "GET", "/api/volumes")):
            assert "volumes" in a["error"]["message"], a  # images need loop devices
        # Files are in memory and go with their box: what copies them is refused with this reason, and nothing has changed.
        at = f"/api/sandboxes/{boxes[0]}"
        for method, path, body in (("POST", f"{at}/snapshots", {"name": "base"}), ("POST", f"{at}/fork", {"count": 2}),
                                   ("POST", "/api/sandboxes", {"checkpoint": True}), ("POST", "/api/sandboxes", {"record": True}),
                                   ("POST", f"{at}/execute", {"command": "touch /workspace/never", "checkpoint": True})):
            a = d.must(422, method, path, body)["error"]
            assert a["code"] == "unsupported" and "only root has" in a["message"] and "root" in a["message"], a
        assert d.run(boxes[0], "ls /workspace/never")["exit_code"] != 0
        assert "has no steps" in d.must(404, "POST", f"{at}/undo", {})["error"]["message"]
        assert d.must(200, "GET", "/api/snapshots")["snapshots"] == []
        assert len(d.must(200, "GET", "/api/sandboxes")["sandboxes"]) == 2
        # Without a control group nothing can sleep: it goes on instead, and is tried again no more often than it would sleep.
        sleeper = d.must(201, "POST", "/api/sandboxes", {"sleep_after_s": 1})["sandbox_id"]
        time.sleep(4)
        s = d.must(200, "GET", f"/api/sandboxes/{sleeper}")
        assert (s["status"], s["asleep"]) in (("ready", False), ("paused", True)), s
        assert d.run(sleeper, "echo on")["stdout"] == "on\n"
        assert len(d.must(200, "GET", f"/api/sandboxes/{sleeper}/events")["events"]) < 12
        d.must(200, "DELETE", f"/api/sandboxes/{sleeper}")
        back = d.must(202, "POST", f"/api/sandboxes/{boxes[1]}/execute", {"command": ["sleep", "1000"], "background": True})
        os.kill(front, 9)
        wait_for("the next front", lambda: "the front is back" in d.log())
        assert d.must(200, "GET", f"/api/sandboxes/{boxes[1]}/execs/{back['exec_id']}")["status"] == "running"
        for box in boxes:
            d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_many_adopted():
    """The next front asks the warden about all of them at once: more than a socket holds."""
    with Daemon("--rate-limit", "0", "--max-sandboxes", "300") as d:
        boxes = [d.make() for _ in range(200)]
        os.kill(d.child("cay-front"), 9)
        wait_for("the next front", lambda: "the front is back" in d.log())
        assert "adopted=200 lost=0" in d.log() and "is gone" not in d.log(), d.log()[-2000:]
        d.must(200, "GET", "/api/health/ready")
        assert d.must(200, "POST", f"/api/sandboxes/{boxes[-1]}/execute", {"command": ["true"]})["exit_code"] == 0
        assert d.must(200, "POST", "/api/sandboxes/cleanup", {"template": "host"})["destroyed"] == 200


def main():
    run_tests(globals())


if __name__ == "__main__":
    main()
