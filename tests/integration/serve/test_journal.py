#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The journal of a sandbox: what was asked and what came of it, as a chain that shows what was changed."""
import hashlib
import os
import sqlite3
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, Daemon, wait_for  # noqa: E402


def cay(d, *words):
    return subprocess.run([CAY, *words, "--data", os.path.join(d.folder, "data")], capture_output=True, text=True, timeout=PATIENCE_S)


def events(d, box):
    return d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000")["events"]


def rows(d, box):
    """As the database has them: the daemon is stopped."""
    with sqlite3.connect(os.path.join(d.folder, "data", "state", "state.db")) as db:
        return db.execute("SELECT seq, sandbox, owner, kind, detail, wall_ms, before, hash FROM events WHERE sandbox = ? ORDER BY seq",
                          (box,)).fetchall()


def change(d, sql, *values):
    d.stop()
    with sqlite3.connect(os.path.join(d.folder, "data", "state", "state.db")) as db:
        assert db.execute(sql, values).rowcount == 1
    d.start()


def test_chain(d):
    """Every event has who asked, output its digest; the hashes are what the page says they are."""
    box = d.make(name="one")
    d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "echo out; echo err >&2; exit 3"})
    d.must(200, "POST", f"/api/sandboxes/{box}/pause")
    d.must(200, "POST", f"/api/sandboxes/{box}/resume")
    found = {e["kind"]: e for e in events(d, box)}
    ended = found["exec_ended"]["detail"]
    assert ended["stdout_sha256"] == hashlib.sha256(b"out\n").hexdigest() and ended["stdout_bytes"] == "4", ended
    assert ended["stderr_sha256"] == hashlib.sha256(b"err\n").hexdigest() and ended["exit_code"] == "3", ended
    who = found["sandbox_created"]["detail"]["by"]
    assert who and all(found[k]["detail"]["by"] == who for k in ("exec_started", "sandbox_paused", "sandbox_resumed")), found
    checked = d.must(200, "GET", "/api/sandboxes/one/journal/check")
    assert checked["events"] == len(events(d, box)) and checked["unchained"] == 0 and checked["head"] == events(d, box)[-1]["hash"]
    a = cay(d, "journal", "verify", box, "--head", checked["head"])
    assert a.returncode == 0 and checked["head"] in a.stdout, a
    assert "sandbox_paused" in cay(d, "journal", box).stdout
    # Nobody else sees it, and what is no hash is refused.
    assert d.ask("GET", f"/api/sandboxes/{box}/journal/check", token=d.make_token("--owner", "other")).status == 404
    assert d.ask("GET", f"/api/sandboxes/{box}/journal/check?head={'x' * 64}").status == 400
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    gone = d.must(200, "GET", f"/api/sandboxes/{box}/journal/check?head={checked['head']}")
    assert gone["events"] > checked["events"] and events(d, box)[-1]["detail"]["by"] == who
    d.stop()
    before = bytes(32)
    for _, sandbox, owner, kind, detail, wall_ms, link, h in rows(d, box):
        text = before + b"".join(struct.pack(">Q", len(t.encode())) + t.encode() for t in (sandbox, owner, kind, detail)) + struct.pack(">Q", wall_ms)
        assert link == before and hashlib.sha256(text).digest() == h, kind
        before = h
    d.start()


def test_tampering(d):
    box = d.make()
    for _ in range(3):
        d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "true"})
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    head = d.must(200, "GET", f"/api/sandboxes/{box}/journal/check")["head"]
    d.stop()
    kept = rows(d, box)
    d.start()

    def broken(query=""):
        a = d.ask("GET", f"/api/sandboxes/{box}/journal/check{query}")
        assert a.status == 410 and a.json["error"]["code"] == "damaged", a
        return a.json["error"]["message"]

    seq, detail = kept[2][0], kept[2][4]
    change(d, "UPDATE events SET detail = ? WHERE seq = ?", detail[:-1] + ',"by":"somebody else"}', seq)
    assert f"event {seq}: the event was changed" in broken()
    assert cay(d, "journal", "verify", box).returncode != 0
    change(d, "UPDATE events SET detail = ? WHERE seq = ?", detail, seq)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/journal/check")["head"] == head
    change(d, "DELETE FROM events WHERE seq = ?", seq)
    assert f"event {kept[3][0]}: an event is missing" in broken()
    d.stop()
    with sqlite3.connect(os.path.join(d.folder, "data", "state", "state.db")) as db:
        db.execute("INSERT INTO events(seq, sandbox, owner, kind, detail, wall_ms, at_ms, before, hash) VALUES(?,?,?,?,?,?,0,?,?)", kept[2])
    d.start()
    assert d.must(200, "GET", f"/api/sandboxes/{box}/journal/check")["head"] == head
    # An end that was cut off is noticed by who kept the head.
    last = kept[-1][0]
    change(d, "DELETE FROM events WHERE seq = ?", last)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/journal/check")["events"] == len(kept) - 1
    assert "is not in the journal" in broken(f"?head={head}")


def main():
    for test in (test_chain, test_tampering):
        with Daemon() as d:
            test(d)
        print("ok", test.__name__, flush=True)


main()
