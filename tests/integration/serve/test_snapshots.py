#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Snapshots: files of a sandbox as they were, and sandboxes made of them. test_snapshots.py [NAME…] runs some of the tests."""
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, ready_again, run_tests, wait_for  # noqa: E402


def names(d):
    return sorted(os.listdir(os.path.join(d.folder, "data", "layers")))


def layers(d):
    return [n for n in names(d) if not n.startswith(".")]


def take(d, box, status=201, **fields):
    return d.must(status, "POST", f"/api/sandboxes/{box}/snapshots", fields)


def remove(d, *boxes):
    for box in boxes:
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def drop(d, snapshot):
    d.must(200, "DELETE", f"/api/snapshots/{snapshot}")


def all_gone(d):
    wait_for("the files to go", lambda: layers(d) == [])
    assert d.must(200, "GET", "/api/snapshots")["snapshots"] == []
    assert not [n for n in names(d) if n.startswith(".clone")], names(d)


def test_of_a_running_one(d):
    """It goes on, the copy is as of then, and neither sees what happens to the other."""
    box = d.make(env={"KIND": "first"})
    d.run(box, "echo one > /workspace/f; echo home > ~/h; head -c 3000000 /dev/urandom > /workspace/big; "
               "sha256sum < /workspace/big > /workspace/sum; sleep 1000 & echo $! > /workspace/pid")
    s = take(d, box, name="base")
    assert s["sandbox_id"] == box and s["name"] == "base" and s["template"] == "host" and s["processes"] is False, s
    assert s["bytes"] > 3000000 and s["added_bytes"] > 3000000 and s["method"] in ("copy", "reflink"), s
    assert d.must(200, "GET", f"/api/sandboxes/{box}")["status"] in ("ready", "busy")
    assert d.run(box, "echo two > /workspace/f; kill -0 $(cat /workspace/pid) && echo lives")["stdout"] == "lives\n"
    made = [d.make(snapshot="base"), d.make(template="base"), d.make(snapshot=s["snapshot_id"], env={"KIND": "new"})]
    for i, one in enumerate(made):
        r = d.run(one, "cat /workspace/f ~/h; sha256sum < /workspace/big | cmp - /workspace/sum && echo same; "
                       "ps -e | grep -c [s]leep; echo $KIND; stat -c %u /workspace/f")
        assert r["stdout"] == f"one\nhome\nsame\n0\n{'new' if i == 2 else 'first'}\n1001\n", r
        d.run(one, f"echo {i} > /workspace/f")
    assert d.run(box, "cat /workspace/f")["stdout"] == "two\n"
    remove(d, box)  # what was made of it stays
    late = d.make(snapshot="base")
    assert d.run(late, "cat /workspace/f")["stdout"] == "one\n"
    d.must(200, "POST", f"/api/sandboxes/{late}/stop")
    d.must(200, "POST", f"/api/sandboxes/{late}/start")
    assert d.run(late, "cat /workspace/f")["stdout"] == "one\n"
    drop(d, "base")
    assert d.run(made[1], "cat /workspace/f")["stdout"] == "1\n"
    remove(d, late, *made)
    all_gone(d)


def test_states(d):
    """Of stopped and paused ones, of every kind of root and size."""
    for fields in [{}, {"own_user_only": True}, {"read_only": True}, {"limits": {"disk": "3m"}}, {"limits": {"disk": "40m", "inodes": 2000}}]:
        box = d.make(**fields)
        d.run(box, "echo x > /workspace/f")
        shots = [take(d, box)["snapshot_id"]]
        for before, after in (("pause", "resume"), ("stop", "start")):
            d.must(200, "POST", f"/api/sandboxes/{box}/{before}")
            s = take(d, box)
            assert s["frozen_ms"] == 0, s
            shots.append(s["snapshot_id"])
            d.must(200, "POST", f"/api/sandboxes/{box}/{after}")
        for shot in shots:
            one = d.make(snapshot=shot)
            r = d.run(one, "cat /workspace/f; echo y > /workspace/g && cat /workspace/g")
            assert r["stdout"] == "x\ny\n", (fields, r)
            remove(d, one)
            drop(d, shot)
        remove(d, box)
    all_gone(d)


