#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The remote engine: a daemon and the agent of a user's machine, with a relay between them that cuts. test_remote.py [NAME…] runs some."""
import contextlib
import hashlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from agent_process import AgentProcess  # noqa: E402
from daemon import CAY, PATIENCE_S, Daemon, agent_of, is_alive, ready_again, wait_for  # noqa: E402
from ws_client import Closed, WebSocket  # noqa: E402

MIB = 1024 * 1024
LINES = 600000
UID = 12345  # of an ordinary user, who is on no machine
# Limits that this machine may not have for an ordinary user do not matter here.
SKIP = ["memory", "swap", "cpus", "pids", "disk", "inodes"]


class Relay:
    """TCP on loopback to a daemon's port; every connection through it can be cut, or held without a word."""

    def __init__(self, port, host="127.0.0.1"):
        self.port, self.pairs, self.lock, self.held = port, [], threading.Lock(), threading.Event()
        self.listener = socket.create_server((host, 0))
        self.address = self.listener.getsockname()[1]
        self.is_over = False
        self.carried = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.is_over:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            try:
                other = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                one.close()
                continue
            with self.lock:
                self.pairs.append((one, other))
            threading.Thread(target=self.carry, args=(one, other), daemon=True).start()

    def carry(self, one, other):
        with contextlib.suppress(OSError, ValueError):
            while True:
                for s in select.select([one, other], [], [])[0]:
                    data = s.recv(65536)
                    if not data:
                        raise OSError
                    while self.held.is_set() and not self.is_over:
                        select.select([], [], [], 0.05)
                    (other if s is one else one).sendall(data)
                    self.carried += len(data)
        one.close()
        other.close()

    def cut(self):
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for s in pair:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
        return len(pairs)

    def close(self):
        self.is_over = True
        self.held.clear()
        self.listener.close()
        self.cut()


class Agent(AgentProcess):
    def __init__(self, port, name, folder, code=None, flags=()):
        self.folder = folder
        super().__init__([CAY, "agent", "--connect", f"ws://127.0.0.1:{port}/agent", "--name", name, "--state", os.path.join(folder, name),
                          *flags], os.path.join(folder, name + ".log"), code)


def state(d, name):
    return d.must(200, "GET", f"/api/machines/{name}")["state"]


def wait_state(d, name, wanted):
    wait_for(f"{name} to be {wanted}", lambda: state(d, name) == wanted)


def box_state(d, box):
    return d.must(200, "GET", f"/api/sandboxes/{box}")["status"].lower()


def wait_box(d, box, wanted):
    wait_for(f"the sandbox to be {wanted}", lambda: box_state(d, box) == wanted)


@contextlib.contextmanager
def paired(d, name="laptop", port=None):
    folder = tempfile.mkdtemp(prefix="cay-agent-")
    made = d.must(201, "POST", "/api/machines", {"name": name})
    agent = Agent(port or d.port, name, folder, made["code"])
    try:
        wait_state(d, name, "ready")
        yield agent
    except BaseException:
        print("agent's log:\n" + agent.log()[-4000:])
        raise
    finally:
        if agent.process.poll() is None:
            agent.stop()
        shutil.rmtree(folder)


def make(d, **fields):
    return d.make(machine="laptop", may_skip=SKIP, **fields)


def begin(d, box, command, **fields):
    return d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": command, "background": True, **fields})["exec_id"]


