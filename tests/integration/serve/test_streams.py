#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streams: WebSocket, followed events, bytes, ports by host name. test_streams.py [NAME…] runs some of them."""
import base64
import hashlib
import http.client
import json
import os
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import PATIENCE_S, Daemon, wait_for  # noqa: E402
from ws_client import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Closed, Refused, WebSocket  # noqa: E402

MIB = 1 << 20
# Prints the same pseudo-random letters each time: so many MiB.
LETTERS = ("import hashlib,sys\n"
           "for i in range(int(sys.argv[1]) * 256):\n"
           "    sys.stdout.write(hashlib.shake_256(str(i).encode()).hexdigest(2048))\n")
# The same when somebody has begun to read them: who comes late to more than is kept has missed it.
AWAITED_LETTERS = "import sys\nsys.stdin.readline()\n" + LETTERS
# Runs until it is told to end, and says when it can be.
UNTIL_TOLD = "trap 'exit 0' TERM; echo go; while :; do sleep 0.05; done"


def letters_hash(mib):
    h = hashlib.sha256()
    for i in range(mib * 256):
        h.update(hashlib.shake_256(str(i).encode()).hexdigest(2048).encode())
    return h.hexdigest()


def execute(d, box, token=None, **more):
    return WebSocket(d.port, f"/api/sandboxes/{box}/execute", token or d.token, **more)


def attach(d, box, exec_id, query="", token=None, **more):
    return WebSocket(d.port, f"/api/sandboxes/{box}/execs/{exec_id}/output{query}", token or d.token, **more)


def bytes_of(event):
    return event["text"].encode() if "text" in event else base64.b64decode(event["base64"])


def refused(make, status):
    try:
        make().sock.close()
    except Refused as r:
        assert r.status == status, r
        return json.loads(r.body)["error"]
    raise AssertionError(f"was let in, wanted {status}")


def closed_with(ws, code):
    """Reads up to the close, whose code must be this; the messages before it."""
    got = []
    try:
        while True:
            got.append(ws.read()[1])
    except Closed as c:
        assert c.code == code, c
    finally:
        ws.sock.close()
    return got


