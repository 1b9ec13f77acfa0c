#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that outlive their box, and time that stands still. test_keep.py [NAME…] runs some of the tests."""
import fcntl
import os
import shutil
import signal
import stat
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, children, is_alive, run_tests, state_of, wait_for  # noqa: E402

WRITE = ("echo work > /workspace/f; echo home > ~/h; mkdir -p /tmp/d && echo tmp > /tmp/d/t; ln -s /etc/passwd /workspace/l; "
         "echo shm > /dev/shm/s")
READ = "cat /workspace/f ~/h /tmp/d/t; readlink /workspace/l; stat -c %u:%g /workspace/f; ls /dev/shm"
SEEN = "work\nhome\ntmp\n/etc/passwd\n1001:1001\n"


def layers(d):
    return sorted(n for n in os.listdir(os.path.join(d.folder, "data", "layers")) if not n.startswith("."))


def image(d, box):
    return os.path.join(d.folder, "data", "layers", box + ".img")


def state(d, box):
    return d.must(200, "GET", f"/api/sandboxes/{box}")


def change(d, box, verb, status=200):
    return d.must(status, "POST", f"/api/sandboxes/{box}/{verb}")


def wait_lost(d, box):
    """What is said of a box when it is known to be gone."""
    def lost():
        try:
            s = state(d, box)
        except (OSError, AssertionError):
            return None  # the front is replaced too
        return s if s["status"] == "error" and not s["busy_with"] else None

    return wait_for("the loss", lost)


def lose_warden(d, box):
    os.kill(d.child("cay-warden"), signal.SIGKILL)
    return wait_lost(d, box)


def remove(d, box):
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    assert not os.path.lexists(image(d, box))


def check_read(d, box):
    r = d.run(box, READ)
    assert (r["stdout"], r["stderr"]) == (SEEN, ""), r


def test_stop_and_start(d):
    box = d.make()
    st = os.lstat(image(d, box))
    assert (stat.S_IMODE(st.st_mode), st.st_uid, st.st_nlink) == (0o600, 0, 1) and stat.S_ISREG(st.st_mode), st
    assert st.st_blocks * 512 < 4 << 20, "the image is not sparse"
    d.run(box, WRITE)
    stopped = change(d, box, "stop")
    assert stopped["status"] == "stopped" and stopped["kept"] is True, stopped
    for _ in range(3):
        assert change(d, box, "start")["status"] == "ready"
        check_read(d, box)
        change(d, box, "stop")
    events = d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000")["events"]
    assert [e["detail"]["kept"] for e in events if e["kind"] in ("sandbox_started", "sandbox_stopped")] == ["true"] * 7, events
    remove(d, box)  # of one that has no box


def test_what_root_did_survives(d):
    """Also what only root of the sandbox can do; nothing that it left misleads the next start."""
    box = d.make()
    r = d.run(box, "echo '10.0.0.1 made' >> /etc/hosts; rm -r /var/cache; mkdir /opt/o; "
                   "mv /etc/ssl /etc/ssl2; ln -s /tmp /etc/ssl; echo '#!/bin/sh' > /usr/local/bin/own; chmod 755 /usr/local/bin/own",
              user="root", workdir="/")
    assert r["exit_code"] == 0, r
    for _ in range(2):
        change(d, box, "stop")
        change(d, box, "start")
        r = d.run(box, "tail -1 /etc/hosts; ls -d /var/cache /opt/o; readlink /etc/ssl; ls /tmp; "
                       "stat -c %U /usr/local/bin/own; own && echo ran", workdir="/")
        assert r["stdout"] == "10.0.0.1 made\n/opt/o\n/tmp\nroot\nran\n", r
    assert not os.path.lexists("/usr/local/bin/own") and not os.path.lexists("/opt/o")
    remove(d, box)


