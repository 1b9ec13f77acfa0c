#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon as its clients see it: one function per capability. test_serve.py [NAME…] runs some of them."""
import base64
import contextlib
import hashlib
import io
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, Daemon, children, is_alive, ready_again, run_tests, wait_for  # noqa: E402


def events_of(response):
    for line in response:
        yield json.loads(line)


def bytes_of(event):
    return event["text"].encode() if "text" in event else base64.b64decode(event["base64"])


def follow(response):
    """All events, and what was printed on stdout."""
    events, out = [], b""
    for e in events_of(response):
        events.append(e)
        if e["event"] == "stdout":
            out += bytes_of(e)
    return events, out


def test_document_002(d):
    """Its curl lines, as written but for the port and the token."""
    def curl(*words):
        done = subprocess.run(["curl", "-sS", "--max-time", str(PATIENCE_S), "-H", f"Authorization: Bearer {d.token}",
                               *words], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    url = f"http://localhost:{d.port}"
    box = curl("-X", "POST", f"{url}/api/sandboxes/", "-H", "Content-Type: application/json", "-d", """{
    "project_name": "test",
    "memory_limit": "1g",
    "cpu_limit": "1.0"
  }""")
    assert box["status"] == "ready" and box["project_name"] == "test", box
    assert box["limits"]["memory_bytes"] == 1 << 30 and box["limits"]["cpu_milli"] == 1000, box
    ran = curl("-X", "POST", f"{url}/api/sandboxes/{box['sandbox_id']}/execute", "-H", "Content-Type: application/json",
               "-d", """{
    "command": ["pwd"],
    "workdir": "/workspace"
  }""")
    assert ran["exit_code"] == 0 and ran["stdout"] == "/workspace\n", ran
    assert [b["sandbox_id"] for b in curl(f"{url}/api/sandboxes/")["sandboxes"]] == [box["sandbox_id"]]
    curl("-X", "DELETE", f"{url}/api/sandboxes/{box['sandbox_id']}")
    assert curl(f"{url}/api/sandboxes/")["sandboxes"] == []


def test_printed_lines_work(d):
    """What `cay serve` prints can be pasted."""
    lines = d.told[d.told.index("TOKEN="):]
    out = subprocess.run(["sh", "-c", lines], check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout
    assert json.loads(out)["stdout"].startswith("hello from "), out
    for box in d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
        d.must(200, "DELETE", f"/api/sandboxes/{box['sandbox_id']}")


def test_life(d):
    box = d.make(name="mine", labels={"team": "a", "x": "1"}, metadata={"k": "v"}, env={"WHO": "you"}, timeout="1h")
    got = d.must(200, "GET", "/api/sandboxes/mine")
    assert got["sandbox_id"] == box and got["labels"] == {"team": "a", "x": "1"} and got["metadata"] == {"k": "v"}
    assert 0 < got["expires_in_ms"] <= 3600000
    d.must(409, "POST", "/api/sandboxes", {"name": "mine"})
    assert len(d.must(200, "GET", "/api/sandboxes?label=team%3Da,x")["sandboxes"]) == 1
    assert d.must(200, "GET", "/api/sandboxes?label=team%3Db")["sandboxes"] == []
    assert d.must(200, "GET", "/api/sandboxes?state=paused")["sandboxes"] == []
    assert d.run(box, "echo $WHO $MORE", env={"MORE": "too"})["stdout"] == "you too\n"
    d.must(200, "POST", f"/api/sandboxes/{box}/pause")
    assert d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "paused"
    d.must(409, "POST", f"/api/sandboxes/{box}/execute", {"command": "true"})
    d.must(409, "POST", f"/api/sandboxes/{box}/pause")
    d.must(200, "POST", f"/api/sandboxes/{box}/resume")
    assert d.must(200, "GET", f"/api/sandboxes/{box}/stats")["pids"] >= 0
    assert d.must(200, "POST", f"/api/sandboxes/{box}/extend", {"timeout": 0})["expires_in_ms"] is None
    stopped = d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    assert stopped["status"] == "stopped" and stopped["cause"], stopped
    d.must(409, "POST", f"/api/sandboxes/{box}/execute", {"command": "true"})
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    d.must(409, "POST", f"/api/sandboxes/{box}/start")
    assert d.run(box, ["true"])["exit_code"] == 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    d.must(404, "GET", f"/api/sandboxes/{box}")
    d.must(404, "DELETE", f"/api/sandboxes/{box}")
    events = d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000")["events"]
    assert len(events) >= 4 and all(e["sandbox_id"] == box for e in events), events
    assert isinstance(events[0]["detail"], dict), events[0]


def test_destroy_without_waiting(d):
    """Answered while the warden cannot have removed anything yet; then it does."""
    warden = d.child("cay-warden")
    before = set(children(warden))
    box = d.make(name="brief")
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["sleep", "1000"], "background": True})
    (init, _), = set(children(warden)) - before
    os.kill(warden, signal.SIGSTOP)
    try:
        gone = d.must(200, "DELETE", f"/api/sandboxes/{box}?wait=false")
        assert gone == {"sandbox_id": box, "status": "removing"}, gone
        d.must(404, "GET", f"/api/sandboxes/{box}")
        d.must(404, "DELETE", f"/api/sandboxes/{box}")
        assert is_alive(init)
    finally:
        os.kill(warden, signal.SIGCONT)
    wait_for("its box to go", lambda: not is_alive(init))
    again = d.make(name="brief")
    assert d.must(200, "DELETE", f"/api/sandboxes/{again}?wait=true")["status"] == "destroyed"


