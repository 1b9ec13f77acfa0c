# SPDX-License-Identifier: Apache-2.0
"""The daemon on the docker engine, with a real Docker of its own (docker/run): the same answers as native, whatever happens to Docker."""
import concurrent.futures
import contextlib
import io
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from daemon import CAY, Daemon, wait_for  # noqa: E402
from real_docker import FOLDER, comes_back, containers, docker, dockerd, engines, try_run, with_docker  # noqa: E402

IMAGE = "cay-test:latest"
FLAGS = ("--engine", "docker", "--docker-host", os.environ["DOCKER_HOST"], "--docker-images", IMAGE,
         "--max-sandboxes", "40")


def import_for_another_machine(name):
    """The test's image once more, with another architecture in its configuration."""
    saved = subprocess.run(["docker", "save", IMAGE], check=True, capture_output=True, timeout=60).stdout
    changed = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(saved)) as old, tarfile.open(fileobj=changed, mode="w") as new:
        config = json.load(old.extractfile("manifest.json"))[0]["Config"]
        for member in old.getmembers():
            data = old.extractfile(member).read() if member.isfile() else b""
            if member.name == config:
                data = json.dumps({**json.loads(data), "architecture": "s390x"}).encode()
            elif member.name == "manifest.json":
                data = json.dumps([{**json.loads(data)[0], "RepoTags": [name + ":latest"]}]).encode()
            elif member.name == "repositories":
                continue
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    subprocess.run(["docker", "load"], input=changed.getvalue(), check=True, capture_output=True, timeout=60)


