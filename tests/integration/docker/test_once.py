# SPDX-License-Identifier: Apache-2.0
"""Sandboxes without an init (init: none) on a real Docker of the test's own (docker/run): an image with one program and nothing besides, into
which nothing is copied. And what else the daemon tells of Docker: figures of networks, and a Docker that says nothing."""
import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from daemon import Daemon, wait_for  # noqa: E402
from real_docker import AWAY, comes_back, container_of, containers, docker, dockerd, with_docker  # noqa: E402
from registry_file import Registry  # noqa: E402

IMAGE, FULL = "cay-once:latest", "cay-test:latest"
REGISTRY = f"""containers:
  bare:
    image: {IMAGE}
    init: none
    interpreter: [/busybox, sh]
    security: {{read_only: true}}
  online:
    image: {FULL}
    security: {{network_mode: bridge}}
  plain:
    host: true
    engine: native
    init: none
"""


def make_image():
    """One static program, and nothing besides: no shell in its usual place, no folder, no user."""
    program = shutil.which("busybox")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tar.gettarinfo(program, "busybox")
        member.uid = member.gid = 0
        with open(program, "rb") as f:
            tar.addfile(member, f)
    subprocess.run(["docker", "import", "-", IMAGE], input=packed.getvalue(), check=True, capture_output=True, timeout=120)


def sh(line):
    return ["/busybox", "sh", "-c", line]


