#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boxes made ahead: claims, shapes, owners, limits and environment inside, metrics, and what deaths leave."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, ready_again, run_tests, wait_for  # noqa: E402
from registry_file import Registry  # noqa: E402

REGISTRY = """containers:
  warm:
    host: true
    pool: 2
    env: {WHO: template}
  plain:
    host: true
  learns:
    host: true
    pool_learned: true
    warm: []
"""


def pool(d):
    return d.must(200, "GET", "/api/metrics")["pool"]


def boxes_of(d):
    """The native boxes that are there: children of the warden that are an init."""
    warden = d.child("cay-warden")
    found = []
    with open(f"/proc/{warden}/task/{warden}/children", encoding="ascii") as f:
        for pid in f.read().split():
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                    if comm.read().startswith("cay-init"):
                        found.append(int(pid))
            except OSError:
                pass
    return found


def ready(d, count=2):
    """As many as the shapes that were asked for so far want: at least count."""
    def full():
        p = pool(d)
        return p["making"] == 0 and p["ready"] == p["wanted"] >= count
    wait_for("the pool to be full", full)


def warm(d, count=2):
    """Starts the pool, and waits until it is full."""
    box = d.make(template="warm")
    ready(d, count)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_claim(d):
    warm(d)
    before = pool(d)
    box = d.make(template="warm", name="mine", labels={"a": "b"}, env={"MORE": "request"})
    after = pool(d)
    assert (after["claimed"], after["missed"]) == (before["claimed"] + 1, before["missed"]), (before, after)
    got = d.must(200, "GET", f"/api/sandboxes/{box}")
    assert got["name"] == "mine" and got["labels"] == {"a": "b"} and got["template"] == "warm", got
    got = d.run(box, "echo $WHO $MORE; pwd; ls -A /workspace /tmp; cat /proc/meminfo | head -1; touch /workspace/mine")
    lines = got["stdout"].splitlines()
    assert lines[:2] == ["template request", "/workspace"], got
    memory = d.must(200, "GET", f"/api/sandboxes/{box}")["limits"]["memory_bytes"]
    assert lines[-1].split()[1] == str(memory // 1024), (lines, memory)
    ready(d, 2)
    # The next one is another box: nothing of the first is in it.
    other = d.make(template="warm")
    got = d.run(other, "ls -A /workspace; echo $MORE.")
    assert got["stdout"] == ".\n" and other != box, got
    # It is an ordinary sandbox: its files outlive a stop.
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    d.start_again(box)
    assert d.run(box, "ls /workspace")["stdout"] == "mine\n"
    for b in (box, other):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def test_limits(d):
    warm(d)
    box = d.make(template="warm")
    got = d.run(box, ["python3", "-c", "x = bytearray(1 << 31)"])
    assert got["exit_code"] != 0, got
    got = d.run(box, "cat /proc/self/status | grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):'; cat /proc/net/dev | grep -c :")
    assert "CapEff:\t0000000000000000" in got["stdout"] and got["stdout"].endswith("1\n"), got
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_other_shapes(d):
    warm(d)
    before = pool(d)
    for more in ({"limits": {"pids": 33}}, {"template": "plain"}, {"read_only": True}):
        box = d.make(**{"template": "warm", **more})
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
    after = pool(d)
    assert after["claimed"] == before["claimed"], (before, after)
    # Runs have their own shape, and then a pool.
    d.must(200, "POST", "/api/run", {"template": "warm", "command": ["true"]})
    ready(d, 4)
    before = pool(d)
    got = d.must(200, "POST", "/api/run", {"template": "warm", "command": "echo $WHO"})
    assert got["stdout"] == "template\n" and pool(d)["claimed"] == before["claimed"] + 1, got


def test_learned(d):
    """One create: one box is kept ready. Several in a second: as many."""
    before = pool(d)["wanted"]
    first = d.make(template="learns")
    ready(d, before + 1)
    assert pool(d)["wanted"] == before + 1, pool(d)
    others = [d.make(template="learns") for _ in range(4)]
    wanted = pool(d)["wanted"] - before
    assert 1 <= wanted <= 5, pool(d)  # 4 in one second, unless the machine is slow
    ready(d, before + wanted)
    now = pool(d)
    assert 0 < now["memory_bytes"] <= now["memory_limit_bytes"], now
    text = d.ask("GET", "/metrics").body.decode()
    assert f"cay_pool_wanted {now['wanted']}\n" in text, text
    for box in [first, *others]:
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_two_owners(d):
    warm(d)
    other = d.make_token("--owner", "other")
    box = d.make(template="warm")
    ready(d)
    theirs = d.must(201, "POST", "/api/sandboxes", {"template": "warm"}, token=other)["sandbox_id"]
    d.must(404, "GET", f"/api/sandboxes/{box}", token=other)
    d.must(200, "DELETE", f"/api/sandboxes/{theirs}", token=other)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_death_of_the_front(d):
    warm(d)
    before = set(boxes_of(d))
    assert len(before) >= 2, before
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    wait_for("boxes without a record to go", lambda: not set(boxes_of(d)) & before)
    assert pool(d)["ready"] == 0
    warm(d)


def test_death_of_one(d):
    warm(d)
    dead, before = boxes_of(d), pool(d)["dropped"]
    for pid in dead:
        os.kill(pid, signal.SIGKILL)
    wait_for("dead boxes to be noticed", lambda: pool(d)["dropped"] >= before + len(dead))
    box = d.make(template="warm")
    assert d.run(box, "echo alive")["stdout"] == "alive\n"
    wait_for("new boxes", lambda: pool(d)["ready"] == pool(d)["wanted"])
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_death_of_the_warden(d):
    warm(d)
    warden = d.child("cay-warden")
    os.kill(warden, signal.SIGKILL)
    wait_for("another warden", lambda: d.child("cay-warden") not in (None, warden))
    ready_again(d)

    def made():
        a = d.ask("POST", "/api/sandboxes", {"template": "warm"})
        return a.json["sandbox_id"] if a.status == 201 else None
    box = wait_for("a sandbox", made)
    assert d.run(box, "echo again")["stdout"] == "again\n"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def off(path):
    with Daemon("--registry", path, "--pool-memory", "0") as d:
        box = d.make(template="warm")
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
        assert all(value == 0 for value in pool(d).values()), pool(d)
        assert boxes_of(d) == []
    print("ok off")


def main():
    with Registry(REGISTRY) as r:
        with Daemon("--registry", r.path) as d:
            run_tests(globals(), d)
        if not sys.argv[1:]:
            off(r.path)


if __name__ == "__main__":
    main()
