#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A daemon and an agent in two network namespaces, with a network between them that delays, cuts and forgets. test_remote_net.py [NAME…]
runs some. CAY_TEST_REMOTE_MIB=200 and CAY_TEST_REMOTE_CUT_S=60 make of the short run the long one.
"""
import contextlib
import hashlib
import json
import os
import queue
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from agent_process import AgentProcess  # noqa: E402
from daemon import CAY, PATIENCE_S, Daemon, ready_again, wait_for  # noqa: E402

MIB = 1 << 20
SIZE = int(os.environ.get("CAY_TEST_REMOTE_MIB", "8")) * MIB
CUT_S = float(os.environ.get("CAY_TEST_REMOTE_CUT_S", "0.8"))
DELAY_S = 0.01  # each way
SKIP = ["memory", "swap", "cpus", "pids", "disk", "inodes"]
HERE_ADDRESS, THERE = "10.77.0.1", ["10.77.0.2", "10.77.0.3"]


def run(*words):
    subprocess.run(words, check=True, capture_output=True, timeout=PATIENCE_S)


class Machine:
    """The user's machine: a network namespace whose only neighbour is this one. Its cable can be pulled, and its address changed."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo up; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"up\n"
        run("ip", "link", "add", "name", "va", "type", "veth", "peer", "name", "vb", "netns", str(self.holder.pid))
        run("ip", "link", "set", "va", "addrgenmode", "none")
        run("ip", "addr", "add", f"{HERE_ADDRESS}/24", "dev", "va")
        run("ip", "link", "set", "va", "up")
        self.inside("ip", "link", "set", "lo", "up")
        self.inside("ip", "link", "set", "vb", "up")
        self.address = None
        self.move()

    def enter(self, *words):
        return ["nsenter", "--net", "--target", str(self.holder.pid), *words]

    def inside(self, *words):
        run(*self.enter(*words))

    def move(self):
        """Another address: connections from the old one are dead, and nobody is told. So it is when a router forgets a mapping."""
        old, self.address = self.address, THERE[1] if self.address == THERE[0] else THERE[0]
        if old:
            self.inside("ip", "addr", "del", f"{old}/24", "dev", "vb")
        self.inside("ip", "addr", "add", f"{self.address}/24", "dev", "vb")

    def cable(self, is_in):
        run("ip", "link", "set", "va", "up" if is_in else "down")

    def close(self):
        self.holder.stdin.close()
        self.holder.wait(PATIENCE_S)
        with contextlib.suppress(subprocess.CalledProcessError):
            run("ip", "link", "del", "va")


class Road:
    """TCP from the machine to the daemon, with a delay (and, each way, at most `rate` bytes a second). `cut` ends all connections and lets none through for a while; `hole` swallows
    what is on its way instead, and nobody hears of it."""

    def __init__(self, port, rate=None):
        self.port, self.rate, self.is_over, self.carried = port, rate, False, 0
        self.pairs, self.lock = [], threading.Lock()
        self.blocked_until = 0
        self.listener = socket.create_server((HERE_ADDRESS, 0))
        self.address = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.is_over:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            if time.monotonic() < self.blocked_until:
                one.close()
                continue
            try:
                other = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                one.close()
                continue
            for s in (one, other):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = [one, other, threading.Event()]  # the event: a hole
            with self.lock:
                self.pairs.append(pair)
            for a, b in ((one, other), (other, one)):
                late = queue.Queue(64)
                threading.Thread(target=self.read, args=(a, late, pair), daemon=True).start()
                threading.Thread(target=self.write, args=(b, late, pair), daemon=True).start()

    def read(self, sock, late, pair):
        data = b"x"
        while data:
            try:
                data = sock.recv(65536)
            except OSError:
                data = b""
            if not pair[2].is_set():
                late.put((time.monotonic() + DELAY_S, data))
        late.put((0, b""))

    def write(self, sock, late, pair):
        free = 0
        while True:
            at, data = late.get()
            if self.rate:
                free = at = max(at, free) + len(data) / self.rate
            time.sleep(max(0, at - time.monotonic()))
            if not data:
                break
            if pair[2].is_set():
                continue
            with contextlib.suppress(OSError):
                sock.sendall(data)
            self.carried += len(data)
        for s in pair[:2]:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def take(self):
        with self.lock:
            pairs, self.pairs = self.pairs, []
        return pairs

    def cut(self, seconds):
        self.blocked_until = time.monotonic() + seconds
        for one, other, _ in self.take():
            for s in (one, other):
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)

    def hole(self):
        for pair in self.take():
            pair[2].set()

    def close(self):
        self.is_over = True
        self.listener.close()
        self.cut(0)