def sandboxes_are_made_used_and_destroyed():
    with Daemon() as d, paired(d) as agent:
        box = make(d)
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["engine"] == "remote"
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["machine"] == "laptop"
        r = d.run(box, "echo out; echo err >&2; exit 3")
        assert (r["exit_code"], r["stdout"], r["stderr"]) == (3, "out\n", "err\n"), r
        data = os.urandom(3 * MIB)
        assert d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/blob", data).status in (200, 201)
        assert d.must(200, "GET", f"/api/sandboxes/{box}/files?path=/workspace/blob") == data
        assert d.run(box, "sha256sum < blob")["stdout"].split()[0] == hashlib.sha256(data).hexdigest()
        # A server inside, through the daemon.
        begin(d, box, "exec python3 -m http.server 8000 --directory /workspace")
        wait_for("the server inside", lambda: d.ask("GET", f"/api/sandboxes/{box}/ports/8000/blob").body == data)
        # Paused and resumed over there.
        d.must(200, "POST", f"/api/sandboxes/{box}/pause")
        wait_box(d, box, "paused")
        d.must(200, "POST", f"/api/sandboxes/{box}/resume")
        assert d.run(box, "echo again")["stdout"] == "again\n"
        # One that is not used sleeps over there, and wakes for a command, a file, a terminal.
        sleeper = make(d, sleep_after_s=1)
        d.run(sleeper, "echo kept > /workspace/f")

        def sleeps():
            s = d.must(200, "GET", f"/api/sandboxes/{sleeper}")
            return s["status"] == "paused" and s["asleep"]

        for use in (lambda: d.run(sleeper, "cat /workspace/f")["stdout"] == "kept\n",
                    lambda: d.must(200, "GET", f"/api/sandboxes/{sleeper}/files?path=/workspace/f") == b"kept\n",
                    lambda: d.run(sleeper, "tty", tty=True, background=False)["exit_code"] == 0):
            wait_for("sleep", sleeps)
            assert use()
        assert "paused" not in d.must(200, "GET", f"/api/sandboxes/{sleeper}")["status"]
        a = d.ask("POST", f"/api/sandboxes/{sleeper}/snapshots", {})
        assert a.status == 422 and "the engine native has" in a.json["error"]["message"], a
        d.must(200, "DELETE", f"/api/sandboxes/{sleeper}")
        m = d.must(200, "GET", "/api/machines")["machines"][0]
        assert m["sandboxes"] == 1 and m["latency_us"] > 0 and m["fingerprint"] in agent.log(), m
        assert d.ask("DELETE", f"/api/sandboxes/{box}").status in (200, 204)
        wait_for("nothing there", lambda: d.must(200, "GET", "/api/machines/laptop")["sandboxes"] == 0)


def the_cli_shows_machines():
    with Daemon() as d, paired(d):
        env = {**d.environment(), "NO_COLOR": "1"}

        def cay(*words):
            return subprocess.run([CAY, *words, "--data", os.path.join(d.folder, "data")], env=env, capture_output=True, text=True,
                                  timeout=PATIENCE_S)
        # The daemon's own user is another owner than the token's.
        added = cay("remote", "add", "desk")
        assert re.search(r"code +\w{5}-\w{5}-\w{5}-\w{5}\b", added.stdout) and "cay agent --connect ws://127.0.0.1:" in added.stdout, added
        assert "desk" in cay("remote").stdout and "waiting" in cay("remote").stdout
        assert "laptop" not in cay("remote").stdout
        assert cay("remote", "add", "desk").returncode != 0
        assert cay("remote", "rm", "desk").returncode == 0
        assert "desk" not in cay("remote").stdout
        assert "--connect" in subprocess.run([CAY, "help", "agent"], capture_output=True, text=True).stdout
        r = subprocess.run([CAY, "agent", "--connect", "http://x/"], capture_output=True, text=True)
        assert r.returncode == 2 and "wss://" in r.stderr, r