def test_pages(d):
    boxes = [d.make(own_user_only=True) for _ in range(3)]
    first = d.must(200, "GET", "/api/sandboxes?limit=2")
    rest = d.must(200, "GET", f"/api/sandboxes?limit=2&cursor={first['next']}")
    assert [b["sandbox_id"] for b in first["sandboxes"] + rest["sandboxes"]] == boxes and rest["next"] is None
    d.must(400, "POST", "/api/sandboxes/cleanup", {})
    dry = d.must(200, "POST", "/api/sandboxes/cleanup", {"template": "host", "dry_run": True})
    assert sorted(dry["sandboxes"]) == sorted(boxes) and dry["destroyed"] == 0
    assert d.must(200, "POST", "/api/sandboxes/cleanup", {"template": "host"})["destroyed"] == 3
    assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []


def test_exec(d):
    box = d.make()
    r = d.run(box, "echo out; echo err >&2; exit 3")
    assert (r["exit_code"], r["stdout"], r["stderr"], r["cause"]) == (3, "out\n", "err\n", "exited"), r
    assert d.run(box, ["printf", "%s|", "a b", "c"])["stdout"] == "a b|c|"
    assert d.run(box, ["cat"], stdin="given\n")["stdout"] == "given\n"
    assert d.run(box, ["cat"])["stdout"] == ""
    assert d.run(box, ["/nowhere/program"])["exit_code"] == 127
    slow = d.run(box, ["sleep", "1000"], timeout=0.2)
    assert slow["cause"] == "wall_time" and slow["exit_code"] is None, slow
    assert d.run(box, ["printf", "\\377"])["stdout_base64"] == "/w=="
    big = d.run(box, "head -c 3000000 /dev/zero | tr '\\0' x", max_output="1k")
    assert len(big["stdout"]) == 1024 and big["stdout_truncated"] and big["stdout_bytes"] == 3000000
    execs = d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"]
    assert len(execs) == 8 and execs[0]["command"].startswith("echo out"), len(execs)
    again = d.must(200, "GET", f"/api/sandboxes/{box}/execs/{execs[0]['exec_id']}")
    assert again["exit_code"] == 3
    missing = d.must(404, "GET", f"/api/sandboxes/{box}/execs/none")["error"]
    assert missing["field"] == "exec" and missing["reason"] == "no_exec", missing
    missing = d.must(404, "GET", "/api/sandboxes/none/execs/none")["error"]
    assert missing["field"] == "id" and missing["reason"] == "no_sandbox", missing
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_stream(d):
    box = d.make()
    path = f"/api/sandboxes/{box}/execute"
    r, c = d.begin("POST", path, {"command": "echo a; echo b >&2; exit 4", "stream": True})
    assert r.status == 200 and r.getheader("Content-Type").startswith("application/x-ndjson")
    events, out = follow(r)
    c.close()
    assert [e["event"] for e in events][0] == "started" and events[-1]["event"] == "exited", events
    assert out == b"a\n" and events[-1]["exit_code"] == 4
    r, c = d.begin("POST", path, {"command": "echo a"}, headers={"Accept": "text/event-stream"})
    text = r.read().decode()
    c.close()
    assert r.getheader("Content-Type").startswith("text/event-stream")
    assert "event: stdout\n" in text and "id: 2\n" in text and "event: exited\n" in text, text
    # in the background, fed, signalled, attached to from a cursor
    back = d.must(202, "POST", path, {"command": "read x; echo got $x; trap 'echo usr; exit 0' USR1; echo armed; "
                                                 "while :; do sleep 0.05; done", "background": True, "open_stdin": True})
    one = f"/api/sandboxes/{box}/execs/{back['exec_id']}"
    assert back["status"] in ("starting", "running"), back
    assert d.must(200, "POST", one + "/input", b"hello\n")["bytes"] == 6
    r, c = d.begin("GET", one + "/output?from=0")
    seen, cursor = b"", 0
    for e in events_of(r):
        if e["event"] == "stdout":
            seen, cursor = seen + bytes_of(e), e["next"]
        if b"armed" in seen:
            break
    c.close()
    assert seen.startswith(b"got hello\n"), seen
    d.must(200, "POST", one + "/signal", {"signal": "USR1"})
    r, c = d.begin("GET", one + "/output", headers={"Last-Event-ID": str(cursor)})
    events, out = follow(r)
    c.close()
    assert out == b"usr\n" and events[-1]["exit_code"] == 0, (out, events)
    d.must(409, "POST", one + "/signal", {"signal": "TERM"})
    d.must(400, "GET", one + "/output?from=999999")
    d.must(409, "POST", one + "/input", b"late")
    # a terminal, sized
    back = d.must(202, "POST", path, {"command": "read x; stty size", "background": True, "tty": True, "open_stdin": True})
    one = f"/api/sandboxes/{box}/execs/{back['exec_id']}"
    d.must(200, "POST", one + "/resize", {"rows": 33, "cols": 77})
    d.must(200, "POST", one + "/input", b"\n")
    r, c = d.begin("GET", one + "/output")
    assert b"33 77" in follow(r)[1]
    c.close()
    # ended by hand
    back = d.must(202, "POST", path, {"command": ["sleep", "1000"], "background": True})
    one = f"/api/sandboxes/{box}/execs/{back['exec_id']}"
    d.must(200, "DELETE", one)
    assert wait_for("its end", lambda: d.must(200, "GET", one)["status"] == "ended")
    assert d.must(200, "GET", one)["cause"] == "killed"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_waiting_client_gone(d):
    """Its command goes with it; a background one does not."""
    box = d.make()
    c = d.connect()
    c.request("POST", f"/api/sandboxes/{box}/execute", json.dumps({"command": ["sleep", "1000"]}),
              {"Authorization": "Bearer " + d.token})
    wait_for("the command", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["execs_running"] == 1)
    c.close()
    wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["execs_running"] == 0)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"][0]["cause"] == "killed"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_waiting_client_gone_while_paused(d):
    """A paused sandbox cannot be told; its command goes when it is resumed."""
    box = d.make()
    c = d.connect()
    c.request("POST", f"/api/sandboxes/{box}/execute", json.dumps({"command": ["sleep", "1000"]}),
              {"Authorization": "Bearer " + d.token})
    wait_for("the command", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["execs_running"] == 1)
    d.must(200, "POST", f"/api/sandboxes/{box}/pause")
    c.close()
    for _ in range(3):  # the front has seen the end of the connection before it answers the last of these
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["execs_running"] == 1
    d.must(200, "POST", f"/api/sandboxes/{box}/resume")
    wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["execs_running"] == 0)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"][0]["cause"] == "killed"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_files(d):
    box = d.make()
    files = f"/api/sandboxes/{box}/files"
    assert d.must(200, "PUT", files + "?path=a.txt", b"hello world")["bytes"] == 11
    assert d.must(200, "GET", files + "?path=a.txt") == b"hello world"
    part = d.ask("GET", files + "?path=a.txt", headers={"Range": "bytes=6-8"})
    assert part.status == 206 and part.body == b"wor" and part.headers["Content-Range"] == "bytes 6-8/11", part
    assert d.must(206, "GET", files + "?path=a.txt&offset=6") == b"world"
    d.must(400, "GET", files + "?path=a.txt&offset=99")
    d.must(200, "PUT", files + "?path=a.txt&append=true", b"!")
    assert d.must(200, "GET", files + "?path=/workspace/a.txt") == b"hello world!"
    st = d.must(200, "GET", files + "/stat?path=a.txt")
    assert (st["type"], st["size"], st["mode"]) == ("file", 12, "0644"), st
    d.must(404, "GET", files + "?path=none")
    d.must(409, "PUT", files + "?path=a.txt&exclusive=true", b"x")
    d.must(404, "PUT", files + "?path=deep/er/b", b"x")
    d.must(200, "PUT", files + "?path=deep/er/b&parents=true", b"x")
    d.must(200, "POST", files + "/mkdir", {"path": "dir"})
    d.must(409, "POST", files + "/mkdir", {"path": "dir"})
    d.must(200, "POST", files + "/move", {"path": "a.txt", "to": "dir/b.txt"})
    names = {e["name"] for e in d.must(200, "GET", files + "/list?path=.")["entries"]}
    assert names == {"dir", "deep"}, names
    assert d.run(box, ["cat", "dir/b.txt"])["stdout"] == "hello world!"
    d.must(200, "PUT", files + "?path=empty", b"")
    assert d.must(200, "GET", files + "?path=empty") == b""
    assert d.ask("PUT", files + "?path=/etc/passwd", b"x").status in (403, 409, 400)
    assert d.ask("GET", files + "?path=/etc/shadow").status in (403, 404)
    # a tree out and in again
    packed = d.must(200, "GET", f"/api/sandboxes/{box}/archive?path=deep")
    with tarfile.open(fileobj=io.BytesIO(packed)) as t:
        assert any(m.name.endswith("er/b") for m in t.getmembers()), t.getnames()
    d.must(200, "POST", files + "/mkdir", {"path": "copy"})
    assert d.must(200, "PUT", f"/api/sandboxes/{box}/archive?path=copy", packed)["entries"] >= 2
    assert "er/b" in d.run(box, ["find", "copy"])["stdout"]
    d.must(400, "PUT", f"/api/sandboxes/{box}/archive?path=copy", b"this is no archive" * 100)
    d.must(404, "GET", f"/api/sandboxes/{box}/archive?path=none")
    d.must(400, "DELETE", files)
    d.must(409, "DELETE", files + "?path=deep")
    d.must(200, "DELETE", files + "?path=deep&recursive=true")
    # large, both ways
    big = os.urandom(1 << 20) * 32
    assert d.must(200, "PUT", files + "?path=big", big)["bytes"] == len(big)
    want = hashlib.sha256(big).hexdigest()
    assert d.run(box, ["sha256sum", "big"])["stdout"].split()[0] == want
    assert hashlib.sha256(d.must(200, "GET", files + "?path=big")).hexdigest() == want
    procs = d.must(200, "GET", f"/api/sandboxes/{box}/processes")["processes"]
    assert any(p["pid"] == 1 for p in procs) or procs == [] or procs[0]["pid"] > 0, procs
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


