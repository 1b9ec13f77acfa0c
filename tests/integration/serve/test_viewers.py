#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""People at a sandbox's desktop: noVNC's WebSocket, with a real Xvnc. test_viewers.py [NAME…] runs some of the tests."""
import json
import os
import struct
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ws_client  # noqa: E402
from daemon import CAY, Daemon, run_tests, skip_without, wait_for  # noqa: E402
from test_desktop import at, desktop, do, pointer, run  # noqa: E402


class Viewer:
    """As much of an RFB client as the tests need."""

    def __init__(self, d, path, port=None, token=True, headers=None):
        self.ws = ws_client.WebSocket(port or d.port, path, d.token if token else None, headers=headers)
        self.kept, self.told = b"", []
        assert self.take(12) == b"RFB 003.008\n"
        self.say(b"RFB 003.008\n")
        assert 1 in self.take(self.take(1)[0])
        self.say(b"\1")
        assert self.take(4) == bytes(4)
        self.say(b"\0")  # not shared, which is not passed on
        self.width, self.height = struct.unpack(">HH", self.take(4))
        self.take(16)
        self.name = self.take(struct.unpack(">I", self.take(4))[0]).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ws.sock.close()

    def say(self, data):
        self.ws.send(data)

    def take(self, n):
        while len(self.kept) < n:
            opcode, data = self.ws.read()
            if opcode == ws_client.TEXT:
                self.told.append(json.loads(data))
            else:
                self.kept += data
        got, self.kept = self.kept[:n], self.kept[n:]
        return got

    def point(self, buttons, x, y):
        self.say(struct.pack(">BBHH", 5, buttons, x, y))

    def key(self, keysym, down):
        self.say(struct.pack(">BBHI", 4, down, 0, keysym))

    def sync(self):
        """All that was said before has been read by the server: one pixel was asked for, and comes."""
        self.say(struct.pack(">BBHHHH", 3, 0, 0, 0, 1, 1))
        while True:
            kind = self.take(1)[0]
            if kind == 0:
                return self.rects()
            if kind == 3:
                self.cut(self.take(7))
            else:
                assert kind == 2, kind

    def cut(self, head):
        self.text = self.take(struct.unpack(">I", head[3:])[0]).decode("latin-1")

    def rects(self):
        got = []
        for _ in range(struct.unpack(">xH", self.take(3))[0]):
            x, y, w, h, encoding = struct.unpack(">HHHHi", self.take(12))
            if encoding == -308:
                self.take(4 + 16 * self.take(4)[0] - 4)
            elif encoding == 0:
                self.take(w * h * 4)
            else:
                assert encoding == -223, encoding
            got.append((encoding, x, y, w, h))
        return got

    def offer(self, *encodings):
        self.say(struct.pack(f">BxH{len(encodings)}i", 2, len(encodings), *encodings))

    def end(self):
        """The close code and the reason."""
        try:
            while True:
                self.ws.read()
        except ws_client.Closed as e:
            return e.code, e.reason


def refused(d, path, **how):
    try:
        Viewer(d, path, **how)
    except ws_client.Refused as e:
        return e
    raise AssertionError(f"{path} was not refused")


def ws_at(box, query=""):
    return f"/api/sandboxes/{box}/desktop/ws{query}"


def test_input(d, box):
    """The first viewer starts the desktop; what it does is done; the agent and others wait for their turn."""
    with Viewer(d, ws_at(box)) as a, Viewer(d, f"/api/sandboxes/{box}/ports/16080/websockify", headers={"Sec-WebSocket-Protocol": "binary"}) as b:
        assert (a.width, a.height, a.name) == (1280, 800, "Cay") and desktop(d, box)["status"] == "running"
        assert b.ws.fields["sec-websocket-protocol"] == "binary" and "sec-websocket-protocol" not in a.ws.fields
        a.point(0, 111, 222)
        a.sync()
        assert pointer(d, box) == (111, 222, 0)
        assert d.must(200, "GET", at(box))["x"] == 111  # the agent knows where a person has put it
        b.point(0, 5, 5)
        b.sync()
        assert pointer(d, box) == (111, 222, 0), "two have the pointer"
        assert "somebody else" in d.must(409, "POST", at(box, "move"), {"x": 1, "y": 1})["error"]["message"]
        a.ws.sock.close()

        def b_moves():
            b.point(0, 7, 8)
            b.sync()
            return pointer(d, box) == (7, 8, 0)

        wait_for("the other's turn", b_moves)
    # Whoever goes with a button or a key down leaves none pressed.
    wait_for("the agent's turn", lambda: d.ask("POST", at(box, "move"), {"x": 1, "y": 1}).status == 200)
    with Viewer(d, ws_at(box)) as c:
        c.point(1, 700, 700)
        c.key(0xffe1, 1)
        c.sync()
        assert pointer(d, box) == (700, 700, 0x101), pointer(d, box)
    wait_for("both to be up", lambda: pointer(d, box)[2] == 0)