def a_machine_is_added_by_ssh():
    """A stand-in for ssh runs the command on this machine, in a home of its own: there is no sshd here."""
    with Daemon() as d, contextlib.ExitStack() as stack:
        home = tempfile.mkdtemp(prefix="cay-home-")
        stack.callback(shutil.rmtree, home)
        os.mkdir(os.path.join(home, "bin"))
        with open(os.path.join(home, "bin", "ssh"), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n[ \"$1 $2\" = '-- me@Box.example' ] || exit 9\necho \"$3\" >> {home}/said\nexport HOME={home}\ncd {home} && exec sh -c \"$3\"\n")
        os.chmod(f.name, 0o755)
        env = {**d.environment(), "PATH": f"{home}/bin:{os.environ['PATH']}"}

        def cay(*words):
            return subprocess.run([CAY, *words], env={**env, "CAY_DATA": os.path.join(d.folder, "data")}, capture_output=True, text=True,
                                  timeout=2 * PATIENCE_S)
        r = cay("remote", "add", "me@Box.example")
        assert r.returncode == 0 and "machine 'box' is ready" in r.stdout, (r, open(f"{home}/.local/state/cay/agent.log", encoding="utf-8").read())
        with open(f"{home}/said", encoding="utf-8") as f:
            assert not re.search(r"\w{5}-\w{5}-\w{5}-\w{5}", f.read())  # the code is in no argument
        log = f"{home}/.local/state/cay/agent.log"
        with open(log, encoding="utf-8") as f:
            assert "paired with daemon" in f.read()
        made = cay("create", "--machine", "box", *[w for limit in SKIP for w in ("--may-skip", limit)])
        assert made.returncode == 0, made
        done = cay("exec", made.stdout.split()[-1], "echo", "there")
        assert done.stdout == "there\n", done
        assert "ready" in cay("remote").stdout
        # Newer programs, and the running ones stay as they are; where none were brought, none are.
        os.unlink(f"{home}/.local/lib/cay/cay-init")
        with open(f"{home}/.local/lib/cay/cay-init", "wb") as f:
            f.write(b"old")
        r = cay("remote", "upgrade", "me@Box.example")
        assert r.returncode == 0 and "start it again" in r.stdout and os.path.getsize(f.name) > 10000, r
        assert cay("exec", made.stdout.split()[-1], "echo", "still").stdout == "still\n"
        os.rename(f"{home}/.local/lib/cay", f"{home}/.local/lib/gone")
        r = cay("remote", "upgrade", "me@Box.example")
        assert r.returncode != 0 and "no agent was brought" in r.stderr and not os.path.exists(f"{home}/.local/lib/cay"), r
        os.rename(f"{home}/.local/lib/gone", f"{home}/.local/lib/cay")
        assert cay("remote", "upgrade", "box").returncode != 0
        assert cay("remote", "add", "me@Box.example").returncode != 0  # it is there
        for bad in ("me@-oProxyCommand=x", "-x@y", "me@a b", "me@$(x)"):
            assert cay("remote", "add", bad).returncode != 0, bad
        assert cay("remote", "add", "you@other.example").returncode != 0  # its ssh fails
        assert "dials the daemon itself" in cay("remote", "add", "you@other.example", "--url", "wss://x.example").stderr
        assert "other" not in cay("remote").stdout  # and nothing was added
        assert cay("remote", "rm", "box").returncode == 0
        wait_for("the agent's end", lambda: not any(f"{home}/".encode() in line for line in agents()))


SYSTEMCTL = r"""#!/usr/bin/env python3
# A stand-in for a user's systemd: starts what the unit says, and ends it.
import json, os, re, signal, subprocess, sys
home = os.environ["HOME"]
words = sys.argv[1:]
with open(f"{home}/asked", "a") as f:
    f.write(" ".join(words) + "\n")
if os.path.exists(f"{home}/none"):
    sys.exit(1)
unit = f"{home}/.config/systemd/user/{words[-1]}"
if words[1] == "enable":
    text = open(unit).read()
    line = next(l for l in text.splitlines() if l.startswith("ExecStart="))
    argv = [json.loads(w).replace("%%", "%").replace("$$", "$") for w in re.findall(r'"(?:[^"\\]|\\.)*"', line)]
    with open(f"{home}/journal", "ab") as log:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    open(f"{home}/pid", "w").write(str(p.pid))
if words[1] == "disable" and os.path.exists(f"{home}/pid"):
    os.kill(int(open(f"{home}/pid").read()), signal.SIGTERM)
    os.unlink(f"{home}/pid")
"""


def an_agent_becomes_a_service():
    """By a stand-in for systemctl. The unit itself is judged by systemd-analyze, where there is one."""
    with Daemon() as d, contextlib.ExitStack() as stack:
        home = tempfile.mkdtemp(prefix="cay-home-")
        stack.callback(shutil.rmtree, home)
        os.chmod(home, 0o755)
        os.mkdir(f"{home}/bin")
        for name, text in (("systemctl", SYSTEMCTL), ("loginctl", "#!/bin/sh\nexit 1\n")):
            with open(f"{home}/bin/{name}", "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(f.name, 0o755)
        env = {**os.environ, "HOME": home, "PATH": f"{home}/bin:{os.environ['PATH']}"}
        env.pop("XDG_CONFIG_HOME", None)
        env.pop("XDG_STATE_HOME", None)
        state_at = f"{home}/my $tate 100%"  # characters that systemd would expand
        url = f"ws://127.0.0.1:{d.port}/agent"

        def cay(*words, code=None):
            return subprocess.run([*user(home), CAY, "agent", "--connect", url, "--name", "laptop", "--state", state_at, *words], env=env,
                                  input=code and code + "\n", capture_output=True, text=True, timeout=PATIENCE_S)
        folder = f"{home}/.config/systemd/user"
        code = d.must(201, "POST", "/api/machines", {"name": "laptop"})["code"]
        give(home)
        # Nobody who could run it: nothing is written, and the code is not used.
        open(f"{home}/none", "w", encoding="utf-8").close()
        r = cay("--install", code=code)
        assert r.returncode == 1 and "no systemd manager" in r.stderr and not os.path.exists(folder) and state(d, "laptop") == "waiting", r
        os.unlink(f"{home}/none")
        r = cay("--install", code=code[:-1] + ("a" if code[-1] != "a" else "b"))
        assert r.returncode == 1 and "pairing code is wrong" in r.stderr and not os.path.exists(folder), r
        r = cay("--install", "--uninstall")
        assert r.returncode == 2, r
        r = cay("--install", code=code)
        assert r.returncode == 0 and "runs from now on" in r.stderr and "enable-linger" in r.stderr, r
        wait_state(d, "laptop", "ready")
        units = os.listdir(folder)
        assert len(units) == 1 and re.fullmatch(r"cay-agent-[0-9a-f]{8}\.service", units[0]), units
        box = make(d)
        assert d.run(box, "echo here")["stdout"] == "here\n"
        # While it runs there is no second one, and nothing is changed.
        r = cay("--install")
        assert r.returncode == 1 and "runs already on this machine" in r.stderr, r
        if shutil.which("systemd-analyze"):
            v = subprocess.run(["systemd-analyze", "--user", "verify", f"{folder}/{units[0]}"], env={**env, "XDG_RUNTIME_DIR": home}, capture_output=True, text=True,
                               timeout=PATIENCE_S)
            assert not [line for line in v.stderr.splitlines() if units[0] in line], v.stderr
        r = cay("--uninstall")
        assert r.returncode == 0 and os.listdir(folder) == [], r
        wait_state(d, "laptop", "away")
        assert cay("--uninstall").returncode == 1
        # Paired already: no code is asked for.
        r = cay("--install")
        assert r.returncode == 0 and os.listdir(folder) == units, r
        wait_state(d, "laptop", "ready")
        assert cay("--uninstall").returncode == 0
        wait_state(d, "laptop", "away")


def user(home):
    """As root the unit would be the machine's."""
    return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"] if os.geteuid() == 0 else []


def give(home):
    for path, folders, files in os.walk(home):
        for name in (".", *folders, *files):
            os.chown(os.path.join(path, name), UID, UID, follow_symlinks=False)


def agents():
    """The environments of agents."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as f, open(f"/proc/{pid}/environ", "rb") as e:
            if f.read().strip() == "cay-agent":
                yield e.read()


def machines_belong_to_their_owner():
    with Daemon() as d, paired(d):
        other = d.make_token("--owner", "other")
        assert d.must(200, "GET", "/api/machines", token=other)["machines"] == []
        assert d.ask("GET", "/api/machines/laptop", token=other).status == 404
        assert d.ask("DELETE", "/api/machines/laptop", token=other).status == 404
        a = d.ask("POST", "/api/sandboxes", {"machine": "laptop"}, token=other)
        assert a.status == 404 and "machine" in a.json["error"]["message"] if "error" in a.json else a.status == 404, a
        assert d.ask("POST", "/api/sandboxes", {"engine": "remote"}, token=other).status == 400
        assert d.ask("POST", "/api/sandboxes", {"engine": "native", "machine": "laptop"}).status == 400
        assert d.ask("POST", "/api/sandboxes", {"machine": "laptop", "workspace": {"path": "/tmp"}}).status >= 400
        # The only machine of an owner need not be named.
        box = d.make(engine="remote", may_skip=SKIP)
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["machine"] == "laptop"


def strangers_are_refused():
    with Daemon() as d, contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="cay-agent-")
        stack.callback(shutil.rmtree, folder)
        code = d.must(201, "POST", "/api/machines", {"name": "laptop"})["code"]
        wrong = code[:-1] + ("a" if code[-1] != "a" else "b")
        for name, given, words in (("laptop", wrong, "pairing code is wrong"), ("desk", code, "pairing code is wrong"),
                                   ("laptop", "nonsense", "no pairing code"), ("laptop", None, "not paired")):
            agent = Agent(d.port, name, folder, given)
            assert agent.process.wait(PATIENCE_S) == 1 and words in agent.log(), agent.log()
            os.unlink(agent.log_path)
        # The code works once; the machine is then known by its key, and needs no code.
        agent = Agent(d.port, "laptop", folder, code)
        wait_state(d, "laptop", "ready")
        agent.stop()
        wait_state(d, "laptop", "away")
        thief = Agent(d.port, "laptop", os.path.join(folder, "laptop"), code)
        assert thief.process.wait(PATIENCE_S) == 1 and "pairing code is wrong" in thief.log(), thief.log()
        agent = Agent(d.port, "laptop", folder)
        wait_state(d, "laptop", "ready")
        # One that was removed is not let in again.
        d.must(200, "DELETE", "/api/machines/laptop")
        assert agent.process.wait(PATIENCE_S) == 1 and "does not know this machine" in agent.log(), agent.log()
        # Bytes that are no message.
        ws = WebSocket(d.port, "/agent", token=None)
        ws.send(b"\xff" * 100)
        try:
            ws.read()
            raise AssertionError("it was let in")
        except Closed as e:
            assert "protocol" in e.reason, e
        assert d.ask("GET", "/agent").status == 426


def another_daemon_is_not_believed():
    """Somebody else answers at the daemon's address: the agent does not serve it, and returns to the right one."""
    with Daemon() as d, Daemon() as other:
        relay = Relay(d.port)
        with paired(d, port=relay.address) as agent:
            relay.port = other.port
            relay.cut()
            wait_for("distrust", lambda: "not the daemon that this machine was paired with" in agent.log())
            relay.port = d.port
            relay.cut()
            wait_state(d, "laptop", "ready")
        relay.close()


def cuts_lose_nothing():
    """Output, an upload and a command's input pass through a link that is cut again and again."""
    with Daemon() as d:
        relay = Relay(d.port)
        with paired(d, port=relay.address):
            box = make(d)
            size = 12 * MIB
            script = f"import hashlib,sys,time\nh=hashlib.sha256()\nfor i in range({size // MIB}):\n b=bytes([i%251])*{MIB}\n h.update(b);sys.stdout.buffer.write(b);sys.stdout.flush();time.sleep(.02)\n"
            d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/out.py", script)
            wanted = hashlib.sha256()
            for i in range(size // MIB):
                wanted.update(bytes([i % 251]) * MIB)
            over, cuts = threading.Event(), [0]

            def cut():
                mark = relay.carried
                while not over.is_set():
                    if relay.carried - mark > 3 * MIB:
                        cuts[0] += relay.cut()
                        mark = relay.carried
                    over.wait(0.02)

            cutter = threading.Thread(target=cut)
            cutter.start()
            try:
                data = os.urandom(size)
                a = d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/in", data)
                assert a.status in (200, 201), a
                up = cuts[0]
                got = hashlib.sha256(d.must(200, "GET", f"/api/sandboxes/{box}/files?path=/workspace/in"))
                assert got.hexdigest() == hashlib.sha256(data).hexdigest()
                down = cuts[0]
                r = d.run(box, "python3 out.py | sha256sum; sha256sum < in")
                assert r["stdout"].split()[0] == wanted.hexdigest() and r["stdout"].split()[2] == hashlib.sha256(data).hexdigest(), r
                # A command's output, as it comes.
                a = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": f"seq 1 {LINES}", "stream": True})
                lines = [json.loads(line) for line in a.body.splitlines()]
                text = "".join(e["text"] for e in lines if e.get("event") == "stdout")
                assert text == "".join(f"{i}\n" for i in range(1, LINES + 1)), (len(text), lines[:2], lines[-1])
            finally:
                over.set()
                cutter.join()
            assert 0 < up < down <= cuts[0], (up, down, cuts)
            assert box_state(d, box) in ("ready", "busy")
        relay.close()


def an_agent_that_is_away_returns():
    with Daemon("--health-interval", "200ms", "--health-misses", "3", "--agent-heartbeat", "300ms") as d:
        relay = Relay(d.port)
        with paired(d, port=relay.address):
            box = make(d)
            run = begin(d, box, "echo begun; cat; echo over", open_stdin=True)
            relay.held.set()  # nothing is closed, and nothing comes: only the heartbeat tells
            wait_box(d, box, "error")
            assert d.must(200, "GET", f"/api/sandboxes/{box}")["cause"] == "engine_lost"
            wait_state(d, "laptop", "away")
            m = d.must(200, "GET", "/api/machines/laptop")
            assert m["problem"] == "nothing was heard of the agent" and m["next_try_at"] is None and m["url"] == "", m
            a = d.ask("POST", "/api/sandboxes", {"machine": "laptop", "may_skip": SKIP})
            assert a.status == 503 and "away" in a.body.decode(), a
            relay.held.clear()
            relay.cut()
            wait_state(d, "laptop", "ready")
            wait_for("the sandbox", lambda: box_state(d, box) in ("ready", "busy"))
            # Told as events, with the cause.
            events = d.must(200, "GET", f"/api/sandboxes/{box}/events?limit=1000")["events"]
            kinds = [e["kind"] for e in events]
            assert "engine_lost" in json.dumps([e for e in events if e["kind"] == "sandbox_error"]) and "sandbox_recovered" in kinds, events
            assert d.run(box, "echo here")["stdout"] == "here\n"
            assert d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run}")["status"].lower() == "running", run
            # Destroyed while the machine is away: gone when it is back.
            relay.held.set()
            wait_state(d, "laptop", "away")
            assert d.ask("DELETE", f"/api/sandboxes/{box}").status in (200, 204)
            relay.held.clear()
            relay.cut()
            wait_state(d, "laptop", "ready")
            wait_for("nothing there", lambda: d.must(200, "GET", "/api/machines/laptop")["sandboxes"] == 0)
        relay.close()


def machines_can_be_disconnected():
    with Daemon("--health-interval", "200ms", "--health-misses", "3") as d, paired(d) as agent:
        other = d.make_token("--owner", "other")
        for what in ("disconnect", "connect"):
            assert d.ask("POST", f"/api/machines/laptop/{what}", token=other).status == 404
        box = make(d)
        run = begin(d, box, "read line; echo got $line", open_stdin=True)
        m = d.must(200, "POST", "/api/machines/laptop/disconnect")
        assert m["state"] == "disconnected" and m["problem"] == "", m
        wait_box(d, box, "error")
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["cause"] == "engine_lost"
        wait_for("the agent's word", lambda: "its owner disconnected this machine" in agent.log())
        assert d.ask("POST", "/api/sandboxes", {"machine": "laptop", "may_skip": SKIP}).status == 503
        # It is stored, and the agent keeps asking.
        d.flags = (*d.flags, "--listen", f"127.0.0.1:{d.port}")
        d.stop()
        d.start()
        assert state(d, "laptop") == "disconnected" and agent.process.poll() is None
        assert d.must(200, "POST", "/api/machines/laptop/disconnect")["state"] == "disconnected"  # as before
        assert d.must(200, "POST", "/api/machines/laptop/connect")["state"] in ("away", "ready")
        wait_state(d, "laptop", "ready")
        wait_for("the sandbox", lambda: box_state(d, box) in ("ready", "busy"))
        d.must(200, "POST", f"/api/sandboxes/{box}/execs/{run}/input", b"here\n")
        wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run}")["status"].lower() != "running")
        # A second agent with this machine's key would take the connection from the first, and the first from it.
        second = Agent(d.port, "laptop", agent.folder)
        assert second.process.wait(PATIENCE_S) == 1 and "runs already on this machine" in second.log(), second.log()
        agent.stop()
        wait_state(d, "laptop", "away")
        d.must(200, "DELETE", "/api/machines/laptop")

        def told():
            events = [e for e in d.must(200, "GET", "/api/events?limit=1000")["events"] if e["kind"].startswith("machine_")]
            return sorted(events, key=lambda e: e["seq"])

        wait_for("the event of the removal", lambda: told()[-1]["kind"] == "machine_removed")  # stored after the answer
        events = told()
        kinds = [e["kind"][8:] for e in events]
        # On a busy machine it may have been away in between.
        assert kinds[:2] == ["paired", "connected"] and "disconnected" in kinds and kinds[-2:] == ["away", "removed"], events
        assert all(e["detail"]["machine"] == "laptop" for e in events) and any(e["detail"].get("why") for e in events), events
        assert not [e for e in d.must(200, "GET", "/api/events?limit=1000", token=other)["events"] if e["kind"].startswith("machine_")]


def fronts_and_daemons_come_back():
    with Daemon() as d, paired(d) as agent:
        box = make(d)
        run = begin(d, box, "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep .3; done; touch /workspace/over")
        os.kill(d.child("cay-front"), signal.SIGKILL)
        ready_again(d)
        wait_state(d, "laptop", "ready")
        wait_for("the sandbox", lambda: box_state(d, box) in ("ready", "busy"))
        d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run}")
        # The whole daemon, on the same port.
        d.flags = (*d.flags, "--listen", f"127.0.0.1:{d.port}")
        d.stop()
        d.start()
        wait_state(d, "laptop", "ready")
        wait_for("the sandbox", lambda: box_state(d, box) in ("ready", "busy"))
        wait_for("the command", lambda: d.run(box, "ls /workspace/over")["exit_code"] == 0)
        lines = [json.loads(line) for line in d.ask("GET", f"/api/sandboxes/{box}/execs/{run}/output").body.splitlines()]
        assert "".join(e["text"] for e in lines if e["event"] == "stdout") == "".join(f"{i}\n" for i in range(1, 10)), lines
        # An agent whose keeper is killed ends, and its boxes do.
        below = agent_of(agent.process)
        warden = next(p for p, comm in children_of(agent.process.pid) if comm == "cay-warden")
        agent.kill()
        wait_for("the warden's end", lambda: not is_alive(warden) and not is_alive(below))
        wait_state(d, "laptop", "away")
        again = Agent(d.port, "laptop", agent.folder)
        wait_state(d, "laptop", "ready")
        wait_box(d, box, "error")
        wait_for("a cause", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["cause"] in ("engine_lost", "sandbox_gone"))
        again.stop()