def test_font_cache(d):
    """The machine's cache of fonts: for who asks, only to read, after each start, and nowhere that root of the sandbox chose."""
    folder = "/var/cache/fontconfig"
    if not os.path.isdir(folder):
        print("this machine has no cache of fonts: skipped")
        return
    plain = d.make()
    assert d.run(plain, ["test", "-e", folder])["exit_code"] == 1
    for fields in [{"font_cache": True}, {"font_cache": True, "own_user_only": True}, {"font_cache": True, "read_only": True}]:
        box = d.make(**fields)
        for _ in range(2):
            r = d.run(box, f"ls {folder}; touch {folder}/x; grep -c ' {folder} ' /proc/mounts", user="sandbox" if "own_user_only" in fields else "root")
            assert r["stdout"].split() == sorted(os.listdir(folder)) + ["1"] and "Read-only" in r["stderr"], r
            change(d, box, "stop")
            change(d, box, "start")
        remove(d, box)
    assert d.run(plain, "rm -r /var/cache && ln -s /etc /var/cache && mkdir /etc/fontconfig", user="root", workdir="/")["exit_code"] == 0
    copy = d.must(201, "POST", f"/api/sandboxes/{plain}/snapshots", {})["snapshot_id"]
    box = d.make(snapshot=copy, font_cache=True)
    r = d.run(box, "ls -A /etc/fontconfig; grep -c fontconfig /proc/mounts; readlink /var/cache")
    assert r["stdout"] == "0\n/etc\n", r
    remove(d, box)
    d.must(200, "DELETE", f"/api/snapshots/{copy}")
    remove(d, plain)


def test_kinds(d):
    """Roots of every kind, and limits from small to large."""
    for fields in [{"own_user_only": True}, {"read_only": True}, {"read_only": True, "own_user_only": True},
                   {"limits": {"disk": "3m"}}, {"limits": {"disk": "20m", "inodes": 1000}}, {"limits": {"disk": "20g"}}]:
        box = d.make(**fields)
        d.run(box, "echo work > /workspace/f; echo tmp > /tmp/t")
        change(d, box, "stop")
        change(d, box, "start")
        r = d.run(box, "cat /workspace/f /tmp/t")
        assert r["stdout"] == "work\ntmp\n", (fields, r)
        remove(d, box)


def test_the_limit_holds_over_a_start(d):
    box = d.make(limits={"disk": "20m"})
    d.run(box, "head -c 15m /dev/zero > /workspace/a")
    change(d, box, "stop")
    change(d, box, "start")
    r = d.run(box, "cat /dev/zero > /workspace/b")
    assert r["cause"] == "disk", r
    assert 3 << 20 < int(d.run(box, ["stat", "-c", "%s", "/workspace/b"])["stdout"]) < 6 << 20
    remove(d, box)


def test_daemon_restarts(d):
    """Stopped, running, and running when everything was killed at once: as after a reboot."""
    stopped, ran, killed = d.make(), d.make(), d.make()
    for box in (stopped, ran, killed):
        d.run(box, WRITE)
    change(d, stopped, "stop")
    d.stop()
    d.start()
    assert state(d, stopped)["status"] == "stopped" and state(d, stopped)["kept"]
    for box in (ran, killed):
        s = state(d, box)
        assert s["status"] == "error" and s["cause"] == "sandbox_gone" and s["kept"] is True, s
        change(d, box, "start")
    assert layers(d) == sorted(b + ".img" for b in (stopped, ran, killed))
    d.run(killed, "echo more > /workspace/more")
    d.cut_power()
    d.start()
    for box in (stopped, ran, killed):
        assert state(d, box)["kept"] is True, state(d, box)
        d.start_again(box)
        check_read(d, box)
    assert d.run(killed, "cat /workspace/more")["stdout"] == "more\n"
    for box in (stopped, ran, killed):
        remove(d, box)


