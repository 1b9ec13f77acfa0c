# SPDX-License-Identifier: Apache-2.0
"""The daemon on the docker engine, with a real Docker of its own (docker/run): the same answers as native, whatever happens to Docker."""
import concurrent.futures
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from daemon import CAY, Daemon, wait_for  # noqa: E402

IMAGE = "cay-test:latest"
FOLDER = os.path.dirname(os.environ["DOCKER_HOST"].removeprefix("unix://"))
FLAGS = ("--engine", "docker", "--docker-host", os.environ["DOCKER_HOST"], "--docker-images", IMAGE,
         "--max-sandboxes", "40")


def docker(*words, **more):
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True, timeout=120, **more).stdout


def containers():
    return docker("ps", "-aq", "--filter", "label=cay.id").split()


def dockerd():
    """Its pid as seen from here; it lives in namespaces of its own."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"dockerd") and (FOLDER + "/data").encode() in words:
            return int(path.split("/")[2])
    return None


def docker_answers():
    return subprocess.run(["docker", "version"], capture_output=True, check=False, timeout=30).returncode == 0


class OnDocker(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.d = Daemon(*FLAGS).start()

    @classmethod
    def tearDownClass(cls):
        print("the daemon's last words:\n" + cls.d.log()[-3000:])
        cls.d.__exit__(None, None, None)

    def setUp(self):
        self.assertEqual(containers(), [], "left by a test before")

    def tearDown(self):
        for box in self.d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
            self.d.ask("DELETE", f"/api/sandboxes/{box['sandbox_id']}")
        wait_for("no container", lambda: not containers())

    def test_what_a_sandbox_is(self):
        d = self.d
        box = d.make(limits={"memory": "64m", "pids": 30, "cpus": "0.5"}, labels={"mine": "1"})
        got = d.run(box, "id -u; id -g; pwd; echo x > f; cat f; ls -ld /workspace | cut -c1-10")
        self.assertEqual(got["stdout"], "1001\n1001\n/workspace\nx\ndrwxr-xr-x\n", got)
        inspect = json.loads(docker("inspect", f"cay-{box}"))[0]
        host, labels = inspect["HostConfig"], inspect["Config"]["Labels"]
        self.assertEqual((labels["cay.id"], labels["cay.instance"]), (box, os.path.join(d.folder, "data")))
        self.assertEqual((host["NetworkMode"], host["CapDrop"], host["Privileged"]), ("none", ["ALL"], False))
        self.assertEqual((host["Memory"], host["MemorySwap"], host["NanoCpus"]), (64 << 20, 64 << 20, 500000000))
        self.assertIn("no-new-privileges", host["SecurityOpt"])
        status = d.run(box, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")["stdout"].split("\n")
        self.assertEqual({line.split()[1] for line in status if line.startswith("Cap")}, {"0000000000000000"})
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertEqual(d.run(box, "ls /sys/class/net; cat /proc/1/environ; cat /.cay/init")["exit_code"], 1)
        self.assertEqual(d.run(box, "ls /.cay/in; test -r /.cay/in/config")["exit_code"], 1)  # the secret is gone
        self.assertIn(d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "id", "user": "root"}).status,
                      (400, 409, 422, 501))

    def test_causes(self):
        d = self.d
        box = d.make(limits={"memory": "32m", "pids": 12})
        got = d.run(box, "x=a; while :; do x=$x$x; done")
        self.assertEqual(got["cause"], "memory", got)
        got = d.run(box, "sleep 100 & sleep 100 & sleep 100; wait", timeout="1s")
        self.assertEqual(got["cause"], "wall_time", got)
        self.assertEqual(d.run(box, "ps | grep -c '[s]leep 100'")["stdout"], "0\n")
        self.assertEqual(d.run(box, "exit 3")["cause"], "exited")
        got = d.run(box, "i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done; exit 1")
        self.assertEqual(got["cause"], "pids", got)

    def test_removed_behind_our_back(self):
        d = self.d
        box = d.make()
        docker("rm", "-f", f"cay-{box}")
        wait_for("the word of it", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] in ("error", "stopped"))
        self.assertIn(d.ask("DELETE", f"/api/sandboxes/{box}").status, (200, 204))
        other = d.make()
        self.assertEqual(d.run(other, "echo on")["stdout"], "on\n")

    def test_images_that_cannot_be(self):
        with Daemon(*FLAGS[:5], "not-there") as d:
            a = d.ask("POST", "/api/sandboxes", {})
            self.assertEqual(a.status, 404, a)
            self.assertIn(b"not-there", a.body)

    def test_twenty_at_once(self):
        d = self.d

        def one(i):
            box = d.make(limits={"memory": "32m"})
            said = d.run(box, f"echo {i}")["stdout"]
            self.assertIn(d.ask("DELETE", f"/api/sandboxes/{box}").status, (200, 204))
            return said

        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            self.assertEqual(list(pool.map(one, range(20))), [f"{i}\n" for i in range(20)])

    def test_front_and_broker_killed(self):
        d = self.d
        box = d.make()
        d.run(box, "echo kept > f")
        for name in ("cay-front", "cay-docker"):
            os.kill(d.child(name), signal.SIGKILL)
            wait_for("the next one", lambda: self.try_run(box, "cat f") == "kept\n")

    def try_run(self, box, command):
        try:
            a = self.d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": command})
        except OSError:
            return None
        return a.json["stdout"] if a.status == 200 else None

    def test_docker_killed_in_the_middle(self):
        d = self.d
        box = d.make()
        open(os.path.join(FOLDER, "again"), "w", encoding="utf-8").close()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(d.run, box, "i=0; while [ $i -lt 60 ]; do echo $i; sleep 0.2; i=$((i+1)); done")
            time.sleep(2)
            os.kill(dockerd(), signal.SIGKILL)
            wait_for("the word that Docker is away", lambda: "Docker is away" in d.log())
            wait_for("Docker again", docker_answers)
            got = running.result(120)
        self.assertEqual(got["stdout"], "".join(f"{i}\n" for i in range(60)))  # no byte lost, none twice
        self.assertEqual(self.d.make() and d.run(box, "echo on")["stdout"], "on\n")
        os.unlink(os.path.join(FOLDER, "again"))


class OverTls(unittest.TestCase):
    """`cay run` with Docker's own variables, in the network where that Docker listens."""

    def cay(self, **env):
        words = ["nsenter", "-t", str(dockerd()), "-n", CAY, "run", "--engine", "docker", "--allow-missing",
                 "disk,inodes", "--", "echo", "hi"]
        full = {"PATH": os.environ["PATH"], "CAY_DOCKER_IMAGE": IMAGE, **env}
        return subprocess.run(words, env=full, capture_output=True, text=True, check=False, timeout=120)

    def test_certificates(self):
        subprocess.run(["nsenter", "-t", str(dockerd()), "-n", "ip", "link", "set", "lo", "up"], check=True, timeout=30)
        certs = os.environ["CAY_TEST_CERTS"]
        good = self.cay(DOCKER_HOST="tcp://127.0.0.1:2376", DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=certs)
        self.assertEqual((good.returncode, good.stdout), (0, "hi\n"), good)
        plain = self.cay(DOCKER_HOST="tcp://127.0.0.1:2376")
        self.assertEqual(plain.returncode, 125, plain)
        named = self.cay(DOCKER_HOST="tcp://localhost:2376", DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=certs)
        self.assertEqual(named.returncode, 125, named)  # the certificate is another name's
        self.assertEqual(containers(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
