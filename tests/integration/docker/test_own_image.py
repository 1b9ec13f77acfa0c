# SPDX-License-Identifier: Apache-2.0
"""The Dockerfile at the top, built by a real Docker on a base of this machine's own packages (make_self_base), without a network, and
started as its first lines say. Not among the tests of every build: it compiles everything once more (`make test-images`)."""
import json
import os
import re
import subprocess
import tempfile
import time
import unittest

SOURCE = os.environ["CAY_SOURCE_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
BASE, IMAGE, NAME = "cay-self:latest", "cay-own:latest", "cay-own"
BUILD_S, TRIES = 3000, 600


def docker(*words, timeout=120, **more):
    return subprocess.run(["docker", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout, **more)


class OwnImage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([os.path.join(HERE, "make_self_base"), BASE], check=True, timeout=BUILD_S, stdout=subprocess.DEVNULL)
        with tempfile.TemporaryDirectory() as context:
            # What is under version control, as a clone has it.
            files = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], check=True, capture_output=True, timeout=60).stdout
            packed = subprocess.run(["tar", "-C", SOURCE, "--null", "-T", "-", "-c"], input=files, check=True, capture_output=True, timeout=60).stdout
            subprocess.run(["tar", "-C", context, "-x"], input=packed, check=True, timeout=60)
            built = docker("build", "--network", "none", "--build-arg", f"BASE={BASE}", "-t", IMAGE, context, timeout=BUILD_S,
                           env={**os.environ, "DOCKER_BUILDKIT": "0"})
        if built.returncode != 0:
            raise RuntimeError(built.stdout[-4000:])

    def test_as_its_first_lines_say(self):
        with open(os.path.join(SOURCE, "Dockerfile"), encoding="utf-8") as f:
            options = [word for flag in re.findall(r"--security-opt \S+", f.read()) for word in flag.split(" ")]
        self.assertEqual(options.count("--security-opt"), 2, options)
        started = docker("run", "-d", "--name", NAME, "--network", "none", *options, "-e", "PORT=8001", "-v", "cay-own-data:/data", IMAGE)
        self.assertEqual(started.returncode, 0, started.stdout)
        self.addCleanup(docker, "rm", "-f", "-v", NAME)
        for _ in range(TRIES):
            said = docker("logs", NAME).stdout
            if "/execute" in said:
                break
            time.sleep(0.1)
        self.assertIn("http://localhost:8001/", said)
        token = docker("exec", NAME, "cay", "token").stdout.strip()
        ran = docker("exec", NAME, "curl", "-sS", "-H", f"Authorization: Bearer {token}", "-d", json.dumps({"code": "print(6 * 7)"}),
                     "http://localhost:8001/sandbox/execute").stdout
        self.assertEqual(json.loads(ran)["stdout"], "42\n", ran)
        self.assertEqual(docker("stop", "--time", "60", NAME).returncode, 0)
        self.assertEqual(docker("inspect", "-f", "{{.State.ExitCode}}", NAME).stdout.strip(), "0", docker("logs", NAME).stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
