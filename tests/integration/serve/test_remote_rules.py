#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the user of a machine allows a daemon, TLS between them, and a side that is hostile. test_remote_rules.py [NAME…] runs some."""
import contextlib
import fcntl
import os
import pty
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import agent_wire as wire  # noqa: E402
from agent_process import AgentProcess  # noqa: E402
from daemon import BUILD, CAY, PATIENCE_S, Daemon, agent_of, children, is_alive, wait_for  # noqa: E402
from ws_client import Closed  # noqa: E402

SKIP = ["memory", "swap", "cpus", "pids", "disk", "inodes"]
CODE = "abcde-fghjk-mnpqr-stuvw"


class Agent(AgentProcess):
    """`cay agent`, on a terminal of its own if it is to have one."""

    def __init__(self, url, folder, code=None, rules=None, flags=(), terminal=False):
        self.folder, log_path = folder, os.path.join(folder, "agent.log")
        if rules is not None:
            with open(os.path.join(folder, "rules"), "w", encoding="utf-8") as f:
                f.write(rules)
            os.chmod(f.name, 0o600)
        words = [CAY, "agent", "--connect", url, "--name", "laptop", "--state", folder, *flags]
        self.screen = None
        if not terminal:
            super().__init__(words, log_path, code)
            return
        self.log_path = log_path
        self.screen, slave = pty.openpty()

        def take():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        with open(log_path, "ab") as log:
            self.process = subprocess.Popen(words, stdin=slave, stdout=log, stderr=log, preexec_fn=take)
        os.close(slave)
        self.type((code or "") + "\n" if code else "")

    def type(self, keys):
        os.write(self.screen, keys.encode())

    def questions(self):
        return self.log().count("Allow it?")

    def stop(self, expect=0):
        super().stop(expect)
        if self.screen is not None:
            os.close(self.screen)
            self.screen = None


