#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines with a URL: the agent listens, and the daemon dials it. test_remote_dial.py [NAME…] runs some."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import agent_wire as wire  # noqa: E402
from agent_process import AgentProcess  # noqa: E402
from daemon import CAY, PATIENCE_S, Daemon, agent_of, ready_again, wait_for  # noqa: E402
from test_sign_in import TlsDaemon, make_certificate  # noqa: E402
from test_remote import Relay, is_sanitized  # noqa: E402
from ws_client import Closed, WebSocket  # noqa: E402

SKIP = ["memory", "swap", "cpus", "pids", "disk", "inodes"]


class Agent(AgentProcess):
    """Listens on a port that the kernel chose, or on this one."""

    def __init__(self, folder, code=None, name="laptop", port=0, flags=()):
        self.folder, self.log_path = folder, os.path.join(folder, "log")
        mark = len(self.log()) if os.path.exists(self.log_path) else 0
        super().__init__([CAY, "agent", "--listen", f"127.0.0.1:{port}", "--name", name, "--state", os.path.join(folder, "state"), *flags],
                         self.log_path, code)
        wait_for("the agent to listen", lambda: re.search(r"at 127\.0\.0\.1:(\d+)", self.log()[mark:]) or self.process.poll() is not None)
        found = re.search(r"at 127\.0\.0\.1:(\d+)", self.log()[mark:])
        self.port = int(found.group(1)) if found else None


@contextlib.contextmanager
def folder_for():
    folder = tempfile.mkdtemp(prefix="cay-dial-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def machine(d, name="laptop", **more):
    return d.must(200, "GET", f"/api/machines/{name}", **more)


def wait_state(d, wanted, name="laptop"):
    try:
        wait_for(f"{name} to be {wanted}", lambda: machine(d, name)["state"] == wanted)
    except BaseException:
        print(machine(d, name))
        raise


def wait_problem(d, words, name="laptop"):
    try:
        wait_for(f"{name}: {words}", lambda: words in machine(d, name)["problem"])
    except BaseException:
        print(machine(d, name))
        raise


def add(d, url, name="laptop", **more):
    return d.must(201, "POST", "/api/machines", {"name": name, "url": url}, **more)


def admin(d):
    return d.make_token("--scope", "admin", "--owner", "default")


@contextlib.contextmanager
def paired(d, url=None, flags=()):
    """The agent has the port that its URL says: it is there when the daemon dials, or comes later."""
    port = free_port()
    with folder_for() as folder:
        added = add(d, url or f"ws://127.0.0.1:{port}/agent", token=admin(d))
        assert added["command"] == "cay agent --listen 127.0.0.1:8765 --name laptop", added
        agent = Agent(folder, added["code"], port=port, flags=flags)
        try:
            wait_state(d, "ready")
            yield agent
        except BaseException:
            print("agent's log:\n" + agent.log()[-4000:])
            raise
        finally:
            if agent.process.poll() is None:
                agent.stop()


def make(d, **fields):
    return d.make(machine="laptop", may_skip=SKIP, **fields)


def the_daemon_dials_and_dials_again():
    with Daemon("--agent-heartbeat", "300ms", "--health-interval", "300ms", "--health-misses", "10") as d, paired(d) as agent:
        m = machine(d)
        assert m["url"].startswith("ws://127.0.0.1:") and m["problem"] == "" and not m["next_try_at"] and m["fingerprint"] in agent.log(), m
        if not is_sanitized():
            kib = 0
            for pid in (agent.process.pid, agent_of(agent.process)):
                with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
                    kib += int(re.search(r"Pss_Anon:\s+(\d+)", f.read()).group(1))
            assert kib < 3 * 1024, kib
        box = make(d)
        data = os.urandom(3 << 20)
        d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/f", data)
        assert d.must(200, "GET", f"/api/sandboxes/{box}/files?path=/workspace/f") == data
        run_id = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "seq 1 9; read l; echo got $l", "background": True,
                                                                       "open_stdin": True})["exec_id"]
        # The agent stands still: the daemon gives the connection up, says why and when it tries again; then it is there again.
        os.kill(agent_of(agent.process), signal.SIGSTOP)
        wait_state(d, "away")
        wait_problem(d, "nothing was heard of the agent")
        wait_for("a next try", lambda: machine(d)["next_try_at"] or "answer" in machine(d)["problem"])
        os.kill(agent_of(agent.process), signal.SIGCONT)
        wait_state(d, "ready")
        # A killed front dials again by itself, and the command goes on.
        os.kill(d.child("cay-front"), signal.SIGKILL)
        ready_again(d)
        wait_state(d, "ready")
        wait_for("the sandbox", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"].lower() in ("ready", "busy"))
        # So does a killed cay-net, which is needed only to connect.
        os.kill(d.child("cay-net"), signal.SIGKILL)
        assert d.run(box, "echo here")["stdout"] == "here\n"
        d.must(200, "POST", f"/api/sandboxes/{box}/execs/{run_id}/input", b"x\n")
        wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run_id}")["status"].lower() != "running")
        lines = [json.loads(line) for line in d.ask("GET", f"/api/sandboxes/{box}/execs/{run_id}/output").body.splitlines()]
        assert "".join(e["text"] for e in lines if e["event"] == "stdout") == "".join(f"{i}\n" for i in range(1, 10)) + "got x\n", lines
        # The agent ends: refused, with pauses that grow. It comes back on the same port, without a code.
        agent.stop()
        wait_problem(d, "refused")
        again = Agent(agent.folder, port=agent.port)
        wait_state(d, "ready")
        # Removed: the connection ends, the agent is told, and nothing is dialled any more.
        d.must(200, "DELETE", "/api/machines/laptop")
        wait_for("the agent's word", lambda: "away" in again.log())
        seen = len(again.log())
        assert d.must(200, "GET", "/api/machines")["machines"] == []
        again.stop()
        assert "connected" not in again.log()[seen:]