def test_the_warden_killed(d):
    box = d.make()
    d.run(box, WRITE)
    assert lose_warden(d, box)["kept"] is True
    d.start_again(box)
    check_read(d, box)
    remove(d, box)


def test_ended_without_a_front(d):
    """A box ends while there is no front: the next one does not wait for it."""
    box, keeper, front = d.make(), d.process.pid, d.child("cay-front")
    d.run(box, WRITE)
    init = next(pid for pid, comm in children(d.child("cay-warden")) if comm == "cay-init")
    os.kill(keeper, signal.SIGSTOP)  # or it would start the next front
    try:
        wait_for("the keeper to stand still", lambda: state_of(keeper) == "T")
        os.kill(front, signal.SIGKILL)
        wait_for("the front's end", lambda: not is_alive(front))
        os.kill(init, signal.SIGKILL)
        wait_for("the warden to have noted it", lambda: not os.path.exists(f"/proc/{init}"))
    finally:
        os.kill(keeper, signal.SIGCONT)
    s = wait_lost(d, box)
    assert s["cause"] == "sandbox_gone" and s["kept"] is True, s
    assert s["advice"] == "start it again: its files are kept", s  # of a sandbox, not of a command
    d.start_again(box)
    check_read(d, box)
    remove(d, box)


def test_damage_is_told(d):
    """A layer that cannot be mounted, or is gone, is an error with a cause, never a new one in silence."""
    box, gone, odd = d.make(), d.make(), d.make()
    for b in (box, gone, odd):
        d.run(b, WRITE)
        change(d, b, "stop")
    with open(image(d, box), "r+b") as f:
        good = f.read(65536)
        f.seek(0)
        f.write(b"\0" * 65536)
    for _ in range(2):
        why = change(d, box, "start", 409)["error"]["message"]
        assert "cannot be mounted" in why, why
        s = state(d, box)
        assert s["status"] == "error" and "cannot be mounted" in s["cause_text"] and s["kept"] is True, s
    with open(image(d, box), "r+b") as f:
        f.write(good)
    change(d, box, "start")
    check_read(d, box)
    os.unlink(image(d, gone))
    assert "gone" in change(d, gone, "start", 409)["error"]["message"]
    assert state(d, gone)["status"] == "error" and state(d, gone)["kept"] is False
    # a link in its place is not followed
    os.rename(image(d, odd), image(d, odd) + ".aside")
    os.symlink(image(d, box), image(d, odd))
    assert "not those that were kept" in change(d, odd, "start", 409)["error"]["message"]
    d.stop()
    os.unlink(image(d, odd))
    d.start()
    s = state(d, odd)
    assert s["status"] == "error" and "gone" in s["cause_text"] and s["kept"] is False, s
    os.unlink(image(d, odd) + ".aside")
    for b in (box, gone, odd):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")
    assert layers(d) == [], layers(d)


def test_files_without_a_sandbox(d):
    box = d.make()
    change(d, box, "stop")
    d.stop()
    outside = os.path.join(d.folder, "outside")
    with open(outside, "w", encoding="utf-8") as f:
        f.write("stays")
    os.symlink(outside, image(d, "nobodys-link"))
    for name in ("nobodys", "nobodys2"):
        with open(image(d, name), "wb") as f:
            f.truncate(1 << 20)
    with open(os.path.join(d.folder, "data", "layers", "UNRELATED"), "wb"):
        pass
    d.start()
    wait_for("the removal", lambda: layers(d) == sorted(["UNRELATED", box + ".img"]))
    with open(outside, encoding="utf-8") as f:
        assert f.read() == "stays"
    os.unlink(os.path.join(d.folder, "data", "layers", "UNRELATED"))
    remove(d, box)


