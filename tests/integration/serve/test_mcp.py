#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MCP over a running daemon, message by message, with real commands. test_mcp.py [NAME…] runs some."""
import base64
import contextlib
import json
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ws_client  # noqa: E402
from daemon import CAY, PATIENCE_S, Daemon, wait_for  # noqa: E402

BOTH = "application/json, text/event-stream"
MODERN = "2026-07-28"
LEGACY = "2025-11-25"


def request(method, params=None, id=1):
    m = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        m["params"] = params
    return m


def events(response):
    """(id, message) of each event until the stream ends; empty data is a prime."""
    ident, data = None, []
    for raw in response:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("id:"):
            ident = line[3:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif line == "" and data:
            text = "\n".join(data)
            yield ident, (json.loads(text) if text else None)
            data = []


class Session:
    """A session of the legacy era over HTTP."""

    def __init__(self, d, path="/mcp", token=True, capabilities=None, version=LEGACY):
        self.d, self.path, self.token, self.next = d, path, token, 0
        a = d.ask("POST", path, request("initialize", {"protocolVersion": version, "capabilities": capabilities or {},
                                                       "clientInfo": {"name": "t", "version": "1"}}),
                  token=token, headers={"Accept": BOTH})
        assert a.status == 200, a
        self.hello = a.json["result"]
        self.id = a.headers["Mcp-Session-Id"]
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def headers(self, **more):
        return {"Accept": BOTH, "Mcp-Session-Id": self.id, "MCP-Protocol-Version": LEGACY, **more}

    def post(self, message):
        return self.d.ask("POST", self.path, message, token=self.token, headers=self.headers())

    def begin(self, method, params=None, meta=None):
        self.next += 1
        params = dict(params or {})
        if meta:
            params["_meta"] = meta
        return self.d.begin("POST", self.path, request(method, params, self.next), token=self.token, headers=self.headers())

    def all(self, method, params=None, meta=None):
        """Every message that came, the answer last."""
        r, c = self.begin(method, params, meta)
        assert r.status == 200, (r.status, r.read())
        if r.getheader("Content-Type").startswith("application/json"):
            found = [json.loads(r.read())]
        else:
            found = [m for _, m in events(r) if m]
        c.close()
        return found

    def ask(self, method, params=None):
        return self.all(method, params)[-1]

    def must(self, method, params=None):
        m = self.ask(method, params)
        assert "result" in m, m
        return m["result"]

    def call(self, name, **arguments):
        return self.must("tools/call", {"name": name, "arguments": arguments})

    def good(self, name, **arguments):
        r = self.call(name, **arguments)
        assert not r.get("isError"), r
        return r["structuredContent"]

    def bad(self, name, **arguments):
        r = self.call(name, **arguments)
        assert r.get("isError"), r
        return r["structuredContent"]

    def end(self):
        return self.d.ask("DELETE", self.path, token=self.token, headers=self.headers())


def modern(d, method, params=None, headers=None, meta=None, path="/mcp", capabilities=None, id=1):
    params = dict(params or {})
    params["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN,
                       "io.modelcontextprotocol/clientCapabilities": capabilities or {}, **(meta or {})}
    h = {"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    name = params.get("name") or params.get("uri")
    if name:
        h["Mcp-Name"] = name
    h.update(headers or {})
    r, c = d.begin("POST", path, request(method, params, id), headers={k: v for k, v in h.items() if v is not None})
    if r.getheader("Content-Type", "").startswith("text/event-stream"):
        found = [m for _, m in events(r) if m]
    else:
        found = [json.loads(r.read())]
    c.close()
    return r.status, found


def hear(read):
    """The next answer; what is told of changes in between is left out."""
    while "id" not in (m := read()):
        assert m["method"].endswith("list_changed"), m
    return m


def run_count(d, marker):
    """How many processes of this machine have the marker in their command line."""
    n = 0
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
                n += words[:2] == [b"sleep", marker.encode()]
    return n


def boxes(d):
    return d.must(200, "GET", "/api/sandboxes")["sandboxes"]


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
        assert set(t["inputSchema"]["required"]) <= set(t["inputSchema"]["properties"]), t
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


def test_commands(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    r = s.call("run_command", sandbox_id=box, command="echo out; echo err >&2; exit 3")
    assert not r["isError"] and r["structuredContent"]["exit_code"] == 3
    assert r["structuredContent"]["stdout"] == "out\n" and r["structuredContent"]["stderr"] == "err\n"
    assert "[exit code 3]" in r["content"][0]["text"]
    assert s.good("run_command", sandbox_id=box, command="cat; pwd", stdin="hello\n", cwd="/tmp")["stdout"] == "hello\n/tmp\n"
    assert s.good("run_command", id=box, cmd="echo $A", env={"A": "b"}, working_dir="/")["stdout"] == "b\n"
    slow = s.call("run_command", sandbox_id=box, command="sleep 30", timeout=1)
    assert slow["isError"] and slow["structuredContent"]["cause"] == "wall_time"
    assert "larger timeout" in slow["structuredContent"]["advice"], slow
    assert s.good("run_code", sandbox_id=box, code="print(2 + 2)")["stdout"] == "4\n"
    assert s.good("run_code", sandbox_id=box, code="echo sh", language="shell")["stdout"] == "sh\n"
    assert "exec_input" not in s.bad("run_command", command="x", sandbox_id=box, nonsense=1)["message"]
    assert "required" in s.bad("run_command", sandbox_id=box)["message"]
    assert "text" in s.bad("write_file", sandbox_id=box, path="a", content=5)["message"]
    assert s.bad("run_command", sandbox_id="nosuch", command="x")["error"] == "not_found"
    assert s.bad("read_file", sandbox_id=box, path="nosuch")["error"] == "not_found"
    # In the background: a handle, what it printed so far, input, its end.
    h = s.good("run_command", sandbox_id=box, command="echo first; read x; echo got $x", background=True)
    assert h["running"] and h["exec_id"]
    assert s.good("exec_input", sandbox_id=box, exec_id=h["exec_id"], text="line\n")["bytes"] == 5
    p = s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"])
    assert p["stdout"] == "first\ngot line\n" and p["exit_code"] == 0 and not p["running"], p
    assert s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"], offset=6)["stdout"] == "got line\n"
    # Longer than the client waits.
    h = s.good("run_command", sandbox_id=box, command="echo a; sleep 2; echo b", wait_s=1)
    assert h["running"] and h["stdout"] == "a\n" and h["next_offset"] == 2
    p = s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"], offset=h["next_offset"], wait_s=30)
    assert p["stdout"] == "b\n" and p["exit_code"] == 0
    h = s.good("run_command", sandbox_id=box, command="sleep 600", background=True)
    assert s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"], wait_s=0)["running"]
    s.good("exec_signal", sandbox_id=box, exec_id=h["exec_id"], signal="KILL")
    assert s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"])["signal"] == "SIGKILL"
    s.end()


def test_once(d):
    """Without a sandbox: one is made and goes."""
    s = Session(d)
    before = len(boxes(d))
    r = s.good("run_code", code="import os\nprint(os.getpid() > 0)")
    assert r["stdout"] == "True\n" and not r["sandbox_kept"], r
    assert s.good("run_command", command="echo x")["stdout"] == "x\n"
    c = s.good("container_start", code="print('hi')")
    assert c["stdout"] == "hi\n" and c["exit_code"] == 0 and c["container_id"]
    assert len(boxes(d)) == before
    kept = s.good("container_start", command="echo 1 > /tmp/f", keep=True)["container_id"]
    assert s.good("container_exec", container_id=kept, command="cat /tmp/f")["stdout"] == "1\n"
    assert len(boxes(d)) == before + 1
    s.good("container_stop", container_id=kept)
    assert len(boxes(d)) == before
    alone = s.good("container_start")["container_id"]
    assert s.good("container_exec", container_id=alone, command="echo y")["stdout"] == "y\n"
    s.end()
    wait_for("the session's container to go", lambda: len(boxes(d)) == before)


def test_advice(d):
    """What went wrong, and what a model is told to do next."""
    s = Session(d)
    box = s.good("sandbox_create", memory="64m")["sandbox_id"]

    def text(name, **arguments):
        return s.call(name, sandbox_id=box, **arguments)["content"][0]["text"]

    assert "sandbox_create with memory" in text("run_command", command="python3 -c 'x = bytearray(300 << 20)'")
    code = "import urllib.request\nurllib.request.urlopen('http://nowhere.example', timeout=3)"
    assert "has no network" in text("run_code", code=code)
    assert "no network" not in text("run_command", command="exit 1")
    assert "larger timeout" in text("run_command", command="sleep 30", timeout=1)
    for name, arguments in (("read_file", {"path": "/nosuch"}), ("delete_path", {"path": "/nosuch"}), ("read_file", {"path": "/tmp"})):
        assert "list_files" in text(name, **arguments), name
    assert "workspace" in text("write_file", path="/usr/x", content="")
    assert "exec_id" in text("exec_poll", exec_id="nosuch")
    done = s.good("run_command", sandbox_id=box, command="true")["exec_id"]
    assert "exec_poll" in text("exec_input", exec_id=done, text="x")
    refused = s.bad("sandbox_create", memory="nonsense")
    assert refused["message"].startswith("memory:"), refused
    assert "container_list" in s.bad("sandbox_create", template="nosuch")["advice"]
    assert "container_list" in s.bad("run_code", code="x", language="cobol")["advice"]
    assert "sandbox_create" in s.bad("run_command", command="x", sandbox_id="nosuch")["advice"]
    s.end()


def test_output(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    r = s.good("run_command", sandbox_id=box, command="seq 1 1500000; printf 'end\\377\\n'")  # 10.4 MB
    total = sum(len(str(i)) + 1 for i in range(1, 1500001)) + 5
    assert r["truncated"] and r["stdout_bytes"] == total > 10_000_000, r["stdout_bytes"]
    assert r["stdout"].startswith("1\n2\n3\n") and r["stdout"].endswith("1500000\nend\ufffd\n")
    assert "bytes left out" in r["stdout"] and len(r["stdout"]) < 64 * 1024
    more = s.good("exec_poll", sandbox_id=box, exec_id=r["exec_id"], offset=r["next_offset"])
    all_of_it = "".join(f"{i}\n" for i in range(1, 1500001))
    at = r["next_offset"]  # the oldest bytes are not kept for so much output
    assert more["stdout"][:10000] == all_of_it[at:at + 10000], (at, more["stdout"][:100], all_of_it[at:at + 100])
    r = s.good("run_command", sandbox_id=box, command="seq 1 50000")
    got, at = r["stdout"].split("\n[\u2026")[0], r["next_offset"]
    for _ in range(100):
        r = s.good("exec_poll", sandbox_id=box, exec_id=r["exec_id"], offset=at)
        got += r["stdout"].split("\n[\u2026")[0] if r["truncated"] else r["stdout"]
        at = r["next_offset"]
        if not r["truncated"]:
            break
    assert got == "".join(f"{i}\n" for i in range(1, 50001)), "reading on leaves nothing out"
    bad = s.good("run_command", sandbox_id=box, command="printf 'a\\377b\\0c\\303'")
    assert bad["stdout"] == "a\ufffdb\0c\ufffd", bad
    uri = f"sandbox://{box}/exec/{bad['exec_id']}/stdout"
    content = s.must("resources/read", {"uri": uri})["contents"][0]
    assert base64.b64decode(content["blob"]) == b"a\xffb\0c\xc3"
    runs = s.good("run_command", sandbox_id=box, command="echo so far; sleep 600", background=True)["exec_id"]
    content = s.must("resources/read", {"uri": f"sandbox://{box}/exec/{runs}/stdout"})["contents"][0]
    assert content["text"] == "so far\n", content
    s.end()


def test_files(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    text = "line one\nline two ü\n"
    assert s.good("write_file", sandbox_id=box, path="a/b.txt", content=text)["bytes"] == len(text.encode())
    assert s.good("read_file", sandbox_id=box, file_path="a/b.txt")["content"] == text
    s.good("edit_file", sandbox_id=box, path="a/b.txt", old_string="two", new_string="2")
    assert s.good("read_file", sandbox_id=box, path="a/b.txt")["content"] == text.replace("two", "2")
    assert "0 times" in s.bad("edit_file", sandbox_id=box, path="a/b.txt", old_string="zz", new_string="")["message"]
    assert "2 times" in s.bad("edit_file", sandbox_id=box, path="a/b.txt", old_string="line", new_string="")["message"]
    s.good("edit_file", sandbox_id=box, path="a/b.txt", old_string="line", new_string="LINE", replace_all=True)
    assert s.good("read_file", sandbox_id=box, path="a/b.txt")["content"].count("LINE") == 2
    s.good("write_file", sandbox_id=box, path="bytes", content=base64.b64encode(bytes(range(256))).decode(), encoding="base64")
    raw = s.good("read_file", sandbox_id=box, path="bytes")
    assert raw["encoding"] == "base64" and base64.b64decode(raw["content"]) == bytes(range(256))
    # In pieces, never inside a character.
    s.good("write_file", sandbox_id=box, path="long", content="ü" * 1000)
    got, at = "", 0
    for _ in range(100):
        piece = s.good("read_file", sandbox_id=box, path="long", offset=at, limit=101)
        got, at = got + piece["content"], piece["next_offset"]
        if not piece["more"]:
            break
    assert got == "ü" * 1000
    names = [e["name"] for e in s.good("list_files", sandbox_id=box, path=".")["entries"]]
    assert sorted(names) == ["a", "bytes", "long"], names
    s.good("move_path", sandbox_id=box, path="long", to="short")
    s.good("delete_path", sandbox_id=box, path="short")
    assert s.bad("read_file", sandbox_id=box, path="short")["error"] == "not_found"
    where = s.good("run_command", sandbox_id=box, command="pwd")["stdout"].strip()
    content = s.must("resources/read", {"uri": f"sandbox://{box}/files{where}/bytes"})["contents"][0]
    assert base64.b64decode(content["blob"]) == bytes(range(256))
    assert s.ask("resources/read", {"uri": f"sandbox://{box}/files/../etc/passwd"})["error"]["code"] == -32002
    assert any(r["uri"] == f"sandbox://{box}/info" for r in s.must("resources/list")["resources"])
    assert json.loads(s.must("resources/read", {"uri": f"sandbox://{box}/info"})["contents"][0]["text"])["sandbox_id"] == box
    assert s.must("completion/complete", {"ref": {"type": "ref/resource", "uri": "sandbox://{id}/info"},
                                          "argument": {"name": "id", "value": box[:4]}})["completion"]["values"] == [box]
    # Images that code makes.
    png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    s.good("write_file", sandbox_id=box, path="old.png", content=base64.b64encode(png).decode(), encoding="base64")
    time.sleep(0.05)
    r = s.call("run_code", sandbox_id=box, code=f"open('plot.png','wb').write({png!r})")
    images = [c for c in r["content"] if c["type"] == "image"]
    assert len(images) == 1 and images[0]["mimeType"] == "image/png" and base64.b64decode(images[0]["data"]) == png, r
    r = s.call("read_file", sandbox_id=box, path="plot.png")
    assert r["content"][0]["type"] == "image"
    s.end()


def test_progress(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    told = s.all("tools/call", {"name": "run_command", "arguments": {
        "sandbox_id": box, "command": "for i in 1 2 3; do echo line $i; sleep 0.3; done"}}, {"progressToken": "p1"})
    progress = [m["params"] for m in told if m.get("method") == "notifications/progress"]
    assert len(progress) >= 2 and all(p["progressToken"] == "p1" for p in progress), told
    values = [p["progress"] for p in progress]
    assert values == sorted(set(values)) and "line 1" in progress[0]["message"]
    assert "result" in told[-1] and told[-1]["result"]["structuredContent"]["exit_code"] == 0
    s.must("logging/setLevel", {"level": "info"})
    told = s.all("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": "echo x; echo y >&2"}})
    logs = {m["params"]["logger"]: m["params"]["data"]["text"] for m in told if m.get("method") == "notifications/message"}
    assert logs == {"stdout": "x\n", "stderr": "y\n"}, told
    s.end()


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
    command = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.3; done"
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
                seen += w.read()[1]
        p, h = at(17681, "/")
        a = d.ask("GET", p, headers=h)
        assert a.status == 302 and a.headers["Location"].endswith(f"/#/sandbox/{box}"), a
        for rest in ("/", "/vnc.html"):
            p, h = at(16080, rest)
            a = d.ask("GET", p, headers=h)
            assert a.status == 501 and "no desktop" in a.json["error"]["message"], a
        p, h = at(17681, "/nothing")
        assert d.ask("GET", p, headers=h).status == 502
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


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


def talk(process, message):
    process.stdin.write((json.dumps(message) + "\n").encode())
    process.stdin.flush()

    def read():
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
        assert ready, "no answer"
        return json.loads(process.stdout.readline())

    return hear(read)


def test_stdio(d):
    data = os.path.join(d.folder, "data")
    with subprocess.Popen([CAY, "mcp", "--data", data], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        assert talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}))["result"]["serverInfo"]["name"] == "cay"
        p.stdin.write(b"\r\n\nnot json\n")
        assert talk(p, request("ping", id=2))["error"]["code"] == -32700
        assert hear(lambda: json.loads(p.stdout.readline()))["id"] == 2
        r = talk(p, request("tools/call", {"name": "run_command", "arguments": {"command": "echo over lines"}}, 3))
        assert r["result"]["structuredContent"]["stdout"] == "over lines\n"
        # Words before the end of input are still answered.
        p.stdin.write((json.dumps(request("ping", id=9)) + "\n").encode())
        p.stdin.close()
        assert json.loads(p.stdout.read().splitlines()[-1])["id"] == 9
        assert p.wait(PATIENCE_S) == 0
    box = d.make()
    with subprocess.Popen([CAY, "mcp", "--data", data, "--sandbox", box], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
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


class Stream:
    """A session's own stream, or any other, read in the background: what it was told so far."""

    def __init__(self, response, connection):
        assert response.status == 200, response.read()
        self.told, self.connection = [], connection
        self.thread = threading.Thread(target=self.read, args=(response,), daemon=True)
        self.thread.start()

    def read(self, response):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            for _, m in events(response):
                if m:
                    self.told.append(m)

    def await_(self, method, **params):
        def found():
            return next((m for m in self.told if m.get("method") == method and params.items() <= m["params"].items()), None)
        m = wait_for(f"{method} {params}", found)
        self.told.remove(m)
        return m

    def close(self):
        with contextlib.suppress(OSError):
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(PATIENCE_S)
        self.connection.close()


def write_registry(d, text):
    with open(os.path.join(d.registry, "registry.yaml"), "w", encoding="utf-8") as f:
        f.write(text)
    d.process.send_signal(1)


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
    command = "for i in 1 2 3 4 5 6 7 8 9; do echo $i > /tmp/watched.txt; echo x > /tmp/other; sleep 0.1; done"
    s.good("run_command", sandbox_id=box, command=command)
    own.await_("notifications/resources/updated", uri=uri)
    s.good("run_command", sandbox_id=box, command="mkdir /tmp/later; echo x > /tmp/later/b.txt")  # its folder comes later
    own.await_("notifications/resources/updated", uri=f"sandbox://{box}/files/tmp/later/b.txt")
    # Output of a command that runs.
    h = s.good("run_command", sandbox_id=box, command="echo a; read x; echo b", background=True)["exec_id"]
    out = f"sandbox://{box}/exec/{h}/stdout"
    s.must("resources/subscribe", {"uri": out})
    s.good("exec_input", sandbox_id=box, exec_id=h, text="\n")
    own.await_("notifications/resources/updated", uri=out)
    assert s.must("resources/read", {"uri": out})["contents"][0]["text"] == "a\nb\n"
    # A new registry; and with listen, each message names its subscription.
    ids = {"notifications": {"promptsListChanged": True, "toolsListChanged": True, "resourceSubscriptions": [uri]},
           "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}}
    h = {"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    listen = Stream(*d.begin("POST", "/mcp", request("subscriptions/listen", ids, "L1"), headers=h))
    ack = listen.await_("notifications/subscriptions/acknowledged")["params"]
    assert ack["notifications"] == {"promptsListChanged": True, "resourceSubscriptions": [uri]}, ack
    assert ack["_meta"] == {"io.modelcontextprotocol/subscriptionId": "L1"}
    write_registry(d, REGISTRY + "  second:\n    description: another\n    host: true\n")
    own.await_("notifications/prompts/list_changed")
    own.await_("notifications/resources/updated", uri="template://careful/SYSTEM.md")
    assert listen.await_("notifications/prompts/list_changed")["params"]["_meta"] == ack["_meta"]
    write_registry(d, REGISTRY)
    own.await_("notifications/prompts/list_changed")
    s.good("run_command", sandbox_id=box, command="echo more > /tmp/watched.txt")
    listen.await_("notifications/resources/updated", uri=uri)
    # Nothing is told of what is no longer watched: a resource that changes afterwards is told first.
    own.await_("notifications/resources/updated", uri=uri)
    assert s.must("resources/unsubscribe", {"uri": uri}) == {}
    time.sleep(0.3)  # what was on its way
    own.told.clear()
    s.good("run_command", sandbox_id=box, command="echo end > /tmp/watched.txt; echo y > /tmp/later/b.txt")
    own.await_("notifications/resources/updated", uri=f"sandbox://{box}/files/tmp/later/b.txt")
    assert not [m for m in own.told if m["params"].get("uri") == uri], own.told
    for i in range(64):
        m = s.ask("resources/subscribe", {"uri": f"zzz://{i}"})
    assert m["error"]["code"] == -32602, "there is a limit"
    status, found = modern(d, "subscriptions/listen", {"notifications": 5})
    assert status == 200 and found[-1]["error"]["code"] == -32602
    listen.close()
    own.close()
    s.end()


def test_tasks(d):
    s = Session(d)
    assert s.hello["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    tools = {t["name"]: t for t in s.must("tools/list")["tools"]}
    assert tools["run_command"]["execution"] == {"taskSupport": "optional"} and "execution" not in tools["read_file"]

    def begin(command, **more):
        return s.must("tools/call", {"name": "run_command", "arguments": {"command": command, **more}, "task": {"ttl": 60000}})["task"]

    # Legacy: asked for; waited for; the result is the tool's.
    t = begin("sleep 0.3; echo done")
    assert t["status"] == "working" and t["ttl"] == 60000 and t["createdAt"].endswith("Z"), t
    r = s.must("tasks/result", {"taskId": t["taskId"]})
    assert r["structuredContent"]["stdout"] == "done\n" and r["_meta"] == {
        "io.modelcontextprotocol/related-task": {"taskId": t["taskId"]}}, r
    assert s.must("tasks/get", {"taskId": t["taskId"]})["status"] == "completed"
    assert [x["taskId"] for x in s.must("tasks/list")["tasks"]] == [t["taskId"]]
    assert s.ask("tasks/cancel", {"taskId": t["taskId"]})["error"]["code"] == -32602
    bad = begin("x", sandbox_id="nosuch")
    assert s.must("tasks/result", {"taskId": bad["taskId"]})["isError"]
    assert s.must("tasks/get", {"taskId": bad["taskId"]})["status"] == "failed"
    # Cancelled: the command is killed; the session's end is no cancel.
    t = begin("exec sleep 7561")
    wait_for("the command", lambda: run_count(d, "7561") == 1)
    assert s.must("tasks/cancel", {"taskId": t["taskId"]})["status"] == "cancelled"
    wait_for("its end", lambda: run_count(d, "7561") == 0)
    assert "cancelled" in s.ask("tasks/result", {"taskId": t["taskId"]})["error"]["message"]
    box = d.make()
    t = begin("exec sleep 7562", sandbox_id=box)
    wait_for("the command", lambda: run_count(d, "7562") == 1)
    s.end()
    s = Session(d)
    assert s.must("tasks/get", {"taskId": t["taskId"]})["status"] == "working" and run_count(d, "7562") == 1
    other = Session(d, token=d.make_token("--owner", "somebody"))
    assert other.ask("tasks/get", {"taskId": t["taskId"]})["error"]["code"] == -32602
    assert other.must("tasks/list")["tasks"] == []
    other.end()
    s.must("tasks/cancel", {"taskId": t["taskId"]})
    for params, code in (({"name": "read_file", "task": {}}, -32601), ({"name": "run_command", "task": 5}, -32602)):
        assert s.ask("tools/call", params)["error"]["code"] == code
    assert s.ask("tasks/get", {"taskId": "nosuch"})["error"]["code"] == -32602
    s.end()
    # Modern: the server makes one of what takes long, for clients that know tasks.
    can = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    _, found = modern(d, "tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": "echo quick"}}, capabilities=can)
    assert found[-1]["result"]["resultType"] == "complete" and found[-1]["result"]["structuredContent"]["stdout"] == "quick\n"
    _, found = modern(d, "tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": "sleep 3.5; echo slow"}},
                      capabilities=can)
    t = found[-1]["result"]
    assert t["resultType"] == "task" and t["status"] == "working" and t["ttlMs"] > 0 and "ttl" not in t, t

    def task(method, **params):
        return modern(d, f"tasks/{method}", {"taskId": t["taskId"], **params}, headers={"Mcp-Name": t["taskId"]}, capabilities=can)[1][-1]

    wait_for("its end", lambda: task("get")["result"]["status"] != "working")
    r = task("get")["result"]
    assert r["status"] == "completed" and r["result"]["structuredContent"]["stdout"] == "slow\n", r
    assert task("update", inputResponses={})["result"]["resultType"] == "complete"
    assert task("cancel")["result"]["resultType"] == "complete" and task("get")["result"]["status"] == "completed"
    status, found = modern(d, "tasks/get", {"taskId": t["taskId"]}, headers={"Mcp-Name": t["taskId"]})
    assert status == 400 and found[-1]["error"]["code"] == -32021, found
    status, found = modern(d, "tasks/list", {}, capabilities=can)
    assert status == 404
    status, found = modern(d, "tasks/get", {"taskId": "nosuch"}, headers={"Mcp-Name": "other"}, capabilities=can)
    assert status == 400 and found[-1]["error"]["code"] == -32020
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def check_schema(schema, value, where):
    """The few words of JSON Schema that our schemas have."""
    if "anyOf" in schema:
        errors = []
        for one in schema["anyOf"]:
            try:
                return check_schema(one, value, where)
            except AssertionError as e:
                errors.append(str(e))
        raise AssertionError("; ".join(errors))
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    assert isinstance(value, kinds[schema["type"]]) and (schema["type"] != "integer" or not isinstance(value, bool)), (where, schema, value)
    for name in schema.get("required", []):
        assert name in value, f"{where}: {name} is missing"
    for name, member in schema.get("properties", {}).items():
        if name in value:
            check_schema(member, value[name], f"{where}.{name}")
    for member in value if schema["type"] == "array" else []:
        check_schema(schema["items"], member, f"{where}[]")


def test_schemas(d):
    """What tools answer is what their schemas say, tool by tool; none is left out."""
    s = Session(d)
    tools = {t["name"]: t for t in s.must("tools/list")["tools"]}
    left = set(tools)

    def call(name, **arguments):
        left.discard(name)
        r = s.good(name, **arguments)
        check_schema({**tools[name]["outputSchema"], "required": list(r)}, r, name)
        assert set(r) <= {"next", *tools[name]["outputSchema"]["properties"]}, (name, r)
        return r

    box = call("sandbox_create")["sandbox_id"]
    call("container_list")
    started = call("container_start", code="print(1)")
    assert started["exit_code"] == 0
    kept = call("container_start")["container_id"]
    call("container_exec", container_id=kept, command="exit 3")
    call("container_stop", container_id=kept)
    call("run_code", sandbox_id=box, code="print(1)")
    call("run_command", command="kill -9 $$", sandbox_id=box)
    h = call("run_command", command="read x; sleep 600", sandbox_id=box, background=True)["exec_id"]
    call("exec_poll", sandbox_id=box, exec_id=h, wait_s=0)
    call("exec_input", sandbox_id=box, exec_id=h, text="x\n")
    call("exec_signal", sandbox_id=box, exec_id=h, signal="KILL")
    call("write_file", sandbox_id=box, path="a", content="text")
    call("read_file", sandbox_id=box, path="a")
    call("edit_file", sandbox_id=box, path="a", old_string="t", new_string="T", replace_all=True)
    call("list_files", sandbox_id=box, path=".")
    call("move_path", sandbox_id=box, path="a", to="b")
    call("delete_path", sandbox_id=box, path="b")
    call("port_url", sandbox_id=box, port=8000)
    call("sandbox_list")
    call("sandbox_info", sandbox_id=box)
    intent = call("intent_detect", message="Please run this:\n```python\nprint(1)\n```")
    assert intent["decision"] == "run" and intent["code"]["text"].strip() == "print(1)", intent
    call("intent_detect", message="What is a list?")
    call("sandbox_destroy", sandbox_id=box)
    assert not left, left
    assert s.ask("resources/list", {"cursor": "nonsense"})["error"]["code"] == -32602
    s.end()


def test_pages(d):
    s = Session(d)
    made = {s.good("sandbox_create")["sandbox_id"] for _ in range(102)}
    first = s.must("resources/list")
    second = s.must("resources/list", {"cursor": first["nextCursor"]})
    seen = [r["uri"].split("/")[2] for page in (first, second) for r in page["resources"] if r["uri"].startswith("sandbox://")]
    assert len(seen) == 102 and set(seen) == made and "nextCursor" not in second
    s.end()


def test_complete(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    exec_id = s.good("run_command", sandbox_id=box, command="mkdir -p /tmp/one/two; touch /tmp/one/three")["exec_id"]

    def complete(name, value, given=None):
        params = {"ref": {"type": "ref/resource", "uri": "sandbox://{id}/x"}, "argument": {"name": name, "value": value}}
        if given:
            params["context"] = {"arguments": given}
        return s.must("completion/complete", params)["completion"]["values"]

    assert sorted(complete("path", "tmp/one/t", {"id": box})) == ["tmp/one/three", "tmp/one/two/"]
    assert complete("path", "tmp/on", {"id": box}) == ["tmp/one/"]
    assert complete("path", "tmp/one/t") == [] and complete("path", "x", {"id": "nosuch"}) == []
    assert complete("exec_id", exec_id[:3], {"id": box}) == [exec_id]
    assert complete("name", "care") == ["careful"]
    s.end()


def setups(page):
    """Every server that a block of the page names: its command, or its address and fields."""
    def walk(v):
        if isinstance(v, dict) and ("command" in v or "url" in v):
            yield v
        elif isinstance(v, dict):
            for member in v.values():
                yield from walk(member)

    for kind, text in re.findall(r"```(json|ini|text)\n(.*?)```", page, re.S):
        if kind == "text":
            for words in (shlex.split(line.replace("$(cay token)", "TOKEN")) for line in text.splitlines()):
                if words[:3] == ["claude", "mcp", "add"] and "--" in words:
                    yield {"command": words[words.index("--") + 1:]}
                elif words[:3] == ["claude", "mcp", "add"]:
                    yield {"url": words[6], "headers": dict([words[words.index("--header") + 1].split(": ")])}
                elif words[0] == "npx":
                    yield {"command": words[3:words.index("--method")]}
        else:
            yield from walk(json.loads(text) if kind == "json" else tomllib.loads(text))


def test_setups(d):
    """The lines of docs/mcp.md that people paste."""
    with open(os.path.join(os.environ["CAY_SOURCE_DIR"], "docs", "mcp.md"), encoding="utf-8") as f:
        found = list(setups(f.read()))
    assert len(found) >= 8, found
    env = {**os.environ, "PATH": os.path.dirname(CAY) + ":" + os.environ["PATH"], "CAY_DATA": os.path.join(d.folder, "data")}
    commands = set()
    for s in found:
        if "url" in s:
            assert s["url"] == "http://127.0.0.1:8888/mcp" and s["headers"] == {"Authorization": "Bearer TOKEN"}, s
            Session(d, path=s["url"].replace("http://127.0.0.1:8888", "")).end()
        else:
            commands.add(tuple(s["command"] if isinstance(s["command"], list) else [s["command"], *s["args"]]))
    assert commands == {("cay", "mcp")}
    with subprocess.Popen(list(*commands), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as p:
        talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}))
        assert len(talk(p, request("tools/list", {}, 2))["result"]["tools"]) > 15
        p.stdin.close()
        assert p.wait(PATIENCE_S) == 0


def test_confirm(d):
    """needs_confirm: asked the legacy way, the modern way, and with a token."""
    yes = {"action": "accept", "content": {"approve": True}}
    s = Session(d, capabilities={"elicitation": {}})
    r, c = s.begin("tools/call", {"name": "sandbox_create", "arguments": {"template": "careful"}})
    stream = (m for _, m in events(r) if m)
    question = next(stream)
    assert question["method"] == "elicitation/create" and question["params"]["requestedSchema"]["required"] == ["approve"]
    assert question["params"]["message"] == "Make a sandbox: template 'careful' needs a confirmation. Allow it?", question
    assert s.post({"jsonrpc": "2.0", "id": question["id"], "result": yes}).status == 202
    assert next(stream)["result"]["structuredContent"]["template"] == "careful"
    c.close()
    r, c = s.begin("tools/call", {"name": "sandbox_create", "arguments": {"template": "careful"}})
    stream = (m for _, m in events(r) if m)
    question = next(stream)
    s.post({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
    assert next(stream)["result"]["structuredContent"]["error"] == "declined"
    c.close()
    s.end()
    wait_for("the session's sandbox to go", lambda: not boxes(d))
    what = {"name": "run_code", "arguments": {"code": "print(1)", "template": "careful"}}
    can = {"elicitation": {"form": {}}}
    _, found = modern(d, "tools/call", what, capabilities=can)
    asked = found[-1]["result"]
    assert asked["resultType"] == "input_required" and asked["inputRequests"]["confirm"]["method"] == "elicitation/create", asked
    again = {**what, "requestState": asked["requestState"], "inputResponses": {"confirm": yes}}
    _, found = modern(d, "tools/call", again, capabilities=can, id=2)
    assert found[-1]["result"]["structuredContent"]["stdout"] == "1\n", found
    _, found = modern(d, "tools/call", again, capabilities=can, id=3)
    assert found[-1]["result"].get("isError"), "a confirmation works once"
    _, found = modern(d, "tools/call", what, capabilities=can, id=4)
    other = {"name": "run_code", "arguments": {"code": "print(2)", "template": "careful"},
             "requestState": found[-1]["result"]["requestState"], "inputResponses": {"confirm": yes}}
    _, found = modern(d, "tools/call", other, capabilities=can, id=5)
    assert found[-1]["result"].get("isError"), "and for nothing else"
    s = Session(d)
    refused = s.bad("run_code", code="print(3)", template="careful")
    assert refused["needs_confirm"] and refused["confirm_token"], refused
    assert s.good("run_code", code="print(3)", template="careful", confirm_token=refused["confirm_token"])["stdout"] == "3\n"
    # SYSTEM.md: a resource and a prompt.
    uris = [r["uri"] for r in s.must("resources/list")["resources"]]
    assert "template://careful/SYSTEM.md" in uris, uris
    assert "Be careful" in s.must("resources/read", {"uri": "template://careful/SYSTEM.md"})["contents"][0]["text"]
    assert "use_careful" in [p["name"] for p in s.must("prompts/list")["prompts"]]
    assert "Be careful" in s.must("prompts/get", {"name": "use_careful"})["messages"][0]["content"]["text"]
    listed = {t["name"]: t for t in s.good("container_list")["templates"]}
    assert listed["careful"]["needs_confirm"], listed
    s.end()


def test_alone():
    """Without a daemon: one is started, and nothing of it stays."""
    before = set(os.listdir("/tmp"))
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CAY_", "SANDBOX_")) or k.startswith("CAY_TEST_")}
    empty = tempfile.mkdtemp(prefix="cay-none-")
    with subprocess.Popen([CAY, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**env, "CAY_DATA": empty}) as p:
        assert talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}))["result"]["serverInfo"]["name"] == "cay"
        r = talk(p, request("tools/call", {"name": "run_code", "arguments": {"code": "print('alone')"}}, 2))
        assert r["result"]["structuredContent"]["stdout"] == "alone\n", r
        p.stdin.close()
        assert p.wait(PATIENCE_S) == 0
    os.rmdir(empty)
    left = {n for n in set(os.listdir("/tmp")) - before if n.startswith("cay-mcp-")}
    assert not left, left