def test_refusals(d):
    box = d.make()
    s = take(d, box, name="one")
    assert "in use" in take(d, box, 409, name="one")["error"]["message"]
    assert "template" in take(d, box, 409, name="host")["error"]["message"]
    take(d, box, 400, name="Not A Name")
    take(d, "aaaa-no", 404)
    d.must(404, "POST", "/api/sandboxes", {"snapshot": "nothing"})
    d.must(404, "POST", "/api/sandboxes", {"template": "nothing"})
    for limits in ({"disk": "3g"}, {"inodes": 77}):
        e = d.must(400, "POST", "/api/sandboxes", {"snapshot": "one", "limits": limits})["error"]
        assert "leave it out" in e["message"], e
    d.must(404, "DELETE", "/api/snapshots/nothing")
    d.must(404, "GET", "/api/snapshots/nothing")
    assert d.must(200, "GET", "/api/snapshots/one")["snapshot_id"] == s["snapshot_id"]
    assert d.must(200, "GET", f"/api/snapshots?sandbox={box}&limit=1")["count"] == 1
    assert d.must(200, "GET", "/api/snapshots?sandbox=other")["count"] == 0
    remove(d, box)
    drop(d, "one")
    all_gone(d)


def test_pages_and_expiry(d):
    box = d.make()
    ids = [take(d, box)["snapshot_id"] for _ in range(5)]
    seen, cursor = [], ""
    while True:
        page = d.must(200, "GET", f"/api/snapshots?limit=2{cursor}")
        seen += [s["snapshot_id"] for s in page["snapshots"]]
        if page["next_cursor"] is None:
            break
        cursor = "&cursor=" + page["next_cursor"]
    assert seen == ids[::-1], (seen, ids)
    for one in ids:
        drop(d, one)
    short = take(d, box, timeout="1s")
    assert 0 < short["expires_in_ms"] <= 1000, short
    wait_for("it to expire", lambda: d.must(200, "GET", "/api/snapshots")["count"] == 0)
    wait_for("its files to go", lambda: layers(d) == [box + ".img"])
    remove(d, box)
    all_gone(d)


def test_restart(d):
    """Snapshots survive every program; a warden that dies in the middle leaves nothing."""
    box = d.make()
    d.run(box, "echo kept > /workspace/f")
    take(d, box, name="kept")
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    assert d.must(200, "GET", "/api/snapshots/kept")["status"] == "ready"
    d.stop()
    d.start()
    one = d.make(snapshot="kept")
    assert d.run(one, "cat /workspace/f")["stdout"] == "kept\n"
    remove(d, one, box)
    drop(d, "kept")
    all_gone(d)


def test_warden_dies(d):
    box = d.make()
    d.run(box, "head -c 200000000 /dev/zero | tr '\\0' x > /workspace/big")
    got = []
    t = threading.Thread(target=lambda: got.append(d.ask("POST", f"/api/sandboxes/{box}/snapshots", {})))
    t.start()
    wait_for("the copy", lambda: [n for n in names(d) if n.startswith(".clone")] or got)
    os.kill(d.child("cay-warden"), signal.SIGKILL)
    t.join()
    ready_again(d)
    wait_for("the loss", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "error")
    for s in d.must(200, "GET", "/api/snapshots")["snapshots"]:
        drop(d, s["snapshot_id"])  # it was done before
    d.start_again(box)
    assert d.run(box, "stat -c %s /workspace/big")["stdout"] == "200000000\n"
    remove(d, box)
    all_gone(d)


def test_at_once(d):
    """Many at once, while it writes: each is whole, and commands wait instead of failing."""
    box = d.make()
    d.must(202, "POST", f"/api/sandboxes/{box}/execute",
           {"command": "i=0; while :; do i=$((i+1)); echo $i > /workspace/a.new; mv /workspace/a.new /workspace/a; "
                       "echo $i > /workspace/b.new; mv /workspace/b.new /workspace/b; done", "background": True})
    d.run(box, "while ! test -e /workspace/b; do sleep 0.01; done")
    got = []
    threads = [threading.Thread(target=lambda: got.append(take(d, box)["snapshot_id"])) for _ in range(6)]
    for t in threads:
        t.start()
    for _ in range(3):
        assert d.run(box, "echo hi")["stdout"] == "hi\n"
    for t in threads:
        t.join()
    assert len(set(got)) == 6, got
    made = []
    threads = [threading.Thread(target=lambda s=s: made.append(d.make(snapshot=s))) for s in got]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for one in made:
        a = d.run(one, "cat /workspace/a /workspace/b")["stdout"].split()
        assert len(a) == 2 and 0 <= int(a[0]) - int(a[1]) <= 1, a
    remove(d, box, *made)
    for s in got:
        drop(d, s)
    all_gone(d)


