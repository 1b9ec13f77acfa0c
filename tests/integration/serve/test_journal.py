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


def chain(before, row):
    """The hash of an event behind another, as the page says it is."""
    _, sandbox, owner, kind, detail, wall_ms, _, _ = row
    parts = b"".join(struct.pack(">Q", len(t.encode())) + t.encode() for t in (sandbox, owner, kind, detail))
    return hashlib.sha256(before + parts + struct.pack(">Q", wall_ms)).digest()


def rewrite(d, box, events_):
    """The journal of a sandbox as somebody makes it who can write the database: hashes computed again, or left."""
    d.stop()
    with sqlite3.connect(os.path.join(d.folder, "data", "state", "state.db")) as db:
        db.execute("DELETE FROM events WHERE sandbox = ?", (box,))
        for row in events_:
            db.execute("INSERT INTO events(seq, sandbox, owner, kind, detail, wall_ms, at_ms, before, hash) VALUES(?,?,?,?,?,?,0,?,?)", row)
    d.start()


def test_rewritten(d):
    """Events in another order, one too many, a begin that is missing: told. A chain that was computed anew is whole, and lacks the head
    that somebody kept."""
    box = d.make()
    for word in ("a", "b"):
        d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": f"echo {word}"})
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    checked = d.must(200, "GET", f"/api/sandboxes/{box}/journal/check")
    d.stop()
    kept = rows(d, box)
    d.start()

    def broken(query=""):
        a = d.ask("GET", f"/api/sandboxes/{box}/journal/check{query}")
        assert a.status == 410 and a.json["error"]["code"] == "damaged", a
        return a.json["error"]["message"]

    swapped = list(kept)
    swapped[1], swapped[2] = (kept[1][0], *kept[2][1:]), (kept[2][0], *kept[1][1:])
    rewrite(d, box, swapped)
    assert f"event {kept[1][0]}: an event is missing" in broken()
    rewrite(d, box, kept + [(kept[-1][0] + 1000, *kept[-1][1:])])
    assert f"event {kept[-1][0] + 1000}: an event is missing" in broken()
    rewrite(d, box, [(*kept[0][:7], b""), *kept[1:]])  # its hash was taken away
    a = d.ask("GET", f"/api/sandboxes/{box}/journal/check")
    assert a.status == 410 or a.json["unchained"] == 1, a
    # Whoever can write all of it can make a chain that is whole in itself.
    anew, before = [], bytes(32)
    for row in kept:
        row = (*row[:4], row[4].replace('"by"', '"xy"'), *row[5:])
        h = chain(before, row)
        anew.append((*row[:6], before, h))
        before = h
    rewrite(d, box, anew)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/journal/check")["events"] == len(kept)
    assert "is not in the journal" in broken(f"?head={checked['head']}")
    a = cay(d, "journal", "verify", box, "--head", checked["head"])
    assert a.returncode != 0 and "is not in the journal" in a.stderr, a
    rewrite(d, box, kept)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/journal/check?head={checked['head']}")["head"] == checked["head"]


def main():
    for test in (test_chain, test_tampering, test_rewritten):
        with Daemon() as d:
            test(d)
        print("ok", test.__name__, flush=True)


main()
