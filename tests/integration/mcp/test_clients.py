#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other people's MCP clients against a daemon: the stock client over its transports, the inspector's command line, the conformance
tool. test_clients.py [NAME…] runs some. Without npm or its packages: 77, skipped."""
import base64
import concurrent.futures
import contextlib
import glob
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "serve"))
from daemon import BUILD, CAY, Daemon, wait_for  # noqa: E402

CLIENTS = os.path.join(os.environ["CAY_SOURCE_DIR"], "build", "npm", "mcp")  # where scripts/bootstrap puts them
CONFORMANCE = os.path.join(CLIENTS, "node_modules", "@modelcontextprotocol", "conformance")
NODE_S = 240
AT_ONCE = 3

# Scenarios of the conformance tool that want canned tools, for what no tool of ours does: audio, embedded resources, sampling, roots,
# questions of a given name. They run on a daemon with fixtures; all others on one without.
CANNED = {
    "2025-11-25": ["tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-sampling",
                   "elicitation-sep1034-defaults", "elicitation-sep1330-enums", "prompts-get-embedded-resource",
                   "prompts-get-with-image"],
    "2026-07-28": ["server-stateless", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
                   "prompts-get-embedded-resource", "prompts-get-with-image", "input-required-result-basic-elicitation",
                   "input-required-result-basic-sampling", "input-required-result-basic-list-roots",
                   "input-required-result-multiple-input-requests", "input-required-result-multi-round",
                   "input-required-result-non-tool-request", "input-required-result-capability-check",
                   "input-required-result-ignore-extra-params"],
}
# What the tool runs besides and no revision requires: the tasks extension, and a tool with a schema of given words, on fixtures …
CANNED_MORE = {
    "2025-11-25": ["json-schema-2020-12"],
    "2026-07-28": ["tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
                   "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
                   "json-schema-2020-12"],
}
# … these without …
MORE = {"2025-11-25": ["server-session-lifecycle"], "2026-07-28": ["http-header-validation"]}
# … and these not at all: two check nothing here, one wants header fields for gateways.
LEFT_OUT = {"2025-11-25": ["server-sse-polling"], "2026-07-28": ["tasks-status-notifications", "http-custom-header-server-validation"]}
# Of all that holds without fixtures, what calls nothing by a name of the tool's own: it holds without the proxy's translation too.
AS_IS = {
    "2025-11-25": ["server-initialize", "logging-set-level", "ping", "completion-complete", "tools-list", "server-sse-multiple-streams",
                   "resources-list", "resources-subscribe", "resources-unsubscribe", "prompts-list", "dns-rebinding-protection",
                   "server-session-lifecycle"],
    "2026-07-28": ["completion-complete", "tools-list", "server-sse-multiple-streams", "resources-list", "sep-2164-resource-not-found",
                   "prompts-list", "dns-rebinding-protection", "caching", "input-required-result-unsupported-methods",
                   "http-header-validation"],
}

# Three lines, each when the one before was told; HEARD is a file's name, of each call's own.
PACED = "for i in 1 2 3; do echo $i; until [ -e HEARD.$i ]; do sleep 0.05; done; done"
# What the tool asks for by a name of its own becomes a call of a real tool, resource or prompt. Answers are as the daemon gives them.
ASK_FIRST = ("sandbox_create", {"template": "careful"})
TOOLS = {
    "test_simple_text": ("run_command", {"command": "echo simple text"}),
    "test_image_content": ("read_file", {"sandbox_id": "conformance", "path": "/tmp/image.png"}),
    "test_tool_with_logging": ("run_command", {"sandbox_id": "conformance", "command": PACED}),
    "test_tool_with_progress": ("run_command", {"sandbox_id": "conformance", "command": PACED}),
    "test_logging_tool": ("run_command", {"command": "echo logged", "sandbox_id": "conformance"}),
    "test_error_handling": ("run_command", {"command": "true", "sandbox_id": "nosuch"}),
    "test_elicitation": ASK_FIRST,
    "test_streaming_elicitation": ASK_FIRST,
    "test_input_required_result_elicitation": ASK_FIRST,
    "test_input_required_result_request_state": ASK_FIRST,
    "test_input_required_result_tampered_state": ASK_FIRST,
}
RESOURCES = {
    "test://static-text": "sandbox://conformance/files/tmp/123",
    "test://static-binary": "sandbox://conformance/files/tmp/image.png",
    "test://template/123/data": "sandbox://conformance/files/tmp/123",
}
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def fetch():
    try:
        done = subprocess.run([os.path.join(HERE, "..", "..", "..", "scripts", "fetch_npm"), HERE, CLIENTS], timeout=NODE_S)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != 0 or not shutil.which("node"):
        print("skipped: node or the packages of package-lock.json are not there")
        sys.exit(77)
    for name in ("client.mjs", "old_node.mjs", "patience.mjs"):
        shutil.copy(os.path.join(HERE, name), CLIENTS)


def node(d, *words, env=None):
    more = {"CAY": CAY, "CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_DATA": os.path.join(d.folder, "data"), "CAY_TOKEN": d.token,
            "NO_COLOR": "1", "HOME": CLIENTS}
    return subprocess.run(["node", *words], cwd=CLIENTS, env={**os.environ, **more, **(env or {})}, capture_output=True, text=True,
                          timeout=NODE_S)


def left(d):
    return d.must(200, "GET", "/api/sandboxes")["sandboxes"]


def test_stock(d):
    """The stock client over three transports at once."""
    def stock(transport):
        done = node(d, "client.mjs", transport)
        assert done.returncode == 0 and f"ok {transport}" in done.stdout, done.stdout + done.stderr

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(stock, ("stdio", "http", "ws")))
    wait_for("what the clients made to go", lambda: not left(d))


def test_inspector(d):
    program = os.path.join(CLIENTS, "node_modules", "@modelcontextprotocol", "inspector")
    with open(os.path.join(program, "package.json"), encoding="utf-8") as f:
        main = os.path.join(program, next(v for k, v in json.load(f)["bin"].items()))

    def inspect(*words):
        done = node(d, main, "--cli", *words)
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
        return json.loads(done.stdout[done.stdout.index("{"):])

    url = [f"http://127.0.0.1:{d.port}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {d.token}"]
    lines = (CAY, "mcp", "--data", os.path.join(d.folder, "data"))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        tools, own_tools, ran, prompts, templates = pool.map(lambda words: inspect(*words), (
            (*url, "--method", "tools/list"), (*lines, "--method", "tools/list"),
            (*url, "--method", "tools/call", "--tool-name", "run_command", "--tool-arg", "command=echo inspected"),
            (*url, "--method", "prompts/list"), (*url, "--method", "resources/templates/list")))
    for found in (tools, own_tools):
        assert any(t["name"] == "run_code" for t in found["tools"])
    assert ran["structuredContent"]["stdout"] == "inspected\n", ran
    assert prompts["prompts"] and templates["resourceTemplates"]


def translate(message, is_canned):
    """A request of the conformance tool with the names of what is there; the name that its head has to carry, or None."""
    params = message.get("params", {}) if isinstance(message, dict) else {}
    if message.get("method") == "tools/call" and params.get("name") in TOOLS:
        if is_canned and params["name"] == "test_input_required_result_elicitation":
            return None
        params["name"], params["arguments"] = TOOLS[params["name"]]
        return params["name"]
    if message.get("method") == "resources/read" and params.get("uri") in RESOURCES:
        params["uri"] = RESOURCES[params["uri"]]
        return params["uri"]
    if message.get("method") == "prompts/get" and params.get("name") in ("test_simple_prompt", "test_prompt_with_arguments"):
        params["name"] = "sandbox_guide"
        params["arguments"] = {"task": " ".join(params.get("arguments", {}).values())}
        return params["name"]
    return None


class Proxy:
    """A port before the daemon's that adds the token to every request, which the conformance tool has no way to give, and translates
    (kind: "names"; "canned": but for what fixtures have; "nothing")."""

    def __init__(self, d, kind):
        self.d, self.kind, self.calls = d, kind, itertools.count()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        """One request; the answer ends with the connection."""
        with contextlib.suppress(OSError), client, client.makefile("rb") as source:
            lines = list(iter(lambda: source.readline().rstrip(b"\r\n"), b""))
            if not lines:
                return
            fields = [line.split(b":", 1) for line in lines[1:]]
            length = next((int(v) for k, v in fields if k.lower() == b"content-length"), 0)
            body = source.read(length)
            name, heard = None, f"/tmp/{self.kind}.{next(self.calls)}"
            if body.startswith(b"{") and self.kind != "nothing":
                message = json.loads(body)
                name = translate(message, self.kind == "canned")
                body = json.dumps(message).replace("HEARD", heard).encode()
            kept = [k + b":" + v for k, v in fields if k.lower() not in (b"connection", b"content-length", b"mcp-name") or
                    (k.lower() == b"mcp-name" and not name)]
            if name and any(k.lower() == b"mcp-name" for k, _ in fields):
                kept.append(b"Mcp-Name: " + name.encode())
            head = [lines[0], *kept, b"Authorization: Bearer " + self.d.token.encode(), b"Connection: close",
                    b"Content-Length: %d" % len(body), b"", b""]
            with socket.create_connection(("127.0.0.1", self.d.port)) as server:
                server.sendall(b"\r\n".join(head) + body)
                watching = threading.Thread(target=self.watch, args=(client, server), daemon=True)
                watching.start()
                try:
                    self.relay(server, client, heard if PACED.replace("HEARD", heard).encode() in body else None)
                finally:
                    # After a stop of ours recv and accept begin again with their descriptor's number: nothing is closed below a thread.
                    with contextlib.suppress(OSError):
                        client.shutdown(socket.SHUT_RDWR)
                    watching.join()

    def relay(self, server, client, heard):
        """The answer; a command that waits for it is shown each line that was told of."""
        told, lines = b"", 0
        while piece := server.recv(65536):
            client.sendall(piece)
            told += piece
            while heard and lines < len(re.findall(rb"notifications/(?:message|progress)\"", told)):
                lines += 1
                self.d.must(200, "PUT", f"/api/sandboxes/conformance/files?path={heard}.{lines}", b"")

    def watch(self, client, server):
        """The client's leaving is told."""
        with contextlib.suppress(OSError):
            while client.recv(65536):
                pass
            server.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.accepting.join()
        self.listener.close()


