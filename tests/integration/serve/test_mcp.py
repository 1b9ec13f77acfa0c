#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MCP over a running daemon, message by message: transports, sessions, eras. test_mcp.py [NAME…] runs some."""
import base64
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ws_client  # noqa: E402
from daemon import CAY, PATIENCE_S, children, state_of, wait_for  # noqa: E402
from mcp_session import (BOTH, LEGACY, MODERN, REGISTRY, Session, Stream, boxes, events, hear, modern, request, run,  # noqa: E402
                         run_count, start_lines, talk, write_registry)


def test_legacy(d):
    s = Session(d)
    assert s.hello["protocolVersion"] == LEGACY and s.hello["serverInfo"]["name"] == "cay"
    assert "sandbox" in s.hello["instructions"]
    assert s.must("ping") == {}
    tools = s.must("tools/list")["tools"]
    names = [t["name"] for t in tools]
    assert names[0] == "container_list" and {"container_start", "container_exec", "container_stop", "run_code",
                                             "run_command", "read_file", "write_file"} <= set(names), names
    for t in tools:
        assert t["inputSchema"]["type"] == "object" and t["description"] and len(t["name"]) <= 40
        assert set(t["inputSchema"].get("required", [])) <= set(t["inputSchema"]["properties"]), t
        for p in t["inputSchema"]["properties"].values():
            assert isinstance(p["type"], str) and p["description"], t
    assert s.must("logging/setLevel", {"level": "info"}) == {}
    assert s.ask("logging/setLevel", {"level": "loud"})["error"]["code"] == -32602
    assert s.ask("tools/list", {"cursor": "x"})["error"]["code"] == -32602
    assert s.ask("no/such")["error"]["code"] == -32601
    assert s.ask("server/x")["error"]["code"] == -32601
    assert s.ask("tools/call", {"name": "nope"})["error"]["code"] == -32602
    assert s.ask("resources/read", {"uri": "zzz://a"})["error"]["code"] == -32002
    assert s.must("prompts/list")["prompts"][0]["name"] == "sandbox_guide"
    assert s.must("prompts/get", {"name": "sandbox_guide", "arguments": {"task": "T"}})["messages"][0]["role"] == "user"
    assert s.ask("prompts/get", {"name": "x"})["error"]["code"] == -32602
    assert s.must("completion/complete", {"ref": {"type": "ref/prompt", "name": "sandbox_guide"},
                                          "argument": {"name": "task", "value": ""}})["completion"]["values"] == []
    assert s.end().status == 200
    assert s.post(request("ping")).status == 404
    for version, expected in (("2024-11-05", "2024-11-05"), ("2026-07-28", LEGACY), ("x", LEGACY)):
        t = Session(d, version=version)
        assert t.hello["protocolVersion"] == expected
        t.end()