class Between:
    """A unix socket in front of Docker's: does something when a request with this in its first line passes."""

    def __init__(self, path, docker_path, mark, then):
        self.path, self.docker_path, self.mark, self.then = path, docker_path, mark, then
        self.listener = socket.socket(socket.AF_UNIX)

    def __enter__(self):
        self.listener.bind(self.path)
        self.listener.listen(64)
        self.serving = threading.Thread(target=self.serve, daemon=True)
        self.serving.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.serving.join()
        self.listener.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.join, args=(self.listener.accept()[0],), daemon=True).start()

    def join(self, one):
        with contextlib.suppress(OSError), one, socket.socket(socket.AF_UNIX) as other:
            other.connect(self.docker_path)
            first = one.recv(65536)
            if self.mark in first.split(b"\r\n", 1)[0]:
                self.then()
            other.sendall(first)
            back = threading.Thread(target=self.pump, args=(other, one), daemon=True)
            back.start()
            self.pump(one, other)
            back.join()

    @staticmethod
    def pump(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


class OnDocker(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.d = with_docker(Daemon(*FLAGS).start())

    @classmethod
    def tearDownClass(cls):
        print("the daemon's last words:\n" + cls.d.log()[-3000:])
        cls.d.__exit__(None, None, None)

    def setUp(self):
        self.assertEqual(containers(), [])

    def tearDown(self):
        for box in self.d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
            self.d.ask("DELETE", f"/api/sandboxes/{box['sandbox_id']}")
        try:
            wait_for("no container", lambda: not containers())
        finally:  # a test that failed is one, not all that come after it
            for one in containers():
                docker("rm", "-f", one)

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

    def test_sleep(self):
        """One that is not used is paused by Docker, and wakes for a command, a file, a terminal; copies of files are refused."""
        d = self.d
        box = d.make(sleep_after_s=1)
        d.run(box, "echo kept > /workspace/f")
        asleep = lambda: (s := d.must(200, "GET", f"/api/sandboxes/{box}"))["status"] == "paused" and s["asleep"]  # noqa: E731
        for use in (lambda: d.run(box, "cat /workspace/f")["stdout"] == "kept\n",
                    lambda: d.must(200, "GET", f"/api/sandboxes/{box}/files?path=/workspace/f") == b"kept\n",
                    lambda: d.run(box, "tty", tty=True)["exit_code"] == 0):
            wait_for("sleep", asleep)
            self.assertTrue(json.loads(docker("inspect", f"cay-{box}"))[0]["State"]["Paused"])
            self.assertTrue(use())
        for what, fields in (("snapshots", {}), ("fork", {"count": 2})):
            a = d.ask("POST", f"/api/sandboxes/{box}/{what}", fields)
            self.assertEqual((a.status, "docker engine has no snapshots" in a.json["error"]["message"]), (422, True), a)

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

    def test_all_pids_are_the_commands(self):
        """What Cay needs itself comes on top of the limit: a shell and 19 others of 20, and the sandbox still takes commands."""
        d = self.d
        box = d.make(limits={"pids": 20})
        got = d.run(box, "i=0; while [ $i -lt 19 ]; do sleep 1000 & i=$((i+1)); done; echo $i; kill $(jobs -p)")
        self.assertEqual((got["stdout"], got["cause"]), ("19\n", "exited"), got)
        limit = json.loads(docker("inspect", f"cay-{box}"))[0]["HostConfig"]["PidsLimit"]
        self.assertEqual(limit, 28)  # docs/docker.md
        self.assertEqual(d.run(box, "echo on")["stdout"], "on\n")

    def test_removed_behind_our_back(self):
        d = self.d
        box = d.make()
        docker("rm", "-f", f"cay-{box}")
        wait_for("the word of it", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] in ("error", "stopped"))
        self.assertIn(d.ask("DELETE", f"/api/sandboxes/{box}").status, (200, 204))
        other = d.make()
        self.assertEqual(d.run(other, "echo on")["stdout"], "on\n")

    def test_three_filters(self):
        """Docker's, made from the native engine's rows, around cay-init's own and the command's."""
        d = self.d
        box = d.make()
        got = d.run(box, "grep -E '^Seccomp' /proc/self/status; unshare -n true; echo $?")
        self.assertIn("Seccomp_filters:\t3", got["stdout"], got)
        self.assertEqual(got["stdout"].split()[-1], "1", got)
        options = json.loads(docker("inspect", f"cay-{box}"))[0]["HostConfig"]["SecurityOpt"]
        profile = json.loads(next(o for o in options if o.startswith("seccomp=")).removeprefix("seccomp="))
        allowed = {n for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for n in rule["names"]}
        self.assertEqual(profile["defaultAction"], "SCMP_ACT_ERRNO")
        self.assertFalse(allowed & {"mount", "unshare", "setns", "bpf", "keyctl", "io_uring_setup", "clone3",
                                    "kexec_load", "init_module", "perf_event_open", "userfaultfd", "reboot"})
        self.assertLessEqual({"read", "openat", "execve", "clone"}, allowed)

    def test_images_that_cannot_be(self):
        make = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_image")
        import_for_another_machine("cay-other")
        subprocess.run([make, "cay-entry", "--change", 'ENTRYPOINT ["/bin/false"]'], check=True, timeout=60)
        subprocess.run("tar -c -T /dev/null | docker import - cay-empty", shell=True, check=True, capture_output=True,
                       timeout=60)
        with Daemon(*FLAGS[:5], "not-there") as d:
            a = with_docker(d).ask("POST", "/api/sandboxes", {})
            self.assertEqual(a.status, 404, a)
            self.assertIn(b"not-there", a.body)
        with Daemon(*FLAGS[:5], "cay-other") as d:
            a = with_docker(d).ask("POST", "/api/sandboxes", {})
            self.assertIn(a.status, (409, 422, 501), a)
            self.assertIn(b"s390x", a.body)
        with Daemon(*FLAGS[:5], "cay-empty") as d:  # nothing but what Cay brings: no shell, and it says so
            box = with_docker(d).make()
            got = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "echo hi"})
            self.assertTrue(got.status >= 400 or got.json["exit_code"] != 0, got)
            self.assertIn(b"/bin/sh", got.body)
            d.ask("DELETE", f"/api/sandboxes/{box}")
        with Daemon(*FLAGS[:5], "cay-entry") as d:  # what the image would run, and what ends at once, is not run
            box = with_docker(d).make()
            self.assertEqual(d.run(box, "echo hi")["stdout"], "hi\n")
            d.ask("DELETE", f"/api/sandboxes/{box}")

    def test_a_folder_swapped_behind_our_back(self):
        """Between our look and Docker's mount the folder becomes a link to another: no command runs on that."""
        with tempfile.TemporaryDirectory() as folder:
            root, other, proxy = (os.path.join(folder, name) for name in ("root", "other", "proxy"))
            for place, word in ((os.path.join(root, "ws"), "inside"), (other, "outside")):
                os.makedirs(place)
                with open(os.path.join(place, "mark"), "w", encoding="utf-8") as f:
                    f.write(word)
            for place in (folder, root):
                os.chmod(place, 0o755)

            def swap():
                if swapping:
                    os.rename(os.path.join(root, "ws"), os.path.join(root, "away"))
                    os.symlink(other, os.path.join(root, "ws"))

            swapping = []
            with Between(proxy, FOLDER + "/sock", b"/containers/create", swap), Daemon(
                    "--engine", "docker", "--docker-host", "unix://" + proxy, "--docker-images", IMAGE,
                    "--workspace-roots", root) as d:
                workspace = {"path": os.path.join(root, "ws"), "mode": "ro"}
                box = with_docker(d).make(workspace=workspace)
                self.assertEqual(d.run(box, "cat mark")["stdout"], "inside")
                d.ask("DELETE", f"/api/sandboxes/{box}")
                swapping.append(True)
                a = d.ask("POST", "/api/sandboxes", {"workspace": workspace})
                self.assertNotEqual(a.status, 201, a)  # its init has ended: nobody is told that there is a sandbox
                self.assertIn(b"replaced", a.body)
                self.assertEqual(d.must(200, "GET", "/api/sandboxes")["sandboxes"], [])

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
        for owner, name in ((os.path.join(d.folder, "data"), "cay-ours"), ("somebody", "cay-theirs")):
            docker("network", "create", "--label", "cay.id=left", "--label", f"cay.instance={owner}", name)
        for name in ("cay-front", "cay-docker"):
            pid = d.child(name)
            os.kill(pid, signal.SIGKILL)
            # A front that is to end waits for those whom it has not answered, and now it cannot: nobody asks before the next.
            wait_for("the next one", lambda n=name, p=pid: d.child(n) != p)
            wait_for("the sandbox", lambda: try_run(d, box, "cat f") == "kept\n")
        networks = ("network", "ls", "--filter", "label=cay.id", "--format", "{{.Name}}")
        wait_for("what was left of ours", lambda: docker(*networks) == "cay-theirs\n")  # and nobody else's
        docker("network", "rm", "cay-theirs")

    def test_docker_killed_in_the_middle(self):
        d = self.d
        box = d.make()
        # It writes before, meanwhile and afterwards: a command of the time afterwards brings it to its end.
        line = "i=0; until [ -e go ]; do echo $i; echo > begun; sleep 0.1; i=$((i+1)); done; echo end"
        run = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": line, "background": True})["exec_id"]
        wait_for("its first words", lambda: d.run(box, "test -e begun")["exit_code"] == 0)
        with comes_back():
            os.kill(dockerd(), signal.SIGKILL)
        wait_for("the sandbox again", lambda: try_run(d, box, "touch go") == "")
        wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run}")["status"] == "ended")
        said = d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run}/output?raw=true").decode().split("\n")
        self.assertEqual(said, [*(str(i) for i in range(len(said) - 2)), "end", ""])  # no byte lost, none twice
        self.assertEqual(with_docker(d).make() and d.run(box, "echo on")["stdout"], "on\n")


