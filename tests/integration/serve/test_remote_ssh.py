#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
`cay remote add USER@HOST` by Debian's sshd and ssh: a server on loopback with a host key of its own, for an ordinary user whose home is below /tmp. All
of it is in mount and network namespaces of this test: /etc/passwd is another one there.
"""
import contextlib
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
from daemon import BUILD, CAY, PATIENCE_S, Daemon, wait_for  # noqa: E402
from test_programs import Elf  # noqa: E402

SSHD = "/usr/sbin/sshd"
SKIP = ["memory", "swap", "cpus", "pids", "disk", "inodes"]
INSIDE = "CAY_TEST_SSH_INSIDE"
UID = 12345  # of the user, who is on no machine


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=PATIENCE_S, **more)


def write(path, text, mode=0o600, uid=0):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    os.chown(path, uid, uid)


def private_accounts(folder):
    """root and the user `me` with homes in this folder, for this mount namespace."""
    keeps = [line for line in open("/etc/passwd", encoding="utf-8") if line.split(":")[0] not in ("root", "me")]
    write(f"{folder}/passwd", f"root:x:0:0:root:{folder}/root:/bin/sh\nme:*:{UID}:{UID}:me:{folder}/me:/bin/sh\n" + "".join(keeps), 0o644)
    groups = [line for line in open("/etc/group", encoding="utf-8") if line.split(":")[0] != "me"]
    write(f"{folder}/group", "".join(groups) + f"me:x:{UID}:\n", 0o644)
    for name in ("passwd", "group"):
        run("mount", "--bind", f"{folder}/{name}", f"/etc/{name}")
    for name, uid in (("root", 0), ("me", UID)):
        os.makedirs(f"{folder}/{name}/.ssh", mode=0o700)
        for path in (f"{folder}/{name}", f"{folder}/{name}/.ssh"):
            os.chown(path, uid, uid)
            os.chmod(path, 0o700)
    assert pwd.getpwnam("me").pw_uid == UID


class Server:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs("/run/sshd", exist_ok=True)
        for name in ("host", "other", "root/.ssh/id"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}")
        with open(f"{folder}/root/.ssh/id.pub", encoding="utf-8") as f:
            write(f"{folder}/me/.ssh/authorized_keys", f.read(), uid=UID)
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        write(f"{folder}/sshd_config", f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
              "PasswordAuthentication no\nAllowUsers me\n")
        self.know("host")
        self.log = f"{folder}/sshd.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", f"{folder}/sshd_config"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_for("sshd", self.answers)

    def know(self, key):
        """What the caller's ssh takes for the server's key."""
        with open(f"{self.folder}/{key}.pub", encoding="utf-8") as f:
            write(f"{self.folder}/root/.ssh/known_hosts", f"[127.0.0.1]:{self.port} {f.read()}")
        write(f"{self.folder}/root/.ssh/config", f"Host *.example\n HostName 127.0.0.1\n Port {self.port}\n BatchMode yes\n StrictHostKeyChecking yes\n"
              f" IdentityFile {self.folder}/root/.ssh/id\n CheckHostIP no\n")

    def answers(self):
        assert self.process.poll() is None, open(self.log, encoding="utf-8").read()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)) as s:
            return s.recv(4) == b"SSH-"
        return False

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


def processes_of(uid):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == uid or re.search(rf"^Uid:\s+{uid}\b", open(f"/proc/{pid}/status", encoding="utf-8").read(), re.M):
                found.append((int(pid), open(f"/proc/{pid}/comm", encoding="utf-8").read().strip()))
    return found


def test(folder):
    private_accounts(folder)
    server = Server(folder)
    try:
        with Daemon() as d:
            env = {**d.environment(), "CAY_DATA": os.path.join(d.folder, "data"), "HOME": f"{folder}/root"}

            def cay(*words):
                return subprocess.run([CAY, *words], env=env, capture_output=True, text=True, timeout=4 * PATIENCE_S, stdin=subprocess.DEVNULL)
            # A server with another key than the one that is known, and a user who may not log in: nothing is added.
            server.know("other")
            r = cay("remote", "add", "me@box.example")
            assert r.returncode != 0 and "HOST IDENTIFICATION HAS CHANGED" in r.stderr and "box" not in cay("remote").stdout, r
            server.know("host")
            r = cay("remote", "add", "nobody@box.example")
            assert r.returncode != 0 and "Permission denied" in r.stderr and "box" not in cay("remote").stdout, r
            r = cay("remote", "add", "me@box.example")
            log = f"{folder}/me/.local/state/cay/agent.log"
            assert r.returncode == 0 and "machine 'box' is ready" in r.stdout, (r, open(server.log, encoding="utf-8").read(),
                                                                            os.path.exists(log) and open(log, encoding="utf-8").read())
            # An ordinary user's processes, which outlive the login; the code stands nowhere.
            names = {name for _, name in processes_of(UID)}
            assert {"cay-agent", "cay-warden"} <= names and "sshd" not in names, names
            said = open(log, encoding="utf-8").read()
            assert "paired with daemon" in said and not re.search(r"\w{5}-\w{5}-\w{5}-\w{5}\b", said.replace(r.stdout.split()[-1], "")
                                                                 .split("paired with daemon")[0]), said
            assert os.stat(f"{folder}/me/.local/state/cay/agent/key").st_uid == UID
            # What was brought there needs nothing of that machine.
            assert Elf(f"{folder}/me/.local/lib/cay/cay-agent").needed() == [] or not os.path.exists(os.path.join(BUILD, "cay-agent-static"))
            server.stop()
            made = cay("create", "--machine", "box", *[w for limit in SKIP for w in ("--may-skip", limit)])
            assert made.returncode == 0, (made, open(log, encoding="utf-8").read())
            box = made.stdout.split()[-1]
            done = cay("exec", box, "sh", "-c", "echo there; touch /workspace/f && ls /workspace; cat /proc/1/comm")
            assert done.stdout.split()[:2] == ["there", "f"], done
            assert cay("exec", box, "test", "-e", f"{folder}/me").returncode != 0  # isolated: nothing of that home
            assert cay("destroy", box).returncode == 0 or cay("rm", box).returncode == 0
            assert cay("remote", "rm", "box").returncode == 0
            wait_for("the agent's end", lambda: not processes_of(UID))
    finally:
        if server.process.poll() is None:
            server.stop()


def main():
    if not os.path.exists(SSHD) or not shutil.which("ssh"):
        print("skipped: openssh-server and openssh-client are missing (scripts/bootstrap check)")
        sys.exit(77)
    if os.environ.get(INSIDE) != "1":
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--net", "--", sys.executable, *sys.argv])
    run("ip", "link", "set", "lo", "up")
    folder = tempfile.mkdtemp(prefix="cay-ssh-")
    os.chmod(folder, 0o755)
    try:
        test(folder)
    finally:
        for name in ("passwd", "group"):
            subprocess.run(["umount", f"/etc/{name}"], capture_output=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
