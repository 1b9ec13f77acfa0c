#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers in a pool file that shares blocks, on a small disk of its own: what is shared always has room to be overwritten, whatever
others do with the disk; the pool survives every program, takes in what was there before it, and a damaged one is told.
test_layer_pool.py [NAME…] runs some of the tests."""
import os
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, ready_again, run_tests, small_disk, wait_for  # noqa: E402

MIB = 1 << 20
LOOP = 7  # major number of loop devices
DISK, MARGIN, POOL = 640 * MIB, 48 * MIB, 2048 * MIB  # the pool promises more than the disk has


def free_bytes(folder):
    fs = os.statvfs(folder)
    return fs.f_bavail * fs.f_frsize


def take(d, box, status=201, **fields):
    return d.must(status, "POST", f"/api/sandboxes/{box}/snapshots", fields)


def remove(d, *boxes):
    for box in boxes:
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def pool_file(d):
    return os.path.join(d.folder, "data", "layers.pool")


def in_pool(d):
    """The folder of layers in it, as its warden has it."""
    folder = f"/proc/{d.child('cay-warden')}/fd"
    for fd in os.listdir(folder):
        path = os.path.join(folder, fd)
        if os.path.isdir(path) and os.major(os.stat(path).st_dev) == LOOP:
            return path
    raise AssertionError("the warden has no pool")


def is_locked(d):
    return os.path.exists(os.path.join(in_pool(d), ".ballast"))


def is_backed(d):
    """All that is free in it has blocks of the disk."""
    fs = os.statvfs(in_pool(d))
    return is_locked(d) and os.stat(pool_file(d)).st_blocks * 512 >= (fs.f_blocks - fs.f_bfree + fs.f_bavail) * fs.f_frsize - ballast(d)


def ballast(d):
    return os.stat(os.path.join(in_pool(d), ".ballast")).st_blocks * 512


def reserve(d):
    """Bytes that the warden keeps back for what it is responsible for: beside the pool, and in a locked pool."""
    return os.path.getsize(os.path.join(d.folder, "data", "layers", ".reserve")) + (free_bytes(in_pool(d)) if is_locked(d) else 0)


def fill(path, leave=0):
    """All that users may have."""
    with open(path, "wb") as f:
        while free_bytes(os.path.dirname(path)) > leave:
            os.posix_fallocate(f.fileno(), os.fstat(f.fileno()).st_size, free_bytes(os.path.dirname(path)) - leave)


WRITE = "head -c {n}M /dev/urandom > /workspace/big; sha256sum < /workspace/big > /workspace/sum; sync"
# In place: the file system in the layer needs no new block for it.
OVERWRITE = ("head -c {n}M /dev/urandom | dd of=/workspace/big conv=notrunc,fsync bs=1M iflag=fullblock && "
             "sha256sum < /workspace/big | dd of=/workspace/sum conv=notrunc,fsync && sync")
CHECK = "sha256sum < /workspace/big | cmp - /workspace/sum && echo same"


def test_moves_in(d, disk):
    """Sandboxes, snapshots and volumes of a daemon without a pool are in it after the start with one; without the setting it does not
    start any more."""
    d.stop()
    os.unlink(pool_file(d))
    with Daemon("--disk-reserve", f"{MARGIN // MIB}m", folder=d.folder) as plain:
        box = plain.make(limits={"disk": "60m"}, volumes=["v:/data"])
        plain.run(box, "echo old > /workspace/f; echo kept > /data/f")
        assert take(plain, box, name="old")["method"] == "copy"
        plain.must(200, "POST", f"/api/sandboxes/{box}/stop")
        plain.stop()
    d.start()
    assert [n for n in os.listdir(os.path.join(d.folder, "data", "layers")) if n.endswith(".img")] == []
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert d.run(box, "cat /workspace/f /data/f")["stdout"] == "old\nkept\n"
    one = d.make(snapshot="old")
    assert d.run(one, "cat /workspace/f")["stdout"] == "old\n"
    assert take(d, box)["method"] == "reflink"
    remove(d, one, box)
    for s in d.must(200, "GET", "/api/snapshots")["snapshots"]:
        d.must(200, "DELETE", f"/api/snapshots/{s['snapshot_id']}")
    d.must(200, "DELETE", "/api/volumes/v")
    d.stop()
    argv = [os.path.join(os.environ["CAY_BUILD_DIR"], "cay"), "serve", "--data", os.path.join(d.folder, "data"), "--port", "0"]
    r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert r.returncode != 0 and "layer_pool is not set" in r.stdout, r
    r = subprocess.run([*argv, "--layer-pool", "10m"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert r.returncode != 0 and "at least 512 MiB" in r.stdout, r
    d.start()


def test_forks_share(d, disk):
    """Twelve forks, asked for at once, take what differs, and what they may need is kept back."""
    box = d.make(limits={"disk": "200m", "memory": "64m"})
    d.run(box, WRITE.format(n=20))
    wait_for("the lock", lambda: is_locked(d))  # so small a disk is always short
    before = free_bytes(disk) + reserve(d)
    made = []

    def fork():
        r = d.must(201, "POST", f"/api/sandboxes/{box}/fork", {"count": 4})
        made.extend(s["sandbox_id"] for s in r["sandboxes"])

    threads = [threading.Thread(target=fork) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(made)) == 12, made
    used = before - free_bytes(disk) - reserve(d)
    assert used < 100 * MIB, (before, free_bytes(disk), reserve(d))  # 12 copies would take 240
    assert reserve(d) >= 12 * 18 * MIB, reserve(d)
    for one in made:
        assert d.run(one, CHECK)["stdout"] == "same\n"
    remove(d, box, *made)
    wait_for("the blocks", lambda: os.sync() or free_bytes(disk) + reserve(d) >= before + 10 * MIB)


def test_survives(d, disk):
    """The pool outlives the front, the warden and a daemon that was killed."""
    box = d.make()
    d.run(box, "echo kept > /workspace/f; sync")
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    assert d.run(box, "cat /workspace/f")["stdout"] == "kept\n"
    os.kill(d.child("cay-warden"), signal.SIGKILL)
    ready_again(d)
    wait_for("the loss", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "error")
    d.start_again(box)
    assert d.run(box, "cat /workspace/f")["stdout"] == "kept\n"
    d.cut_power()
    d.start()
    d.start_again(box)
    assert d.run(box, "cat /workspace/f")["stdout"] == "kept\n"
    remove(d, box)


def test_room_to_overwrite(d, disk):
    """What live layers share has room: a copy or a start that would promise too much is refused, and when others take the whole disk,
    every shared block can still be overwritten."""
    box = d.make(limits={"disk": "200m"})
    d.run(box, WRITE.format(n=50))
    take(d, box, name="base")
    made = []
    while True:
        r = d.ask("POST", "/api/sandboxes", {"snapshot": "base"})
        if r.status != 201:
            break
        made.append(r.json["sandbox_id"])
    error = r.json["error"]
    assert r.status == 507 and "no room to overwrite" in error["message"], error
    assert 2 <= len(made) <= 10, made
    stopped = made.pop()
    d.must(200, "POST", f"/api/sandboxes/{stopped}/stop")
    alive = [box, *made]
    shared = 45 * MIB * len(alive)
    other = os.path.join(disk, "other")
    running = {b: d.must(202, "POST", f"/api/sandboxes/{b}/execute",
                         {"command": "read go; " + OVERWRITE.format(n=50), "background": True, "open_stdin": True})["exec_id"] for b in alive}
    wait_for("the lock", lambda: is_backed(d) and reserve(d) >= shared)
    fill(other)
    assert free_bytes(disk) < MIB
    for b, one in running.items():  # all at once, as fast as they can
        d.must(200, "POST", f"/api/sandboxes/{b}/execs/{one}/input", b"go\n")
    for b, one in running.items():
        end = wait_for("the end", lambda: (e := d.must(200, "GET", f"/api/sandboxes/{b}/execs/{one}"))["status"] == "ended" and e)
        assert end["exit_code"] == 0, (end, d.ask("GET", f"/api/sandboxes/{b}/execs/{one}/output?raw=true").body)
    for b in alive:
        assert d.must(200, "POST", f"/api/sandboxes/{b}/stop")["kept"] is True
    os.unlink(other)
    wait_for("the pool's own size", lambda: not is_locked(d) and free_bytes(disk) > 2 * MARGIN)
    wait_for("a start", lambda: d.ask("POST", f"/api/sandboxes/{alive[0]}/start").status == 200)
    d.must(200, "POST", f"/api/sandboxes/{alive[0]}/stop")
    for b in alive:
        d.must(200, "POST", f"/api/sandboxes/{b}/start")
        assert d.run(b, CHECK)["stdout"] == "same\n"
        remove(d, b)
    d.must(200, "POST", f"/api/sandboxes/{stopped}/start")
    assert d.run(stopped, CHECK)["stdout"] == "same\n"
    remove(d, stopped)
    d.must(200, "DELETE", "/api/snapshots/base")


def test_full_disk(d, disk):
    """Others take all there is, root's part too: the pool is not harmed, and all goes on when there is room again."""
    boxes = [d.make(limits={"disk": "100m"}) for _ in range(2)]
    for box in boxes:
        d.run(box, "echo work > /workspace/precious; sync")
    d.must(200, "POST", f"/api/sandboxes/{boxes[1]}/stop")
    os.sync()
    other = os.path.join(disk, "other")
    with open(other, "wb", buffering=0) as f:
        for size in (MIB, 4096):
            try:
                while True:
                    f.write(b"x" * size)
            except OSError:
                pass
    assert d.ask("POST", "/api/sandboxes", {}).status == 507
    assert take(d, boxes[0], status=507)["error"]
    assert d.ask("GET", f"/api/sandboxes/{boxes[0]}").status == 200
    os.unlink(other)
    wait_for("room", lambda: free_bytes(disk) > 2 * MARGIN)
    s = d.must(200, "GET", f"/api/sandboxes/{boxes[0]}")
    assert s["status"] in ("ready", "error"), s  # it may have had something to write just then: that is told
    if s["status"] == "ready":
        wait_for("room inside", lambda: d.run(boxes[0], "head -c 10M /dev/zero > /workspace/big && sync /workspace/big")["exit_code"] == 0)
        assert d.run(boxes[0], "cat /workspace/precious")["stdout"] == "work\n"
    else:
        assert s["cause"] == "disk", s
    d.stop()
    d.start()
    d.must(200, "POST", f"/api/sandboxes/{boxes[1]}/start")
    assert d.run(boxes[1], "cat /workspace/precious")["stdout"] == "work\n"
    remove(d, *boxes)


