# SPDX-License-Identifier: Apache-2.0
"""Images of templates on a real Docker (docker/run): built from a Dockerfile, built again only when its files change, found again, removed."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from daemon import CAY, Daemon, wait_for  # noqa: E402
from test_openapi import Api  # noqa: E402
from real_docker import AWAY, docker, dockerd, with_docker  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "page"))
from test_page import Helper, serve_steps  # noqa: E402

BASE = "cay-test:latest"
REGISTRY = """
containers:
  box:
    description: "A box with a tool"
    dockerfile: ./box/Dockerfile
    build: {args: {BASE: "%s", WORD: "hello"}}
  broken:
    dockerfile: broken/Dockerfile
  slow:
    dockerfile: slow/Dockerfile
  late:
    dockerfile: slow/Dockerfile
    build: {timeout: 1}
  coloured:
    dockerfile: coloured/Dockerfile
  waits:
    dockerfile: waits/Dockerfile
  online:
    dockerfile: online/Dockerfile
    build: {network_mode: bridge}
  offline:
    dockerfile: offline/Dockerfile
  mounts:
    dockerfile: mounts/Dockerfile
  heredoc:
    dockerfile: heredoc/Dockerfile
  plain:
    host: true
    engine: docker
""" % BASE
BOX = """ARG BASE=none:at-all
FROM ${BASE}
ARG WORD
COPY tool /usr/bin/tool
RUN echo $WORD > /word && id -u > /who && ls /sys/class/net > /net
ENV FROM_IMAGE=yes
"""


# What runs in a build may write anything: it is for no terminal, and no page, to obey.
COLOURED = f"""FROM {BASE}
RUN printf '\\033[31mred\\033[0m and \\033]0;title\\007green\\302\\233 0%%\\r\\033[31mred\\033[0m and \\033[32mgreen\\033[0m, 100%%\\n\\377\\302\\233\\n'
"""
# Ends when it is told to.
WAITS = f"FROM {BASE}\nRUN echo begun; until [ -e /go ]; do sleep 0.1; done; rm /go; echo after it\n"


GATEWAY = "172.30.99.1"  # of Docker's own bridge (meson.build), in its own network namespace
FETCH = f"FROM {BASE}\nRUN echo %s; wget -q -O /got http://{GATEWAY}:8099/f && cat /got\n"


def go_on():
    """For the build that waits: its container is the one that runs, once those of builds that were cancelled have gone."""
    def alone():
        found = docker("ps", "-q").split()
        return found[0] if len(found) == 1 else None

    docker("exec", wait_for("one container", alone), "touch", "/go")


def images(name):
    return docker("images", "-q", "--no-trunc", "--filter", f"label=cay.template={name}").split()


class PageHelper(Helper):
    """For tests/integration/page/steps_builds.mjs."""

    def begin(self, owner, name):
        r, c = self.d.begin("POST", f"/api/templates/{name}/build", {"no_cache": True}, token=self.d.make_token("--scope", "admin"),
                            headers={"Accept": "application/x-ndjson"})
        wait_for("the build", lambda: json.loads(r.readline()).get("line") == "begun")
        r.close()
        c.close()

    def go_on(self, owner):
        go_on()


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="cay-registry-")
        os.chmod(cls.folder, 0o755)
        cls.put("registry.yaml", REGISTRY)
        cls.put("box/Dockerfile", BOX)
        cls.put("box/tool", "#!/bin/sh\necho tool 1\n", 0o755)
        cls.put("box/SYSTEM.md", "Use tool.\n")
        cls.put("box/.dockerignore", "*.tmp\n")
        cls.put("broken/Dockerfile", f"FROM {BASE}\nRUN echo before\nRUN echo to stderr >&2; exit 7\n")
        cls.put("slow/Dockerfile", f"FROM {BASE}\nRUN echo begun; sleep 60\n")
        cls.put("coloured/Dockerfile", COLOURED)
        cls.put("waits/Dockerfile", WAITS)
        cls.put("mounts/Dockerfile", f"FROM {BASE}\nRUN --mount=type=cache,target=/c echo x\n")
        cls.put("heredoc/Dockerfile", f"FROM {BASE}\nRUN <<EOF\necho x\nEOF\n")
        cls.put("online/Dockerfile", FETCH % "online")
        cls.put("offline/Dockerfile", FETCH % "offline")
        cls.d = with_docker(Daemon("--engine", "docker", "--docker-host", os.environ["DOCKER_HOST"], "--docker-images", BASE,
                                   "--registry", os.path.join(cls.folder, "registry.yaml")).start())
        cls.admin = cls.d.make_token("--scope", "admin")
        cls.api = Api(cls.d)

    @classmethod
    def tearDownClass(cls):
        print("the daemon's last words:\n" + cls.d.log()[-2000:])
        cls.d.__exit__(None, None, None)
        shutil.rmtree(cls.folder)

    @classmethod
    def put(cls, name, text, mode=0o644):
        path = os.path.join(cls.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def ask(self, op, status, name, body=None):
        """An answer that is as the OpenAPI document says."""
        method, path, row = self.api.ops[op]
        a = self.d.ask(method.upper(), path.replace("{name}", name), body, token=self.admin)
        self.assertEqual(a.status, status, a)
        self.api.check_answer(row, a)
        return a.json

    def template(self, name):
        return self.ask("template_get", 200, name)

    def state(self, name):
        return self.template(name)["build"]["state"]

    def build(self, name, status=200, **fields):
        return self.ask("template_build", status, name, fields)

    def stream(self, name, **fields):
        r, c = self.d.begin("POST", f"/api/templates/{name}/build", fields, token=self.admin,
                            headers={"Accept": "application/x-ndjson"})
        self.assertEqual(r.status, 200)
        return r, c

    def cay(self, *words):
        return subprocess.run([CAY, "template", *words, "--url", f"unix:{self.d.socket}"], capture_output=True, text=True,
                              check=False, timeout=120)

    def test_1_a_template_that_is_not_built(self):
        t = self.template("box")
        self.assertEqual((t["build"]["state"], t["available"], t["build"]["image"]), ("none", False, None))
        self.assertIn("cay template build box", t["why"])
        self.assertNotIn("build", self.template("plain"))
        a = self.d.ask("POST", "/api/sandboxes", {"template": "box"})
        self.assertEqual(a.status, 409, a)
        self.assertIn(b"cay template build box", a.body)
        rows = {row["name"]: row for row in self.d.must(200, "GET", "/containers")["containers"]}
        self.assertEqual((rows["box"]["build"], rows["box"]["available"], rows["plain"]["build"]), ("none", False, "ready"))
        self.assertEqual(self.d.ask("POST", "/api/templates/box/build", {}).status, 403)  # admin alone
        self.assertEqual(self.d.ask("DELETE", "/api/templates/box/image").status, 403)
        self.ask("template_remove", 404, "box")
        self.build("none", 404)
        self.build("plain", 409)

    def test_2_built_line_by_line(self):
        r, c = self.stream("box")
        events = [json.loads(line) for line in r.read().splitlines() if line]
        c.close()
        lines = [e["line"] for e in events if e["event"] == "output"]
        self.assertTrue(any(line.startswith("Step 1/") for line in lines), lines)
        self.assertTrue(any(line.startswith("Successfully built") for line in lines), lines)
        end = events[-1]
        self.assertEqual((end["event"], end["state"], end["up_to_date"], end["error"]), ("end", "built", False, None))
        self.assertEqual(images("box"), [end["image"]])
        config = json.loads(docker("inspect", end["image"]))[0]
        self.assertEqual(config["RepoTags"], [f"cay/box:{end['context']}"])
        self.assertEqual(config["Config"]["Labels"]["cay.instance"], os.path.join(self.d.folder, "data"))
        t = self.template("box")
        self.assertEqual((t["build"]["state"], t["available"], t["build"]["image"]), ("built", True, end["image"]))
        self.assertGreater(t["build"]["size_bytes"], 100000)
        self.assertIsNotNone(t["build"]["built_at"])
        box = self.d.make(template="box")
        got = self.d.run(box, "tool; cat /word /who /net")
        self.assertEqual(got["stdout"], "tool 1\nhello\n0\nlo\n", got)  # the build ran as root of its own, with no network
        self.assertEqual(self.d.run(box, "id -u")["stdout"], "1001\n")
        self.d.must(200, "DELETE", f"/api/sandboxes/{box}")

    def test_3_built_again_only_when_files_change(self):
        first = self.template("box")["build"]["image"]
        self.put("box/tool", "#!/bin/sh\necho tool 1\n", 0o755)  # the same, at another time
        self.put("box/left-out.tmp", "x")
        got = self.build("box")
        self.assertEqual((got["up_to_date"], got["image"], got["state"]), (True, first, "built"))
        self.put("box/tool", "#!/bin/sh\necho tool 2\n", 0o755)
        t = self.template("box")
        self.assertEqual((t["build"]["state"], t["available"]), ("stale", True))
        box = self.d.make(template="box")  # what was built is there to be used
        self.assertEqual(self.d.run(box, "tool")["stdout"], "tool 1\n")
        got = self.build("box")
        self.assertEqual((got["up_to_date"], got["state"]), (False, "built"))
        self.assertNotEqual(got["image"], first)
        self.assertIn(first, images("box"))  # a container needs it
        self.assertIn("cay ls --template box", self.ask("template_remove", 409, "box")["error"]["message"])
        self.assertEqual(images("box"), [first])
        got = self.build("box")
        self.d.must(200, "DELETE", f"/api/sandboxes/{box}")
        got = self.build("box", no_cache=True)
        self.assertFalse(got["up_to_date"])
        self.assertEqual(images("box"), [got["image"]])
        self.assertEqual(len(self.ask("template_list", 200, "")["templates"]), 11)
        other = self.d.make(template="box")
        self.assertEqual(self.d.run(other, "tool")["stdout"], "tool 2\n")
        self.d.must(200, "DELETE", f"/api/sandboxes/{other}")

    def test_4_a_build_that_fails(self):
        got = self.build("broken")
        self.assertEqual((got["state"], got["image"]), ("failed", None))
        self.assertIn("Step 3/", got["step"])
        self.assertIn("returned a non-zero code: 7", got["error"])
        self.assertIn("to stderr\n", got["output"])
        t = self.template("broken")
        self.assertEqual((t["build"]["state"], t["available"]), ("failed", False))
        self.assertIn("code: 7", t["build"]["error"])
        p = self.cay("build", "broken")
        self.assertEqual(p.returncode, 1, p)
        self.assertIn("Step 3/", p.stderr)
        self.assertIn("before\n", p.stdout)
        self.assertEqual(images("broken"), [])
        os.rename(os.path.join(self.folder, "broken"), os.path.join(self.folder, "gone"))
        os.symlink("gone", os.path.join(self.folder, "broken"))  # not followed
        got = self.build("broken")
        self.assertEqual(got["state"], "failed")
        self.assertNotIn("non-zero", got["error"])
        os.unlink(os.path.join(self.folder, "broken"))
        os.rename(os.path.join(self.folder, "gone"), os.path.join(self.folder, "broken"))

    def test_4_what_needs_buildkit(self):
        for name, word in (("mounts", "mount"), ("heredoc", "unknown instruction: ECHO")):
            got = self.build(name)
            self.assertEqual(got["state"], "failed", got)
            self.assertIn(word, got["error"])
            self.assertIn("classic builder", got["error"])
            self.assertIn("COPY files instead", got["error"])
            self.assertIn("classic builder", got["output"])

    def test_5_one_at_a_time_and_cancelled(self):
        r, c = self.stream("slow", cancel=True)
        wait_for("the build", lambda: json.loads(r.readline()).get("line") == "begun")
        self.assertEqual(self.state("slow"), "building")
        self.assertIn("without no_cache", self.build("slow", 409, no_cache=True)["error"]["message"])
        self.assertIn("being built", self.ask("template_remove", 409, "slow")["error"]["message"])
        second, other = self.stream("slow", cancel=True)
        wait_for("the same build", lambda: json.loads(second.readline()).get("line") == "begun")
        for left in (r, c, second, other):
            left.close()
        wait_for("the end of it", lambda: self.state("slow") == "failed")
        self.assertIn("cancelled", self.template("slow")["build"]["error"])
        wait_for("no container of it", lambda: not docker("ps", "-q").split())
        got = self.build("late")
        self.assertEqual((got["state"], "took longer than 1 s" in got["error"]), ("failed", True), got)
        begun = [line for line in got["output"].splitlines() if line.startswith("Step ")]  # as far as this machine came in a second
        self.assertEqual(got["step"], begun[-1] if begun else None, got)
        self.assertTrue(got["output"].endswith(got["error"] + "\n"), got)
        wait_for("no container of it", lambda: not docker("ps", "-q").split())

    def test_5_a_network_for_a_build(self):
        self.put("www/f", "from the gateway\n")
        server = subprocess.Popen(["nsenter", "-t", str(dockerd()), "-n", sys.executable, "-u", "-m", "http.server", "8099", "--bind", GATEWAY,
                                   "--directory", os.path.join(self.folder, "www")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.assertIn("Serving", server.stdout.readline())
            got = self.build("online")
            self.assertEqual((got["state"], "from the gateway\n" in got["output"]), ("built", True), got)
            got = self.build("offline")  # the default
            self.assertEqual((got["state"], "non-zero code" in got["error"]), ("failed", True), got)
            self.assertIn("network_mode: bridge", got["output"])
        finally:
            server.kill()
            server.communicate()
        self.ask("template_remove", 200, "online")

    def test_6_it_outlives_its_front(self):
        self.put("slow/Dockerfile", f"FROM {BASE}\nRUN echo begun; sleep 2\n")
        r, c = self.stream("slow")
        wait_for("the build", lambda: json.loads(r.readline()).get("line") == "begun")
        os.kill(self.d.child("cay-front"), signal.SIGKILL)
        c.close()

        def is_built():
            try:
                return self.state("slow") == "built"
            except AWAY:
                return False  # there is no front now

        wait_for("the image", is_built)
        self.assertEqual(self.ask("template_remove", 200, "slow"), {"template": "slow", "removed": 1})

    def test_6_one_that_runs_is_joined(self):
        first, c = self.stream("waits", cancel=True)
        wait_for("the build", lambda: json.loads(first.readline()).get("line") == "begun")
        second, other = self.stream("waits", cancel=True)
        self.assertIn("runs already; from its beginning", json.loads(second.readline())["line"])
        self.assertIn("Step 1/", json.loads(second.readline())["line"])
        wait_for("what was said", lambda: json.loads(second.readline()).get("line") == "begun")
        by_hand = subprocess.Popen([CAY, "template", "build", "waits", "--url", f"unix:{self.d.socket}"], stdout=subprocess.PIPE, text=True)
        wait_for("a third one", lambda: by_hand.stdout.readline() == "begun\n")
        first.close()  # who began it goes; it is not ended for that
        c.close()
        self.assertEqual(self.state("waits"), "building")
        go_on()
        events = [json.loads(line) for line in second.read().splitlines() if line]
        other.close()
        self.assertIn("after it", [e.get("line") for e in events])
        self.assertEqual((events[-1]["event"], events[-1]["state"], events[-1]["error"]), ("end", "built", None))
        said = by_hand.communicate(timeout=60)[0]
        self.assertEqual(by_hand.returncode, 0)
        self.assertIn("after it\n", said)
        self.assertIn(f"built: {events[-1]['image']}", said)
        self.ask("template_remove", 200, "waits")

    def test_7_what_a_build_writes_is_text(self):
        r, c = self.stream("coloured")
        lines = [json.loads(line).get("line", "") for line in r.read().splitlines() if line]
        c.close()
        self.assertTrue(any("\x1b[32mgreen\x1b[0m" in line for line in lines), lines)  # data, as it came
        p = self.cay("build", "coloured", "--no-cache")
        self.assertEqual(p.returncode, 0, p)
        self.assertIn("\nred and green, 100%\n", p.stdout)
        self.assertNotRegex(p.stdout + p.stderr, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        self.ask("template_remove", 200, "coloured")

    def test_7_by_hand(self):
        docker("tag", BASE, "cay/box:mine")  # by its name it might be ours
        p = self.cay("ls")
        rows = {line.split()[0]: line.split() for line in p.stdout.splitlines()}
        self.assertEqual(rows["TEMPLATE"][:5], ["TEMPLATE", "ENGINE", "AVAILABLE", "BUILD", "SIZE"], p)
        self.assertEqual(rows["box"][1:4], ["docker", "yes", "built"])
        self.assertEqual(rows["broken"][2:4], ["no", "failed"])
        p = self.cay("build", "box")
        self.assertEqual(p.returncode, 0, p)
        self.assertIn("up to date: sha256:", p.stdout)
        p = self.cay("rm", "box")
        self.assertEqual((p.returncode, p.stdout), (0, "box\n"), p)
        self.assertEqual(images("box"), [])
        self.assertEqual(self.state("box"), "none")
        self.assertNotEqual(docker("images", "-q", "cay/box:mine"), "")
        p = self.cay("rm", "box")
        self.assertEqual(p.returncode, 125, p)
        self.assertIn("has no image", p.stderr)
        p = self.cay("build", "--quiet", "box")
        self.assertEqual((p.returncode, p.stdout), (0, ""), p)
        docker("rmi", "cay/box:mine")
        p = subprocess.run([CAY, "token", "--login", "--owner", "uid:0", "--data", os.path.join(self.d.folder, "data")], capture_output=True,
                           text=True, check=False, timeout=60)
        self.assertEqual((p.returncode, p.stdout), (2, ""), p)
        self.assertRegex(p.stderr, "^cay token: owner: [^{}]*\n$")  # the daemon's words, not its JSON

    def test_8_on_the_page(self):
        serve_steps(self.d, ["real_builds"], PageHelper)


if __name__ == "__main__":
    unittest.main(verbosity=2)
