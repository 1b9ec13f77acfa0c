#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process engine of a daemon: off unless the operator says so, never taken by itself, and what holds although nothing is isolated."""
import contextlib
import glob
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, Daemon, children, wait_for  # noqa: E402
from registry_file import Registry  # noqa: E402


IDS_AT = "/var/lib/cay-process/"  # of root's daemon


def scratch():
    return set(glob.glob("/tmp/cay-process-*") + glob.glob(IDS_AT + "*"))


def look_at(pid):
    """{name: words} of a process's status; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
            return {line.split(":")[0]: line.split()[1:] for line in f}
    except OSError:
        return {}


def has_ended(pid):
    return look_at(pid).get("State", ["Z"])[0] == "Z"


def of_id(uid):
    """Processes of a host id that have not ended."""
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and str(uid) in look_at(p).get("Uid", []) and not has_ended(p)]


def wait_for_front(d, before):
    wait_for("the next front", lambda: d.log().count("the front is back") > before)


def engine(d, name):
    return next(e for e in d.must(200, "GET", "/api/engines")["engines"] if e["name"] == name)


def is_refused(answer, *words):
    assert answer.status == 409, answer
    message = answer.json["error"]["message"]
    for word in words:
        assert word in message, message


def off_by_default(registry):
    with Daemon("--registry", registry) as d:
        assert not engine(d, "process")["available"]
        is_refused(d.ask("POST", "/api/sandboxes", {"engine": "process"}), "no isolation", "process_engine")
        template = d.must(200, "GET", "/api/templates/bare")
        assert not template["available"] and "process_engine" in template["why"], template
        assert d.ask("POST", "/api/sandboxes", {"template": "bare"}).status == 409
        assert "cay-process" not in [comm for _, comm in children(d.process.pid)]
        assert "not isolated: they can" not in d.log()


def make_box(d):
    box = d.must(201, "POST", "/api/sandboxes", {"engine": "process"})
    return box["sandbox_id"], box


def out(d, box, command, **fields):
    answer = d.run(box, command, **fields)
    assert answer["exit_code"] == 0, answer
    return answer["stdout"].strip()


def on_by_a_word(d, is_root):
    assert d.log().count("commands of the process engine are not isolated") == 1
    row = engine(d, "process")
    assert row["available"] and not row["isolates"] and not row["default"] and not row["pauses"], row
    # Nobody gets it without its name.
    assert d.must(201, "POST", "/api/sandboxes", {})["engine"] == "native"
    assert d.must(201, "POST", "/api/sandboxes", {"engine": "auto"})["engine"] == "native"
    made = d.must(201, "POST", "/api/sandboxes", {"template": "bare"})
    assert made["engine"] == "process", made
    for box in d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
        d.must(200, "DELETE", "/api/sandboxes/" + box["sandbox_id"])
    # What was asked for holds or is refused; what was not is left out where it cannot hold, and that is said.
    assert ("pids" in row["limits"]) == is_root and "memory" not in row["limits"], row
    refused = d.ask("POST", "/api/sandboxes", {"engine": "process", "limits": {"memory": "64m"}})
    assert refused.status == 422 and "memory" in refused.json["error"]["message"], refused
    for field in ({"workspace": {"path": "/tmp"}}, {"read_only": True}):
        assert d.ask("POST", "/api/sandboxes", {"engine": "process", **field}).status in (403, 422), field


def works(d):
    box, made = make_box(d)
    assert {"memory", "cpus"} <= set(made["limits_skipped"]), made
    where = out(d, box, "pwd")
    assert where.startswith(IDS_AT if os.geteuid() == 0 else "/tmp/cay-process-"), where
    assert out(d, box, "cat", stdin="words") == "words"
    d.must(200, "PUT", f"/api/sandboxes/{box}/files?path={where}/a.txt", b"by the API")
    assert out(d, box, "cat a.txt && echo >> a.txt more") == "by the API"
    assert d.must(200, "GET", f"/api/sandboxes/{box}/files?path={where}/a.txt") == b"by the APImore\n"
    refused = d.ask("POST", f"/api/sandboxes/{box}/pause")
    assert refused.status == 422 and "no freezer" in refused.json["error"]["message"], refused
    stopped = d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    assert stopped["status"] == "stopped" and not stopped["kept"], stopped
    assert not os.path.exists(where)
    assert d.must(200, "POST", f"/api/sandboxes/{box}/start")["status"] == "ready"
    assert out(d, box, "ls -A | wc -l") == "0"
    return box


def timeout_ends_everything(d, box):
    """Also what has left its session. How much time a machine needs to come that far, nobody knows."""
    for seconds in (0.3, 3, 30):
        answer = d.run(box, "rm -f away; setsid sh -c 'echo $$ > new; mv new away; exec sleep 1000' & "
                            "while ! [ -e away ]; do sleep 0.01; done; echo ready; sleep 1000", timeout=seconds)
        assert answer["cause"] == "wall_time", answer
        if answer["stdout"] == "ready\n":
            break
    pid = int(out(d, box, "cat away"))
    wait_for("the end of what had left its session", lambda: has_ended(pid))


def cannot_reach_the_daemon(d, box):
    """As root's daemon: an id of its own, that has no right to anything of Cay's."""
    uid = int(out(d, box, "id -u"))
    parts = dict((comm, pid) for pid, comm in children(d.process.pid))
    front_uid = int(look_at(parts["cay-front"])["Uid"][0])
    assert uid >= 0x78000000 and front_uid not in (0, uid), (uid, front_uid)
    assert out(d, box, "id -G") == str(uid)
    assert out(d, box, "grep NoNewPrivs: /proc/self/status").split() == ["NoNewPrivs:", "1"]
    assert out(d, box, "bash -c 'ulimit -u'") == "257", "256 by default, and its init"
    for pid in (d.process.pid, *parts.values()):
        assert "not permitted" in d.run(box, f"kill -0 {pid} 2>&1 || bash -c 'kill -9 {pid}'")["stderr"].lower()
        assert d.run(box, f"cat /proc/{pid}/environ")["exit_code"] != 0
    assert d.run(box, f"ls {d.folder}/data")["exit_code"] != 0
    assert os.path.exists(d.folder + "/data/token.secret")
    assert d.run(box, f"cat {d.folder}/data/token.secret")["exit_code"] != 0
    # One box is nothing to another, either.
    other, _ = make_box(d)
    theirs = out(d, other, "pwd")
    sleeper = d.must(202, "POST", f"/api/sandboxes/{other}/execute", {"command": "sleep 1000", "background": True})["pid"]
    assert int(out(d, other, "id -u")) != uid
    assert d.run(box, f"ls {theirs}")["exit_code"] != 0
    assert "not permitted" in d.run(box, f"bash -c 'kill -9 {sleeper}'")["stderr"].lower()
    d.must(200, "DELETE", f"/api/sandboxes/{other}")
    assert not os.path.exists(theirs) and has_ended(sleeper)


def works_at(pid, where):
    with contextlib.suppress(OSError):  # one that ends meanwhile
        return os.readlink(f"/proc/{pid}/cwd") == where
    return False


def init_of(d, where):
    return next(p for p, comm in children(d.child("cay-process")) if comm == "cay-init" and works_at(p, where))


def who_stops_everybody_is_ended(d):
    """Whoever comes to end it has its id, and must not be held up by it."""
    box, _ = make_box(d)
    where, uid = out(d, box, "pwd"), int(out(d, box, "id -u"))
    init = init_of(d, where)
    stops = "python3 -c 'import os, signal\nopen(\"go\").close()\nwhile True: os.kill(-1, signal.SIGSTOP)'"
    out(d, box, "mkfifo -m 666 go")
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": stops, "background": True})
    with open(where + "/go", "w", encoding="utf-8"):  # not before its init has told that it runs
        pass
    wait_for("its init to be stopped", lambda: look_at(init)["State"][0] == "T")
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    assert not os.path.exists(where) and not of_id(uid), of_id(uid)


def what_ends_without_a_front_is_told(d, is_root):
    """Its init dies while nobody can hear of it: what is left goes at once, and the next front says what became of it."""
    box, _ = make_box(d)
    where, uid = out(d, box, "pwd"), int(out(d, box, "id -u"))
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "setsid sleep 1000", "background": True})
    front, back, init = d.child("cay-front"), d.log().count("the front is back"), init_of(d, where)
    os.kill(front, signal.SIGSTOP)
    wait_for("the front to be stopped", lambda: look_at(front)["State"][0] == "T")
    os.kill(init, signal.SIGKILL)
    wait_for("the end of all that was in it", lambda: not os.path.exists(where) and not (is_root and of_id(uid)))
    os.kill(front, signal.SIGKILL)
    wait_for_front(d, back)
    gone = d.must(200, "GET", f"/api/sandboxes/{box}")
    assert gone["status"] == "error" and gone["cause"] == "sandbox_gone" and gone["cause_text"], gone
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def a_front_adopts(d, box):
    before, broker = out(d, box, "pwd"), d.child("cay-process")
    out(d, box, "mkfifo go")
    started = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "read x < go; echo got $x", "background": True})
    os.kill(d.child("cay-front"), signal.SIGKILL)
    wait_for_front(d, 0)
    assert d.child("cay-process") == broker and out(d, box, "pwd") == before
    out(d, box, "echo word > go")
    done = wait_for("the command's end", lambda: next(
        (e for e in [d.must(200, "GET", f"/api/sandboxes/{box}/execs/{started['exec_id']}")] if e["status"] == "ended"), None))
    assert done["exit_code"] == 0, done
    assert "not frozen" not in d.log()


def an_upgrade_keeps_them(d, box):
    before, broker = out(d, box, "pwd"), d.child("cay-process")
    back = d.log().count("the front is back")
    os.kill(d.process.pid, signal.SIGUSR2)
    wait_for_front(d, back)
    assert d.log().count("cay: upgraded version=") == 1, d.log()
    assert d.child("cay-process") == broker and out(d, box, "pwd") == before


def a_broker_takes_its_boxes_along(d, is_root):
    """Whoever has killed their init, and left every session, has the box's id still."""
    box, _ = make_box(d)
    native = d.make()
    where = out(d, box, "pwd")
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 1000", "background": True})
    uid = int(out(d, box, "id -u"))
    if is_root:  # stopped, init cannot see the end of anything
        os.kill(init_of(d, where), signal.SIGSTOP)
    front, broker = d.child("cay-front"), d.child("cay-process")
    os.kill(broker, signal.SIGKILL)
    wait_for("the next one", lambda: d.child("cay-process") not in (None, broker) and engine(d, "process")["up"])
    wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "error")
    gone = d.must(200, "GET", f"/api/sandboxes/{box}")
    assert gone["cause"] == "engine_lost" and gone["cause_text"], gone
    assert d.child("cay-front") == front, "one engine's trouble is its own"
    d.must(200, "DELETE", f"/api/sandboxes/{make_box(d)[0]}")
    wait_for("the end of all that was in it", lambda: not os.path.exists(where) and not (is_root and of_id(uid)))
    assert out(d, native, "echo there") == "there"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def as_the_only_engine():
    with Daemon("--engine", "process") as d:
        assert engine(d, "process")["default"]
        assert "cay-warden" not in [comm for _, comm in children(d.process.pid)]
        assert d.must(201, "POST", "/api/sandboxes", {})["engine"] == "process"
        is_refused(d.ask("POST", "/api/sandboxes", {"engine": "auto"}), "auto", "with isolation")
        is_refused(d.ask("POST", "/api/sandboxes", {"engine": "native"}), "native")
        inits = [p for p, _ in children(d.child("cay-process"))]
        assert inits
        all_pids = inits + [p for p, _ in children(d.process.pid)]
        os.kill(d.process.pid, signal.SIGKILL)  # with its keeper everything ends
        d.process.wait()
        d.process = None
        wait_for("everybody's end", lambda: all(has_ended(p) for p in all_pids))