def who_may_have_which_url():
    with Daemon() as d:
        token = d.make_token("--scope", "exec", "--owner", "somebody")
        for url, status, words in (("ws://agent.example/", 403, "wss://"), ("wss://127.0.0.1:8765", 403, "loopback"), ("wss://[::1]/", 403, "admin"),
                                   ("wss://10.1.2.3/agent", 403, "private"), ("wss://169.254.169.254/latest", 403, "admin"),
                                   ("http://a.example", 400, "wss://"), ("wss://u:p@a.example", 400, "user name"), ("wss://a.example/?x", 400, "path"),
                                   ("wss://a.example:99999", 400, "port"), ("wss://" + "a" * 500, 400, "")):
            a = d.ask("POST", "/api/machines", {"name": "laptop", "url": url}, token=token)
            assert a.status == status and words in a.body.decode(), (url, a.status, a.body)
        assert d.must(200, "GET", "/api/machines", token=token)["machines"] == []  # what was refused is not there
        # A name is judged when it is dialled, by where it leads then: nobody is connected to, and no address is told.
        with socket.create_server(("127.0.0.1", 0)) as s:
            add(d, f"wss://localhost:{s.getsockname()[1]}/agent", token=token)
            wait_for("the verdict", lambda: "does not lead to a public address" in machine(d, token=token)["problem"])
            m = machine(d, token=token)
            assert "127.0.0.1" not in m["problem"] and m["state"] == "waiting" and m["next_try_at"], m
            s.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                s.accept()
                raise AssertionError("it was connected to")
        # An administrator's may be anywhere.
        add(d, "ws://127.0.0.1:1/agent", name="desk", token=admin(d))
        wait_for("a try", lambda: "refused" in machine(d, "desk", token=admin(d))["problem"])
        env = {**d.environment(), "NO_COLOR": "1", "CAY_DATA": os.path.join(d.folder, "data")}
        cli = subprocess.run([CAY, "remote", "add", "shelf", "--url", "wss://shelf.invalid"], env=env, capture_output=True, text=True, timeout=PATIENCE_S)
        assert cli.returncode == 0 and "cay agent --listen 127.0.0.1:8765 --name shelf" in cli.stdout, cli
        cay = lambda *w: subprocess.run([CAY, *w], env=env, capture_output=True, text=True, timeout=PATIENCE_S).stdout  # noqa: E731
        wait_for("its words", lambda: "look up shelf.invalid" in cay("remote"))
        assert "wss://shelf.invalid" in cay("remote", "get", "shelf")
        for words in (["--listen", "8765"], ["--listen", "[::1"], ["--listen", "a:b:1"], ["--listen", "127.0.0.1:70000"], ["--listen", "127.0.0.1:1", "--connect", "ws://h"],
                      ["--listen", "127.0.0.1:1", "--ca", "/x"]):
            r = subprocess.run([CAY, "agent", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            assert r.returncode == 2, (words, r)


class Names:
    """A name server on loopback, which says what it is told to; this mount namespace asks it."""

    def __init__(self, folder):
        self.answers, self.asked = [], 0
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 53))
        with open(f"{folder}/resolv.conf", "w", encoding="utf-8") as f:
            f.write("nameserver 127.0.0.1\n")
        self.file = os.path.realpath("/etc/resolv.conf")
        subprocess.run(["mount", "--bind", f.name, self.file], check=True)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError, IndexError, ValueError):
            while True:
                query, who = self.sock.recvfrom(4096)
                end = query.index(b"\0", 12) + 5
                kind = int.from_bytes(query[end - 4:end - 2], "big")
                answers = self.answers if kind == 1 else []  # A
                self.asked += kind == 1
                self.sock.sendto(query[:2] + b"\x81\x80\0\1" + len(answers).to_bytes(2, "big") + b"\0\0\0\0" + query[12:end] +
                                 b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(a) for a in answers), who)

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)  # it is not connected, and woken all the same
        self.thread.join(PATIENCE_S)
        self.sock.close()
        subprocess.run(["umount", self.file], check=True)