def required(program, revision):
    """The scenarios that the tool says a revision requires of a server."""
    with open(os.path.join(program, "requirements", revision + ".yaml"), encoding="utf-8") as f:
        block = re.search(r"^server:\n((?:  - \S+\n)+)", f.read(), re.M)[1]
    return re.findall(r"- (\S+)", block)


def problems(folder):
    """What the tool has noted of checks that did not hold."""
    found = []
    for path in glob.glob(os.path.join(folder, "**", "checks.json"), recursive=True):
        with open(path, encoding="utf-8") as f:
            found += [(c["id"], c.get("errorMessage")) for c in json.load(f) if c["status"] == "FAILURE"]
    return found


def conformance(d, kind, wanted):
    """Everything that the tool has for each revision, one process for each. Those that are wanted ({revision: names}) have to pass, and to
    check something."""
    with open(os.path.join(CONFORMANCE, "package.json"), encoding="utf-8") as f:
        main_file = os.path.join(CONFORMANCE, next(v for k, v in json.load(f)["bin"].items()))
    proxy = Proxy(d, kind)

    def run(revision):
        with tempfile.TemporaryDirectory(prefix="cay-mcp-checks-") as folder:
            done = node(d, "--import", "./old_node.mjs", "--import", "./patience.mjs", main_file, "server", "--url",
                        f"http://127.0.0.1:{proxy.port}/mcp", "--requirements", revision, "--output-dir", folder)
            why = problems(folder)
        summary = done.stdout[done.stdout.index("=== SUMMARY ==="):]
        found = {name: (int(good), int(bad)) for name, good, bad in re.findall(r"^. (\S+): ([0-9]+) passed, ([0-9]+) failed$", summary, re.M)}
        known = {*required(CONFORMANCE, revision), *CANNED_MORE[revision], *MORE[revision], *LEFT_OUT[revision]}
        assert set(found) == known, set(found) ^ known
        failed = {n: found[n] for n in wanted[revision] if found[n][0] == 0 or found[n][1] > 0}
        assert not failed, (revision, failed, why, done.stderr[-2000:])

    try:
        with concurrent.futures.ThreadPoolExecutor(len(wanted)) as pool:
            list(pool.map(run, wanted))
    finally:
        proxy.close()
    print(f"ok {sum(len(names) for names in wanted.values())} scenarios", flush=True)


