# SPDX-License-Identifier: Apache-2.0
"""packaging/Containerfile's daemon in a real container: its own options, user and command, on an image of this machine's /usr (nothing can be
pulled here). Runs itself under scripts/with_dockerd, as test_containers.py does, whose helpers it uses."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_containers import BUILD, IMAGE, INSIDE, SOURCE, call, import_image, outside  # noqa: E402

NAME = "cay-serve-inside"
TRIES = 600


def recipe():
    with open(os.path.join(SOURCE, "packaging", "Containerfile"), encoding="utf-8") as f:
        text = f.read()
    options = [word for flag in re.findall(r"--security-opt \S+", text) for word in flag.split(" ")]
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1])
    variables = [word for pair in re.search(r"^ENV (.*)$", text, re.M)[1].split() for word in ("-e", pair)]
    return options + variables, re.search(r"^USER (.*)$", text, re.M)[1], entry


class ServeInside(unittest.TestCase):
    def test_recipe(self):
        options, user, entry = recipe()
        self.assertEqual(entry[:2], ["/usr/bin/cay", "serve"])
        self.assertEqual(options.count("--security-opt"), 2, options)
        self.assertIn("CAY_DATA=/data", options)
        uid = user.split(":")[0]
        started = call("docker", "run", "-d", "--name", NAME, "--network", "none", "--user", user, *options,
                       "-v", "/usr:/usr:ro", "-v", f"{BUILD}:/cay:ro", "--tmpfs", f"/data:uid={uid},gid={uid},mode=0700",
                       "-e", "PATH=/usr/bin:/bin", IMAGE, "/cay/cay", *entry[1:], text=True)
        self.assertEqual(started.returncode, 0, started.stdout)
        self.addCleanup(call, "docker", "rm", "-f", NAME)
        for _ in range(TRIES):
            said = call("docker", "logs", NAME, text=True).stdout
            if "/execute" in said:
                break
            time.sleep(0.1)
        self.assertIn("/execute", said)
        self.assertNotIn("cay1.", said)  # a container's log is read by many
        self.assertNotIn("#login=", said)
        made = subprocess.run(["docker", "exec", NAME, "/cay/cay", "token", "--data", "/data"], capture_output=True, text=True, check=True,
                              timeout=120)
        token = made.stdout.strip()
        box = self.ask(token, "POST", "/api/sandboxes", {})
        self.assertEqual(box["status"], "ready", box)
        ran = self.ask(token, "POST", f"/api/sandboxes/{box['sandbox_id']}/execute", {"command": "id -u; echo hi from inside"})
        self.assertEqual((ran["exit_code"], ran["stdout"]), (0, "1001\nhi from inside\n"), ran)
        self.assertEqual(self.ask(token, "DELETE", f"/api/sandboxes/{box['sandbox_id']}")["status"], "destroyed")
        self.assertEqual(call("docker", "stop", "--time", "60", NAME).returncode, 0)  # as long as it needs, before Docker kills it
        ended = call("docker", "inspect", "-f", "{{.State.ExitCode}}", NAME, text=True).stdout.strip()
        self.assertEqual(ended, "0", call("docker", "logs", NAME, text=True).stdout)

    def test_compose(self):
        """What packaging/compose.yaml makes of the image: its user owns the folder that the daemon is given."""
        options, user, entry = recipe()
        with open(os.path.join(SOURCE, "packaging", "compose.yaml"), encoding="utf-8") as f:
            service = re.search(r"^  api:\n(?:    .*\n|\n)+", f.read(), re.M)[0]
        place = (re.search(r"^ +CAY_DATA: (\S+)", service, re.M) or re.search(r"CAY_DATA=(\S+)", " ".join(options)))[1]
        volume = re.search(r"^ +- data:(\S+)$", service, re.M)[1]
        self.assertEqual(place, volume)
        mount = [] if volume == "/data" else ["-v", f"cay-compose-data:{volume}"]
        uid = user.split(":")[0]  # the image's own /data is that user's, and a new volume there would be too
        name = f"{NAME}-compose"
        started = call("docker", "run", "-d", "--name", name, "--network", "none", "--user", re.search(r'^    user: "(\S+)"', service, re.M)[1],
                       *options, "-v", "/usr:/usr:ro", "-v", f"{BUILD}:/cay:ro", "--tmpfs", f"/data:uid={uid},gid={uid},mode=0700", *mount,
                       "-e", "PATH=/usr/bin:/bin", "-e", f"CAY_DATA={place}", "-e", "CAY_ENGINE=docker", "-e", "CAY_DOCKER_IMAGE=none",
                       "-e", "DOCKER_HOST=tcp://127.0.0.1:1", IMAGE, "/cay/cay", *entry[1:], text=True)
        self.assertEqual(started.returncode, 0, started.stdout)
        self.addCleanup(call, "docker", "rm", "-f", "-v", name)
        for _ in range(TRIES):
            said = call("docker", "logs", name, text=True).stdout
            if "/execute" in said or call("docker", "inspect", "-f", "{{.State.Running}}", name, text=True).stdout.strip() != "true":
                break
            time.sleep(0.1)
        self.assertIn("/execute", said)
        token = call("docker", "exec", name, "/cay/cay", "token", text=True)  # as docs/compose.md has it: without --data
        self.assertTrue(token.stdout.startswith("cay1."), token.stdout)

    def ask(self, token, method, path, body=None):
        done = subprocess.run(["docker", "exec", NAME, "curl", "-sS", "--max-time", "100", "-X", method, "-H", f"Authorization: Bearer {token}",
                               *(["-d", json.dumps(body)] if body is not None else []), f"http://localhost:8888{path}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return self.fail(f"{method} {path}: {done.stdout}\n{call('docker', 'logs', NAME, text=True).stdout}")


if __name__ == "__main__":
    if INSIDE not in os.environ:
        sys.exit(outside())
    PLACE = tempfile.mkdtemp(prefix="cay-image-")
    try:
        import_image(PLACE)
    finally:
        shutil.rmtree(PLACE)
    unittest.main()
