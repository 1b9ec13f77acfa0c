#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many sandboxes a limit of open files allows, and what the next one is told."""
import os
import resource
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon  # noqa: E402

MANY = ("--rate-limit", "0", "--max-sandboxes", "200", "--max-sandboxes-owner", "200")


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def soft_limit(pid):
    with open(f"/proc/{pid}/limits", encoding="utf-8") as f:
        return int(next(line for line in f if line.startswith("Max open files")).split()[3])


def make(d):
    return d.ask("POST", "/api/sandboxes", {"limits": {"memory": "32m", "disk": "16m"}})


def few_for_each(d):
    """The soft limit of a shell (here: 100) does not count."""
    warden = d.child("cay-warden")
    assert soft_limit(warden) == 2000, soft_limit(warden)
    before, count = open_files(warden), 20
    for _ in range(count):
        a = make(d)
        assert a.status == 201, a
    assert (open_files(warden) - before) / count < 8, (before, open_files(warden))
    assert d.run(a.json["sandbox_id"], "echo on")["stdout"] == "on\n"


def told(d):
    """Nothing is broken by meeting it: what is there goes on, what is destroyed makes room."""
    boxes = []
    for _ in range(60):
        a = make(d)
        if a.status != 201:
            break
        boxes.append(a.json["sandbox_id"])
    assert a.status == 429 and a.json["error"]["code"] == "limit" and "RLIMIT_NOFILE is 220" in a.json["error"]["message"], a
    assert len(boxes) > 15, len(boxes)
    assert d.run(boxes[0], "echo on")["stdout"] == "on\n"
    for box in boxes[:2]:
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
    a = make(d)
    assert a.status == 201, a


def with_limit(soft, hard, test):
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            with Daemon(*MANY) as d:
                test(d)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, test
    print(f"ok {test.__name__}", flush=True)


with_limit(100, 2000, few_for_each)
with_limit(220, 220, told)