def names_that_change_and_redirects_lead_nowhere():
    """A caller's name is public when it is added, and leads inside later; a server sends the daemon elsewhere."""
    with folder_for() as folder, contextlib.ExitStack() as stack:
        names = Names(folder)
        stack.callback(names.close)
        inside = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        inside.settimeout(0.2)
        port = inside.getsockname()[1]

        def nobody_came():
            with contextlib.suppress(TimeoutError):
                inside.accept()
                raise AssertionError("it was connected to")
        with Daemon() as d:
            token = d.make_token("--scope", "exec", "--owner", "default")
            names.answers = ["8.8.8.8"]  # no way leads there
            add(d, f"wss://rebind.example:{port}", token=token)
            wait_problem(d, "no route")
            for answers in (["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"]):
                names.answers, mark = answers, names.asked
                wait_for("a look-up", lambda: names.asked > mark)
                wait_problem(d, "does not lead to a public address" if answers[0] != "8.8.8.8" else "")
                nobody_came()
            # A public address that is this host's own.
            subprocess.run(["ip", "addr", "add", "8.8.8.8/32", "dev", "lo"], check=True)
            stack.callback(subprocess.run, ["ip", "addr", "del", "8.8.8.8/32", "dev", "lo"], check=True)
            names.answers, mark = ["8.8.8.8"], names.asked
            wait_for("a look-up", lambda: names.asked > mark)
            nobody_came()
            d.must(200, "DELETE", "/api/machines/laptop")
            # Even an administrator's is not followed elsewhere.
            with socket.create_server(("127.0.0.1", 0)) as s:
                add(d, f"ws://127.0.0.1:{s.getsockname()[1]}/agent", token=admin(d))
                s.settimeout(PATIENCE_S)
                one, _ = s.accept()
                one.recv(65536)
                one.sendall(f"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:{port}/agent\r\nContent-Length: 0\r\n\r\n".encode())
                wait_problem(d, "answered 302 instead of a WebSocket")
                one.close()
            nobody_came()