def test_ws_execute(d):
    """One message per event, the same JSON as in NDJSON."""
    box = d.make()
    with execute(d, box) as ws:
        ws.send({"command": "echo out; echo err >&2; printf '\\377\\n'; exit 3"})
        events = list(ws.events())
    assert [e["event"] for e in (events[0], events[-1])] == ["started", "exited"], events
    assert events[-1]["exit_code"] == 3 and events[0]["execution_id"], events
    r, c = d.begin("GET", f"/api/sandboxes/{box}/execs/{events[0]['exec_id']}/output")
    plain = [json.loads(line) for line in r]
    c.close()
    assert b"".join(bytes_of(e) for e in events if e["event"] == "stdout") == b"out\n\xff\n"
    assert [e for e in events if e["event"] == "stderr"] == [e for e in plain if e["event"] == "stderr"]
    with attach(d, box, events[0]["exec_id"]) as ws:
        assert list(ws.events()) == plain
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_input(d):
    """Bytes, text and base 64 to a command; its end; a signal; a terminal's size."""
    box = d.make()
    with execute(d, box) as ws:
        ws.send({"command": "cat", "open_stdin": True})
        ws.send(b"bytes\n")
        ws.send({"input": "text ä\n"})
        ws.send({"input_base64": base64.b64encode(b"\x00\xff\n").decode(), "eof": True})
        events = list(ws.events())
    out = b"".join(bytes_of(e) for e in events if e["event"] == "stdout")
    assert out == b"bytes\ntext \xc3\xa4\n\x00\xff\n" and events[-1]["exit_code"] == 0, events
    with execute(d, box) as ws:
        ws.send({"command": "trap 'echo caught; exit 7' USR1; echo go; while :; do sleep 0.05; done"})
        while ws.read_json()["event"] != "stdout":
            pass
        ws.send({"rows": 10, "cols": 20})
        e = ws.read_json()
        assert (e["event"], e["code"]) == ("error", "conflict") and "terminal" in e["message"], e
        ws.send({"signal": "USR1"})
        events = list(ws.events())
    assert any(e.get("text") == "caught\n" for e in events) and events[-1]["exit_code"] == 7, events
    with execute(d, box) as ws:
        ws.send({"command": ["sh", "-c", "read x; stty size; read y"], "tty": True, "open_stdin": True})
        ws.send({"rows": 33, "cols": 77})
        ws.send({"input": "\n"})
        seen = b""
        while b"33 77" not in seen:
            e = ws.read_json()
            seen += bytes_of(e) if e["event"] == "stdout" else b""
        ws.send({"input": "\n"})
        assert list(ws.events())[-1]["exit_code"] == 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_echo(d):
    """20 MB through `cat` and back, both ways held by what the other takes."""
    box = d.make()
    block = hashlib.shake_256(b"echo").digest(MIB // 2)
    count, got, sent = 40, hashlib.sha256(), hashlib.sha256()
    with execute(d, box) as ws:
        ws.send({"command": "cat", "open_stdin": True})
        ahead, size = 0, 0
        for i in range(count + 2):
            if i < count:
                ws.send(block)
                sent.update(block)
            else:
                ahead = 2
            if i == count:
                ws.send({"eof": True})
            # What is on its way fits between the two: nobody waits for the other.
            while size < (i + 1 - 2 + ahead) * len(block) and size < count * len(block):
                e = ws.read_json()
                if e["event"] == "stdout":
                    got.update(bytes_of(e))
                    size += len(bytes_of(e))
        events = list(ws.events())
    assert got.digest() == sent.digest() and events[-1]["exit_code"] == 0, events[-1]
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_deaf_command(d):
    """Input that is not read holds its client, and nothing else; a command that ends takes no more."""
    box = d.make()
    with execute(d, box) as ws:
        ws.send({"command": "sleep 600", "open_stdin": True})
        exec_id = ws.read_json()["exec_id"]
        ws.sock.settimeout(1)
        sent = 0
        try:
            while sent < 64 * MIB:
                ws.send(b"x" * 65536)
                sent += 65536
        except TimeoutError:
            pass
        assert sent < 32 * MIB, sent
        assert d.run(box, ["true"])["exit_code"] == 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}/execs/{exec_id}")
    with execute(d, box) as ws:
        ws.send({"command": f"exec <&-; {UNTIL_TOLD}", "open_stdin": True})
        while ws.read_json()["event"] != "stdout":
            pass
        for _ in range(3):
            ws.send(b"y" * 1000)
        ws.send({"signal": "TERM"})
        assert list(ws.events())[-1]["event"] == "exited"
    with execute(d, box) as ws:
        ws.send({"command": UNTIL_TOLD})
        ws.send(b"nobody reads this")
        seen = []
        while not {"stdout", "error"} <= {e["event"] for e in seen}:
            seen.append(ws.read_json())
        ws.send({"signal": "TERM"})
        events = seen + list(ws.events())
        assert [e["code"] for e in events if e["event"] == "error"] == ["conflict"], events
        assert events[-1]["exit_code"] == 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_drops(d):
    """A client that is cut off again and again comes back at its cursor: 20 MB with an equal hash."""
    box = d.make()
    exec_id = d.must(202, "POST", f"/api/sandboxes/{box}/execute",
                     {"command": ["python3", "-c", AWAITED_LETTERS, "20"], "background": True, "open_stdin": True})["exec_id"]
    h, at, drops, over = hashlib.sha256(), 0, 0, False
    while not over:
        with attach(d, box, exec_id, f"?from={at}", small_window=True) as ws:  # with what it did not read it loses little
            limit = at + 1500000
            while at < limit or drops >= 10:
                e = ws.read_json()
                if e["event"] == "started" and drops == 0:
                    ws.send(b"\n")
                if e["event"] == "stdout":
                    assert e["cursor"] == at, (e["cursor"], at)
                    h.update(bytes_of(e))
                    at = e["next"]
                over = e["event"] == "exited"
                if over:
                    break
        drops += 1
        assert drops < 100
    assert h.hexdigest() == letters_hash(20) and at == 20 * MIB and drops > 5, (at, drops)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_front_killed(d):
    """SIGKILL of the front in the middle of a stream: back at the cursor, every byte once."""
    box = d.make()
    with execute(d, box) as ws:
        ws.send({"command": ["python3", "-c", LETTERS, "20"]})
        exec_id = ws.read_json()["exec_id"]
        h, at, over, kills = hashlib.sha256(), 0, False, 0
        while not over:
            try:
                while not over:
                    e = ws.read_json()
                    if e["event"] == "stdout":
                        assert e["cursor"] == at, (e["cursor"], at)
                        h.update(bytes_of(e))
                        at = e["next"]
                    over = e["event"] == "exited"
                    assert e["event"] != "error", e
                    if kills == 0 and at > 3 * MIB:
                        os.kill(d.child("cay-front"), signal.SIGKILL)
                        kills += 1
            except (Closed, OSError):
                ws.sock.close()

                def back():
                    try:
                        return attach(d, box, exec_id, f"?from={at}")
                    except (OSError, Refused):
                        return None

                ws = wait_for("the next front", back)
        ws.sock.close()
    assert h.hexdigest() == letters_hash(20) and kills == 1
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_slow_reader(d):
    """It holds its command, not the daemon's memory; others are served."""
    box = d.make()
    front = d.child("cay-front")

    def memory():
        with open(f"/proc/{front}/status", encoding="utf-8") as f:
            return int(next(line for line in f if line.startswith("VmRSS")).split()[1])

    before = memory()
    with execute(d, box, small_window=True) as ws:
        ws.send({"command": ["python3", "-c", LETTERS, "64"]})
        exec_id = ws.read_json()["exec_id"]
        info = f"/api/sandboxes/{box}/execs/{exec_id}"

        def stands_still():
            was = d.must(200, "GET", info)["output_end"]
            time.sleep(0.3)
            return was > 0 and d.must(200, "GET", info)["output_end"] == was

        wait_for("the command to be held", stands_still)
        now = d.must(200, "GET", info)
        assert now["status"] == "running" and now["output_end"] < 64 * MIB, now
        assert memory() - before < 32 * 1024, (before, memory())
        assert d.run(box, ["true"])["exit_code"] == 0
        h = hashlib.sha256()
        for e in ws.events():
            if e["event"] == "stdout":
                h.update(bytes_of(e))
    assert h.hexdigest() == letters_hash(64)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_bad_frames(d):
    box = d.make()
    body = json.dumps({"command": "cat", "open_stdin": True}).encode()

    def end_all():
        for e in d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"]:
            if e["status"] == "running":
                assert d.ask("DELETE", f"/api/sandboxes/{box}/execs/{e['exec_id']}").status in (200, 409)  # it may end by itself

    def after_start():
        end_all()
        ws = execute(d, box)
        ws.send_frame(TEXT, body)
        assert ws.read_json()["event"] == "started"
        return ws

    for step in (lambda: execute(d, box), after_start):
        ws = step()
        ws.send_frame(TEXT, b"{}", masked=False)
        closed_with(ws, 1002)
        ws = step()
        ws.send_frame(TEXT, b"\xff\xfe{}")
        closed_with(ws, 1007)
        ws = step()
        ws.send_frame(BINARY, b"x", length=1 << 40)
        closed_with(ws, 1009)
        ws = step()
        ws.send_frame(BINARY, b"x", length=1 << 63)
        closed_with(ws, 1002)
        ws = step()
        ws.send_frame(3, b"")
        closed_with(ws, 1002)
        ws = step()
        ws.send_frame(CONTINUATION, b"tail of nothing")
        closed_with(ws, 1002)
        ws = step()
        ws.send_frame(TEXT, b"begun", last=False)
        ws.send_frame(TEXT, b"again")
        closed_with(ws, 1002)
        ws = step()
        ws.send_frame(PING, b"x" * 126)
        closed_with(ws, 1002)
        ws = step()
        for _ in range(20):  # fragments without an end: up to the maximum of a message
            try:
                ws.send_frame(BINARY if _ == 0 else CONTINUATION, b"f" * 65536, last=False)
            except OSError:
                break
        closed_with(ws, 1009)
        ws = step()
        ws.send_frame(CLOSE, b"\x03")
        closed_with(ws, 1002)
    ws = after_start()
    ws.send_frame(PING, b"are you there")
    assert ws.read_frame() == (PONG, True, b"are you there")
    ws.send("no JSON")
    assert json.loads(closed_with(ws, 1008)[0])["event"] == "error"
    for order in ({"nonsense": 1}, {"rows": 10}, {"signal": 9}, {}, {"input": "a", "input_base64": ""}, [1]):
        ws = after_start()
        ws.send(order)
        assert json.loads(closed_with(ws, 1008)[0])["code"] == "invalid", order
    ws = after_start()
    ws.send({"signal": "NOSUCH"})
    assert ws.read_json()["code"] == "invalid"
    ws.send_frame(CLOSE, b"\x03\xe8bye")
    closed_with(ws, 1000)
    end_all()
    assert d.run(box, ["true"])["exit_code"] == 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_refusals(d):
    """Before the upgrade an HTTP status, behind it the same error as a message."""
    box = d.make()
    path = f"/api/sandboxes/{box}/execute"
    other, reader = d.make_token("--owner", "other"), d.make_token("--scope", "read")
    refused(lambda: WebSocket(d.port, path), 401)
    refused(lambda: WebSocket(d.port, path, "cay1.x.y"), 401)
    refused(lambda: execute(d, box, reader), 403)
    refused(lambda: WebSocket(d.port, path, d.token, {"Origin": "https://evil.example"}), 403)
    refused(lambda: WebSocket(d.port, path, d.token, {"Origin": "null"}), 403)
    refused(lambda: WebSocket(d.port, path, d.token, {"Sec-WebSocket-Version": "8"}), 426)
    refused(lambda: WebSocket(d.port, path, d.token, {"Sec-WebSocket-Key": "short"}), 400)
    refused(lambda: WebSocket(d.port, path, d.token, host="evil.example"), 421)
    refused(lambda: WebSocket(d.port, path + "?nonsense=1", d.token), 400)
    refused(lambda: WebSocket(d.port, f"/api/sandboxes/{box}/pause", d.token), 405)
    refused(lambda: WebSocket(d.port, "/api/nothing", d.token), 404)
    refused(lambda: attach(d, box, "nosuch"), 404)
    with WebSocket(d.port, path, d.token, {"Origin": "https://good.example"}) as ws:
        ws.send({"command": "true"})
        assert list(ws.events())[-1]["exit_code"] == 0
    ended = d.must(202, "POST", path, {"command": "sleep 600", "background": True, "open_stdin": True})["exec_id"]
    refused(lambda: attach(d, box, ended, token=other), 404)
    refused(lambda: attach(d, box, ended, "?from=99999999"), 400)
    ws = attach(d, box, ended, token=reader)
    assert ws.read_json()["event"] == "started"
    ws.send(b"may I?")
    closed_with(ws, 1008)
    d.must(200, "DELETE", f"/api/sandboxes/{box}/execs/{ended}")
    for token, body, code in [(d.token, {"nonsense": 1}, "invalid"), (d.token, {}, "invalid"), (other, {"command": "true"}, "not_found"),
                              (d.token, {"command": ["true"], "stdin": "x", "open_stdin": True}, "invalid")]:
        ws = execute(d, box, token)
        ws.send(body)
        said = closed_with(ws, 1008)
        assert json.loads(said[0])["error"]["code"] == code, said
    ws = execute(d, box)
    ws.send("[" * 100000)
    assert json.loads(closed_with(ws, 1008)[0])["error"]["code"] == "invalid"
    ws = execute(d, box)
    ws.send(b"binary first")
    closed_with(ws, 1008)
    ws = execute(d, box)
    ws.send({"command": "exit 4", "background": True})
    assert json.loads(closed_with(ws, 1000)[0])["execution_id"]
    ws = execute(d, box)
    ws.send({"command": "true", "execution_id": "ws-once"})
    first = json.loads(closed_with(ws, 1000)[0])["exec_id"]
    ws = execute(d, box)
    ws.send({"command": "true", "execution_id": "ws-once"})
    error = json.loads(closed_with(ws, 1008)[0])["error"]
    assert error["code"] == "exists" and error["first"] == first, error
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_raw(d):
    """Output as bytes: of one stream or both, from a cursor, while it comes; cut streams look cut."""
    box = d.make()
    run = f"/api/sandboxes/{box}/execute"
    e = d.must(202, "POST", run, {"command": ["python3", "-c", AWAITED_LETTERS, "20"], "background": True, "open_stdin": True})["exec_id"]
    out = f"/api/sandboxes/{box}/execs/{e}/output"
    c = d.connect()
    c.sock = socket.socket()
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)  # with what it did not read it loses little
    c.sock.settimeout(PATIENCE_S)
    c.sock.connect((d.host, d.port))
    c.request("GET", out + "?raw=true", headers={"Authorization": "Bearer " + d.token})
    r = c.getresponse()
    d.must(200, "POST", f"/api/sandboxes/{box}/execs/{e}/input", b"\n")
    assert r.status == 200 and r.getheader("Content-Type") == "application/octet-stream"
    h = hashlib.sha256(r.read(5000000))
    c.close()  # cut: what comes next is at the count of what one has
    h.update(d.must(200, "GET", out + "?raw=true&from=5000000"))
    assert h.hexdigest() == letters_hash(20)
    with attach(d, box, e, "?raw=true&from=15000000") as ws:
        tail = b"".join(iter_binary(ws))
    assert len(tail) == 20 * MIB - 15000000
    e = d.must(202, "POST", run, {"command": "printf a; printf b >&2; printf '\\377c'", "background": True})["exec_id"]
    out = f"/api/sandboxes/{box}/execs/{e}/output"
    assert d.must(200, "GET", out + "?raw=true&stream=stdout") == b"a\xffc"
    assert d.must(200, "GET", out + "?raw=true&stream=stderr") == b"b"
    assert sorted(d.must(200, "GET", out + "?raw=true")) == sorted(b"ab\xffc")
    r, c = d.begin("GET", out + "?stream=stderr")
    assert [json.loads(line)["event"] for line in r] == ["started", "stderr", "exited"]
    c.close()
    assert d.ask("GET", out + "?raw=true&stream=stdin").status == 400
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def iter_binary(ws):
    try:
        while True:
            opcode, data = ws.read()
            assert opcode == BINARY
            yield data
    except Closed as c:
        assert c.code == 1000, c