@contextlib.contextmanager
def folder_for():
    folder = tempfile.mkdtemp(prefix="cay-agent-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def wait_state(d, wanted):
    wait_for(f"the machine to be {wanted}", lambda: d.must(200, "GET", "/api/machines/laptop")["state"] == wanted)


@contextlib.contextmanager
def paired(d, rules=None, **more):
    with folder_for() as folder:
        agent = Agent(f"ws://127.0.0.1:{d.port}/agent", folder, d.must(201, "POST", "/api/machines", {"name": "laptop"})["code"], rules, **more)
        try:
            wait_state(d, "ready")
            yield agent
        except BaseException:
            print("agent's log:\n" + agent.log()[-4000:])
            raise
        finally:
            if agent.process.poll() is None:
                agent.stop()
            d.must(200, "DELETE", "/api/machines/laptop")


def make(d, **fields):
    return d.make(machine="laptop", may_skip=SKIP, **fields)


def refused(d, status, words, **fields):
    a = d.ask("POST", "/api/sandboxes", {"machine": "laptop", "may_skip": SKIP, **fields})
    assert a.status == status and words in a.body.decode(), a


def workspace(path, mode="ro"):
    return {"workspace": {"path": path, "mode": mode}}


def folders_are_used_as_the_rules_say(d):
    with folder_for() as own:
        for name in ("project", "project/sub", "data", "other", "project/secret"):
            os.mkdir(f"{own}/{name}")
        os.symlink(f"{own}/other", f"{own}/project/link")
        with open(f"{own}/project/given", "w", encoding="utf-8") as f:
            f.write("outside\n")
        os.chmod(own, 0o755)
        rules = f"# mine\nfolder {own}/project rw\nfolder {own}/data cow allow # copy\nfolder {own}/project/secret ro\n"
        with paired(d, rules) as agent:
            # A folder with all its own; what is written belongs to the folder's owner.
            box = make(d, **workspace(f"{own}/project/sub", "rw"))
            assert d.run(box, "echo in > made; ls -a")["stdout"].split() == [".", "..", "made"]
            assert os.stat(f"{own}/project/sub/made").st_uid == os.geteuid()
            assert d.must(200, "GET", f"/api/sandboxes/{box}")["workspace"]["path"] == f"{own}/project/sub"
            box = make(d, **workspace(f"{own}/project"))
            r = d.run(box, "cat given; touch more")
            assert r["stdout"] == "outside\n" and r["exit_code"] != 0, r
            box = make(d, **workspace(f"{own}/data", "cow"))
            assert d.run(box, "echo x > x; cat x")["stdout"] == "x\n" and os.listdir(f"{own}/data") == []
            # Nothing wider, whatever it is called.
            refused(d, 403, "allows no sandbox to use", **workspace(f"{own}/other"))
            refused(d, 403, "allows no sandbox to use", **workspace(own))
            refused(d, 403, "allows no sandbox to use", **workspace(f"{own}/projects"))
            refused(d, 403, "as cow only", **workspace(f"{own}/data", "rw"))
            refused(d, 403, "as ro only", **workspace(f"{own}/project", "rw"))  # a part of it is read-only
            refused(d, 400, "without '.' or '..'", **workspace(f"{own}/project/../other"))
            refused(d, 400, "absolute", **workspace("project"))
            for path in ("project/\n", "project/\u009b2J", "project/\u202etxt"):  # refused by the daemon: the agent would hang up
                refused(d, 400, "workspace", **workspace(f"{own}/{path}"))
            refused(d, 403, "leads over a link", **workspace(f"{own}/project/link"))
            refused(d, 400, "open 'missing' below its root", **workspace(f"{own}/project/missing"))
            assert agent.questions() == 0
        for bad, words in (("folder relative rw\n", "line 1"), ("\nfolders x\n", "line 2"), (f"folder {own}/nope ro\n", "nope"),
                           ("commands root\n", "isolated|user"), (f"folder {own}/data rw\nfolder {own}/data ro\n", "line 2")):
            with folder_for() as folder:
                agent = Agent(f"ws://127.0.0.1:{d.port}/agent", folder, CODE, bad)
                assert agent.process.wait(PATIENCE_S) == 1 and words in agent.log(), agent.log()
        with folder_for() as folder:
            Agent(f"ws://127.0.0.1:{d.port}/agent", folder, CODE, "sandboxes allow\n").process.wait(PATIENCE_S)
            os.chmod(f"{folder}/rules", 0o666)
            agent = Agent(f"ws://127.0.0.1:{d.port}/agent", folder, CODE)
            assert agent.process.wait(PATIENCE_S) == 1 and "writable by nobody else" in agent.log(), agent.log()


def answer(agent, key, t):
    """A yes that comes as soon as the question is no answer: nobody can have read it."""
    for _ in range(PATIENCE_S):
        agent.type(key)
        t.join(1)
        if not t.is_alive():
            return
    raise AssertionError("waited in vain for an answer")


def what_needs_a_yes_waits_for_it(d):
    with folder_for() as own, paired(d, f"folder {own} rw ask\n", terminal=True) as agent:
        os.chmod(own, 0o755)

        def asks(key, number, status, path=own):
            answers = []
            t = in_background(lambda: answers.append(d.ask("POST", "/api/sandboxes", {"machine": "laptop", "may_skip": SKIP,
                                                                                     **workspace(path, "rw")})))
            wait_for("a question", lambda: agent.questions() == number)
            assert not answers
            answer(agent, key, t)
            assert answers and answers[0].status == status, answers
            return answers[0]

        make(d)  # without a folder nothing is asked
        assert agent.questions() == 0
        asks("n", 1, 403)
        box = asks("xy", 2, 201).json["sandbox_id"]  # x means nothing
        assert own in agent.log() and "may change the files of" in agent.log()
        d.run(box, "echo 1 > f")
        asks("a", 3, 201)
        make(d, **workspace(own, "rw"))  # remembered
        assert agent.questions() == 3
        agent.stop()
        wait_state(d, "away")
        # By the next agent too; but a rule that was changed asks again, and without a terminal that is a no.
        again = Agent(f"ws://127.0.0.1:{d.port}/agent", agent.folder)
        wait_state(d, "ready")
        make(d, **workspace(own, "rw"))
        again.stop()
        wait_state(d, "away")
        with folder_for() as other:
            again = Agent(f"ws://127.0.0.1:{d.port}/agent", agent.folder, rules=f"folder {own} cow ask\nfolder {other} ro\n")
            wait_state(d, "ready")
            refused(d, 403, "no terminal", **workspace(own))
            make(d, **workspace(other))
            again.stop()
            wait_state(d, "away")
        again = Agent(f"ws://127.0.0.1:{d.port}/agent", agent.folder, rules="sandboxes deny\n")
        wait_state(d, "ready")
        refused(d, 403, "allows no sandboxes")
        again.stop()


def in_background(work):
    import threading
    t = threading.Thread(target=work, daemon=True)
    t.start()
    return t


def a_key_answers_one_question(d):
    """A daemon chooses when it asks: the second of two keys that were pressed at once is no yes to a question that was not shown yet."""
    with folder_for() as folder, folder_for() as own, folder_for() as keys:
        os.chmod(own, 0o755)
        fake = wire.FakeDaemon(keys, CODE)
        agent = Agent(f"ws://127.0.0.1:{fake.port}/agent", folder, CODE, f"folder {own} rw ask\n", terminal=True)
        assert fake.serve().welcome() == []
        for i, mode in enumerate((wire.RO, wire.RW)):
            fake.say(wire.ask_make(2 * i + 2, 2 * i + 1, f"box-{i}", folder=own, mode=mode))
        wait_for("a question", lambda: agent.questions() == 1)
        time.sleep(1)  # it is read
        agent.type("yy")
        assert fake.answer()[:2] == (2, 0)
        wait_for("the next question", lambda: agent.questions() == 2)
        time.sleep(1)
        assert "yes" not in agent.log().split("may change the files of")[1]
        agent.type("n")
        number, code, words = fake.answer()
        assert number == 4 and code != 0 and "said no" in words, words
        # What is shown is what is asked: a path that could paint over the question ends the connection.
        for path in ("/\x1b[2K", "/\u009b2K", "/\u202etxt", "/\u2028no"):
            fake.say(wire.ask_make(6, 7, "paint", folder=own + path))
            assert fake.is_over(), path
            fake.close()
            assert fake.serve().welcome() == ["box-0"], path
        assert agent.questions() == 2
        agent.stop()
        fake.done()


def one_key_stops_everything(d):
    with paired(d, terminal=True) as agent:
        box = make(d)
        d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 1000", "background": True})
        warden = next(p for p, comm in children(agent.process.pid) if comm == "cay-warden")
        agent.type("q")
        assert agent.process.wait(PATIENCE_S) == 0 and "all sandboxes on this machine end" in agent.log()
        wait_for("the warden's end", lambda: not is_alive(warden))
        wait_state(d, "away")


def commands_run_as_the_user_where_the_rules_say_so(d):
    with paired(d, "commands user\nfolder /usr ro\n"):
        m = d.must(200, "GET", "/api/machines/laptop")
        assert m["commands"] == "user", m
        box = make(d)
        r = d.run(box, "readlink /proc/self/ns/net; pwd; echo here > f; cat f")
        net, pwd, rest = r["stdout"].split("\n")[:3]
        assert net == os.readlink("/proc/self/ns/net") and pwd.startswith("/") and rest == "here", r
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["workspace"]["inside"] == pwd, pwd
        refused(d, 422, "maps no folder", **workspace("/usr"))
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
        assert not os.path.exists(pwd)
    with paired(d):
        assert d.must(200, "GET", "/api/machines/laptop")["commands"] == "isolated"


def tls_is_checked(d):
    from test_sign_in import TlsDaemon, make_certificate
    from test_remote import Relay
    with folder_for() as folder, folder_for() as state:
        cert, key = make_certificate(folder)
        with TlsDaemon(cert, key, tempfile.mkdtemp(dir=folder)) as t:
            url = f"wss://127.0.0.1:{t.port}/agent"
            elsewhere = Relay(t.port, "127.0.0.2")
            added = t.must(201, "POST", "/api/machines", {"name": "laptop"})
            assert added["command"].startswith("cay agent --connect wss://"), added
            # Unknown authority; another name; no TLS there.
            for address, flags, words in ((url, [], "not signed by a trusted authority"),
                                          (f"wss://127.0.0.2:{elsewhere.address}/agent", ["--ca", cert], "another name"),
                                          (f"wss://127.0.0.1:{d.port}/agent", ["--ca", cert], "does not speak TLS")):
                with folder_for() as other:
                    agent = Agent(address, other, added["code"], flags=flags)
                    wait_for(words, lambda: words in agent.log())
                    agent.stop()
            elsewhere.close()
            assert t.must(200, "GET", "/api/machines/laptop")["state"] == "waiting"
            agent = Agent(url, state, added["code"], flags=["--ca", cert])
            wait_state(t, "ready")
            box = make(t)
            assert t.run(box, "cat | wc -c", stdin="x" * 300000)["stdout"] == "300000\n"
            data = os.urandom(3 << 20)
            t.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/f", data)
            assert t.must(200, "GET", f"/api/sandboxes/{box}/files?path=/workspace/f") == data
            assert "Seccomp:\t2" in open(f"/proc/{agent_of(agent.process)}/status", encoding="utf-8").read() or not is_filtered()
            agent.stop()


def is_filtered():
    """Sanitizer builds have no filter."""
    return b"__asan_init" not in open(os.path.join(BUILD, "cay-agent"), "rb").read()


def sandboxes_are_bounded_by_the_rules(d):
    """By the agent, with its words; and by the warden, for a daemon that asks for what has no limit."""
    for commands in ("isolated", "user"):
        # Of commands that are not isolated nothing enforces the rest, so such a rule is refused (unit/cay-agent/test_rules.c).
        bounds = "most memory 512m\nmost cpus 1.5\n" if commands == "isolated" else ""
        with paired(d, f"{bounds}most sandboxes 2\ncommands {commands}\n"):
            small = {"limits": {"memory": "256m", "cpus": 1}}
            if bounds:
                refused(d, 403, "at most 512.00 MiB", limits={"memory": "1g", "cpus": 1})
                refused(d, 403, "at most 1.50", limits={"memory": "256m", "cpus": 2})
            boxes = [make(d, **small) for _ in range(2)]
            refused(d, 429, "at most 2 sandboxes", **small)
            d.ask("DELETE", f"/api/sandboxes/{boxes.pop()}")
            wait_for("room", lambda: d.ask("POST", "/api/sandboxes", {"machine": "laptop", "may_skip": SKIP, **small}).status == 201)
            assert d.run(boxes[0], "echo here")["stdout"] == "here\n"
            for sandbox in d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
                d.ask("DELETE", f"/api/sandboxes/{sandbox['sandbox_id']}")
    with folder_for() as folder, folder_for() as keys:
        fake = wire.FakeDaemon(keys, CODE)
        agent = Agent(f"ws://127.0.0.1:{fake.port}/agent", folder, CODE, "most memory 1g\n")
        fake.serve().welcome()
        fake.say(wire.ask_make(2, 1, "boundless"))
        number, code, words = fake.answer()
        assert number == 2 and code != 0 and "at most 1024.00 MiB" in words, words
        agent.stop()
        fake.done()
    # Those that are being made count, too.
    for commands in ("isolated", "user"):
        with folder_for() as folder, folder_for() as keys:
            fake = wire.FakeDaemon(keys, CODE)
            agent = Agent(f"ws://127.0.0.1:{fake.port}/agent", folder, CODE, f"most sandboxes 2\ncommands {commands}\n")
            fake.serve().welcome()
            for i in range(10):
                fake.say(wire.ask_make(2 * i + 2, 2 * i + 1, f"many-{i}", limits=(128 << 20, 0, 1000, 50, 16 << 20, 1000)))
            codes = [fake.answer()[1] for _ in range(10)]
            assert codes.count(0) == 2, codes
            agent.stop()
            fake.done()


def a_hostile_daemon_gets_no_more_than_the_rules(_):
    with folder_for() as folder, folder_for() as own, folder_for() as keys:
        os.chmod(own, 0o755)
        os.mkdir(f"{own}/sub")
        os.symlink("/", f"{own}/sub/root")
        fake = wire.FakeDaemon(keys, CODE)
        agent = Agent(f"ws://127.0.0.1:{fake.port}/agent", folder, CODE, f"folder {own} ro\n")
        assert fake.serve().welcome() == []
        wishes = [("/", wire.RO), ("/etc", wire.RO), (own, wire.RW), (own, wire.COW), (f"{own}/../", wire.RO), (f"{own}/sub/root", wire.RO),
                  (f"{own}/sub/root/etc", wire.RO), (f"{own}x", wire.RO), (f"{own}/", wire.RO), (f"//{own[1:]}", wire.RO), ("proc/self/root", wire.RO),
                  (f"{own}/sub/./", wire.RO), (folder, wire.RO)]
        for i, (path, mode) in enumerate(wishes):
            fake.say(wire.ask_make(2 * i + 2, 2 * i + 1, f"box-{i}", folder=path, mode=mode))
            number, code, words = fake.answer()
            assert number == 2 * i + 2 and code != 0 and words, (path, mode, code, words)
        # What is allowed is, and the same id not twice.
        fake.say(wire.ask_make(100, 101, "mine", folder=own, mode=wire.RO))
        assert fake.answer()[:2] == (100, 0)
        fake.say(wire.ask_make(102, 103, "mine"))
        assert fake.answer()[1] != 0
        # Many at once: each is answered, and the rules hold for all.
        for i in range(50):
            fake.say(wire.ask_make(1000 + 2 * i, 1001 + 2 * i, f"flood-{i}", folder="/root", mode=wire.RW))
        assert sorted(fake.answer()[0] for _ in range(50)) == [1000 + 2 * i for i in range(50)]
        # What is no message, or not a daemon's, ends the connection; the box lives on, and the agent dials again.
        bad = [b"", b"\xff" * 40, wire.message(wire.HELLO, 0, b"x" * 100), wire.message(wire.DATA, 0, b"x"), wire.message(99, 1),
               wire.message(wire.ASK, 5, bytes([9]) + wire.text("x")), wire.message(wire.ASK, 6, bytes([wire.DROP]) + wire.text("../x")),
               wire.ask_make(7, 101, "a" * 63 + "b")[:60],
               wire.ask_make(8, 9, "newline", folder="/a\nb")]
        for raw in bad:
            fake.say(raw)
            assert fake.is_over()
            fake.close()
            assert fake.serve().welcome() == ["mine"], raw
        assert agent.process.poll() is None
        # REFUSED before the proof is anybody's word: the agent tries again, and its box lives on.
        fake.close()
        fake.accept()
        fake.read_message()
        fake.say(wire.message(wire.REFUSED, 0, bytes([wire.DENIED]) + wire.text("go away")))
        assert fake.is_over()
        fake.close()
        assert fake.serve().welcome() == ["mine"]
        assert agent.process.poll() is None
        # Another key is never served, and an older version neither.
        fake.close()
        with folder_for() as others:
            fake.key, mine = wire.Key(others), fake.key
            fake.serve()
            assert fake.is_over()
            wait_for("distrust", lambda: "not the daemon that this machine was paired with" in agent.log())
            fake.close()
            fake.key, fake.version = mine, wire.VERSION - 1
            fake.serve()
            assert fake.is_over()
            wait_for("its word", lambda: "the daemon is older than this agent" in agent.log())
            fake.close()
            fake.version = wire.VERSION + 1  # it answers with more than was said
            fake.serve()
            assert fake.is_over()
            wait_for("its word", lambda: "a version that this agent does not know" in agent.log())
        agent.stop()
        fake.done()


def a_hostile_agent_lies_about_its_own_boxes_only(d):
    with paired(d), folder_for() as folder:
        box = make(d)
        native = d.make()
        os.mkdir(os.path.join(folder, "weak"))
        other = d.make_token("--owner", "other")
        code = d.must(201, "POST", "/api/machines", {"name": "evil"}, token=other)["code"]
        old = wire.FakeAgent(d.port, folder, code, version=1)
        assert old.refused and "too old" in old.refused, old.refused
        evil = wire.FakeAgent(d.port, folder, code, version=wire.VERSION + 1, more=b"what a later version says")
        evil.close()
        d.must(200, "DELETE", "/api/machines/evil", token=other)
        code = d.must(201, "POST", "/api/machines", {"name": "evil"}, token=other)["code"]
        evil = wire.FakeAgent(d.port, folder, code)
        # An older one with its key, which everybody may know: its owner is told, unless it is there.
        assert wire.FakeAgent(d.port, folder, "", version=1).refused
        assert d.must(200, "GET", "/api/machines/evil", token=other)["problem"] == ""
        # It claims boxes that it does not have, and tells of their end.
        evil.ready(box, native, "never-was")
        for id in (box, native):
            evil.say(wire.message(wire.GONE, 0, wire.text(id)))
        evil.say(wire.message(wire.PING, 0, b"12345678"))
        evil.hear_until(wire.PONG)
        assert d.run(box, "echo mine")["stdout"] == "mine\n" and d.run(native, "echo mine")["stdout"] == "mine\n"
        # What it cannot enforce is no matter of another's machine.
        weak = wire.FakeAgent(d.port, os.path.join(folder, "weak"), d.must(201, "POST", "/api/machines", {"name": "weak"}, token=other)["code"])
        weak.say(wire.message(wire.READY, 0, struct.pack("<IB", 0, 0)))
        wait_for("it to be ready", lambda: d.must(200, "GET", "/api/machines/weak", token=other)["state"] == "ready")
        limits = [d.must(200, "GET", f"/api/sandboxes/{b}")["limits"] for b in (box, make(d))]
        assert limits[0] == limits[1], limits
        weak.close()
        m = d.must(200, "GET", "/api/machines/evil", token=other)
        assert m["state"] == "ready" and m["sandboxes"] <= 2, m
        assert d.ask("GET", f"/api/sandboxes/{box}", token=other).status == 404
        # Its own box: it may answer what it likes. The caller gets an error, and the daemon serves on.
        answers = []
        t = in_background(lambda: answers.append(d.ask("POST", "/api/sandboxes", {"machine": "evil", "may_skip": SKIP}, token=other)))
        while True:
            number, payload = evil.hear_until(wire.ASK)
            if payload[0] == wire.MAKE:
                break
            evil.say(wire.message(wire.ANSWER, number, bytes([0]) + wire.text("") + bytes(8 + 48 + 1) + wire.text("")))
        channel = struct.unpack_from("<I", payload, 5 + struct.unpack_from("<I", payload, 1)[0])[0]
        evil.say(wire.message(wire.ANSWER, number, bytes([0]) + wire.text("") + bytes(8 + 48 + 1) + wire.text("")))
        evil.say(wire.message(wire.DATA, channel, os.urandom(60000)))  # no box link at all
        evil.say(wire.message(wire.DATA, channel, os.urandom(60000)))
        evil.say(wire.message(wire.END, channel))
        t.join(PATIENCE_S)
        assert answers, "the create was never answered"
        assert d.run(box, "echo mine")["stdout"] == "mine\n"
        # Breaches end its connection.
        evil.close()
        wait_for("its end", lambda: d.must(200, "GET", "/api/machines/evil", token=other)["state"] == "away")
        assert "too old" in wire.FakeAgent(d.port, folder, "", version=1).refused
        assert "too old for this daemon: install cay" in d.must(200, "GET", "/api/machines/evil", token=other)["problem"]
        # It is let in by its key, and says something else about itself than when it was paired: it was upgraded.
        assert d.must(200, "GET", "/api/machines/evil", token=other)["about"] == "a test"
        evil = wire.FakeAgent(d.port, folder, "", about="a newer test")
        evil.ready()
        wait_for("its words", lambda: d.must(200, "GET", "/api/machines/evil", token=other)["about"] == "a newer test")
        assert d.must(200, "GET", "/api/machines/evil", token=other)["problem"] == ""
        evil.close()
        for raw in (wire.message(wire.ANSWER, 77, bytes([0]) + wire.text("") + bytes(57) + wire.text("")), wire.message(wire.WELCOME, 0, bytes(8)), b"\xff" * 9,
                    wire.message(wire.READY, 0, struct.pack("<IB", 255, 0))):
            d.must(200, "DELETE", "/api/machines/evil", token=other)
            evil = wire.FakeAgent(d.port, folder, d.must(201, "POST", "/api/machines", {"name": "evil"}, token=other)["code"])
            evil.say(raw)
            assert "protocol" in evil.close_reason()
            evil.close()
        assert d.run(box, "echo mine")["stdout"] == "mine\n"


def the_figures_of_the_daemon_wait_for_no_machine(d):
    """A machine that does not answer is left out of them, long before the daemon gives its answer up."""
    with paired(d) as agent:
        box = make(d)
        measured = d.must(200, "GET", "/api/metrics")["resources"]["sandboxes"]
        os.kill(agent_of(agent.process), signal.SIGSTOP)
        answers = []
        asked = in_background(lambda: answers.append(d.ask("GET", f"/api/sandboxes/{box}/stats")))
        assert d.must(200, "GET", "/api/metrics")["resources"]["sandboxes"] == measured - 1
        assert not answers, answers
        os.kill(agent_of(agent.process), signal.SIGCONT)
        asked.join(PATIENCE_S)


def a_hostile_agent_cannot_take_boxes_of_a_machine_that_is_away(d):
    """It knows their ids, lists them as its own while nobody else does, tells of their end, and waits for what is asked of them."""
    with paired(d) as agent, folder_for() as folder:
        box = make(d)
        d.run(box, "echo kept > /tmp/kept")
        other = d.make_token("--owner", "thief")
        code = d.must(201, "POST", "/api/machines", {"name": "evil"}, token=other)["code"]
        os.kill(agent_of(agent.process), signal.SIGSTOP)
        wait_state(d, "away")
        evil = wire.FakeAgent(d.port, folder, code)
        evil.ready(box)
        evil.say(wire.message(wire.GONE, 0, wire.text(box)))
        evil.say(wire.message(wire.PING, 0, b"12345678"))
        evil.hear_until(wire.PONG)
        assert d.must(200, "GET", "/api/machines/evil", token=other)["sandboxes"] == 0
        evil.close()
        d.must(200, "DELETE", "/api/machines/evil", token=other)
        code = d.must(201, "POST", "/api/machines", {"name": "evil"}, token=other)["code"]
        evil = wire.FakeAgent(d.port, folder, code)
        evil.ready(box)
        kinds = []

        def hear():
            with contextlib.suppress(OSError, Closed):
                while True:
                    kind, _, payload = evil.hear()
                    kinds.append(kind)
                    if kind == wire.PING:
                        evil.say(wire.message(wire.PONG, 0, payload))

        listening = in_background(hear)
        a = d.ask("POST", f"/api/sandboxes/{box}/pause")  # meant for the machine that is away
        assert a.status in (409, 503), a
        os.kill(agent_of(agent.process), signal.SIGCONT)
        wait_state(d, "ready")
        wait_for("the sandbox", lambda: d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "cat /tmp/kept"}).status == 200)
        assert d.run(box, "cat /tmp/kept")["stdout"] == "kept\n"
        evil.say(wire.message(wire.PING, 0, b"12345678"))
        wait_for("its answer", lambda: wire.PONG in kinds)
        assert wire.ASK not in kinds, "it was asked about another owner's box"
        # An endless list is a breach.
        evil.ws.sock.shutdown(socket.SHUT_RDWR)
        listening.join(PATIENCE_S)
        evil.close()
        d.must(200, "DELETE", "/api/machines/evil", token=other)
        evil = wire.FakeAgent(d.port, folder, d.must(201, "POST", "/api/machines", {"name": "evil"}, token=other)["code"])
        with contextlib.suppress(OSError):
            for i in range(2000):
                evil.say(wire.message(wire.BOX, 0, wire.text(f"made-up-{i}")))
        assert "protocol" in evil.close_reason()
        evil.close()