def an_agent_for_other_machines_needs_none_of_their_libraries():
    """The one that `cay remote add USER@HOST` brings there, where there is nothing but it, a name server's address, and certificates."""
    static = os.path.join(os.path.dirname(CAY), "cay-agent-static")
    if not os.path.exists(static):
        print("  not built: the libraries are not there as archives")
        return
    with folder_for() as folder, folder_for() as root, contextlib.ExitStack() as stack:
        names = Names(folder)
        stack.callback(names.close)
        names.answers = ["127.0.0.1"]
        for name in ("bin", "etc/ssl", "proc", "dev", "tmp"):
            os.makedirs(f"{root}/{name}")
        for name in ("cay-warden", "cay-init"):
            shutil.copy(os.path.join(os.path.dirname(CAY), name), f"{root}/bin")
        shutil.copy(static, f"{root}/bin/cay-agent")
        shutil.copy(f"{folder}/resolv.conf", f"{root}/etc/resolv.conf")
        subprocess.run(["mount", "--bind", "/proc", f"{root}/proc"], check=True)
        stack.callback(subprocess.run, ["umount", f"{root}/proc"], check=True)
        cert, key = make_certificate(folder)
        shutil.copy(cert, f"{root}/etc/ssl/cert.pem")  # where some distributions have all they trust
        with TlsDaemon(cert, key, stack.enter_context(folder_for())) as d:
            code = d.must(201, "POST", "/api/machines", {"name": "laptop"})["code"]
            with open(f"{folder}/log", "wb") as log:
                agent = subprocess.Popen(["chroot", root, "/bin/cay-agent", "--connect", f"wss://localhost:{d.port}/agent", "--name", "laptop", "--state", "/tmp/state"],
                                         stdin=subprocess.PIPE, stdout=log, stderr=log, env={"PATH": os.environ["PATH"]})
            agent.stdin.write((code + "\n").encode())
            agent.stdin.close()
            try:
                wait_state(d, "ready")
            except BaseException:
                print(open(f"{folder}/log", encoding="utf-8").read())
                raise
            finally:
                agent.terminate()
                agent.wait(PATIENCE_S)
        assert names.asked > 0


class Tunnel(Relay):
    """Ends TLS in front of the agent, as a tunnel's provider does."""

    def __init__(self, port, cert, key):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(cert, key)
        super().__init__(port)

    def accept(self):
        while not self.is_over:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.begin, args=(raw,), daemon=True).start()

    def begin(self, raw):
        try:
            one = self.tls.wrap_socket(raw, server_side=True)
            other = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            raw.close()
            return
        for a, b in ((one, other), (other, one)):
            threading.Thread(target=self.pump, args=(a, b), daemon=True).start()
        with self.lock:
            self.pairs.append((one, other))

    def pump(self, a, b):
        with contextlib.suppress(OSError, ValueError):
            while data := a.recv(65536):
                b.sendall(data)
        for s in (a, b):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)


def tls_of_a_tunnel_is_checked():
    with folder_for() as folder, folder_for() as others:
        cert, key = make_certificate(folder)
        strange = make_certificate(others)
        with Daemon("--agent-ca", cert) as d, folder_for() as state:
            token = admin(d)
            port = free_port()
            tunnel, bad = Tunnel(port, cert, key), Tunnel(port, *strange)
            plain = Relay(port)
            added = add(d, f"wss://127.0.0.1:{tunnel.address}", token=token)
            for name, url, words in (("strange", f"wss://127.0.0.1:{bad.address}", "not signed by a trusted authority"),
                                     ("named", f"wss://127.0.0.2:{tunnel.address}", ""),
                                     ("plain", f"wss://127.0.0.1:{plain.address}", "does not speak TLS")):
                add(d, url, name=name, token=token)
                if words:
                    agentless = name == "plain"
                    if not agentless:
                        wait_problem(d, words, name)
            agent = Agent(state, added["code"], port=port)
            wait_state(d, "ready")
            wait_problem(d, "does not speak TLS", "plain")
            box = make(d)
            assert d.run(box, "cat | wc -c", stdin="x" * 300000)["stdout"] == "300000\n"
            data = os.urandom(3 << 20)
            d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/f", data)
            tunnel.cut()
            assert d.must(200, "GET", f"/api/sandboxes/{box}/files?path=/workspace/f") == data
            wait_state(d, "ready")
            d.stop()  # says goodbye
            agent.stop()
            for r in (tunnel, bad, plain):
                r.close()


