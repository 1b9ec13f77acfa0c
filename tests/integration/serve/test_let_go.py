#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whoever's key was revoked, or whose token's time is over, does not stay: not on a WebSocket, not on a stream. What runs in the
sandbox is not harmed by that. test_let_go.py [NAME…] runs some."""
import http.client
import json
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ws_client  # noqa: E402
from daemon import Daemon, wait_for  # noqa: E402
from mcp_session import BOTH, LEGACY, MODERN, Session, events, request  # noqa: E402

LET_GO = -32003


def make_key(d, owner, scope="exec"):
    """(key, how to revoke it)"""
    k = d.must(201, "POST", "/api/keys", {"owner": owner, "scope": scope}, token=False, unix=True)
    return k["key"], lambda: d.must(200, "DELETE", f"/api/keys/{k['key_id']}", token=False, unix=True)


def status_of(d, box, exec_id):
    return d.must(200, "GET", f"/api/sandboxes/{box}/execs/{exec_id}", token=False, unix=True)["status"]


def destroy(d, box):
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=False, unix=True)


def start(d, box, key, command="sleep 600", **more):
    return d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": command, "background": True, **more}, token=key)["exec_id"]


WAITS = "read line < fifo; exit 7"  # goes on when somebody writes


def make_waiting(d, key):
    """A sandbox in which WAITS works."""
    box = d.must(201, "POST", "/api/sandboxes", {}, token=key)["sandbox_id"]
    d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "mkfifo fifo"}, token=key)
    return box


def running(d, box):
    found = d.must(200, "GET", f"/api/sandboxes/{box}/execs", token=False, unix=True)["execs"]
    return [e["exec_id"] for e in found if e["status"] == "running"]


def ends_well(d, box, exec_id):
    """To the end that it chooses itself: a command that is being killed has another."""
    def ended():
        e = d.must(200, "GET", f"/api/sandboxes/{box}/execs/{exec_id}", token=False, unix=True)
        return e if e["status"] != "running" else None

    e = wait_for("the command's end", ended)
    assert e["exit_code"] == 7, e


def survives(d, box, exec_id):
    d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "timeout 20 sh -c 'echo x > fifo'"}, token=False, unix=True)
    ends_well(d, box, exec_id)


def mcp_ws(d, key):
    w = ws_client.WebSocket(d.port, "/mcp", key)
    w.send(request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}, 0))
    assert w.read_json()["id"] == 0
    return w


def answers(w):
    """What has an id, up to the close; and the close."""
    found = []
    while True:
        try:
            m = w.read_json()
        except ws_client.Closed as c:
            return found, c
        if "id" in m:
            found.append(m)


def rest_streams(d, box, exec_id, key):
    """Every stream of REST that goes on for as long as somebody listens, by name; each has told its first event."""
    paths = {"output": f"/api/sandboxes/{box}/execs/{exec_id}/output", "events": "/api/events?follow=true",
             "own events": f"/api/sandboxes/{box}/events?follow=true", "watch": f"/api/sandboxes/{box}/files/watch?path=/workspace"}
    found = {}
    for name, path in paths.items():
        for accept in ("text/event-stream", "application/x-ndjson"):
            r, c = d.begin("GET", path, token=key, headers={"Accept": accept})
            assert r.status == 200, (name, r.status, r.read())
            r.readline()
            found[f"{name} as {accept}"] = (r, c)
    return found


def last_event(r):
    lines = [line for line in r.read().decode().splitlines() if line.strip() and not line.startswith(":")]
    return json.loads(lines[-1].removeprefix("data:"))


def test_rest_streams(d):
    key, revoke = make_key(d, "streams")
    box = make_waiting(d, key)
    exec_id = start(d, box, key, WAITS)
    open_ones = rest_streams(d, box, exec_id, key)
    raw, raw_c = d.begin("GET", f"/api/sandboxes/{box}/execs/{exec_id}/output?raw=true", token=key)
    stays, stays_c = d.begin("GET", "/api/events?follow=true", token=False, unix=True)
    revoke()
    for name, (r, c) in open_ones.items():
        last = last_event(r)
        assert last["event"] == "error" and last["code"] == "unauthenticated" and "revoked" in last["message"], (name, last)
        c.close()
    try:
        raw.read()
        was_whole = True
    except (http.client.IncompleteRead, ConnectionError):
        was_whole = False
    assert not was_whole, "a cut stream of bytes must not end as a whole one does"
    raw_c.close()
    survives(d, box, exec_id)
    destroy(d, box)
    while b"destroyed" not in (line := stays.readline()):  # somebody else's stream has stayed
        assert line
    stays_c.close()


def test_run_goes_on(d):
    """code_run ends its sandbox when its client leaves; a client that was let go has not left."""
    key, revoke = make_key(d, "runs")
    r, c = d.begin("POST", "/api/run", {"command": "sleep 600", "stream": True}, token=key)
    assert r.status == 200
    started = json.loads(r.readline())
    w = ws_client.WebSocket(d.port, "/api/run", key)
    w.send({"command": "sleep 600"})
    on_ws = w.read_json()
    revoke()
    assert last_event(r)["code"] == "unauthenticated"
    c.close()
    said, close = [], None
    while close is None:
        try:
            said.append(w.read_json())
        except ws_client.Closed as e:
            close = e
    assert close.code == 1008 and "revoked" in close.reason and said[-1]["code"] == "unauthenticated", (close, said)
    for run in (started, on_ws):
        box, exec_id = run["sandbox_id"], run["exec_id"]
        assert status_of(d, box, exec_id) == "running"
        # To its end, and then the sandbox that was made for it goes as it always does.
        d.must(200, "DELETE", f"/api/sandboxes/{box}/execs/{exec_id}", token=False, unix=True)
        wait_for("the sandbox to go", lambda: d.ask("GET", f"/api/sandboxes/{box}", token=False, unix=True).status == 404)


def test_exec_ws(d):
    key, revoke = make_key(d, "sockets")
    box = d.must(201, "POST", "/api/sandboxes", {}, token=key)["sandbox_id"]
    w = ws_client.WebSocket(d.port, f"/api/sandboxes/{box}/execute", key)
    w.send({"command": "cat; exit 7", "open_stdin": True})
    started = w.read_json()
    w.send(b"heard\n")
    assert w.read_json()["text"] == "heard\n"
    follows = ws_client.WebSocket(d.port, "/api/events?follow=true", key)
    follows.read_json()
    revoke()
    for s in (w, follows):
        said = list(s.events(end=1008))
        assert said[-1]["event"] == "error" and said[-1]["code"] == "unauthenticated", said
    # Its input is open still, too.
    assert d.ask("POST", f"/api/sandboxes/{box}/execs/{started['exec_id']}/input", b"more\n", token=False, unix=True).status == 200
    d.must(200, "POST", f"/api/sandboxes/{box}/execs/{started['exec_id']}/input?eof=true", token=False, unix=True)
    ends_well(d, box, started["exec_id"])
    destroy(d, box)


def test_terminal(d):
    """Its own shell lives on, and its next client finds it."""
    key, revoke = make_key(d, "typist")
    box = d.must(201, "POST", "/api/sandboxes", {}, token=key)["sandbox_id"]
    w = ws_client.WebSocket(d.port, f"/tty/{box}/ws", key, headers={"Sec-WebSocket-Protocol": "tty"})
    w.send(json.dumps({"columns": 80, "rows": 24}).encode())
    w.send(b"0echo to''ld\n")
    seen = b""
    while b"told" not in seen:
        seen += w.read()[1]
    revoke()
    try:
        while True:
            w.read()
    except ws_client.Closed as c:
        assert c.code == 1008 and "revoked" in c.reason, c
    until_gone(w)
    (exec_id,) = running(d, box)
    d.must(200, "POST", f"/api/sandboxes/{box}/execs/{exec_id}/input", b"exit 7\n", token=False, unix=True)
    ends_well(d, box, exec_id)
    destroy(d, box)


def until_gone(w):
    """What the end of a connection leads to has happened when the daemon has closed it."""
    while w.sock.recv(4096):
        pass


def test_mcp_ws_idle(d):
    """A session that ends destroys what it made without a name; one that is let go does not."""
    key, revoke = make_key(d, "idle")
    w = mcp_ws(d, key)
    w.send(request("tools/call", {"name": "sandbox_create", "arguments": {}}, 1))
    while "id" not in (m := w.read_json()):
        pass
    box = m["result"]["structuredContent"]["sandbox_id"]
    revoke()
    answers(w)
    until_gone(w)
    assert d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "echo there"}, token=False, unix=True)["stdout"] == "there\n"
    destroy(d, box)


def test_mcp_ws(d):
    key, revoke = make_key(d, "agent")
    box = make_waiting(d, key)
    w = mcp_ws(d, key)
    w.send(request("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": WAITS, "wait_s": 300}}, 2))
    (exec_id,) = wait_for("the command", lambda: running(d, box))
    revoke()
    told, close = answers(w)
    assert close.code == 1008 and "revoked" in close.reason, close
    assert [m["id"] for m in told] == [2] and told[0]["error"]["code"] == LET_GO, told
    until_gone(w)
    survives(d, box, exec_id)
    destroy(d, box)


def test_mcp_lines(d):
    """Lines over TCP, as a relay with a token has them."""
    key, revoke = make_key(d, "lines")
    s = socket.create_connection(("127.0.0.1", d.port))
    s.settimeout(60)
    s.sendall((f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: mcp-lines\r\nAuthorization: Bearer {key}\r\n\r\n").encode())
    f = s.makefile("rb")
    assert b" 101 " in f.readline()
    while f.readline().strip():
        pass
    for i in range(100):  # more than a slice, in one piece
        s.sendall(json.dumps(request("ping" if i else "initialize", {} if i else {"protocolVersion": LEGACY, "capabilities": {}}, i)).encode() + b"\n")
    assert sorted(json.loads(f.readline())["id"] for _ in range(100)) == list(range(100))
    box = make_waiting(d, key)
    s.sendall(json.dumps(request("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": WAITS, "wait_s": 300}},
                                 200)).encode() + b"\n")
    (exec_id,) = wait_for("the command", lambda: running(d, box))
    revoke()
    told = [m for m in map(json.loads, f.read().splitlines()) if m.get("id") == 200]
    assert told and told[0]["error"]["code"] == LET_GO, told
    survives(d, box, exec_id)
    destroy(d, box)
    s.close()


def test_mcp_http(d):
    """The session's own stream and that of a call end; the call goes on, and is taken up with another key of the owner."""
    key, revoke = make_key(d, "web")
    other, _ = make_key(d, "web")
    s = Session(d, token=key)
    box = s.good("sandbox_create")["sandbox_id"]
    d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "mkfifo fifo"}, token=key)
    own, own_c = d.begin("GET", "/mcp", token=key, headers=s.headers(Accept="text/event-stream"))
    call, call_c = s.begin("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "wait_s": 300,
                                                                               "command": "echo begun; head -n 1 fifo"}},
                           meta={"progressToken": 7})
    modern_r, modern_c = listen(d, key)
    seen = events(call)
    ident, first = next((i, m) for i, m in seen if m)
    assert first["method"] == "notifications/progress", first
    revoke()
    rest = [m for _, m in seen if m]
    assert rest[-1]["error"]["code"] == LET_GO and rest[-1]["id"] == s.next, rest
    assert [m for _, m in events(own) if m][-1]["error"]["code"] == LET_GO
    assert [m for _, m in events(modern_r) if m][-1]["error"]["code"] == LET_GO
    for c in (own_c, call_c, modern_c):
        c.close()
    assert s.post(request("ping", {}, 50)).status == 401
    s.token = other
    assert s.post(request("ping", {}, 51)).status == 200, "the session is the owner's"
    again, again_c = d.begin("GET", "/mcp", token=other, headers=s.headers(**{"Accept": "text/event-stream", "Last-Event-ID": ident}))
    assert again.status == 200
    d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "echo answered > fifo"}, token=other)
    found = [m for _, m in events(again) if m]
    assert "answered" in json.dumps(found[-1]["result"]), found
    again_c.close()
    assert s.end().status == 200


