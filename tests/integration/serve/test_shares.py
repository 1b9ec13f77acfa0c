#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What owners share, and one of them cannot use up: connections that are busy, disk. test_shares.py [NAME…] runs some."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, wait_for  # noqa: E402

CONNECTIONS = 20


def test_busy_connections(d):
    """Streams that never end, by one owner: others still get connections, and so does the owner when it closes one."""
    greedy, other = d.make_token("--owner", "greedy"), d.make_token("--owner", "other")
    held = []
    for _ in range(CONNECTIONS):
        response, c = d.begin("GET", "/api/events?follow=true", token=greedy)
        if response.status == 200:
            held.append((response, c))
            continue
        assert response.status == 429 and b"your connections are busy" in response.read(), response.status
        c.close()
    assert CONNECTIONS // 2 - 1 <= len(held) <= CONNECTIONS // 2, len(held)
    mine = []
    for _ in range(4):
        response, c = d.begin("GET", "/api/events?follow=true", token=other)
        assert response.status == 200, response.status
        mine.append((response, c))
    assert d.ask("GET", "/api/sandboxes", token=other).status == 200
    for _, c in held[:3]:
        c.close()
    for _, c in mine:
        c.close()
    wait_for("room", lambda: d.ask("GET", "/api/sandboxes", token=greedy).status == 200)
    for _, c in held[3:]:
        c.close()


def test_disk(d):
    """Stopped sandboxes keep their files: an owner's disk limits, added up, have a maximum."""
    greedy, other = d.make_token("--owner", "greedy"), d.make_token("--owner", "other")
    asked = {"limits": {"disk": "40m"}}
    box = d.must(201, "POST", "/api/sandboxes", asked, token=greedy)["sandbox_id"]
    d.must(200, "POST", f"/api/sandboxes/{box}/stop", {}, token=greedy)
    a = d.ask("POST", "/api/sandboxes", asked, token=greedy)
    assert a.status == 429 and "max_disk_owner" in a.json["error"]["message"], a
    theirs = d.must(201, "POST", "/api/sandboxes", asked, token=other)["sandbox_id"]
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=greedy)
    again = d.must(201, "POST", "/api/sandboxes", asked, token=greedy)["sandbox_id"]
    d.must(200, "DELETE", f"/api/sandboxes/{again}", token=greedy)
    d.must(200, "DELETE", f"/api/sandboxes/{theirs}", token=other)


TESTS = [test_busy_connections, test_disk]


def main():
    chosen = [t for t in TESTS if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]]
    with Daemon("--max-connections", str(CONNECTIONS), "--max-disk-owner", "64m") as d:
        for t in chosen:
            t(d)
            print(f"ok {t.__name__}", flush=True)


main()
