# SPDX-License-Identifier: Apache-2.0
"""Networks with rules on the docker engine: the proxy on a container's loopback, by way of the box link and cay-net, on a real Docker of
its own (docker/run). Servers listen on an address of this test's own network namespace."""
import concurrent.futures
import os
import shlex
import signal
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "serve")]
from daemon import Daemon, wait_for  # noqa: E402
from real_docker import containers, docker, with_docker  # noqa: E402
import test_networks  # noqa: E402

IMAGE = "cay-test:latest"
HOST = test_networks.HOST


class WayOut(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        test_networks.own_network()
        cls.port, cls.other = test_networks.serve(), test_networks.serve()
        cls.d = with_docker(Daemon("--engine", "docker", "--docker-host", os.environ["DOCKER_HOST"], "--docker-images", IMAGE).start())
        cls.admin = cls.d.make_token("--scope", "admin")

    @classmethod
    def tearDownClass(cls):
        if os.environ.get("CAY_TEST_LOG"):
            print(cls.d.log()[-6000:])
        cls.d.__exit__(None, None, None)

    def tearDown(self):
        for box in self.d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
            self.d.ask("DELETE", f"/api/sandboxes/{box['sandbox_id']}")
        wait_for("no container", lambda: not containers())

    def make(self, status=201, **fields):
        got = self.d.must(status, "POST", "/api/sandboxes", {"limits": {"memory": "128m", **fields.pop("limits", {})}, **fields}, token=self.admin)
        return got["sandbox_id"] if status == 201 else got["error"]["message"]

    def fetch(self, box, port, path="/"):
        return self.d.run(box, f"timeout 5 wget -q -O - http://{HOST}:{port}{path} 2>&1 | tail -c 200")["stdout"].strip()

    def log(self, box):
        return self.d.must(200, "GET", f"/api/sandboxes/{box}/network/log")["entries"]

    def test_rules_hold(self):
        box = self.make(allow=[f"{HOST}:{self.port}"])
        self.assertEqual(self.fetch(box, self.port), "from the host")
        self.assertIn("403", self.fetch(box, self.other))
        told = [(e["verdict"], e["address"], e["port"]) for e in self.log(box)]
        self.assertIn(("allowed", HOST, self.port), told)
        self.assertIn(("refused", HOST, self.other), told)
        # Much, both ways, and at once.
        self.assertEqual(len(self.d.run(box, f"wget -q -O - http://{HOST}:{self.port}/big")["stdout"]), 1 << 20)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(lambda _: self.fetch(box, self.port), range(16))), ["from the host"] * 16)
        # Nothing else leads out: the container has loopback alone.
        self.assertEqual(self.d.run(box, "cat /proc/net/dev | tail -n +3 | cut -d: -f1")["stdout"].split(), ["lo"])
        self.assertNotEqual(self.d.run(box, f"env -i timeout 5 wget -q -O - http://{HOST}:{self.port}/")["exit_code"], 0)
        # What was refused is told with the command.
        got = self.d.run(box, f"wget -q -O - http://evil.example/ || true")
        self.assertEqual([b["host"] for b in got["network_blocked"]], ["evil.example"], got)

    def test_environment(self):
        box = self.make(allow=["a.example"], env={"all_proxy": "mine"})
        env = dict(line.split("=", 1) for line in self.d.run(box, "env")["stdout"].splitlines() if "=" in line)
        self.assertEqual([env[n] for n in ("http_proxy", "HTTPS_PROXY", "all_proxy", "no_proxy")],
                         ["http://127.0.0.1:64998", "http://127.0.0.1:64998", "mine", "localhost,127.0.0.1,::1"])
        plain = self.d.make()
        self.assertNotIn("proxy", self.d.run(plain, "env")["stdout"].lower())

    def test_changed_while_it_runs(self):
        d, box = self.d, self.make(allow=["a.example"])
        self.assertIn("403", self.fetch(box, self.port))
        d.must(200, "PATCH", f"/api/sandboxes/{box}/network", {"add_allow": [f"{HOST}:{self.port}"]}, token=self.admin)
        self.assertEqual(self.fetch(box, self.port), "from the host")
        d.must(200, "PATCH", f"/api/sandboxes/{box}/network", {"network": "none"}, token=self.admin)
        self.assertNotEqual(self.fetch(box, self.port), "from the host")
        d.must(200, "PATCH", f"/api/sandboxes/{box}/network", {"allow": [f"{HOST}:{self.port}"]}, token=self.admin)
        wait_for("a way out again", lambda: self.fetch(box, self.port) == "from the host")
        bridge = self.make(network="bridge")
        got = d.must(422, "PATCH", f"/api/sandboxes/{bridge}/network", {"allow": ["a.example"]}, token=self.admin)
        self.assertIn("knows no rules", got["error"]["message"])

    def test_helpers_die(self):
        d, box = self.d, self.make(allow=[f"{HOST}:{self.port}"])
        self.assertEqual(self.fetch(box, self.port), "from the host")
        for who in ("cay-net", "cay-front"):
            before = d.child(who)
            os.kill(before, signal.SIGKILL)
            wait_for(f"another {who}", lambda w=who, b=before: d.child(w) not in (None, b))

            def works():
                try:
                    return self.fetch(box, self.port) == "from the host"
                except (OSError, AssertionError):
                    return False
            wait_for(f"a way out after the death of {who}", works)
            self.assertIn("403", self.fetch(box, self.other))

    def test_stopped_and_started(self):
        d, box = self.d, self.make(allow=[f"{HOST}:{self.port}"])
        d.must(200, "POST", f"/api/sandboxes/{box}/stop")
        d.must(200, "POST", f"/api/sandboxes/{box}/start")
        self.assertEqual(self.fetch(box, self.port), "from the host")
        self.assertIn("403", self.fetch(box, self.other))

    def test_silent_connections(self):
        """Whoever says nothing holds nobody up, and there is an end to how many there are."""
        d, box = self.d, self.make(allow=[f"{HOST}:{self.port}"])
        quiet = "for i in $(seq 30); do (sleep 300 | nc 127.0.0.1 64998 >/dev/null &) ; done; sleep 1"
        d.run(box, quiet)
        self.assertEqual(self.fetch(box, self.port), "from the host")
        d.run(box, "for i in $(seq 60); do (sleep 300 | nc 127.0.0.1 64998 >/dev/null &) ; done")
        d.run(box, "pkill nc; pkill sleep; true")
        wait_for("a way out again", lambda: self.fetch(box, self.port) == "from the host")

    def test_what_it_cannot(self):
        self.assertIn("private_network", self.make(422, private_network="team"))
        self.assertIn("carries no UDP", self.make(422, allow=["a.example", "a.example:123/udp"]))
        some = self.make(allow=["a.example"])
        got = self.d.must(422, "PATCH", f"/api/sandboxes/{some}/network", {"add_allow": ["a.example:123/udp"]}, token=self.admin)
        self.assertIn("carries no UDP", got["error"]["message"])
        self.assertEqual(self.d.must(200, "GET", f"/api/sandboxes/{some}/network")["allow"], ["a.example"])
        self.assertIn("init", self.make(422, allow=["a.example"], init="none"))
        # Docker's own network, which knows no rules, is what `bridge` alone is.
        bridge = self.make(network="bridge")
        self.assertNotIn("proxy", self.d.run(bridge, "env")["stdout"].lower())
        # Their port may be somebody's inside: then there is no way out, and a word about it.
        self.assertTrue(docker("ps", "-q").strip())


if __name__ == "__main__":
    unittest.main(verbosity=2)
