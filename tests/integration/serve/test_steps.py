#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps: the files of a sandbox as they were before each command, listed, gone back to, thinned, removed with their sandbox. On a layer
pool where the machine can have one, else on copies. test_steps.py [NAME…] runs some of the tests."""
import os
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, ready_again, wait_for  # noqa: E402

MAX, RECENT = 50, 20  # CAY_STEPS_MAX, CAY_STEPS_RECENT


def steps(d, box):
    got = d.must(200, "GET", f"/api/sandboxes/{box}/steps")
    assert got["count"] == len(got["steps"])
    return got["steps"]


def undo(d, box, status=200, **fields):
    return d.must(status, "POST", f"/api/sandboxes/{box}/undo", fields)


def remove(d, *boxes):
    for box in boxes:
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def snapshots(d):
    return d.must(200, "GET", "/api/snapshots?limit=1000")["snapshots"]


def environment(d):
    return dict(d.environment(), CAY_URL="unix:" + os.path.join(d.folder, "data", "cay.sock"))


def cay(d, *argv):
    return subprocess.run([os.path.join(os.environ["CAY_BUILD_DIR"], "cay"), *argv], env=environment(d), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)


def test_undo(d):
    """A step before each command; going back, and back again; what ran is ended and told."""
    box = d.make(checkpoint=True)
    assert steps(d, box) == []
    assert "no steps" in undo(d, box, 404)["error"]["message"]
    for i in range(3):
        d.run(box, f"echo {i} > /workspace/f")
    got = steps(d, box)
    assert [s["step"] for s in got] == [3, 2, 1] and got[0]["before"] == "echo 2 > /workspace/f", got
    assert all(s["method"] == got[0]["method"] and s["status"] == "ready" for s in got)
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["sleep", "1000"], "background": True})
    assert steps(d, box)[0]["before"] == "sleep 1000"
    r = undo(d, box, step=2)
    assert r["step"] == 2 and r["kept_as"] == 5 and r["commands_ended"] == 1 and r["processes"] is False and r["status"] == "ready", r
    assert steps(d, box)[0]["before"] == "undo to step 2"
    assert d.run(box, "cat /workspace/f; pgrep sleep; true")["stdout"] == "0\n"
    undo(d, box, step=5)
    assert d.run(box, "cat /workspace/f")["stdout"] == "2\n"
    undo(d, box, 404, step=77)
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    r = undo(d, box, step=1)
    assert r["status"] == "stopped" and r["commands_ended"] == 0, r
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert "No such file" in d.run(box, "cat /workspace/f")["stderr"]
    # a sandbox of its own from a step
    one = d.make(snapshot=got[0]["snapshot_id"])
    assert d.run(one, "cat /workspace/f")["stdout"] == "1\n"
    kinds = [e["kind"] for e in d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000")["events"]]
    assert kinds.count("sandbox_undone") == 3 and kinds.count("step_made") == len(steps(d, box)), kinds
    assert snapshots(d) == []  # steps are none
    remove(d, box, one)


def diff(d, box, status=200, **fields):
    got = d.must(status, "POST", f"/api/sandboxes/{box}/diff", fields)
    return got if status != 200 else {(c["change"], c["name"]) for c in got["changes"]}


def test_diff(d):
    """What a command changed, found by content and not by time; between steps, and since one."""
    box = d.make(checkpoint=True)
    d.run(box, "mkdir -p d/e; for f in keep change gone; do echo 1 > d/$f; done; ln -s a link; echo same > touched; echo 1 > d/e/x; "
               "chmod 600 d/e/x; ln -s / root")
    d.run(box, "echo 2 > d/change; rm d/gone; echo 1 > new; ln -sfn b link; echo same > touched; mkdir empty; mv d/e moved; chmod 600 d/keep")
    want = {("changed", "/workspace/d/change"), ("changed", "/workspace/d/keep"), ("removed", "/workspace/d/gone"),
            ("added", "/workspace/new"), ("changed", "/workspace/link"), ("added", "/workspace/empty"),
            ("removed", "/workspace/d/e"), ("added", "/workspace/moved"), ("added", "/workspace/moved/x")}
    assert diff(d, box) == want, diff(d, box) ^ want
    r = d.run(box, "echo x > /etc/cay-new && rm /etc/nsswitch.conf && echo y >> /etc/hosts && "
                   "rm /usr/bin/cmp && cat /usr/bin/comm > /tmp/x && cat /tmp/x > /usr/bin/comm && rm /tmp/x && echo z > /usr/bin/cay-new", user="root")
    assert r["exit_code"] == 0, r
    since_first = diff(d, box, **{"from": 2, "to": 3})
    assert since_first == want, since_first ^ want
    now = diff(d, box)
    assert now == {("added", "/etc/cay-new"), ("removed", "/etc/nsswitch.conf"), ("changed", "/etc/hosts"), ("removed", "/usr/bin/cmp"),
                   ("changed", "/usr/bin/comm"), ("added", "/usr/bin/cay-new")}, now
    assert len(diff(d, box, **{"from": 1, "limit": 2})) == 2
    assert d.must(200, "POST", f"/api/sandboxes/{box}/diff", {"from": 1, "limit": 2})["more"] is True
    diff(d, box, 404, **{"from": 77})
    diff(d, box, 400, **{"from": 2, "to": 2})
    assert [b["sandbox_id"] for b in d.must(200, "GET", "/api/sandboxes")["sandboxes"]] == [box]
    assert snapshots(d) == []
    remove(d, box)


def test_one_command(d):
    """A step for the command that asks for it alone; one that cannot have it does not run."""
    box = d.make()
    d.run(box, "echo a > /workspace/f")
    d.run(box, "echo b > /workspace/f", checkpoint=True)
    assert [s["before"] for s in steps(d, box)] == ["echo b > /workspace/f"]
    undo(d, box)
    assert d.run(box, "cat /workspace/f")["stdout"] == "a\n"
    undo(d, box)  # the newest is what it was before that
    assert d.run(box, "cat /workspace/f")["stdout"] == "b\n"
    remove(d, box)


def run_code(d, box, code, status=200, **fields):
    return d.must(status, "POST", f"/api/sandboxes/{box}/contexts/python/run", {"code": code, **fields})


def test_contexts(d):
    """Code in a context makes a step as a command does: listed with its code, compared, undone; the interpreter's start makes none."""
    box = d.make(checkpoint=True)
    assert run_code(d, box, "x = 1\nopen('/workspace/f', 'w').write('1')")["error"] is None
    run_code(d, box, "open('/workspace/f', 'w').write(str(x + 1))")
    got = [s["before"] for s in steps(d, box)]
    assert got == ["python: open('/workspace/f', 'w').write(str(x + 1))", "python: x = 1\nopen('/workspace/f', 'w').write('1')"], got
    assert diff(d, box) == {("changed", "/workspace/f")}
    assert undo(d, box)["commands_ended"] == 1
    assert d.run(box, "cat /workspace/f")["stdout"] == "1"
    a = run_code(d, box, "x", 409)
    assert "restart it" in a["error"]["message"], a
    # Two at once have one interpreter: the second is refused, and makes no step. One alone asks for it, in a sandbox without.
    other = d.make()
    run_code(d, other, "1")
    assert run_code(d, other, "open('/workspace/g', 'w').write('1')", checkpoint=True)["error"] is None
    assert [s["before"] for s in steps(d, other)] == ["python: open('/workspace/g', 'w').write('1')"]
    events = d.ask("POST", f"/api/sandboxes/{other}/contexts/python/run", {"code": "print(7)", "checkpoint": True, "stream": True})
    assert events.status == 200 and b'"7\\n"' in events.body and len(steps(d, other)) == 2, events
    remove(d, box, other)