def a_killed_agent_is_started_again():
    """Its program is killed in the middle of output, input and a file: boxes and all that runs in them live on, with what the rules say."""
    with Daemon() as d, contextlib.ExitStack() as stack:
        own = tempfile.mkdtemp(prefix="cay-own-")
        stack.callback(shutil.rmtree, own)
        os.chmod(own, 0o755)
        for rules in (f"folder {own} rw\n", "commands user\n"):
            folder = tempfile.mkdtemp(prefix="cay-agent-")
            stack.callback(shutil.rmtree, folder)
            with open(os.path.join(folder, "rules"), "w", encoding="utf-8") as f:
                f.write(rules)
            os.chmod(f.name, 0o600)
            code = d.must(201, "POST", "/api/machines", {"name": "laptop"})["code"]
            agent = Agent(d.port, "laptop", folder, code, flags=("--rules", f.name))
            try:
                wait_state(d, "laptop", "ready")
                mapped = {"workspace": {"path": own, "mode": "rw"}} if "folder" in rules else {}
                box = make(d, **mapped)
                run = begin(d, box, "seq 1 200000; read line; echo got $line", open_stdin=True)
                # What hears the daemon has no rights; what has rights hears nobody.
                with open(f"/proc/{agent_of(agent.process)}/status", encoding="utf-8") as f:
                    status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
                if os.geteuid() == 0:
                    assert set(status["Uid"].split()) == {"65534"} and int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0, status
                assert status["NoNewPrivs"] == "1" and (is_sanitized() or status["Seccomp"] == "2"), status
                sockets = [os.readlink(f"/proc/{agent.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{agent.process.pid}/fd")]
                assert len([s for s in sockets if s.startswith("socket:")]) <= 2, sockets  # the helper's
                for i in range(3):
                    was = agent_of(agent.process)
                    os.kill(was, signal.SIGKILL if i < 2 else signal.SIGABRT)
                    wait_for("another one", lambda: [p for p, name in children_of(agent.process.pid) if name == "cay-agent" and p != was])
                    wait_for("its word", lambda: agent.log().count("the sandboxes live on") == i + 1 and agent.log().count("connected to") >= i + 2)
                    wait_state(d, "laptop", "ready")
                    wait_for("the sandbox", lambda: box_state(d, box) in ("ready", "busy"))
                    wait_for("a command", lambda: d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": f"echo {i} > kept"}).status == 200)
                    assert d.run(box, "cat kept")["stdout"] == f"{i}\n"
                d.must(200, "POST", f"/api/sandboxes/{box}/execs/{run}/input", b"here\n")
                wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run}")["status"].lower() != "running")
                lines = [json.loads(line) for line in d.ask("GET", f"/api/sandboxes/{box}/execs/{run}/output").body.splitlines()]
                text = "".join(e["text"] for e in lines if e["event"] == "stdout")
                assert text == "".join(f"{i}\n" for i in range(1, 200001)) + "got here\n", (len(text), text[-40:])
                if mapped:
                    with open(os.path.join(own, "kept"), encoding="utf-8") as f:
                        assert f.read() == "2\n"
                    assert d.ask("POST", "/api/sandboxes", {"machine": "laptop", "may_skip": SKIP, "workspace": {"path": folder}}).status == 403
                more = make(d, **mapped)  # new ones are made as before
                assert d.run(more, "echo new")["stdout"] == "new\n"
                agent.stop()
                wait_box(d, box, "error")
            except BaseException:
                print("agent's log:\n" + agent.log()[-4000:])
                raise
            finally:
                if agent.process.poll() is None:
                    agent.stop()
                for sandbox in d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
                    d.ask("DELETE", f"/api/sandboxes/{sandbox['sandbox_id']}")
                d.must(200, "DELETE", "/api/machines/laptop")


