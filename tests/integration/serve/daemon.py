# SPDX-License-Identifier: Apache-2.0
"""A daemon in a folder of its own on a free port, and a small client: for the tests of this folder."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["CAY_BUILD_DIR"]
CAY = os.path.join(BUILD, "cay")
PATIENCE_S = 60


def wait_for(what, check):
    """Calls until it gives something true; a bounded number of times."""
    for _ in range(PATIENCE_S * 20):
        found = check()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


def run_tests(tests, *what, own_box=False):
    """Runs the tests that the command line names, or all, with `what` as arguments. tests: a list, or the globals of a file: its test_… in their order.
own_box: each gets a sandbox of its own too, of the daemon that is the first argument."""
    if isinstance(tests, dict):
        tests = [t for name, t in tests.items() if name.startswith("test_") and callable(t)]
    names = sys.argv[1:]
    chosen = [t for t in tests if not names or t.__name__ in names or t.__name__.removeprefix("test_") in names]
    assert chosen, f"no test of {names}"
    began = time.monotonic()
    for t in chosen:
        print(f"{t.__name__} …", flush=True)
        at = time.monotonic()
        if own_box:
            box = what[0].make(memory_limit="512m", timeout="10m")
            t(*what, box)
            what[0].must(200, "DELETE", f"/api/sandboxes/{box}")
        else:
            t(*what)
        print(f"  {time.monotonic() - at:.1f} s", flush=True)
    print(f"{len(chosen)} passed in {time.monotonic() - began:.1f} s")


def skip_without(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"skipped: {program} is not installed (scripts/bootstrap check)")
            sys.exit(77)


@contextlib.contextmanager
def small_disk(size):
    """A file system of that size, mounted, with a folder d for a daemon."""
    with tempfile.TemporaryDirectory(prefix="cay-disk-") as folder:
        image, disk = os.path.join(folder, "image"), os.path.join(folder, "disk")
        with open(image, "wb") as f:
            f.truncate(size)
        os.mkdir(disk)
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, disk], check=True)
        try:
            os.chmod(disk, 0o755)
            os.mkdir(os.path.join(disk, "d"))
            yield disk
        finally:
            wait_for("the disk", lambda: subprocess.run(["umount", disk], stderr=subprocess.DEVNULL, check=False).returncode == 0)


def ready_again(d):
    """Waits until a front answers, also after the last one died."""
    def ready():
        try:
            return d.ask("GET", "/api/health/ready", token=None).status == 200
        except OSError:
            return False
    wait_for("a front that is ready", ready)


def agent_of(process):
    """The program that hears the daemon, below the one that was started as `cay agent`, which keeps it."""
    return next(pid for pid, name in children(process.pid) if name == "cay-agent")


def children(pid):
    """(pid, name) of a process's children."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                text = f.read()
            comm, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
            if int(rest[1]) == pid and rest[0] != "Z":
                found.append((int(name), comm))
    return found


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return f.read().rpartition(")")[2].split()[0]


def is_alive(pid):
    """Any thread of it: the first one can be over while another still has its files open. A process that waits only for the
    machine's process 1 to take note of its end is not alive."""
    with contextlib.suppress(OSError):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8", errors="replace") as f:
                    if f.read().rpartition(")")[2].split()[0] != "Z":
                        return True
    return False