def listen(d, key):
    params = {"notifications": {"resourcesListChanged": True},
              "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}}
    r, c = d.begin("POST", "/mcp", request("subscriptions/listen", params, 31), token=key,
                   headers={"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"})
    assert r.status == 200 and r.getheader("Content-Type").startswith("text/event-stream")
    return r, c


def test_mcp_modern(d):
    """Leaving is the cancel there; being let go is not."""
    key, revoke = make_key(d, "modern")
    box = make_waiting(d, key)
    params = {"name": "run_command", "arguments": {"sandbox_id": box, "command": "echo begun; " + WAITS, "wait_s": 300},
              "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": 1}}
    r, c = d.begin("POST", "/mcp", request("tools/call", params, 9), token=key,
                   headers={"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "run_command"})
    seen = events(r)
    next(m for _, m in seen if m)
    revoke()
    rest = [m for _, m in seen if m]
    assert rest[-1]["id"] == 9 and rest[-1]["error"]["code"] == LET_GO, rest
    c.close()
    (exec_id,) = running(d, box)
    survives(d, box, exec_id)
    destroy(d, box)


def test_expiry(d):
    """A token's own end is the same."""
    token = d.make_token("--owner", "brief", "--lifetime", "3s")
    w = mcp_ws(d, token)
    follows, c = d.begin("GET", "/api/events?follow=true&new_only=true", token=token, headers={"Accept": "text/event-stream"})
    assert follows.status == 200
    told, close = answers(w)
    assert close.code == 1008 and "lifetime" in close.reason and not told, (close, told)
    assert "lifetime" in last_event(follows)["message"]
    c.close()


def test_proxied(d):
    """What the daemon only passes on from a port of a sandbox: a WebSocket, and an answer without an end."""
    key, revoke = make_key(d, "ports")
    box = d.must(201, "POST", "/api/sandboxes", {}, token=key)["sandbox_id"]
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"background": True, "command": ["python3", "-c", (
        "import socket\nkeep=[]\ns=socket.create_server(('127.0.0.1',3000))\nwhile 1:\n c,_=s.accept()\n q=c.recv(9999)\n"
        " c.sendall(b'HTTP/1.1 101 X\\r\\nUpgrade: plain\\r\\nConnection: Upgrade\\r\\n\\r\\nhello' if b'pgrade: plain' in q else"
        " b'HTTP/1.1 200 OK\\r\\nContent-Type: application/x-ndjson\\r\\n\\r\\nhello')\n keep.append(c)\n")]}, token=key)

    def joined(fields="Connection: Upgrade\r\nUpgrade: plain\r\n"):
        s = socket.create_connection(("127.0.0.1", d.port))
        s.settimeout(60)
        s.sendall((f"GET /api/sandboxes/{box}/ports/3000/ HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}"
                   f"Authorization: Bearer {key}\r\n\r\n").encode())
        got = b""
        while b"hello" not in got and b"HTTP/1.1 5" not in got and (more := s.recv(4096)):
            got += more
        if b"hello" in got:
            return s
        s.close()
        return None

    open_ones = [wait_for("the server inside", joined), wait_for("its other answer", lambda: joined(""))]
    revoke()
    for s in open_ones:
        while s.recv(4096):
            pass  # the rest of a chunk; then it is cut
        s.close()
    destroy(d, box)


