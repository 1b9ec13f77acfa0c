# SPDX-License-Identifier: Apache-2.0
"""What a command finds in a container, and what `cay run` makes of one: on a real Docker of its own (docker/run)."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from daemon import CAY, Daemon, wait_for  # noqa: E402
from real_docker import containers, docker, with_docker  # noqa: E402

IMAGE = "cay-test:latest"
BARE = "cay-bare:latest"  # no users, and an environment of its own
REGISTRY = f"""containers:
  bare:
    image: {BARE}
  once:
    image: {BARE}
    init: none
"""


def make_bare():
    made = docker("create", IMAGE, "true").strip()
    subprocess.run(f"docker export {made} | tar --delete -f - etc/passwd | docker import -c 'ENV GREETING=hello' "
                   f"-c 'ENV PATH=/opt/tools:/bin' -c 'ENV HOME=/root' - {BARE}", shell=True, check=True, capture_output=True,
                   timeout=120)
    docker("rm", made)


class Inside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_bare()
        cls.folder = tempfile.TemporaryDirectory()
        registry = os.path.join(cls.folder.name, "registry.yaml")
        with open(registry, "w", encoding="utf-8") as f:
            f.write(REGISTRY)
        cls.d = with_docker(Daemon("--engine", "docker", "--docker-host", os.environ["DOCKER_HOST"], "--docker-images",
                                   f"{IMAGE},{BARE}", "--registry", registry).start())

    @classmethod
    def tearDownClass(cls):
        cls.d.__exit__(None, None, None)
        cls.folder.cleanup()

    def tearDown(self):
        for box in self.d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
            self.d.ask("DELETE", f"/api/sandboxes/{box['sandbox_id']}")
        wait_for("no container", lambda: not containers())

    def test_names_without_a_network(self):
        d = self.d
        box = d.make()
        got = d.run(box, "(echo hi | nc -l -p 4000 &) ; for i in $(seq 50); do nc -w 1 localhost 4000 && break; sleep 0.1; done")
        self.assertEqual(got["stdout"], "hi\n", got)
        got = d.run(box, "cat /etc/resolv.conf")["stdout"]  # none of the host's
        self.assertEqual([line for line in got.split("\n") if line.startswith("nameserver")], ["nameserver 127.0.0.1"])
        self.assertEqual(d.run(box, "ls /sys/class/net")["stdout"], "lo\n")

    def test_the_image_s_environment(self):
        """The image's own is below what a request has; HOME and USER are the sandbox's."""
        d = self.d
        words = 'echo "$GREETING $PATH $HOME $USER $LANG"'
        box = d.make(template="bare")
        self.assertEqual(d.run(box, words)["stdout"], "hello /opt/tools:/bin /home/sandbox sandbox C.UTF-8\n")
        got = d.run(box, words, env={"PATH": "/bin", "GREETING": "no", "LANG": "C"})
        self.assertEqual(got["stdout"], "no /bin /home/sandbox sandbox C\n")
        once = d.must(200, "POST", "/api/run", {"template": "once", "command": words})
        self.assertEqual(once["stdout"], "hello /opt/tools:/bin /home/sandbox sandbox C.UTF-8\n", once)
        other = d.make()  # an image that says nothing
        self.assertEqual(d.run(other, 'echo "$PATH"')["stdout"],
                         "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n")

    def test_the_user_has_a_name(self):
        d = self.d
        box = d.make(template="bare")
        got = d.run(box, "whoami; id; echo ~sandbox; ls -l /etc/passwd | cut -c1-10")
        self.assertEqual(got["stdout"], "sandbox\nuid=1001(sandbox) gid=1001(sandbox) groups=1001(sandbox)\n/home/sandbox\n"
                                        "-rw-r--r--\n", got)
        image = d.run(d.make(), "cat /etc/passwd")["stdout"]  # one that has the user stays as it is
        self.assertEqual(image.count("\nsandbox:"), 1, image)
        for user, status in (("1001", 200), ("1001:1001", 200), ("sandbox", 200), ("1001:0", 422), ("0", 422)):
            a = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "id -u", "user": user})
            self.assertEqual(a.status, status, (user, a))
        self.assertEqual(d.run(box, "echo $USER", user="1001")["stdout"], "sandbox\n")

    def test_as_many_processors_as_it_may_use(self):
        if os.cpu_count() < 2:
            self.skipTest("one processor")
        box = self.d.make(limits={"cpus": "0.5"})
        self.assertEqual(self.d.run(box, "nproc")["stdout"], "1\n")

    def test_its_own_control_groups(self):
        box = self.d.make()
        got = self.d.run(box, "cat /proc/self/cgroup")["stdout"]
        self.assertEqual({line.rsplit(":", 1)[1] for line in got.split()}, {"/"}, got)  # no path of the host's

    def test_a_read_only_root_keeps_its_workspace(self):
        d = self.d
        box = d.make(read_only=True)
        self.assertEqual(d.run(box, "echo kept > f; touch /x; ls -ld /workspace | cut -c1-10")["stdout"], "drwxr-xr-x\n")
        self.assertTrue(d.must(200, "POST", f"/api/sandboxes/{box}/stop")["kept"])
        d.must(200, "POST", f"/api/sandboxes/{box}/start")
        self.assertEqual(d.run(box, "cat f")["stdout"], "kept\n")
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
        self.assertEqual(docker("volume", "ls", "-q"), "")

    def test_a_limit_that_is_left_out_ends_nothing(self):
        """A file may be larger than a disk limit that is not held."""
        d = self.d
        box = d.make(limits={"disk": "64k"}, may_skip=["disk"])
        self.assertEqual(d.must(200, "GET", f"/api/sandboxes/{box}")["limits_skipped"], ["disk"])
        got = d.run(box, "dd if=/dev/zero of=big bs=1024 count=1024 2>/dev/null; wc -c < big")
        self.assertEqual((got["stdout"], got["cause"]), ("1048576\n", "exited"), got)

    def test_the_helper_of_the_link_is_out_of_reach(self):
        """A command can neither stop nor end the process that joins its sandbox to the daemon."""
        d = self.d
        box = d.make()
        got = d.run(box, "p=$(ps -o pid,args | sed -n 's/^ *\\([0-9]*\\) .*init attach$/\\1/p'); kill -STOP $p; kill -KILL $p; kill -STOP 1; echo $p; exit 5")
        self.assertEqual((got["exit_code"], len(got["stdout"].split())), (5, 1), got)
        self.assertIn("ermi", got["stderr"])  # not permitted
        self.assertEqual(d.run(box, "echo on")["stdout"], "on\n")


    def test_a_command_cannot_stop_its_keeper(self):
        """The process between init and a command has its id: it goes on when it is stopped, and its end is told at once."""
        d = self.d
        box = d.make()
        got = d.run(box, "kill -STOP $PPID; echo on; exit 4")
        self.assertEqual((got["exit_code"], got["stdout"]), (4, "on\n"), got)
        got = d.run(box, "kill -KILL $PPID; sleep 100")
        self.assertEqual((got["cause"], got["signal"]), ("signalled", "SIGKILL"), got)
        self.assertEqual(d.run(box, "echo on")["stdout"], "on\n")

    def test_memory_of_one_command(self):
        """A child that was killed for memory is a hint at a command that ends well; each command has a peak of its own."""
        d = self.d
        box = d.make(limits={"memory": "48m"})
        got = d.run(box, "(x=a; while :; do x=$x$x; done); exit 0")
        self.assertEqual((got["cause"], got["exit_code"], got["hints"]), ("exited", 0, ["memory"]), got)
        self.assertGreater(got["memory_peak_bytes"], 24 << 20, got)
        got = d.run(box, "sleep 0.05")
        self.assertEqual(got["hints"], [], got)
        self.assertTrue(0 < got["memory_peak_bytes"] < 24 << 20, got)

    def test_removed_behind_our_back(self):
        d = self.d
        box = d.make()
        docker("rm", "-f", f"cay-{box}")
        wait_for("the word of it", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "error")
        wait_for("the word of its files", lambda: not d.must(200, "GET", f"/api/sandboxes/{box}")["kept"])
        left = d.must(200, "GET", f"/api/sandboxes/{box}")
        self.assertEqual(left["advice"], "its files were not kept: destroy it, and create another", left)
        self.assertEqual(d.must(409, "POST", f"/api/sandboxes/{box}/execute", {"command": "id"})["error"]["code"], "conflict")
        d.must(200, "DELETE", f"/api/sandboxes/{box}")

    def test_removed_while_stopped(self):
        """What stands still is watched too; a start makes it without files, as the answer says."""
        d = self.d
        box = d.make()
        d.run(box, "echo here > f")
        self.assertTrue(d.must(200, "POST", f"/api/sandboxes/{box}/stop")["kept"])
        docker("rm", "-f", f"cay-{box}")
        wait_for("the word of its files", lambda: not d.must(200, "GET", f"/api/sandboxes/{box}")["kept"])
        left = d.must(200, "GET", f"/api/sandboxes/{box}")
        self.assertEqual((left["status"], left["cause"]), ("error", "sandbox_gone"), left)
        d.must(200, "POST", f"/api/sandboxes/{box}/start")
        self.assertEqual(d.run(box, "ls; echo on")["stdout"], "on\n")
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


class OneShot(unittest.TestCase):
    def cay(self, *words, **env):
        full = {"PATH": os.environ["PATH"], "CAY_DOCKER_IMAGE": IMAGE, "DOCKER_HOST": os.environ["DOCKER_HOST"], **env}
        return subprocess.run([CAY, "run", "--engine", "docker", *words], env=full, capture_output=True, text=True,
                              check=False, timeout=120)

    def test_as_the_page_shows_it(self):
        got = self.cay("--", "sh", "-c", "echo $USER; exit 3")
        self.assertEqual((got.returncode, got.stdout), (3, "sandbox\n"), got)
        asked = self.cay("--disk", "64m", "--", "true")  # what is asked for is held or refused
        self.assertEqual(asked.returncode, 125, asked)
        self.assertIn("disk", asked.stderr)
        told = json.loads(self.cay("--json", "--disk", "64k", "--allow-missing", "disk", "--", "sh", "-c",
                                   "dd if=/dev/zero of=/tmp/big bs=1024 count=1024").stdout)
        self.assertEqual((told["exit_code"], told["skipped"]), (0, ["disk"]), told)

    def test_an_image_by_name(self):
        def cay(*words):
            return subprocess.run([CAY, "run", *words], env={"PATH": os.environ["PATH"], "DOCKER_HOST": os.environ["DOCKER_HOST"]},
                                  capture_output=True, text=True, check=False, timeout=120)
        got = cay("--image", IMAGE, "--", "echo", "hello")
        self.assertEqual((got.returncode, got.stdout), (0, "hello\n"), got)
        got = cay("--image", "nosuch:1", "true")
        self.assertTrue(got.returncode == 125 and "nosuch:1" in got.stderr, got)
        got = cay("--image", IMAGE, "--engine", "native", "true")
        self.assertTrue(got.returncode != 0 and "--image: the engine 'native' has no images" in got.stderr, got)

    def test_a_workspace(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            with open(os.path.join(folder, "f"), "w", encoding="utf-8") as f:
                f.write("mine\n")
            got = self.cay("--workspace", folder + ":ro", "--", "sh", "-c", "cat f; touch x || echo no")
            self.assertEqual((got.returncode, got.stdout), (0, "mine\nno\n"), got)
            got = self.cay("--workspace", folder + ":rw", "--", "true")  # Docker maps no ids
            self.assertEqual(got.returncode, 125, got)
            self.assertIn("1001", got.stderr)
            os.chown(folder, 1001, 1001)
            got = self.cay("--workspace", folder + ":rw", "--", "sh", "-c", "echo made > g")
            self.assertEqual(got.returncode, 0, got)
            with open(os.path.join(folder, "g"), encoding="utf-8") as f:
                self.assertEqual(f.read(), "made\n")
        self.assertEqual(containers(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