def test_transport(d):
    s = Session(d)
    other = d.make_token("--owner", "somebody")
    init = request("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    ask = d.ask
    assert ask("POST", "/mcp", init, token=False, headers={"Accept": BOTH}).status == 401
    bad = ask("POST", "/mcp", init, token="nonsense", headers={"Accept": BOTH})
    assert bad.status == 401 and "WWW-Authenticate" in bad.headers
    assert ask("POST", "/mcp", init, headers={"Accept": BOTH, "Origin": "http://evil.example"}).status == 403
    assert ask("POST", "/mcp", init, headers={"Accept": BOTH, "Host": "evil.example"}).status in (403, 421)
    assert ask("PUT", "/mcp", b"{}", headers={"Accept": BOTH}).status == 405
    assert ask("POST", "/mcp", b"{}", headers={"Accept": BOTH, "Content-Type": "text/plain"}).status == 415
    assert ask("POST", "/mcp", init, headers={"Accept": "application/json"}).status == 406
    assert ask("POST", "/mcp", request("ping"), headers={"Accept": BOTH}).status == 400
    assert ask("POST", "/mcp", request("ping"), headers=s.headers(**{"Mcp-Session-Id": "0" * 32})).status == 404
    assert ask("POST", "/mcp", request("ping"), token=other, headers=s.headers()).status == 404
    assert ask("POST", "/mcp", init, headers=s.headers()).status == 400
    assert ask("POST", "/mcp", request("ping"), headers=s.headers(**{"MCP-Protocol-Version": "1999-01-01"})).status == 400
    assert ask("GET", "/mcp", headers={"Accept": "application/json", "Mcp-Session-Id": s.id}).status == 406
    assert ask("GET", "/mcp", headers={"Accept": "text/event-stream"}).status == 400
    assert ask("GET", "/mcp", headers={"Accept": "text/event-stream", "MCP-Protocol-Version": MODERN}).status == 405
    assert ask("OPTIONS", "/mcp", token=False).status == 204
    assert ask("GET", "/.well-known/oauth-protected-resource/mcp").status == 404
    assert ask("POST", "/api/sandboxes/nosuch/mcp", init, headers={"Accept": BOTH}).status == 404
    r, c = d.begin("GET", "/mcp", headers=s.headers())
    assert r.status == 200 and r.getheader("Content-Type").startswith("text/event-stream")
    assert ask("GET", "/mcp", headers=s.headers()).status == 409
    c.close()
    assert ask("GET", "/mcp", headers=s.headers(**{"Last-Event-ID": "99-1"})).status == 204
    s.end()


MALFORMED = [
    (b"{", -32700), (b"", -32700), (b"\xff\xfe", -32700), (b'{"a":1,"a":2}', -32700), (b"nope", -32700), (b"5", -32600),
    (b"[]", -32600), (b"{}", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":5}}', -32602),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600), (b"[" * 100000, -32600),
]


def test_malformed(d):
    s = Session(d)
    for body, code in MALFORMED:
        a = d.ask("POST", "/mcp", body, headers=s.headers(**{"Content-Type": "application/json"}))
        assert a.status == 400 and a.json["error"]["code"] == code, (body[:60], a)
    assert s.must("ping") == {}
    with ws_client.WebSocket(d.port, "/mcp", d.token) as w:
        for body, code in MALFORMED:
            if b"\xff" in body or not body:
                continue  # not text: that closes a WebSocket
            w.send(body.decode())
            m = w.read_json()
            assert m["error"]["code"] == code, (body[:60], m)
        w.send(json.dumps(request("ping", id="still here")))
        assert w.read_json() == {"jsonrpc": "2.0", "id": "still here", "result": {}}
    s.end()


def test_too_long(d):
    """A message over WebSocket that is too long is answered with its id before the connection ends for it; alone and in fragments."""
    head = b'{"jsonrpc":"2.0","id":"long one","method":"tools/call","params":{"name":"x'
    for fragments in (False, True):
        with ws_client.WebSocket(d.port, "/mcp", d.token) as w:
            if fragments:
                w.send_frame(ws_client.TEXT, head[:30], last=False)
            w.send_frame(ws_client.CONTINUATION if fragments else ws_client.TEXT, head[30:] if fragments else head, length=13 << 20)
            m = w.read_json()
            assert m["id"] == "long one" and m["error"]["code"] == -32600 and "12582912" in m["error"]["message"], m
            try:
                w.read()
                raise AssertionError("it goes on")
            except ws_client.Closed as e:
                assert e.code == 1009, e


def test_modern(d):
    status, found = modern(d, "server/discover")
    r = found[-1]["result"]
    assert status == 200 and r["supportedVersions"] == [MODERN] and r["resultType"] == "complete", r
    assert r["cacheScope"] and r["ttlMs"] >= 0 and r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "cay"
    status, found = modern(d, "tools/list")
    assert status == 200 and found[-1]["result"]["resultType"] == "complete"
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "nope"):
        status, found = modern(d, method)
        assert status == 404 and found[-1]["error"]["code"] == -32601 and found[-1]["id"] == 1, (method, found)
    v = "io.modelcontextprotocol/protocolVersion"
    for headers, meta, expect in (({"MCP-Protocol-Version": None}, {}, -32020), ({"MCP-Protocol-Version": LEGACY}, {}, -32020),
                                  ({"Mcp-Method": None}, {}, -32020), ({"Mcp-Method": "x"}, {}, -32020),
                                  ({"MCP-Protocol-Version": "2099-01-01"}, {v: "2099-01-01"}, -32022),
                                  ({}, {"io.modelcontextprotocol/clientCapabilities": None}, -32602),
                                  ({}, {"io.modelcontextprotocol/logLevel": "loud"}, -32602)):
        status, found = modern(d, "tools/list", headers=headers, meta=meta)
        assert status == 400 and found[-1]["error"]["code"] == expect, (headers, meta, status, found)
    status, found = modern(d, "tools/call", {"name": "nope"})
    assert status == 200 and found[-1]["error"]["code"] == -32602
    status, found = modern(d, "tools/call", {"name": "nope"}, headers={"Mcp-Name": "other"})
    assert status == 400 and found[-1]["error"]["code"] == -32020
    status, found = modern(d, "resources/read", {"uri": "zzz://ü"},
                           headers={"Mcp-Name": "=?base64?" + base64.b64encode("zzz://ü".encode()).decode() + "?="})
    assert status == 200 and found[-1]["error"]["code"] == -32602 and found[-1]["error"]["data"]["uri"] == "zzz://ü"
    status, found = modern(d, "tools/call", {"name": "run_command", "arguments": {"command": "echo a; sleep 0.4; echo b"}},
                           meta={"progressToken": 7, "io.modelcontextprotocol/logLevel": "debug"})
    assert status == 200 and found[-1]["result"]["structuredContent"]["stdout"] == "a\nb\n", found
    kinds = {m.get("method") for m in found[:-1]}
    assert kinds == {"notifications/progress", "notifications/message"}, kinds
    # The same era and the other on one WebSocket.
    with ws_client.WebSocket(d.port, "/mcp", d.token) as w:
        w.send(json.dumps(request("server/discover", {})))
        assert w.read_json()["error"]["code"] == -32602
        w.send(json.dumps(request("tools/list", {"_meta": {v: MODERN, "io.modelcontextprotocol/clientCapabilities": {}}}, 2)))
        assert w.read_json()["result"]["resultType"] == "complete"
        w.send(json.dumps(request("tools/list", {}, 3)))
        assert w.read_json()["error"]["code"] == -32600  # initialize comes first


def test_cancel(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    r, c = None, None

    def post():
        nonlocal r, c
        r, c = s.begin("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": "exec sleep 7531"}})
        r.body = r.read()

    t = threading.Thread(target=post)
    t.start()
    wait_for("the command", lambda: run_count(d, "7531") == 1)
    s.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 999}})
    assert run_count(d, "7531") == 1
    s.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": s.next}})
    wait_for("its end", lambda: run_count(d, "7531") == 0)
    t.join(PATIENCE_S)
    assert not t.is_alive() and r.status == 200 and b"result" not in r.body, r.body
    # Legacy: leaving is no cancel. Modern: it is.
    r, c = s.d.connect(), None
    sock = socket.create_connection(("127.0.0.1", d.port), timeout=PATIENCE_S)
    body = json.dumps(request("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": "exec sleep 7532"}}, 77))
    head = {"Host": f"127.0.0.1:{d.port}", "Authorization": "Bearer " + d.token, "Content-Type": "application/json",
            "Content-Length": len(body), **s.headers()}
    sock.sendall(("POST /mcp HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()) + "\r\n" + body).encode())
    wait_for("the command", lambda: run_count(d, "7532") == 1)
    sock.close()
    params = {"name": "run_command", "arguments": {"sandbox_id": box, "command": "exec sleep 7533"},
              "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}}
    body = json.dumps(request("tools/call", params))
    sock = socket.create_connection(("127.0.0.1", d.port), timeout=PATIENCE_S)
    head = {"Host": f"127.0.0.1:{d.port}", "Authorization": "Bearer " + d.token, "Content-Type": "application/json",
            "Content-Length": len(body), "Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call",
            "Mcp-Name": "run_command"}
    sock.sendall(("POST /mcp HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()) + "\r\n" + body).encode())
    wait_for("the command", lambda: run_count(d, "7533") == 1)
    sock.close()
    wait_for("its end", lambda: run_count(d, "7533") == 0)
    assert run_count(d, "7532") == 1
    s.end()
    wait_for("the end of what the session ran", lambda: run_count(d, "7532") == 0)


def test_resume(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    command = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.15; done"
    r, c = s.begin("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": command}}, {"progressToken": 1})
    stream = events(r)
    seen = [next(stream), next(stream)]
    assert seen[0][1] is None and seen[1][1]["method"] == "notifications/progress", seen
    c.sock and c.close()
    r.close()
    last = seen[-1][0]
    r, c = d.begin("GET", "/mcp", headers=s.headers(**{"Last-Event-ID": last}))
    assert r.status == 200
    rest = [(i, m) for i, m in events(r) if m]
    c.close()
    values = [m["params"]["progress"] for _, m in seen[1:] + rest if m.get("method")]
    assert values == sorted(set(values)), values
    assert rest[-1][1]["result"]["structuredContent"]["stdout"] == "".join(f"line {i}\n" for i in range(1, 7))
    # Again, of a stream that is over: the same events.
    r, c = d.begin("GET", "/mcp", headers=s.headers(**{"Last-Event-ID": last}))
    assert [(i, m) for i, m in events(r) if m][-1] == rest[-1]
    c.close()
    s.end()


def test_sandbox_endpoint(d):
    s = Session(d)
    box, other = s.good("sandbox_create")["sandbox_id"], s.good("sandbox_create")["sandbox_id"]
    for path, headers in ((f"/api/sandboxes/{box}/mcp", {}), (f"/api/sandboxes/{box}/ports/18765/", {})):
        one = Session(d, path)
        tools = {t["name"]: t for t in one.must("tools/list")["tools"]}
        assert "run_command" in tools and "sandbox_create" not in tools and "container_exec" not in tools
        assert all("sandbox_id" not in t["inputSchema"]["properties"] for t in tools.values())
        assert one.good("run_command", command="echo here")["sandbox_id"] == box
        assert one.good("sandbox_info")["sandbox_id"] == box
        assert "no argument" in one.bad("run_command", command="x", sandbox_id=other)["message"]
        assert one.ask("resources/read", {"uri": f"sandbox://{other}/info"})["error"]["code"] == -32002
        assert one.end().status == 200
    # A session belongs to its address.
    assert d.ask("POST", f"/api/sandboxes/{box}/mcp", request("ping"), headers=s.headers()).status == 404
    by_name = {"Host": f"18765-{box}.localhost:{d.port}"}
    with ws_client.WebSocket(d.port, "/", d.token, headers=by_name) as w:
        w.send(json.dumps(request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})))
        assert hear(w.read_json)["result"]["protocolVersion"] == "2024-11-05"
        w.send(json.dumps(request("tools/call", {"name": "run_command", "arguments": {"command": "echo by name"}}, 2)))
        assert hear(w.read_json)["result"]["structuredContent"]["stdout"] == "by name\n"
    s.end()


def test_ports(d):
    """The ports that document 000's callers know, by path and by host name: MCP, a terminal as ttyd has it, no desktop."""
    box = d.make()
    for path, host in ((f"/api/sandboxes/{box}/ports/PORT", None), ("", f"PORT-{box}.localhost:{d.port}")):
        def at(port, rest):
            return path.replace("PORT", str(port)) + rest, {"Host": host.replace("PORT", str(port))} if host else {}
        p, h = at(18765, "/health")
        assert d.must(200, "GET", p, headers=h) == {"status": "healthy"}
        assert d.ask("GET", p, headers=h, token=False).status == 401
        p, h = at(17681, "/token")
        assert d.must(200, "GET", p, headers=h) == {"token": ""}
        assert d.ask("GET", p, headers=h, token=False).status == 401
        p, h = at(17681, "/ws")
        with ws_client.WebSocket(d.port, p, d.token, headers={**h, "Sec-WebSocket-Protocol": "tty"}) as w:
            assert w.fields["sec-websocket-protocol"] == "tty"
            w.send(json.dumps({"AuthToken": "", "columns": 80, "rows": 24}).encode())
            w.send(b"0echo in a t''erminal\n")
            seen = b""
            while b"in a terminal" not in seen:
                seen += w.read()[1].removeprefix(b"0")  # the kind of each frame: output
        p, h = at(17681, "/")
        a = d.ask("GET", p, headers=h)
        assert a.status == 302 and a.headers["Location"].endswith(f"/#/sandbox/{box}"), a
        for rest in ("/", "/vnc.html"):
            p, h = at(16080, rest)
            a = d.ask("GET", p, headers=h)
            assert a.status == 302 and a.headers["Location"].endswith(f"/#/sandbox/{box}?pane=desktop"), a
        p, h = at(17681, "/nothing")
        assert d.ask("GET", p, headers=h).status == 502
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def at_port(d, port, path, token=True, headers=None):
    """GET at a port of the host that stands for a sandbox."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    c.request("GET", path, headers={**({"Authorization": "Bearer " + d.token} if token else {}), **(headers or {})})
    r = c.getresponse()
    body = r.read()
    c.close()
    return r.status, body


def ask_port(d, port, message="echo at a port"):
    """The sandbox that answers MCP there."""
    with ws_client.WebSocket(port, "/", d.token) as w:
        w.send(json.dumps(request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})))
        assert hear(w.read_json)["result"]["protocolVersion"] == "2024-11-05"
        w.send(json.dumps(request("tools/call", {"name": "run_command", "arguments": {"command": message}}, 2)))
        return hear(w.read_json)["result"]["structuredContent"]["sandbox_id"]


def listens(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
        return True
    return False


def free_port():
    """Of those that are given; no outgoing connection takes one while it is free for a moment."""
    for port in range(19000, 19999):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def test_published(d):
    """Ports of the host that stand for a sandbox's MCP and terminal: found in `ports`, checked like any other address, kept over fronts."""
    def hosts(box):
        return {p["inside"]: p["host"] for p in d.must(200, "GET", f"/api/sandboxes/{box}")["ports"]}

    made = d.must(201, "POST", "/api/sandboxes", {"ports": [f"{free_port()}:18765", 17681]})
    box = made["sandbox_id"]
    at = {p["inside"]: p["host"] for p in made["ports"]}
    assert set(at) == {18765, 17681} and all(at.values()) and at == hosts(box), made
    mcp, tty = at[18765], at[17681]
    assert ask_port(d, mcp) == box
    assert at_port(d, mcp, "/health") == (200, b'{"status":"healthy"}')
    assert at_port(d, mcp, "/health", token=False)[0] == 401 and at_port(d, tty, "/token", token=False)[0] == 401
    status, body = at_port(d, tty, "/token")
    assert status == 200 and json.loads(body) == {"token": ""}, body
    assert at_port(d, tty, "/")[0] == 302 and at_port(d, tty, "/x")[0] == 404  # nothing from inside
    assert at_port(d, tty, "/api/sandboxes")[0] == 404, "nothing but the sandbox is there"
    assert at_port(d, mcp, "/health", headers={"Host": "evil.example"})[0] == 200  # health answers any, who has a token
    assert at_port(d, mcp, "/mcp", headers={"Host": "evil.example"})[0] == 421
    assert at_port(d, tty, "/token", headers={"Host": "evil.example"})[0] == 421
    assert at_port(d, tty, "/token", headers={"Host": f"3000-{box}.localhost:{tty}"})[0] == 421  # a link is for its own port
    stranger = d.make_token("--owner", "somebody")
    assert at_port(d, mcp, "/health", token=False, headers={"Authorization": "Bearer " + stranger})[0] == 404
    for bad in ({"Origin": "http://evil.example"}, {"Authorization": None}):
        try:
            ws_client.WebSocket(mcp, "/", d.token, headers=bad)
            raise AssertionError(f"{bad} was let in")
        except ws_client.Refused as e:
            assert e.status in (401, 403), e
    with ws_client.WebSocket(tty, "/ws", d.token, headers={"Sec-WebSocket-Protocol": "tty"}) as w:
        assert w.fields["sec-websocket-protocol"] == "tty"
    # One that is taken is no error; others need a network.
    second = d.must(201, "POST", "/api/sandboxes", {"ports": [f"{mcp}:18765"]})["sandbox_id"]
    other = hosts(second)[18765]
    assert other not in (None, mcp, tty) and ask_port(d, other) == second
    a = d.ask("POST", "/api/sandboxes", {"ports": [18765, 8080]})
    assert a.status == 400 and "8080" in a.json["error"]["message"], a
    # A connection outlives neither its sandbox nor its place.
    c = http.client.HTTPConnection("127.0.0.1", other, timeout=PATIENCE_S)
    c.request("GET", "/health", headers={"Authorization": "Bearer " + d.token})
    assert c.getresponse().read() == b'{"status":"healthy"}'
    d.must(200, "DELETE", f"/api/sandboxes/{second}")
    c.request("GET", "/health", headers={"Authorization": "Bearer " + d.token})
    assert c.getresponse().status == 404
    c.close()
    wait_for("its port to go", lambda: not listens(other))
    # The next front has the same ports; what waits for it is answered.
    front = d.child("cay-front")
    os.kill(front, signal.SIGKILL)
    wait_for("another front", lambda: d.child("cay-front") != front)
    assert ask_port(d, mcp) == box
    assert hosts(box) == at
    # Without a box there is none; with one, the same again.
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    wait_for("its port to go", lambda: not listens(mcp))
    assert hosts(box) == {18765: None, 17681: None}
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert hosts(box)[18765] == mcp and hosts(box)[17681] and ask_port(d, mcp) == box
    tty = hosts(box)[17681]
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    wait_for("its ports to go", lambda: not listens(mcp) and not listens(tty))


def test_websocket(d):
    with ws_client.WebSocket(d.port, "/mcp", d.token, headers={"Sec-WebSocket-Protocol": "mcp"}) as w:
        assert w.fields["sec-websocket-protocol"] == "mcp"
        w.send(json.dumps(request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}, 0)))
        assert hear(w.read_json)["id"] == 0
        w.send(json.dumps(request("tools/call", {"name": "sandbox_create"}, 1)))
        box = hear(w.read_json)["result"]["structuredContent"]["sandbox_id"]
        # Two calls at once; the second is quicker. Then the first is cancelled.
        w.send(json.dumps(request("tools/call", {"name": "run_command", "arguments": {
            "sandbox_id": box, "command": "exec sleep 7541"}}, 2)))
        w.send(json.dumps(request("ping", id=3)))
        assert hear(w.read_json)["id"] == 3
        wait_for("the command", lambda: run_count(d, "7541") == 1)
        w.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}))
        wait_for("its end", lambda: run_count(d, "7541") == 0)
        w.send(json.dumps(request("tools/call", {"name": "sandbox_create", "arguments": {"name": "named-one"}}, 4)))
        assert hear(w.read_json)["id"] == 4  # nothing came of 2
    wait_for("what the connection made to go", lambda: [b["name"] for b in boxes(d)] == ["named-one"])
    d.must(200, "DELETE", "/api/sandboxes/named-one")
    with ws_client.WebSocket(d.port, "/mcp", d.token) as w:
        assert "sec-websocket-protocol" not in w.fields
    # Other ways to show the token, of clients that cannot set Authorization.
    for fields in ({"X-Auth-Token": d.token}, {"Sec-WebSocket-Protocol": f"mcp, mcp.auth.{d.token}"}):
        with ws_client.WebSocket(d.port, "/mcp", d.token, headers={"Authorization": None, **fields}) as w:
            assert w.fields.get("sec-websocket-protocol", "mcp") == "mcp", "the token is never echoed"
            w.send(json.dumps(request("ping")))
            assert w.read_json()["result"] == {}
    assert d.ask("GET", "/api/sandboxes", token=False, headers={"X-Auth-Token": d.token}).status == 401
    # Clients that can say nothing but an address get one that is for this alone.
    box = d.make()
    for body, path in (({}, "/mcp"), ({"id": box}, f"/api/sandboxes/{box}/mcp")):
        link = d.must(201, "POST", "/api/mcp/links", body)["url"]
        where = link.removeprefix(f"ws://127.0.0.1:{d.port}")
        assert where.startswith(path + "?token="), link
        with ws_client.WebSocket(d.port, where, headers={"Sec-WebSocket-Protocol": "mcp"}) as w:
            w.send(json.dumps(request("initialize", {"protocolVersion": LEGACY, "capabilities": {}})))
            assert hear(w.read_json)["result"]["serverInfo"]["name"] == "cay"
        token = where.split("token=")[1]
        for other in ("/mcp" if body else f"/api/sandboxes/{box}/mcp", f"/api/sandboxes/{box}/files/watch"):
            try:
                ws_client.WebSocket(d.port, f"{other}?token={token}&path=.")
                raise AssertionError(f"a link to {path} opened {other}")
            except ws_client.Refused as e:
                assert e.status == 401, e
        try:
            ws_client.WebSocket(d.port, where, headers={"Origin": "http://evil.example"})
            raise AssertionError("another page came in by a link")
        except ws_client.Refused as e:
            assert e.status == 403, e
        assert d.ask("GET", f"/api/sandboxes?token={token}", token=False).status == 401
        assert d.ask("POST", where, request("ping"), token=False, headers={"Accept": BOTH}).status == 401
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    none = {"Authorization": None}
    for bad in ({"Origin": "http://evil.example"}, none, {**none, "X-Auth-Token": "nonsense"},
                {**none, "Sec-WebSocket-Protocol": "mcp.auth.nonsense"},
                {**none, "Sec-WebSocket-Protocol": f"mcp.auth.{d.token}, mcp.auth.{d.token}"}):
        try:
            ws_client.WebSocket(d.port, "/mcp", d.token, headers=bad)
            raise AssertionError(f"{bad} was let in")
        except ws_client.Refused as e:
            assert e.status in (401, 403), e


