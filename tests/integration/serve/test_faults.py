#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong around the daemon, one function per row. test_faults.py [NAME…] runs some; the name of a step kills there alone."""
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, Daemon, children, wait_for  # noqa: E402

STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/domain/sandboxes/kill_points.def")
DOWN = (OSError, http.client.HTTPException, ValueError)
CGROUPS = "/sys/fs/cgroup"


# What there is

def cgroup_ids():
    """Of sandboxes that have cgroups, wherever these are mounted."""
    found = set()
    for root, dirs, _ in os.walk(CGROUPS):
        found |= {d.removeprefix("cay-") for d in dirs if d.startswith("cay-")}
        dirs[:] = [d for d in dirs if not d.startswith("cay-")] if root.count("/") < 8 else []
    return found


def record_ids():
    """Of sandboxes that hold a range of host ids."""
    found = set()
    for name in os.listdir("/run/cay") if os.path.isdir("/run/cay") else []:
        with contextlib.suppress(OSError), open(os.path.join("/run/cay", name), "rb") as f:
            content = f.read(72)
            if len(content) == 72:
                found.add(content[8:72].split(b"\0")[0].decode(errors="replace"))
    return found


OTHERS = cgroup_ids(), record_ids()  # of whoever was here before this test, and may go when it likes


def layer_ids(d):
    return {n.removesuffix(".img") for n in os.listdir(os.path.join(d.folder, "data", "layers")) if not n.startswith(".")}


def spools(d):
    """Files with output of commands. A file that waits for the next command counts unless it is empty."""
    folder = os.path.join(d.folder, "data", "state", "spool")

    def is_empty(name):
        try:
            with open(os.path.join(folder, name), "rb") as f:
                return name.startswith("spare.") and f.read() == bytes(4096)
        except FileNotFoundError:
            return True

    return {tuple(n.split(".")) for n in os.listdir(folder) if not is_empty(n)}


def loops(d):
    """Loop devices on this daemon's files."""
    found = []
    for name in os.listdir("/sys/block"):
        with contextlib.suppress(OSError), open(f"/sys/block/{name}/loop/backing_file", encoding="utf-8") as f:
            if d.folder in f.read():
                found.append(name)
    return found


def check_all_owned(d):
    """No process, cgroup, id range, layer or spool without a row, no row without its thing."""
    boxes = {b["sandbox_id"]: b for b in d.must(200, "GET", "/api/sandboxes?limit=1000")["sandboxes"]}
    live = {i for i, b in boxes.items() if b["status"] in ("ready", "busy", "paused")}
    rests = {i for i, b in boxes.items() if b["status"] in ("stopped", "error")}
    shots = {s["snapshot_id"] for s in d.must(200, "GET", "/api/snapshots?limit=1000")["snapshots"]}
    shots |= {s["snapshot_id"] for b in boxes for s in d.must(200, "GET", f"/api/sandboxes/{b}/steps")["steps"]}
    assert live | rests == set(boxes), boxes

    def settled():
        inits = [p for p, comm in children(d.child("cay-warden")) if comm == "cay-init"]
        return (len(inits), cgroup_ids() - OTHERS[0], record_ids() - OTHERS[1], layer_ids(d)) == (
            len(live), live, live, live | shots | {i for i in rests if boxes[i]["kept"]})

    try:
        wait_for("what is to go", settled)
    except AssertionError:
        raise AssertionError((children(d.child("cay-warden")), cgroup_ids(), record_ids(), layer_ids(d), boxes)) from None
    execs = {(i, x["exec_id"]) for i in boxes for x in d.must(200, "GET", f"/api/sandboxes/{i}/execs")["execs"]}
    wait_for("output that was let go", lambda: spools(d) <= execs)
    return boxes


def check_nothing_left(d):
    for box in check_all_owned(d):
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
    check_all_owned(d)
    assert layer_ids(d) == set(), layer_ids(d)
    wait_for("output to go", lambda: spools(d) == set())
    wait_for("loop devices to go", lambda: not loops(d))


# Kills

