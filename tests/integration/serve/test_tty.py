#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The terminal as ttyd's clients speak to it, and the page's files. test_tty.py [NAME…] runs some of them."""
import gzip
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import PATIENCE_S, Daemon, run_tests, wait_for  # noqa: E402
from ws_client import BINARY, Closed, Refused, WebSocket  # noqa: E402

SIZE = {"AuthToken": "", "columns": 91, "rows": 33}


class Tty:
    """What a client of ttyd does: frames as ttyd 1.7.7 has them."""

    def __init__(self, d, box, query="", token=None, first=SIZE, protocol="tty", headers=None):
        self.ws = WebSocket(d.port, f"/tty/{box}/ws{query}", d.token if token is None else token, headers={"Sec-WebSocket-Protocol": protocol, **(headers or {})})
        self.seen, self.titles, self.settings = bytearray(), [], []
        if first is not None:
            self.ws.send(json.dumps(first).encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ws.sock.close()

    def take(self):
        kind, data = self.ws.read()
        assert kind == BINARY, kind
        {b"0": self.seen.extend, b"1": self.titles.append, b"2": self.settings.append}[data[:1]](data[1:])

    def until(self, text):
        looked = 0
        for _ in range(20000):
            if self.seen.find(text, looked) >= 0:
                return self.seen
            looked = max(0, len(self.seen) - len(text))
            self.take()
        raise AssertionError(f"{text!r} never came: {self.seen[-500:]!r}")

    def say(self, text):
        self.ws.send(b"0" + text.encode())

    def end(self):
        for _ in range(20000):
            try:
                self.take()
            except Closed as e:
                return e.code, e.reason
        raise AssertionError("it does not end")


def start(d, box, command, **more):
    return d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": command, "tty": True, "open_stdin": True, "background": True, **more})["exec_id"]


def status(d, box, exec_id):
    return d.must(200, "GET", f"/api/sandboxes/{box}/execs/{exec_id}")


def test_a_clients_own_shell(d):
    box = d.make()
    assert d.must(200, "GET", f"/tty/{box}/token") == {"token": ""}
    with Tty(d, box) as t:
        assert t.ws.fields["sec-websocket-protocol"] == "tty"
        t.say("stty size; echo $TERM\r")
        t.until(b"33 91\r\nxterm-256color")
        assert len(t.titles) == 1 and t.settings == [b"{}"], (t.titles, t.settings)
        t.ws.send(b'1{"columns":120,"rows":40}')
        t.say("stty size\r")
        t.until(b"40 120")
        t.ws.send(b"9 what nobody knows")
        t.ws.send(b'1{"columns":"x"}')
        t.ws.send(b"")
        t.ws.send(json.dumps(SIZE))  # a second one is ignored
        t.say("exit 7\r")
        assert t.end() == (1000, "exit 7")


def test_shell_ends_with_its_client(d):
    box = d.make()
    with Tty(d, box) as t:
        t.say("sleep 1000\r")
        t.until(b"sleep 1000")
        (exec_id,) = [e["exec_id"] for e in d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"]]
    wait_for("the shell's end", lambda: status(d, box, exec_id)["status"] == "ended")


def test_attached_command_outlives_its_client(d):
    box = d.make()
    exec_id = start(d, box, "echo first; read x; echo got-$x; read y; exit 3")
    with Tty(d, box, f"?exec={exec_id}") as t:
        t.until(b"first\r\n")
        at = len(t.seen)
    assert status(d, box, exec_id)["status"] == "running"
    with Tty(d, box, f"?exec={exec_id}&from={at}") as t:
        t.say("again\n")
        t.until(b"got-again")
        assert b"first" not in t.seen, t.seen
        t.say("\n")
        assert t.end() == (1000, "exit 3")


def test_pause_holds_the_command(d):
    box = d.make()
    exec_id = start(d, box, "read x; head -c 20000000 /dev/zero | tr '\\0' z; echo; echo all-over")
    with Tty(d, box, f"?exec={exec_id}") as t:
        t.ws.send(b"2")
        t.say("\n")
        wait_for("output", lambda: status(d, box, exec_id)["stdout_bytes"] > 0)
        t.ws.sock.settimeout(1)
        try:
            while len(t.seen) < 2000000:
                t.take()
        except TimeoutError:
            pass  # nothing moves any more: it is held
        t.ws.sock.settimeout(PATIENCE_S)
        assert len(t.seen) < 1000000, f"{len(t.seen)} bytes came although it was told to pause"
        assert status(d, box, exec_id)["status"] == "running"
        t.ws.send(b"3")
        t.until(b"all-over")
        assert t.seen.count(b"z") == 20000000, t.seen.count(b"z")


def test_long_input_is_taken_whole(d):
    box = d.make()
    exec_id = start(d, box, "stty raw -echo; echo now; head -c 300000 | sha256sum; exit 0")
    with Tty(d, box, f"?exec={exec_id}") as t:
        t.until(b"now")
        data = bytes(97 + i % 26 for i in range(300000))
        t.ws.send(b"0" + data)
        t.until(hashlib.sha256(data).hexdigest().encode())


def test_input_waits_for_a_paused_sandbox(d):
    """Keys and sizes that come while it is paused have their effect when it goes on, and so do those after them."""
    box = d.make()
    exec_id = start(d, box, "stty -echo; echo now; while read x; do echo got-$x $(stty size); done")
    with Tty(d, box, f"?exec={exec_id}") as t:
        t.until(b"now")
        d.must(200, "POST", f"/api/sandboxes/{box}/pause")
        t.say("meanwhile\n")
        t.ws.send(b'1{"columns":77,"rows":22}')
        t.say("also\n")
        d.must(409, "POST", f"/api/sandboxes/{box}/execs/{exec_id}/resize", {"rows": 2, "cols": 2})  # what came before has been heard
        assert b"got" not in t.seen, t.seen
        d.must(200, "POST", f"/api/sandboxes/{box}/resume")
        t.until(b"got-meanwhile")
        t.until(b"got-also")
        t.say("after\n")
        t.until(b"got-after 22 77")
        assert t.seen.count(b"got-") == 3, t.seen


def test_a_shell_has_the_time_that_it_needs(d):
    """The limit of commands is not the shell's; an end says why."""
    box = d.must(201, "POST", "/api/sandboxes", {"limits": {"wall_time": "1s"}})["sandbox_id"]
    assert d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 100"})["cause"] == "wall_time"
    with Tty(d, box) as t:
        t.say("sleep 1.5; echo still-$((40+2))\r")
        t.until(b"still-42")
    exec_id = start(d, box, "sleep 100", timeout="1s")
    with Tty(d, box, f"?exec={exec_id}") as t:
        code, reason = t.end()
        assert code == 1000 and "time limit of 1 s reached" in reason, (code, reason)


def test_where_to_begin_to_draw(d):
    """The last screens, from the start of a line, with the modes that were set long before; also of one that has ended."""
    box = d.make()
    exec_id = start(d, box, "printf '\\033[?2004h\\033[?1049h\\033[1;31m'; seq -f '%07g and some more of it' 200000; read x")
    wait_for("all of it", lambda: status(d, box, exec_id)["output_end"] > 200000 * 28)
    at = d.must(200, "GET", f"/api/sandboxes/{box}/execs/{exec_id}/screen")
    view = status(d, box, exec_id)
    assert at["end"] - 256 * 1024 <= at["cursor"] < at["end"] <= view["output_end"], (at, view)
    assert at["begin"] == "\x1b[?1049h\x1b[?2004h\x1b[1;31m", at
    with Tty(d, box, f"?exec={exec_id}&from={at['cursor']}") as t:
        t.until(b"0200000 and some more of it\r\n")
        assert t.seen[7:27] == b" and some more of it" and t.seen[:7].isdigit(), t.seen[:40]
        t.say("\n")
        t.end()
    assert d.must(200, "GET", f"/api/sandboxes/{box}/execs/{exec_id}/screen")["end"] >= at["end"]
    short = start(d, box, "echo hello; read x")
    wait_for("its output", lambda: status(d, box, short)["output_end"] > 0)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/execs/{short}/screen") == {"cursor": 0, "end": 7, "begin": ""}
    plain = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 1000", "background": True})["exec_id"]
    assert d.ask("GET", f"/api/sandboxes/{box}/execs/{plain}/screen").status == 400
    d.must(404, "GET", f"/api/sandboxes/{box}/execs/aaaa/screen")


def test_a_token_in_the_first_message(d):
    """ttyd's own way: a client whose request says nothing says who it is by AuthToken; nothing is told or looked up before."""
    box = d.make()
    key = d.must(201, "POST", "/api/keys", {"label": "ttyd", "scope": "exec", "owner": d.must(200, "GET", "/api/whoami")["owner"]}, token=d.make_token("--scope", "admin"))
    for word in (d.token, key["key"]):
        for port, path in ((d.port, f"/tty/{box}/ws"), (d.port, f"/api/sandboxes/{box}/ports/17681/ws")):
            with WebSocket(port, path, headers={"Sec-WebSocket-Protocol": "tty", "Origin": f"http://127.0.0.1:{port}"}) as w:
                w.send(json.dumps({**SIZE, "AuthToken": word}).encode())
                w.send(b"0echo by-its-$((40+2))\r")
                seen = b""
                while b"by-its-42" not in seen:
                    seen += w.read()[1].removeprefix(b"0")
    # Whoever is not known hears the same of any sandbox; others what a request would be told.
    for name, token, word in ((box, None, "valid token"), (box, "", "valid token"), (box, "cay1.nonsense.nonsense", "valid token"), (box, "x" * 2000, "valid token"),
                              ("nothing-here", None, "valid token"), ("nothing-here", d.token, "nothing-here"), (box, d.make_token("--owner", "mallory"), box),
                              (box, d.make_token("--scope", "read"), "scope")):
        with Tty(d, name, token="", first={**SIZE, "AuthToken": token} if token is not None else {}) as t:
            code, reason = t.end()
            assert code == 1008 and word in reason and not t.titles, (name, token, code, reason)
    # A page of elsewhere, a client of another protocol, a wrong Authorization: not even a WebSocket.
    for headers, wanted in (({"Origin": "http://evil.example"}, 403), ({"Authorization": "Bearer nonsense"}, 401)):
        refused(wanted, d, box, token="", headers=headers)
    refused(401, d, box, token="", protocol="other")
    assert d.ask("GET", f"/tty/{box}/ws", token=False).status == 401
    # What was started for a key ends with it.
    with Tty(d, box, token="", first={**SIZE, "AuthToken": key["key"]}) as t:
        t.say("echo let-$((40+2))\r")
        t.until(b"let-42")
        d.must(200, "DELETE", f"/api/keys/{key['key_id']}", token=d.make_token("--scope", "admin"))
        assert t.end()[0] == 1008


def refused(status_wanted, *args, **more):
    try:
        Tty(*args, **more).ws.sock.close()
    except Refused as e:
        assert e.status == status_wanted, e
        return
    raise AssertionError(f"was let in: {args[1:]} {more}")


def test_refusals(d):
    box = d.make()
    plain = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 1000", "background": True})["exec_id"]
    refused(404, d, "nothing-here")
    refused(404, d, box, token=d.make_token("--owner", "mallory"))
    refused(403, d, box, token=d.make_token("--scope", "read"))
    refused(401, d, box, token="cay1.nonsense.nonsense")
    refused(404, d, box, "?exec=aaaa")
    refused(400, d, box, f"?exec={plain}")
    refused(400, d, box, "?exec=")
    refused(400, d, box, "?from=-1")
    assert d.ask("GET", f"/tty/{box}/ws").status in (400, 426)
    assert d.ask("GET", f"/tty/{box}/token", token=None).status == 401
    with Tty(d, box, first=None) as t:
        t.ws.send(b"0no first message")
        assert t.end()[0] == 1008
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    with Tty(d, box) as t:
        code, reason = t.end()
        assert code == 1008 and reason, (code, reason)


def test_page_files(d):
    for path, kind in (("/", "text/html"), ("/app.js", "text/javascript"), ("/cay.css", "text/css"), ("/npm/xterm.mjs", "text/javascript"),
                       ("/favicon.svg", "image/svg+xml")):
        a = d.ask("GET", path, token=None)
        assert a.status == 200 and a.headers["Content-Type"].startswith(kind), (path, a)
        policy = a.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy, policy
        assert a.headers["X-Content-Type-Options"] == "nosniff", a.headers
        again = d.ask("GET", path, token=None, headers={"If-None-Match": a.headers["ETag"]})
        assert again.status == 304 and not again.body, again
        packed = d.ask("GET", path, token=None, headers={"Accept-Encoding": "gzip, br"})
        assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(packed.body) == a.body, (path, packed.headers)
        assert packed.headers["Vary"] == "Accept-Encoding" and packed.headers["ETag"] != a.headers["ETag"] and "Content-Encoding" not in a.headers, path
        again = d.ask("GET", path, token=None, headers={"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]})
        assert again.status == 304, again
        # Nothing is asked of anybody else, and nothing stands inline.
        if path == "/":
            assert b"://" not in a.body and b"<style" not in a.body and b"onclick" not in a.body, a.body
    assert d.ask("GET", "/reference", token=None).status == 200
    for path in ("/APP.js", "/npm/", "/npm/../app.js", "/web/app.js", "/meson.build", "/package.json"):
        a = d.ask("GET", path, token=None)
        assert a.status in (400, 404), (path, a)
    assert d.ask("POST", "/app.js", {}, token=None).status == 405


def main():
    with Daemon("--max-sandboxes", "50") as d:
        run_tests(globals(), d)


if __name__ == "__main__":
    main()
