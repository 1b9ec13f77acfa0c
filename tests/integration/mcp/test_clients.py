#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other people's MCP clients against a daemon: the stock client over its transports, the inspector's command line, the conformance
tool. test_clients.py [NAME…] runs some. Without npm or its packages: 77, skipped."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "serve"))
from daemon import BUILD, CAY, Daemon, wait_for  # noqa: E402

CLIENTS = os.path.join(BUILD, "npm", "mcp")  # where scripts/bootstrap puts them
NODE_S = 240

# Scenarios of the conformance tool that need no canned tools: all of them hold for any server. The others name tools, resources and
# prompts of a fixture.
CONFORMANCE = ["server-initialize", "ping", "logging-set-level", "tools-list", "resources-list", "prompts-list", "completion-complete",
               "dns-rebinding-protection", "server-sse-multiple-streams"]


def fetch():
    try:
        done = subprocess.run([os.path.join(HERE, "..", "..", "..", "scripts", "fetch_npm"), HERE, CLIENTS], timeout=NODE_S)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != 0 or not shutil.which("node"):
        print("skipped: node or the packages of package-lock.json are not there")
        sys.exit(77)
    for name in ("client.mjs", "old_node.mjs"):
        shutil.copy(os.path.join(HERE, name), CLIENTS)


def node(d, *words, env=None):
    more = {"CAY": CAY, "CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_DATA": os.path.join(d.folder, "data"), "CAY_TOKEN": d.token,
            "NO_COLOR": "1", "HOME": CLIENTS}
    return subprocess.run(["node", *words], cwd=CLIENTS, env={**os.environ, **more, **(env or {})}, capture_output=True, text=True,
                          timeout=NODE_S)


def left(d):
    return d.must(200, "GET", "/api/sandboxes")["sandboxes"]


def stock(d, transport):
    done = node(d, "client.mjs", transport)
    assert done.returncode == 0 and f"ok {transport}" in done.stdout, done.stdout + done.stderr
    wait_for("what the client made to go", lambda: not left(d))


def test_stdio(d):
    stock(d, "stdio")


def test_http(d):
    stock(d, "http")


def test_ws(d):
    stock(d, "ws")


def test_inspector(d):
    program = os.path.join(CLIENTS, "node_modules", "@modelcontextprotocol", "inspector")
    with open(os.path.join(program, "package.json"), encoding="utf-8") as f:
        main = os.path.join(program, next(v for k, v in json.load(f)["bin"].items()))

    def inspect(*words):
        done = node(d, main, "--cli", *words)
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
        return json.loads(done.stdout[done.stdout.index("{"):])

    url = [f"http://127.0.0.1:{d.port}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {d.token}"]
    assert any(t["name"] == "run_code" for t in inspect(*url, "--method", "tools/list")["tools"])
    r = inspect(*url, "--method", "tools/call", "--tool-name", "run_command", "--tool-arg", "command=echo inspected")
    assert r["structuredContent"]["stdout"] == "inspected\n", r
    assert inspect(*url, "--method", "prompts/list")["prompts"]
    assert inspect(*url, "--method", "resources/templates/list")["resourceTemplates"]
    r = inspect(CAY, "mcp", "--data", os.path.join(d.folder, "data"), "--method", "tools/list")
    assert any(t["name"] == "run_code" for t in r["tools"])


class Proxy:
    """A port before the daemon's that adds the token to every request: the conformance tool has no way to give one."""

    def __init__(self, d):
        self.d = d
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.d.port))
                threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()

    def pump(self, source, sink, is_request):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if is_request:
                    piece = piece.replace(b" HTTP/1.1\r\n", b" HTTP/1.1\r\nAuthorization: Bearer " + self.d.token.encode() + b"\r\n", 1)
                sink.sendall(piece)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()


def test_conformance(d):
    program = os.path.join(CLIENTS, "node_modules", "@modelcontextprotocol", "conformance")
    with open(os.path.join(program, "package.json"), encoding="utf-8") as f:
        main_file = os.path.join(program, next(v for k, v in json.load(f)["bin"].items()))
    proxy = Proxy(d)
    try:
        for scenario in CONFORMANCE:
            done = node(d, "--import", "./old_node.mjs", main_file, "server", "--url", f"http://127.0.0.1:{proxy.port}/mcp",
                        "--scenario", scenario)
            assert done.returncode == 0, (scenario, (done.stdout + done.stderr)[-3000:])
            print(f"ok conformance {scenario}", flush=True)
    finally:
        proxy.close()


TESTS = [test_stdio, test_http, test_ws, test_inspector, test_conformance]


def main():
    fetch()
    chosen = [t for t in TESTS if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]]
    folder = tempfile.mkdtemp(prefix="cay-mcp-registry-")
    os.chmod(folder, 0o755)
    try:
        with open(os.path.join(folder, "registry.yaml"), "w", encoding="utf-8") as f:
            f.write("containers:\n  careful:\n    description: asks first\n    host: true\n    security:\n      needs_confirm: true\n")
        with Daemon("--registry", os.path.join(folder, "registry.yaml"), "--rate-limit", "100000") as d:
            for t in chosen:
                t(d)
                print(f"ok {t.__name__}", flush=True)
    finally:
        shutil.rmtree(folder)


main()