def test_damaged(d, disk):
    """A pool that cannot be mounted ends the start with the reason; put right, all is there. It grows with its setting."""
    box = d.make(limits={"disk": "60m"})
    d.run(box, "echo work > /workspace/precious; sync")
    d.stop()
    with open(pool_file(d), "r+b") as f:
        first = f.read(512)
        f.seek(0)
        f.write(bytes(512))
    argv = [os.path.join(os.environ["CAY_BUILD_DIR"], "cay"), "serve", "--data", os.path.join(d.folder, "data"), "--port", "0",
            "--layer-pool", "2g"]
    r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert r.returncode != 0 and "xfs_repair" in r.stdout, r
    with open(pool_file(d), "r+b") as f:
        f.write(first)
    d.flags = [o if o != f"{POOL // MIB}m" else "3g" for o in d.flags]
    d.start()
    assert os.path.getsize(pool_file(d)) == 3 << 30
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert d.run(box, "cat /workspace/precious")["stdout"] == "work\n"
    remove(d, box)


TESTS = [test_moves_in, test_forks_share, test_survives, test_room_to_overwrite, test_full_disk, test_damaged]


def main():
    if not shutil.which("mkfs.xfs", path="/sbin:/usr/sbin"):
        print("mkfs.xfs is missing (xfsprogs)")
        sys.exit(77)
    with open("/proc/filesystems", encoding="ascii") as f:
        if "\txfs\n" not in f.read() and subprocess.run(["modprobe", "xfs"], check=False).returncode != 0:
            print("this kernel has no XFS")
            sys.exit(77)
    with small_disk(DISK) as disk, Daemon("--rate-limit", "0", "--max-sandboxes", "40", "--disk-reserve", f"{MARGIN // MIB}m",
                                          "--layer-pool", f"{POOL // MIB}m", folder=os.path.join(disk, "d")) as d:
        run_tests(TESTS, d, disk)


if __name__ == "__main__":
    main()
