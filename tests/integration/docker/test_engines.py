# SPDX-License-Identifier: Apache-2.0
"""A daemon with two engines, native and a real Docker of its own (docker/run): who makes what, and what becomes of each when the other,
its helper, the front or the daemon goes."""
import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
import ws_client  # noqa: E402
from daemon import CAY, Daemon, wait_for  # noqa: E402
from real_docker import AWAY, FOLDER, comes_back, containers, docker, dockerd, engines, try_run, with_docker  # noqa: E402
from registry_file import Registry  # noqa: E402

IMAGE = "cay-test:latest"
ABSENT = "cay-absent:1"
FLAGS = ("--docker-host", os.environ["DOCKER_HOST"], "--docker-images", f"{IMAGE},{ABSENT}")
REGISTRY = f"""containers:
  plain:
    host: true
  boxed:
    image: {IMAGE}
  absent:
    image: {ABSENT}
  hosted:
    host: true
    engine: docker
  bare:
    host: true
    engine: process
  online:
    host: true
    security: {{network_mode: bridge}}
"""


def ask_port(port):
    """What answers on the loopback of Docker's own network."""
    got = subprocess.run(["nsenter", "-t", str(dockerd()), "-n", "busybox", "nc", "-w", "2", "127.0.0.1", str(port)], input="",
                         capture_output=True, text=True, timeout=30, check=False)
    return got.stdout


def ready(d):
    try:
        return d.ask("GET", "/api/health/ready").status == 200
    except AWAY:
        return False


def status(d, box):
    return d.must(200, "GET", f"/api/sandboxes/{box}")


@contextlib.contextmanager
def begun(*words):
    """A daemon that other words than the usual ones start."""
    d = Daemon()
    with open(os.path.join(d.folder, "out"), "wb") as out, open(os.path.join(d.folder, "err"), "ab") as err:
        d.adopt(subprocess.Popen([*words, "--data", os.path.join(d.folder, "data")], stdout=out, stderr=err,
                                 stdin=subprocess.DEVNULL))
    try:
        yield d
    finally:
        d.__exit__(*sys.exc_info())