def test_whose(d, box):
    """A viewer that asks for it is told whose input counts."""
    with Viewer(d, ws_at(box), headers={"Sec-WebSocket-Protocol": "cay.desktop, binary"}) as a, Viewer(d, ws_at(box)) as b:
        assert a.ws.fields["sec-websocket-protocol"] == "cay.desktop"
        a.point(0, 1, 1)
        a.sync()
        assert a.told == []  # as it should be
        b.point(1, 2, 2)
        a.ws.sock.close()
    with Viewer(d, ws_at(box)) as b, Viewer(d, ws_at(box), headers={"Sec-WebSocket-Protocol": "cay.desktop"}) as a:

        def b_has_it():
            b.point(1, 2, 2)
            b.sync()
            return pointer(d, box) == (2, 2, 0x100)

        wait_for("the seat", b_has_it)
        a.point(0, 3, 3)
        a.point(0, 4, 4)
        a.sync()
        assert a.told == [{"input": "others"}] and pointer(d, box)[:2] == (2, 2), a.told
        b.point(0, 2, 2)
        b.sync()

        def a_has_it():
            a.point(0, 5, 5)
            a.sync()
            return a.told[1:]

        assert wait_for("its turn", a_has_it) == [{"input": "yours"}]
        assert pointer(d, box)[:2] == (5, 5) and b.told == []


def test_typing(d, box):
    """Keys and the clipboard arrive in the sandbox; what is cut there arrives at the viewer."""
    with Viewer(d, ws_at(box)) as v:
        do(d, box, "wait", still="300ms", timeout="20s")
        v.point(0, 300, 200)
        v.point(1, 300, 200)
        v.point(0, 300, 200)
        for c in "touch typed-here\r":
            code = 0xff0d if c == "\r" else ord(c)
            v.key(code, 1)
            v.key(code, 0)
        v.sync()
        wait_for("what was typed", lambda: "typed-here" in run(d, box, "ls"))
        # A click with the middle button pastes.
        v.say(struct.pack(">BxxxI", 6, 12) + b"touch pasted")
        v.point(2, 300, 200)
        v.point(0, 300, 200)

        def pasted():  # programs ask for the text when they like, so Return is pressed more than once
            v.key(0xff0d, 1)
            v.key(0xff0d, 0)
            v.sync()
            return "pasted" in run(d, box, "ls")

        wait_for("what was pasted", pasted)
        # What is marked in a program arrives at the viewer.
        for c in "clear; echo marked-word\r":
            code = 0xff0d if c == "\r" else ord(c)
            v.key(code, 1)
            v.key(code, 0)
        v.text = ""

        def marked():
            for buttons in (0, 1, 0, 1, 0, 1, 0):  # three clicks mark a line: the first of the terminal
                v.point(buttons, 100, 70)
                v.sync()
            return "marked-word" in v.text

        wait_for("what was marked", marked)
        # A text that is too long is left out, and nothing of it is taken for input.
        v.say(struct.pack(">BxxxI", 6, (1 << 20) + 1))
        v.say((bytes([5, 1, 0, 9, 0, 9]) * 174763)[:(1 << 20) + 1])
        v.sync()
        assert pointer(d, box)[:2] == (100, 70)