class OneShot(unittest.TestCase):
    """`cay run` on this Docker."""

    def cay(self, *words):
        full = {"PATH": os.environ["PATH"], "CAY_DOCKER_IMAGE": IMAGE, "DOCKER_HOST": os.environ["DOCKER_HOST"]}
        return subprocess.run([CAY, "run", "--engine", "docker", "--", *words], env=full,
                              capture_output=True, text=True, check=False, timeout=60)

    def test_what_is_left_running_ends_with_it(self):
        got = self.cay("sh", "-c", "sleep 1000 & echo out; echo err >&2; exit 4")
        self.assertEqual((got.returncode, got.stdout), (4, "out\n"), got)
        self.assertTrue(got.stderr.startswith("err\n"), got)
        self.assertEqual(containers(), [])


    def test_rules_are_for_daemons(self):
        got = subprocess.run([CAY, "run", "--engine", "docker", "--allow", "a.example", "--", "true"], capture_output=True, text=True, check=False, timeout=60,
                             env={"PATH": os.environ["PATH"], "CAY_DOCKER_IMAGE": IMAGE, "DOCKER_HOST": os.environ["DOCKER_HOST"]})
        self.assertNotEqual(got.returncode, 0)
        self.assertIn("no rules on the docker engine", got.stderr)
        self.assertEqual(containers(), [])