def test_a_lost_database_loses_no_files(d):
    """state.db is gone, or empty: every image stays, is told of, and can be adopted or removed."""
    admin = d.make_token("--owner", "boss", "--scope", "admin")
    database = os.path.join(d.folder, "data", "state", "state.db")
    for empty in (False, True):
        box, other, alive = d.make(name="one"), d.make(), d.make()
        for b in (box, other, alive):
            d.run(b, f"echo {b} > /workspace/f")
        change(d, box, "stop")
        change(d, other, "stop")
        d.stop()
        for name in ("", "-wal", "-shm"):
            if os.path.exists(database + name):
                os.unlink(database + name)
        if empty:
            with open(database, "wb"):
                pass
            os.chown(database, *(getattr(os.stat(os.path.dirname(database)), n) for n in ("st_uid", "st_gid")))
            os.chmod(database, 0o600)
        for again in range(2):  # the second start has a database that is not new
            d.start()
            assert sorted(layers(d)) == sorted(b + ".img" for b in (box, other, alive)), layers(d)
            assert d.must(200, "GET", "/api/health/ready", token=admin)["files_unclaimed"] == 3
            listed = d.must(200, "GET", "/api/recover", token=admin)["files"]
            assert sorted(f["sandbox_id"] for f in listed) == sorted((box, other, alive)), listed
            if again == 0:
                d.stop()
        assert [e for e in d.must(200, "GET", "/api/events?kind=files_unclaimed", token=admin)["events"]]
        assert "cay recover" in d.log()
        made = d.must(201, "POST", f"/api/recover/{box}", {"owner": "alice", "name": "back"}, token=admin)
        assert (made["sandbox_id"], made["owner"], made["status"], made["kept"]) == (box, "alice", "stopped", True), made
        d.must(201, "POST", f"/api/recover/{alive}", {"owner": "alice"}, token=admin)
        d.must(404, "POST", f"/api/recover/{box}", {"owner": "alice"}, token=admin)
        d.must(200, "DELETE", f"/api/recover/{other}", token=admin)
        wait_for("the removal", lambda: not os.path.exists(image(d, other)))
        for b in (box, alive):
            d.must(404, "GET", f"/api/sandboxes/{b}")  # it is another owner's now
            d.must(200, "POST", f"/api/sandboxes/{b}/start", token=admin)
            r = d.must(200, "POST", f"/api/sandboxes/{b}/execute", {"command": ["cat", "/workspace/f"]}, token=admin)
            assert r["stdout"] == b + "\n", r
        assert d.must(200, "GET", "/api/health/ready", token=admin)["files_unclaimed"] == 0
        for b in (box, alive):
            d.must(200, "DELETE", f"/api/sandboxes/{b}", token=admin)
            assert not os.path.lexists(image(d, b))


def test_an_older_database_loses_no_files(d):
    """A copy of yesterday's database put back, or a log that is garbage: newer images stay, are told of, and can be adopted."""
    admin = d.make_token("--owner", "boss", "--scope", "admin")
    folder = os.path.join(d.folder, "data", "state")
    database = os.path.join(folder, "state.db")
    for how in ("older", "garbage", "no log"):
        old = d.make(name=f"old-{how.replace(' ', '-')}")
        d.run(old, "echo old > /workspace/f")
        d.stop()
        if how == "older":
            shutil.copy2(database, d.folder)
        d.start()
        new = d.make()
        d.run(new, "echo new > /workspace/f")
        change(d, new, "stop")
        if how == "older":
            d.stop()
            with open(os.path.join(d.folder, "state.db"), "rb") as f, open(database, "r+b") as g:
                g.write(f.read())
                g.truncate()
            os.unlink(os.path.join(d.folder, "state.db"))
        else:
            d.cut_power()
            assert os.path.getsize(database + "-wal") > 4096
            with open(database + "-wal", "r+b") as f:
                f.write(os.urandom(600))
            if how == "no log":
                os.unlink(database + "-wal")
        before = len(d.log())
        for again in range(2):
            d.start()
            assert new + ".img" in layers(d) and old + ".img" in layers(d), (how, layers(d))
            assert d.must(200, "GET", "/api/health/ready", token=admin)["files_unclaimed"] == 1
            assert d.must(200, "GET", "/api/sandboxes/" + old)["sandbox_id"] == old
            d.must(404, "GET", "/api/sandboxes/" + new)
            if again == 0:
                assert "the database is older" in d.log()[before:] and "cay recover" in d.log()[before:], how
                d.stop()
        assert d.must(200, "GET", "/api/events?kind=store_older", token=admin)["events"], how
        assert how != "garbage" or any(n.startswith("state.db-wal.older-") for n in os.listdir(folder))
        d.must(201, "POST", f"/api/recover/{new}", {"owner": "alice"}, token=admin)
        d.must(200, "POST", f"/api/sandboxes/{new}/start", token=admin)
        r = d.must(200, "POST", f"/api/sandboxes/{new}/execute", {"command": ["cat", "/workspace/f"]}, token=admin)
        assert r["stdout"] == "new\n", r
        d.must(200, "DELETE", f"/api/sandboxes/{new}", token=admin)
        d.must(200, "DELETE", f"/api/sandboxes/{old}")
        wait_for("the removal", lambda: layers(d) == [])  # and afterwards what nobody knows of goes again
        d.stop()
        before = len(d.log())
        d.start()
        assert "the database is older" not in d.log()[before:], how