def fields_of(response):
    """Fields by name; of one that is there several times the values with commas between them, which means the same."""
    found = {}
    for name, value in response.getheaders():
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    """with Daemon() as d: …; the folder goes with it."""

    def __init__(self, *flags, folder=None, env=None, scheme="http", host="127.0.0.1"):
        self.flags, self.env, self.scheme, self.host = flags, env or {}, scheme, host
        self.own_folder = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="cay-serve-")
        self.process = self.port = self.token = None

    def start(self):
        out = open(os.path.join(self.folder, "out"), "wb")
        err = open(os.path.join(self.folder, "err"), "ab")
        with out, err:
            process = subprocess.Popen(
                [CAY, "serve", "--data", os.path.join(self.folder, "data"), "--listen", "127.0.0.1:0", *self.flags],
                stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=self.environment())
        return self.adopt(process)

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("CAY_", "SANDBOX_")) or k.startswith("CAY_TEST_")}
        env.pop("PORT", None)
        env.pop("HOST", None)
        env.update(self.env)
        return env

    def adopt(self, process):
        """One that was started with its words and its log in this folder's files."""
        self.process = process

        def told():
            with open(os.path.join(self.folder, "out"), encoding="utf-8") as f:
                text = f.read()
            if self.process.poll() is not None:
                raise AssertionError(f"the daemon ended with {self.process.returncode}: {self.log()}")
            return text if "/execute\n" in text else None

        self.told = wait_for("the daemon's words", told)
        self.port = int(self.told.split(f"serves {self.scheme}://{self.host}:")[1].split("/")[0])
        self.token = self.make_token()  # what is printed to a file has none
        self.socket = os.path.join(self.folder, "data", "cay.sock")
        return self

    def log(self):
        with open(os.path.join(self.folder, "err"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def check_log(self):
        """A front that fell over is replaced, so that only the log tells; those that tests kill have signal 9."""
        log = self.log()
        for line in log.splitlines():
            assert "AddressSanitizer" not in line and "runtime error:" not in line, log[-4000:]
            if "the front ended" in line:
                assert "signal=9" in line or "status=0" in line, line

    def stop(self, expect=0):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE_S)
        self.process = None
        assert status == expect, f"exit status {status}, log: {self.log()[-2000:]}"
        self.check_log()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        try:
            self.stop()
        except AssertionError:
            if kind is None:
                raise
        finally:
            if kind is not None:
                print("daemon's log:\n" + self.log()[-4000:])
            if self.process is not None and self.process.poll() is None:
                self.process.kill()
                self.process.wait(PATIENCE_S)
            if self.own_folder:
                shutil.rmtree(self.folder)

    def child(self, name):
        return wait_for(name, lambda: next((p for p, comm in children(self.process.pid) if comm == name), None))

    def cut_power(self):
        """All three end at once, and none learns of another's end: nothing is closed, nothing is written down."""
        keeper, front, warden = self.process.pid, self.child("cay-front"), self.child("cay-warden")
        os.kill(keeper, signal.SIGSTOP)  # or it would start the next front
        wait_for("the keeper to stand still", lambda: state_of(keeper) == "T")
        for pid in (front, warden, keeper):  # the front before the warden, of whose end it would make a note
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        wait_for("their end", lambda: not any(map(is_alive, (front, warden))))

    def make_token(self, *flags):
        return subprocess.run([CAY, "token", "--data", os.path.join(self.folder, "data"), *flags], check=True, env=self.environment(),
                              capture_output=True, text=True, timeout=PATIENCE_S).stdout.strip()

    def connect(self, unix=False):
        if unix:
            return UnixConnection(self.socket)
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)

    def begin(self, method, path, body=None, token=True, headers=None, unix=False):
        """The response with its body unread, and its connection."""
        c = self.connect(unix)
        h = dict(headers or {})
        if token is True:
            h["Authorization"] = "Bearer " + self.token
        elif token:
            h["Authorization"] = "Bearer " + token
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            h.setdefault("Content-Type", "application/json")
        c.request(method, path, body=body, headers=h)
        return c.getresponse(), c

    def ask(self, method, path, body=None, token=True, headers=None, unix=False):
        r, c = self.begin(method, path, body, token, headers, unix)
        answer = Answer(r.status, fields_of(r), r.read())
        c.close()
        return answer

    def must(self, status, method, path, body=None, **more):
        a = self.ask(method, path, body, **more)
        assert a.status == status, f"{method} {path}: wanted {status}, got {a}"
        return a.json if a.headers.get("Content-Type", "").startswith("application/json") else a.body

    def make(self, **fields):
        return self.must(201, "POST", "/api/sandboxes", fields)["sandbox_id"]

    def start_again(self, box):
        """After something was killed: 503 is the answer while there is no engine, or the kernel still writes the box's files out."""
        def started():
            try:
                a = self.ask("POST", f"/api/sandboxes/{box}/start")
            except (OSError, http.client.HTTPException):
                return False  # the front is replaced
            assert a.status in (200, 503), a
            return a.status == 200

        wait_for("a start", started)

    def run(self, box, command, **fields):
        return self.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": command, **fields})