def sse_of(response):
    """(id, event, data) of a stream of server-sent events; comments are left out."""
    fields = {}
    for line in response:
        line = line.decode().rstrip("\n")
        if not line:
            if "data" in fields:
                yield int(fields["id"]), fields["event"], json.loads(fields["data"])
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


def test_follow(d):
    """Events as they happen, in all three encodings; cut off and taken up again without a gap."""
    first = d.make()
    r, c = d.begin("GET", "/api/events?follow=true", headers={"Accept": "text/event-stream"})
    assert r.status == 200 and r.getheader("Content-Type").startswith("text/event-stream"), r.status
    stream = sse_of(r)
    seen = []
    while not any(e["sandbox_id"] == first for _, _, e in seen):
        seen.append(next(stream))
    box = d.make()
    while not any(e["sandbox_id"] == box for _, _, e in seen):
        seen.append(next(stream))
    assert all(i == e["seq"] and kind == e["kind"] for i, kind, e in seen)
    c.close()
    at = seen[-1][0]
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    # What a browser does: the same URL, and where it stands in a field.
    r, c = d.begin("GET", "/api/events?follow=true&after=0", headers={"Accept": "text/event-stream", "Last-Event-ID": str(at)})
    later = [next(sse_of(r))]
    assert later[0][0] > at and later[0][2]["sandbox_id"] == box, later
    c.close()
    listed = d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000")["events"]
    r, c = d.begin("GET", f"/api/sandboxes/{box}/events?follow=true")
    lines = [json.loads(r.readline()) for _ in listed]
    assert lines == listed, (lines, listed)
    ws = WebSocket(d.port, f"/api/sandboxes/{box}/events?follow=true&new_only=true", d.token)
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    fresh = json.loads(r.readline())
    assert fresh["seq"] > listed[-1]["seq"] and fresh["sandbox_id"] == box
    assert ws.read_json() == fresh
    ws.send(b"nothing is taken here")
    closed_with(ws, 1008)
    c.close()
    other = d.make_token("--owner", "other")
    r, c = d.begin("GET", "/api/events?follow=true", token=other)
    theirs = d.must(201, "POST", "/api/sandboxes", {}, token=other)["sandbox_id"]
    assert json.loads(r.readline())["sandbox_id"] == theirs
    c.close()
    d.must(200, "DELETE", f"/api/sandboxes/{theirs}", token=other)
    for query in ("follow=true&limit=3", "follow=true&before=3", "follow=true&newest_first=true", "follow=perhaps"):
        assert d.ask("GET", "/api/events?" + query).status == 400, query
    for b in (first, box):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def begin_silence(d):
    """Streams of somebody to whom nothing happens, early: so that others test while it lasts."""
    token, path = d.make_token("--owner", "quiet"), "/api/events?follow=true&new_only=true"
    d.silence = token, d.begin("GET", path, token=token, headers={"Accept": "text/event-stream"}), d.begin("GET", path, token=token)


