#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CLI against a real daemon: one function per capability. test_cli.py [NAME…] runs some of them."""
import contextlib
import fcntl
import hashlib
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import ssl
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, Daemon, is_alive, run_tests, wait_for  # noqa: E402

SOURCE = os.environ.get("CAY_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
LEAVE = b"\x1d\x1d"  # Ctrl-] twice


def environment(d, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CAY_", "SANDBOX_"))}
    env.update({"CAY_DATA": os.path.join(d.folder, "data"), "TERM": "xterm"}, **more)
    return env


def cay(d, *words, expect=0, input=None, env=None, raw=False):
    """Runs cay; what it printed. stdin is nothing unless given."""
    done = subprocess.run([CAY, *words], capture_output=True, timeout=PATIENCE_S, env=environment(d, **(env or {})),
                          **({"input": input} if input is not None else {"stdin": subprocess.DEVNULL}))
    assert done.returncode == expect, f"cay {words}: status {done.returncode}: {done.stderr.decode()} {done.stdout[-500:]}"
    d.said = done.stderr.decode()
    return done.stdout if raw else done.stdout.decode()


def cay_json(d, *words, **more):
    return json.loads(cay(d, *words, "--json", **more))


class Terminal:
    """cay on a terminal of its own."""

    def __init__(self, d, *words, rows=24, cols=80):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
                os.execve(CAY, [CAY, *words], environment(d))
            finally:
                os._exit(99)
        self.seen, self.status = b"", None

    def read(self, wait_s):
        if select.select([self.fd], [], [], wait_s)[0]:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:
                piece = b""
            self.seen += piece
            return piece
        return None

    def expect(self, pattern):
        """Waits until the pattern was seen; forgets what came up to it."""
        for _ in range(PATIENCE_S * 10):
            found = re.search(pattern, self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return found
            if self.read(0.1) == b"":
                break
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"waited in vain for {pattern!r}, saw {self.seen[-600:]!r}")

    def type(self, text):
        os.write(self.fd, text)

    def resize(self, rows, cols):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def end(self):
        for _ in range(PATIENCE_S * 10):
            if self.read(0.1) == b"":
                break
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
                break
        if self.status is None:
            self.status = wait_for("cay's end", lambda: (lambda p, s: (s,) if p else None)(*os.waitpid(self.pid, os.WNOHANG)))[0]
        while self.read(PATIENCE_S):  # what it wrote last may still be on its way; then the terminal says that nobody has it open
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(self.status)


def test_life(d):
    box = cay(d, "create", "--name", "one", "--memory", "96m", "--label", "team=a", "-e", "WHO=you", "--timeout", "1h").strip()
    got = cay_json(d, "get", "one")
    assert got["sandbox_id"] == box and got["labels"] == {"team": "a"} and got["limits"]["memory_bytes"] == 96 << 20, got
    table = cay(d, "ls").splitlines()
    assert table[0].split()[:3] == ["SANDBOX", "NAME", "STATUS"] and table[1].split()[:3] == [box, "one", "ready"], table
    assert "\x1b" not in "".join(table)
    assert [b["sandbox_id"] for b in cay_json(d, "ls", "--label", "team=a")["sandboxes"]] == [box]
    assert cay(d, "ls", "--label", "team=b") == ""
    assert cay(d, "stop", "one").split() == [box, "stopped"]
    assert cay(d, "start", box).split() == [box, "ready"]
    assert cay(d, "pause", box).split()[:2] == [box, "paused"]
    assert cay(d, "resume", "--json", box).startswith("{")
    assert "lives for" in cay(d, "extend", "one", "2h")
    assert cay_json(d, "extend", "one", "0")["expires_in_ms"] is None
    assert cay_json(d, "extend", "one", "--idle-timeout", "2h")["idle_limit_ms"] == 7200000
    kinds = [e["kind"] for e in cay_json(d, "events", box)["events"]]
    assert "sandbox_created" in kinds and "sandbox_paused" in kinds, kinds
    assert "sandbox_created" in cay(d, "events")
    stats = cay(d, "stats", "--once", "one").splitlines()
    assert len(stats) == 2 and stats[1].startswith(box), stats
    assert json.loads(cay(d, "stats", "--json"))["sandbox_id"] == box
    assert cay(d, "cleanup", "--label", "team=a", "--dry-run").strip() == box
    other = cay(d, "create").strip()
    assert cay(d, "rm", "one", "nobody", other, expect=125).split() == [box, other]
    assert "sandbox 'nobody' does not exist" in d.said and "cay ls" in d.said, d.said
    assert cay_json(d, "ls")["sandboxes"] == []


def test_pages(d):
    boxes = [cay(d, "create", "--own-user-only").strip() for _ in range(3)]
    assert [b["sandbox_id"] for b in cay_json(d, "ls", "--limit", "2")["sandboxes"]] == boxes[:2]
    assert [b["sandbox_id"] for b in cay_json(d, "ls")["sandboxes"]] == boxes
    cay(d, "rm", *boxes)


def test_network_presets(d):
    table = cay(d, "network", "presets").splitlines()
    assert table[0].split() == ["PRESET", "RULES"], table
    assert [line for line in table if line.startswith("python ") and "pypi.org" in line], table
    assert "python" in [p["name"] for p in cay_json(d, "network", "presets")["presets"]]
    cay(d, "network", expect=2)
    cay(d, "network", "nothing", expect=125)


def test_exec(d):
    box = cay(d, "create", "-e", "WHO=you").strip()
    assert cay(d, "exec", box, "sh", "-c", "echo out; echo err >&2; exit 3", expect=3) == "out\n"
    assert d.said == "err\n", d.said
    assert cay(d, "exec", box, "echo $WHO | tr a-z A-Z") == "YOU\n"
    assert cay(d, "exec", "-e", "A=1", "--env=B=2", "-w", "/tmp", box, "--", "sh", "-c", "echo $A$B $PWD $0", "-x") == "12 /tmp -x\n"
    assert cay(d, "exec", box, "cat", input=b"given\n") == "given\n"
    assert cay(d, "exec", "-n", box, "cat", input=b"given\n") == ""
    assert cay(d, "exec", box, "printf", "\\377\\000x", raw=True) == b"\xff\0x"
    cay(d, "exec", box, "/nowhere/program", expect=127)
    assert "/nowhere/program" in d.said, d.said
    cay(d, "exec", "--timeout", "0.2", box, "sleep", "1000", expect=124)
    assert "wall_time" in d.said and "--timeout" in d.said, d.said
    cay(d, "exec", "-q", "--timeout", "0.2", box, "sleep", "1000", expect=124)
    assert d.said == ""
    cay(d, "exec", box, "sh", "-c", "kill -9 $$", expect=137)
    r = json.loads(cay(d, "exec", "--json", box, "sh", "-c", "cat; exit 4", input=b"text", expect=4))
    assert r["stdout"] == "text" and r["exit_code"] == 4
    cay(d, "exec", "--json", box, "cat", input=b"\xff", expect=2)
    assert "is not text" in d.said
    cay(d, "exec", box, expect=2)
    cay(d, "exec", "nobody", "true", expect=125)
    cay(d, "rm", box)


def test_big_streams(d):
    """Tens of megabytes both ways, whole, and in little memory."""
    box = cay(d, "create").strip()
    data = os.urandom(1 << 20) * 24
    want = hashlib.sha256(data).hexdigest()
    assert cay(d, "exec", box, "sha256sum", input=data).split()[0] == want
    with tempfile.TemporaryFile() as f:
        f.write(data)
        f.seek(0)
        out = subprocess.run([CAY, "exec", box, "sha256sum"], stdin=f, capture_output=True, env=environment(d), check=True, timeout=PATIENCE_S)
        assert out.stdout.split()[0].decode() == want
    with open(CAY, "rb") as f:
        bound = "" if b"__asan_init" in f.read() else "ulimit -v 65536; "  # sanitizers map terabytes
    p = subprocess.Popen(["sh", "-c", f"{bound}exec {CAY} exec {box} cat /dev/urandom"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(d))
    got = p.stdout.read(32 << 20)
    p.stdout.close()
    said = p.stderr.read()
    p.stderr.close()
    assert len(got) == 32 << 20 and p.wait(PATIENCE_S) == 128 + signal.SIGPIPE, (len(got), p.returncode, said)
    wait_for("the end of what nobody reads", lambda: cay_json(d, "get", box)["execs_running"] == 0)
    cay(d, "rm", box)


def test_signals(d):
    box = cay(d, "create").strip()
    p = subprocess.Popen([CAY, "exec", box, "sh", "-c", "trap 'echo got; exit 7' INT; echo ready; while :; do sleep 0.1; done"],
                         stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(d))
    assert p.stdout.readline() == b"ready\n"
    p.send_signal(signal.SIGINT)
    assert p.stdout.read() == b"got\n" and p.wait(PATIENCE_S) == 7
    p.stdout.close()
    p = subprocess.Popen([CAY, "exec", box, "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment(d))
    assert p.stdout.readline() == b"ready\n"
    # Who insists ends it. How often that is: two that come while it looks elsewhere are one.
    wait_for("its end", lambda: p.poll() is not None or p.send_signal(signal.SIGTERM))
    assert p.returncode != 0
    p.stdout.close()
    wait_for("the command's end", lambda: cay_json(d, "get", box)["execs_running"] == 0)
    cay(d, "rm", box)


def test_background(d):
    box = cay(d, "create").strip()
    first = cay(d, "exec", "-d", box, "sh", "-c", "echo one; echo two >&2; sleep 0.5; echo three").strip()
    assert cay(d, "logs", "-f", box) == "one\nthree\n" and d.said == "two\n", d.said
    second = cay(d, "exec", "-d", box, "echo", "last").strip()
    wait_for("its end", lambda: cay_json(d, "get", box)["execs_running"] == 0)
    assert cay(d, "logs", box) == "last\n"
    assert cay(d, "logs", box, first) == "one\nthree\n"
    events = [json.loads(line) for line in cay(d, "logs", "-f", "--json", box, second).splitlines()]
    assert events[0]["event"] == "started" and events[-1]["event"] == "exited", events
    rows = cay(d, "ps", box).splitlines()
    assert len(rows) == 3 and rows[1].split()[0] == first and rows[2].split()[:3] == [second, "ended", "0"], rows
    cay(d, "logs", box, "nothing", expect=125)
    waits = cay(d, "exec", "-d", box, "sh", "-c", "sleep 0.7; exit 5").strip()
    cay(d, "attach", box, waits, expect=5)
    cay(d, "rm", box)


def test_shell(d):
    box = cay(d, "create").strip()
    t = Terminal(d, "shell", box, "sh", "-c", "PS1='> ' exec sh", rows=31, cols=101)
    t.expect(rb"> ")
    t.type(b"stty size; tty -s && echo term''inal\r")
    t.expect(rb"31 101")
    t.expect(rb"terminal\r\n> ")
    t.resize(40, 120)
    for _ in range(1000):  # the size travels behind the signal; a line is typed when the shell has asked for it
        t.type(b"stty size\r")
        if t.expect(rb"stty size\r\n(\d+ \d+)\r\n> ").group(1) == b"40 120":
            break
    else:
        raise AssertionError("the size did not arrive")
    t.type(b"sh -c 'echo beg''un; exec sleep 1000'\r")  # it says so itself: whatever comes then finds it in the foreground
    t.expect(rb"begun\r\n")
    t.type(b"\x03")  # Ctrl-C ends it, not the shell
    t.expect(rb"> ")
    t.type(b"echo $((40+2)) \x1d done\r")  # one Ctrl-] alone is a key like others
    t.expect(rb"42 ")
    t.type(b"exit 9\r")
    assert t.end() == 9
    cay(d, "shell", box, expect=2)
    assert "not a terminal" in d.said, d.said
    cay(d, "rm", box)


@contextlib.contextmanager
def daemon_by_hand():
    """A folder to give as --data, and who listens there: what a daemon would answer is said by the test."""
    folder = tempfile.mkdtemp(prefix="cay-by-hand-")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(PATIENCE_S)
        listener.bind(os.path.join(folder, "cay.sock"))
        listener.listen()
        try:
            yield folder, listener
        finally:
            shutil.rmtree(folder)


def raw_request(connection):
    """(head, body)"""
    connection.settimeout(PATIENCE_S)
    got = b""
    while True:
        head, blank, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if blank and len(body) >= int(length.group(1) if length else 0):
            return head, body
        more = connection.recv(65536)
        assert more, got
        got += more


def whole_request(connection):
    head, body = raw_request(connection)
    return head, json.loads(body)


def answer(connection, status=b"200 OK", body=b"{}", fields=b""):
    connection.sendall(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s" % (status, len(body), fields, body))


def begin_events(stream, *events):
    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n" + b"".join(e + b"\n" for e in events))


STARTED = b'{"event":"started","exec_id":"one"}'
ENDED = b'{"event":"exited","exit_code":4,"cause":"exited"}\n'


def take_size(listener, rows, cols):
    with listener.accept()[0] as c:
        head, asked = whole_request(c)
        assert b"/box/execs/one/resize " in head and (asked["rows"], asked["cols"]) == (rows, cols), (head, asked)
        answer(c)


def test_resized_while_it_starts(d):
    """The size that counts is the one that the terminal has when the command is there, not the one that its start was asked with."""
    with daemon_by_hand() as (folder, listener):  # it starts nothing before it has seen the first size
        t = Terminal(d, "shell", "--data", folder, "box", "sh", rows=31, cols=101)
        with listener.accept()[0] as stream:
            _, asked = whole_request(stream)
            assert (asked["rows"], asked["cols"]) == (31, 101), asked
            t.resize(40, 120)
            begin_events(stream, STARTED)
            take_size(listener, 40, 120)
            stream.sendall(ENDED)
        assert t.end() == 4


def test_resized_while_nobody_is_there(d):
    """A daemon that is restarted hears of the size when it is back."""
    with daemon_by_hand() as (folder, listener):
        t = Terminal(d, "shell", "--data", folder, "box", "sh", rows=31, cols=101)
        with listener.accept()[0] as stream:
            whole_request(stream)
            begin_events(stream, STARTED, b'{"event":"stdout","text":"there","next":5}')
            t.expect(rb"there")
            t.resize(40, 120)
            with listener.accept()[0] as c:  # gone before it has answered
                assert b"/box/execs/one/resize " in whole_request(c)[0]
        with listener.accept()[0] as stream:
            head, _ = raw_request(stream)
            assert b"/box/execs/one/" in head and b"from=5" in head, head
            begin_events(stream, STARTED)
            take_size(listener, 40, 120)
            stream.sendall(ENDED)
        assert t.end() == 4


def test_interrupted_while_it_starts(d):
    """Who is in a hurry is not overheard: the signal goes to the command as soon as there is one."""
    with daemon_by_hand() as (folder, listener):
        p = subprocess.Popen([CAY, "exec", "--data", folder, "box", "sh"], stdin=subprocess.DEVNULL, env=environment(d))

        def takes_signals():  # blocked: it reads them
            with open(f"/proc/{p.pid}/status", encoding="utf-8") as f:
                return int(re.search(r"SigBlk:\s*(\w+)", f.read()).group(1), 16) & 1 << signal.SIGINT - 1

        with listener.accept()[0] as stream:
            whole_request(stream)
            begin_events(stream)
            wait_for("it to take signals", takes_signals)
            p.send_signal(signal.SIGINT)
            stream.sendall(STARTED + b"\n")
            with listener.accept()[0] as c:
                head, asked = whole_request(c)
                assert b"/box/execs/one/signal " in head and str(asked["signal"]) == str(int(signal.SIGINT)), (head, asked)
                answer(c)
            stream.sendall(ENDED)
        assert p.wait(PATIENCE_S) == 4


def take_input(listener, expected, reply=None, offset=None, **more):
    """A piece of input on a connection of its own; no reply: the connection ends without an answer."""
    with listener.accept()[0] as c:
        head, body = raw_request(c)
        assert offset is None or (b"offset=%d" % offset) in head.split(b" ")[1], head
        assert b"/box/execs/one/" in head and (body, b"eof=true" in head) == expected, (head, body)
        if reply:
            answer(c, reply, fields=b"Connection: close\r\n", **more)


def test_end_of_input_lost(d):
    """The end of input has nothing in it that could come twice: it is told until somebody says that it is known."""
    with daemon_by_hand() as (folder, listener):
        p = subprocess.Popen([CAY, "exec", "--data", folder, "box", "cat"], stdin=subprocess.PIPE, env=environment(d))
        with listener.accept()[0] as stream:
            whole_request(stream)
            begin_events(stream, STARTED)
            p.stdin.write(b"x")
            p.stdin.close()
            take_input(listener, (b"x", False), b"200 OK")
            take_input(listener, (b"", True))
            take_input(listener, (b"", True))
            take_input(listener, (b"", True), b"409 Conflict", body=b'{"error":{"message":"its input was ended before"}}')
            stream.sendall(ENDED)
        assert p.wait(PATIENCE_S) == 4


def test_holes_stay_holes(d):
    """Eight files of nothing are nothing on the caller's disk, however large they say they are."""
    box = d.make(limits={"memory": "64m", "disk": "64m"})
    d.run(box, "mkdir h; for i in 1 2 3 4; do truncate -s 64m h/$i; done; echo x | dd of=h/1 bs=1 seek=30000000 conv=notrunc 2>/dev/null")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([CAY, "cp", "-q", f"{box}:h", folder], check=True, env=environment(d), timeout=PATIENCE_S)
        found = [os.stat(os.path.join(folder, "h", name)) for name in "1234"]
        assert all(st.st_size == 64 << 20 for st in found) and sum(st.st_blocks for st in found) * 512 < 4 << 20, found
        with open(os.path.join(folder, "h", "1"), "rb") as f:
            f.seek(29999999)
            assert f.read(4) == b"\0x\n\0"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_holes_do_not_travel(d):
    """Eight holes of 128 MB in a sandbox of 64 MB: little on the wire, little on the caller's disk, and any tar reads the archive."""
    box = d.make(limits={"memory": "64m", "disk": "64m"})
    d.run(box, "mkdir h; for i in 1 2 3 4 5 6 7 8; do truncate -s 128m h/$i; done; echo x | dd of=h/1 bs=1 seek=30000000 conv=notrunc 2>/dev/null;"
               " echo end | dd of=h/2 bs=1 seek=134217724 conv=notrunc 2>/dev/null; echo begin | dd of=h/3 conv=notrunc 2>/dev/null")
    packed = cay(d, "cp", box + ":h", "-", raw=True)
    assert len(packed) < 100_000, len(packed)
    with tempfile.TemporaryDirectory() as folder:
        # The bound holds for what travels: far less than 1 GiB passes.
        subprocess.run([CAY, "cp", "-q", "--max-bytes", "1m", f"{box}:h", folder], check=True, env=environment(d), timeout=PATIENCE_S)
        found = [os.stat(os.path.join(folder, "h", name)) for name in "12345678"]
        assert all(st.st_size == 128 << 20 for st in found) and sum(st.st_blocks for st in found) * 512 < 1 << 20, found
        for name, at, wanted in (("1", 29999999, b"\0x\n\0"), ("2", 134217723, b"\0end\n"), ("3", 0, b"begin\n\0")):
            with open(os.path.join(folder, "h", name), "rb") as f:
                f.seek(at)
                assert f.read(len(wanted)) == wanted, name
        subprocess.run(["tar", "-xf", "-", "-C", folder], input=packed, check=True, timeout=PATIENCE_S)
        with tarfile.open(fileobj=io.BytesIO(packed)) as t:
            for m in t:
                if m.isfile():
                    name = os.path.basename(m.name)
                    assert m.size == 128 << 20, m
                    assert name not in "123" or subprocess.run(["cmp", os.path.join(folder, "h", name), os.path.join(folder, name)], timeout=PATIENCE_S).returncode == 0
    # And back into a sandbox: the holes are holes there as well.
    d.run(box, "mkdir again")
    d.must(200, "PUT", f"/api/sandboxes/{box}/archive?path=again", packed)
    r = d.run(box, "cmp h/1 again/1 && cmp h/2 again/2 && cmp h/3 again/3 && du -sk again | cut -f1; stat -c %s again/8")
    taken, size = (int(n) for n in r["stdout"].split())
    assert taken < 1024 and size == 128 << 20, r
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_copy_out_is_bounded(d):
    """What a sandbox sends is bounded, and the error says how to take more."""
    box = d.make()
    d.run(box, "mkdir d; for i in 1 2 3; do head -c 400000 /dev/urandom > d/$i; done")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([CAY, "cp", "-q", "--max-bytes", "1m", f"{box}:d", folder], env=environment(d), capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode != 0 and "longer than 1048576 bytes" in done.stderr and "--max-bytes" in done.stderr, done
        files = os.listdir(os.path.join(folder, "d"))
        assert len(files) == 2 and all(os.path.getsize(os.path.join(folder, "d", f)) == 400000 for f in files), files
        done = subprocess.run([CAY, "cp", "--max-bytes", "1m", f"{box}:d", "-"], env=environment(d), capture_output=True, timeout=PATIENCE_S)
        assert done.returncode != 0 and len(done.stdout) <= 1 << 20, (done.returncode, len(done.stdout))
        done = subprocess.run([CAY, "cp", "--max-bytes", "much", f"{box}:d", folder], env=environment(d), capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode != 0 and "not a size" in done.stderr, done
        subprocess.run([CAY, "cp", "-q", "--max-bytes", "0", f"{box}:d", folder], env=environment(d), check=True, timeout=PATIENCE_S)
        assert len(os.listdir(os.path.join(folder, "d"))) == 3
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_input_sent_again(d):
    """A piece that has had no answer is sent again with its place, so that it is applied once."""
    with daemon_by_hand() as (folder, listener):
        p = subprocess.Popen([CAY, "exec", "--data", folder, "box", "cat"], stdin=subprocess.PIPE, env=environment(d))
        with listener.accept()[0] as stream:
            whole_request(stream)
            begin_events(stream, STARTED)
            p.stdin.write(b"abc")
            p.stdin.flush()
            take_input(listener, (b"abc", False), b"200 OK", offset=0)
            p.stdin.write(b"de")
            p.stdin.close()
            for reply in (None, None, b"200 OK"):
                take_input(listener, (b"de", False), reply, offset=3)
            take_input(listener, (b"", True), b"200 OK", offset=5)
            stream.sendall(ENDED)
        assert p.wait(PATIENCE_S) == 4


def test_keys_not_taken(d):
    """What nobody can have taken is sent again; what somebody may have taken is not, and the keys after it go on."""
    busy = b'{"error":{"message":"too many connections from this client: wait a moment","reason":"retry"}}'
    with daemon_by_hand() as (folder, listener):
        t = Terminal(d, "shell", "--data", folder, "box", "sh")
        with listener.accept()[0] as stream:
            whole_request(stream)
            begin_events(stream, STARTED, b'{"event":"stdout","text":"there","next":5}')
            t.expect(rb"there")
            t.type(b"a")
            take_input(listener, (b"a", False), b"429 Too Many Requests", body=busy)
            take_input(listener, (b"a", False), b"503 Service Unavailable", body=busy)
            with listener.accept()[0] as c:
                assert raw_request(c)[1] == b"a"
                t.type(b"b")
                c.shutdown(socket.SHUT_RD)  # looks well from there, and takes no byte
                answer(c)
                take_input(listener, (b"b", False), b"200 OK")
            t.type(b"c")
            with listener.accept()[0] as c:
                assert raw_request(c)[1] == b"c"
                t.type(b"d")
            take_input(listener, (b"d", False), b"200 OK")
            stream.sendall(ENDED)
        assert t.end() == 4


def test_stream_with_a_hole(d):
    """Input that is no keyboard's is not gone on with when a part of it may be lost, whatever the command has for a terminal."""
    with daemon_by_hand() as (folder, listener):
        p = subprocess.Popen([CAY, "attach", "--data", folder, "box", "one"], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env=environment(d))
        with listener.accept()[0] as c:
            raw_request(c)
            answer(c, body=b'{"execs":[{"exec_id":"one","status":"running","tty":true,"output_first":0,"output_end":0}]}')
        with listener.accept()[0] as stream:
            raw_request(stream)
            begin_events(stream, STARTED)
            p.stdin.write(b"first")
            with listener.accept()[0] as c:
                assert raw_request(c)[1] == b"first"
                p.stdin.write(b"second")
            for i in range(3):  # it has gone round since, with all that there was to see
                stream.sendall(b'{"event":"stdout","text":"%d","next":%d}\n' % (i, i + 1))
                assert p.stdout.read(1) == b"%d" % i
            stream.sendall(ENDED)
            p.stdin.close()
            assert p.wait(PATIENCE_S) == 4
        p.stdout.close()
        assert not select.select([listener], [], [], 0)[0], "it went on"


def test_leave_and_attach(d):
    box = cay(d, "create").strip()
    t = Terminal(d, "exec", "-t", box, "sh", "-c", "PS1='> ' exec sh")
    t.expect(rb"> ")
    t.type(b"X=kept\r")
    t.expect(rb"> ")
    t.type(b"Y=also\r" + LEAVE)  # in one go: what was typed before it is still given
    exec_id = t.expect(rb"cay attach (\S+) (\S+)\r\n").group(2).decode()
    assert t.end() == 0
    assert cay_json(d, "get", box)["execs_running"] == 1
    t = Terminal(d, "attach", box, exec_id)
    t.type(b"\r")
    t.expect(rb"> ")
    t.type(b"echo is $X $Y\r")
    t.expect(rb"is kept also")
    t.type(b"exit 3\r")
    assert t.end() == 3
    t = Terminal(d, "ls")  # colours on a terminal
    t.expect(rb"\x1b\[32mready\x1b\[0m")
    assert t.end() == 0
    t = Terminal(d, "stats", "--interval", "200ms")  # again and again, until it is interrupted
    for _ in range(3):
        t.expect(box.encode())
    t.type(b"\x03")
    assert t.end() == -signal.SIGINT
    cay(d, "rm", box)


def make_tree(at):
    os.makedirs(os.path.join(at, "sub", "deep"))
    files = {"a": b"hi\n", "empty": b"", "sub/run": b"#!/bin/sh\n", "odd\nna\tme": b"1", "spaced name": b"2",
             "sub/deep/\u00fcber": b"3", "-dash": b"4", "x" * 200: b"5", "sub/big": os.urandom(1 << 20) * 20}
    for name, data in files.items():
        with open(os.path.join(at, name), "wb") as f:
            f.write(data)
    os.symlink("a", os.path.join(at, "link"))
    os.symlink("/etc/passwd", os.path.join(at, "absolute"))
    os.symlink("nowhere", os.path.join(at, "dangling"))
    os.link(os.path.join(at, "a"), os.path.join(at, "hard"))
    os.chmod(os.path.join(at, "sub", "run"), 0o755)
    os.chmod(os.path.join(at, "a"), 0o600)
    os.utime(os.path.join(at, "a"), (1500000000, 1500000000))
    os.chmod(os.path.join(at, "sub", "deep"), 0o555)
    os.chmod(os.path.join(at, "sub"), 0o711)
    os.mkfifo(os.path.join(at, "fifo"))


def facts_of(at):
    found = {}
    for folder, folders, files in os.walk(at):
        for name in folders + files:
            path = os.path.join(folder, name)
            s = os.lstat(path)
            if stat.S_ISFIFO(s.st_mode):
                continue
            what = os.readlink(path) if stat.S_ISLNK(s.st_mode) else None
            if stat.S_ISREG(s.st_mode):
                with open(path, "rb") as f:
                    what = (hashlib.sha256(f.read()).hexdigest(), int(s.st_mtime))
            found[os.path.relpath(path, at)] = (s.st_mode, what)
    return found


def test_cp(d):
    box = cay(d, "create", "--disk", "200m").strip()
    here = tempfile.mkdtemp(prefix="cay-cp-")
    tree, back = os.path.join(here, "tree"), os.path.join(here, "back")
    make_tree(tree)
    want = facts_of(tree)
    cay(d, "cp", tree, f"{box}:/tmp")
    assert "1 special file left out" in d.said, d.said
    assert cay(d, "exec", box, "cat", "/tmp/tree/odd\nna\tme") == "1"
    cay(d, "cp", f"{box}:/tmp/tree", back)
    assert facts_of(back) == want, set(facts_of(back).items()) ^ set(want.items())
    cay(d, "cp", f"{box}:/tmp/tree/sub/", here)  # below a folder that is there
    assert os.path.isdir(os.path.join(here, "sub", "deep"))
    cay(d, "cp", os.path.join(tree, "a"), f"{box}:/tmp/new name")  # under another name
    assert cay(d, "exec", box, "cat", "/tmp/new name") == "hi\n"
    cay(d, "cp", f"{box}:/tmp/new name", here)
    with open(os.path.join(here, "new name"), "rb") as f:
        assert f.read() == b"hi\n"
    cay(d, "cp", os.path.join(tree, "a"), f"{box}:relative")  # below the workspace
    assert cay(d, "exec", box, "cat", "/workspace/relative") == "hi\n"
    archive = cay(d, "cp", f"{box}:/tmp/tree/sub", "-", raw=True)
    assert archive[:2] == b"./" and len(archive) > 20 << 20
    cay(d, "exec", box, "mkdir", "/tmp/unpacked")
    cay(d, "cp", "-", f"{box}:/tmp/unpacked", input=archive)
    assert cay(d, "exec", box, "cat", "/tmp/unpacked/run") == "#!/bin/sh\n"
    for words, told in ((("cp", f"{box}:/nothing", here), "/nothing"), (("cp", os.path.join(here, "nothing"), f"{box}:/tmp"), "nothing"),
                        (("cp", tree, "nobody:/tmp"), "does not exist"), (("cp", f"{box}:/tmp/tree", "/nowhere/at/all"), "/nowhere/at"),
                        (("cp", tree, f"{box}:/tmp/tree/a"), "not a folder")):
        cay(d, *words, expect=125)
        assert told in d.said, (words, d.said)
    cay(d, "cp", "a", "b", expect=2)
    os.chmod(os.path.join(tree, "sub", "deep"), 0o755)
    shutil.rmtree(here)
    cay(d, "rm", box)


def test_progress(d):
    """A copy that takes its time says how far it is, on a terminal alone, and leaves the line empty."""
    box = cay(d, "create").strip()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in ("first", "second"):
            info = tarfile.TarInfo(name)
            info.size = 1 << 20
            tar.addfile(info, io.BytesIO(bytes(info.size)))
    near, far = pty.openpty()
    p = subprocess.Popen([CAY, "cp", "-", f"{box}:/tmp"], bufsize=0, stdin=subprocess.PIPE, stderr=far, env=environment(d))
    os.close(far)
    sent, seen = 0, b""
    while not seen and sent < 1 << 20:  # nothing is shown of what is done in half a second: little by little, until it is
        sent += p.stdin.write(packed.getvalue()[sent:sent + 1024])
        if select.select([near], [], [], 0.05)[0]:
            seen = os.read(near, 65536)
    with p.stdin:
        while sent < len(packed.getvalue()):
            sent += p.stdin.write(packed.getvalue()[sent:])
    assert p.wait(PATIENCE_S) == 0
    with contextlib.suppress(OSError):
        while True:
            seen += os.read(near, 65536)
    os.close(near)
    assert re.search(rb"\d[KM]  .*/s", seen) and seen.endswith(b"\r\x1b[K"), seen
    assert cay(d, "exec", box, "stat", "-c", "%s", "/tmp/second").strip() == str(1 << 20)
    cay(d, "cp", "-", f"{box}:/tmp", input=packed.getvalue())
    assert d.said == ""
    cay(d, "rm", box)


def test_cp_is_not_fooled(d):
    """A box whose tree changes under the packing cannot make cay write through a link of ours."""
    box = cay(d, "create").strip()
    here = tempfile.mkdtemp(prefix="cay-cp-")
    outside = os.path.join(here, "outside")
    os.mkdir(outside)
    os.mkdir(os.path.join(here, "copy"))
    os.symlink(outside, os.path.join(here, "copy", "sub"))
    cay(d, "exec", box, "mkdir -p /tmp/copy/sub && echo evil >/tmp/copy/sub/file && ln -s /etc /tmp/copy/etc")
    cay(d, "cp", f"{box}:/tmp/copy", here, expect=125)
    assert os.listdir(outside) == [], os.listdir(outside)
    os.unlink(os.path.join(here, "copy", "sub"))
    os.symlink(os.path.join(outside, "victim"), os.path.join(here, "file"))
    cay(d, "cp", f"{box}:/tmp/copy/sub/file", os.path.join(here, "file"))  # a link in the way is replaced, not written through
    assert not os.path.islink(os.path.join(here, "file")) and os.listdir(outside) == []
    shutil.rmtree(here)
    cay(d, "rm", box)


def test_workspace(d):
    """A folder goes along as a descriptor over the socket; over TCP its path has to be one that the daemon lets name."""
    folder = tempfile.mkdtemp(prefix="cay-ws-")
    os.chmod(folder, 0o777)
    with open(os.path.join(folder, "note"), "w", encoding="utf-8") as f:
        f.write("from here\n")
    box = cay(d, "create", "--workspace", f"{folder}:ro").strip()
    assert cay(d, "exec", box, "cat", "note") == "from here\n"
    assert cay_json(d, "get", box)["workspace"]["mode"] == "ro"
    cay(d, "create", "--workspace", os.path.join(folder, "nothing"), expect=2)
    cay(d, "create", "--workspace", folder, expect=125,
        env={"CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_TOKEN": d.token})
    cay(d, "rm", box)
    shutil.rmtree(folder)


def test_reaching(d):
    token = os.path.join(d.folder, "token")
    with open(token, "w", encoding="utf-8") as f:
        f.write(d.token + "\n")
    url = f"http://127.0.0.1:{d.port}"
    box = cay(d, "create", "--url", url, "--token-file", token).strip()
    for env in ({"CAY_URL": url, "CAY_TOKEN": d.token}, {"SANDBOX_SERVICE_URL": url + "/", "CAY_TOKEN_FILE": token},
                {"CAY_URL": f"unix:{d.socket}"}):
        assert box in cay(d, "ls", env=env) or "unix" in env["CAY_URL"], env
    assert cay(d, "exec", box, "cat", input=b"over tcp", env={"CAY_URL": url, "CAY_TOKEN": d.token}) == "over tcp"
    cay(d, "ls", "--url", url, expect=125)
    assert "cay token" in d.said and "--token-file" in d.said, d.said
    cay(d, "ls", "--data", "/nowhere", expect=125)
    assert "/nowhere/cay.sock" in d.said and "cay serve" in d.said, d.said
    cay(d, "ls", "--url", "ftp://x", expect=2)
    cay(d, "ls", "--url", "http://127.0.0.1:1", expect=125)
    cay(d, "ls", "--lable", "x", expect=2)
    assert "--label" in d.said
    cay(d, "create", "--memory", "1", expect=2)
    assert "memory" in d.said, d.said
    cay(d, "rm", box, env={"CAY_URL": url, "CAY_TOKEN": d.token})


class TlsProxy:
    """Speaks TLS for a daemon: each connection is handed on to its TCP address."""

    def __init__(self, port, folder):
        self.cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=proxy", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.cert],
                       check=True, capture_output=True, timeout=PATIENCE_S)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, key)
        self.context, self.to = context, port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def accept(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(raw,), daemon=True).start()

    def serve(self, raw):
        with contextlib.suppress(OSError):
            raw.settimeout(PATIENCE_S)
            with self.context.wrap_socket(raw, server_side=True) as near, socket.create_connection(("127.0.0.1", self.to)) as far:
                near.setblocking(False)
                while True:
                    if not near.pending():
                        select.select([near, far], [], [], PATIENCE_S)
                    with contextlib.suppress(ssl.SSLWantReadError):
                        piece = near.recv(65536)
                        if not piece:
                            return
                        far.sendall(piece)
                    if select.select([far], [], [], 0)[0]:
                        piece = far.recv(65536)
                        if not piece:
                            return
                        near.settimeout(PATIENCE_S)
                        near.sendall(piece)
                        near.setblocking(False)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.accepting.join()  # one that was stopped would accept again by the descriptor's number, which is another's then
        self.listener.close()


def test_https(d):
    folder = tempfile.mkdtemp(prefix="cay-tls-")
    proxy = TlsProxy(d.port, folder)
    env = {"CAY_URL": f"https://127.0.0.1:{proxy.port}", "CAY_TOKEN": d.token, "CAY_CA_FILE": proxy.cert}
    box = cay(d, "create", env=env).strip()
    data = os.urandom(1 << 20) * 3
    assert cay(d, "exec", box, "sha256sum", input=data, env=env).split()[0] == hashlib.sha256(data).hexdigest()
    assert len(cay(d, "exec", box, "head", "-c", "3000000", "/dev/urandom", env=env, raw=True)) == 3000000
    cay(d, "exec", box, "sh", "-c", "exit 5", env=env, expect=5)
    cay(d, "rm", box, env=env)
    del env["CAY_CA_FILE"]  # a certificate that nobody vouches for
    cay(d, "ls", env=env, expect=125)
    assert d.said.count("not to be trusted") == 1, d.said
    env.update(CAY_CA_FILE=proxy.cert, CAY_URL=f"https://localhost:{proxy.port}")  # of another name
    cay(d, "ls", env=env, expect=125)
    assert d.said.count("not to be trusted") == 1, d.said
    cay(d, "ls", env={**env, "CAY_URL": f"https://127.0.0.1:{d.port}"}, expect=125)  # speaks no TLS
    proxy.close()
    shutil.rmtree(folder)


REGISTRY = """containers:
  risky:
    description: "Deploys things"
    host: true
    triggers: ["ship it", "please ship it"]
    security: {needs_confirm: true}
  away:
    image: "nobody/has:this"
    engine: docker
    triggers: ["run far away"]
"""


class RegistryDaemon(Daemon):
    """A daemon with templates of its own."""

    def __init__(self):
        self.registry = tempfile.mkdtemp(prefix="cay-registry-")
        os.chmod(self.registry, 0o755)
        path = os.path.join(self.registry, "registry.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(REGISTRY)
        super().__init__("--registry", path)

    def __exit__(self, *what):
        shutil.rmtree(self.registry)
        return super().__exit__(*what)


def test_templates(_):
    with RegistryDaemon() as d:
        # A confirmation: by a person, by an option, or not at all.
        cay(d, "create", "risky", expect=125)
        assert "'risky' needs a confirmation" in d.said and "--confirm" in d.said and "cay template risky" in d.said, d.said
        t = Terminal(d, "create", "risky", "--workspace", d.registry)
        t.expect(rb"description +Deploys things")
        t.expect(rb"The sandbox gets the folder .*cay-registry")
        t.expect(rb"\[y/N\] ")
        t.type(b"n\r")
        t.expect(rb"not confirmed; nothing was created")
        assert t.end() == 125 and cay_json(d, "ls")["sandboxes"] == []
        t = Terminal(d, "create", "risky", "--name", "asked")
        t.expect(rb"\[y/N\] ")
        t.type(b"y\r")
        t.expect(rb"\n[a-z2-7]{28}\r")
        assert t.end() == 0
        cay(d, "create", "risky", "--confirm", "--name", "told")
        assert [b["name"] for b in cay_json(d, "ls")["sandboxes"]] == ["asked", "told"]
        cay(d, "rm", "asked", "told")
        # What a text means, and why.
        assert cay(d, "template", "--task", "now PLEASE ship it!") == 'risky: the trigger "please ship it" is in the text\nneeds a confirmation\n'
        got = cay_json(d, "template", "--task", "run far away")
        assert got["template"] == "away" and got["trigger"] == "run far away" and not got["available"] and got["why"], got
        assert "not available here: " in cay(d, "template", "--task", "run far away")
        assert cay(d, "template", "--task", "nothing", expect=1) == "" and "contains no trigger" in d.said
        assert cay_json(d, "template", "--task", "nothing", expect=1)["template"] is None
        cay(d, "template", "--task", "x", "risky", expect=2)
        assert re.search(r"^confirmation +yes$", cay(d, "template", "risky"), re.M)
        for words in (("template", "nope"), ("create", "nope")):
            cay(d, *words, expect=125)
            assert d.said.startswith(f"cay {words[0]}: ") and "'nope' does not exist; `cay template` lists them" in d.said, d.said
        assert cay(d, "completion", "templates").split() == ["risky", "away"]


def test_words_of_the_command_line(d):
    """What the daemon does not take is called as it was given here."""
    box = cay(d, "create").strip()
    for words, told in ((("create", "--memory", "1"), "--memory: "), (("create", "--timeout", "x"), "--timeout: "),
                        (("create", "--label", "=x"), "--label: "), (("extend", box, "x"), "TIMEOUT: "),
                        (("exec", "--cpu-time", "x", box, "true"), "--cpu-time: "), (("exec", "-w", "x" * 5000, box, "true"), "--workdir: "),
                        (("ls", "--limit", "100000"), "--limit: ")):
        cay(d, *words, expect=2)
        assert d.said.startswith(f"cay {words[0]}: {told}"), (words, d.said)
    cay(d, "extend", box, expect=2)
    assert "TIMEOUT: give a lifetime, an idle limit, or both" in d.said, d.said
    cay(d, "ls", "--bogus", expect=2)
    assert "`cay ls --help`" in d.said, d.said
    for verb in ("exec", "browser"):
        t = Terminal(d, "help", verb, cols=60)  # help fits the terminal
        t.expect(rb"usage: ")
        for _ in range(50):
            if t.read(0.1) == b"":
                break
        assert t.end() == 0 and max(len(line) for line in t.seen.decode().replace("\r", "").split("\n")) <= 60, t.seen
    shown = cay(d, "help", "browser")  # verbs of two words are found by the first, and have help of their own
    assert "\n  browser click         Clicks an element\n" in shown and "`cay help browser VERB`" in shown, shown
    assert cay(d, "help", "browser", "click") == cay(d, "browser", "click", "--help") and "SANDBOX [TARGET]" in cay(d, "help", "browser", "click")
    assert "VERB`" not in cay(d, "help", "exec")
    cay(d, "rm", box)


def test_starting(d):
    """A daemon that listens a moment later, or says that it is starting, is waited for; one that is not there is not."""
    folder = tempfile.mkdtemp(prefix="cay-late-")
    refusal = b'{"error":{"code":"unavailable","message":"the daemon is starting; wait a moment","reason":"retry"}}'
    answer = b'{"sandboxes":[],"next":null}'
    asked = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(folder, "cay.sock"))
    listener.listen()
    listener.settimeout(PATIENCE_S)

    def serve():
        for status, body in ((b"503 x", refusal), (b"503 x", refusal), (b"200 OK", answer)):
            with listener.accept()[0] as c:
                asked.append(raw_request(c))
                c.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    thread = threading.Thread(target=serve)
    thread.start()
    # Nobody listens at its first two knocks: that is a tracer's answer, so that the moment is not one of luck.
    late = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=connect", "-e", "inject=connect:error=ECONNREFUSED:when=1..2"]
    done = subprocess.run([*(late if shutil.which("strace") else []), CAY, "ls", "--json", "--data", folder], capture_output=True,
                          timeout=PATIENCE_S, stdin=subprocess.DEVNULL, env=environment(d, ASAN_OPTIONS="detect_leaks=0"))
    assert done.returncode == 0 and done.stdout.strip() == answer, done
    thread.join(PATIENCE_S)
    listener.close()
    assert len(asked) == 3
    cay(d, "ls", "--data", folder, expect=125)  # nobody listens any more
    assert "no daemon answers" in d.said, d.said
    shutil.rmtree(folder)


def test_broken_off(d):
    """A daemon that dies before it has answered: what was only asked is asked again, what was to be done is not."""
    with daemon_by_hand() as (folder, listener):
        p = subprocess.Popen([CAY, "ls", "--json", "--data", folder], stdout=subprocess.PIPE, env=environment(d))
        for half in (b"", b"HTTP/1.1 20"):
            with listener.accept()[0] as c:
                raw_request(c)
                c.sendall(half)
        with listener.accept()[0] as c:
            raw_request(c)
            answer(c, body=b'{"sandboxes":[],"next":null}')
        assert p.communicate(timeout=PATIENCE_S)[0].strip() == b'{"sandboxes":[],"next":null}' and p.returncode == 0
        p = subprocess.Popen([CAY, "rm", "--data", folder, "box"], stderr=subprocess.PIPE, env=environment(d))
        with listener.accept()[0] as c:
            assert raw_request(c)[0].startswith(b"DELETE ")
        assert b"closed the connection" in p.communicate(timeout=PATIENCE_S)[1] and p.returncode == 125
        assert not select.select([listener], [], [], 0)[0], "it was asked again"


def test_settings(d):
    """For programs too; secrets are never told."""
    got = json.loads(cay(d, "config", "--json", "--max-sandboxes", "7", env={"SANDBOX_TOKEN_SECRET": "a secret of mine"}))
    assert got["max_sandboxes"] == {"value": "7", "from": "--max-sandboxes"}, got["max_sandboxes"]
    assert got["port"] == {"value": "8888", "from": "default"} and got["token_secret"] == {"is_set": True, "from": "SANDBOX_TOKEN_SECRET"}, got
    assert "a secret of mine" not in json.dumps(got) and "listen" not in got
    assert cay(d, "version").split()[1] == cay_json(d, "version")["version"]


def test_bench(d):
    got = json.loads(cay(d, "bench", "--json", "--rounds", "2", "--at-once", "3", "--time", "10m"))
    rows = {r["name"]: r for r in got["rows"]}
    for name in ("spawn", "run", "life", "create", "first_exec", "destroy", "exec", "file_in", "file_out", "at_once"):
        assert rows[name]["count"] == 2 and 0 < rows[name]["p50_us"] <= rows[name]["p90_us"] <= rows[name]["p99_us"], got
    assert got["rounds"] == 2 and got["at_once"] == 3 and "--docker-image" in got["left_out"]["docker"], got
    assert cay_json(d, "ls")["sandboxes"] == []
    box = cay(d, "create").strip()  # with one of somebody's there is no room for ten more: told, and nothing is left of the nine
    out = cay(d, "bench", "--rounds", "1")
    assert "P50" in out and "at once" not in out and "left out: at_once: " in d.said, (out, d.said)
    assert [b["sandbox_id"] for b in cay_json(d, "ls")["sandboxes"]] == [box]
    cay(d, "rm", box)
    out = cay(d, "bench", "--rounds", "1", env={"CAY_DATA": "/nowhere"})
    assert "cay run" in out and "daemon:" not in out and "no daemon answers" in d.said and "cay serve" in d.said, (out, d.said)
    cay(d, "bench", "--data", "/nowhere", expect=125)  # one that was named has to be there
    p = subprocess.Popen([CAY, "bench", "--rounds", "1000", "--time", "10m"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(d))
    wait_for("its sandboxes", lambda: len(cay_json(d, "ls", "--label", "made-by=cay-bench")["sandboxes"]) > 3)
    p.send_signal(signal.SIGINT)
    out, said = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == 130, (p.returncode, out, said)
    assert cay_json(d, "ls")["sandboxes"] == []
    # Docker runs what is here, without a network, and fetches nothing.
    folder = tempfile.mkdtemp(prefix="cay-docker-")
    with open(os.path.join(folder, "docker"), "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\necho "$@" >>{folder}/said\n')
    os.chmod(os.path.join(folder, "docker"), 0o755)
    got = json.loads(cay(d, "bench", "--json", "--rounds", "2", "--docker-image", "an/image", "--at-once", "1", "--time", "10m",
                         env={"PATH": folder + ":" + os.environ["PATH"]}))
    assert [r["count"] for r in got["rows"] if r["name"] == "docker"] == [2] and "docker" not in got["left_out"], got
    with open(os.path.join(folder, "said"), encoding="utf-8") as f:
        said = f.read().splitlines()
    assert len(said) == 3 and all("--pull never --network none" in line and line.endswith("an/image /bin/true") for line in said), said
    shutil.rmtree(folder)
    for words in (("--rounds", "0"), ("--time", "1h"), ("--at-once", "65"), ("more",)):
        cay(d, "bench", *words, expect=2)


def test_api(d):
    box = json.loads(cay(d, "api", "sandbox_create", "--name", "by-api", "--limits.memory", "64m", "--labels", "a=1", "--labels", "b=2"))
    assert box["labels"] == {"a": "1", "b": "2"} and box["limits"]["memory_bytes"] == 64 << 20, box
    cay(d, "api", "file_write", "--id", "by-api", "--path", "/tmp/x", input=b"bytes \xff\0")
    assert cay(d, "api", "file_read", "--id", "by-api", "--path", "/tmp/x", raw=True) == b"bytes \xff\0"
    assert json.loads(cay(d, "api", "exec_run", "--id", "by-api", "--command", "echo", "--command", "x y"))["stdout"] == "x y\n"
    lines = cay(d, "api", "exec_run", "--id", "by-api", "--command", "true", "--stream").splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["started", "exited"]
    cay(d, "api", "sandbox_destroy", "--id", "by-api")
    cay(d, "api", "sandbox_get", "--id", "by-api", expect=125)
    cay(d, "api", "sandbox_gte", expect=2)
    assert "sandbox_get" in d.said
    cay(d, "api", "sandbox_get", expect=2)
    cay(d, "api", "sandbox_list", "--limit", "many", expect=2)


def test_events_follow(d):
    p = subprocess.Popen([CAY, "events", "--follow", "--json"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(d))
    box = cay(d, "create").strip()
    cay(d, "rm", box)
    kinds = []
    while "sandbox_destroyed" not in kinds:
        e = json.loads(p.stdout.readline())
        kinds += [e["kind"]] if e["sandbox_id"] == box else []
    assert kinds[0] == "sandbox_created", kinds
    p.terminate()
    p.wait(PATIENCE_S)
    p.stdout.close()


def test_daemon_restarted_under_exec(d):
    """The front is killed in the middle of an exec: the session goes on at its cursor and nothing is lost."""
    box = cay(d, "create").strip()
    p = subprocess.Popen([CAY, "exec", box, "sh", "-c", "i=0; while [ $i -lt 400 ]; do echo $i; i=$((i+1)); sleep 0.005; done; exit 6"],
                         bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(d))
    first = [p.stdout.readline() for _ in range(20)]  # no more than that: communicate() knows nothing of what a buffer has read ahead
    os.kill(d.child("cay-front"), signal.SIGKILL)
    rest, said = p.communicate(timeout=PATIENCE_S)
    assert b"".join(first) + rest == b"".join(b"%d\n" % i for i in range(400)), (len(rest), said)
    assert p.returncode == 6, (p.returncode, said)
    wait_for("the daemon", lambda: subprocess.run([CAY, "ls"], env=environment(d), capture_output=True, timeout=PATIENCE_S).returncode == 0)
    cay(d, "rm", box)


def test_daemon_restarted_under_shell(d):
    """What is typed goes to the next front, over another connection."""
    box = cay(d, "create").strip()
    t = Terminal(d, "shell", box, "sh", "-c", "PS1='> ' exec sh")
    t.expect(rb"> ")
    t.type(b"echo fir''st\r")
    t.expect(rb"first\r\n> ")
    front = d.child("cay-front")
    os.kill(front, signal.SIGKILL)
    wait_for("the front's end", lambda: not is_alive(front))
    t.type(b"echo sec''ond\r")
    t.expect(rb"second\r\n> ")
    t.type(b"exit 8\r")
    assert t.end() == 8
    cay(d, "rm", box)


def test_keys_while_paused(d):
    """What nobody takes is lost; what is typed behind it is not."""
    box = cay(d, "create").strip()
    t = Terminal(d, "shell", box, "sh", "-c", "PS1='> ' exec sh")
    t.expect(rb"> ")
    cay(d, "pause", box)
    t.type(b" ")
    cay(d, "resume", box)
    t.type(b"echo al''ive\r")
    t.expect(rb"alive\r\n> ")
    t.type(b"exit 3\r")
    assert t.end() == 3
    cay(d, "rm", box)


COMPLETE = """
. {script}
complete_line() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cay; printf '%s\\n' "${{COMPREPLY[@]}}"; echo .; }}
complete_line {cay} e
complete_line {cay} exec --work
complete_line {cay} rm {part}
complete_line {cay} api sandbox_ext
complete_line {cay} api sandbox_extend --idle
complete_line {cay} cp {part}
complete_line {cay} create pyt
"""


def test_completion_bash(d):
    box = cay(d, "create", "--name", "to-complete").strip()
    script = os.path.join(SOURCE, "packaging", "completions", "cay.bash")
    out = subprocess.run(["bash", "--norc", "-c", COMPLETE.format(script=script, cay=CAY, part="to-c")], env=environment(d),
                         capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    lists = [set(part.split()) for part in out.stdout.split(".\n")]
    assert lists[0] == {"exec", "extend", "events"}, (lists, out.stderr)
    assert lists[1] == {"--workdir"} and lists[2] == {"to-complete"} and lists[3] == {"sandbox_extend"}, (lists, out.stderr)
    assert lists[4] == {"--idle-timeout"} and lists[5] == {"to-complete:"} and lists[6] == {"python"}, (lists, out.stderr)
    cay(d, "rm", box)


def test_completion_zsh(d):
    """In a real zsh on a terminal, when there is one."""
    if not shutil.which("zsh"):
        return
    folder = tempfile.mkdtemp(prefix="cay-zsh-")
    shutil.copy(os.path.join(SOURCE, "packaging", "completions", "_cay"), folder)
    os.symlink(CAY, os.path.join(folder, "cay"))
    env = environment(d, PATH=folder + ":" + os.environ["PATH"], HOME=folder, PS1="> ")
    pid, fd = pty.fork()
    if pid == 0:
        try:
            os.execvpe("zsh", ["zsh", "-f"], env)
        finally:
            os._exit(99)
    t = Terminal.__new__(Terminal)
    t.pid, t.fd, t.seen, t.status = pid, fd, b"", None
    t.expect(rb"> ")
    t.type(f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -d {folder}/dump; PS1='rea''dy> '\r".encode())
    t.expect(rb"ready> ")
    t.type(b"cay exte\t")
    t.expect(rb"cay extend")
    # Control-U clears the line as a key; Control-C is a signal, and zsh loses one that comes while it completes.
    t.type(b"\x15cay exec --workd\t")
    t.expect(rb"--workdir")
    t.type(b"\x15exit 0\r")
    assert t.end() == 0
    shutil.rmtree(folder)


def test_token_stopped_and_continued(_):
    """Control-Z and fg while it waits for the daemon's answer: it waits on."""
    def state(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(") ")[2][0]

    body = b'{"link":"http://127.0.0.1/#login=word"}'
    with tempfile.TemporaryDirectory(prefix="cay-token-") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.join(folder, "cay.sock"))
        listener.listen(1)
        with subprocess.Popen([CAY, "token", "--login", "--data", folder], stdout=subprocess.PIPE, text=True) as p:
            with listener.accept()[0] as c:
                whole_request(c)
                wait_for("the wait for an answer", lambda: state(p.pid) == "S")
                p.send_signal(signal.SIGSTOP)
                wait_for("a stop", lambda: state(p.pid) == "T")
                p.send_signal(signal.SIGCONT)
                wait_for("the same wait, or the end", lambda: state(p.pid) in "SZ")
                c.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            assert p.communicate(timeout=PATIENCE_S)[0] == "http://127.0.0.1/#login=word\n" and p.returncode == 0, p


def test_terminal_obeys_nothing_from_inside(d):
    """Control characters out of a sandbox are shown to a terminal, not obeyed, unless --raw is given; files and pipes get the bytes."""
    bad = b"\x1b]0;owned\x07\x1b[2J\xc2\x9b2J\rx\n"
    shown = b"\\x1b]0;owned\\x07\\x1b[2J\\x9b2J\\rx\r\n"
    print_it = r"printf '\033]0;owned\007\033[2J\302\2332J\rx\n'"
    box = cay(d, "create").strip()
    cay(d, "exec", box, print_it + " > /workspace/f")
    for words in (("exec", box, print_it), ("logs", box), ("cp", box + ":/workspace/f", "-"), ("run", "--", "sh", "-c", print_it)):
        assert bad in cay(d, *words, raw=True), words  # cp writes an archive around it
        t = Terminal(d, *words)
        t.end()
        assert shown in t.seen and b"\x07" not in t.seen and b"\x1b]" not in t.seen, (words, t.seen)
        t = Terminal(d, words[0], "--raw", *words[1:])
        t.end()
        assert bad.replace(b"\n", b"\r\n") in t.seen, (words, t.seen)
    t = Terminal(d, "exec", box, print_it + " >&2; exit 3")  # standard error too
    assert t.end() == 3 and shown in t.seen, t.seen
    t = Terminal(d, "exec", "--tty", box, print_it)  # a terminal inside is meant to be obeyed
    t.end()
    assert b"\x1b]0;owned\x07" in t.seen, t.seen
    cay(d, "rm", box)


def test_terminal_obeys_no_json(d):
    """JSON may have what a terminal obeys (C1), or hides, in its texts as it is: a terminal gets it as escapes, others get the bytes."""
    box = cay(d, "create", "--record").strip()
    print_it = r"printf 'a\302\2332Jb\342\200\256c\177d'"
    raw, shown = "a\u009b2Jb\u202ec\u007fd".encode(), rb"a\u009b2Jb\u202ec\u007fd"
    t = Terminal(d, "exec", "--tty", box, print_it + "; sleep 0.1")
    t.end()
    (x,) = json.loads(cay(d, "recording", box, "--json"))["terminals"]
    cay(d, "create", "--name", "odd", "--label", "x=" + raw.decode(), raw=True)
    for words in (("exec", "--json", box, print_it), ("cast", box, x["exec_id"]), ("ls", "--json")):
        assert raw in cay(d, *words, raw=True), words
        t = Terminal(d, *words)
        t.end()
        assert b"\xc2\x9b" not in t.seen and b"\x7f" not in t.seen and b"\xe2\x80\xae" not in t.seen, (words, t.seen)
        if words[0] != "cast":
            assert shown in t.seen, (words, t.seen)
    cay(d, "rm", box)
    cay(d, "rm", "odd")


def test_little_to_put_right_at_the_start(_):
    """cay run starts often: no library, and no tables of pointers that the loader would have to put right before anything is done."""
    head = subprocess.run(["readelf", "-WlS", CAY], capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
    if "INTERP" in head:
        return  # a build for tests alone; what is installed is static
    size = re.search(r"\.data\.rel\.ro\s+PROGBITS\s+\w+\s+\w+\s+(\w+)", head)
    assert "DYN" in head and int(size.group(1), 16) <= 18432, head
    assert "NEEDED" not in subprocess.run(["readelf", "-d", CAY], capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout


def test_manual_is_current(_):
    """The page's verbs and options are those of this build (tools/update_man writes them)."""
    done = subprocess.run([os.path.join(SOURCE, "tools", "update_man"), "--check", CAY, os.path.join(SOURCE, "man", "cay.1")],
                          capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr


def main():
    with Daemon() as d:
        run_tests(dict(sorted(globals().items())), d)


if __name__ == "__main__":
    main()