def children_of(pid):
    from daemon import children
    return children(pid)


def fifty_machines():
    """In the sanitizer build eight: each agent there takes a second to start."""
    count = int(os.environ.get("CAY_TEST_AGENTS", "8" if is_sanitized() else "50"))
    with Daemon("--max-sandboxes", "100", "--max-sandboxes-owner", "100") as d, contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="cay-agent-")
        stack.callback(shutil.rmtree, folder)
        agents = []
        stack.callback(lambda: [a.process.wait(PATIENCE_S) for a in agents])
        stack.callback(lambda: [a.process.send_signal(signal.SIGTERM) for a in agents])
        for i in range(count):
            agents.append(Agent(d.port, f"m{i}", folder, d.must(201, "POST", "/api/machines", {"name": f"m{i}"})["code"]))
        wait_for("all of them", lambda: all(m["state"] == "ready" for m in d.must(200, "GET", "/api/machines")["machines"]))
        boxes = [d.make(machine=f"m{i}", may_skip=SKIP) for i in range(count)]
        for i, box in enumerate(boxes):
            assert d.run(box, f"echo {i}")["stdout"] == f"{i}\n"
        assert sum(m["sandboxes"] for m in d.must(200, "GET", "/api/machines")["machines"]) == count


def is_sanitized():
    with open(os.path.join(os.path.dirname(CAY), "cay-agent"), "rb") as f:
        return b"__asan_init" in f.read()


TESTS = [sandboxes_are_made_used_and_destroyed, the_cli_shows_machines, a_machine_is_added_by_ssh, an_agent_becomes_a_service, machines_belong_to_their_owner, strangers_are_refused,
         another_daemon_is_not_believed, cuts_lose_nothing, an_agent_that_is_away_returns, machines_can_be_disconnected, fronts_and_daemons_come_back,
         a_killed_agent_is_started_again, fifty_machines]


def main():
    for t in TESTS:
        if len(sys.argv) < 2 or t.__name__ in sys.argv[1:]:
            print(t.__name__, flush=True)
            t()


if __name__ == "__main__":
    main()