def test_silence(d):
    """A stream on which nothing happens says so now and then: whoever is in between keeps it open, and a client that left is noticed."""
    token, (sse, c1), (lines, c2) = d.silence
    assert sse.readline() == b":\n" and sse.readline() == b"\n"
    assert lines.read(1) == b" "
    box = d.must(201, "POST", "/api/sandboxes", {}, token=token)["sandbox_id"]
    assert json.loads(lines.readline())["sandbox_id"] == box
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=token)
    c1.close()
    c2.close()


def test_stop(_):
    """A daemon that stops says so on its streams, which would go on for ever, and does not wait for them."""
    with Daemon("--rate-limit", "0") as d:
        box = d.make()
        follower = WebSocket(d.port, "/api/events?follow=true", d.token)
        idle = execute(d, box)
        runs = execute(d, box)
        runs.send({"command": "sleep 600"})
        assert runs.read_json()["event"] == "started"
        r, c = d.begin("GET", "/api/events?follow=true&new_only=true")
        d.process.send_signal(signal.SIGTERM)
        for ws in (follower, idle, runs):
            closed_with(ws, 1001)
        try:
            assert r.read() == b""
        except http.client.IncompleteRead:
            pass
        c.close()


def count_fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_many_followers(d):
    """A hundred of them hear the same; when they go, so does what they cost."""
    front = d.child("cay-front")
    before = count_fds(front)
    tokens = [d.make_token("--owner", "crowd") for _ in range(2)]
    followers = [WebSocket(d.port, "/api/events?follow=true&new_only=true", tokens[i % 2]) for i in range(50)]
    plain = [d.begin("GET", "/api/events?follow=true&new_only=true", token=tokens[i % 2]) for i in range(50)]
    silent = WebSocket(d.port, "/api/events?follow=true", tokens[0], small_window=True)  # and one that never reads
    box = d.must(201, "POST", "/api/sandboxes", {}, token=tokens[0])["sandbox_id"]
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=tokens[0])
    listed = d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000", token=tokens[0])["events"]
    for ws in followers:
        assert [ws.read_json() for _ in listed] == listed
    for r, _ in plain:
        assert [json.loads(r.readline()) for _ in listed] == listed
    for ws in followers + [silent]:
        ws.sock.close()
    for _, c in plain:
        c.close()
    wait_for("the followers' descriptors to go", lambda: count_fds(front) <= before + 2)
    # one owner does not take all the places
    path, greedy = "/api/events?follow=true&new_only=true", d.make_token("--owner", "greedy")
    held = [d.begin("GET", path, token=greedy, headers={"Accept": "application/x-ndjson"}) for _ in range(128)]
    assert {r.status for r, _ in held} == {200}
    assert d.ask("GET", path, token=greedy, headers={"Accept": "application/x-ndjson"}).status == 429
    other = d.begin("GET", path, token=d.make_token("--owner", "modest"), headers={"Accept": "application/x-ndjson"})
    assert other[0].status == 200
    for r, c in held + [other]:
        r.close()
        c.close()
    wait_for("these, too", lambda: count_fds(front) <= before + 2)