def test_at_once(d):
    """Commands at the same time: each has its step, and each of these is whole."""
    box = d.make(checkpoint=True)
    threads = [threading.Thread(target=lambda i=i: d.run(box, f"echo {i} > /workspace/f{i}; cat /workspace/f{i}")) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    got = steps(d, box)
    assert sorted(s["step"] for s in got) == list(range(1, 7)), got
    assert d.run(box, "cat /workspace/f? | sort | tr -d '\\n'")["stdout"] == "012345"
    remove(d, box)


def test_thinned(d):
    """The first and the newest stay; never more than the maximum; all go with their sandbox."""
    box = d.make(checkpoint=True, limits={"disk": "20m"})
    for i in range(MAX + 5):
        d.run(box, "true")
    wait_for("the thinning", lambda: len(steps(d, box)) <= MAX)
    numbers = [s["step"] for s in steps(d, box)]
    assert numbers[:RECENT] == list(range(MAX + 5, MAX + 5 - RECENT, -1)) and numbers[-1] == 1, numbers
    gone = [e["detail"]["why"] for e in d.must(200, "GET", f"/api/sandboxes/{box}/events?kind=snapshot_removed")["events"]]
    assert gone and set(gone) == {"thinned"}, gone
    any_step = steps(d, box)[0]["snapshot_id"]
    remove(d, box)
    wait_for("the steps to go", lambda: d.ask("GET", f"/api/snapshots/{any_step}").status == 404)


def test_many_snapshots(d):
    """Of one sandbox: all listed once, the first and the last whole; and what was made of one stays when that is removed."""
    box = d.make(limits={"disk": "20m"})
    ids = []
    for i in range(100):
        d.run(box, f"echo {i} > /workspace/f")
        ids.append(d.must(201, "POST", f"/api/sandboxes/{box}/snapshots", {})["snapshot_id"])
    assert [s["snapshot_id"] for s in snapshots(d)] == ids[::-1]
    made = [d.make(snapshot=s) for s in (ids[0], ids[50], ids[-1])]
    remove(d, box)
    for s in ids:
        d.must(200, "DELETE", f"/api/snapshots/{s}")
    assert [d.run(one, "cat /workspace/f")["stdout"] for one in made] == ["0\n", "50\n", "99\n"]
    remove(d, *made)
    assert snapshots(d) == []


def test_restart(d):
    """Steps survive the front and the daemon; those of a sandbox that went meanwhile do not."""
    box, other = d.make(checkpoint=True), d.make(checkpoint=True)
    for b in (box, other):
        d.run(b, "echo 1 > /workspace/f")
        d.run(b, "echo 2 > /workspace/f")
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    assert len(steps(d, box)) == 2
    lost = steps(d, other)[0]["snapshot_id"]
    remove(d, other)
    d.stop()
    d.start()
    wait_for("the steps of the other to go", lambda: d.ask("GET", f"/api/snapshots/{lost}").status == 404)
    assert len(steps(d, box)) == 2
    undo(d, box)
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert d.run(box, "cat /workspace/f")["stdout"] == "1\n"
    remove(d, box)


def test_killed(d):
    """The front is killed while it undoes: the sandbox has the files of one or the other, and nothing is left."""
    box = d.make(checkpoint=True)
    d.run(box, "echo 1 > /workspace/f")
    d.run(box, "echo 2 > /workspace/f")
    for patience in (0.0, 0.05, 0.15):
        t = threading.Timer(patience, lambda: os.kill(d.child("cay-front"), signal.SIGKILL))
        t.start()
        try:
            d.ask("POST", f"/api/sandboxes/{box}/undo", {"step": 2})
        except OSError:
            pass
        t.join()
        ready_again(d)
        wait_for("its rest", lambda: not d.must(200, "GET", f"/api/sandboxes/{box}")["busy_with"])
        wait_for("what another front does about it", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "ready")
        assert d.run(box, "cat /workspace/f")["stdout"] in ("1\n", "2\n")
    undo(d, box, step=1)
    assert "No such file" in d.run(box, "cat /workspace/f")["stderr"]
    remove(d, box)


def test_warden_killed(d):
    """The same of the warden, with which sandboxes end; their files stay, the one or the other."""
    box = d.make(checkpoint=True)
    d.run(box, "echo 1 > /workspace/f; sync")
    d.run(box, "echo 2 > /workspace/f; sync")
    for patience in (0.0, 0.03, 0.08):
        warden = d.child("cay-warden")
        t = threading.Timer(patience, lambda: os.kill(d.child("cay-warden"), signal.SIGKILL))
        t.start()
        try:
            d.ask("POST", f"/api/sandboxes/{box}/undo", {"step": 2})
        except OSError:
            pass
        t.join()
        wait_for("another warden", lambda warden=warden: d.child("cay-warden") != warden)
        ready_again(d)
        # One that ran when its warden was killed has failed; one that was being undone is started by the next front.
        state = wait_for("its rest", lambda: (b := d.must(200, "GET", f"/api/sandboxes/{box}"))["status"] in ("ready", "error") and not b["busy_with"] and b["status"])
        if state == "error":
            wait_for("its start", lambda: d.ask("POST", f"/api/sandboxes/{box}/start").status == 200)
        assert d.run(box, "cat /workspace/f")["stdout"] in ("1\n", "2\n")
    remove(d, box)


def test_killed_while_it_compares(d):
    """The front, then the warden, is killed during a comparison: the sandbox is as it was, and what was made for it goes."""
    box = d.make(checkpoint=True)
    d.run(box, "for i in $(seq 2000); do echo $i > /workspace/f$i; done; sync")
    before = steps(d, box)
    for program in ("cay-front", "cay-warden"):
        for patience in (0.0, 0.02, 0.1):
            pid = d.child(program)
            t = threading.Timer(patience, lambda: os.kill(pid, signal.SIGKILL))
            t.start()
            try:
                d.ask("POST", f"/api/sandboxes/{box}/diff", {})
            except OSError:
                pass
            t.join()
            wait_for("another", lambda: d.child(program) not in (pid, None))
            ready_again(d)
            if d.must(200, "GET", f"/api/sandboxes/{box}")["status"] != "ready":
                d.start_again(box)
            assert steps(d, box) == before
            assert d.run(box, "ls /workspace | wc -l", checkpoint=False)["stdout"].strip() == "2000"
            before = steps(d, box)
            # What it had made is listed as anybody's is, and can be removed; else it goes after five minutes.
            for b in d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
                if b["sandbox_id"] != box:
                    assert b["expires_in_ms"] <= 300000, b
                    remove(d, b["sandbox_id"])
            for s in snapshots(d):
                assert s["expires_in_ms"] <= 300000, s
                d.must(200, "DELETE", f"/api/snapshots/{s['snapshot_id']}")
    assert diff(d, box) == set()
    remove(d, box)


def test_cli(d):
    box = cay(d, "create", "--checkpoint", "--name", "one").stdout.strip()
    assert cay(d, "exec", "one", "--", "sh", "-c", "echo x > /workspace/f").returncode == 0
    r = cay(d, "log", "one")
    assert r.returncode == 0 and "echo x > /workspace/f" in r.stdout, r
    for words in (("log", "diff", "one"), ("diff", "one"), ("diff", box, "1"), ("diff", "one", "--limit", "5")):
        r = cay(d, *words)
        assert r.returncode == 0 and "added" in r.stdout and "/workspace/f" in r.stdout, r
    r = cay(d, "diff", "nothing")
    assert r.returncode != 0 and "sandbox 'nothing' does not exist" in r.stdout and "kept run" in r.stdout, r
    assert cay(d, "exec", "one", "--", "sh", "-c", "echo y > /workspace/g").returncode == 0
    r = cay(d, "diff", "one", "1", "2")
    assert "/workspace/f" in r.stdout and "/workspace/g" not in r.stdout, r
    r = cay(d, "diff", "one", "99")
    assert r.returncode != 0 and "has no step 99" in r.stdout and "kept run" not in r.stdout, r
    r = cay(d, "undo", "one")
    assert r.returncode == 0, r
    r = cay(d, "undo", "one", "1")
    assert r.returncode == 0 and box in r.stdout, r
    assert cay(d, "exec", "one", "--", "cat", "/workspace/f").returncode == 1
    assert cay(d, "rm", "one").returncode == 0


def has_pool():
    with open("/proc/filesystems", encoding="ascii") as f:
        known = "\txfs\n" in f.read()
    return bool(shutil.which("mkfs.xfs", path="/sbin:/usr/sbin")) and (known or subprocess.run(["modprobe", "xfs"], check=False).returncode == 0)


def main():
    tests = [f for n, f in globals().items() if n.startswith("test_")]
    wanted = sys.argv[1:]
    pool = ["--layer-pool", "8g"] if has_pool() else []
    with Daemon("--max-sandboxes", "40", "--rate-limit", "0", *pool) as d:
        for test in tests:
            if not wanted or test.__name__ in wanted or test.__name__.removeprefix("test_") in wanted:
                test(d)
                print("ok", test.__name__, flush=True)
        assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == [] and snapshots(d) == []
    print(f"{len(tests)} tests passed")


if __name__ == "__main__":
    main()
