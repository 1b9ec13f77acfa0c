#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A data folder on a small disk of its own, filled by sandboxes and by the host: nothing that was acknowledged is lost, and what is damaged
is told. test_full_disk.py [NAME…] runs some of the tests."""
import errno
import os
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, run_tests, small_disk, wait_for  # noqa: E402

MIB = 1 << 20
DISK, MARGIN = 320 * MIB, 48 * MIB
# Writes blocks, each on the disk before it is counted, until there is no room; says how many, and why it ended.
FILL = """
import os, errno
f = os.open("/workspace/big", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
n = 0
try:
    while n < 1000:
        os.write(f, bytes([n % 251 + 1]) * (1 << 20))
        os.fsync(f)
        n += 1
except OSError as e:
    print(n, errno.errorcode[e.errno])
else:
    print(n, "all")
"""
CHECK = """
f = open("/workspace/big", "rb")
n = 0
while f.read(1 << 20) == bytes([n % 251 + 1]) * (1 << 20):
    n += 1
print(n)
"""


def free_bytes(folder):
    fs = os.statvfs(folder)
    return fs.f_bavail * fs.f_frsize


def change(d, box, verb, status=200):
    return d.must(status, "POST", f"/api/sandboxes/{box}/{verb}")


def begin(d, box, script, **fields):
    return d.must(202, "POST", f"/api/sandboxes/{box}/execute",
                  {"command": ["python3", "-c", script], "background": True, **fields})["exec_id"]


def end(d, box, one):
    path = f"/api/sandboxes/{box}/execs/{one}"
    wait_for("the end", lambda: d.must(200, "GET", path)["status"] == "ended")
    return d.must(200, "GET", path + "/output?raw=true").decode()


def test_sandboxes_fill_the_disk(d, disk):
    """Three that promise twice the disk: writes inside fail with ENOSPC, the host keeps its margin, and all that was synced is there."""
    boxes = [d.make(limits={"disk": "200m"}) for _ in range(3)]
    for b in boxes:
        d.run(b, f"echo {b} > /workspace/precious; sync /workspace/precious")
    running = [(b, begin(d, b, FILL)) for b in boxes]
    wrote = {}
    for b, one in running:
        count, why = end(d, b, one).split()
        assert why == "ENOSPC", (count, why)
        wrote[b] = int(count)
    assert sum(wrote.values()) > 60, wrote  # they got what there was
    assert free_bytes(disk) >= MARGIN // 2, free_bytes(disk)
    r = d.run(boxes[0], ["cat", "/workspace/precious"])  # and the daemon works on
    assert r["stdout"] == boxes[0] + "\n", r
    for b in boxes:
        assert change(d, b, "stop")["kept"] is True
    for b in boxes:
        d.must(200, "POST", f"/api/sandboxes/{b}/start") if free_bytes(disk) >= MARGIN else None
        if d.must(200, "GET", f"/api/sandboxes/{b}")["status"] != "ready":
            d.must(507, "POST", f"/api/sandboxes/{b}/start")
            continue
        assert d.run(b, ["cat", "/workspace/precious"])["stdout"] == b + "\n"
        assert int(d.run(b, ["python3", "-c", CHECK])["stdout"]) >= wrote[b]
    # what is removed inside is given back, to the others too
    d.must(200, "DELETE", f"/api/sandboxes/{boxes[0]}")
    wait_for("the room", lambda: free_bytes(disk) >= MARGIN + 20 * MIB)
    other = boxes[1]
    if d.must(200, "GET", f"/api/sandboxes/{other}")["status"] != "ready":
        change(d, other, "start")
    assert int(d.run(other, ["python3", "-c", CHECK])["stdout"]) >= wrote[other]
    d.run(other, "rm /workspace/big; sync")
    wait_for("the room inside", lambda: d.run(other, "head -c 10M /dev/zero > /workspace/again && sync")["exit_code"] == 0)
    for b in boxes[1:]:
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def test_new_ones_among_many(d, disk):
    """Where there are many, new ones get their share before the next look at all: they write at once, and the host keeps its margin."""
    many = [d.make(limits={"disk": "8m"}) for _ in range(70)]
    new, running = [], []
    for _ in range(12):
        new.append(d.make(limits={"disk": "64m"}))
        running.append(begin(d, new[-1], FILL))
    wrote = []
    for b, one in zip(new, running):
        count, why = end(d, b, one).split()
        assert why == "ENOSPC", (count, why)
        wrote.append(int(count))
    print(f"{wrote} MiB, {free_bytes(disk) >> 20} MiB are free", flush=True)
    assert sum(wrote) > 30, wrote
    assert free_bytes(disk) >= MARGIN // 2, free_bytes(disk)
    for b, count in zip(new, wrote):
        assert int(d.run(b, ["python3", "-c", CHECK])["stdout"]) >= count
        assert change(d, b, "stop")["kept"] is True
    for b in many + new:
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def test_volumes_fill_the_disk(d, disk):
    """Volumes are images too: two that promise more than there is leave the host its margin, and keep what was synced."""
    boxes = [d.make(limits={"disk": "20m"}, volumes=[f"v{i}:/data"]) for i in range(2)]
    running = [(b, begin(d, b, FILL.replace("/workspace", "/data"))) for b in boxes]
    wrote = []
    for b, one in running:
        count, why = end(d, b, one).split()
        assert why == "ENOSPC", (count, why)
        wrote.append(int(count))
    assert sum(wrote) > 60, wrote
    assert free_bytes(disk) >= MARGIN // 2, free_bytes(disk)
    for b, n in zip(boxes, wrote):
        assert int(d.run(b, ["python3", "-c", CHECK.replace("/workspace", "/data")])["stdout"]) >= n
        d.must(200, "DELETE", f"/api/sandboxes/{b}")
    for i in range(2):
        d.must(200, "DELETE", f"/api/volumes/v{i}")
    wait_for("the room", lambda: free_bytes(disk) >= MARGIN + 100 * MIB)


def test_the_host_fills_the_disk(d, disk):
    """Somebody else takes the room: a write inside fails, nothing is damaged, and it goes on when there is room again."""
    box = d.make(limits={"disk": "100m"})
    d.run(box, "echo work > /workspace/precious; sync /workspace/precious")
    other = os.path.join(disk, "other")
    with open(other, "wb") as f:
        os.posix_fallocate(f.fileno(), 0, free_bytes(disk) - MARGIN + 4 * MIB)
    write = "head -c 10M /dev/zero >> /workspace/big && sync /workspace/big"
    wait_for("no room inside", lambda: "No space left" in d.run(box, write)["stderr"])
    assert d.run(box, ["cat", "/workspace/precious"])["stdout"] == "work\n"
    assert change(d, box, "stop")["kept"] is True
    os.unlink(other)
    wait_for("the room", lambda: free_bytes(disk) >= MARGIN + 40 * MIB)
    change(d, box, "start")
    assert d.run(box, ["cat", "/workspace/precious"])["stdout"] == "work\n"
    wait_for("room inside", lambda: d.run(box, write)["exit_code"] == 0)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_full_in_the_middle_of_a_snapshot(d, disk):
    """Others take the room while files are copied: there is the whole snapshot or none, nothing is left of it, and the sandbox goes on."""
    box = d.make(limits={"disk": "100m"})
    d.run(box, "head -c 80M /dev/urandom > /workspace/big; sha256sum /workspace/big > /workspace/sum; sync")
    layers, other = os.path.join(d.folder, "data", "layers"), os.path.join(disk, "other")
    got = []
    t = threading.Thread(target=lambda: got.append(d.ask("POST", f"/api/sandboxes/{box}/snapshots", {})))
    t.start()
    wait_for("the copy", lambda: [n for n in os.listdir(layers) if n.startswith(".clone")] or got)
    with open(other, "wb") as f:
        while free_bytes(disk) > 0 and not got:
            try:
                os.posix_fallocate(f.fileno(), os.fstat(f.fileno()).st_size, free_bytes(disk))
            except OSError:  # somebody else took it just then
                pass
    t.join()
    assert got[0].status in (201, 507), got
    shots = d.must(200, "GET", "/api/snapshots")["snapshots"]
    assert len(shots) == (got[0].status == 201), (got, shots)
    assert not [n for n in os.listdir(layers) if n.startswith(".clone")], os.listdir(layers)
    os.unlink(other)
    wait_for("the room", lambda: free_bytes(disk) >= MARGIN + 20 * MIB)
    assert d.run(box, "cd / && sha256sum -c --status /workspace/sum && echo same")["stdout"] == "same\n"
    for s in shots:
        d.must(200, "DELETE", f"/api/snapshots/{s['snapshot_id']}")
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    wait_for("the room", lambda: free_bytes(disk) >= MARGIN + 100 * MIB)


def fill_wholly(path):
    """All there is, also what the disk keeps for root."""
    with open(path, "wb", buffering=0) as f:
        for size in (MIB, 4096):
            try:
                while True:
                    f.write(b"x" * size)
            except OSError as e:
                assert e.errno == errno.ENOSPC, e
        os.fsync(f.fileno())


def test_a_disk_without_a_block(d, disk):
    """Others have taken all that users may have, then all there is: what there is can be stopped and destroyed, a command's time limit
    holds, the daemon can be restarted, and whether it is ready is told truly."""
    boxes = [d.make(limits={"disk": "20m"}) for _ in range(4)]
    other = os.path.join(disk, "other")
    with open(other, "wb") as f:
        while free_bytes(disk) > 0:
            os.posix_fallocate(f.fileno(), os.fstat(f.fileno()).st_size, free_bytes(disk))
    wait_for("the warden's reserve", lambda: os.path.getsize(os.path.join(d.folder, "data", "layers", ".reserve")) == 0)
    d.stop()
    os.sync()
    with open(other + "2", "wb") as f:
        if free_bytes(disk) > 0:
            os.posix_fallocate(f.fileno(), 0, free_bytes(disk))
    d.start()
    d.must(200, "DELETE", f"/api/sandboxes/{boxes.pop()}")
    for name in ("", "2"):
        os.unlink(other + name)
    wait_for("the room", lambda: free_bytes(disk) >= MARGIN + 40 * MIB)
    for b in boxes:
        change(d, b, "start")
    log = os.path.join(d.folder, "data", "state", "state.db-wal")
    wait_for("the log's room", lambda: d.run(boxes[0], ["true"]) and os.stat(log).st_blocks * 512 >= 8 * MIB)
    d.run(boxes[0], "echo work > /workspace/precious")
    one = begin(d, boxes[2], "import time; time.sleep(1000)", timeout=3)
    fill_wholly(other)
    assert free_bytes(disk) < MARGIN // 2  # the warden has given up what it held
    assert d.ask("POST", "/api/sandboxes", {}).status == 507
    # what was on its way into its files had room, or had not: both are told as they are
    stopped = d.ask("POST", f"/api/sandboxes/{boxes[0]}/stop").status
    s = d.must(200, "GET", f"/api/sandboxes/{boxes[0]}")
    assert (stopped, s["status"], s["kept"]) in ((200, "stopped", True), (409, "error", False)), (stopped, s)
    assert stopped == 200 or s["cause"] == "disk", s
    d.must(200, "DELETE", f"/api/sandboxes/{boxes[1]}")
    path = f"/api/sandboxes/{boxes[2]}/execs/{one}"
    wait_for("the time limit", lambda: d.must(200, "GET", path)["status"] == "ended")
    assert d.must(200, "GET", path)["cause"] == "wall_time"
    d.must(200, "GET", "/api/health/ready")  # what there is to store is stored
    os.unlink(other)
    wait_for("the room", lambda: free_bytes(disk) >= MARGIN + 40 * MIB)
    change(d, boxes[0], "start", stopped)
    if stopped == 200:
        assert d.run(boxes[0], ["cat", "/workspace/precious"])["stdout"] == "work\n"
    for b in (boxes[0], boxes[2]):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def test_a_start_without_a_block(d, disk):
    """Root has taken the disk's last block while the daemon was stopped, or before: it starts, lists, destroys, and says that it is full."""
    other = os.path.join(disk, "other")
    for name in ("out", "err"):  # what it prints has room, else nobody would hear of its start
        elsewhere = os.path.join(os.path.dirname(disk), name)
        shutil.copy(os.path.join(d.folder, name), elsewhere)
        os.unlink(os.path.join(d.folder, name))
        os.symlink(elsewhere, os.path.join(d.folder, name))
    for when in ("stopped", "running", "killed"):
        boxes = [d.make(limits={"disk": "20m"}) for _ in range(3)]
        d.run(boxes[0], "echo work > /workspace/precious")
        change(d, boxes[0], "stop")
        log = os.path.join(d.folder, "data", "state", "state.db-wal")
        wait_for("the log's room", lambda: d.run(boxes[1], ["true"]) and os.stat(log).st_blocks * 512 >= 8 * MIB)
        if when == "stopped":
            d.stop()
        fill_wholly(other)
        if when == "running":
            d.stop()
        elif when == "killed":
            d.cut_power()
        fill_wholly(other + "2")
        d.start()
        assert {b["sandbox_id"] for b in d.must(200, "GET", "/api/sandboxes")["sandboxes"]} >= set(boxes)
        assert d.ask("POST", "/api/sandboxes", {}).status == 507
        for b in boxes[1:]:
            d.must(200, "DELETE", f"/api/sandboxes/{b}")
        for name in ("", "2"):
            os.unlink(other + name)
        wait_for("the room", lambda: free_bytes(disk) >= MARGIN + 40 * MIB)
        change(d, boxes[0], "start")
        assert d.run(boxes[0], ["cat", "/workspace/precious"])["stdout"] == "work\n", when
        d.must(200, "DELETE", f"/api/sandboxes/{boxes[0]}")


def device_of(d, box):
    image = os.path.join(d.folder, "data", "layers", box + ".img")
    for name in os.listdir("/sys/block"):
        backing = f"/sys/block/{name}/loop/backing_file"
        if name.startswith("loop") and os.path.exists(backing):
            with open(backing, encoding="utf-8") as f:
                if f.read().strip().endswith("/" + os.path.basename(image)):
                    return name
    raise AssertionError(f"no device of {box}")


def test_stop_says_kept_only_if_it_is(d, disk):
    """Files that could not be written out, for whatever reason, are not told as kept; nothing of them is thrown away."""
    layers = os.path.join(d.folder, "data", "layers")
    box = d.make()
    d.run(box, "echo work > /workspace/precious")
    image, aside = (os.path.join(layers, name) for name in (box + ".img", "aside"))
    os.rename(image, aside)  # any failure of another kind than damage
    said = change(d, box, "stop", 410)["error"]
    assert said["code"] == "damaged" and "not known" in said["message"], said
    for again in (False, True):
        if again:
            d.stop()
            d.start()
        s = d.must(200, "GET", f"/api/sandboxes/{box}")
        assert (s["status"], s["cause"], s["kept"]) == ("error", "disk", False) and "not known" in s["cause_text"], s
        assert "may be incomplete" in change(d, box, "stop", 409)["error"]["message"]
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["kept"] is False
        if not again:
            os.rename(aside, image)
    change(d, box, "start")
    assert d.run(box, ["cat", "/workspace/precious"])["stdout"] == "work\n"
    change(d, box, "stop")
    s = d.must(200, "GET", f"/api/sandboxes/{box}")
    assert (s["status"], s["kept"]) == ("stopped", True), s
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_a_broken_file_system_is_told(d, disk):
    """The kernel met an error in a layer: its box ends at once, nothing says that its files are kept, and the image is left."""
    layers = os.path.join(d.folder, "data", "layers")
    box, other = d.make(), d.make()
    d.run(box, "echo work > /workspace/precious; sync /workspace/precious")
    trigger = f"/sys/fs/ext4/{device_of(d, box)}/trigger_fs_error"
    if not os.path.exists(trigger):
        print("  (left out: this kernel has no trigger_fs_error)")
        return
    with open(trigger, "w", encoding="utf-8") as f:
        f.write("1")
    s = wait_for("the error", lambda: (s := d.must(200, "GET", f"/api/sandboxes/{box}"))["status"] == "error" and not s["busy_with"] and s)
    assert s["cause"] == "disk" and s["kept"] is False and f"layers/{box}.damaged" in s["cause_text"], s
    events = d.must(200, "GET", f"/api/sandboxes/{box}/events?kind=sandbox_error")["events"]
    assert events[-1]["detail"]["cause"] == "disk", events
    assert sorted(n for n in os.listdir(layers) if n[0] != "." and n != "volumes") == sorted((box + ".damaged", other + ".img"))
    for _ in range(2):  # never made anew in silence
        assert "damaged" in change(d, box, "start", 409)["error"]["message"]
        s = d.must(200, "GET", f"/api/sandboxes/{box}")
        assert (s["status"], s["cause"], s["kept"]) == ("error", "disk", False), s
    d.stop()
    d.start()
    s = d.must(200, "GET", f"/api/sandboxes/{box}")
    assert (s["status"], s["cause"], s["kept"]) == ("error", "disk", False), s
    # the administrator mends it, and gives it its name back
    image = os.path.join(layers, box + ".img")
    os.rename(os.path.join(layers, box + ".damaged"), image)
    subprocess.run(["e2fsck", "-f", "-y", image], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    change(d, box, "start")
    assert d.run(box, ["cat", "/workspace/precious"])["stdout"] == "work\n"
    # and one that goes with its sandbox
    with open(f"/sys/fs/ext4/{device_of(d, box)}/trigger_fs_error", "w", encoding="utf-8") as f:
        f.write("1")
    wait_for("the error", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["cause"] == "disk")
    for b in (box, other):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")
    assert [n for n in os.listdir(layers) if n[0] != "." and n != "volumes"] == []


TESTS = [test_sandboxes_fill_the_disk, test_new_ones_among_many, test_volumes_fill_the_disk, test_full_in_the_middle_of_a_snapshot, test_the_host_fills_the_disk, test_a_disk_without_a_block, test_a_start_without_a_block,
         test_stop_says_kept_only_if_it_is, test_a_broken_file_system_is_told]


def main():
    with small_disk(DISK) as disk, Daemon("--rate-limit", "0", "--max-sandboxes", "200", "--log-level", "debug", "--disk-reserve", f"{MARGIN // MIB}m",
                                          folder=os.path.join(disk, "d")) as d:
        run_tests(TESTS, d, disk)


if __name__ == "__main__":
    main()