REGISTRY = "containers:\n  careful:\n    description: asks first\n    host: true\n    security:\n      needs_confirm: true\n\n"
TESTS = [test_legacy, test_transport, test_malformed, test_commands, test_once, test_advice, test_output, test_files, test_progress, test_cancel,
         test_resume, test_modern, test_sandbox_endpoint, test_ports, test_websocket, test_many, test_stdio, test_changes, test_tasks, test_schemas,
         test_pages, test_complete, test_setups, test_confirm]


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


def main():
    chosen = [t for t in TESTS if not sys.argv[1:] or t.__name__ in sys.argv[1:] or t.__name__[5:] in sys.argv[1:]]
    folder = tempfile.mkdtemp(prefix="cay-mcp-registry-")
    os.chmod(folder, 0o755)
    try:
        os.mkdir(os.path.join(folder, "careful"))
        with open(os.path.join(folder, "registry.yaml"), "w", encoding="utf-8") as f:
            f.write(REGISTRY)
        with open(os.path.join(folder, "careful", "SYSTEM.md"), "w", encoding="utf-8") as f:
            f.write("Be careful in here.\n")
        if chosen:
            kept = []
            with Daemon("--registry", os.path.join(folder, "registry.yaml"), "--rate-limit", "100000", "--max-sandboxes", "200") as d:
                d.registry = folder
                for t in chosen:
                    t(d)
                    wait_for("what its sessions made to go", lambda: not boxes(d))
                    print(f"ok {t.__name__}", flush=True)
                kept = leave_open(d)
            assert kept
        if not sys.argv[1:] or "alone" in sys.argv[1:]:
            test_alone()
            print("ok test_alone")
    finally:
        shutil.rmtree(folder)


main()