class Agent(AgentProcess):
    def __init__(self, machine, port, folder, name="laptop", code=None, scheme="ws", flags=()):
        self.again = (machine, port, folder, name)
        super().__init__(machine.enter(CAY, "agent", "--connect", f"{scheme}://{HERE_ADDRESS}:{port}/agent", "--name", name,
                                       "--state", os.path.join(folder, name), *flags), os.path.join(folder, name + ".log"), code)


class World:
    def __init__(self, *flags):
        self.stack = contextlib.ExitStack()
        self.machine = Machine()
        self.stack.callback(self.machine.close)
        self.folder = tempfile.mkdtemp(prefix="cay-agent-")
        self.stack.callback(shutil.rmtree, self.folder)
        self.d = self.stack.enter_context(Daemon("--trusted-hosts", HERE_ADDRESS, "--agent-heartbeat", "300ms", "--health-interval", "300ms",
                                                 "--health-misses", "10", *flags))
        self.road = Road(self.d.port)
        self.stack.callback(self.road.close)
        code = self.d.must(201, "POST", "/api/machines", {"name": "laptop"})["code"]
        self.agent = Agent(self.machine, self.road.address, self.folder, code=code)
        self.stack.callback(lambda: self.agent.stop())
        self.wait("ready")

    def state(self):
        return self.d.must(200, "GET", "/api/machines/laptop")["state"]

    def wait(self, wanted):
        wait_for(f"the machine to be {wanted}", lambda: self.state() == wanted)

    def make(self):
        return self.d.make(machine="laptop", may_skip=SKIP)

    def wait_box(self, box, *wanted):
        wait_for(f"the sandbox to be {wanted}", lambda: self.d.must(200, "GET", f"/api/sandboxes/{box}")["status"].lower() in wanted)

    def __enter__(self):
        return self

    def __exit__(self, kind, *more):
        if kind:
            print("agent's log:\n" + self.agent.log()[-4000:])
        return self.stack.__exit__(kind, *more)