def as_an_ordinary_user():
    """The same, with that user's own id: what it can read, commands can."""
    with tempfile.TemporaryDirectory(prefix="cay-serve-") as folder:
        os.chmod(folder, 0o777)
        with open(folder + "/out", "wb") as o, open(folder + "/err", "ab") as e:
            process = subprocess.Popen([CAY, "serve", "--data", folder + "/data", "--listen", "127.0.0.1:0",
                                        "--engine", "process"], stdin=subprocess.DEVNULL, stdout=o, stderr=e,
                                       user=12345, group=12345, extra_groups=[], env={"PATH": os.environ["PATH"]})
        d = Daemon(folder=folder).adopt(process)
        try:
            box, made = make_box(d)
            assert "pids" in made["limits_skipped"], made
            assert out(d, box, "id -u") == "12345"
            assert out(d, box, f"wc -c < {folder}/data/token.secret") != "0", "as the documents say"
            where = out(d, box, "pwd")
            init = next(p for p, _ in children(d.child("cay-process")))
            os.kill(d.child("cay-process"), signal.SIGKILL)
            wait_for("the end of all that was in it", lambda: has_ended(init) and not os.path.exists(where))
        finally:
            d.stop()


def main():
    before, is_root = scratch(), os.geteuid() == 0
    with Registry("containers:\n  bare: {host: true, engine: process}\n") as r:
        off_by_default(r.path)
        with Daemon("--process-engine", "--registry", r.path) as d:
            on_by_a_word(d, is_root)
            box = works(d)
            timeout_ends_everything(d, box)
            if is_root:
                cannot_reach_the_daemon(d, box)
                who_stops_everybody_is_ended(d)
            a_front_adopts(d, box)
            an_upgrade_keeps_them(d, box)
            what_ends_without_a_front_is_told(d, is_root)
            a_broker_takes_its_boxes_along(d, is_root)
    as_the_only_engine()
    if is_root:
        as_an_ordinary_user()
    left = wait_for("nothing to be left", lambda: scratch() <= before or None)
    assert left


if __name__ == "__main__":
    sys.exit(main())
