# SPDX-License-Identifier: Apache-2.0
"""`make deb` and `make install`: what they put where, that it works from there, and that nothing stays when it is removed.

The package is installed for real, in a root of its own: an overlay over this machine's / in a private mount namespace, entered with
pivot_root (a chroot can make no user namespaces).
"""
import glob
import os
import shutil
import tempfile
import unittest

from installed import flags, run, try_library

BUILD = os.environ["CAY_BUILD_DIR"]
SOURCE = os.environ["CAY_SOURCE_DIR"]
FOLDER = os.path.join(BUILD, "install")  # the package and its build: kept, so that the next time is quick
HERE = os.path.dirname(os.path.abspath(__file__))

ENTER = r"""
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
rm -rf "$1/root/var/lib/cay" # of a Cay that this machine has used: it is not the package's to keep or to remove
for dir in proc sys dev; do mount --rbind "/$dir" "$1/root/$dir"; done
for dir in tmp run; do mount -t tmpfs -o mode=1777 tmpfs "$1/root/$dir"; done
mkdir "$1/root/tmp/upper" "$1/root/tmp/lower" "$1/root/tmp/old"
mount --bind "$1/upper" "$1/root/tmp/upper"
mount --bind / "$1/root/tmp/lower"
cp "$2" "$1/root/tmp/cay.deb"
cp "$3" "$1/root/tmp/installed.py"
cd "$1/root"
pivot_root . tmp/old
cd /
umount -l /tmp/old
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        /usr/bin/python3 /tmp/installed.py /tmp/cay.deb /tmp/upper /tmp/lower
"""

# Every page that is there, so that none is forgotten in docs/meson.build.
DOCS = sorted(f"share/doc/cay/docs/{name}" for pattern in ("*.md", "*.json", "img/*") for name in glob.glob(pattern, root_dir=os.path.join(SOURCE, "docs")))
IN_PREFIX = [
    "bin/cay", "include/cay.h", "lib/cay/cay-agent", "lib/cay/cay-agent-static", "lib/cay/cay-docker", "lib/cay/cay-edge", "lib/cay/cay-front", "lib/cay/cay-init", "lib/cay/cay-net", "lib/cay/cay-process", "lib/cay/cay-tls", "lib/cay/cay-warden", "lib/libcay.so",
    "lib/libcay.so.0", "lib/libcay.so.0.1.0", "lib/pkgconfig/cay.pc", "lib/systemd/system/cay.service", "share/bash-completion/completions/cay",
    "share/cay/images/registry.yaml", "share/cay/images/sandbox/.dockerignore", "share/cay/images/sandbox/Dockerfile",
    "share/cay/images/sandbox/SYSTEM.md", "share/cay/images/sandbox/fetch-node", "share/cay/images/sandbox/install",
    "share/cay/images/sandbox/packages/README.md", "share/doc/cay/LICENSE", "share/doc/cay/README.md", "share/doc/cay/SECURITY.md",
    *DOCS, *(f"share/doc/cay/examples/agent/{name}" for name in ("README.md", "agent.py", "changes.py", "model.py", "tools.py")),
    "share/doc/cay/examples/run_once.c", "share/doc/cay/examples/threads.c", "share/man/man1/cay.1", "share/man/man3/libcay.3",
    "share/zsh/site-functions/_cay",
]


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


class Package(unittest.TestCase):
    def setUp(self):
        os.makedirs(FOLDER, exist_ok=True)  # flock: `make build-deb` may be at it; then it is waited for, and little is left to build
        self.folder = tempfile.mkdtemp(prefix="cay-install-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_debian_package(self):
        deb = run("flock", FOLDER, os.path.join(SOURCE, "packaging", "make_deb"), FOLDER).strip().split("\n")[-1]
        fields = run("dpkg-deb", "-f", deb)
        self.assertRegex(fields, r"\nDepends: libc-ares2 .*, libc6 \(>= 2\.\d+\), libjansson4 .*, libsqlite3-0 .*, libssl3 .*libzstd1 .*zlib1g .*\n")
        self.assertNotRegex(fields, "@[A-Z]+@")
        if shutil.which("lintian"):
            run("lintian", "--fail-on", "error", "--allow-root", deb, env={**os.environ, "TMPDIR": self.folder})
        if os.geteuid() != 0:
            self.skipTest("dpkg needs root to install")
        said = run("unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER,
                   "sh", self.folder, deb, os.path.join(HERE, "installed.py"))
        self.assertIn("installed, used, removed", said)

    def test_prefix(self):
        build, prefix = os.path.join(FOLDER, "build"), os.path.join(self.folder, "prefix")
        make = ["flock", FOLDER, "make", "--no-print-directory", "-C", SOURCE, f"BUILD={build}", f"PREFIX={prefix}"]
        run(*make, "install")
        self.assertEqual(files_below(prefix), IN_PREFIX)
        images = os.path.join(prefix, "share/cay/images")
        run(os.path.join(prefix, "bin", "cay"), "template", "check", os.path.join(images, "registry.yaml"))
        self.assertTrue(all(os.access(os.path.join(images, "sandbox", name), os.X_OK) for name in ("fetch-node", "install")))
        if os.geteuid() == 0:
            self.assertEqual(run(os.path.join(prefix, "bin", "cay"), "run", "--", "/bin/echo", "ok"), "ok\n")
            try_library(os.path.join(prefix, "share/doc/cay/examples"), self.folder,
                        flags(PKG_CONFIG_PATH=os.path.join(prefix, "lib/pkgconfig")),
                        LD_LIBRARY_PATH=os.path.join(prefix, "lib"))
        with open(os.path.join(prefix, "bin", "other"), "w", encoding="utf-8"):
            pass
        run(*make, "uninstall")
        self.assertEqual(files_below(prefix), ["bin/other"])
        self.assertFalse(os.path.exists(os.path.join(prefix, "lib/cay")))
        self.assertFalse(os.path.exists(os.path.join(prefix, "share/doc/cay")))
        self.assertFalse(os.path.exists(os.path.join(prefix, "share/cay")))

    def test_below_another_root(self):
        build, stage = os.path.join(FOLDER, "build"), os.path.join(self.folder, "stage")
        make = ["flock", FOLDER, "make", "--no-print-directory", "-C", SOURCE, f"BUILD={build}", "PREFIX=/opt/cay", f"DESTDIR={stage}"]
        run(*make, "install")
        self.assertEqual(files_below(os.path.join(stage, "opt/cay")), IN_PREFIX)
        self.assertFalse(os.path.exists("/opt/cay"))
        run(*make, "uninstall")
        self.assertEqual(files_below(stage), [])


if __name__ == "__main__":
    unittest.main()