def test_a_database_damaged_while_it_is_used(d):
    """Garbage over it: requests fail with a reason, ready says so and what to do, no front dies of it; a restart keeps the files."""
    admin = d.make_token("--owner", "boss", "--scope", "admin")
    box = d.make()
    d.run(box, "echo mine > /workspace/f")
    change(d, box, "stop")
    d.stop()
    d.start()
    front = d.child("cay-front")
    folder = os.path.join(d.folder, "data", "state")
    for name in ("state.db", "state.db-wal"):
        with open(os.path.join(folder, name), "r+b") as f:
            size = max(os.path.getsize(os.path.join(folder, name)), 65536)
            f.write(os.urandom(size))

    def noticed():
        d.ask("POST", "/api/sandboxes", {"own_user_only": True})
        d.ask("GET", "/api/events?limit=1000", token=admin)
        return d.ask("GET", "/api/health/ready").status == 503

    wait_for("the damage to be noticed", noticed)
    a = d.ask("GET", "/api/health/ready")
    assert "damaged" in a.json["error"]["message"] and "restart" in a.json["error"]["message"], a
    assert d.child("cay-front") == front
    d.stop()
    d.start()
    assert box + ".img" in layers(d), layers(d)
    files = {f["sandbox_id"] for f in d.must(200, "GET", "/api/recover", token=admin)["files"]}
    known = {b["sandbox_id"] for b in d.must(200, "GET", "/api/sandboxes", token=admin)["sandboxes"]}
    assert box in files | known, (files, known)
    for b in files:
        d.must(200, "DELETE", f"/api/recover/{b}", token=admin)
    for b in known:
        d.must(200, "DELETE", f"/api/sandboxes/{b}", token=admin)
    d.stop()
    for name in os.listdir(folder):
        if ".damaged" in name:
            os.unlink(os.path.join(folder, name))
    d.start()


