#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cay run` with a network: what its rules name is reached, all else is refused and told. Servers listen on an address of this
test's own network namespace; nothing leaves it."""
import ctypes
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

BUILD = os.environ["CAY_BUILD_DIR"]
CAY = os.path.join(BUILD, "cay")
HOST = "203.0.113.9"
PATIENCE_S = 120
CLONE_NEWNET = 0x40000000

FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode())
    except OSError as e:
        print(type(getattr(e, "reason", e)).__name__)
"""


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"from the host"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def own_network():
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        print("needs root, for a network of its own")
        sys.exit(77)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{HOST}/32", "dev", "lo"], check=True)


def run(*words, status=0, user=None):
    before = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"] if user else []
    done = subprocess.run([*before, CAY, "run", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          cwd="/", env={"PATH": os.environ["PATH"]})
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done


def python():
    return shutil.which("python3", path="/usr/bin:/bin") or ""


class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer((HOST, 0), Answer)
        cls.port = cls.server.server_address[1]
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def fetch(self, *words, urls, **more):
        return run("--memory", "128m", *words, "--", python(), "-c", FETCH, *urls, **more)

    def test_what_is_allowed_is_reached(self):
        got = self.fetch("--allow", f"{HOST}:{self.port}", urls=[f"http://{HOST}:{self.port}/"])
        self.assertEqual(got.stdout, "from the host\n")
        self.assertEqual(got.stderr, "")

    def test_what_is_not_is_refused_and_told(self):
        got = self.fetch("--allow", f"{HOST}:1", urls=[f"http://{HOST}:{self.port}/"])
        self.assertNotIn("from the host", got.stdout)
        self.assertIn(f"network: blocked {HOST}:{self.port} (1 time); allow it with --allow {HOST}:{self.port}", got.stderr)

    def test_the_hosts_own_addresses_are_not_public(self):
        got = self.fetch("--network", "bridge", urls=[f"http://{HOST}:{self.port}/"])
        self.assertNotIn("from the host", got.stdout)
        got = self.fetch("--network", "bridge", "--allow", f"{HOST}:{self.port}", "--deny", f"{HOST}:{self.port}",
                         urls=[f"http://{HOST}:{self.port}/"])
        self.assertNotIn("from the host", got.stdout)

    def test_names_that_are_not_allowed_do_not_exist(self):
        got = run("--json", "--allow", "example.org", "--", "sh", "-c", "getent hosts evil.example; getent hosts example.org")
        told = json.loads(got.stdout)
        self.assertIn({"name": "evil.example", "port": None}, [{k: b[k] for k in ("name", "port")} for b in told["network_blocked"]])
        self.assertIn("example.org", told["stdout"])
        self.assertNotIn("evil", told["stdout"])

    def test_addresses_beside_names_are_refused_by_the_kernel(self):
        got = self.fetch("--allow", "example.org", urls=[f"http://{HOST}:{self.port}/"])
        self.assertEqual(got.stdout, "ConnectionRefusedError\n")

    def test_without_rules_there_is_no_network(self):
        got = self.fetch(urls=[f"http://{HOST}:{self.port}/"])
        self.assertEqual(got.stdout, "OSError\n")

    def test_ordinary_users_have_it_too(self):
        got = self.fetch("--allow-missing", "all", "--allow", f"{HOST}:{self.port}", urls=[f"http://{HOST}:{self.port}/"],
                         user=4321)
        self.assertEqual(got.stdout, "from the host\n")

    def test_mistakes(self):
        for words, text in ((("--network", "open"), "--network: 'open'"),
                            (("--network", "none", "--allow", "a.example"), "leave --allow and --deny out"),
                            (("--deny", "a.example"), "--deny: nothing is allowed"),
                            (("--allow", "http://a.example"), "http://a.example"),
                            (("--allow", "preset:nothing"), "nothing")):
            got = run(*words, "--", "true", status=2)
            self.assertIn(text, got.stderr, words)

    def test_no_cay_net(self):
        """It is started when the sandbox is being made already: where it cannot be, that is the error, and the sandbox is removed."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cay", "cay-warden", "cay-init"):
                shutil.copy(os.path.join(BUILD, name), folder)
            for script, said in ((None, f"start {folder}/cay-net: No such file or directory"), ("#!/bin/sh\nexit 1\n", "cay-net is gone")):
                if script:
                    with open(f"{folder}/cay-net", "w", encoding="utf-8") as f:
                        f.write(script)
                    os.chmod(f"{folder}/cay-net", 0o755)
                done = subprocess.run([f"{folder}/cay", "run", "--json", "--allow", "a.example", "--", "echo", "ran"], capture_output=True, text=True,
                                      timeout=PATIENCE_S, check=False, cwd="/")
                told = json.loads(done.stdout)
                self.assertEqual((done.returncode, told["status"], told["stdout"], told["error"]["message"]), (125, "failed", "", said))

    def test_nothing_stays(self):
        self.fetch("--allow", f"{HOST}:{self.port}", urls=[f"http://{HOST}:{self.port}/"])
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                    self.assertNotEqual(f.read().strip(), "cay-net")
            except OSError:
                pass


if __name__ == "__main__":
    if not python():
        print("needs Debian's python3 in /usr/bin")
        sys.exit(77)
    own_network()
    unittest.main()
