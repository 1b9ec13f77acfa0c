#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser (Debian's chromium, by playwright-core), against a real daemon. test_page.py [NAME…] runs some.

The steps are in steps.mjs, one function each; they ask this program for what a page cannot do (kill the front, make sandboxes) by a
line of JSON each, and get one back. Screenshots go to CAY_PAGE_SHOTS."""
import json
import os
import signal
import subprocess
import sys
import tempfile

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
"""


class Helper:
    """What the steps may ask for."""

    def __init__(self, daemon):
        self.d = daemon

    def login(self, owner="default", scope="exec"):
        out = subprocess.run([CAY, "token", "--login", "--data", os.path.join(self.d.folder, "data"), "--owner", owner, "--scope", scope],
                             check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout
        return next(w for w in out.split() if "#login=" in w)

    def token(self, owner="default"):
        return self.d.make_token("--owner", owner)

    def kill_front(self):
        pid = self.d.child("cay-front")
        os.kill(pid, signal.SIGKILL)
        wait_for("another front", lambda: self.d.child("cay-front") != pid)

    def make(self, count=1, **fields):
        return [self.make_one(fields) for _ in range(count)]

    def make_one(self, fields):
        """Many at once are more than the daemon takes from one caller in a minute: it says so, and this waits."""
        answer = wait_for("a sandbox", lambda: next((a for a in [self.d.ask("POST", "/api/sandboxes", fields)] if a.status != 429), None))
        assert answer.status == 201, answer
        return answer.json["sandbox_id"]

    def start(self, box, command):
        self.d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": command, "background": True, "timeout": 60})

    def run(self, box, command):
        return self.d.run(box, command)

    def destroy(self, boxes):
        for box in boxes:
            gone = wait_for("its end", lambda: next((a for a in [self.d.ask("DELETE", f"/api/sandboxes/{box}")] if a.status != 429), None))  # noqa: B023
            assert gone.status == 200, gone


def serve_steps(d, names):
    env = dict(os.environ, CAY_PAGE_BASE=f"http://127.0.0.1:{d.port}",
               CAY_PAGE_NPM=os.environ.get("CAY_PAGE_NPM") or os.path.join(SOURCE, "build/npm/page"),
               CAY_PAGE_SHOTS=os.environ.get("CAY_PAGE_SHOTS") or os.path.join(BUILD, "page_shots"))
    helper = Helper(d)
    # A home of its own: the browser leaves nothing behind.
    with tempfile.TemporaryDirectory(prefix="cay-page-") as home:
        env.update(HOME=home, TMPDIR=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
        steps = subprocess.Popen(["node", os.path.join(HERE, "steps.mjs"), *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True, env=env)
        try:
            for line in steps.stdout:
                if not line.startswith("ask "):
                    print(line, end="", flush=True)
                    continue
                what, args = json.loads(line[4:])
                answer = getattr(helper, what)(**args)
                steps.stdin.write(json.dumps(answer) + "\n")
                steps.stdin.flush()
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
        with Daemon("--registry", registry, "--max-sandboxes", "300") as d:
            serve_steps(d, sys.argv[1:])


if __name__ == "__main__":
    main()