def strangers_cannot_keep_agents_out(d):
    """Connections that prove nothing, as many as are let in and more, again and again: an agent from elsewhere is let in all the same."""
    with folder_for() as folder:
        code = d.must(201, "POST", "/api/machines", {"name": "laptop"})["code"]
        held = [wire.WebSocket(d.port, "/agent") for _ in range(100)]
        agent = wire.FakeAgent(d.port, folder, code)
        agent.ready()
        wait_state(d, "ready")
        held += [wire.WebSocket(d.port, "/agent") for _ in range(100)]
        assert d.must(200, "GET", "/api/machines/laptop")["state"] == "ready"
        agent.say(wire.message(wire.PING, 0, b"12345678"))
        agent.hear_until(wire.PONG)
        ended = 0
        for w in held[:100]:
            with contextlib.suppress(OSError, Closed):
                w.sock.settimeout(0.01)
                while w.sock.recv(4096):
                    pass
                ended += 1
        assert ended >= 64, ended
        for w in held:
            w.sock.close()
        agent.close()
        d.must(200, "DELETE", "/api/machines/laptop")


TESTS = [folders_are_used_as_the_rules_say, what_needs_a_yes_waits_for_it, a_key_answers_one_question, one_key_stops_everything,
         commands_run_as_the_user_where_the_rules_say_so, tls_is_checked, sandboxes_are_bounded_by_the_rules,
         a_hostile_daemon_gets_no_more_than_the_rules,
         a_hostile_agent_lies_about_its_own_boxes_only, the_figures_of_the_daemon_wait_for_no_machine,
         a_hostile_agent_cannot_take_boxes_of_a_machine_that_is_away,
         strangers_cannot_keep_agents_out]


def main():
    with Daemon("--max-sandboxes", "100", "--max-sandboxes-owner", "100") as d:
        for t in TESTS:
            if len(sys.argv) < 2 or t.__name__ in sys.argv[1:]:
                print(t.__name__, flush=True)
                t(d)


if __name__ == "__main__":
    main()