PORT_SERVER = r"""
import base64, hashlib, http.server, socketserver
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket":
            digest = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
            self.end_headers()
            if self.path == "/fields":
                text = repr([self.headers.get(name) for name in ("X-Auth-Token", "Sec-WebSocket-Protocol", "Authorization", "Cookie")])[:120].encode()
                self.wfile.write(bytes([0x81, len(text)]) + text)
            self.wfile.write(b"\x81\x05hello")  # one message, then all that comes, back again without its mask
            while True:
                a, n = self.rfile.read(2)
                mask = self.rfile.read(4)
                text = bytes(c ^ mask[i % 4] for i, c in enumerate(self.rfile.read(n & 0x7f)))
                self.wfile.write(bytes([a, len(text)]) + text)
                if a == 0x88:
                    self.close_connection = True
                    return
        body = (self.requestline + "\n" + str(self.headers).lower()).encode()
        self.send_response(200)
        for cookie in ("mine=1; Path=/", "wide=1; Domain=localhost", "cay_port=evil", "wider=2; path=/; DOMAIN =.localhost"):
            self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Security-Policy", "default-src 'self'")
        for name in ("X-Accel-Redirect", "X-Sendfile", "X-Accel-Buffering", "Surrogate-Control", "Alt-Svc", "Clear-Site-Data", "X-App-Mine"):
            self.send_header(name, "/etc/passwd")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    do_HEAD = do_GET
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()
    def log_message(self, *a): pass
class S(socketserver.ThreadingMixIn, http.server.HTTPServer): daemon_threads = True
S(("127.0.0.1", 8124), H).serve_forever()
"""