PORT_SERVER = """
import socketserver, sys
class H(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode()
        fields = {}
        while (l := self.rfile.readline().decode().strip()):
            name, _, value = l.partition(":")
            fields[name.lower()] = value.strip()
        if "upgrade" in fields:
            self.wfile.write(b"HTTP/1.1 101 Switching\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n")
            while (b := self.request.recv(65536)):
                self.wfile.write(b.upper())
            return
        body = self.rfile.read(int(fields.get("content-length", 0)))
        text = (line + repr(sorted(fields)) + "|").encode() + body
        if "/big" in line:
            text = b"x" * 20000000
        if "/go?" in line:  # to where the query says, in the field that it says
            field, _, to = line.split()[1].partition("?")[2].partition("=")
            self.wfile.write(f"HTTP/1.1 302 Found\\r\\n{field}: {to}\\r\\nContent-Length: 0\\r\\n\\r\\n".encode())
            return
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nSet-Cookie: a=b\\r\\nX-App-Own: yes\\r\\nContent-Security-Policy: default-src *\\r\\n"
                         b"Content-Length: %d\\r\\n\\r\\n" % len(text) + text)
class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
S(("127.0.0.1", 8123), H).serve_forever()
"""


def test_ports(d):
    """A server in a sandbox without a network, reached by path; credentials stay outside, upgrades pass."""
    box = d.make()
    ports = f"/api/sandboxes/{box}/ports"
    assert d.must(200, "GET", ports) == {"ports": [], "count": 0, "more": False}
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", PORT_SERVER], "background": True})
    wait_for("the port", lambda: d.must(200, "GET", ports)["ports"] == [8123])
    a = d.ask("GET", ports + "/8123/some/path%20x?q=1", headers={"Cookie": "c=d", "X-Mine": "1"})
    assert a.status == 200 and a.body.startswith(b"GET /some/path%20x?q=1 HTTP/1.1"), a
    assert b"authorization" not in a.body and b"cookie" not in a.body and b"x-mine" in a.body, a
    assert a.headers["X-App-Own"] == "yes" and "Set-Cookie" not in a.headers, a.headers
    assert a.headers["Content-Security-Policy"].startswith("sandbox "), a.headers
    assert d.ask("POST", ports + "/8123/", b"z" * 3000000).body.endswith(b"z" * 1000)
    assert len(d.ask("GET", ports + "/8123/big").body) == 20000000
    check_redirects(d, ports)
    check_port_paths(d, ports)
    for port, status in [("08123", 400), ("+8123", 400), ("0", 400), ("65536", 400), ("73659", 400), ("x", 400), ("9", 502)]:
        assert d.ask("GET", f"{ports}/{port}/").status == status, port
    assert d.ask("GET", ports + "/8123/", token=None).status == 401
    assert d.ask("GET", ports + "/8123/", token=d.make_token("--owner", "other")).status == 404
    assert d.ask("GET", ports + "/8123/", token=d.make_token("--scope", "read")).status == 403
    s = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
    s.settimeout(PATIENCE_S)
    s.sendall((f"GET {ports}/8123/ws HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {d.token}\r\n"
               "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n").encode())
    f = s.makefile("rb")
    assert f.readline().split()[1] == b"101"
    while f.readline().strip():
        pass
    for text in (b"hello", b"y" * 1000000):
        s.sendall(text)
        assert f.read(len(text)) == text.upper()
    f.close()
    s.close()
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