def test_many(d):
    """50 sessions at once, each with a command."""
    errors = []

    def one(i):
        try:
            s = Session(d)
            for _ in range(3):
                assert s.must("ping") == {}
            if i % 5 == 0:
                assert s.good("run_command", command=f"echo {i}")["stdout"] == f"{i}\n"
            assert s.end().status == 200
        except BaseException as e:  # pylint: disable=broad-except
            errors.append(f"{i}: {e!r}")

    threads = [threading.Thread(target=one, args=(i,)) for i in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE_S)
    assert not errors, errors[:3]


def test_stdio(d):
    data = os.path.join(d.folder, "data")
    with start_lines([CAY, "mcp", "--data", data]) as p:
        began = talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}))["result"]
        assert began["serverInfo"]["name"] == "cay" and "Sandboxes without a name are destroyed" in began["instructions"], began
        p.stdin.write(b"\r\n\nnot json\n")
        assert talk(p, request("ping", id=2))["error"]["code"] == -32700
        assert hear(lambda: json.loads(p.stdout.readline()))["id"] == 2
        r = talk(p, request("tools/call", {"name": "run_command", "arguments": {"command": "echo over lines"}}, 3))
        assert r["result"]["structuredContent"]["stdout"] == "over lines\n"
        # Words before the end of input are still answered.
        p.stdin.write((json.dumps(request("ping", id=9)) + "\n").encode())
        p.stdin.close()
        assert 9 in [json.loads(line).get("id") for line in p.stdout.read().splitlines()]
        assert p.wait(PATIENCE_S) == 0
    box = d.make()
    with start_lines([CAY, "mcp", "--data", data, "--sandbox", box]) as p:
        talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}))
        assert talk(p, request("tools/call", {"name": "sandbox_info"}, 2))["result"]["structuredContent"]["sandbox_id"] == box
        p.stdin.close()
        assert p.wait(PATIENCE_S) == 0
    p = subprocess.run([CAY, "mcp", "--data", data, "--sandbox", "nosuch"], input=b"", capture_output=True, timeout=PATIENCE_S)
    assert p.returncode != 0 and b"no such sandbox" in p.stderr and not p.stdout
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    # Over TCP, with a token.
    env = {**os.environ, "CAY_TOKEN": d.token}
    p = subprocess.run([CAY, "mcp", "--url", f"http://127.0.0.1:{d.port}"], input=json.dumps(request("ping")).encode() + b"\n",
                       capture_output=True, timeout=PATIENCE_S, env=env)
    assert p.returncode == 0 and json.loads(p.stdout)["result"] == {}, p