class Two(unittest.TestCase):
    """One daemon with both, for all of these."""

    @classmethod
    def setUpClass(cls):
        cls.registry = Registry(REGISTRY)
        cls.d = with_docker(Daemon("--engine", "auto", *FLAGS, "--registry", cls.registry.path).start())

    @classmethod
    def tearDownClass(cls):
        print("the daemon's last words:\n" + cls.d.log()[-2500:])
        cls.d.__exit__(None, None, None)
        cls.registry.__exit__()

    def tearDown(self):
        for box in self.d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
            self.d.ask("DELETE", f"/api/sandboxes/{box['sandbox_id']}")
        wait_for("no container", lambda: not containers())

    def both(self):
        """One sandbox of each, with a file and a command that goes on."""
        d = self.d
        boxes = [d.make(), d.make(engine="docker")]
        for box, name in zip(boxes, ("native", "docker")):
            self.assertEqual(status(d, box)["engine"], name)
            d.run(box, f"echo {name} > f")
        runs = [d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 600", "background": True})["exec_id"] for box in boxes]
        return boxes, runs

    def check_both(self, boxes, runs):
        d = self.d
        for box, run, name in zip(boxes, runs, ("native", "docker")):
            wait_for(f"{name}'s files", lambda b=box, n=name: try_run(d, b, "cat f") == f"{n}\n")
            self.assertEqual(d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run}")["status"], "running")

    def test_which_there_are(self):
        got = engines(self.d)
        self.assertEqual(list(got), ["native", "docker", "process", "remote"])
        self.assertEqual([(e["available"], e["default"], e["up"]) for e in got.values()],
                         [(True, True, True), (True, False, True), (False, False, False), (True, False, True)])
        self.assertIn("docker_host names", got["docker"]["chosen"])
        self.assertIn("no isolation", got["process"]["why"])
        self.assertIn("disk", got["native"]["limits"])
        self.assertNotIn("disk", got["docker"]["limits"])
        self.assertIn('engine runs engine=docker why="the setting engine is auto, and docker_host names one"', self.d.log())
        self.assertIn(f"host={os.environ['DOCKER_HOST']}", self.d.log())

    def test_who_makes_what(self):
        d = self.d
        self.assertEqual(status(d, d.make(engine="auto"))["engine"], "native")
        self.assertEqual(status(d, d.make(template="plain"))["engine"], "native")
        self.assertEqual(status(d, d.make(template="plain", engine="docker"))["engine"], "docker")
        self.assertEqual(status(d, d.make(template="boxed"))["engine"], "docker")
        self.assertEqual(status(d, d.make(template="hosted"))["engine"], "docker")
        a = d.must(400, "POST", "/api/sandboxes", {"engine": "otter"})["error"]
        self.assertIn("auto, native, docker, process", a["message"])
        self.assertEqual(a["field"], "engine")
        self.assertIn("no isolation", d.must(409, "POST", "/api/sandboxes", {"engine": "process"})["error"]["message"])
        self.assertIn("for the engine docker",
                      d.must(409, "POST", "/api/sandboxes", {"template": "boxed", "engine": "native"})["error"]["message"])
        bare = d.must(200, "GET", "/api/templates/bare")
        self.assertTrue(not bare["available"] and "no isolation" in bare["why"], bare)
        got = d.must(200, "POST", "/api/run", {"command": "cat /etc/passwd", "engine": "docker"})
        self.assertIn("sandbox:x:1001", got["stdout"], got)
        # What the one cannot is asked of that one: disks have no limit in Docker, and users are native's.
        d.must(201, "POST", "/api/sandboxes", {"limits": {"disk": "32m"}})
        self.assertNotEqual(d.ask("POST", "/api/sandboxes", {"limits": {"disk": "32m"}, "engine": "docker"}).status, 201)
        box = d.make(engine="docker")
        self.assertNotEqual(d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "id", "user": "root"}).status, 200)

    def test_read_only_root(self):
        d = self.d
        box = d.make(engine="docker", read_only=True)
        got = d.run(box, "touch /etc/x; touch /x; echo in > /workspace/f && echo in > /tmp/f && cat /workspace/f /tmp/f")
        self.assertEqual(got["stdout"], "in\nin\n", got)
        self.assertEqual(got["stderr"].count("Read-only file system"), 2, got)
        self.assertEqual(docker("inspect", "-f", "{{.HostConfig.ReadonlyRootfs}}", docker("ps", "-q", "--filter", f"label=cay.id={box}").strip()).strip(),
                         "true")

    def test_an_image_that_is_not_there(self):
        """Docker is asked each time, so what is pulled or removed shows at once."""
        def look(name):
            t = self.d.must(200, "GET", f"/api/templates/{name}")
            return t["available"], t["why"]

        def listed():
            return {t["name"]: t["available"] for t in self.d.must(200, "GET", "/api/templates")["templates"]}

        self.assertEqual(look("boxed"), (True, None))
        can, why = look("absent")
        self.assertTrue(not can and ABSENT in why and "docker pull" in why, why)
        self.assertEqual((listed()["boxed"], listed()["absent"]), (True, False))
        docker("tag", IMAGE, ABSENT)
        try:
            self.assertEqual(look("absent"), (True, None))
        finally:
            docker("rmi", ABSENT)
        self.assertFalse(look("absent")[0])

    def test_a_network_of_its_own(self):
        d = self.d
        online = d.must(200, "GET", "/api/templates/online")
        self.assertTrue(online["available"] and online["network"] == "bridge", online)
        wish = {"template": "online", "ports": [80, "18080:81"], "volumes": ["data:/data"], "labels": {"colour": "blue"}}
        boxes = [d.must(201, "POST", "/api/sandboxes", wish) for _ in range(2)]
        a, b = ([p["host"] for p in box["ports"]] for box in boxes)
        self.assertEqual([p["inside"] for p in boxes[0]["ports"]], [80, 81])
        self.assertEqual((a[1], b[1]), (18080, 18081), "a port that is taken is no error")
        self.assertEqual([(box["engine"], box["network"]) for box in boxes], [("docker", "bridge")] * 2)
        self.assertEqual(boxes[0]["volumes"], [{"name": "data", "at": "/data", "read_only": False}])
        ids = [box["sandbox_id"] for box in boxes]
        self.assertEqual(len(docker("ps", "-q", "--filter", "label=cay.label.colour=blue").split()), 2)
        # What one writes into its owner's volume the other reads; what it publishes answers on Docker's loopback.
        d.run(ids[0], "echo shared > /data/f")
        self.assertEqual(d.run(ids[1], "cat /data/f")["stdout"], "shared\n")
        serve = "while :; do echo hello | nc -l -p 80; done"
        d.must(202, "POST", f"/api/sandboxes/{ids[0]}/execute", {"command": serve, "background": True})
        wait_for("an answer", lambda: ask_port(a[0]) == "hello\n")
        address = d.run(ids[0], "ip -4 -o addr show eth0 | sed 's/.*inet \\([0-9.]*\\).*/\\1/'")["stdout"].strip()
        self.assertTrue(address)
        self.assertNotEqual(d.run(ids[1], f"ping -c 1 -W 1 {address} || nc -w 1 {address} 80")["stdout"], "hello\n", "networks do not meet")
        # The next front, and a stop and a start.
        front = d.child("cay-front")
        os.kill(front, signal.SIGKILL)
        wait_for("another", lambda: d.child("cay-front") != front)
        wait_for("the sandbox", lambda: try_run(d, ids[0], "cat /data/f") == "shared\n")
        self.assertEqual([p["host"] for p in status(d, ids[0])["ports"]], a)
        wait_for("an answer as before", lambda: ask_port(a[0]) == "hello\n")
        got = d.must(200, "POST", f"/api/sandboxes/{ids[0]}/stop")
        self.assertEqual([p["host"] for p in got["ports"]], [None, None])
        got = d.must(200, "POST", f"/api/sandboxes/{ids[0]}/start")
        self.assertIn(got["ports"][1]["host"], range(18080, 18180), got)  # Docker's to choose, again
        self.assertIn("eth0", d.run(ids[0], "cat /proc/net/dev")["stdout"])
        for box in ids:
            d.must(200, "DELETE", f"/api/sandboxes/{box}")
        self.assertEqual(docker("network", "ls", "-q", "--filter", "label=cay.id"), "")
        self.assertEqual(len(docker("volume", "ls", "-q", "--filter", "label=cay.volume").split()), 1)
        d.must(200, "DELETE", "/api/volumes/data")
        self.assertEqual(docker("volume", "ls", "-q", "--filter", "label=cay.volume").split(), [])

    def test_volumes(self):
        """An owner's volumes are listed, counted and removed; nobody else's, and none that a sandbox has."""
        d = self.d
        other = d.make_token("--owner", "other")
        admin = d.make_token("--owner", "boss", "--scope", "admin")
        docker("volume", "create", "foreign")
        docker("volume", "create", "--label", "cay.volume=fake", "--label", "cay.owner=default", "--label", "cay.instance=x", "fake")
        wish = {"template": "online", "engine": "docker", "volumes": [f"v{i}:/data/{i}" for i in range(8)]}
        boxes = [d.must(201, "POST", "/api/sandboxes", wish)["sandbox_id"]]
        wish["volumes"] = [f"w{i}:/data/{i}" for i in range(8)]  # more than a page
        boxes.append(d.must(201, "POST", "/api/sandboxes", wish)["sandbox_id"])
        wish["volumes"] = ["v0:/data", "z:/z:ro"]
        boxes.append(d.must(201, "POST", "/api/sandboxes", wish)["sandbox_id"])
        theirs = d.must(201, "POST", "/api/sandboxes", {"template": "online", "engine": "docker", "volumes": ["v0:/data"]}, token=other)["sandbox_id"]
        mine = d.must(200, "GET", "/api/volumes")
        names = sorted([f"v{i}" for i in range(8)] + [f"w{i}" for i in range(8)] + ["z"])
        self.assertEqual([v["name"] for v in mine["volumes"]], names)
        self.assertEqual((mine["count"], mine["more"], {v["owner"] for v in mine["volumes"]}), (17, False, {"default"}))
        self.assertEqual([v["sandboxes"] for v in mine["volumes"]], [2] + [1] * 16)
        self.assertTrue(all(v["created_at"] and v["engine"] == "docker" for v in mine["volumes"]), mine)
        self.assertEqual([(v["name"], v["owner"]) for v in d.must(200, "GET", "/api/volumes", token=other)["volumes"]], [("v0", "other")])
        self.assertEqual(d.must(200, "GET", "/api/volumes", token=admin)["count"], 18)
        self.assertEqual(d.must(200, "GET", "/api/volumes?owner=other", token=admin)["count"], 1)
        d.must(403, "GET", "/api/volumes?owner=default", token=other)
        # What a sandbox has stays, also of one that is stopped; what others have is not there.
        d.must(200, "POST", f"/api/sandboxes/{boxes[1]}/stop")
        for name, token, status, word in (("w3", True, 409, "1 sandbox has"), ("v1", other, 404, "no volume"), ("nil", True, 404, "no volume"),
                                          ("fake", True, 404, "no volume"), ("foreign", True, 404, "no volume"), ("..", True, 400, ""),
                                          ("v0", d.make_token("--scope", "read"), 403, "")):
            a = d.ask("DELETE", f"/api/volumes/{name.replace('.', '%2e')}", token=token)
            self.assertTrue(a.status == status and word in a.json["error"]["message"], (name, a))
        for box in boxes:
            d.must(200, "DELETE", f"/api/sandboxes/{box}")
        d.must(200, "DELETE", "/api/volumes/v0")
        d.must(404, "DELETE", "/api/volumes/v0")
        self.assertEqual(d.must(200, "GET", "/api/volumes")["count"], 16)
        self.assertEqual(d.must(200, "GET", "/api/volumes", token=other)["volumes"][0]["sandboxes"], 1)
        d.must(200, "DELETE", f"/api/sandboxes/{theirs}", token=other)
        d.must(200, "DELETE", "/api/volumes/v0?owner=other", token=admin)
        for name in names[1:]:
            d.must(200, "DELETE", f"/api/volumes/{name}")
        self.assertEqual(sorted(docker("volume", "ls", "-q").split()), ["fake", "foreign"])
        docker("volume", "rm", "fake", "foreign")

    def test_ports_that_the_daemon_answers(self):
        """18765 is the sandbox's MCP, at a port of the host where Cay itself listens: Docker hears nothing of it."""
        d = self.d
        made = d.must(201, "POST", "/api/sandboxes", {"template": "online", "ports": [18765, 80]})
        box, mcp = made["sandbox_id"], made["ports"][0]["host"]
        self.assertTrue(mcp and made["ports"][1]["host"], made)
        bound = json.loads(docker("inspect", "-f", "{{json .HostConfig.PortBindings}}", *containers()))
        self.assertEqual(list(bound), ["80/tcp"])
        with ws_client.WebSocket(mcp, "/", d.token) as w:
            for id_, method, params in ((1, "initialize", {"protocolVersion": "2024-11-05", "capabilities": {}}),
                                        (2, "tools/call", {"name": "run_command", "arguments": {"command": "echo in Docker"}})):
                w.send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}))
                while (m := w.read_json()).get("id") != id_:
                    pass
        self.assertEqual((m["result"]["structuredContent"]["stdout"], m["result"]["structuredContent"]["sandbox_id"]), ("in Docker\n", box))

    def test_networks_that_may_not_be(self):
        d = self.d
        made = d.must(201, "POST", "/api/sandboxes", {"network_mode": "bridge"}, token=d.make_token("--scope", "admin"))
        self.assertEqual((made["engine"], made["network"], made["ports"]), ("native", "bridge", []))
        d.must(200, "DELETE", f"/api/sandboxes/{made['sandbox_id']}")
        for fields, code, word in (({"template": "online", "engine": "docker", "allow": ["a.example"], "secrets": ["KEY"]}, 400, "set it first"), ({"network": "host"}, 422, "host"),
                                   ({"ports": [80]}, 400, "bridge"),
                                   ({"template": "plain", "network": "bridge"}, 403, "plain"),
                                   ({"template": "online", "ports": ["80:80"]}, 400, "1024"),
                                   ({"template": "online", "volumes": ["data:/proc"]}, 400, "/proc")):
            self.assertIn(word, d.must(code, "POST", "/api/sandboxes", fields)["error"]["message"], fields)
        self.assertIn("administrator", d.must(403, "POST", "/api/sandboxes", {"network": "bridge"})["error"]["message"])

    def test_front_and_helper_killed(self):
        boxes, runs = self.both()
        for name in ("cay-front", "cay-docker"):
            pid = self.d.child(name)
            os.kill(pid, signal.SIGKILL)
            wait_for("another", lambda n=name, p=pid: self.d.child(n) != p)
            self.check_both(boxes, runs)

    def test_a_helper_that_dies_while_a_request_waits(self):
        """It is its own engine's trouble: the front lives, native callers are served meanwhile, and the request that waited has its answer."""
        d = self.d
        boxes, runs = self.both()
        front, helper = d.child("cay-front"), d.child("cay-docker")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waits = pool.submit(d.run, boxes[1], "touch begun; until [ -e go ]; do sleep 0.1; done; echo done")
            wait_for("the command", lambda: try_run(d, boxes[1], "ls begun") == "begun\n")
            os.kill(helper, signal.SIGSTOP)
            makes = pool.submit(d.ask, "POST", "/api/sandboxes", {"engine": "docker"})
            os.kill(helper, signal.SIGKILL)
            self.assertEqual(d.run(boxes[0], "cat f")["stdout"], "native\n")
            self.assertEqual(d.child("cay-front"), front)
            wait_for("another helper", lambda: d.child("cay-docker") not in (None, helper) and engines(d)["docker"]["up"])
            wait_for("the sandbox", lambda: try_run(d, boxes[1], "touch go && echo made") == "made\n")
            self.assertEqual(waits.result()["stdout"], "done\n")
            made = makes.result()
            self.assertIn(made.status, (201, 503), made)
        self.check_both(boxes, runs)
        d.run(d.make(engine="docker"), "true")
        self.assertEqual(d.child("cay-front"), front)
        # Nothing is left of the sandbox that nobody got.
        wait_for("as many containers as sandboxes", lambda: len(containers()) == 2 + (made.status == 201))

    def test_figures_hold_up_nothing(self):
        """Docker takes up to a second for them; forty who ask share one call, and a removal does not wait for any."""
        d = self.d
        box = d.make(engine="docker")
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            asked = [pool.submit(d.ask, "GET", f"/api/sandboxes/{box}/stats") for _ in range(40)]
            self.assertEqual({a.result().status for a in asked}, {200})
            asked = [pool.submit(d.ask, "GET", f"/api/sandboxes/{box}/stats") for _ in range(40)]
            d.must(200, "DELETE", f"/api/sandboxes/{box}")
            self.assertLessEqual({a.result().status for a in asked}, {200, 404, 409})

    def test_upgrade(self):
        boxes, runs = self.both()
        front = self.d.child("cay-front")
        self.d.process.send_signal(signal.SIGUSR2)
        wait_for("the new keeper", lambda: "upgraded version=" in self.d.log())
        wait_for("the next front", lambda: self.d.child("cay-front") != front)
        self.check_both(boxes, runs)
        self.assertTrue(engines(self.d)["docker"]["available"])

    def test_docker_away(self):
        d = self.d
        boxes, _ = self.both()
        with comes_back():
            first = dockerd()
            os.kill(first, signal.SIGKILL)
            second = wait_for("the next dockerd", lambda: dockerd() not in (None, first) and dockerd())
            os.kill(second, signal.SIGSTOP)  # before it listens, and for as long as we look
            try:
                wait_for("the word of it", lambda: not engines(d)["docker"]["up"])
                ready = d.must(200, "GET", "/api/health/ready")
                self.assertEqual((ready["engine_up"], ready["engines_down"]), (True, ["docker"]))
                self.assertEqual(d.run(boxes[0], "cat f")["stdout"], "native\n")
                d.make()
            finally:
                os.kill(second, signal.SIGCONT)
        wait_for("Docker again", lambda: engines(d)["docker"]["up"])
        wait_for("its sandbox", lambda: try_run(d, boxes[1], "cat f") == "docker\n")


