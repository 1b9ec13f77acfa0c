# SPDX-License-Identifier: Apache-2.0
"""run_isolated: what it hides, what it finds, and that nothing of it stays. Runs on the machine itself: it is what makes the namespaces."""
import contextlib
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RUNNER = sys.argv.pop(1)
PATIENCE_S = 120


def isolated(script, *options):
    return subprocess.run([RUNNER, *options, "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE_S, check=False)


def begin(script):
    return subprocess.Popen([RUNNER, "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def groups_of(child):
    """{path: inode} of the nodes of a running test, in all hierarchies."""
    nodes = {}
    with open(f"/proc/{child}/cgroup", encoding="ascii") as lines:
        own = {line.strip().split(":", 2)[2] for line in lines}
    for mount in ["/sys/fs/cgroup"] + glob.glob("/sys/fs/cgroup/*"):
        for path in own:
            if "/cay-test-" in path and os.path.exists(mount + path):
                nodes[mount + path] = os.stat(mount + path).st_ino
    return nodes


def left_of(nodes):
    """Those that are still there, and not another test's by now."""
    left = []
    for path, number in nodes.items():
        with contextlib.suppress(OSError):
            if os.stat(path).st_ino == number:
                left.append(path)
    return left


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class RunIsolated(unittest.TestCase):
    def test_status_and_output_are_the_commands_own(self):
        done = isolated("echo said; exit 7")
        self.assertEqual((done.returncode, done.stdout), (7, "said\n"))
        self.assertEqual(isolated("kill -TERM $$").returncode, 128 + 15)
        self.assertEqual(subprocess.run([RUNNER, "/nowhere"], check=False, capture_output=True, timeout=PATIENCE_S).returncode, 126)

    def test_the_machine_is_hidden(self):
        mark = f"/tmp/run-isolated-{os.getpid()}"
        with open(mark, "w", encoding="ascii"):
            pass
        self.addCleanup(os.unlink, mark)
        done = isolated(f"test ! -e {mark}; ls /tmp /var/tmp /run /dev/shm; ls -d /var/lib/cay; ps -e -o comm=; cat /proc/self/cgroup; "
                        "ip -o link 2>/dev/null; cat /proc/net/tcp")
        self.assertNotIn("cay-test-", done.stdout)
        self.assertNotIn("eth", done.stdout)
        self.assertIn("cannot access '/var/lib/cay'", done.stdout)
        self.assertLessEqual(len([line for line in done.stdout.splitlines() if line.strip() in ("systemd", "python3", "meson")]), 0)

    def test_a_route_on_request(self):
        self.assertEqual(isolated("cat /proc/net/route | wc -l").stdout, "1\n")
        self.assertIn("192.0.2.1", isolated("ip route", "--route").stdout)

    def test_finds_what_is_left(self):
        for script, left in (
                ("sleep 1000 >/dev/null 2>&1 &", "left: process: "),
                ("touch /tmp/any", "left: temporary: /tmp/any"),
                ("touch /var/tmp/any", "left: temporary: /var/tmp/any"),
                ("mkdir -p /run/cay; touch /run/cay/box-1", "left: record: /run/cay/box-1"),
                ("mkdir /mnt/x 2>/dev/null; mount -t tmpfs none /mnt", "left: mount: none /mnt tmpfs"),
                ("truncate -s 1M /tmp/cay-x; losetup -f /tmp/cay-x; rm /tmp/cay-x", "left: loop: "),
                ("for f in /sys/fs/cgroup /sys/fs/cgroup/unified; do mkdir $f/cay-left 2>/dev/null && test -e $f/cay-left/cgroup.procs"
                 " && break || rmdir $f/cay-left; done", "left: cgroup: ")):
            with self.subTest(left):
                done = isolated(script, "--wait", "10")  # what is left on purpose is not waited for
                self.assertIn(left, done.stdout)
                self.assertEqual(done.returncode, 99)
        for line in subprocess.run(["losetup", "-n", "-O", "NAME,BACK-FILE"], capture_output=True, text=True, check=True).stdout.splitlines():
            if "cay-x" in line:  # left on purpose: the one thing that no namespace takes along
                subprocess.run(["losetup", "-d", line.split()[0]], check=True)

    def test_mounts_of_others(self):
        """Others may unmount theirs and remove the folder while a test runs; a test may not."""
        folder = tempfile.mkdtemp(dir="/mnt")
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
        try:
            done = isolated(f"umount {folder}")
            self.assertIn(f"gone: mount: none {folder} tmpfs", done.stdout)
            self.assertNotEqual(done.returncode, 0)
            child = begin("echo on; read any")
            self.assertEqual(child.stdout.readline(), "on\n")
        finally:
            subprocess.run(["umount", folder], check=True)
            os.rmdir(folder)
        child.communicate("\n", timeout=PATIENCE_S)
        self.assertEqual(child.returncode, 0)

    def test_two_at_once_share_nothing(self):
        script = "touch /tmp/mine /run/mine; sysctl -q kernel.hostname=x; cat /etc/subuid | md5sum; echo $CAY_TEST_FIRST_ID; read line; ls /tmp /run; rm /tmp/mine /run/mine"
        two = [begin(script), begin(script)]
        told = [(child.stdout.readline(), child.stdout.readline()) for child in two]
        self.assertNotEqual(told[0][0], told[1][0])
        self.assertNotEqual(told[0][1], told[1][1])
        for child in two:
            out, _ = child.communicate("go\n", timeout=PATIENCE_S)
            # The folders of the sources and the build are always shown, also where they are below /tmp.
            shown = {path.split("/")[2] for path in (os.path.abspath(__file__), os.getcwd()) if path.startswith("/tmp/")}
            names = [name for name in out.split() if name not in shown]
            self.assertEqual((child.returncode, names), (0, ["/run:", "mine", "/tmp:", "mine"]))

    def test_an_id_range_is_locked_against_other_wardens(self):
        child = begin("echo $CAY_TEST_FIRST_ID; read line")
        slot = (int(child.stdout.readline()) - 0x70000000) // 65536
        taken = subprocess.run(["flock", "--nonblock", f"/run/cay/box-{slot}", "true"], check=False)
        self.assertEqual(taken.returncode, 1)
        child.communicate("go\n", timeout=PATIENCE_S)
        self.assertFalse(os.path.exists(f"/run/cay/box-{slot}"))

    def test_killed_it_takes_everything_along(self):
        child = begin("sleep 1000 & echo $!; wait")
        child.stdout.readline()
        inside = next(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == child.pid)
        nodes = groups_of(inside)
        self.assertTrue(nodes)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=PATIENCE_S)
        for _ in range(PATIENCE_S * 20):
            if not os.path.exists(f"/proc/{inside}"):
                break
            time.sleep(0.05)
        self.assertFalse(os.path.exists(f"/proc/{inside}"))
        # The nodes are removed by the next test with that share: eight tests one after the other are enough for all shares.
        for _ in range(200):
            isolated("true")
            if not left_of(nodes):
                return
        self.fail(f"left: {left_of(nodes)}")

    def test_stopped_by_a_signal_it_cleans_up(self):
        child = begin("echo ready; sleep 1000")
        child.stdout.readline()
        inside = next(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == child.pid)
        nodes = groups_of(inside)
        child.terminate()
        child.communicate(timeout=PATIENCE_S)
        self.assertEqual(left_of(nodes), [])


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return int(f.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


if __name__ == "__main__":
    unittest.main()
