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
