#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A lock (flock) that a box takes on a file or folder of the host's /usr and /etc is its own: the host can take it, and so can another box. For boxes of
root and of an ordinary user, for commands of the sandbox's user and of its root."""
import fcntl
import os
import subprocess
import sys

CAY = os.path.join(os.environ["CAY_BUILD_DIR"], "cay")
PATHS = "/usr/bin/env", "/usr/bin", "/etc/ld.so.cache"
ORDINARY = 4243  # nobody of this machine's, without a range of ids
PATIENCE_S = 120


def start(uid, options, script):
    def become():
        if uid:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)

    # What an ordinary user's machine cannot enforce is not the subject here.
    return subprocess.Popen([CAY, "run", "--quiet", "--timeout", "5m", *options, "--", "/bin/sh", "-c", script], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"},
                            preexec_fn=become)


def is_free_on_host(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def is_held_inside(uid, options, path):
    """The control: within one box a second one cannot have it."""
    box = start(uid, options, f"exec 9<{path}; flock -xn 9 && ! flock -xn {path} true")
    err = box.communicate(timeout=PATIENCE_S)[1]
    assert box.returncode == 0, (uid, options, path, err)


def check(uid, options):
    locks = "; ".join(f"exec {8 - i}<{path} && flock -xn {8 - i} || exit 3" for i, path in enumerate(PATHS))
    holder = start(uid, options, f"{locks}; echo held; read line; echo $line")
    told = holder.stdout.readline()
    if told != "held\n":
        sys.exit(f"uid {uid} {options}: {told!r} {holder.communicate()[1]}")
    try:
        for path in PATHS:
            assert is_free_on_host(path), f"uid {uid} {options}: a lock on {path} is felt on the host"
            other = start(uid, options, f"flock -xn {path} true")
            err = other.communicate(timeout=PATIENCE_S)[1]
            assert other.returncode == 0, f"uid {uid} {options}: a lock on {path} is felt in another box: {err}"
    finally:
        out = holder.communicate("still there\n", timeout=PATIENCE_S)[0]
    assert out == "still there\n" and holder.returncode == 0, (uid, options, out, holder.returncode)
    for path in PATHS:
        is_held_inside(uid, options, path)


for uid, options in (0, []), (0, ["--user", "root"]), (0, ["--user", "root", "--read-only"]), (ORDINARY, []), (ORDINARY, ["--read-only"]):
    check(uid, options)
    print(f"uid {uid} {options}: apart", flush=True)