def test_links(d):
    """A link to a port, and the cookie that it was exchanged for, end with the key that made it."""
    key, revoke = make_key(d, "linked")
    box = d.must(201, "POST", "/api/sandboxes", {}, token=key)["sandbox_id"]
    host, _, path = d.must(201, "POST", f"/api/sandboxes/{box}/links", {"port": 3000}, token=key)["url"].split("://")[1].partition("/")

    def ask(path, **headers):
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=30)
        c.request("GET", path, headers={"Host": host, **headers})
        r = c.getresponse()
        r.read()
        c.close()
        return r

    got = ask("/" + path)
    cookie = got.getheader("Set-Cookie").split(";")[0]
    assert got.status == 303 and ask("/", Cookie=cookie).status == 502, got.status  # nobody listens inside
    revoke()
    assert ask("/" + path).status == 401 and ask("/", Cookie=cookie).status == 401
    destroy(d, box)


def test_input(d):
    """A body that goes on is judged while it comes: it is what a command reads."""
    key, revoke = make_key(d, "typist")
    box = d.must(201, "POST", "/api/sandboxes", {}, token=key)["sandbox_id"]
    exec_id = start(d, box, key, "cat > typed", open_stdin=True)
    with socket.create_connection(("127.0.0.1", d.port), 30) as s:
        s.sendall((f"POST /api/sandboxes/{box}/execs/{exec_id}/input HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n6\r\nbefore\r\n").encode())

        def typed():
            return d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "cat typed"}, token=False, unix=True)["stdout"]

        wait_for("the input", lambda: typed() == "before")
        revoke()
        assert s.recv(100) == b""  # cut
    assert typed() == "before" and status_of(d, box, exec_id) == "running"
    destroy(d, box)


def test_logout(d):
    """A page's session that was ended ends what the page has open."""
    login = d.must(201, "POST", "/api/logins", {"owner": "reader"}, token=False, unix=True)["login"]
    origin = f"http://127.0.0.1:{d.port}"
    a = d.ask("POST", "/api/login", {"login": login}, token=False, headers={"Origin": origin})
    cookie = {"Cookie": a.headers["Set-Cookie"].split(";")[0], "Origin": origin}
    r, c = d.begin("GET", "/api/events?follow=true&new_only=true", token=False, headers={**cookie, "Accept": "text/event-stream"})
    assert r.status == 200
    assert d.ask("POST", "/api/logout", {}, token=False, headers=cookie).status == 200
    assert "session" in last_event(r)["message"]
    c.close()


TESTS = [test_rest_streams, test_run_goes_on, test_exec_ws, test_terminal, test_mcp_ws_idle, test_mcp_ws, test_mcp_lines, test_mcp_http, test_mcp_modern,
         test_expiry, test_proxied, test_links, test_input, test_logout]


def main():
    chosen = [t for t in TESTS if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]]
    with Daemon("--max-sandboxes", "50") as d:
        for t in chosen:
            t(d)
            print(f"ok {t.__name__}", flush=True)


main()