MANY_PORTS = """
import os, signal, socket
first = 20000 if os.fork() else 30000
servers = [socket.create_server(("127.0.0.1", port)) for port in range(first, first + 600)]
signal.pause()
"""


def test_many_ports(d):
    """More ports than an answer lists: it says how many there are, and that some are left out."""
    box = d.make()
    ports = f"/api/sandboxes/{box}/ports"
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", MANY_PORTS], "background": True})
    wait_for("the ports", lambda: d.must(200, "GET", ports)["count"] == 1200)
    answer = d.must(200, "GET", ports)
    assert answer["ports"] == [*range(20000, 20600), *range(30000, 30424)] and answer["more"], answer
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def check_redirects(d, ports):
    """What a server calls its own root is below its port for everybody else."""
    own = ports + "/8123"
    for field, to, seen in [
            ("Location", "/login?next=/a#b", own + "/login?next=/a#b"), ("Location", "/", own + "/"), ("Location", "next", "next"),
            ("location", "http://localhost:8123/in", own + "/in"), ("Location", "https://127.0.0.1:8123", own + "/"),
            ("Location", "//localhost:8123/x", own + "/x"), ("Location", "/../../../../config", own + "/config"),
            ("Location", "../../../../../config", own + "/config"), ("Location", own + "/there", own + "/there"),
            ("Location", "https://example.com/x", "https://example.com/x"), ("Location", "//example.com/x", "//example.com/x"),
            ("Content-Location", "/v1", own + "/v1"), ("Refresh", "5;url=/login", f'5; url="{own}/login"')]:
        a = d.ask("GET", f"{own}/go?{field}={to}" if "#" not in to else f"{own}/go?{field}={to.replace('#', '%23')}")
        seen = seen.replace("#", "%23")
        assert a.status == 302 and a.headers[field] == seen, (field, to, a.headers)


def check_port_paths(d, ports):
    """The slash behind the port; those behind that one belong to the server."""
    for method in ("GET", "POST", "DELETE"):
        a = d.ask(method, ports + "/8123?q=1&r=%2F")
        assert a.status == 308 and a.headers["Location"] == ports + "/8123/?q=1&r=%2F", a
    assert d.ask("GET", ports + "/8123", token=None).status == 401
    bad = d.ask("GET", ports + "/99999")
    assert bad.status == 400 and bad.json["error"]["field"] == "port", bad
    for rest in ("/", "//x", "///", "/x//y/"):
        a = d.ask("GET", ports + "/8123" + rest)
        assert a.status == 200 and a.body.startswith(f"GET {rest} HTTP/1.1".encode()), (rest, a)


def test_owners(d):
    box = d.make(name="secret-one")
    other = d.make_token("--owner", "other")
    reader = d.make_token("--owner", "default", "--scope", "read")
    admin = d.make_token("--owner", "boss", "--scope", "admin")
    ex = d.run(box, ["true"])["exec_id"]
    one = f"/api/sandboxes/{box}"
    for method, path, body in [
            ("GET", one, None), ("DELETE", one, None), ("POST", one + "/stop", {}), ("POST", one + "/start", {}),
            ("POST", one + "/pause", {}), ("POST", one + "/resume", {}), ("POST", one + "/extend", {"timeout": 5}),
            ("GET", one + "/stats", None), ("POST", one + "/execute", {"command": "id"}), ("GET", one + "/execs", None),
            ("GET", f"{one}/execs/{ex}", None), ("GET", f"{one}/execs/{ex}/output", None),
            ("POST", f"{one}/execs/{ex}/signal", {"signal": "9"}), ("DELETE", f"{one}/execs/{ex}", None),
            ("POST", f"{one}/execs/{ex}/input", b"x"), ("GET", one + "/files?path=a", None),
            ("PUT", one + "/files?path=a", b"x"), ("GET", one + "/files/list?path=.", None),
            ("POST", one + "/files/mkdir", {"path": "a"}), ("GET", one + "/archive?path=.", None),
            ("PUT", one + "/archive?path=.", b""), ("GET", one + "/processes", None),
            ("GET", "/api/sandboxes/secret-one", None)]:
        a = d.ask(method, path, body, token=other)
        assert a.status == 404, (method, path, a)
        assert a.json["error"]["code"] == "not_found", a
    assert d.must(200, "GET", "/api/sandboxes", token=other)["sandboxes"] == []
    d.must(404, "GET", one + "/events", token=other)
    d.must(200, "GET", one, token=reader)
    d.must(403, "POST", one + "/execute", {"command": "id"}, token=reader)
    d.must(403, "DELETE", one, token=reader)
    d.must(403, "GET", "/api/config")
    d.must(403, "POST", "/api/tokens", {"owner": "x"})
    d.must(200, "GET", one, token=admin)
    config = d.must(200, "GET", "/api/config", token=admin)
    assert config["max_sandboxes"]["value"] == "10" and config["token_secret"]["value"] == "(hidden)", config
    # peers of the unix socket: root is admin
    assert d.must(200, "GET", one, token=None, unix=True)["owner"] == "default"
    d.must(200, "DELETE", one, token=admin)