def strangers_at_the_agents_door():
    with Daemon("--agent-heartbeat", "300ms") as d, folder_for() as keys, paired(d) as agent:
        box = make(d)
        connected = agent.log().count("is connected")
        # A web page; something that is no WebSocket; bytes.
        with socket.create_connection(("127.0.0.1", agent.port)) as s:
            s.sendall(b"GET /agent HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
            assert b" 403 " in s.recv(4096).split(b"\r\n")[0]
        with socket.create_connection(("127.0.0.1", agent.port)) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b" 426 " in s.recv(4096).split(b"\r\n")[0]
        with socket.create_connection(("127.0.0.1", agent.port)) as s:
            s.sendall(os.urandom(2000))
            s.settimeout(PATIENCE_S)
            with contextlib.suppress(OSError):
                while s.recv(4096):
                    pass
        # Who knocks hears the key and nothing about the machine, and cannot bring it to anything.
        key = wire.Key(keys)
        for raw in (b"\xff" * 50, wire.message(wire.ASK, 5, b"x"), wire.message(wire.WELCOME, 0, b"\x10\x27\0\0" + wire.text("laptop")),
                    wire.message(wire.REFUSED, 0, bytes([5]) + wire.text("go away"))):
            ws = WebSocket(agent.port, "/agent", token=None)
            _, hello = ws.read()
            assert hello[:4] == bytes([wire.HELLO, 0, 0, 0]) and b"laptop" not in hello and b"Linux" not in hello, hello
            ws.send(raw)
            try:
                while True:
                    ws.read()
            except (Closed, OSError):
                pass
        for _ in range(3):  # the right words with another key
            ws = WebSocket(agent.port, "/agent", token=None)
            _, hello = ws.read()
            part = wire.message(wire.CHALLENGE, 0, b"\x02\0" + key.public + os.urandom(32))
            ws.send(part + key.sign("daemon", hello + part) + os.urandom(32))
            try:
                while True:
                    _, said = ws.read()
                    assert said[0] != wire.PROOF, "it proved itself to a stranger"
            except (Closed, OSError):
                pass
        # Many that say nothing: the daemon's connection stays, and a new one finds room.
        silent = [socket.create_connection(("127.0.0.1", agent.port)) for _ in range(300)]
        idle = [WebSocket(agent.port, "/agent", token=None) for _ in range(40)]
        assert d.run(box, "echo here")["stdout"] == "here\n"
        os.kill(d.child("cay-front"), signal.SIGKILL)
        ready_again(d)
        wait_state(d, "ready")
        wait_for("the sandbox", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["status"].lower() in ("ready", "busy"))
        assert agent.process.poll() is None and agent.log().count("is connected") == connected + 1, agent.log()
        assert agent.log().count("not let in") < 10
        for s in [*silent, *(ws.sock for ws in idle)]:
            s.close()


def another_agent_at_the_url_is_not_let_in():
    with Daemon() as d, paired(d) as agent, folder_for() as other:
        # At the same address there is another agent with a key of its own, then one that is paired with this daemon as another machine.
        agent.stop()
        wait_state(d, "away")
        with folder_for() as third:
            added = add(d, f"ws://127.0.0.1:{agent.port}/", name="desk", token=admin(d))
            stranger = Agent(other, "aaaaa-aaaaa-aaaaa-aaaaa", port=agent.port)
            wait_problem(d, "does not know the pairing code", "laptop")
            stranger.stop()
            desk = Agent(third, added["code"], port=agent.port, name="desk")
            wait_state(d, "ready", "desk")
            wait_problem(d, "does not know this machine", "laptop")
            assert machine(d)["state"] == "away"
            if desk.process.poll() is None:
                desk.kill()


TESTS = [the_daemon_dials_and_dials_again, who_may_have_which_url, names_that_change_and_redirects_lead_nowhere,
         an_agent_for_other_machines_needs_none_of_their_libraries, tls_of_a_tunnel_is_checked, strangers_at_the_agents_door,
         another_agent_at_the_url_is_not_let_in]


def main():
    for t in TESTS:
        if len(sys.argv) < 2 or t.__name__ in sys.argv[1:]:
            print(t.__name__, flush=True)
            t()


if __name__ == "__main__":
    main()