def fork(d, what, status=201, **fields):
    return d.must(status, "POST", f"/api/sandboxes/{what}/fork", fields)


def test_fork(d):
    """All or none, of a running sandbox and of a snapshot; nothing else is left of it."""
    box = d.make(env={"A": "1", "B": "1"})
    d.run(box, "echo one > /workspace/f")
    r = fork(d, box, count=5, env={"B": "2"}, labels={"try": "x"}, limits={"memory": "64m"})
    made = [s["sandbox_id"] for s in r["sandboxes"]]
    assert len(set(made)) == 5 and r["count"] == 5 and r["processes"] is False and box not in made, r
    assert {s["limits"]["memory_bytes"] for s in r["sandboxes"]} == {64 << 20}, r
    for i, one in enumerate(made):
        assert d.run(one, f"cat /workspace/f; echo $A $B; echo {i} > /workspace/f")["stdout"] == "one\n1 2\n"
    assert [d.run(one, "cat /workspace/f")["stdout"] for one in made] == [f"{i}\n" for i in range(5)]
    wait_for("its snapshot to go", lambda: sorted(layers(d)) == sorted(i + ".img" for i in [box, *made]))
    remove(d, *made)
    take(d, box, name="base")
    got = []
    threads = [threading.Thread(target=lambda: got.append(fork(d, "base", count=3))) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    made = [s["sandbox_id"] for r in got for s in r["sandboxes"]]
    assert len(set(made)) == 9, got
    assert all(d.run(one, "cat /workspace/f")["stdout"] == "one\n" for one in made)
    e = fork(d, box, 429, count=60)["error"]
    assert "max_sandboxes" in e["message"], e
    fork(d, "nothing", 404)
    fork(d, box, 400, limits={"disk": "3g"})
    remaining = [b["sandbox_id"] for b in d.must(200, "GET", "/api/sandboxes?limit=1000")["sandboxes"]]
    assert sorted(remaining) == sorted([box, *made]), remaining
    remove(d, box, *made)
    drop(d, "base")
    all_gone(d)


def test_fork_killed(d):
    """The warden dies at some moment of a fork: the forks are all there, or none is left, nor any of their files."""
    box = d.make(limits={"disk": "60m"})
    d.run(box, "echo one > /workspace/f; sync")
    for patience in [0, 0.01, 0.02, 0.04, 0.07, 0.13]:
        t = threading.Timer(patience, lambda: os.kill(d.child("cay-warden"), signal.SIGKILL))
        t.start()
        r = d.ask("POST", f"/api/sandboxes/{box}/fork", {"count": 4})
        t.join()
        made = [s["sandbox_id"] for s in r.json["sandboxes"]] if r.status == 201 else []
        wait_for("the next warden", lambda: d.ask("POST", "/api/run", {"command": "true"}).status == 200)
        wait_for("what is wanted alone", lambda: sorted(s["sandbox_id"] for s in d.must(200, "GET", "/api/sandboxes")["sandboxes"])
                 == sorted([box, *made]))
        wait_for("its files alone", lambda: sorted(layers(d)) == sorted(i + ".img" for i in [box, *made]))
        for one in made:
            d.start_again(one)
            assert d.run(one, "cat /workspace/f")["stdout"] == "one\n"
        remove(d, *made)
        d.start_again(box)
    remove(d, box)
    all_gone(d)


def test_cli(d):
    def cay(*argv):
        env = dict(d.environment(), CAY_URL="unix:" + os.path.join(d.folder, "data", "cay.sock"))
        return subprocess.run([os.path.join(os.environ["CAY_BUILD_DIR"], "cay"), *argv], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)

    box = cay("create", "--name", "one").stdout.strip()
    r = cay("snapshot", "one", "base")
    assert r.returncode == 0 and "base" in r.stdout, r
    r = cay("snapshot", "ls")
    assert r.returncode == 0 and "base" in r.stdout and box in r.stdout, r
    r = cay("create", "base")
    assert r.returncode == 0, r
    r = cay("rm", r.stdout.strip())
    assert r.returncode == 0, r
    r = cay("fork", "one", "-n", "2")
    ids = [line.split()[0] for line in r.stdout.splitlines()[1:]]
    assert r.returncode == 0 and len(ids) == 2, r
    r = cay("rm", "one", *ids)
    assert r.returncode == 0, r
    r = cay("snapshot", "rm", "base")
    assert r.returncode == 0, r
    all_gone(d)


def main():
    with Daemon("--max-sandboxes", "40") as d:
        run_tests(globals(), d)


if __name__ == "__main__":
    main()