def test_keys(d):
    made = json.loads(d.make_token("--key", "--owner", "robot", "--label", "for a test"))
    assert d.must(200, "GET", "/api/sandboxes", token=made["key"])["sandboxes"] == []
    listed = json.loads(d.make_token("--list-keys"))["keys"]
    assert [k["key_id"] for k in listed] == [made["key_id"]] and "key" not in listed[0], listed
    d.must(401, "GET", "/api/sandboxes", token=made["key"][:-1] + ("a" if made["key"][-1] != "a" else "b"))
    d.make_token("--revoke", made["key_id"])
    d.must(401, "GET", "/api/sandboxes", token=made["key"])


def check_figures(d):
    """Totals are admin's; others hear of what is theirs."""
    box = d.make()
    other = d.must(200, "GET", "/api/health/ready", token=d.make_token("--owner", "other"))
    own = d.must(200, "GET", "/api/health/ready", token=d.make_token("--owner", "default"))
    everything = d.must(200, "GET", "/api/health/ready", token=d.make_token("--owner", "boss", "--scope", "admin"))
    assert (other["sandboxes"], other["alive"], own["sandboxes"], own["alive"]) == (0, 0, 1, 1), (other, own)
    assert everything["sandboxes"] >= 1 and everything["creates"] >= 1, everything
    for name in ("creates", "execs", "store_bytes", "channels", "watchers", "started_at", "engine_why"):
        assert name in everything and name not in own and name not in other, name
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_doors(d):
    path = "/api/sandboxes"
    bodies = set()
    good = d.token
    payload = good.split(".")
    for token in [None, "", "x", good[:-1], good + "=", good + "x", "cay1." + payload[1] + ".AAAA", payload[1], "a" * 20000,
                  "cay2." + ".".join(payload[1:])]:
        headers = {} if token is None else {"Authorization": "Bearer " + token}
        a = d.ask("GET", path, token=None, headers=headers)
        assert a.status == 401 and a.headers["WWW-Authenticate"] == "Bearer", (token, a)
        error = a.json["error"]
        error.pop("request_id")
        bodies.add(json.dumps(error))
    assert len(bodies) == 1, bodies
    d.must(401, "GET", path, token=None, headers={"Authorization": "Basic " + good})
    assert d.ask("GET", path + "?token=" + good, token=None).status == 401
    assert d.ask("GET", path + "?token=" + good).status == 400
    expired = d.make_token("--lifetime", "1s")
    wait_for("its expiry", lambda: d.ask("GET", path, token=expired).status == 401)
    s = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
    s.sendall((f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {good}\r\n"
               f"Authorization: Bearer {good}\r\nConnection: close\r\n\r\n").encode())
    assert s.makefile("rb").readline().split()[1] == b"401"
    s.close()
    # names and pages
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1"]:
        assert d.ask("GET", path, headers={"Host": host}).status == 421, host
    live = d.ask("GET", "/api/health/live", token=None, headers={"Host": "evil.example"})
    assert live.status == 200 and "sandboxes" not in live.json, live
    ready = d.must(200, "GET", "/api/health/ready", token=None)
    assert "alive" not in ready and "alive" in d.must(200, "GET", "/api/health/ready")
    check_figures(d)
    for origin in ["https://evil.example", "null", "https://good.example.evil.example", "file://"]:
        a = d.ask("GET", path, headers={"Origin": origin})
        assert "Access-Control-Allow-Origin" not in a.headers, (origin, a.headers)
        a = d.ask("OPTIONS", path, token=None, headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
        assert a.status == 403, (origin, a)
    a = d.ask("OPTIONS", path, token=None,
              headers={"Origin": "https://good.example", "Access-Control-Request-Method": "POST"})
    assert a.status == 204 and a.headers["Access-Control-Allow-Origin"] == "https://good.example", a.headers
    page = d.ask("GET", "/reference", token=None)
    assert page.status == 200 and b"/api/sandboxes/{id}/execute" in page.body
    assert "default-src 'none'" in page.headers["Content-Security-Policy"] and b"<script>" not in page.body
    reference = d.must(200, "GET", "/api/reference", token=None)
    assert {"sandbox_create", "exec_run"} <= {op["name"] for op in reference["ops"]}
    assert good not in d.log() and payload[2] not in d.log()


BAD = [  # body of a create, the field that is named
    ("", 201, None), ("{", 400, None), ("[]", 400, None), ('"x"', 400, None), ("{} {}", 400, None),
    ("[" * 100000, 400, None), ('{"a":' * 40 + "1" + "}" * 40, 400, None), ('{"nme": "x"}', 400, "nme"),
    ('{"name": 5}', 400, "name"), ('{"name": null}', 201, None), ('{"name": "UPPER"}', 400, "name"),
    ('{"name": "x\\u0000y"}', 400, None), (b'{"name": "\xff"}', 400, None), ('{"name": "a", "name": "b"}', 400, None),
    ('{"memory_limit": "99999999999999g"}', 400, "memory_limit"), ('{"memory_limit": -1}', 400, "memory_limit"),
    ('{"memory_limit": 9223372036854775808}', 400, None), ('{"memory_limit": 1e308}', 400, "memory_limit"),
    ('{"memory_limit": []}', 400, "memory_limit"), ('{"limits": {"memory": "1"}}', 400, "limits.memory"),
    ('{"limits": {"pids": 18446744073709551616}}', 400, None), ('{"limits": {"pds": 1}}', 400, "limits.pds"),
    ('{"cpu_limit": "NaN"}', 400, "cpu_limit"), ('{"cpu_limit": NaN}', 400, None), ('{"timeout": "soon"}', 400, "timeout"),
    ('{"template": "nowhere"}', None, None), ('{"network": "bridge"}', 403, "network"),
    ('{"workspace": {"path": "/etc"}}', 403, "workspace.path"), ('{"workspace": {"mode": "rw"}}', 400, "workspace.path"),
    ('{"workspace": {"path": "/etc", "mode": "x"}}', 400, "workspace.mode"), ('{"labels": {"a": 1}}', 400, "labels.a"),
    ('{"may_skip": ["nothing"]}', 400, "may_skip"), ('{"execution_id": ""}', 400, "execution_id"),
    ('{"read_only": "yes"}', 400, "read_only"), ('{"limits": {"inodes": 4294967296}}', 400, "limits.inodes"),
    ('{"limits": {"disk": "64k", "inodes": 100000}}', 400, "limits.inodes"), ('{"limits": {"inodes": 4000000}}', 400, "limits.inodes"),
    ('{"limits": {"disk": "64k"}}', 201, None), ('{"limits": {"disk": "64k", "inodes": 32000}}', 201, None),
    ('{"limits": {"disk": "200m", "inodes": 51200}}', 201, None),
]


def test_bad_input(d):
    for body, status, field in BAD:
        a = d.ask("POST", "/api/sandboxes", body, headers={"Content-Type": "application/json"})
        if a.status == 201:
            d.must(200, "DELETE", f"/api/sandboxes/{a.json['sandbox_id']}")
        assert status is None or a.status == status, (body[:80], a)
        assert status is not None or 400 <= a.status < 500, (body[:80], a)
        if a.status >= 400:
            error = a.json["error"]
            assert set(error) >= {"code", "message", "field", "request_id"} and error["message"], a
            assert error["request_id"] == a.headers["X-Request-Id"]
            assert field is None or error["field"] == field, (body[:80], a)
            assert "--" not in error["message"] and "Internal" not in error["message"], a  # flags are the CLI's words
    assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []
    box = d.make()
    for body, field in [({}, "command"), ({"command": []}, "command"), ({"command": [1]}, None), ({"command": ""}, None),
                        ({"command": "x", "id": "y"}, "id"), ({"command": "x", "rows": 70000}, "rows"),
                        ({"command": "x", "background": True, "stream": True}, "stream"),
                        ({"command": "x", "stdin": "y", "open_stdin": True}, "stdin"),
                        ({"command": "x", "user": "nobody-like-this:x:y"}, "user"), ({"command": "x", "cwd": "here"}, "cwd"),
                        ({"command": "x", "workdir": "here"}, "workdir")]:
        a = d.ask("POST", f"/api/sandboxes/{box}/execute", body)
        assert a.status == 400, (body, a)
        assert field is None or a.json["error"]["field"] == field, (body, a)
    for method, path, status in [
            ("GET", "/api/nothing", 404), ("GET", "/nothing", 404), ("PATCH", "/api/sandboxes", 405),
            ("GET", "/api/sandboxes/../config", 400), ("GET", "/api/sandboxes/%2e%2e", 400),
            ("GET", "/api/sandboxes/%00", 400), ("GET", "/api/sandboxes?limit=0", 400), ("GET", "/api/sandboxes?limit=1&limit=2", 400),
            ("GET", "/api/sandboxes?cursor=x", 400), ("GET", "/api/sandboxes?state=happy", 400),
            ("GET", f"/api/sandboxes/{box}/files", 400), ("GET", f"/api/sandboxes/{box}/files?path=", 400),
            ("GET", f"/api/sandboxes/{box}/files?path=a&offset=-1", 400), ("GET", "/api/sandboxes/" + "a" * 64, 400),
            ("POST", f"/api/sandboxes/{box}/extend", 400), ("GET", f"/api/sandboxes/{box}/execs/x/output?from=x", 400)]:
        a = d.ask(method, path)
        assert a.status == status, (method, path, a)
        assert a.json["error"]["message"], a
    a = d.ask("POST", "/api/sandboxes", b"x" * (2 << 20))
    assert a.status == 413, a
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []


def test_half_sent(d):
    """A body that never comes whole makes nothing."""
    for text in [b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"na"]:
        s = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
        s.sendall(b"POST /api/sandboxes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + d.token.encode() +
                  b"\r\n" + text)
        s.close()
    for text in [b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"]:
        s = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
        s.sendall(b"POST /api/sandboxes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + d.token.encode() +
                  b"\r\n" + text)
        line = s.makefile("rb").readline()
        assert line.split()[1] == b"400", line
        s.close()
    assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []


def test_single_use(d):
    made = d.must(201, "POST", "/api/sandboxes", {"execution_id": "once"})
    assert made["execution_id"] == "once"
    again = d.ask("POST", "/api/sandboxes", {"execution_id": "once"})
    assert again.status == 409 and again.json["error"]["first"] == made["sandbox_id"], again
    again = d.ask("POST", "/api/sandboxes", {}, headers={"Idempotency-Key": "once"})
    assert again.status == 409, again
    box = made["sandbox_id"]
    ran = d.run(box, "echo x >>f", execution_id="run-once")
    again = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "echo x >>f", "execution_id": "run-once"})
    assert again.status == 409 and again.json["error"]["first"] == ran["exec_id"], again
    assert d.run(box, ["cat", "f"])["stdout"] == "x\n"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ids_of_ours_are_not_kept(d):
    """Requests without an id must not push a client's out of the table of used ones."""
    path = os.path.join(d.folder, "data", "state", "state.db")

    def kept():
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return {row[0] for row in db.execute("SELECT key FROM claims")}

    before = kept()
    box = d.make()
    assert d.run(box, "true")["execution_id"]
    assert d.must(200, "POST", "/api/run", {"code": "print(1)"})["execution_id"]
    assert d.must(200, "POST", "/sandbox/execute", {"code": "print(1)"})["execution_id"]
    assert d.must(200, "POST", "/containers/start", {"code": "print(1)"})["execution_id"]
    d.run(box, "true", execution_id="a client's")
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    assert kept() - before == {"a client's"}, kept() - before