class Once(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_image()
        cls.root = tempfile.mkdtemp(prefix="cay-once-")
        os.chmod(cls.root, 0o755)
        cls.registry = Registry(REGISTRY)
        cls.d = with_docker(Daemon("--engine", "auto", "--docker-host", os.environ["DOCKER_HOST"], "--docker-images", f"{FULL},{IMAGE}",
                                   "--registry", cls.registry.path, "--workspace-roots", cls.root).start())

    @classmethod
    def tearDownClass(cls):
        print("the daemon's last words:\n" + cls.d.log()[-2500:])
        cls.d.__exit__(None, None, None)
        cls.registry.__exit__()
        shutil.rmtree(cls.root)

    def tearDown(self):
        for box in self.d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
            self.d.ask("DELETE", f"/api/sandboxes/{box['sandbox_id']}")
        wait_for("no container", lambda: not containers())

    def run_once(self, line, **more):
        return self.d.must(200, "POST", "/api/run", {"template": "bare", "command": sh(line), **more})

    def folder(self, name, owner=1001):
        path = os.path.join(self.root, name)
        os.mkdir(path)
        os.chown(path, owner, owner)
        return path

    def begin(self, line, **more):
        """A sandbox with its one command in the background, in a folder through which the test speaks with it."""
        path = self.folder(tempfile.mktemp(dir=""))
        box = self.d.make(template="bare", workspace={"path": path, "mode": "rw"}, **more)
        run = self.d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": sh(line), "background": True})["exec_id"]
        container_of(box)
        return box, run, path

    def result(self, box, run):
        def ended():
            with contextlib.suppress(*AWAY):
                a = self.d.ask("GET", f"/api/sandboxes/{box}/execs/{run}")
                return a.status == 200 and a.json["status"] not in ("running", "starting") and a.json
        return wait_for("the end", ended)

    def output(self, box, run):
        return self.d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run}/output?raw=true")

    def test_a_run(self):
        got = self.run_once("echo out; echo err >&2; exit 3")
        self.assertEqual((got["stdout"], got["stderr"], got["exit_code"], got["cause"]), ("out\n", "err\n", 3, "exited"), got)
        wait_for("no container", lambda: not containers())
        got = self.d.must(200, "POST", "/api/run", {"template": "bare", "code": "echo the answer is $((6 * 7))\n"})
        self.assertEqual(got["stdout"], "the answer is 42\n", got)
        got = self.run_once("/busybox id -u; /busybox pwd; echo \"$HOME $MORE\"; echo x > f && echo x > /tmp/f; /busybox touch /f",
                            env={"MORE": "and 'more' \"still\" é"})
        self.assertEqual(got["stdout"], "1001\n/workspace\n/tmp and 'more' \"still\" é\n", got)
        self.assertIn("Read-only file system", got["stderr"])
        # More than every window on the way, in both directions.
        text = "0123456789abcdef" * 40000
        got = self.run_once("/busybox tee /dev/stderr | /busybox md5sum", stdin=text, max_output="4m")
        self.assertEqual((len(got["stderr"]), got["exit_code"]), (len(text), 0))
        self.assertEqual(got["stdout"], subprocess.run(["md5sum"], input=text, text=True, capture_output=True, check=True).stdout)

    def test_the_other_dialects(self):
        got = self.d.must(200, "POST", "/containers/start", {"container": "bare", "code": "echo of 001"})
        self.assertEqual((got["stdout"], got["exit_code"], got["removed"]), ("of 001\n", 0, True), got)
        got = self.d.must(201, "POST", "/containers/start", {"container": "bare"})
        got = self.d.must(200, "POST", "/containers/exec", {"container_id": got["container_id"], "command": sh("echo one")})
        self.assertEqual(got["stdout"], "one\n", got)
        got = self.d.must(200, "POST", "/sandbox/execute", {"action": "execute", "language": "bare", "code": "echo of 003"})
        self.assertIn("of 003", json.dumps(got))

    def test_programs_that_are_not_there(self):
        for command in (["/bin/sh", "-c", "true"], ["nothing-of-this-name"]):
            got = self.d.must(200, "POST", "/api/run", {"template": "bare", "command": command})
            self.assertIn("was not found in the sandbox", got["cause_text"], got)
        # Docker makes a working directory that is not there; where it cannot, the program is not to blame.
        for workdir in ("/proc/none", "/busybox"):
            got = self.d.must(200, "POST", "/api/run", {"template": "bare", "command": sh("true"), "workdir": workdir})
            self.assertIn(f"working directory '{workdir}' does not exist", got["cause_text"], got)
        # Nothing has run: the sandbox is as good as new.
        box = self.d.make(template="bare")
        self.assertIn("not found", self.d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": ["/none"]})["cause_text"])
        self.assertEqual(self.d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": sh("echo on")})["stdout"], "on\n")

    def test_ends(self):
        got = self.run_once("/busybox sleep 1000 & /busybox sleep 1000", timeout="500ms")
        self.assertEqual(got["cause"], "wall_time", got)
        wait_for("no container", lambda: not containers())
        # Docker begins to look for such ends when the container has started: one that comes before is a SIGKILL of nobody's.
        got = self.run_once("read go; exec /busybox tail /dev/zero", stdin="go\n", limits={"memory": "24m"})
        self.assertEqual(got["cause"], "memory", got)
        got = self.run_once("while :; do :; done", cpu_time="300ms")
        self.assertEqual(got["cause"], "cpu_time", got)
        got = self.run_once("/busybox yes", output_limit="100k")
        self.assertEqual((got["cause"], len(got["stdout"])), ("output", 102400), (got["cause"], len(got["stdout"])))
        got = self.run_once("kill -SEGV $$; exit 5")
        self.assertEqual((got["cause"], got["exit_code"]), ("exited", 5), "a first process takes no signals from its own")

    def test_walls(self):
        """The same as of a container with an init; what is different is named here."""
        box, run, path = self.begin("while [ ! -e go ]; do /busybox sleep 0.05; done")
        other = self.d.make(engine="docker", read_only=True, template="online", network="none")
        one, two = (json.loads(docker("inspect", container_of(b)))[0] for b in (box, other))
        a, b = one["HostConfig"], two["HostConfig"]
        self.assertEqual((a["CapDrop"], a["NetworkMode"], a["ReadonlyRootfs"], one["Config"]["User"]), (["ALL"], "none", True, "1001:1001"))
        self.assertIn("no-new-privileges", a["SecurityOpt"])
        self.assertTrue(any(s.startswith("seccomp=") for s in a["SecurityOpt"]))
        different = {k for k in a | b if a.get(k) != b.get(k)}
        self.assertLessEqual(different, {"SecurityOpt", "PidsLimit", "Mounts", "Tmpfs", "Ulimits"}, different)
        self.assertEqual((one["Config"]["Entrypoint"][0], one["Config"]["Labels"]["cay.init"]), ("/busybox", "none"))
        self.assertEqual([m["Source"] for m in one["Mounts"]], [path])
        open(os.path.join(path, "go"), "w", encoding="utf-8").close()
        self.assertEqual(self.result(box, run)["exit_code"], 0)
        # What the inner filter of a box with an init looks at, the outer one does here.
        got = self.run_once("cd /tmp; echo > f; /busybox chmod 4755 f; /busybox chmod 0755 f && echo plain; /busybox unshare -U /busybox true; "
                            "/busybox mknod c c 1 3; /busybox mknod p p && echo pipe; /busybox ip a >/dev/null && echo netlink")
        self.assertEqual(got["stdout"].split(), ["plain", "pipe", "netlink"], got)
        self.assertEqual(got["stderr"].count("Operation not permitted"), 3, got)

    def test_workspace(self):
        path = self.folder("task")
        with open(os.path.join(path, "in"), "w", encoding="utf-8") as f:
            f.write("given\n")
        got = self.run_once("/busybox cat in; echo made > out", workspace={"path": path, "mode": "rw"})
        self.assertEqual((got["stdout"], got["exit_code"]), ("given\n", 0), got)
        with open(os.path.join(path, "out"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "made\n")
        got = self.run_once("/busybox cat out; echo more > out", workspace={"path": path})
        self.assertEqual((got["stdout"], got["exit_code"] != 0), ("made\n", True), got)
        self.assertIn("Read-only file system", got["stderr"])
        # Where code of a sandbox could put another folder in its place, it is refused: nobody in the container would see it.
        os.mkdir(os.path.join(path, "below"))
        os.chown(os.path.join(path, "below"), 1001, 1001)
        a = self.d.must(422, "POST", "/api/run", {"template": "bare", "command": sh("true"),
                                                  "workspace": {"path": os.path.join(path, "below"), "mode": "rw"}})
        self.assertIn("belong to root", a["error"]["message"])

    def test_what_it_cannot(self):
        d = self.d
        box = d.make(template="bare")
        self.assertEqual(d.must(200, "GET", f"/api/sandboxes/{box}")["init"], "none")
        self.assertEqual(d.must(200, "GET", "/api/templates/bare")["init"], "none")
        for method, path, body, word in (("PUT", "files?path=f", b"x" * 100000, "files cannot be"), ("GET", "files/list?path=/", None, "files cannot be"),
                                         ("GET", "processes", None, "cannot be listed"),
                                         ("POST", "pause", None, "while its command runs")):
            a = d.ask(method, f"/api/sandboxes/{box}/{path}", body)
            self.assertNotIn(a.status, (200, 201, 204), (path, a))
            self.assertIn(word, a.json["error"]["message"], path)
        self.assertIn("has no terminal", d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": sh("true"), "tty": True})["cause_text"])
        self.assertEqual(d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": sh("echo once")})["stdout"], "once\n")
        a = d.must(409, "POST", f"/api/sandboxes/{box}/execute", {"command": sh("echo twice")})
        self.assertIn("runs one command, which has run: make another sandbox", a["error"]["message"])
        for fields, code, word in (({"engine": "native", "init": "none"}, 422, "native"), ({"init": "tini"}, 400, "must be cay or none"),
                                   ({"template": "bare", "init": "cay"}, 403, "bare"), ({"template": "plain"}, 409, "init: none"),
                                   ({"template": "online", "init": "none", "ports": [8080]}, 422, "ports"),
                                   ({"template": "bare", "limits": {"pids": 15}}, 422, "at least 16")):
            self.assertIn(word, d.must(code, "POST", "/api/sandboxes", fields)["error"]["message"], fields)
        made = d.must(201, "POST", "/api/sandboxes", {"init": "none"})
        self.assertEqual((made["engine"], made["init"], made["kept"]), ("docker", "none", False), "auto is the one that can")
        # Stopped and started, it is a new one.
        d.must(200, "POST", f"/api/sandboxes/{box}/stop")
        d.must(200, "POST", f"/api/sandboxes/{box}/start")
        self.assertEqual(d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": sh("echo anew")})["stdout"], "anew\n")

    def test_the_front_killed(self):
        box, run, path = self.begin("echo one; echo > said; while [ ! -e go ]; do /busybox sleep 0.05; done; echo two; exit 7")
        wait_for("its first word", lambda: os.path.exists(os.path.join(path, "said")))
        front = self.d.child("cay-front")
        os.kill(front, signal.SIGKILL)
        wait_for("another", lambda: self.d.child("cay-front") not in (None, front))
        open(os.path.join(path, "go"), "w", encoding="utf-8").close()
        self.assertEqual(self.result(box, run)["exit_code"], 7)
        self.assertEqual(self.output(box, run), b"one\ntwo\n")

    def test_the_helper_killed(self):
        """Nobody can hear the command any more: it goes, by its label."""
        box, run, _ = self.begin("/busybox sleep 1000")
        helper, front = self.d.child("cay-docker"), self.d.child("cay-front")
        os.kill(helper, signal.SIGKILL)
        wait_for("the next one", lambda: self.d.child("cay-docker") not in (None, helper))
        wait_for("no container", lambda: not containers())
        self.assertEqual(self.result(box, run)["cause"], "engine_lost")
        self.assertEqual(self.d.child("cay-front"), front)

    def test_docker_killed(self):
        box, run, _ = self.begin("/busybox sleep 1000")
        with comes_back():
            os.kill(dockerd(), signal.SIGKILL)
            self.assertIn(self.result(box, run)["cause"], ("sandbox_gone", "engine_lost"))
        wait_for("no container", lambda: not containers())
        with_docker(self.d)

    def test_removed_behind_our_back(self):
        box, run, _ = self.begin("/busybox sleep 1000")
        docker("rm", "-f", container_of(box))
        self.assertEqual(self.result(box, run)["cause"], "sandbox_gone")

    def test_figures_of_a_network(self):
        d = self.d
        box = d.make(template="online")
        before = d.must(200, "GET", f"/api/sandboxes/{box}/stats")
        self.assertEqual(before["loopback_bytes"], 0)
        got = d.run(box, "ip route | sed -n 's/.* dev eth0 .*src \\([0-9.]*\\)\\.[0-9]*.*/\\1.1/p' | (read gateway; "
                         "for i in $(seq 20); do nc -w 1 $gateway 9; done; echo $gateway)")
        after = d.must(200, "GET", f"/api/sandboxes/{box}/stats")
        self.assertGreater(after["tx_bytes"], before["tx_bytes"] + 1000, (got, before, after))  # a refused connection is 74 bytes
        self.assertGreater(after["rx_bytes"], before["rx_bytes"] + 1000, (got, before, after))


class Silent(unittest.TestCase):
    def test_a_docker_that_says_nothing(self):
        """It takes the connection and never answers: the daemon is there all the same, and says so of the engine."""
        folder = tempfile.mkdtemp(prefix="cay-silent-")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(folder, "sock"))
            listener.listen(16)
            try:
                with Daemon("--engine", "docker", "--docker-host", "unix://" + os.path.join(folder, "sock"), "--docker-images", FULL) as d:
                    held, _ = listener.accept()  # the question that stands
                    with held:
                        self.assertIn(b"GET /version", held.recv(65536))
                        docker_engine = d.must(200, "GET", "/api/engines", unix=True, token=False)["engines"][1]
                        self.assertEqual((docker_engine["name"], docker_engine["up"]), ("docker", False))
                        self.assertIn("has not answered yet", docker_engine["why"])
                        a = d.ask("POST", "/api/sandboxes", {})
                        self.assertEqual(a.status, 503, a)
            finally:
                shutil.rmtree(folder)


if __name__ == "__main__":
    unittest.main(verbosity=2)