class Story:
    """A client that writes down what it was told, and goes on when the front is back."""

    def __init__(self, d):
        self.d, self.kills = d, 0

    def ready(self):
        def up():
            try:
                return self.d.ask("GET", "/api/health/ready").status == 200
            except DOWN:
                return False
        wait_for("the front", up)

    def ask(self, method, path, body=None):
        """The answer, or None when the front died under it."""
        try:
            a = self.d.ask(method, path, body)
        except DOWN:
            self.kills += 1
            self.ready()
            return None
        return a

    def boxes(self):
        return {b["sandbox_id"]: b for b in self.d.must(200, "GET", "/api/sandboxes")["sandboxes"]}

    def state(self, box):
        return self.d.must(200, "GET", f"/api/sandboxes/{box}")

    def create(self, **fields):
        before = set(self.boxes())
        a = self.ask("POST", "/api/sandboxes", fields)
        if a is not None:
            assert a.status == 201, a
            box = a.json["sandbox_id"]
            assert self.state(box)["status"] == "ready"
            return box
        check_all_owned(self.d)
        new = set(self.boxes()) - before
        assert len(new) <= 1, new  # stored and not told: its client finds it in the list
        return new.pop() if new else self.d.make(**fields)

    def snapshots(self):
        return {s["snapshot_id"] for s in self.d.must(200, "GET", "/api/snapshots")["snapshots"]}

    def branch(self, box):
        """A snapshot, a sandbox of it, and the end of both."""
        a = self.ask("POST", f"/api/sandboxes/{box}/snapshots", {})
        if a is None:
            check_all_owned(self.d)
            known = self.snapshots()
            assert len(known) <= 1, known
            shot = known.pop() if known else self.d.must(201, "POST", f"/api/sandboxes/{box}/snapshots", {})["snapshot_id"]
        else:
            assert a.status == 201, a
            shot = a.json["snapshot_id"]
        one = self.create(snapshot=shot)
        assert self.d.run(one, ["cat", "/workspace/kept"])["stdout"] == "kept\n"
        a = self.ask("DELETE", f"/api/snapshots/{shot}")
        if a is None:
            check_all_owned(self.d)
            a = self.d.ask("DELETE", f"/api/snapshots/{shot}")
            assert a.status in (200, 404), a
        else:
            assert a.status == 200, a
        assert self.snapshots() == set()
        self.destroy(one)

    def go_back(self):
        """One step, and back again; what was not answered has happened wholly, or not at all."""
        box = self.create()
        self.d.run(box, "echo one > /workspace/f; sync")
        self.d.run(box, "echo two > /workspace/f; sync", checkpoint=True)
        a = self.ask("POST", f"/api/sandboxes/{box}/undo", {"step": 1})
        if a is None:
            # the next front finishes it, or starts the sandbox as it was
            wait_for("its end", lambda: self.state(box)["status"] == "ready" and not self.state(box)["busy_with"])
            check_all_owned(self.d)
            assert self.d.run(box, "cat /workspace/f")["stdout"] in ("one\n", "two\n")
            self.d.must(200, "POST", f"/api/sandboxes/{box}/undo", {"step": 1})
        else:
            assert a.status == 200, a
        assert self.d.run(box, "cat /workspace/f")["stdout"] == "one\n"
        self.destroy(box)

    def execute(self, box, command, want):
        a = self.ask("POST", f"/api/sandboxes/{box}/execute", {"command": command})
        if a is not None:
            assert a.status == 200 and a.json["stdout"] == want, a
            return
        check_all_owned(self.d)
        known = [x for x in self.d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"] if x["command"] == command]
        assert len(known) <= 1, known
        if known:  # one that was stored goes on to its end, with every byte; or has a cause
            one = f"/api/sandboxes/{box}/execs/{known[0]['exec_id']}"
            end = wait_for("its end", lambda: (x := self.d.must(200, "GET", one))["status"] == "ended" and x)
            if end["cause"] == "exited":
                text = "".join(e["text"] for e in map(json.loads, self.d.must(200, "GET", one + "/output?from=0").splitlines())
                               if e["event"] == "stdout")
                assert text == want and end["exit_code"] == 0, (text[:100], end)
                return
            assert end["cause"] == "daemon_lost" and end["cause_text"], end
        assert self.d.run(box, command)["stdout"] == want

    def change(self, box, verb, before, after):
        """What was answered holds; what was not has happened wholly, or not at all."""
        a = self.ask("POST", f"/api/sandboxes/{box}/{verb}")
        if a is not None:
            assert a.status == 200, a
        else:
            check_all_owned(self.d)
            state = self.state(box)["status"]
            assert state in (before, after), state
            if state == before:
                self.d.must(200, "POST", f"/api/sandboxes/{box}/{verb}")
        assert self.state(box)["status"] == after

    def destroy(self, box):
        a = self.ask("DELETE", f"/api/sandboxes/{box}")
        if a is None:
            check_all_owned(self.d)
            a = self.d.ask("DELETE", f"/api/sandboxes/{box}")
            assert a.status in (200, 404), a
        else:
            assert a.status == 200, a
        assert self.d.ask("GET", f"/api/sandboxes/{box}").status == 404

    def run(self):
        other = self.d.make()  # lives through all of it
        self.d.run(other, "echo other > f")
        box = self.create()
        self.execute(box, "echo kept > /workspace/kept; echo done", "done\n")
        self.execute(box, "seq 20000", "".join(f"{i}\n" for i in range(1, 20001)))
        self.branch(box)
        self.go_back()
        self.change(box, "pause", "ready", "paused")
        self.change(box, "resume", "paused", "ready")
        self.change(box, "stop", "ready", "stopped")
        self.change(box, "start", "stopped", "ready")
        assert self.d.run(box, ["cat", "/workspace/kept"])["stdout"] == "kept\n"
        self.destroy(box)
        assert self.d.run(other, ["cat", "f"])["stdout"] == "other\n"


def kill_at(step, after="0"):
    env = {"CAY_TEST_KILL": "front@" + step, "CAY_TEST_KILL_AFTER": after, "CAY_TEST_KILL_ONCE": "test-killed"}
    with Daemon("--rate-limit", "0", env=env) as d:
        story = Story(d)
        story.run()
        assert os.path.exists(os.path.join(d.folder, "data", "state", "test-killed")), f"the story does not pass {step}"
        assert story.kills == 1 and d.log().count("the front ended") == 1, (story.kills, d.log())
        check_nothing_left(d)


def steps():
    with open(STEPS, encoding="utf-8") as f:
        return re.findall(r"^CAY_KILL_POINT\((\w+),", f.read(), re.M)


# The story makes one sandbox and runs one command in it before the part that counts.
AFTER = {"create_asked": "1", "create_sent": "1", "create_made": "1", "create_stored": "1", "exec_spooled": "1", "exec_sent": "1",
         "exec_stored": "1", "exec_opened": "1", "exec_output": "1", "exec_output_kept": "1", "exec_ended": "1",
         "exec_end_kept": "1", "exec_end_closed": "1", "exec_end_stored": "1"}


def test_kill_at_every_step():
    assert len(steps()) > 20
    for step in steps():
        kill_at(step, AFTER.get(step, "0"))


# Disks

@contextlib.contextmanager
def small_disk(size):
    """A file system of its own for a data folder."""
    folder = tempfile.mkdtemp(prefix="cay-serve-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "cay-test", folder], check=True)
    try:
        yield folder
    finally:
        wait_for("the last loop device on it to go",
                 lambda: subprocess.run(["umount", folder], stderr=subprocess.DEVNULL, check=False).returncode == 0)
        os.rmdir(folder)


def free(folder):
    st = os.statvfs(folder)
    return st.f_bavail * st.f_frsize


def fill(folder, leave):
    with open(os.path.join(folder, "fill"), "ab") as f:
        while (n := free(folder) - leave) >= 4096:
            try:
                f.write(b"\xff" * min(n, 1 << 20))
                f.flush()
            except OSError:
                break


def test_disk_full():
    """Nothing new is made (507), what runs goes on, deletion works, and afterwards all is as before."""
    with small_disk("48m") as folder, Daemon("--rate-limit", "0", "--disk-reserve", "8m", folder=folder) as d:
        stays, goes = d.make(), d.make()
        d.run(stays, "echo stays > f")
        tick = d.must(202, "POST", f"/api/sandboxes/{stays}/execute",
                      {"command": "i=0; while [ ! -e /workspace/end ]; do sleep 0.05; i=$((i+1)); [ $i != 1 ] || echo on; done; echo ran $((i > 0))",
                       "background": True})
        one = f"/api/sandboxes/{stays}/execs/{tick['exec_id']}"
        wait_for("it to run", lambda: d.must(200, "GET", one)["stdout_bytes"] > 0)
        fill(folder, 4 << 20)  # below the reserve of the settings
        a = d.ask("POST", "/api/sandboxes", {})
        assert a.status == 507 and a.json["error"]["code"] == "no_space", a
        assert d.run(stays, ["cat", "f"])["stdout"] == "stays\n"
        fill(folder, 0)  # not a byte: the store has its own reserve, for what makes room
        assert d.ask("POST", "/api/sandboxes", {}).status == 507
        assert d.ask("POST", f"/api/sandboxes/{stays}/execute", {"command": "true"}).status in (200, 507)
        assert d.must(200, "GET", f"/api/sandboxes/{stays}")["status"] in ("ready", "busy")
        d.must(200, "DELETE", f"/api/sandboxes/{goes}")
        d.must(404, "GET", f"/api/sandboxes/{goes}")
        os.unlink(os.path.join(folder, "fill"))
        d.run(stays, "touch /workspace/end")
        wait_for("its end", lambda: d.must(200, "GET", one)["status"] == "ended")
        got = d.must(200, "GET", one + "/output?from=0").decode()
        assert "ran 1" in got, (got, d.must(200, "GET", one))
        new = wait_for("room", lambda: (a := d.ask("POST", "/api/sandboxes", {})).status == 201 and a)
        assert d.run(new.json["sandbox_id"], ["true"])["exit_code"] == 0
        check_nothing_left(d)


def test_disk_full_for_layers_and_output():
    """Without a reserve in the settings: whatever does not fit is refused whole, and leaves nothing half-made."""
    with small_disk("24m") as folder, Daemon("--rate-limit", "0", "--disk-reserve", "0", folder=folder) as d:
        stays = d.make()
        fill(folder, 0)
        for _ in range(3):
            a = d.ask("POST", "/api/sandboxes", {})
            assert a.status == 507, a
        assert layer_ids(d) == {stays}, layer_ids(d)
        a = d.ask("POST", f"/api/sandboxes/{stays}/execute", {"command": "echo a"})
        assert a.status in (200, 507), a
        os.unlink(os.path.join(folder, "fill"))
        wait_for("room", lambda: d.ask("POST", f"/api/sandboxes/{stays}/execute", {"command": "echo a"}).status == 200)
        check_nothing_left(d)


# The database

def database(d, suffix=""):
    return os.path.join(d.folder, "data", "state", "state.db" + suffix)


def test_torn_tail_of_the_log():
    """What a write that did not get to its end leaves: what was answered before is there."""
    for tail in (b"\xff" * 1000, b"\0" * 5000, os.urandom(4096 + 24)):
        with Daemon("--rate-limit", "0") as d:
            box = d.make(name="answered")
            d.run(box, "echo x > f")
            d.cut_power()
            assert os.path.getsize(database(d, "-wal")) > 0
            with open(database(d, "-wal"), "ab") as f:
                f.write(tail)
            d.start()
            got = d.must(200, "GET", "/api/sandboxes/answered")
            assert got["sandbox_id"] == box and got["status"] == "error" and got["cause"] == "sandbox_gone", got
            d.start_again(box)
            assert d.run(box, ["cat", "f"])["stdout"] == "x\n"
            check_nothing_left(d)


def spoil_spool(d, box, execution, how):
    """Damages the file of a command's output: how(file, where the bytes are)."""
    name = os.path.join(d.folder, "data", "state", "spool", f"{box}.{execution}")
    with open(name, "r+b") as f:
        content = f.read()
        how(f, content.index(b"line 00000\n"))


def lines(first, last):
    return "".join(f"line {i:05}\n" for i in range(first, last))


def check_lost(d, box, execution, first, last):
    """Bytes [first, last) are told as lost in every form, and what stands around them is right."""
    path = f"/api/sandboxes/{box}/execs/{execution}"
    text = lines(0, 10000)
    events = [json.loads(line) for line in d.ask("GET", f"{path}/output", headers={"Accept": "application/x-ndjson"}).body.splitlines() if line]
    told = "".join(e["text"] for e in events if e["event"] == "stdout")
    assert told == text[:first] and events[-1]["event"] == "error", (len(told), events[-1])
    e = events[-1]
    assert (e["code"], e["lost_from"], e["lost_to"], e["cursor"]) == ("damaged", first, last, last), e
    assert f"bytes {first} to {last}" in e["message"] and "exited" not in {x["event"] for x in events}, e
    a = d.ask("GET", f"{path}/output?raw=true&from={first}")
    assert a.status == 410 and a.json["error"]["code"] == "damaged", a
    assert f"cursor {last}" in a.json["error"]["message"], a
    broken, _ = d.begin("GET", f"{path}/output?raw=true")
    got = b""
    try:
        while piece := broken.read1(65536):
            got += piece
        assert False, "a raw stream ended as if it were whole"
    except http.client.HTTPException:
        assert text[:first].encode().startswith(got), len(got)
    assert d.ask("GET", f"{path}/output?raw=true&from={last}").body.decode() == text[last:]
    view = d.must(200, "GET", path)
    assert {"from": first, "to": last} in view["output_lost"] and view["exit_code"] == 0, view
    assert view["output_end"] == len(text), view


def test_torn_spools():
    """Output whose file is cut, or has zeros or garbage: told as lost, never as an end or as something else; also by the next front."""
    with Daemon() as d:
        box = d.make()
        runs = [d.run(box, "i=0; while [ $i -lt 10000 ]; do printf 'line %05d\\n' $i; i=$((i+1)); done") for _ in range(3)]
        zeros, cut, head = (r["exec_id"] for r in runs)
        assert all(r["stdout"] == lines(0, 10000) for r in runs)

        def garbage(f, at):
            f.seek(at + 5000)
            f.write(b"\0" * 3000)

        spoil_spool(d, box, zeros, garbage)
        spoil_spool(d, box, cut, lambda f, at: f.truncate(at + 50000))
        check_lost(d, box, zeros, 4096, 8192)
        check_lost(d, box, cut, 49152, 110000)
        sleeper = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {
            "background": True, "command": "printf 'line 00000\\n'; i=1; while [ $i -lt 10000 ]; do printf 'line %05d\\n' $i; i=$((i+1)); done; sleep 3000"})["exec_id"]
        wait_for("its output", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{sleeper}")["output_end"] == 110000)
        os.kill(d.child("cay-front"), signal.SIGKILL)
        wait_for("the next front", lambda: ready(d))
        spoil_spool(d, box, head, lambda f, at: (f.seek(40), f.write(b"?" * 90)))
        spoil_spool(d, box, sleeper, garbage)
        check_lost(d, box, zeros, 4096, 8192)
        a = d.ask("GET", f"/api/sandboxes/{box}/execs/{head}/output")
        assert a.status == 410 and "bytes 0 to 110000" in a.json["error"]["message"], a
        assert d.must(200, "GET", f"/api/sandboxes/{box}/execs/{head}")["output_lost"] == [{"from": 0, "to": 110000}]
        # The one that runs goes on, and says what is lost of it.
        a = d.ask("GET", f"/api/sandboxes/{box}/execs/{sleeper}/output?from=5000")
        assert a.status == 410, a
        assert d.must(200, "GET", f"/api/sandboxes/{box}/execs/{sleeper}")["status"] == "running"
        d.must(200, "DELETE", f"/api/sandboxes/{box}/execs/{sleeper}")
        d.stop()
        d.start()
        for execution in (zeros, cut, head):
            assert d.must(200, "GET", f"/api/sandboxes/{box}/execs/{execution}")["output_lost"], execution
        d.must(200, "GET", "/api/health/ready")
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
        check_nothing_left(d)


def ready(d):
    try:
        return d.ask("GET", "/api/health/ready").status == 200
    except DOWN:
        return False


def refused(d, *flags):
    """What a start that fails says."""
    done = subprocess.run([CAY, "serve", "--data", os.path.join(d.folder, "data"), "--listen", "127.0.0.1:0", *flags],
                          capture_output=True, text=True, timeout=PATIENCE_S, env={"PATH": os.environ["PATH"]}, check=False)
    assert done.returncode != 0, done
    return done.stderr


def test_two_daemons():
    with Daemon() as d:
        text = refused(d)
        assert f"another cay serve (pid {d.process.pid})" in text and "--data" in text, text
        assert d.ask("GET", "/api/version").status == 200


def test_read_only_database():
    d = Daemon()
    with d:
        box = d.make()
        d.stop()
        os.chown(database(d), 0, 0)
        os.chmod(database(d), 0o444)
        text = refused(d)
        assert "state.db" in text and ("Permission denied" in text or "read-only" in text), text
        os.chown(database(d), *owner_of(d))
        os.chmod(database(d), 0o600)
        d.start()
        d.must(200, "GET", f"/api/sandboxes/{box}")
        check_nothing_left(d)


def owner_of(d):
    st = os.stat(os.path.join(d.folder, "data", "state"))
    return st.st_uid, st.st_gid


def test_read_only_disk():
    with small_disk("24m") as folder:
        d = Daemon(folder=folder)
        with d:
            d.stop()
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
            text = refused(d)
            assert "Read-only file system" in text, text
            subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
            d.start()


def test_corrupt_page():
    """It is not served from: what can be read is carried over, the damaged file is kept, and both are said."""
    d = Daemon("--rate-limit", "0")
    with d:
        for i in range(60):  # more than a page of events
            d.must(200, "DELETE", f"/api/sandboxes/{d.make(own_user_only=True, labels={'l' * 50: str(i) * 100})}")
        box = d.make()
        d.must(200, "POST", f"/api/sandboxes/{box}/stop")
        d.stop()
        size = os.path.getsize(database(d))
        assert size >= 8 * 4096, size
        with open(database(d), "r+b") as f:
            f.seek(size - size // 3 // 4096 * 4096)
            f.write(os.urandom(4096))
        d.start()
        assert "the database was damaged" in d.log(), d.log()[-2000:]
        assert any(".damaged" in n for n in os.listdir(os.path.dirname(database(d))))
        known = {b["sandbox_id"] for b in d.must(200, "GET", "/api/sandboxes")["sandboxes"]}
        assert known <= {box}, known
        check_nothing_left(d)
        d.stop()
        # one that is no database at all
        with open(database(d), "r+b") as f:
            f.write(b"this is no database" * 300)
        d.start()
        assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []


# Time

def test_clock_moves():
    """An hour forward, an hour back: deadlines do not notice; tokens are off by no more than the jump."""
    with Daemon("--rate-limit", "0", env={"CAY_TEST_CLOCK": "test-clock"}) as d:
        def set_clock(ms):
            path = os.path.join(d.folder, "data", "state", "test-clock")
            with open(path + ".new", "w", encoding="utf-8") as f:
                f.write(str(ms))
            os.chmod(path + ".new", 0o644)
            os.rename(path + ".new", path)

        long = d.make_token("--lifetime", "3h")
        box = d.make(timeout="10m", idle_timeout="10m")
        one = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 1000", "timeout": 600, "background": True})
        path = f"/api/sandboxes/{box}/execs/{one['exec_id']}"
        for shift in (3600000, -3600000, 0):
            set_clock(shift)
            got = d.must(200, "GET", f"/api/sandboxes/{box}", token=long)
            assert got["status"] == "busy" and 500000 < got["expires_in_ms"] <= 600000, got
            ex = d.must(200, "GET", path, token=long)
            assert ex["status"] == "running" and 500000 < ex["deadline_in_ms"] <= 600000, ex
            if shift == 3600000:  # 30 minutes are over, by that clock
                assert d.ask("GET", "/api/sandboxes").status == 401
            if shift == -3600000:  # and do not begin anew: a clock that was seen never goes back
                assert d.ask("GET", "/api/sandboxes").status == 401
        slow = d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 1000", "timeout": 0.3}, token=long)
        assert slow["cause"] == "wall_time", slow
        # over a restart, with the clock moved meanwhile
        d.stop()
        set_clock(3600000)
        d.start()
        got = d.must(200, "GET", f"/api/sandboxes/{box}", token=long)
        assert 500000 < got["expires_in_ms"] <= 600000, got
        set_clock(0)
        d.token = d.make_token("--lifetime", "3h")
        check_nothing_left(d)


# The daemon's own limits

def test_out_of_descriptors():
    """New work is refused with a reason; what is there can be asked about and destroyed."""
    pid = os.fork()
    if pid == 0:  # limits of a process are for good: in a child, which the daemon inherits them from
        resource.setrlimit(resource.RLIMIT_NOFILE, (112, 112))
        few_descriptors()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def few_descriptors():
    with Daemon("--rate-limit", "0", "--max-sandboxes", "100") as d:
        front, boxes = d.child("cay-front"), []
        for _ in range(100):
            a = d.ask("POST", "/api/sandboxes", {"own_user_only": True})
            if a.status != 201:
                break
            boxes.append(a.json["sandbox_id"])
        assert len(boxes) >= 2 and a.status == 429 and "RLIMIT_NOFILE" in a.json["error"]["message"], (len(boxes), a)
        for box in boxes:
            assert d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "ready"
        for box in boxes[2:]:
            d.must(200, "DELETE", f"/api/sandboxes/{box}")
        for box in boxes[:2]:
            assert d.run(box, ["true"])["exit_code"] == 0
        d.make(own_user_only=True)
        assert d.child("cay-front") == front
        check_nothing_left(d)


def test_out_of_processes():
    """The warden can start nothing: creates are refused, deletion works, and afterwards all is as before."""
    group = os.path.join(CGROUPS, "pids", f"test-cay-{os.getpid()}")
    if not os.path.isdir(os.path.dirname(group)):
        print("no pids controller of its own here: left out")
        return
    os.mkdir(group)
    try:
        with Daemon("--rate-limit", "0") as d:
            stays, goes = d.make(), d.make()
            warden = d.child("cay-warden")
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="utf-8") as f:
                f.write(str(warden))
            with open(os.path.join(group, "pids.max"), "w", encoding="utf-8") as f:
                f.write("1")
            for _ in range(3):
                a = d.ask("POST", "/api/sandboxes", {})
                assert a.status >= 429, a
            d.must(200, "DELETE", f"/api/sandboxes/{goes}")
            assert d.run(stays, ["true"])["exit_code"] == 0
            with open(os.path.join(group, "pids.max"), "w", encoding="utf-8") as f:
                f.write("max")
            d.make()
            check_nothing_left(d)
    finally:
        wait_for("the group to be empty", lambda: not remove_group(group))


def remove_group(group):
    try:
        os.rmdir(group)
    except OSError:
        return True
    return False


def test_silence_is_told_once():
    """An engine and a box that do not answer: found by pings, and one line of the log for each change, however often one looks."""
    with Daemon("--rate-limit", "0", "--health-interval", "100ms", "--health-misses", "3") as d:
        box, warden = d.make(), d.child("cay-warden")
        init = next(pid for pid, comm in children(warden) if comm == "cay-init")

        def is_so(ready, status):  # whoever waits for the machine for 300 ms is silent, too, and comes back
            return (d.ask("GET", "/api/health/ready", unix=True, token=None).status == ready
                    and d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == status)

        def look(ready, status):
            for _ in range(20):
                wait_for(f"ready {ready} and {status}", lambda: is_so(ready, status))
                time.sleep(0.02)

        def take_turns(words, told, fewest):
            """Each change is told once: the lines alternate."""
            lines = [w for w in told if w in words]
            assert len(lines) >= fewest and lines == [words[i % 2] for i in range(len(lines))], lines

        os.kill(warden, signal.SIGSTOP)
        wait_for("the engine to be down", lambda: d.ask("GET", "/api/health/ready", unix=True, token=None).status == 503)
        wait_for("its row to say so", lambda: not d.must(200, "GET", "/api/engines", unix=True, token=None)["engines"][0]["up"])
        look(503, "ready")  # the box does not need it to answer
        os.kill(warden, signal.SIGCONT)
        wait_for("the engine to be up", lambda: d.ask("GET", "/api/health/ready", unix=True, token=None).status == 200)
        os.kill(init, signal.SIGSTOP)
        wait_for("the error", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "error")
        look(200, "error")
        os.kill(init, signal.SIGCONT)
        wait_for("its answer", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "ready")
        look(200, "ready")
        told = re.findall("engine down|engine up again|sandbox in error|sandbox answers again", d.log())
        take_turns(("engine down", "engine up again"), told, 2)
        take_turns(("sandbox in error", "sandbox answers again"), told, 2)
        kinds = [e["kind"] for e in d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000")["events"]]
        take_turns(("sandbox_error", "sandbox_recovered"), kinds, 2)
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


TESTS = [test_silence_is_told_once, test_kill_at_every_step, test_disk_full, test_disk_full_for_layers_and_output, test_torn_tail_of_the_log, test_torn_spools, test_two_daemons,
         test_read_only_database, test_read_only_disk, test_corrupt_page, test_clock_moves, test_out_of_descriptors,
         test_out_of_processes]


def main(names):
    began = time.monotonic()
    count = 0
    for name in [n for n in names if n in steps()]:
        kill_at(name, AFTER.get(name, "0"))
        count += 1
    for t in TESTS:
        if names and t.__name__.removeprefix("test_") not in names:
            continue
        print(f"{t.__name__} …", flush=True)
        at = time.monotonic()
        t()
        print(f"  {time.monotonic() - at:.1f} s", flush=True)
        count += 1
    print(f"{count} passed in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