def test_nulls_and_units(d):
    """A null says nothing, in every API; sizes and times as other systems write them."""
    asked = ("name", "labels", "env", "limits", "memory_limit", "cpu_limit", "ports", "workspace", "template", "timeout", "engine", "read_only")
    box = d.must(201, "POST", "/api/sandboxes", dict.fromkeys(asked))
    assert box["name"] is None and box["limits"]["memory_bytes"] == 2 << 30 and box["expires_in_ms"] is None, box
    ran = d.run(box["sandbox_id"], ["true"], timeout=None, env=None, user=None, stdin=None, stream=None)
    assert ran["exit_code"] == 0, ran
    assert d.must(400, "POST", f"/api/sandboxes/{box['sandbox_id']}/execute", {"command": None})["error"]["message"] == "command: is required"
    d.must(200, "DELETE", f"/api/sandboxes/{box['sandbox_id']}")
    for path in ("/api/run", "/sandbox/execute", "/containers/start"):
        got = d.must(200, "POST", path, {"code": "print(1)", "language": None, "timeout": None, "execution_id": None, "confirm": None})
        assert got["stdout"] == "1\n", got
    for memory in ("256Mi", "0.25Gi", "256MiB"):
        box = d.must(201, "POST", "/api/sandboxes", {"memory_limit": memory, "timeout": "1d", "limits": None})
        assert box["limits"]["memory_bytes"] == 256 << 20 and 86000000 < box["expires_in_ms"] <= 86400000, box
        d.must(200, "DELETE", f"/api/sandboxes/{box['sandbox_id']}")
    for fields, words in (({"memory_limit": "900Gi"}, "memory_limit: 900 GiB is more than callers may ask for here (8 GiB)"),
                          ({"limits": {"memory": "900g"}}, "limits.memory: 900 GiB"), ({"cpu_limit": 9.5}, "cpu_limit: 9.5 is more than"),
                          ({"ports": [3000]}, "needs the network 'bridge'")):
        a = d.ask("POST", "/api/sandboxes", fields)
        assert a.status in (400, 422) and words in a.json["error"]["message"], a


