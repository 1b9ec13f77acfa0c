#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser (Debian's chromium, by playwright-core), against a real daemon. test_page.py [NAME…] runs some.

The steps are in steps_*.mjs, one function each; steps.mjs runs them. They ask this program for what a page cannot do (kill the front, make
sandboxes) by a line of JSON each, and get one back. Pictures of every view go to CAY_PAGE_SHOTS; those of the documentation are made by the step "pictures", with
the built-in templates."""
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(SOURCE, "tests/integration/serve"))
from daemon import BUILD, CAY, PATIENCE_S, Daemon, wait_for  # noqa: E402

REGISTRY = """containers:
  python:
    description: Python as the host has it
    host: true
    triggers: [python, run this]
    resources: {memory: 256m}
  careful:
    description: Asks before it is used
    host: true
    security: {needs_confirm: true}
  online:
    description: May reach what a list names
    host: true
    resources: {memory: 256m}
    security: {network: {allow: [a.example, "*.b.example:443", "*.c.example", "192.0.2.77:80"]}}
"""
AT_ONCE = 4


class Helper:
    """What the steps may ask for, each in a thread of its own."""

    def __init__(self, daemon):
        self.d = daemon
        self.tokens = {}
        self.agents = []
        self.lock = threading.Lock()

    def token(self, owner):
        with self.lock:
            if owner not in self.tokens:
                self.tokens[owner] = self.d.make_token("--owner", owner)
            return self.tokens[owner]

    def login(self, owner, scope="exec"):
        out = subprocess.run([CAY, "token", "--login", "--data", os.path.join(self.d.folder, "data"), "--owner", owner, "--scope", scope],
                             check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout
        return next(w for w in out.split() if "#login=" in w)

    def begin_agent(self, owner, name, code):
        """An agent on this machine, paired; its fingerprint."""
        folder = tempfile.mkdtemp(prefix="cay-agent-")
        with open(os.path.join(folder, "log"), "wb") as log:
            agent = subprocess.Popen([CAY, "agent", "--connect", f"ws://127.0.0.1:{self.d.port}/agent", "--name", name, "--state", folder],
                                     stdin=subprocess.PIPE, stdout=log, stderr=log)
        agent.stdin.write((code + "\n").encode())
        agent.stdin.close()
        self.agents.append((agent, folder))

        def said():
            with open(log.name, encoding="utf-8") as f:
                return f.read().partition("this machine's fingerprint is ")[2].strip()
        return wait_for("the agent", said)

    def end_agents(self, owner):
        for agent, folder in self.agents:
            agent.send_signal(signal.SIGTERM)
            agent.wait(PATIENCE_S)
            shutil.rmtree(folder)
        self.agents = []

    def kill_front(self, owner):
        pid = self.d.child("cay-front")
        os.kill(pid, signal.SIGKILL)
        wait_for("another front", lambda: self.d.child("cay-front") != pid)

    def patiently(self, owner, method, path, body=None):
        """Many at once are more than the daemon takes from one caller in a minute: it says so, and this waits."""
        return wait_for(path, lambda: next((a for a in [self.d.ask(method, path, body, token=self.token(owner))] if a.status != 429), None))

    def make(self, owner, fields, count=1):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(lambda _: self.patiently(owner, "POST", "/api/sandboxes", fields), range(count)))
        assert all(a.status == 201 for a in answers), [a for a in answers if a.status != 201][0]
        return [a.json["sandbox_id"] for a in answers]

    def start(self, owner, box, command):
        self.d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": command, "background": True, "timeout": 300}, token=self.token(owner))

    def run(self, owner, box, command):
        return self.d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": command}, token=self.token(owner))

    def tty(self, owner, box, command):
        """A command in a terminal, to its end."""
        x = self.d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["sh", "-c", command], "tty": True, "background": True, "rows": 20, "cols": 80},
                        token=self.token(owner))["exec_id"]
        wait_for("its end", lambda: self.d.must(200, "GET", f"/api/sandboxes/{box}/execs/{x}", token=self.token(owner))["status"] == "ended")

    def boxes(self, owner):
        return [b["sandbox_id"] for b in self.d.must(200, "GET", "/api/sandboxes", token=self.token(owner))["sandboxes"]]

    def act(self, owner, box, action, fields):
        return self.d.must(200, "POST", f"/api/sandboxes/{box}/browser/{action}", fields, token=self.token(owner))

    def refused(self, owner, box, action, fields):
        return self.d.ask("POST", f"/api/sandboxes/{box}/browser/{action}", fields, token=self.token(owner)).status

    def live_link(self, owner, box, view_only):
        return self.d.must(201, "POST", f"/api/sandboxes/{box}/browser/live/links", {"view_only": view_only}, token=self.token(owner))

    def post(self, owner, path):
        self.d.must(200, "POST", path, {}, token=self.token(owner))

    def destroy(self, owner, boxes):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(lambda b: self.patiently(owner, "DELETE", f"/api/sandboxes/{b}"), boxes))
        assert all(a.status == 200 for a in answers), answers


def answer(helper, steps, lock, line):
    number, what, args = json.loads(line)
    try:
        said = [number, getattr(helper, what)(**args), None]
    except Exception as e:  # pylint: disable=broad-except  # told to the step that asked, which fails
        said = [number, None, f"{what}: {e!r}"]
    with lock:
        steps.stdin.write(json.dumps(said) + "\n")
        steps.stdin.flush()


def serve_steps(d, names, kind=Helper):
    env = dict(os.environ, CAY_PAGE_BASE=f"http://127.0.0.1:{d.port}",
               CAY_PAGE_NPM=os.environ.get("CAY_PAGE_NPM") or os.path.join(SOURCE, "build/npm/page"),
               CAY_PAGE_SHOTS=os.environ.get("CAY_PAGE_SHOTS") or os.path.join(BUILD, "page_shots"))
    helper, lock = kind(d), threading.Lock()
    # A home of its own: the browser leaves nothing behind.
    with tempfile.TemporaryDirectory(prefix="cay-page-") as home, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        env.update(HOME=home, TMPDIR=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
        steps = subprocess.Popen(["node", os.path.join(HERE, "steps.mjs"), *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True, env=env)
        try:
            for line in steps.stdout:
                if line.startswith("ask "):
                    pool.submit(answer, helper, steps, lock, line[4:])
                else:
                    print(line, end="", flush=True)
            status = steps.wait(PATIENCE_S)
        finally:
            if steps.poll() is None:
                steps.kill()
                steps.wait(PATIENCE_S)
    assert status == 0, f"the steps ended with {status}"


def main():
    with tempfile.TemporaryDirectory(prefix="cay-registry-") as folder:
        os.chmod(folder, 0o755)
        registry = os.path.join(folder, "registry.yaml")
        with open(registry, "w", encoding="utf-8") as f:
            f.write(REGISTRY)
        flags = [] if sys.argv[1:] == ["pictures"] else ["--registry", registry]
        with Daemon(*flags, "--max-sandboxes", "300", "--rate-burst", "600") as d:
            serve_steps(d, sys.argv[1:])


if __name__ == "__main__":
    main()
