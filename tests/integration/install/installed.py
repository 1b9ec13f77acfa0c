# SPDX-License-Identifier: Apache-2.0
"""What is done with an installed Cay, wherever it was installed to; as a program: with the Debian package, in a root of its own.

    installed.py DEB UPPER LOWER    UPPER and LOWER: the two sides of the overlay that is our root
"""
import fcntl
import filecmp
import os
import re
import stat
import subprocess
import sys
import time

STRICT = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]

# What dpkg and its triggers keep for themselves.
DPKG_OWN = re.compile(r"var/(lib/dpkg|log|cache/(ldconfig|man))(/|$)|etc/ld\.so\.cache$")


def run(*command, status=0, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, **options)
    assert done.returncode == status, f"{' '.join(command)} ended with {done.returncode}: {done.stdout}"
    return done.stdout


def flags(**env):
    return run("pkg-config", "--cflags", "--libs", "cay", env={**os.environ, **env}).split()


def as_user(*command):
    """The same as an ordinary user: no privileges, no name, no groups."""
    return ("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--inh-caps=-all", *command)


def try_library(examples, folder, cc_flags, **env):
    """Compiles the installed examples against the installed library as a stranger would, and runs them."""
    env = {**os.environ, **env}
    os.chmod(folder, 0o755)
    for compiler in ("gcc", "clang"):
        for name in ("run_once", "threads"):
            run(compiler, *STRICT, os.path.join(examples, name + ".c"), *cc_flags, "-pthread",
                "-o", os.path.join(folder, name))
    work = os.path.join(folder, "work")
    os.mkdir(work)
    run_once = [os.path.join(folder, "run_once"), "task-123", work]
    said = run(*run_once, "30", "64", "echo hello | tee file; exit 3", status=3, env=env)
    assert "hello\n" in said and "task-123: exited" in said, said
    with open(os.path.join(work, "file"), encoding="utf-8") as file:
        assert file.read() == "hello\n"
    said = run(*run_once, "0.2", "64", "sleep 60", status=124, env=env)
    assert "wall_time" in said, said
    said = run(*run_once, "soon", "64", "true", status=125, env=env)
    assert "invalid: wall_time" in said, said
    threads = (os.path.join(folder, "threads"), "2", "2")
    for command in (threads, as_user(*threads)):
        assert run(*command, env=env) == "4 of 4 runs were good\n"


def changes(upper, lower):
    """What is no longer as it was, dpkg's own files apart."""
    found = []
    for at, folders, files in os.walk(upper):
        for name in folders + files:
            path = os.path.join(at, name)
            rel = os.path.relpath(path, upper)
            was = os.path.join(lower, rel)
            mode = os.lstat(path).st_mode
            if DPKG_OWN.match(rel) or rel == "var/lib/cay" and stat.S_ISCHR(mode):  # hidden at the start, if it was there
                continue
            if stat.S_ISCHR(mode):  # how an overlay says that something was removed
                found.append(f"gone: /{rel}")
            elif not os.path.lexists(was):
                found.append(f"left: /{rel}")
            elif stat.S_ISREG(mode) and not filecmp.cmp(path, was, shallow=False):
                found.append(f"changed: /{rel}")
    return found


def start_daemon():
    """One on the package's data folder, as the service's is, and a sandbox of it."""
    with open("/tmp/daemon.log", "wb") as log:
        daemon = subprocess.Popen(["cay", "serve", "--data", "/var/lib/cay", "--listen", "127.0.0.1:0"], stdout=log, stderr=log,
                                  stdin=subprocess.DEVNULL)
    for _ in range(1200):
        with open("/tmp/daemon.log", encoding="utf-8") as log:
            if "/execute" in log.read():
                break
        assert daemon.poll() is None, "the daemon does not start"
        time.sleep(0.05)
    return daemon, run("cay", "create", "--data", "/var/lib/cay").strip()


def main(deb, upper, lower):
    assert not os.path.exists("/usr/lib/cay"), "Cay is installed on this machine: this would replace it"
    run("dpkg", "-i", deb)
    listed = run("dpkg", "-L", "cay").split("\n")
    libdir = "lib/" + run("gcc", "-print-multiarch").strip()
    for path in ("bin/cay", "lib/cay/cay-agent", "lib/cay/cay-docker", "lib/cay/cay-edge", "lib/cay/cay-front", "lib/cay/cay-init", "lib/cay/cay-net", "lib/cay/cay-process", "lib/cay/cay-tls", "lib/cay/cay-warden", f"{libdir}/libcay.so", f"{libdir}/libcay.so.0",
                 f"{libdir}/pkgconfig/cay.pc", "include/cay.h", "share/man/man1/cay.1.gz", "share/man/man3/libcay.3.gz",
                 "share/cay/images/registry.yaml", "share/cay/images/sandbox/Dockerfile", "share/doc/cay/copyright", "share/doc/cay/docs/deployment.md", "share/doc/cay/README.md", "share/bash-completion/completions/cay", "share/zsh/site-functions/_cay"):
        assert "/usr/" + path in listed, path
    assert run("dpkg", "-V", "cay") == ""
    assert changes(upper, lower), "an installation that changes nothing: is this the right folder?"
    for command in (("cay", "run"), as_user("cay", "run")):
        assert run(*command, "--", "/bin/echo", "ok") == "ok\n"
    if re.search(r"^  doctor", run("cay", "help"), flags=re.M):
        run("cay", "doctor")
    os.mkdir("/tmp/try")
    try_library("/usr/share/doc/cay/examples", "/tmp/try", flags())
    run("cay", "run", "--workspace", "/tmp/try/work:cow", "--", "/bin/sh", "-c", "echo changed > file")
    assert "changed" in run("cay", "diff", "last")
    daemon, box = start_daemon()
    run("dpkg", "-r", "cay")
    assert daemon.wait(60) == 0, "a daemon is stopped, in order, before its programs go"
    with open("/tmp/daemon.log", encoding="utf-8") as log:
        assert "stopping" in log.read()
    assert os.listdir("/var/lib/cay/runs"), "what a run changed is kept when the package is only removed"
    assert [n for n in os.listdir("/var/lib/cay/layers") if box in n], "and so are the files of sandboxes"
    with open("/var/lib/cay/lock", "rb") as lock:  # a daemon from elsewhere
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = run("dpkg", "--purge", "cay", status=1)
        assert "still uses /var/lib/cay" in said and os.listdir("/var/lib/cay/runs"), said
    run("dpkg", "--purge", "cay")
    assert not os.path.exists("/var/lib/cay")
    assert "cay" not in run("dpkg-query", "-W", "-f", "${Package}\n").split()
    left = changes(upper, lower)
    assert not left, "\n".join(left)
    assert not os.path.exists("/run/cay") or not os.listdir("/run/cay"), os.listdir("/run/cay")
    print("installed, used, removed")


if __name__ == "__main__":
    main(*sys.argv[1:])