def test_idle_is_told(d):
    box = d.must(201, "POST", "/api/sandboxes", {"idle_timeout": "5m"})
    assert box["expires_in_ms"] is None and box["idle_limit_ms"] == 300000 and 290000 < box["idle_expires_in_ms"] <= 300000, box
    path = f"/api/sandboxes/{box['sandbox_id']}"
    d.must(202, "POST", path + "/execute", {"command": "sleep 60", "background": True})
    assert d.must(200, "GET", path)["idle_expires_in_ms"] is None  # nothing counts while something runs
    d.must(200, "DELETE", path)


def test_memory_of_a_command(d):
    """Each command's own, also when others in its sandbox had more."""
    box = d.make()
    big = d.run(box, ["python3", "-c", "x = bytearray(60 << 20)"])["memory_peak_bytes"]
    assert 60 << 20 <= big < 120 << 20, big
    assert 0 < d.run(box, ["true"])["memory_peak_bytes"] < 30 << 20
    inner = d.run(box, "python3 -c 'x = bytearray(60 << 20)'; true")["memory_peak_bytes"]  # a child that was waited for
    assert 60 << 20 <= inner < 120 << 20, inner
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    got = d.must(200, "POST", "/sandbox/execute", {"code": "x = bytearray(60 << 20)"})
    assert 60 << 20 <= got["memory_peak_bytes"] < 120 << 20, got


