#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings: what is asked of a sandbox is kept, encrypted, run again in a new one and compared; terminals as asciicast; the journal of
files. test_recording.py [NAME…] runs some of the tests."""
import glob
import hashlib
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, ready_again, wait_for  # noqa: E402
from test_steps import cay, has_pool, remove, snapshots  # noqa: E402

LIMIT = 32 << 20  # CAY_RECORDING_MAX


def recording(d, box, status=200):
    return d.must(status, "GET", f"/api/sandboxes/{box}/recording")


def replay(d, box, status=200, **fields):
    return d.must(status, "POST", f"/api/sandboxes/{box}/replay", fields)


def events(d, box):
    return d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000")["events"]


def files_of(d, box):
    return glob.glob(os.path.join(d.folder, "data", "**", f"{box}.recording"), recursive=True)


def put(d, box, path, body):
    return d.must(200, "PUT", f"/api/sandboxes/{box}/files?path={path}", body)


def start(d, box, command, **fields):
    return d.must(202, "POST", f"/api/sandboxes/{box}/execute", dict(fields, command=command, background=True))["exec_id"]


def ended(d, box, x):
    return wait_for("its end", lambda: (e := d.must(200, "GET", f"/api/sandboxes/{box}/execs/{x}"))["status"] == "ended" and e)


def say(d, box, x, text, eof=False):
    d.must(200, "POST", f"/api/sandboxes/{box}/execs/{x}/input" + ("?eof=true" if eof else ""), text.encode())


def test_same(d):
    """Words, directories, variables, input, uploads, failures, several at once: all of it gives the same again."""
    box = d.make(record=True)
    assert "nothing was recorded" in recording(d, box, 404)["error"]["message"]
    put(d, box, "a/b.txt&parents=true", b"hello\n" * 50000)
    assert d.run(box, "sha256sum a/b.txt; pwd; echo $WHO", env={"WHO": "me"})["exit_code"] == 0
    assert d.run(box, "echo no >&2; exit 3", cwd="/tmp")["exit_code"] == 3
    x = start(d, box, ["cat"], open_stdin=True)
    assert d.run(box, "echo meanwhile > /workspace/m")["exit_code"] == 0
    say(d, box, x, "one\n")
    say(d, box, x, "two\n", eof=True)
    assert ended(d, box, x)["exit_code"] == 0
    d.must(200, "POST", f"/api/sandboxes/{box}/files/move", {"path": "m", "to": "n"})
    assert d.run(box, "cat n")["stdout"] == "meanwhile\n"
    y = start(d, box, "sleep 1000")
    d.must(200, "DELETE", f"/api/sandboxes/{box}/execs/{y}")
    ended(d, box, y)
    got = recording(d, box)
    assert got["commands"] == 6 and got["files"] == 2 and got["stopped"] is None and got["limit"] == LIMIT, got
    r = replay(d, box)
    assert r["same"] and r["differences"] == [] and r["commands"] == 6 and r["compared"] == 5 and r["files"] == 2, r
    assert r["stopped"] is None and r["timed_out"] is False and r["replay_id"] is None, r
    wait_for("its sandbox to go", lambda: len(d.must(200, "GET", "/api/sandboxes")["sandboxes"]) == 1)
    remove(d, box)


def test_differs(d):
    """The first command whose result differs is told first: output, exit code; secrets are left out and told."""
    box = d.make(record=True)
    d.run(box, "echo same")
    d.run(box, "cat /proc/sys/kernel/random/uuid")
    hidden = {"MY_TOKEN": "hidden-value-7731", "DATABASE_URL": "postgres://me:hidden-7732@db/x", "OPENAI": "sk-hidden7733", "MYSQL_PWD": "hidden-7734"}
    d.run(box, 'test -n "$MY_TOKEN"', env={**hidden, "PLAIN": "shown", "PLAIN_URL": "http://host:80/a@b", "PWD": "/tmp"})
    r = replay(d, box, keep=True)
    assert not r["same"] and [x["what"] for x in r["differences"]] == ["stdout_sha256", "exit_code"], r
    assert r["differences"][0]["command"] == "cat /proc/sys/kernel/random/uuid" and r["variables_left_out"] == len(hidden), r
    assert (r["differences"][1]["was"], r["differences"][1]["now"]) == ("0", "1"), r
    assert d.run(r["replay_id"], "true")["exit_code"] == 0  # kept
    assert len(d.must(200, "GET", f"/api/sandboxes/{r['replay_id']}/steps")["steps"]) == 0  # itself not recorded
    remove(d, box, r["replay_id"])


def test_files_before(d):
    """A replay begins with the files with which the recording began, not with those of now."""
    first = d.make()
    d.run(first, "echo 1 > /workspace/n; sync")
    shot = d.must(201, "POST", f"/api/sandboxes/{first}/snapshots", {})["snapshot_id"]
    box = d.make(record=True, snapshot=shot)
    assert d.run(box, "read n < n; echo $((n + 1)) | tee n")["stdout"] == "2\n"
    assert replay(d, box)["same"] and replay(d, box)["same"]
    assert d.run(box, "cat n")["stdout"] == "2\n"
    remove(d, first, box)
    d.must(200, "DELETE", f"/api/snapshots/{shot}")


def test_secret_on_disk(d):
    """Nothing of it is readable on the disk; a changed byte is told; it goes with its sandbox."""
    box = d.make(record=True)
    put(d, box, "f", b"needle-in-upload " * 100)
    d.run(box, "echo needle-in-command")
    (path,) = files_of(d, box)
    with open(path, "rb") as f:
        bytes_ = f.read()
    assert b"needle" not in bytes_ and os.stat(path).st_mode & 0o777 == 0o600
    assert replay(d, box)["same"]
    with open(path, "r+b") as f:
        f.seek(len(bytes_) // 2)
        f.write(bytes([bytes_[len(bytes_) // 2] ^ 1]))
    assert "damaged at entry" in replay(d, box, 410)["error"]["message"]
    remove(d, box)
    wait_for("its file to go", lambda: not files_of(d, box))


def test_limit(d):
    """It has an end, which is told, and what was recorded until then can be run again."""
    box = d.make(record=True)
    d.run(box, "echo before")
    put(d, box, "big", os.urandom(LIMIT + 1000))
    d.run(box, "echo after")
    got = recording(d, box)
    assert got["stopped"] == "limit" and got["bytes"] <= LIMIT and got["commands"] == 1, got
    assert [e["detail"]["why"] for e in events(d, box) if e["kind"] == "recording_ended"] == ["limit"]
    r = replay(d, box)
    assert r["stopped"] == "limit" and r["compared"] == 1 and r["same"], r
    remove(d, box)


def test_undone(d):
    """An undo ends it."""
    box = d.make(record=True, checkpoint=True)
    d.run(box, "echo 1 > f")
    d.must(200, "POST", f"/api/sandboxes/{box}/undo", {})
    d.run(box, "echo 2")
    got = recording(d, box)
    assert got["stopped"] == "undone" and got["commands"] == 1, got
    remove(d, box)


def test_terminal(d):
    """A terminal as asciicast v2: its size, what it showed and when, a character that came in two parts, a new size."""
    box = d.make(record=True)
    x = start(d, box, ["sh", "-c", r"printf 'h\303'; sleep 0.1; printf '\244i'; read a; printf '%s\n' $a"], tty=True, rows=20, cols=70, open_stdin=True)
    wait_for("its first output", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{x}")["stdout_bytes"] >= 4)
    d.must(200, "POST", f"/api/sandboxes/{box}/execs/{x}/resize", {"rows": 30, "cols": 90})
    say(d, box, x, "there\n")
    ended(d, box, x)
    (t,) = recording(d, box)["terminals"]
    assert t["exec_id"] == x and t["ended"] and t["command"].startswith("sh -c printf"), t
    text = d.must(200, "GET", f"/api/sandboxes/{box}/recording/{x}/cast")
    text = text.decode() if isinstance(text, bytes) else text
    head, *lines = [json.loads(line) for line in text.splitlines()]
    assert (head["version"], head["width"], head["height"]) == (2, 70, 20) and head["env"]["TERM"] == "xterm-256color", head
    assert [90, 30] == [int(n) for line in lines if line[1] == "r" for n in line[2].split("x")], lines
    shown = "".join(line[2] for line in lines if line[1] == "o")
    assert shown == "h\u00e4ithere\r\nthere\r\n", shown
    assert [line[0] for line in lines] == sorted(line[0] for line in lines)
    r = cay(d, "cast", box, x)
    assert r.returncode == 0 and r.stdout == text, r
    other = d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "true"})["exec_id"]
    assert "had no terminal" in d.must(400, "GET", f"/api/sandboxes/{box}/recording/{other}/cast")["error"]["message"]
    assert "not in the recording" in d.must(404, "GET", f"/api/sandboxes/{box}/recording/nosuch/cast")["error"]["message"]
    assert replay(d, box)["same"]
    remove(d, box)


def test_front_killed(d):
    """It goes on with the next front, which adds the end of what ran."""
    box = d.make(record=True)
    d.run(box, "echo 1 > f")
    x = start(d, box, "while [ ! -e go ]; do sleep 0.05; done; exit 5")
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    put(d, box, "go", b"")
    assert ended(d, box, x)["exit_code"] == 5
    assert d.run(box, "cat f")["stdout"] == "1\n"
    r = replay(d, box)
    assert r["same"] and r["commands"] == 3 and r["compared"] == 3 and r["files"] == 1, r
    remove(d, box)


def test_times_out(d):
    """A command that does not end this time ends the replay, and is told."""
    box = d.make(record=True)
    d.run(box, "echo fine")
    # `go` is made by a process that its command left behind, whose time is not that of the replay: /proc/uptime grows
    x = start(d, box, "test $(cut -d. -f1 /proc/uptime) -ge $(cat /workspace/t 2>/dev/null || echo 0) && exit 0; sleep 1000")
    ended(d, box, x)
    assert replay(d, box, timeout=120)["same"]
    r = replay(d, box, timeout=0.001)
    assert r["timed_out"] and not r["same"], r
    remove(d, box)


def test_journal_of_files(d):
    """What clients write and change is in the journal, with digests, and the journal is a whole chain."""
    box = d.make()
    body = os.urandom(300000)
    put(d, box, "x/data.bin&parents=true", body)
    d.must(200, "POST", f"/api/sandboxes/{box}/files/move", {"path": "x/data.bin", "to": "x/moved.bin"})
    d.must(200, "DELETE", f"/api/sandboxes/{box}/files?path=x&recursive=true")
    d.must(404, "DELETE", f"/api/sandboxes/{box}/files?path=nothing")
    got = wait_for("all", lambda: len(e := [e for e in events(d, box) if e["kind"].startswith("file")]) == 3 and e)
    details = sorted((e["detail"] for e in got), key=lambda t: t.get("what", ""))
    written = [t for t in details if "sha256" in t][0]
    assert written["path"] == "x/data.bin" and written["bytes"] == str(len(body)), written
    assert written["sha256"] == hashlib.sha256(body).hexdigest() and written["by"], written
    assert {(t.get("what"), t["path"], t.get("to")) for t in details if "what" in t} == {
        ("moved", "x/data.bin", "x/moved.bin"), ("removed", "x", None)}, details
    assert d.must(200, "GET", f"/api/sandboxes/{box}/journal/check")["events"] >= 4
    remove(d, box)


def test_refused(d):
    plain = d.make()
    d.run(plain, "true")
    assert "is not recorded" in recording(d, plain, 404)["error"]["message"]
    assert "is not recorded" in replay(d, plain, 404)["error"]["message"]
    remove(d, plain)


def test_cli(d):
    assert cay(d, "create", "--record", "--name", "one").returncode == 0
    assert cay(d, "exec", "one", "--", "cat", "/proc/sys/kernel/random/uuid").returncode == 0
    r = cay(d, "replay", "one")
    assert r.returncode == 0 and "stdout_sha256" in r.stdout, r
    assert [line.split() for line in r.stdout.splitlines()[:3]] == [["same", "no"], ["commands", "1"], ["compared", "1"]], r
    r = cay(d, "recording", "one")
    assert r.returncode == 0 and "commands" in r.stdout, r
    assert cay(d, "rm", "one").returncode == 0


def main():
    tests = [f for n, f in list(globals().items()) if n.startswith("test_") and callable(f)]
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