def random_cuts_lose_nothing(w):
    """Output and upload at once, while connections are reset, swallowed, and the cable pulled."""
    box, rnd, over, cuts = w.make(), random.Random(int(os.environ.get("CAY_TEST_SEED", "21"))), threading.Event(), []
    data = b"".join(rnd.randbytes(MIB // 4) for _ in range(4 * SIZE // MIB))  # in pieces: the road needs its turns

    def disturb():
        mark = 0
        while not over.is_set():
            if w.road.carried - mark < min(SIZE // 3, 24 * MIB):
                over.wait(0.01)
                continue
            mark = w.road.carried
            kind, length = rnd.choice(["cut", "hole", "cable"]), rnd.uniform(0.1, CUT_S)
            cuts.append(kind)
            if kind == "cut":
                w.road.cut(length)
            elif kind == "hole":
                w.road.hole()
            else:
                w.machine.cable(False)
                over.wait(length)
                w.machine.cable(True)

    script = ("import hashlib,sys\nh=hashlib.sha256()\nfor i in range(%d):\n b=hashlib.sha256(str(i).encode()).digest()*2048\n h.update(b)\n"
              " sys.stdout.buffer.write(b)\nsys.stdout.flush()\nsys.stderr.write(h.hexdigest())\n" % (SIZE // 65536))
    w.d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/out.py", script)
    got = {}

    def upload():
        pieces = (data[i:i + MIB] for i in range(0, SIZE, MIB))  # the client's patience is for each
        got["up"] = w.d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/in", pieces, headers={"Content-Length": str(SIZE)})

    def output():
        r, c = w.d.begin("POST", f"/api/sandboxes/{box}/execute", {"command": "python3 out.py | base64 -w 76", "stream": True,
                                                                  "output_limit": 2 * SIZE + MIB})
        h, rest, err = hashlib.sha256(), "", ""
        import base64
        for line in r:
            e = json.loads(line)
            if e.get("event") == "stdout":
                *lines, rest = (rest + e["text"]).split("\n")
                for each in lines:
                    h.update(base64.b64decode(each))
            elif e.get("event") == "stderr":
                err += e["text"]
            else:
                got["last"] = e
        c.close()
        got["out"], got["said"] = h.hexdigest(), err

    threads = [threading.Thread(target=t, daemon=True) for t in (disturb, upload, output)]
    for t in threads:
        t.start()
    for t in threads[1:]:
        t.join(PATIENCE_S * (1 + SIZE // MIB // 50) + 20 * CUT_S)
    over.set()
    threads[0].join(PATIENCE_S)
    assert "up" in got and "out" in got, (got.keys(), cuts)
    assert got["up"].status in (200, 201), got
    assert got["out"] == got["said"], (got["said"], got.get("last"), cuts)
    wait_for("its word", lambda: w.d.ask("GET", "/api/machines/laptop").json["state"] == "ready")
    w.wait_box(box, "ready", "busy")
    assert w.d.run(box, "sha256sum < in")["stdout"].split()[0] == hashlib.sha256(data).hexdigest()
    assert len(cuts) >= 3, cuts
    print(f"  {len(cuts)} cuts", flush=True)
    w.d.must(200, "DELETE", f"/api/sandboxes/{box}")


def a_new_address_and_a_dead_connection(w):
    """The machine gets another address while its old connection is only half there: neither side is told, both notice."""
    box = w.make()
    run_id = w.d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "seq 1 5; read line; echo got $line", "background": True,
                                                                   "open_stdin": True})["exec_id"]
    before = w.agent.log().count("connected to")
    w.machine.move()
    wait_for("the agent to dial again", lambda: w.agent.log().count("connected to") > before)
    w.wait("ready")
    w.wait_box(box, "ready", "busy")
    # The cable is out for longer than anybody waits.
    w.machine.cable(False)
    w.wait("away")
    w.wait_box(box, "error")
    assert w.d.must(200, "GET", f"/api/sandboxes/{box}")["cause"] == "engine_lost"
    w.machine.cable(True)
    w.wait("ready")
    w.wait_box(box, "ready", "busy")
    w.d.must(200, "POST", f"/api/sandboxes/{box}/execs/{run_id}/input", b"here\n")
    wait_for("its end", lambda: w.d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run_id}")["status"].lower() != "running")
    lines = [json.loads(line) for line in w.d.ask("GET", f"/api/sandboxes/{box}/execs/{run_id}/output").body.splitlines()]
    assert "".join(e["text"] for e in lines if e["event"] == "stdout") == "1\n2\n3\n4\n5\ngot here\n", lines
    w.d.must(200, "DELETE", f"/api/sandboxes/{box}")


def killed_daemons_and_agents_return(w):
    """The daemon loses power: sandboxes of the machine live on. The agent is killed: they end, with a cause."""
    box = w.make()
    run_id = w.d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "seq 1 1000; sleep 2; seq 1001 2000", "background": True})["exec_id"]
    w.d.flags = (*w.d.flags, "--listen", f"127.0.0.1:{w.d.port}")
    w.d.cut_power()
    w.d.start()
    ready_again(w.d)
    w.wait("ready")
    w.wait_box(box, "ready", "busy")
    wait_for("its end", lambda: w.d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run_id}")["status"].lower() != "running")
    lines = [json.loads(line) for line in w.d.ask("GET", f"/api/sandboxes/{box}/execs/{run_id}/output").body.splitlines()]
    assert "".join(e["text"] for e in lines if e["event"] == "stdout") == "".join(f"{i}\n" for i in range(1, 2001)), lines[-3:]
    w.agent.process.kill()
    w.agent.process.wait(PATIENCE_S)
    w.wait("away")
    w.agent = Agent(*w.agent.again)
    w.wait("ready")
    w.wait_box(box, "error")
    assert w.d.must(200, "GET", f"/api/sandboxes/{box}")["cause"] in ("engine_lost", "sandbox_gone")
    box = w.make()
    assert w.d.run(box, "echo new")["stdout"] == "new\n"


TESTS = [random_cuts_lose_nothing, a_new_address_and_a_dead_connection, killed_daemons_and_agents_return]


def main():
    with World() as w:
        for t in TESTS:
            if len(sys.argv) < 2 or t.__name__ in sys.argv[1:]:
                print(t.__name__, flush=True)
                t(w)


if __name__ == "__main__":
    main()
