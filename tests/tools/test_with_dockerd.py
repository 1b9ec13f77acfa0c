# SPDX-License-Identifier: Apache-2.0
"""scripts/with_dockerd with a dockerd that only makes a control group and waits: what is left when it is told to stop."""
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GROUPS = next((f for f in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup") if os.access(f, os.W_OK)), None)
DOCKERD = """#!/bin/sh
while [ "$1" != --cgroup-parent ]; do shift; done
mkdir {groups}$2 && touch {up} && exec sleep 1000
"""
WAIT_S = 120


@unittest.skipUnless(os.geteuid() == 0 and GROUPS, "needs root and control groups")
class WithDockerd(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="cay-with-dockerd-")
        self.addCleanup(shutil.rmtree, self.top)
        self.up = os.path.join(self.top, "up")
        for name, text in {"dockerd": DOCKERD.format(groups=GROUPS, up=self.up), "docker": f"#!/bin/sh\ntest -e {self.up}\n",
                           "containerd": "", "runc": ""}.items():
            with open(os.path.join(self.top, name), "w", opener=lambda path, flags: os.open(path, flags, 0o755), encoding="ascii") as f:
                f.write(text)

    def start(self, script):
        env = dict(os.environ, PATH=self.top + ":" + os.environ["PATH"], TMPDIR=self.top)
        child = subprocess.Popen([os.path.join(TOP, "scripts", "with_dockerd"), "sh", "-c", script], env=env, stdin=subprocess.PIPE)
        self.addCleanup(child.stdin.close)
        return child

    def left(self):
        return [f for f in (os.path.join(self.top, self.name), os.path.join(GROUPS, self.name)) if os.path.exists(f)]

    def wait_for(self, pattern):
        for _ in range(WAIT_S * 10):
            if glob.glob(pattern):
                return glob.glob(pattern)[0]
            time.sleep(0.1)
        self.fail(f"there is no {pattern}")

    def test_told_to_stop_while_its_command_waits(self):
        mark = os.path.join(self.top, "mark")
        child = self.start(f"touch {mark}; while sleep 0.2 </dev/null; do :; done")
        self.wait_for(mark)
        self.name = os.path.basename(self.wait_for(self.top + "/cay-dockerd-*"))
        self.assertTrue(os.path.isdir(os.path.join(GROUPS, self.name)))
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(WAIT_S), 143)
        self.assertEqual(self.left(), [])

    def test_gives_its_input_and_its_status(self):
        child = self.start("read word; test $word = here && exit 5")
        self.name = os.path.basename(self.wait_for(self.top + "/cay-dockerd-*"))
        child.stdin.write(b"here\n")
        child.stdin.flush()
        self.assertEqual(child.wait(WAIT_S), 5)
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    unittest.main()