class OverTls(unittest.TestCase):
    """`cay run` with Docker's own variables, in the network where that Docker listens."""

    @classmethod
    def setUpClass(cls):
        subprocess.run(["nsenter", "-t", str(dockerd()), "-n", "ip", "link", "set", "lo", "up"], check=True, timeout=30)
        cls.certs = os.environ["CAY_TEST_CERTS"]
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)

    def sign(self, name, ca, days, extensions):
        """NAME.pem and NAME-key.pem, of this authority."""
        at = os.path.join(self.folder.name, name)
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", at + "-key.pem",
                     "-subj", "/CN=" + name, "-out", at + ".csr")
        with open(at + ".ext", "w", encoding="utf-8") as f:
            f.write(extensions)
        self.openssl("x509", "-req", "-in", at + ".csr", "-CA", ca + ".pem", "-CAkey", ca + "-key.pem", "-set_serial", "7",
                     "-days", str(days), "-extfile", at + ".ext", "-out", at + ".pem")
        return at

    def certificates(self, name, ca, own):
        """A folder as Docker's clients have it."""
        place = os.path.join(self.folder.name, name)
        os.mkdir(place)
        for source, target in ((ca + ".pem", "ca.pem"), (own + ".pem", "cert.pem"), (own + "-key.pem", "key.pem")):
            shutil.copy(source, os.path.join(place, target))
        return place

    def stranger(self):
        """Another authority."""
        at = os.path.join(self.folder.name, "stranger")
        if not os.path.exists(at + ".pem"):
            self.openssl("req", "-x509", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                         at + "-key.pem", "-subj", "/CN=stranger", "-days", "2", "-out", at + ".pem")
        return at

    def cay(self, there=True, **env):
        words = [CAY, "run", "--engine", "docker", "--", "echo", "hi"]
        if there:
            words = ["nsenter", "-t", str(dockerd()), "-n", *words]
        full = {"PATH": os.environ["PATH"], "CAY_DOCKER_IMAGE": IMAGE, **env}
        return subprocess.run(words, env=full, capture_output=True, text=True, check=False, timeout=120)

    def refused(self, word, host, certs, there=True):
        tls = {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": certs} if certs else {}
        got = self.cay(there, DOCKER_HOST=host, **tls)
        self.assertEqual(got.returncode, 125, got)
        self.assertIn(word, got.stderr)
        self.assertEqual(containers(), [])

    def test_certificates(self):
        here = "tcp://127.0.0.1:2376"
        good = self.cay(DOCKER_HOST=here, DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=self.certs)
        self.assertEqual((good.returncode, good.stdout), (0, "hi\n"), good)
        ca, own = os.path.join(self.certs, "ca"), os.path.join(self.folder.name, "own")
        shutil.copy(os.path.join(self.certs, "cert.pem"), own + ".pem")
        shutil.copy(os.path.join(self.certs, "key.pem"), own + "-key.pem")
        self.refused("HTTPS server", here, None)  # Docker's own words for whoever speaks no TLS there
        self.refused("another name", "tcp://localhost:2376", self.certs)
        self.refused("cannot be reached: Connection refused", "tcp://127.0.0.1:1", self.certs)
        self.refused("is not signed by ca.pem", here, self.certificates("other-ca", self.stranger(), own))
        foreign = self.sign("foreign", self.stranger(), 2, "extendedKeyUsage=clientAuth")
        self.refused("does not accept our certificate", here, self.certificates("other-cert", ca, foreign))

    def test_servers(self):
        """What Docker itself is not here: one whose time is over, and one without TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        old = self.sign("old", os.path.join(self.certs, "ca"), -1, "subjectAltName=IP:127.0.0.1")
        context.load_cert_chain(old + ".pem", old + "-key.pem")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                with contextlib.suppress(OSError):
                    while True:
                        one = listener.accept()[0]
                        with contextlib.suppress(OSError), one, context.wrap_socket(one, server_side=True) as secure:
                            secure.recv(4096)

            serving = threading.Thread(target=serve, daemon=True)
            serving.start()
            self.refused("its certificate has expired", f"tcp://127.0.0.1:{listener.getsockname()[1]}", self.certs, there=False)
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def speak():
                with contextlib.suppress(OSError):
                    while True:
                        with listener.accept()[0] as one:
                            one.recv(4096)
                            one.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

            speaking = threading.Thread(target=speak, daemon=True)
            speaking.start()
            self.refused("does not speak TLS", f"tcp://127.0.0.1:{listener.getsockname()[1]}", self.certs, there=False)
            listener.shutdown(socket.SHUT_RDWR)
            speaking.join()


class Moved(unittest.TestCase):
    """Docker's name leads to another address after a while: the daemon finds it there."""

    def test_the_name_is_looked_up_again(self):
        with tempfile.TemporaryDirectory() as folder:
            hosts = os.path.join(folder, "hosts")

            def lead_to(address):
                with open(hosts, "w", encoding="utf-8") as f:
                    f.write(f"127.0.0.1 localhost\n{address} docker-moves\n")

            def listen(address, port):
                listener = socket.create_server((address, port))
                threading.Thread(target=serve, args=(listener,), daemon=True).start()
                return listener

            def serve(listener):
                with contextlib.suppress(OSError):
                    while True:
                        threading.Thread(target=join, args=(listener.accept()[0],), daemon=True).start()

            def join(one):
                with contextlib.suppress(OSError), one, socket.socket(socket.AF_UNIX) as other:
                    other.connect(FOLDER + "/sock")
                    open_ones.append(one)
                    threading.Thread(target=Between.pump, args=(other, one), daemon=True).start()
                    Between.pump(one, other)

            open_ones = []
            lead_to("127.0.0.2")
            first = listen("127.0.0.2", 0)
            port = first.getsockname()[1]
            d = Daemon("--engine", "docker", "--docker-host", f"tcp://docker-moves:{port}", "--docker-images", IMAGE)
            with open(os.path.join(d.folder, "out"), "wb") as out, open(os.path.join(d.folder, "err"), "ab") as err:
                process = subprocess.Popen(
                    ["unshare", "-m", "sh", "-c", f"mount --bind {hosts} /etc/hosts && exec \"$@\"", "sh", CAY, "serve", "--data",
                     os.path.join(d.folder, "data"), "--listen", "127.0.0.1:0", *d.flags],
                    stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=d.environment())
            with contextlib.ExitStack() as stack:
                stack.push(d.__exit__)
                with_docker(d.adopt(process))
                first.shutdown(socket.SHUT_RDWR)
                first.close()
                for one in open_ones:
                    with contextlib.suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)
                wait_for("the word that it is away", lambda: not engines(d)["docker"]["up"])
                lead_to("127.0.0.3")
                second = listen("127.0.0.3", port)
                stack.callback(second.close)
                box = with_docker(d).make()
                self.assertEqual(d.run(box, "echo moved")["stdout"], "moved\n")
                d.must(200, "DELETE", f"/api/sandboxes/{box}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