def test_piped(d):
    """Who says it all at once and no more hears every answer, also one that takes longer than a moment."""
    box = d.make()
    call = {"name": "run_command", "arguments": {"sandbox_id": box, "command": "sleep 2.5; echo late"}}
    lines = [request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}), request("tools/call", call, 2)]
    p = subprocess.run([CAY, "mcp", "--data", os.path.join(d.folder, "data")], input="".join(json.dumps(m) + "\n" for m in lines).encode(),
                       capture_output=True, timeout=PATIENCE_S)
    heard = {m["id"]: m for m in map(json.loads, p.stdout.splitlines()) if "id" in m}
    assert p.returncode == 0 and heard[2]["result"]["structuredContent"]["stdout"] == "late\n", p
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_starting(d):
    """A front that answers and is not ready, as it waits for a box: `cay mcp` waits with it, its agent is told nothing of that."""
    box = d.make()
    init = next(pid for pid, name in children(d.child("cay-warden")) if name == "cay-init")

    def waits():
        """A front waits for ten seconds: whoever asks later than that asks the next one."""
        front = d.child("cay-front")
        wait_for("the box to stand still", lambda: os.kill(init, signal.SIGSTOP) or state_of(init) == "T")
        killed = time.monotonic()
        os.kill(front, signal.SIGKILL)
        wait_for("another front", lambda: d.child("cay-front") != front)
        assert d.ask("GET", "/api/health/live").status == 200
        status = d.ask("GET", "/mcp", headers={"Connection": "Upgrade", "Upgrade": "mcp-lines"}).status
        assert status == 503 or time.monotonic() - killed >= 9, status
        return status == 503

    try:
        wait_for("a front that is not ready", waits)
        p = start_lines([CAY, "mcp", "--data", os.path.join(d.folder, "data")])
    finally:
        os.kill(init, signal.SIGCONT)
    with p:
        wait_for("the box", lambda: (a := d.ask("GET", f"/api/sandboxes/{box}")).status == 200 and a.json["status"] == "ready")
        talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}))
        r = talk(p, request("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": "echo there"}}, 2))
        assert r["result"]["structuredContent"]["stdout"] == "there\n", r
        p.stdin.close()
        assert p.wait(PATIENCE_S) == 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_asked_again(_):
    """A daemon that is not ready, one that dies, one that stops, then none, then another."""
    folder = tempfile.mkdtemp(prefix="cay-mcp-by-hand-")
    path = os.path.join(folder, "cay.sock")

    def listen():
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(PATIENCE_S)
        s.bind(path)
        s.listen()
        return s

    def take(s):
        c = s.accept()[0]
        c.settimeout(PATIENCE_S)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = c.recv(1)
            assert piece, head
            head += piece
        assert b"\r\nUpgrade: mcp-lines\r\n" in head, head
        return c

    def sleeps():
        assert p.poll() is None, "it gave up"
        with open(f"/proc/{p.pid}/status", encoding="utf-8") as f:
            return int(next(line for line in f if line.startswith("voluntary_ctxt_switches")).split()[1])

    refusal = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
    with listen() as s:
        p = start_lines([CAY, "mcp", "--data", folder])
        with take(s) as c:
            c.sendall(refusal)
        take(s).close()  # it dies over the question, and over the answer
        with take(s) as c:
            c.sendall(refusal[:10])
        c = take(s)
        os.unlink(path)
    with c:
        c.sendall(refusal)
    before = sleeps()
    wait_for("some tries in vain", lambda: sleeps() > before + 5)
    with p, listen() as s, take(s) as c:
        c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp-lines\r\n\r\n")
        p.stdin.write(b"one line\n")
        c.sendall(b"back: " + c.recv(100))
        assert p.stdout.readline() == b"back: one line\n"
        p.stdin.close()
        assert c.recv(1) == b""
        c.close()
        assert p.wait(PATIENCE_S) == 0
    shutil.rmtree(folder)