def test_a_start_waits_for_its_files(d):
    """Files that are still in use: the start waits for them, everybody else is served meanwhile; and not for ever."""
    box, other = d.make(), d.make()
    d.run(box, "echo mine > /workspace/f")
    change(d, box, "stop")
    with open(image(d, box), "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        asked = threading.Thread(target=lambda: change(d, box, "start"))
        asked.start()
        wait_for("the start to wait", lambda: "start waits for its files" in d.log())
        began = time.monotonic()
        for _ in range(20):
            assert d.run(other, ["true"])["exit_code"] == 0
        took = time.monotonic() - began
        assert asked.is_alive() or took > 15, took
        fcntl.flock(f, fcntl.LOCK_UN)
    asked.join()
    assert state(d, box)["status"] == "ready" and d.run(box, ["cat", "/workspace/f"])["stdout"] == "mine\n"
    change(d, box, "stop")
    with open(image(d, box), "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        a = d.ask("POST", f"/api/sandboxes/{box}/start")
        assert a.status == 503 and "still mounted" in a.json["error"]["message"], a
    assert state(d, box)["status"] == "stopped"
    change(d, box, "start")
    for b in (box, other):
        remove(d, b)


def test_interrupted_writing_is_mended(d):
    """Everything killed in the middle of writing: the journal makes sense of it."""
    for limits in ({}, {"disk": "10m"}):
        box = d.make(limits=limits)
        d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"background": True, "command":
               "while :; do mkdir -p a && echo x > a/b && mv a c && rm -r c; head -c 100k /dev/zero > z; done"})
        time.sleep(0.3)
        d.run(box, "echo fine > /workspace/f; sync")
        lose_warden(d, box)
        d.start_again(box)
        assert d.run(box, ["cat", "/workspace/f"])["stdout"] == "fine\n"
        remove(d, box)


def test_memory_hint(d):
    """A command that survives the loss of a child to the memory limit says so."""
    box = d.make(limits={"memory": "64m"})
    eat = "b = bytearray(200 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1"
    r = d.run(box, ["sh", "-c", f"python3 -c '{eat}'; exit 0"])
    assert r["cause"] == "exited" and r["exit_code"] == 0 and "memory" in r["hints"], r
    assert d.run(box, ["sleep", "0.1"])["hints"] == []
    remove(d, box)


# What is done while a limit stands still: without a restart of the daemon in it.
MEANWHILE = [test_stop_and_start, test_what_root_did_survives, test_font_cache, test_kinds, test_the_limit_holds_over_a_start, test_memory_hint]


def test_pause_stops_the_clock(d):
    """A command's time limit stands still while its sandbox is paused, also when the front is killed meanwhile."""
    limit_s, box = 8, d.make()
    one = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "while ! test -e go; do sleep 0.05; done; echo done",
                                                                "timeout": limit_s, "background": True})["exec_id"]
    one = f"/api/sandboxes/{box}/execs/{one}"
    change(d, box, "pause")
    paused_at = time.monotonic()
    os.kill(d.child("cay-front"), signal.SIGKILL)

    def back():
        try:
            return state(d, box)["status"] == "paused"
        except (OSError, AssertionError):
            return False

    wait_for("the front", back)
    for other in MEANWHILE:
        other(d)
    time.sleep(max(0, limit_s + 0.5 - (time.monotonic() - paused_at)))  # longer than the limit: it would be over
    assert d.must(200, "GET", one)["status"] != "ended"
    change(d, box, "resume")
    d.must(200, "PUT", f"/api/sandboxes/{box}/files?path=go", b"")
    ended = wait_for("the end", lambda: (e := d.must(200, "GET", one))["status"] == "ended" and e)
    assert (ended["cause"], ended["exit_code"]) == ("exited", 0), ended
    # and goes on afterwards
    assert d.run(box, ["sleep", "1000"], timeout=0.3)["cause"] == "wall_time"
    remove(d, box)


TESTS = [test_a_lost_database_loses_no_files, test_an_older_database_loses_no_files, test_a_database_damaged_while_it_is_used,
         test_a_start_waits_for_its_files,          test_daemon_restarts, test_the_warden_killed, test_ended_without_a_front, test_damage_is_told,
         test_files_without_a_sandbox, test_interrupted_writing_is_mended, test_pause_stops_the_clock]


def main():
    with Daemon("--rate-limit", "0", "--log-level", "debug") as d:
        run_tests(MEANWHILE + TESTS if sys.argv[1:] else TESTS, d)
        assert layers(d) == [], layers(d)


if __name__ == "__main__":
    main()