def test_view_only(d, box):
    """Who only looks changes nothing; who may only read looks only, and starts nothing."""
    reader = d.make_token("--scope", "read")
    as_reader = {"Authorization": "Bearer " + reader}
    e = refused(d, ws_at(box), token=False, headers=as_reader)
    assert e.status == 409 and b"no desktop that runs" in e.body, e
    desktop(d, box, "POST", {}, 201)
    do(d, box, "move", x=50, y=60)
    for path, how in ((ws_at(box, "?view_only=true"), {}), (f"/api/sandboxes/{box}/desktop/view", {}), (ws_at(box), {"token": False, "headers": as_reader}),
                      (f"/api/sandboxes/{box}/ports/16080/view", {})):
        with Viewer(d, path, **how) as v:
            v.offer(0, -308)
            v.point(1, 5, 5)
            v.key(97, 1)
            v.say(struct.pack(">BxxxI", 6, 3) + b"abc")
            v.say(struct.pack(">BxHHBx", 251, 800, 600, 1) + struct.pack(">IHHHHI", 0, 0, 0, 800, 600, 0))
            sizes = []
            while not any(s[1] == 1 for s in sizes):  # the answer to its request
                sizes += [r for r in v.sync() if r[0] == -308]
            assert [s for s in sizes if s[1] == 1][0][2] != 0, sizes  # is no
            assert pointer(d, box) == (50, 60, 0)
    assert desktop(d, box)["width"] == 1280
    assert d.must(200, "POST", at(box, "move"), {"x": 51, "y": 60})["x"] == 51  # they have not taken the seat
    assert refused(d, ws_at(box, "?view_only=perhaps")).status == 400


def test_size(d, box):
    with Viewer(d, ws_at(box)) as v:
        v.offer(0, -308, -316, -309)
        v.sync()

        def ask(width, height):
            v.say(struct.pack(">BxHHBx", 251, width, height, 1) + struct.pack(">IHHHHI", 0, 0, 0, width, height, 0))
            while True:
                for encoding, x, y, w, h in v.sync():
                    if encoding == -308 and x == 1:
                        return y, w, h

        assert ask(1000, 700) == (0, 1000, 700)
        assert desktop(d, box)["width"] == 1000
        assert ask(8000, 8000)[0] != 0  # more than a screenshot may have
        assert desktop(d, box)["width"] == 1000


def test_links(d, box):
    """A link needs nothing else, is good for its desktop and its way of looking alone, and expires."""
    other = d.make(memory_limit="512m", timeout="10m")

    def link(**fields):
        got = d.must(201, "POST", f"/api/sandboxes/{box}/desktop/links", fields)
        url = urllib.parse.urlsplit(got["url"])
        assert url.scheme == "ws" and got["port_url"] is None, got
        return url.path, url.query

    path, query = link()
    assert path == ws_at(box)
    with Viewer(d, f"{path}?{query}", token=False) as v:
        v.point(0, 33, 44)
        v.sync()
        assert pointer(d, box) == (33, 44, 0)
    looks, looks_query = link(view_only=True)
    with Viewer(d, f"{looks}?{looks_query}", token=False) as v:
        v.point(0, 9, 9)
        v.sync()
        assert pointer(d, box) == (33, 44, 0)
    for bad in (f"{path}?{looks_query}", f"{looks}?{query}", f"{ws_at(other)}?{query}", f"{path}?{query}x", path):
        assert refused(d, bad, token=False).status == 401, bad
    e = refused(d, f"{path}?{query}", token=False, headers={"Origin": "http://evil.example"})
    assert e.status == 403, e
    d.must(200, "DELETE", f"/api/sandboxes/{other}")
    out = subprocess.run([CAY, "desktop", "link", box, "--view-only", "--data", os.path.join(d.folder, "data"), "--json"], env=d.environment(),
                         capture_output=True, timeout=60, check=True).stdout
    assert "/desktop/view?token=" in json.loads(out)["url"]


