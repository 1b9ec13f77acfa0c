#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/agent with both protocols: a scripted local server stands in for the model, everything else is real."""
import contextlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PATIENCE_S, SOURCE, Daemon  # noqa: E402

AGENT = os.path.join(SOURCE, "examples", "agent", "agent.py")
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\ndef test_other():\n    assert add(0, 0) == 0\n",
    "README": "a project\n",
}
# What the model asks for, turn by turn; the last is its word.
SCRIPT = [
    [("list_files", {"path": "."}), ("run", {"command": "python3 -m pytest -q 2>&1 | tail -3; touch /nowhere"})],
    [("read_file", {"path": "missing.txt"}), ("read_file", {"path": "calc.py"}), ("fly", {})],
    [("write_file", {"path": "calc.py", "text": "def add(a, b):\n    return a + b\n"}), ("run", {"command": "rm README; mkdir -p d; echo new >d/new"})],
    "add() subtracted; now it adds.",
]


class Model(http.server.BaseHTTPRequestHandler):
    """Both protocols; remembers what it was told."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        turn = SCRIPT[len(self.server.asked) - 1]
        body = json.dumps(self.openai(turn) if self.path.endswith("/chat/completions") else self.anthropic(turn)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def openai(turn):
        if isinstance(turn, str):
            return {"choices": [{"message": {"role": "assistant", "content": turn}}]}
        calls = [{"id": f"c{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, (n, a) in enumerate(turn)]
        return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]}

    @staticmethod
    def anthropic(turn):
        if isinstance(turn, str):
            return {"role": "assistant", "content": [{"type": "text", "text": turn}]}
        return {"role": "assistant", "content": [{"type": "tool_use", "id": f"c{i}", "name": n, "input": a} for i, (n, a) in enumerate(turn)]}

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def a_model():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def make_project(folder):
    project = os.path.join(folder, "project")
    os.mkdir(project)
    os.chown(project, 1000, 1000)  # a person's, not root's: what root owns, a sandbox's user cannot overwrite
    for name, text in FILES.items():
        with open(os.path.join(project, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chown(os.path.join(project, name), 1000, 1000)
    return project


def run(project, env, *flags):
    done = subprocess.run(["python3", "-B", AGENT, *flags, project, "make the tests pass"], env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE_S * 5)
    assert done.returncode == 0, done
    return done.stdout


def check_words(out):
    for text in ("· run python3 -m pytest", "add() subtracted; now it adds.", "tests: 2 passed, 0 failed", "-    return a - b", "+    return a + b",
                 "+++ b/d/new", "--- a/README"):
        assert text in out, f"{text!r} is not in:\n{out}"


def check_told(asked):
    told = json.dumps(asked[-1])
    for text in ("test_calc.py", "1 failed, 1 passed", "Permission denied", "error: ", "there is no tool 'fly'", "return a - b"):
        assert text in told, f"the model was not told {text!r}: {told[:3000]}"


def nothing_is_left(d):
    assert d.must(200, "GET", "/api/sandboxes", token=False, unix=True)["sandboxes"] == []


def by_socket(d, project):
    """OpenAI's protocol, mapped folder; nobody to ask, so nothing is applied."""
    with a_model() as (server, url):
        out = run(project, {"CAY_SOCKET": d.socket, "OPENAI_BASE_URL": url + "/v1"})
        check_words(out)
        check_told(server.asked)
    assert "not applied" in out, out
    assert {name: read(project, name) for name in os.listdir(project)} == FILES, os.listdir(project)
    nothing_is_left(d)


def by_tcp(d, project):
    """Anthropic's protocol, copied folder, applied."""
    with a_model() as (server, url):
        out = run(project, {"CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_TOKEN": d.token, "ANTHROPIC_BASE_URL": url}, "--yes")
        check_words(out)
        check_told(server.asked)
    assert "applied: 1 changed, 1 added, 1 removed" in out, out
    assert "return a + b" in read(project, "calc.py") and read(project, "d/new") == "new\n" and not os.path.exists(os.path.join(project, "README"))
    nothing_is_left(d)


def main():
    with tempfile.TemporaryDirectory(prefix="cay-agent-") as folder, Daemon() as d:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
            os.environ.pop(name, None)
        project = make_project(folder)
        by_socket(d, project)
        by_tcp(d, project)
        shutil.rmtree(project)
        done = subprocess.run(["python3", "-B", AGENT, folder, "x"], env={**os.environ, "CAY_SOCKET": d.socket}, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        assert done.returncode == 1 and "which model?" in done.stderr, done


if __name__ == "__main__":
    main()