def test_front_killed(d):
    """SIGKILL of the front in the middle of a long stream: the client goes on at its cursor and has every byte once."""
    box = d.make()
    size = 50 << 20
    program = ("import hashlib,sys\n"
               "h=hashlib.sha256()\n"
               f"for i in range({size}//65536):\n"
               "    b=(b'%08d'%i)*8192\n"
               "    h.update(b); sys.stdout.buffer.write(b)\n"
               "sys.stderr.write(h.hexdigest())\n")
    r, c = d.begin("POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", program], "stream": True})
    got, cursor, count, errors, exec_id, kills, ended = hashlib.sha256(), 0, 0, b"", None, 0, None
    while ended is None:
        try:
            for e in events_of(r):
                if e["event"] in ("stdout", "stderr"):
                    assert e["cursor"] == cursor, (e["cursor"], cursor)
                    cursor = e["next"]
                    if e["event"] == "stdout":
                        got.update(bytes_of(e))
                        count += len(bytes_of(e))
                    else:
                        errors += bytes_of(e)
                exec_id = e.get("exec_id", exec_id)
                if e["event"] == "exited":
                    ended = e
                assert e["event"] != "error", e
                if kills < 3 and count > (kills + 1) * size // 5:
                    os.kill(d.child("cay-front"), signal.SIGKILL)
                    kills += 1
        except (OSError, ValueError, __import__("http").client.HTTPException):
            pass  # cut in the middle of an event: what was whole counts
        c.close()
        if ended is None:
            path = f"/api/sandboxes/{box}/execs/{exec_id}/output?from={cursor}"

            def back():
                try:
                    answer = d.begin("GET", path)
                except OSError:
                    return None
                return answer if answer[0].status == 200 else (answer[1].close(), None)[1]

            r, c = wait_for("the next front", back)
    assert kills == 3 and ended["exit_code"] == 0, (kills, ended)
    assert count == size and errors.decode() == got.hexdigest(), (count, errors)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_adopted(d):
    """What was answered is there after the front's death: sandboxes, their commands, what these printed meanwhile."""
    boxes = [d.make(name=f"box-{i}") for i in range(3)]
    d.must(200, "POST", f"/api/sandboxes/{boxes[1]}/pause")
    d.must(200, "POST", f"/api/sandboxes/{boxes[2]}/stop")
    back = d.must(202, "POST", f"/api/sandboxes/{boxes[0]}/execute",
                  {"command": "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done", "background": True})
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    states = [d.must(200, "GET", f"/api/sandboxes/{b}")["status"] for b in boxes]
    assert states[0] in ("busy", "ready") and states[1:] == ["paused", "stopped"], states
    r, c = d.begin("GET", f"/api/sandboxes/{boxes[0]}/execs/{back['exec_id']}/output")
    events, out = follow(r)
    c.close()
    assert out == b"1\n2\n3\n4\n5\n6\n7\n8\n" and events[-1]["exit_code"] == 0, (out, events[-1])
    d.must(200, "POST", f"/api/sandboxes/{boxes[1]}/resume")
    assert d.run(boxes[1], ["echo", "alive"])["stdout"] == "alive\n"
    for b in boxes:
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def test_warden_killed(d):
    """Its boxes go with it, each with a cause; the front goes on, and the next warden makes new ones for it."""
    box, paused = d.make(), d.make()
    d.must(200, "POST", f"/api/sandboxes/{paused}/pause")
    warden, front = d.child("cay-warden"), d.child("cay-front")
    os.kill(warden, signal.SIGKILL)

    def lost():
        got = [d.ask("GET", f"/api/sandboxes/{b}") for b in (box, paused)]
        return got if all(a.status == 200 and a.json["status"] == "error" for a in got) else None

    for a in wait_for("the sandboxes' end", lost):
        assert a.json["cause"] == "engine_lost" and a.json["cause_text"], a
    wait_for("another warden", lambda: d.child("cay-warden") != warden)

    def made():
        a = d.ask("POST", "/api/sandboxes", {})
        return a.json["sandbox_id"] if a.status == 201 else None

    new = wait_for("a new sandbox", made)
    assert d.run(new, ["true"])["exit_code"] == 0
    assert d.child("cay-front") == front
    d.start_again(box)
    assert d.run(box, ["true"])["exit_code"] == 0
    for b in (box, paused, new):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def test_restart(d):
    """SIGTERM ends the boxes and keeps the rest; a second daemon of the same folder is refused, one beside it is not."""
    box = d.make(name="keeper", labels={"a": "b"})
    refused = subprocess.run([CAY, "serve", "--data", os.path.join(d.folder, "data"), "--listen", "127.0.0.1:0"],
                             capture_output=True, text=True, timeout=PATIENCE_S)
    assert refused.returncode != 0 and "another cay serve" in refused.stderr, refused
    with Daemon() as beside:
        other = beside.make()
        assert beside.run(other, ["true"])["exit_code"] == 0
        d.must(404, "GET", f"/api/sandboxes/{other}")
        beside.must(200, "DELETE", f"/api/sandboxes/{other}")
    d.stop()
    assert not os.path.exists(d.socket)
    d.start()
    got = d.must(200, "GET", "/api/sandboxes/keeper")
    assert got["sandbox_id"] == box and got["labels"] == {"a": "b"}, got
    assert got["status"] in ("error", "stopped") and got["cause"], got
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert d.run(box, ["true"])["exit_code"] == 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_unprivileged(d):
    """The front has given up what it had."""
    front = d.child("cay-front")
    with open(f"/proc/{front}/status", encoding="utf-8") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    uid = status["Uid"].split()[0]  # the first that no other daemon on this machine has (front_id.h)
    assert uid == "27815" or 0x78002000 <= int(uid) < 0x78002040, uid
    assert status["Uid"].split() == [uid] * 4 and status["Gid"].split() == [uid] * 4, status["Uid"]
    assert status["Groups"].strip() == "" and status["NoNewPrivs"] == "1", status
    for caps in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[caps], 16) == 0, (caps, status[caps])
    assert os.readlink(f"/proc/{front}/root") == os.path.join(d.folder, "data", "state")
    for name in (front, d.process.pid, d.child("cay-warden")):
        with open(f"/proc/{name}/environ", "rb") as f:
            assert b"SANDBOX_TOKEN_SECRET=s" not in f.read(), name
        with open(f"/proc/{name}/cmdline", "rb") as f:
            assert b"secret" not in f.read(), name
    assert os.stat(os.path.join(d.folder, "data")).st_mode & 0o777 == 0o700


def test_limits(_):
    """Limits of the daemon itself, and a secret from the environment."""
    with Daemon("--max-sandboxes", "1", "--rate-limit", "6", "--rate-burst", "25",
                env={"SANDBOX_TOKEN_SECRET": "s" * 40}) as d:
        test_unprivileged(d)
        box = d.make()
        a = d.ask("POST", "/api/sandboxes", {})  # after its wait in the queue
        assert a.status == 429 and a.json["error"]["code"] == "limit" and "max_sandboxes" in a.json["error"]["message"], a
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
        answers = [d.ask("GET", "/api/version") for _ in range(40)]
        assert {a.status for a in answers} == {200, 429}, [a.status for a in answers]
        assert all(int(a.headers["Retry-After"]) >= 1 for a in answers if a.status == 429)
    for flags, word in [(["--listen", "0.0.0.0:0"], "trusted_hosts"), (["--port", "99999"], "port"),
                        (["--data", "/nowhere/deep/er"], "data folder"), (["--no-such-thing", "1"], "no-such-thing")]:
        done = subprocess.run([CAY, "serve", *flags], capture_output=True, text=True, timeout=PATIENCE_S,
                              env={"PATH": os.environ["PATH"]})
        assert done.returncode != 0 and word in done.stderr, (flags, done)


def main():
    with Daemon("--rate-limit", "0", "--allow-origins", "https://good.example", "--log-level", "debug") as d:
        run_tests(globals(), d)


if __name__ == "__main__":
    main()
