# SPDX-License-Identifier: Apache-2.0
"""MCP's messages over a running daemon, and what the tests of it share: test_mcp.py and test_mcp_tools.py."""
import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

from daemon import PATIENCE_S, Daemon, wait_for

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


def start_lines(words, **more):
    """A program that is told and tells lines. Nothing of them is read ahead: what there is to read, select sees."""
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **more)


def talk(process, message):
    process.stdin.write((json.dumps(message) + "\n").encode())

    def read():
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
        assert ready, "no answer"
        return json.loads(process.stdout.readline())

    return hear(read)


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


REGISTRY = "containers:\n  careful:\n    description: asks first\n    host: true\n    security:\n      needs_confirm: true\n\n"


def run(tests, leave=None):
    """Those that the command line names, or all, on one daemon. leave: what is under way when it stops."""
    chosen = [t for t in tests if not sys.argv[1:] or t.__name__ in sys.argv[1:] or t.__name__[5:] in sys.argv[1:]]
    os.umask(0o022)  # others look into what is made here
    folder = tempfile.mkdtemp(prefix="cay-mcp-registry-")
    os.chmod(folder, 0o755)
    try:
        os.mkdir(os.path.join(folder, "careful"))
        with open(os.path.join(folder, "registry.yaml"), "w", encoding="utf-8") as f:
            f.write(REGISTRY)
        with open(os.path.join(folder, "careful", "SYSTEM.md"), "w", encoding="utf-8") as f:
            f.write("Be careful in here.\n")
        if not chosen:
            return
        kept = []
        with Daemon("--registry", os.path.join(folder, "registry.yaml"), "--rate-limit", "100000", "--max-sandboxes", "200") as d:
            d.registry = folder
            for t in chosen:
                t(d)
                wait_for("what its sessions made to go", lambda: not boxes(d))
                print(f"ok {t.__name__}", flush=True)
            kept = leave(d) if leave else []
        del kept
    finally:
        shutil.rmtree(folder)
