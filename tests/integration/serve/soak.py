#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py [--seconds N] [--workers N] [--seed N]: mixed load on a real daemon, then a look at what is left.

Several owners at once create, run, stream, copy files, pause, stop, start, break connections off in the middle, and destroy. Every answer is
compared with what it must be; whatever else happens is an error and fails the run. Memory and descriptors of front and warden are
looked at all along; at the end the sandboxes are destroyed and both must be where they were. `make soak` runs this for ten minutes
inside `around`, which compares the machine before and after."""
import argparse
import collections
import contextlib
import hashlib
import http.client
import json
import os
import random
import statistics
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import PATIENCE_S, Daemon, wait_for  # noqa: E402

BOXES_EACH = 4
JUDGE_MEMORY_FROM_S = 60  # shorter runs are all warm-up
GROWTH_FACTOR, GROWTH_KIB = 1.10, 1024
FDS_SLACK = 2
ACTIONS_FOR_ALL = 1000  # the rarest is one of fifty: with so many it has come
ERRORS_SHOWN = 20


class Unexpected(Exception):
    pass


class Worker(threading.Thread):
    """One client with boxes of its own and a connection that it keeps until it breaks it."""

    def __init__(self, soak, number):
        super().__init__(daemon=True)
        self.soak, self.random = soak, random.Random(soak.seed * 1000 + number)
        self.owner = number % len(soak.tokens)
        self.token = soak.tokens[self.owner]
        self.boxes, self.counts, self.errors = [], collections.Counter(), []
        self.connection = None

    # Requests

    def open(self):
        if self.connection is None:
            self.connection = self.soak.daemon.connect()
        return self.connection

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def begin(self, method, path, body=None):
        headers = {"Authorization": "Bearer " + self.token}
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        for attempt in (1, 2):
            try:
                self.open().request(method, path, body=body, headers=headers)
                return self.connection.getresponse()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                # An idle connection that the server has closed meanwhile: a new one, once.
                self.close()
                if attempt == 2:
                    raise
        return None

    def ask(self, status, method, path, body=None):
        response = self.begin(method, path, body)
        data = response.read()
        if response.status != status:
            raise Unexpected(f"{method} {path}: wanted {status}, got {response.status} {data[:300]!r}")
        is_json = (response.getheader("Content-Type") or "").startswith("application/json")
        return json.loads(data) if is_json else data

    def must(self, is_true, what):
        if not is_true:
            raise Unexpected(what)

    def path(self, box, rest=""):
        return f"/api/sandboxes/{box}{rest}"

    def a_box(self):
        return self.random.choice(self.boxes) if self.boxes else self.do_create()

    # What it does

    def do_create(self):
        if len(self.boxes) >= BOXES_EACH:
            self.do_destroy()
        box = self.ask(201, "POST", "/api/sandboxes", {"labels": {"soak": "1"}, "limits": {"memory": "128m", "disk": "32m"}})
        self.boxes.append(box["sandbox_id"])
        self.soak.made += 1
        return self.boxes[-1]

    def do_destroy(self):
        if self.boxes:
            box = self.boxes.pop(self.random.randrange(len(self.boxes)))
            self.ask(200, "DELETE", self.path(box))
            self.ask(404, "GET", self.path(box))

    def do_exec(self):
        word, code = f"w{self.random.random()}", self.random.randrange(5)
        r = self.ask(200, "POST", self.path(self.a_box(), "/execute"), {"command": f"echo {word}; echo e >&2; exit {code}"})
        self.must((r["exit_code"], r["stdout"], r["stderr"]) == (code, word + "\n", "e\n"), f"exec: {r}")

    def do_stream(self):
        size = self.random.randrange(1, 1 << 20)
        response = self.begin("POST", self.path(self.a_box(), "/execute"),
                              {"command": f"yes soak | head -c {size}", "stream": True})
        out, last = 0, None
        for line in response:
            last = json.loads(line)
            if last["event"] == "stdout":
                out += len(last["text"])
        self.must(response.status == 200 and out == size and last["event"] == "exited" and last["exit_code"] == 0,
                  f"stream: {response.status}, {out} of {size}, {last}")

    def do_files(self):
        box, data = self.a_box(), self.random.randbytes(self.random.randrange(1 << 20))
        path = self.path(box, f"/files?path=f{self.random.randrange(4)}")
        self.ask(200, "PUT", path, data)
        self.must(hashlib.sha256(self.ask(200, "GET", path)).digest() == hashlib.sha256(data).digest(), "files: another content")

    def do_archive(self):
        box = self.a_box()
        self.ask(200, "PUT", self.path(box, "/files?path=tree/a&parents=true"), b"a" * 1000)
        packed = self.ask(200, "GET", self.path(box, "/archive?path=tree"))
        self.ask(200, "POST", self.path(box, "/execute"), {"command": ["mkdir", "-p", "copy"]})
        self.ask(200, "PUT", self.path(box, "/archive?path=copy"), packed)

    def do_background(self):
        box = self.a_box()
        x = self.ask(202, "POST", self.path(box, "/execute"), {"command": "echo on; exec sleep 1000", "background": True})
        one = self.path(box, f"/execs/{x['exec_id']}")
        response = self.begin("GET", one + "/output?from=0")
        for line in response:
            if json.loads(line)["event"] == "stdout":
                break
        self.close()  # goes away in the middle; the command does not
        self.ask(200, "DELETE", one)
        ended = wait_for("its end", lambda: (v := self.ask(200, "GET", one))["status"] == "ended" and v)
        self.must(ended["cause"] == "killed", f"background: {ended}")

    def do_pause(self):
        box = self.a_box()
        self.ask(200, "POST", self.path(box, "/pause"))
        self.ask(409, "POST", self.path(box, "/execute"), {"command": "true"})
        self.ask(200, "POST", self.path(box, "/resume"))

    def do_stop(self):
        box = self.a_box()
        self.ask(200, "POST", self.path(box, "/stop"))
        self.ask(200, "POST", self.path(box, "/start"))
        r = self.ask(200, "POST", self.path(box, "/execute"), {"command": ["echo", "again"]})
        self.must(r["stdout"] == "again\n", f"start: {r}")

    def do_look(self):
        box = self.a_box()
        listed = self.ask(200, "GET", "/api/sandboxes?limit=1000")["sandboxes"]
        self.must(set(self.boxes) <= {b["sandbox_id"] for b in listed}, "list: one of mine is missing")
        self.ask(200, "GET", self.path(box, "/stats"))
        self.ask(200, "GET", self.path(box, "/events?limit=10"))
        others = self.soak.box_of_another(self.owner)
        if others:
            self.ask(404, "GET", self.path(others))
        self.ask(400, "POST", self.path(box, "/execute"), {"command": 7})

    def do_drop(self):
        """Breaks off: a command that is waited for, a stream, an upload, a half-sent head."""
        box, kind, streamed = self.a_box(), self.random.randrange(4), None
        path = self.path(box, "/execute")
        if kind == 0:
            self.open().request("POST", path, json.dumps({"command": ["sleep", "1000"]}), {"Authorization": "Bearer " + self.token})
        elif kind == 1:
            response = self.begin("POST", path, {"command": "yes", "stream": True})
            streamed = json.loads(response.readline())["exec_id"]
            response.read(10000)
        elif kind == 2:
            c = self.open()
            c.putrequest("PUT", self.path(box, "/files?path=half"))
            c.putheader("Authorization", "Bearer " + self.token)
            c.putheader("Content-Length", "1000000")
            c.endheaders(b"x" * 1000)
        else:
            self.close()
            c = self.open()
            c.connect()
            c.sock.sendall(b"GET /api/sandboxes HTTP/1.1\r\nHost: local")
        self.close()
        if streamed:  # a stream can be taken up again, so its command waits
            self.ask(200, "DELETE", self.path(box, f"/execs/{streamed}"))
        wait_for("what was dropped to end", lambda: self.ask(200, "GET", self.path(box))["execs_running"] == 0)

    ACTIONS = (("create", 6), ("exec", 12), ("stream", 4), ("files", 5), ("archive", 2), ("background", 3), ("pause", 3), ("stop", 1),
               ("look", 3), ("drop", 4), ("destroy", 5))

    def run(self):
        names, weights = zip(*self.ACTIONS)
        while not self.soak.is_over():
            name = self.random.choices(names, weights)[0]
            try:
                getattr(self, "do_" + name)()
                self.counts[name] += 1
            except Exception:  # pylint: disable=broad-except
                self.errors.append(f"{name}: {traceback.format_exc(limit=3)}")
                self.close()
                with contextlib.suppress(Exception):
                    for box in list(self.boxes):
                        self.boxes.remove(box)
                        self.begin("DELETE", self.path(box)).read()
                if len(self.errors) >= ERRORS_SHOWN:
                    return
        with contextlib.suppress(Exception):
            self.close()


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def count_fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Soak:
    def __init__(self, daemon, seconds, workers, seed):
        self.daemon, self.seconds, self.seed = daemon, seconds, seed
        self.tokens = [daemon.make_token("--owner", f"soak{i}", "--lifetime", "24h") for i in range(4)]
        self.front, self.warden = daemon.child("cay-front"), daemon.child("cay-warden")
        self.made, self.samples, self.failures = 0, [], []
        self.workers = [Worker(self, i) for i in range(workers)]
        self.until = None

    def is_over(self):
        return time.monotonic() >= self.until

    def box_of_another(self, owner):
        for w in self.workers:
            if w.owner != owner and w.boxes:
                with contextlib.suppress(IndexError):
                    return w.boxes[0]
        return None

    def look(self):
        return {"front": resident_kib(self.front), "warden": resident_kib(self.warden), "front_fds": count_fds(self.front),
                "warden_fds": count_fds(self.warden)}

    def warm_up(self):
        """The first of everything, so that what is allocated once is there before the figures that later ones are compared with."""
        w = Worker(self, 10**6)
        for name, _ in w.ACTIONS:
            getattr(w, "do_" + name)()
        self.clean_up(w)
        w.close()

    def clean_up(self, worker):
        for token in self.tokens:
            worker.token = token
            worker.ask(200, "POST", "/api/sandboxes/cleanup", {"label": "soak"})
            left = worker.ask(200, "GET", "/api/sandboxes")["sandboxes"]
            if left:
                raise Unexpected(f"sandboxes are left: {left}")

    def run(self):
        self.warm_up()
        begin = time.monotonic()
        self.until = begin + self.seconds
        before = wait_for("a quiet front", lambda: self.settled(None))
        print(f"before: {before}", flush=True)
        for w in self.workers:
            w.start()
        while not self.is_over():
            time.sleep(min(max(self.seconds / 40, 0.5), self.until - time.monotonic() if not self.is_over() else 0))
            self.samples.append(self.look())
            if len(self.samples) % 4 == 0:
                print(f"{time.monotonic() - begin:6.0f} s: {self.made} sandboxes, {self.samples[-1]}", flush=True)
        for w in self.workers:
            w.join(PATIENCE_S * 2)
            if w.is_alive():
                self.failures.append("a worker does not end")
        last = Worker(self, 10**6 + 1)
        self.clean_up(last)
        last.close()
        after = wait_for("descriptors to be given back", lambda: self.settled(before))
        self.judge(before, after, time.monotonic() - begin)

    def settled(self, before):
        """What it looks like now; with `before`: only when no more descriptors are open than then."""
        now = self.look()
        if before and any(now[k] > before[k] + FDS_SLACK for k in ("front_fds", "warden_fds")):
            return None
        return now

    def judge(self, before, after, seconds):
        counts = sum((w.counts for w in self.workers), collections.Counter())
        errors = [e for w in self.workers for e in w.errors]
        print(f"after:  {after}")
        print(f"{seconds:.0f} s, {self.made} sandboxes, {sum(counts.values())} actions: {dict(sorted(counts.items()))}")
        for e in errors[:ERRORS_SHOWN]:
            print("error:", e)
        if errors:
            self.failures.append(f"{len(errors)} errors")
        missing = [name for name, _ in Worker.ACTIONS if counts[name] == 0]
        if missing and sum(counts.values()) >= ACTIONS_FOR_ALL:
            self.failures.append(f"never done: {missing}")
        if self.daemon.child("cay-front") != self.front or self.daemon.child("cay-warden") != self.warden:
            self.failures.append("front or warden is another process")
        if self.seconds >= JUDGE_MEMORY_FROM_S:
            self.judge_memory()

    def judge_memory(self):
        quarter = len(self.samples) // 4
        for who in ("front", "warden"):
            early = statistics.median(s[who] for s in self.samples[quarter:2 * quarter])
            late = statistics.median(s[who] for s in self.samples[-quarter:])
            print(f"{who}: median of the second quarter {early} KiB, of the last {late} KiB, at most {max(s[who] for s in self.samples)}")
            if late > early * GROWTH_FACTOR + GROWTH_KIB:
                self.failures.append(f"{who} grows: {early} to {late} KiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    with Daemon("--rate-limit", "0", "--max-sandboxes", "200", "--log-level", "warn") as d:
        soak = Soak(d, a.seconds, a.workers, a.seed)
        soak.run()
    if soak.failures:
        sys.exit("soak: " + "; ".join(soak.failures))
    print("soak: nothing unexpected")


if __name__ == "__main__":
    main()