def test_published(d, box):
    """The three ports of document 000 together, each a port of the host; the desktop's with a link, and only its own."""
    del box
    made = d.must(201, "POST", "/api/sandboxes", {"ports": [18765, 16080, 17681], "limits": {"memory": "512m"}, "timeout": "10m"})
    mine = made["sandbox_id"]
    ports = {p["inside"]: p["host"] for p in made["ports"]}
    assert set(ports) == {18765, 16080, 17681} and all(ports.values()), made
    got = d.must(201, "POST", f"/api/sandboxes/{mine}/desktop/links", {})
    url = urllib.parse.urlsplit(got["port_url"])
    assert url.port == ports[16080] and url.path == "/websockify", got
    with Viewer(d, f"{url.path}?{url.query}", port=url.port, token=False) as v:
        v.point(0, 12, 13)
        v.sync()
    with Viewer(d, "/websockify", port=url.port) as v:
        v.sync()
    with Viewer(d, f"{url.path}?{url.query}", port=url.port, token=False, headers={"Origin": f"http://127.0.0.1:{url.port}"}) as v:
        v.sync()
    for origin in ("http://evil.example", f"http://127.0.0.1:{d.port}"):  # whatever else such a page has
        assert refused(d, f"{url.path}?{url.query}", port=url.port, token=False, headers={"Origin": origin}).status == 403, origin
    assert pointer(d, mine) == (12, 13, 0)
    looks = urllib.parse.urlsplit(d.must(201, "POST", f"/api/sandboxes/{mine}/desktop/links", {"view_only": True})["port_url"])
    with Viewer(d, f"{looks.path}?{looks.query}", port=looks.port, token=False) as v:
        v.point(0, 1, 1)
        v.sync()
        assert pointer(d, mine) == (12, 13, 0)
    for port, path in ((url.port, "/websockify"), (url.port, f"/websockify?{looks.query}"), (url.port, f"/view?{url.query}"),
                       (ports[17681], f"/ws?{url.query}"), (ports[18765], f"/?{url.query}")):
        assert refused(d, path, port=port, token=False).status == 401, (port, path)
    d.must(200, "DELETE", f"/api/sandboxes/{mine}")


def test_refusals(d, box):
    """What breaks the protocol, and what is not there, is told."""
    for bad, word in ((b"RFB 003.003\n", "RFB 003.008"), (b"RFB 003.008\n\2", "None"), (b"RFB 003.008\n\1\1\x63", "unknown kind")):
        with ws_client.WebSocket(d.port, ws_at(box), d.token) as w:
            w.send(bad)
            try:
                while True:
                    w.read()
            except ws_client.Closed as e:
                assert e.code == 1008 and word in e.reason, e
    with ws_client.WebSocket(d.port, ws_at(box), d.token) as w:
        w.send("text")
        try:
            while True:
                w.read()
        except ws_client.Closed as e:
            assert e.code == 1008, e
    # Its end is told, with what to do.
    with Viewer(d, ws_at(box)) as v:
        desktop(d, box, "DELETE")
        assert v.end()[0] == 1011
    with Viewer(d, ws_at(box)) as v:
        run(d, box, "sh", "-c", "kill -9 $(cat /tmp/.cay-desktop/server.pid)")
        code, reason = v.end()
        assert code == 1011 and "its X server ended" in reason, (code, reason)
    for path in ("", "vnc.html"):
        r = d.ask("GET", f"/api/sandboxes/{box}/ports/16080/{path}")
        assert r.status == 302 and r.headers["Location"].endswith(f"/#/sandbox/{box}?pane=desktop"), (path, r.headers)
    assert d.ask("GET", ws_at(box)).status in (400, 426)
    assert refused(d, ws_at("nothing-here")).status == 404
    other = d.make(memory_limit="512m", timeout="10m", env={"PATH": "/workspace/bin"})
    run(d, other, "/bin/mkdir", "bin")
    run(d, other, "/bin/ln", "-s", "/bin/mkdir", "/bin/rm", "bin")
    e = refused(d, ws_at(other))
    assert e.status == 422 and b"tigervnc-standalone-server" in e.body, e
    d.must(200, "DELETE", f"/api/sandboxes/{other}")


def main():
    skip_without("Xtigervnc", "openbox", "xterm")
    with Daemon() as d:
        run_tests(globals(), d, own_box=True)


if __name__ == "__main__":
    main()