class Alone(unittest.TestCase):
    def test_one_goes_and_comes_back(self):
        with Daemon("--engine", "auto", *FLAGS) as d:
            box = with_docker(d).make(engine="docker")
            d.run(box, "echo kept > f")
            runs = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 600", "background": True})["exec_id"]
            d.stop()
            # Nobody would hold it to its time: it is stopped, and what it left stays.
            self.assertEqual(docker("ps", "-q"), "")
            self.assertIn("stopping containers", d.log())
            d.flags = ("--engine", "native")
            d.start()
            lost = status(d, box)
            self.assertEqual((lost["status"], lost["cause"], lost["engine"]), ("error", "engine_lost", "docker"), lost)
            self.assertIn("its engine is not available: docker: the setting engine is native", lost["cause_text"])
            self.assertIn("not available", d.must(503, "DELETE", f"/api/sandboxes/{box}")["error"]["message"])
            self.assertEqual(d.must(409, "POST", "/api/sandboxes", {"engine": "docker"})["error"]["field"], "engine")
            self.assertEqual(len(containers()), 1)
            d.run(d.make(), "true")
            d.stop()
            d.flags = ("--engine", "docker", *FLAGS)
            d.start()
            self.assertEqual(list(engines(with_docker(d))), ["native", "docker", "process", "remote"])
            gone = status(d, box)
            self.assertEqual((gone["status"], gone["cause"]), ("error", "sandbox_gone"), gone)
            self.assertEqual(d.must(200, "GET", f"/api/sandboxes/{box}/execs/{runs}")["cause"], "sandbox_gone")
            d.must(200, "POST", f"/api/sandboxes/{box}/start")
            self.assertEqual(d.run(box, "cat f")["stdout"], "kept\n")
            d.must(200, "DELETE", f"/api/sandboxes/{box}")
        self.assertEqual(containers(), [])

    def test_a_helper_that_cannot_start(self):
        with Daemon("--engine", "auto", "--docker-host", "tcp://127.0.0.1:1", "--docker-certs", FOLDER + "/none") as d:
            got = engines(d)["docker"]
            self.assertTrue(not got["available"] and "certificates" in got["why"], got)
            self.assertEqual(d.run(d.make(), "echo on")["stdout"], "on\n")

    def test_a_helper_that_keeps_falling(self):
        """It is given up while the other engine works; an upgrade tries it again, and its sandbox is back."""
        with Daemon("--engine", "auto", *FLAGS) as d:
            boxes = [d.make(), with_docker(d).make(engine="docker")]
            front = d.child("cay-front")
            for i in range(3):
                pid = d.child("cay-docker")
                os.kill(pid, signal.SIGKILL)
                if i < 2:
                    wait_for("the next one", lambda p=pid: d.child("cay-docker") not in (None, p) and engines(d)["docker"]["up"])
            wait_for("its end", lambda: "engine given up" in d.log())
            self.assertEqual(d.run(boxes[0], "echo on")["stdout"], "on\n")
            wait_for("the word of it", lambda: not engines(d)["docker"]["up"])
            self.assertIn("cay-docker is gone", engines(d)["docker"]["why"])
            wait_for("its cause", lambda: status(d, boxes[1]).get("cause") == "engine_lost")
            self.assertEqual(d.must(200, "GET", "/api/health/ready")["engines_down"], ["docker"])
            self.assertEqual(d.child("cay-front"), front)
            d.process.send_signal(signal.SIGUSR2)
            wait_for("its sandbox", lambda: try_run(d, boxes[1], "echo on") == "on\n")
            self.assertEqual(d.run(boxes[0], "echo on")["stdout"], "on\n")
            d.must(200, "DELETE", f"/api/sandboxes/{boxes[1]}")

    def test_where_native_does_not_hold(self):
        """An ordinary user without namespaces: Docker is what there is; with neither, the daemon says why."""
        off = ["unshare", "-U", "--map-user=1001", "--map-group=1001", "--keep-caps", "sh", "-c",
               'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"', "sh",
               CAY, "serve", "--listen", "127.0.0.1:0", "--engine", "auto"]
        with begun(*off, *FLAGS) as d:
            self.assertEqual([(e["available"], e["default"]) for e in engines(d).values()],
                             [(False, False), (True, True), (False, False), (True, False)])
            self.assertIn("max_user_namespaces", engines(d)["native"]["why"])
            box = with_docker(d).make()
            self.assertEqual((status(d, box)["engine"], d.run(box, "id -u")["stdout"]), ("docker", "1001\n"))
            front = d.child("cay-front")
            d.process.send_signal(signal.SIGUSR2)  # there is no warden to be asked
            wait_for("the next front", lambda: "upgraded version=" in d.log() and d.child("cay-front") != front)
            wait_for("its sandbox", lambda: try_run(d, box, "echo on") == "on\n")
            d.must(200, "DELETE", f"/api/sandboxes/{box}")
        if os.path.exists("/var/run/docker.sock"):
            return
        env = {"PATH": os.environ["PATH"]}
        got = subprocess.run([*off, "--data", FOLDER + "/none"], capture_output=True, text=True, check=False, timeout=60, env=env)
        self.assertNotEqual(got.returncode, 0)
        self.assertIn("native: user.max_user_namespaces=0", got.stderr)
        self.assertIn("docker: none is named", got.stderr)

    def test_settings_that_cannot_be(self):
        for engine, words in (("podman", "choose auto, or one of native, docker, process"),):
            got = subprocess.run([CAY, "serve", "--data", FOLDER + "/none", "--engine", engine], capture_output=True,
                                 text=True, check=False, timeout=60)
            self.assertNotEqual(got.returncode, 0)
            self.assertIn(words, got.stderr)
            self.assertFalse(os.path.exists(FOLDER + "/none"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
