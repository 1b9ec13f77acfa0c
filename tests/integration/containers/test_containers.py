# SPDX-License-Identifier: Apache-2.0
"""Cay inside Docker's containers, as they are by default, hardened, and privileged: a sandbox is made, or the refusal names its
reason and a remedy, and with exactly that remedy it works. `cay doctor` agrees with `cay run` everywhere.

Started as it is, this runs itself under scripts/with_dockerd and then looks whether anything of Docker is left."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.environ["CAY_BUILD_DIR"]
SOURCE = os.environ["CAY_SOURCE_DIR"]
IMAGE = "cay-test"
INSIDE = "CAY_TEST_DOCKERD"
PATIENCE_S = 20
REMEDY = re.compile(r"--security-opt [a-z]+=[A-Za-z]+")

ORDINARY = ["--user", "1000:1000"]
HARDENED = ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--tmpfs", "/tmp"]
OPEN = ["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"]
# What --privileged gives, where this machine itself has not every capability, so that Docker cannot pass all on.
ALMOST_PRIVILEGED = OPEN + ["--security-opt", "apparmor=unconfined", "--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE",
                            "-v", "/sys/fs/cgroup:/sys/fs/cgroup", "-v", "/dev:/dev"]

# Both in one container: starting one costs more than they do.
BOTH = """exec 2>&1
/cay/cay run -- /bin/echo hi from inside; echo "run=$?"
/cay/cay doctor --json; echo "doctor=$?" """


def call(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120, **options)


def import_image(folder):
    """An image of nothing but the places of a root: /usr is this machine's, so that programs find their libraries."""
    for name in ("usr", "etc", "proc", "sys", "dev", "tmp", "run", "var", "root", "cay"):
        os.mkdir(os.path.join(folder, name))
    os.chmod(os.path.join(folder, "tmp"), 0o1777)
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), os.path.join(folder, name))
    with open(os.path.join(folder, "etc", "passwd"), "w", encoding="utf-8") as file:
        file.write("root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/tmp:/bin/sh\n")
    tree = subprocess.run(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE, check=True).stdout
    done = call("docker", "import", "-", IMAGE, input=tree)
    if done.returncode != 0:
        raise RuntimeError(f"docker import: {done.stdout.decode()}")


class Inside:
    """What cay said in a container that was started with these options."""

    def __init__(self, options):
        self.options = options
        done = call("docker", "run", "--rm", "--network", "none", "-v", "/usr:/usr:ro", "-v", f"{BUILD}:/cay:ro",
                    *options, IMAGE, "/bin/sh", "-c", BOTH, text=True)
        self.text = done.stdout
        found = re.fullmatch(r"(.*)run=(\d+)\n(\{.*\})\ndoctor=(\d+)\n", done.stdout, re.S)
        self.started = found is not None
        if found:
            self.said, self.run, self.doctor = found[1], int(found[2]), int(found[4])
            self.report = json.loads(found[3])


class Containers(unittest.TestCase):
    def enter(self, *options):
        seen = Inside(list(options))
        self.assertTrue(seen.started, seen.text)
        self.assertEqual(seen.run == 0, seen.doctor == 0, seen.text)
        self.assertEqual(seen.run == 0, seen.report["works"], seen.text)
        self.assertIn(seen.doctor, (0, 1), seen.text)
        checks = {check["id"]: check for check in seen.report["checks"]}
        self.assertIn("in a container (Docker)", checks["place"]["found"])
        return seen

    def works(self, *options):
        seen = self.enter(*options)
        self.assertEqual((seen.run, seen.said), (0, "hi from inside\n"), f"{options}: {seen.text}")
        return seen

    def refuses(self, reason, *options):
        seen = self.enter(*options)
        self.assertEqual(seen.run, 125, f"{options}: {seen.text}")
        self.assertIn(reason, seen.said)
        return seen

    def mended_by_its_own_words(self, *options):
        """Does what each refusal says until there is none: the remedies are right, and there is an end to them."""
        seen = self.refuses("--security-opt", *options)
        given = list(options)
        for _ in range(3):
            advice = [word for flag in REMEDY.findall(seen.said) for word in flag.split(" ", 1)]
            self.assertTrue(advice, f"{given}: no remedy in: {seen.said}")
            given += advice
            seen = self.enter(*given)
            if seen.run == 0:
                self.assertEqual(seen.said, "hi from inside\n")
                return
        self.fail(f"{given}: {seen.said}")

    def test_default(self):
        self.refuses("the container's seccomp filter forbids user namespaces")
        self.mended_by_its_own_words()

    def test_default_as_ordinary_user(self):
        self.mended_by_its_own_words(*ORDINARY)

    def test_without_filter_proc_is_masked(self):
        seen = self.refuses("/proc is covered in parts here", *ORDINARY, *OPEN[:2])
        self.assertIn("systempaths=unconfined", seen.said)

    def test_hardened(self):
        self.mended_by_its_own_words(*ORDINARY, *HARDENED)

    def test_hardened_as_root(self):
        self.refuses("run cay as an ordinary user", *HARDENED, *OPEN)
        self.works(*ORDINARY, *HARDENED, *OPEN)

    def test_nothing_writable(self):
        self.refuses("Read-only file system", *ORDINARY, *HARDENED[:-2], *OPEN)

    def test_privileged(self):
        seen = Inside(["--privileged"])
        if not seen.started and "unable to apply caps" in seen.text:
            self.works(*ALMOST_PRIVILEGED)
        else:
            self.works("--privileged")


def what_is_there():
    """Of what a Docker leaves when nobody cleans up."""
    there = set()
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        there |= {"mount " + line.split()[4] for line in file}
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        there |= {f"cgroup {folder}/{name}" for name in names if "docker" in name}
    for folder in ("/run", "/tmp", tempfile.gettempdir(), "/var/lib"):
        there |= {f"{folder}/{name}" for name in os.listdir(folder) if "docker" in name or "containerd" in name}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                name = file.read().strip()
        except OSError:
            continue
        if name.startswith(("dockerd", "containerd", "runc")):
            there.add(f"process {name} {pid}")
    with open("/proc/sys/net/ipv4/ip_forward", encoding="utf-8") as file:
        there.add("ip_forward " + file.read().strip())
    return there


def outside():
    before = what_is_there()
    status = subprocess.run([os.path.join(SOURCE, "scripts", "with_dockerd"), sys.executable, *sys.argv],
                            env=dict(os.environ, **{INSIDE: "1"}), check=False).returncode
    for _ in range(PATIENCE_S * 10):
        left = what_is_there() ^ before
        if not left:
            break
        time.sleep(0.1)
    for thing in sorted(left):
        print("differs afterwards:", thing, file=sys.stderr)
    return status if not left else 1


if __name__ == "__main__":
    if INSIDE not in os.environ:
        sys.exit(outside())
    PLACE = tempfile.mkdtemp(prefix="cay-image-")
    try:
        import_image(PLACE)
    finally:
        shutil.rmtree(PLACE)
    unittest.main()