def test_port_hosts(d):
    """A port by host name: an origin of its own, where nothing of ours is served and nothing of ours is seen."""
    box = d.make()
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", PORT_SERVER], "background": True})
    wait_for("the port", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/ports")["ports"] == [8124])
    host = f"8124-{box}.localhost"

    def get(path="/", name=host, token=True, method="GET", body=None, **fields):
        return d.ask(method, path, body, token=token, headers={"Host": f"{name}:{d.port}", **{k.replace("_", "-"): v for k, v in fields.items()}})

    a = get("/a%20b/../x".replace("/..", "") + "?q=1", Cookie="theirs=1; cay_port=ours-alone; also=2")
    assert a.status == 200 and a.body.startswith(b"GET /a%20b/x?q=1 HTTP/1.1\n"), a
    assert b"authorization" not in a.body and b"ours-alone" not in a.body and b"cookie: theirs=1; also=2\n" in a.body, a
    assert f"x-forwarded-host: {host}:{d.port}".encode() in a.body and b"\nhost: localhost:8124" in a.body, a
    assert a.headers["Set-Cookie"] == "mine=1; Path=/" and a.headers["Content-Security-Policy"] == "default-src 'self'", a.headers
    # Secrets do not go in, by whatever name; orders to proxies and browsers do not come out; what is a page's own passes both ways.
    for name, path in [(host, "/"), ("127.0.0.1", f"/api/sandboxes/{box}/ports/8124/")]:
        a = get(path, name, X_Auth_Token="secret-1", X_API_Key="secret-2", X_Mine=f"a {d.token}", Remote_User="secret-3",
                Sec_WebSocket_Protocol=f"x{d.token}", X_CSRF_Token="theirs-1", X_Own="theirs-2")
        assert a.status == 200 and b"secret-" not in a.body and d.token.lower().encode() not in a.body, a
        assert b"x-csrf-token: theirs-1\n" in a.body and b"x-own: theirs-2\n" in a.body, a
        assert a.headers["X-App-Mine"] == "/etc/passwd", a.headers
        assert list(a.headers.values()).count("/etc/passwd") == 1, a.headers
        h = get(path, name, method="HEAD")
        assert h.status == 200 and not h.body and int(h.headers["Content-Length"]) > 100, h.headers
    # Nothing of ours under that name, whatever the path; and nobody without a token.
    for path in ("/api/sandboxes", "/api/health/live", "/", "/api/version"):
        assert get(path).body.startswith(f"GET {path} ".encode()), path
        assert get(path, token=None).status == 401, path
    assert get(token=d.make_token("--owner", "other")).status == 404
    assert get(token=d.make_token("--scope", "read")).status == 403
    assert get(name=host.upper().replace("LOCALHOST", "localhost")).status == 200
    for name, status in [(f"08124-{box}.localhost", 421), (f"8124-{box}.localhost.evil.example", 421), (f"8124-{box}.evil.example", 421),
                         (f"x.8124-{box}.localhost", 421), (f"8124{box}.localhost", 421), (f"65536-{box}.localhost", 421),
                         ("8124-nosuch.localhost", 404), (f"8124-{box}.", 421), (f"9-{box}.localhost", 502)]:
        assert get(name=name).status == status, (name, get(name=name))
    c = d.connect()  # keep-alive
    for i in range(5):
        c.request("POST", f"/{i}", body=b"z" * 100000, headers={"Host": host, "Authorization": "Bearer " + d.token})
        assert c.getresponse().read().startswith(f"POST /{i} ".encode())
    c.close()
    with WebSocket(d.port, "/ws", d.token, host=host) as ws:
        assert ws.read() == (TEXT, b"hello")
        ws.send("and back")
        assert ws.read() == (TEXT, b"and back")
    with WebSocket(d.port, "/ws", d.token, {"Origin": f"http://{host}:{d.port}"}, host=host) as ws:
        assert ws.read() == (TEXT, b"hello")
    refused(lambda: WebSocket(d.port, "/ws", d.token, {"Origin": f"http://9-{box}.localhost:{d.port}"}, host=host), 403)
    # Wherever a WebSocket brings its token, the sandbox does not get it.
    for fields, seen in [({"X-Auth-Token": d.token}, [None] * 4), ({"Sec-WebSocket-Protocol": "mcp.auth." + d.token}, [None] * 4),
                         ({"Sec-WebSocket-Protocol": f"chat, mcp.auth.{d.token},v2"}, [None, "chat, v2", None, None])]:
        for name, path in [(host, "/fields"), ("127.0.0.1", f"/api/sandboxes/{box}/ports/8124/fields")]:
            with WebSocket(d.port, path, None, fields, host=name) as ws:
                assert ws.read() == (TEXT, repr(seen).encode()), (fields.keys(), name)

    # For browsers: a link, exchanged for a cookie of that host.
    link = d.must(201, "POST", f"/api/sandboxes/{box}/links", {"port": 8124})["url"]
    assert link.startswith(f"http://{host}:{d.port}/?cay_link=cayp1."), link
    query = link.split("/?")[1]
    a = get(f"/deep/er?a=1&{query}&b=2", token=None)
    assert a.status == 303 and a.headers["Location"] == "/deep/er?a=1&b=2", a
    cookie = a.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "Domain" not in cookie and cookie.startswith("cay_port=cayp1."), cookie
    cookie = cookie.split(";")[0]
    a = get("/deep", token=None, Cookie="x=1; " + cookie)
    assert a.status == 200 and b"cayp1" not in a.body and b"cookie: x=1\n" in a.body, a
    assert get("/again?" + query, token=None, Cookie=cookie).headers["Location"] == "/again"
    assert get("/?" + query, token=None, method="POST", body=b"", Origin=f"http://{host}:{d.port}").status == 400
    assert get("//evil.example/?" + query, token=None).status in (400, 404)
    own = f"http://{host}:{d.port}"
    assert get(token=None, Cookie=cookie, method="POST", body=b"x", Origin=own).status == 200
    a = get(token=None, method="POST", body=b"x", Origin=own, Cookie=cookie)  # the last field, as browsers send it
    assert a.status == 200 and b"cookie" not in a.body and b"\nconnection: close\n" in a.body, a
    assert get(token=None, Cookie=cookie, method="POST", body=b"x", Origin=f"http://9-{box}.localhost:{d.port}").status == 403
    assert get(token=None, Cookie=cookie, method="POST", body=b"x").status == 403
    assert get(token=None, Cookie=cookie, Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors").status == 401
    assert get(token=None, Cookie=cookie, Sec_Fetch_Site="same-site", Sec_Fetch_Mode="navigate").status == 200
    with WebSocket(d.port, "/ws", None, {"Origin": own, "Cookie": cookie}, host=host) as ws:
        assert ws.read() == (TEXT, b"hello")
    # The page's session is good for nothing here, and is not handed to the sandbox.
    a = d.ask("POST", "/api/login", {"login": d.make_token("--login").split("login=")[1].split()[0]}, token=None)
    session = a.headers["Set-Cookie"].split(";")[0]
    assert d.ask("GET", "/api/whoami", token=None, headers={"Cookie": session}).status == 200
    assert get(token=None, Cookie=session).status == 401
    a = get(Cookie="x=1; " + session)
    assert a.status == 200 and b"cays1" not in a.body and b"cookie: x=1\n" in a.body, a
    # Good for that port of that sandbox and for nothing else.
    second = d.make()
    value = cookie.split("=", 1)[1]
    for name in (f"8125-{box}.localhost", f"8124-{second}.localhost"):
        assert get(name=name, token=None, Cookie=cookie).status == 401
        assert get("/?" + query, name=name, token=None).status == 401
    assert d.ask("GET", "/api/sandboxes", token=value).status == 401
    assert d.ask("GET", "/api/sandboxes", token=None, headers={"Cookie": f"cay_session_{d.port}={value}; {cookie}"}).status == 401
    assert d.ask("GET", f"/api/sandboxes?{query}", token=None).status == 401
    assert get(token=None, Cookie=cookie[:-1] + ("A" if cookie[-1] != "A" else "B")).status == 401
    assert get(token=None, Cookie="cay_port=" + d.token).status == 401
    d.must(404, "POST", f"/api/sandboxes/{box}/links", {"port": 8124}, token=d.make_token("--owner", "other"))
    d.must(403, "POST", f"/api/sandboxes/{box}/links", {"port": 8124}, token=d.make_token("--scope", "read"))
    d.must(400, "POST", f"/api/sandboxes/{box}/links", {"port": 0})
    for b in (box, second):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")
    assert get(token=None, Cookie=cookie).status == 404


TESTS = [test_ws_front_killed, test_ws_execute, test_ws_input, test_ws_echo, test_ws_deaf_command, test_ws_drops, test_ws_slow_reader, test_ws_bad_frames,
         test_ws_refusals, test_raw, test_follow, test_many_followers, test_port_hosts, test_stop, test_silence]


def main(names):
    chosen = [t for t in TESTS if not names or t.__name__.removeprefix("test_") in names]
    began = time.monotonic()
    with Daemon("--rate-limit", "0", "--allow-origins", "https://good.example", "--log-level", "debug") as d:
        for t in chosen:
            then = time.monotonic()
            if t is not test_ws_front_killed and not hasattr(d, "silence"):
                begin_silence(d)
            t(d)
            print(f"{t.__name__} {time.monotonic() - then:.1f} s", flush=True)
    print(f"{len(chosen)} passed in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