def prepare(d):
    d.must(201, "POST", "/api/sandboxes", {"name": "conformance"})
    for name, content in (("123", b"data of 123"), ("image.png", PNG)):
        d.must(200, "PUT", f"/api/sandboxes/conformance/files?path=/tmp/{name}", content)


def test_conformance(d):
    """What two revisions require, with no fixture in the daemon."""
    wanted = {}
    for revision, canned in CANNED.items():
        all_ = required(CONFORMANCE, revision)
        assert set(canned) <= set(all_) and len(all_) >= 30, all_
        wanted[revision] = [s for s in all_ + MORE[revision] if s not in canned]
    assert sum(len(w) for w in wanted.values()) > sum(len(c) for c in CANNED.values()), "most of them hold without fixtures"
    prepare(d)
    try:
        conformance(d, "nothing", AS_IS)
        conformance(d, "names", wanted)
    finally:
        d.must(200, "DELETE", "/api/sandboxes/conformance")


def test_canned(d):
    """Scenarios that want canned tools, on a daemon that has them."""
    del d
    with daemon(env={"CAY_TEST_MCP_FIXTURES": "1"}) as d:
        prepare(d)
        conformance(d, "canned", {r: CANNED[r] + CANNED_MORE[r] for r in CANNED})
        d.must(200, "DELETE", "/api/sandboxes/conformance")


TESTS = [test_stock, test_inspector, test_conformance, test_canned]
# The queue is as long as without a registry; nobody has to be quick.
REGISTRY = "settings: {queue_timeout: 200s}\ncontainers:\n  careful:\n    description: asks first\n    host: true\n    security:\n      needs_confirm: true\n"


@contextlib.contextmanager
def daemon(env=None):
    folder = tempfile.mkdtemp(prefix="cay-mcp-registry-")
    os.chmod(folder, 0o755)
    try:
        with open(os.path.join(folder, "registry.yaml"), "w", encoding="utf-8") as f:
            f.write(REGISTRY)
        with Daemon("--registry", os.path.join(folder, "registry.yaml"), "--rate-limit", "100000", env=env) as d:
            yield d
    finally:
        shutil.rmtree(folder)


def main():
    fetch()
    chosen = [t for t in TESTS if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]]
    with daemon() as d:
        for t in chosen:
            t(d)
            print(f"ok {t.__name__}", flush=True)


main()