def test_changes(d):
    """Resources that are watched, and lists: the session's own stream, and the modern era's listen."""
    s = Session(d)
    assert s.hello["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    own = Stream(*d.begin("GET", "/mcp", headers=s.headers()))
    box = s.good("sandbox_create")["sandbox_id"]
    own.await_("notifications/resources/list_changed")
    uri = f"sandbox://{box}/files/tmp/w%61tched.txt"
    for u in (uri, f"sandbox://{box}/files/tmp/later/b.txt", f"sandbox://{box}/info", "template://careful/SYSTEM.md", "zzz://a"):
        assert s.must("resources/subscribe", {"uri": u}) == {}
    assert s.ask("resources/subscribe", {})["error"]["code"] == -32602
    own.await_("notifications/resources/updated", uri=uri)  # it is watched from here on; what was before is not known
    s.good("run_command", sandbox_id=box, command="echo 1 > /tmp/watched.txt; echo x > /tmp/other")
    own.await_("notifications/resources/updated", uri=uri)
    s.good("run_command", sandbox_id=box, command="mkdir /tmp/later; echo x > /tmp/later/b.txt")  # its folder comes later
    own.await_("notifications/resources/updated", uri=f"sandbox://{box}/files/tmp/later/b.txt")
    # Output of a command that runs.
    h = s.good("run_command", sandbox_id=box, command="echo a; read x; echo b", background=True)["exec_id"]
    out = f"sandbox://{box}/exec/{h}/stdout"
    wait_for("its first line", lambda: s.good("exec_poll", sandbox_id=box, exec_id=h, wait_s=0)["stdout"] == "a\n")
    s.must("resources/subscribe", {"uri": out})
    s.good("exec_input", sandbox_id=box, exec_id=h, text="\n")
    own.await_("notifications/resources/updated", uri=out)
    assert not s.good("exec_poll", sandbox_id=box, exec_id=h)["running"]
    assert s.must("resources/read", {"uri": out})["contents"][0]["text"] == "a\nb\n"
    # A new registry; and with listen, each message names its subscription.
    ids = {"notifications": {"promptsListChanged": True, "toolsListChanged": True, "resourceSubscriptions": [uri]},
           "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}}
    h = {"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    listen = Stream(*d.begin("POST", "/mcp", request("subscriptions/listen", ids, "L1"), headers=h))
    ack = listen.await_("notifications/subscriptions/acknowledged")["params"]
    assert ack["notifications"] == {"promptsListChanged": True, "resourceSubscriptions": [uri]}, ack
    assert ack["_meta"] == {"io.modelcontextprotocol/subscriptionId": "L1"}
    listen.await_("notifications/resources/updated", uri=uri)
    write_registry(d, REGISTRY + "  second:\n    description: another\n    host: true\n")
    own.await_("notifications/prompts/list_changed")
    own.await_("notifications/resources/updated", uri="template://careful/SYSTEM.md")
    assert listen.await_("notifications/prompts/list_changed")["params"]["_meta"] == ack["_meta"]
    write_registry(d, REGISTRY)
    own.await_("notifications/prompts/list_changed")
    s.good("run_command", sandbox_id=box, command="echo more > /tmp/watched.txt")
    listen.await_("notifications/resources/updated", uri=uri)
    own.await_("notifications/resources/updated", uri=uri)

    def hear_all(name):
        """What is on its way: a file that is watched from now on is told behind it."""
        assert s.must("resources/subscribe", {"uri": f"sandbox://{box}/files/tmp/{name}"}) == {}
        own.await_("notifications/resources/updated", uri=f"sandbox://{box}/files/tmp/{name}")

    # Nothing is told of what is no longer watched.
    assert s.must("resources/unsubscribe", {"uri": uri}) == {}
    hear_all("first")
    own.told.clear()
    s.good("run_command", sandbox_id=box, command="echo end > /tmp/watched.txt; echo y > /tmp/later/b.txt")
    own.await_("notifications/resources/updated", uri=f"sandbox://{box}/files/tmp/later/b.txt")
    hear_all("second")
    assert not [m for m in own.told if m["params"].get("uri") == uri], own.told
    for i in range(64):
        m = s.ask("resources/subscribe", {"uri": f"zzz://{i}"})
    assert m["error"]["code"] == -32602, "there is a limit"
    status, found = modern(d, "subscriptions/listen", {"notifications": 5})
    assert status == 200 and found[-1]["error"]["code"] == -32602
    listen.close()
    own.close()
    s.end()


def test_room(d):
    """One owner's sessions take nobody else's place, and what makes room destroys nothing."""
    def initialize(token):
        a = d.ask("POST", "/mcp", request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}), token=token, headers={"Accept": BOTH})
        assert a.status == 200, a

    def is_there(session):
        return session.post(request("ping", {}, 99)).status == 200

    mine = Session(d)
    box = mine.good("sandbox_create")["sandbox_id"]
    flood = d.make_token("--owner", "flood", "--scope", "read")
    for _ in range(1030):
        initialize(flood)
    assert is_there(mine) and [b["sandbox_id"] for b in boxes(d)] == [box], boxes(d)

    own = d.make_token("--owner", "crowded")
    first = Session(d, token=own)
    kept = first.good("sandbox_create")["sandbox_id"]
    for _ in range(256):
        initialize(own)
    assert first.post(request("ping", {}, 99)).status == 404, "it was the owner's oldest"
    assert is_there(mine)
    listed = {b["sandbox_id"] for b in d.must(200, "GET", "/api/sandboxes", token=False, unix=True)["sandboxes"]}
    assert listed == {box, kept}, listed
    d.must(200, "DELETE", f"/api/sandboxes/{kept}", token=own)
    assert mine.end().status == 200


def test_alone():
    """Without a daemon: one is started, and nothing of it stays."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CAY_", "SANDBOX_")) or k.startswith("CAY_TEST_")}
    empty = tempfile.mkdtemp(prefix="cay-none-")
    with start_lines([CAY, "mcp", "--tools", "time"], env={**env, "CAY_DATA": empty}) as p:
        began = talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}))["result"]
        assert began["serverInfo"]["name"] == "cay" and "also those with a name" in began["instructions"], began
        tools = talk(p, request("tools/list", {}, 3))["result"]["tools"]
        assert any(t["name"] == "snapshot_create" for t in tools), tools
        named = talk(p, request("tools/call", {"name": "sandbox_create", "arguments": {"name": "named"}}, 4))["result"]["structuredContent"]
        assert named["next"].endswith("It ends with this session."), named
        r = talk(p, request("tools/call", {"name": "run_code", "arguments": {"code": "print('alone')"}}, 2))
        assert r["result"]["structuredContent"]["stdout"] == "alone\n", r
        with open(f"/proc/{children(p.pid)[0][0]}/cmdline", encoding="utf-8") as f:
            words = f.read().split("\0")
        folder = os.path.dirname(words[words.index("--data") + 1])
        assert os.path.isdir(folder), words
        p.stdin.close()
        assert p.wait(PATIENCE_S) == 0
    os.rmdir(empty)
    assert not os.path.exists(folder), folder


def leave_open(d):
    """Everything that can be under way when the daemon stops."""
    s = Session(d)
    what = {"name": "run_command", "arguments": {"command": "sleep 600", "wait_s": 300}}
    kept = [s, s.d.begin("GET", "/mcp", headers=s.headers())]
    w = ws_client.WebSocket(d.port, "/mcp", d.token)
    w.send(json.dumps(request("initialize", {"protocolVersion": LEGACY, "capabilities": {}})))
    w.read_json()
    w.send(json.dumps(request("tools/call", what, 2)))
    wait_for("the command", lambda: any(b["execs_running"] for b in boxes(d)))
    return kept + [w]


def test_front_ends(d):
    """`cay mcp` and sessions over HTTP outlive a front: what was under way is told as lost, the rest goes on."""
    s = Session(d)
    made = s.good("sandbox_create")["sandbox_id"]
    data = os.path.join(d.folder, "data")
    with start_lines([CAY, "mcp", "--data", data], stderr=subprocess.PIPE) as p:
        talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}, "begin"))
        box = talk(p, request("tools/call", {"name": "sandbox_create", "arguments": {}}, 1))["result"]["structuredContent"]["sandbox_id"]
        for how, nr in (("kill", 10), ("upgrade", 20)):
            call = {"name": "run_command", "arguments": {"sandbox_id": box, "command": f"sleep 600.{nr}", "wait_s": 300}}
            p.stdin.write((json.dumps(request("tools/call", call, nr)) + "\n").encode())
            wait_for("the command", lambda: run_count(d, f"600.{nr}") == 1)
            if how == "kill":
                os.kill(d.child("cay-front"), signal.SIGKILL)
            else:
                d.process.send_signal(signal.SIGUSR2)
            r = hear(lambda: json.loads(p.stdout.readline()))
            assert r["id"] == nr and "lost" in r["error"]["message"], r
            call = {"name": "run_command", "arguments": {"sandbox_id": box, "command": "echo on"}}
            r = talk(p, request("tools/call", call, nr + 1))
            assert r["id"] == nr + 1 and r["result"]["structuredContent"]["stdout"] == "on\n", r
            # The session over HTTP is there too, with what it made.
            assert s.good("run_command", sandbox_id=made, command="echo here")["stdout"] == "here\n"
        talk(p, request("tools/call", {"name": "sandbox_destroy", "arguments": {"sandbox_id": box}}, 30))
        p.stdin.close()
        assert p.wait(PATIENCE_S) == 0
    assert s.end().status == 200
    wait_for("what the session made before its front ended to go", lambda: not boxes(d))


TESTS = [test_legacy, test_transport, test_malformed, test_too_long, test_modern, test_cancel, test_resume, test_sandbox_endpoint, test_ports, test_websocket,
         test_many, test_stdio, test_piped, test_starting, test_asked_again, test_changes, test_published, test_room, test_front_ends]
run(TESTS, leave_open)
if not sys.argv[1:] or "alone" in sys.argv[1:]:
    test_alone()
    print("ok test_alone")
