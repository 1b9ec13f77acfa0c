#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live view of browsers and their recordings, with Debian's Chromium. test_live.py [NAME…] runs some.

A viewer here does what the page does: it reads what it is sent, and acknowledges each frame."""
import concurrent.futures
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from test_browser import CAY, PATIENCE_S, PROGRAMS, Cdp, Closed, Daemon, Refused, WebSocket, path, wait_for  # noqa: E402
from daemon import small_disk  # noqa: E402

# Half of it is a button: a click is somewhere in it whatever the view's size is.
PAGE = """data:text/html,<title>Zero</title><body style="margin:0;background:rgb(200,0,0)">
<input id=i style="width:400px;font-size:30px"><div id=b style="height:2000px" onmousedown="document.title='hit '+event.clientX+' '+event.clientY;
document.body.style.background='rgb(0,0,200)'">x</div>"""


class Viewer:
    def __init__(self, d, box, leaf="live", token=True, address=None):
        self.ws = WebSocket(d.port, address or path(box, leaf), (d.token if token is True else token) if not address else None)
        self.facts, self.frames, self.errors, self.head = {}, [], [], None
        self.acks = True

    def say(self, do, **more):
        self.ws.send(json.dumps({"do": do, **more}))

    def read(self):
        opcode, data = self.ws.read()
        if opcode == 2:
            assert self.head and len(data) == self.head["bytes"] and data.startswith(b"\xff\xd8\xff"), (self.head, data[:10])
            self.frames.append((self.head, data))
            if self.acks:
                self.say("ack", frame=self.head["frame"])
            self.head = None
            return
        got = json.loads(data)
        assert self.head is None, "a picture follows its head at once"
        if "frame" in got:
            self.head = got
        elif "error" in got:
            self.errors.append(got["error"])
        else:
            self.facts.update(got)

    def until(self, what, check):
        """Reads until it is so."""
        end = time.monotonic() + PATIENCE_S
        while not (got := check(self)):
            assert time.monotonic() < end, f"waited in vain for {what}: {self.facts} {self.errors} {len(self.frames)} frames"
            self.ws.sock.settimeout(5)
            try:
                self.read()
            except TimeoutError:
                pass
        return got

    def take(self):
        self.say("take")
        self.until("the turn", lambda v: v.facts.get("turn") == "yours")

    def click(self, x, y):
        for kind in ("move", "down", "up"):
            self.say("mouse", type=kind, x=x, y=y, button="none" if kind == "move" else "left", clicks=1, buttons=int(kind == "down"))

    def key(self, key, code, vk):
        for kind in ("down", "up"):
            self.say("key", type=kind, key=key, code=code, vk=vk)

    def tab(self):
        return next((t for t in self.facts.get("tabs", []) if t["shown"]), {})

    def close(self):
        self.ws.sock.close()


def act(d, box, action, status=200, **fields):
    return d.must(status, "POST", path(box, action), fields)


def value(d, box, expression):
    return act(d, box, "evaluate", expression=expression)["value"]


def make(d, **fields):
    box = d.make(template="browser", timeout="10m", **fields)
    act(d, box, "navigate", url=PAGE)
    return box


def is_clean(d):
    wait_for("recordings to be gone", lambda: os.listdir(os.path.join(d.folder, "data/state/recordings")) == [])


def test_look_and_take_over(d):
    box = make(d)
    one = Viewer(d, box)
    one.until("a frame", lambda v: v.frames)
    one.until("the tab", lambda v: v.tab().get("title") == "Zero")
    head, first = one.frames[-1]
    assert (head["width"], head["tab"]) == (1280, 1) and 600 <= head["height"] <= 800, head
    assert one.until("whose turn", lambda v: v.facts.get("turn")) == "agent" and one.facts["only_looks"] is False
    # It changes: another frame.
    value(d, box, "document.body.style.background = 'rgb(0,150,0)'")
    one.until("another frame", lambda v: v.frames[-1][1] != first)
    # Nothing without taking over.
    one.click(500, 300)
    one.until("a word", lambda v: "take over first" in v.errors)
    assert value(d, box, "document.title") == "Zero"
    one.take()
    one.click(501, 302)
    one.until("the click", lambda v: v.tab().get("title") == "hit 501 302")
    assert one.until("its own pointer", lambda v: v.facts.get("pointer"))["by"] == "person"
    # The agent meanwhile: what does what a person does is refused, what looks is not.
    for action, fields in (("click", {"x": 5, "y": 5}), ("type", {"text": "x"}), ("press", {"keys": "a"}), ("navigate", {"url": PAGE}),
                           ("history", {"go": "reload"}), ("scroll", {}), ("tabs", {"url": PAGE})):
        got = d.ask("POST", path(box, action), fields)
        assert got.status == 409 and "a person has taken over" in got.json["error"]["message"], (action, got.status, got.body)
    assert value(d, box, "document.title") == "hit 501 302" and d.ask("POST", path(box, "screenshot"), {}).status == 200
    cdp = Cdp(d, box)
    tab = cdp.call("Target.getTargets")["result"]["targetInfos"][0]["targetId"]
    session = cdp.call("Target.attachToTarget", {"targetId": tab, "flatten": True})["result"]["sessionId"]
    mouse = {"x": 40, "y": 30, "type": "mouseMoved"}
    for method, params in (("Input.dispatchMouseEvent", mouse), ("Input.insertText", {"text": "no"}), ("Page.navigate", {"url": "about:blank"})):
        got = cdp.call(method, params, session=session)
        assert "a person has taken over" in got["error"]["message"], got
    assert "result" in cdp.call("Input.dispatchMouseEvent", {**mouse, "type": "mouseReleased", "button": "left"}, session=session)
    # Text, keys, the wheel.
    one.click(100, 15)
    one.say("text", text="Grüße 😀")
    one.key("a", "KeyA", 65)
    one.key("Backspace", "Backspace", 8)
    one.key("B", "KeyB", 66)
    wait_for("what was typed", lambda: value(d, box, "document.getElementById('i').value") == "Grüße 😀B")
    one.say("mouse", type="wheel", x=600, y=400, dx=0, dy=300)
    wait_for("the wheel", lambda: value(d, box, "scrollY") > 100)
    # Two people: one at a time.
    two = Viewer(d, box)
    two.until("a frame", lambda v: v.frames)
    two.until("that it is taken", lambda v: v.facts.get("turn") == "others")
    two.say("take")
    two.until("a word", lambda v: v.errors and "somebody else has taken over" in v.errors[-1])
    two.click(700, 350)
    two.until("a word", lambda v: v.errors[-1] == "take over first")
    one.say("give")
    two.until("that it is free", lambda v: v.facts.get("turn") == "agent")
    two.take()
    two.click(702, 351)
    one.until("the other's click", lambda v: v.tab().get("title") == "hit 702 351")
    assert d.must(200, "GET", path(box))["viewers"] == 2
    two.close()  # leaving is handing back
    one.until("that it is free", lambda v: v.facts.get("turn") == "agent")
    # The agent's pointer, of an action and of a client of CDP.
    act(d, box, "click", x=33, y=222)
    got = one.until("the agent's pointer", lambda v: v.facts["pointer"].get("by") == "agent" and v.facts["pointer"])
    assert (got["x"], got["y"]) == (33, 222), got
    cdp.call("Input.dispatchMouseEvent", {**mouse, "x": 44, "y": 55}, session=session)
    one.until("the client's pointer", lambda v: (v.facts["pointer"]["x"], v.facts["pointer"]["y"]) == (44, 55))
    one.close()
    wait_for("viewers to be gone", lambda: d.must(200, "GET", path(box))["viewers"] == 0)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_tabs_and_addresses(d):
    box = make(d)
    one = Viewer(d, box)
    one.take()
    one.until("a frame", lambda v: v.frames)
    one.say("go", url=PAGE.replace("Zero", "Never"))  # no scheme of the web
    one.say("go", url="file:///etc/passwd")
    one.until("a word", lambda v: "url: only addresses of http and https can be opened here" in v.errors)
    one.say("go", url="example.com")
    one.until("why not", lambda v: "example.com is not allowed by this sandbox's network" in v.facts.get("note", ""))
    one.until("the page of the error", lambda v: v.tab().get("url") == "https://example.com/")
    seen = len(one.frames)
    one.until("its picture", lambda v: len(v.frames) > seen)
    one.say("history", go="back")
    one.until("the page before", lambda v: v.tab().get("title") == "Zero")
    one.say("open")
    one.until("another tab, which is shown", lambda v: v.tab().get("tab") == 2)
    one.say("select", tab=1)
    one.until("the first again", lambda v: v.tab().get("tab") == 1)
    seen = len(one.frames)
    one.until("its picture", lambda v: len(v.frames) > seen and v.frames[-1][0]["tab"] == 1)
    one.say("close", tab=2)
    one.until("one tab", lambda v: len(v.facts["tabs"]) == 1)
    one.say("close", tab=1)
    one.until("a word", lambda v: "the last tab stays" in v.errors[-1])
    one.say("close", tab=77)
    one.until("a word", lambda v: "there is no tab 77" in v.errors[-1])
    # A dialog waits for whoever has the turn.
    value(d, box, "setTimeout(() => document.title = String(prompt('how?', 'so')), 10) && 0")
    asked = one.until("the dialog", lambda v: v.facts.get("dialog"))
    assert (asked["type"], asked["message"], asked["default_text"]) == ("prompt", "how?", "so"), asked
    one.say("dialog", accept=True, text="thus")
    one.until("the answer", lambda v: v.tab().get("title") == "thus" and v.facts["dialog"] is None)
    one.say("give")
    # What the agent opens is what is shown.
    act(d, box, "tabs", url="data:text/html,<title>Third</title>third")
    one.until("the agent's tab", lambda v: v.tab().get("title") == "Third")
    for bad in ("nonsense", '{"do":"fly"}', '{"do":"mouse","type":"down","button":"fourth"}', "[]"):
        other = Viewer(d, box)
        other.ws.send(bad)
        try:
            other.until("the end", lambda v: False)
        except Closed as e:
            assert e.code == 1008, e
    d.must(200, "DELETE", path(box))
    try:
        one.until("the end", lambda v: False)
    except Closed as e:
        assert e.code == 1000 and "stopped" in e.reason, e
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_who_may(d):
    token = d.make_token("--owner", "ada", "--scope", "read,exec")
    reads = d.make_token("--owner", "ada", "--scope", "read")
    other = d.make_token("--owner", "ben", "--scope", "read,exec")
    box = d.must(201, "POST", "/api/sandboxes", {"template": "browser"}, token=token)["sandbox_id"]
    for leaf, who, status in (("live", None, 401), ("view", None, 401), ("live", other, 404), ("view", token, 404), ("live", reads, 404)):
        try:
            Viewer(d, box, leaf, token=who)
            raise AssertionError((leaf, status))
        except Refused as e:
            assert e.status == status, (leaf, e)
    d.must(200, "POST", path(box, "navigate"), {"url": PAGE}, token=token)
    for leaf, who in (("live", reads), ("view", token)):
        one = Viewer(d, box, leaf, token=who)
        one.until("a frame", lambda v: v.frames)
        one.until("that it only looks", lambda v: v.facts.get("only_looks") is True)
        for do, more in (("take", {}), ("text", {"text": "x"}), ("go", {"url": "http://127.0.0.1/"}), ("open", {})):
            one.errors.clear()
            one.say(do, **more)
            one.until("a word", lambda v: v.errors == ["this view is only to look at"])
        one.close()
    # Links: for this path alone, until they expire.
    assert d.ask("POST", path(box, "live/links"), {}, token=reads).status == 403
    assert d.ask("POST", path(box, "live/links"), {}, token=other).status == 404
    links = {v: d.must(201, "POST", path(box, "live/links"), {"view_only": v}, token=token) for v in (True, False)}
    for view_only, link in links.items():
        at = urllib.parse.urlsplit(link["url"])
        assert at.scheme == "ws" and at.path == path(box, "view" if view_only else "live"), link
        assert link["page_url"] == f"http://127.0.0.1:{d.port}/live.html#{at.path}?{at.query}", link
        one = Viewer(d, box, address=f"{at.path}?{at.query}")
        one.until("a frame", lambda v: v.frames)
        assert one.until("whether it may", lambda v: "only_looks" in v.facts) and one.facts["only_looks"] is view_only
        one.close()
    token_of = urllib.parse.urlsplit(links[True]["url"]).query
    flipped = token_of[:-1] + ("A" if token_of[-1] != "A" else "B")
    for address in (path(box, "live") + "?" + token_of, path(box, "cdp") + "?" + token_of, path(box, "view") + "?" + flipped):
        try:
            Viewer(d, box, address=address)
            raise AssertionError(address)
        except Refused as e:
            assert e.status == 401, (address, e)
    assert d.ask("GET", path(box) + "?" + token_of, token=None).status == 401  # good for a WebSocket alone
    short = urllib.parse.urlsplit(d.must(201, "POST", path(box, "live/links"), {"expires_in": 1}, token=token)["url"])
    try:
        one = Viewer(d, box, address=f"{short.path}?{short.query}")
        one.until("its end", lambda v: False)
    except Closed as e:
        assert e.code == 1008 and "lifetime is over" in e.reason, e
    except Refused as e:
        assert e.status == 401, e  # a busy machine: it expired before
    try:
        Viewer(d, box, address=f"{short.path}?{short.query}")
        raise AssertionError("an expired link")
    except Refused as e:
        assert e.status == 401, e
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=token)


def test_slow_viewers(d):
    """Who does not acknowledge gets two frames, whatever happens; who reads goes on. There is a limit to how many look."""
    box = make(d)
    slow, quick = Viewer(d, box), Viewer(d, box)
    slow.acks = False
    act(d, box, "evaluate", expression="setInterval(() => { document.body.style.background = `hsl(${Math.random() * 360} 90% 50%)` }, 20) && 0")
    quick.until("many frames", lambda v: len(v.frames) >= 30)
    slow.until("its two", lambda v: len(v.frames) == 2)
    numbers = [h["frame"] for h, _ in slow.frames]
    slow.acks = True
    slow.say("ack", frame=numbers[-1])
    slow.say("ack", frame=10**9)  # was never sent: does not count
    slow.until("the newest", lambda v: len(v.frames) == 3)
    assert slow.frames[2][0]["frame"] >= quick.frames[-1][0]["frame"] - 2, (numbers, slow.frames[2][0], quick.frames[-1][0])
    assert [h["frame"] for h, _ in quick.frames] == sorted({h["frame"] for h, _ in quick.frames})
    more = [Viewer(d, box, "view") for _ in range(14)]
    try:
        Viewer(d, box, "view")
        raise AssertionError("one more than the maximum")
    except Refused as e:
        assert e.status == 429, e
    for v in (slow, quick, *more):
        v.close()
    wait_for("viewers to be gone", lambda: d.must(200, "GET", path(box))["viewers"] == 0)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def cay(d, *words, **how):
    return subprocess.run([CAY, *words], capture_output=True, timeout=PATIENCE_S, check=True,
                          env={**os.environ, "CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_TOKEN": d.token}, **how).stdout


def frames_of(archive):
    """[(facts, picture)] and the other members."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as t:
        all_of = {m.name: t.extractfile(m).read() for m in t.getmembers()}
    names = sorted(n[:-4] for n in all_of if n.endswith(".jpg"))
    frames = [(json.loads(all_of.pop(n + ".json")), all_of.pop(n + ".jpg")) for n in names]
    assert [int(n.split("-")[1]) for n in names] == [f["at_ms"] for f, _ in frames]
    return frames, {n: json.loads(b) for n, b in all_of.items()}


def test_recordings(d):
    box = make(d)
    where = path(box, "recordings")
    assert d.must(200, "GET", where) == {"recordings": []}
    r = d.must(201, "POST", where, {"gap": "0.05"})
    one = f"{where}/{r['recording_id']}"
    assert r["status"] == "recording" and r["cause_text"] is None, r
    assert d.ask("POST", where, {}).status == 409
    assert d.must(200, "GET", path(box))["viewers"] == 0  # nobody looks

    def pictures():  # of one that is under way
        return {p for _, p in frames_of(d.ask("GET", one + "/export").body)[0]}

    for n in range(4):
        before = len(pictures())
        act(d, box, "click", x=100 + n, y=200)
        value(d, box, f"document.title = 'step {n}'; document.body.style.background = 'rgb({n * 50},99,0)'")
        wait_for("another picture", lambda n=before: len(pictures()) > n)
    early, _ = frames_of(d.ask("GET", one + "/export").body)
    ended = d.must(200, "POST", one + "/stop")
    assert ended["status"] == "ended" and ended["cause_text"] == "it was stopped" and ended["frames"] >= len(early), ended
    assert d.must(200, "GET", where)["recordings"] == [ended]
    archive = d.ask("GET", one + "/export")
    assert archive.headers["Content-Type"] == "application/x-tar"
    frames, others = frames_of(archive.body)
    assert len(frames) == ended["frames"] == others["end.json"]["frames"] and others["recording.json"]["sandbox_id"] == box
    times = [f["at_ms"] for f, _ in frames]
    assert times == sorted(times) and all(b - a >= 50 for a, b in zip(times, times[1:])) and times[-1] <= ended["duration_ms"], times
    assert all(p.startswith(b"\xff\xd8\xff") for _, p in frames) and len({p for _, p in frames}) >= 4
    assert frames[-1][0]["width"] == 1280 and frames[-1][0]["url"].startswith("data:text/html"), frames[-1][0]
    assert {f.get("x") for f, _ in frames} & {101, 102, 103}, [f for f, _ in frames]
    # It outlives the browser, and the front; so does what a front that dies leaves behind.
    d.must(200, "DELETE", path(box))
    assert d.must(200, "GET", one) == ended
    act(d, box, "navigate", url=PAGE)
    second = d.must(201, "POST", where, {})["recording_id"]
    wait_for("a frame", lambda: d.must(200, "GET", f"{where}/{second}")["frames"] > 0)
    with open(os.path.join(d.folder, "data/state/recordings", f"{box}.{second}"), "ab") as f:
        f.write(b"half a frame" * 100)
    pid = d.child("cay-front")
    os.kill(pid, signal.SIGKILL)
    wait_for("another front", lambda: d.child("cay-front") != pid)

    def told():
        try:
            return d.ask("GET", f"{where}/{second}").status == 200
        except OSError:
            return False

    wait_for("its recordings", told)
    got = d.must(200, "GET", f"{where}/{second}")
    assert got["status"] == "ended" and got["cause_text"] == "the daemon's front ended" and got["frames"] > 0, got
    cut, others = frames_of(d.ask("GET", f"{where}/{second}/export").body)
    assert len(cut) == got["frames"] == others["end.json"]["frames"]
    assert d.must(200, "GET", one) == ended and len(frames_of(d.ask("GET", one + "/export").body)[0]) == ended["frames"]
    # Limits, each with its words; the browser's end.
    third = d.must(201, "POST", where, {"time": 1})["recording_id"]
    wait_for("its time", lambda: d.must(200, "GET", f"{where}/{third}")["cause_text"] == "its time was over")
    act(d, box, "evaluate", expression="""document.body.innerHTML = '<canvas width=1200 height=700>'; const c = document.querySelector('canvas').getContext('2d');
      setInterval(() => { const i = c.createImageData(1200, 700); const n = new Uint32Array(i.data.buffer);
      for (let k = 0; k < n.length; k++) n[k] = Math.random() * 2 ** 32 | 0xff000000; c.putImageData(i, 0, 0) }, 50) && 0""")
    large = d.must(201, "POST", where, {"size": "1m", "gap": "0.05"})["recording_id"]
    got = wait_for("its bytes", lambda: (g := d.must(200, "GET", f"{where}/{large}"))["status"] == "ended" and g)
    assert got["cause_text"] == "it had as many bytes as it may have" and got["bytes"] <= 1 << 20, got
    fifth = d.must(201, "POST", where, {})["recording_id"]
    d.must(200, "DELETE", path(box))
    wait_for("its end", lambda: "stopped" in (d.must(200, "GET", f"{where}/{fifth}")["cause_text"] or ""))
    # The command line; removing; and with the sandbox all are gone.
    assert b"ended" in cay(d, "browser", "recordings", box)
    frames, _ = frames_of(cay(d, "browser", "export", box, r["recording_id"]))
    assert len(frames) == ended["frames"]
    assert d.must(200, "DELETE", f"{where}/{fifth}")["removed"]
    assert d.ask("GET", f"{where}/{fifth}").status == 404 and d.ask("GET", f"{where}/r0").json["error"]["field"] == "recording"
    # The engine may take its time after the end was told: no other event follows.
    warden = d.child("cay-warden")
    os.kill(warden, signal.SIGSTOP)
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            gone = pool.submit(d.must, 200, "DELETE", f"/api/sandboxes/{box}")
            time.sleep(0.6)
            os.kill(warden, signal.SIGCONT)
            gone.result()
    finally:
        os.kill(warden, signal.SIGCONT)
    assert d.ask("GET", one).status == 404
    is_clean(d)


def main():
    if not any(os.path.exists(p) for p in PROGRAMS):
        print("skipped: Chromium is not installed (apt-get install chromium-headless-shell)")
        sys.exit(77)
    wanted = sys.argv[1:]
    with Daemon("--rate-burst", "600") as d:
        for name, test in list(globals().items()):
            if name.startswith("test_") and callable(test) and (not wanted or name in wanted):
                test(d)
                print("ok", name, flush=True)
    if not wanted or "test_disk" in wanted:
        with Daemon("--max-disk-owner", "3g") as d:
            disk(d)
            print("ok test_disk", flush=True)
    if os.geteuid() == 0 and (not wanted or "test_reserve" in wanted):
        reserve()
        print("ok test_reserve", flush=True)


def reserve():
    """Recordings take nothing of what is kept free on the disk, as sandboxes' files do not: others' state is stored there."""
    with small_disk(1 << 30) as disk, Daemon("--disk-reserve", "200m", folder=os.path.join(disk, "d")) as d:
        box = make(d, limits={"disk": "300m"})
        where = path(box, "recordings")
        r = d.must(201, "POST", where, {"gap": "0.05"})["recording_id"]
        act(d, box, "evaluate", expression="setInterval(() => { document.body.style.background = `hsl(${Math.random() * 360} 90% 50%)` }, 50) && 0")
        wait_for("frames", lambda: d.must(200, "GET", f"{where}/{r}")["frames"] > 3)
        fs = os.statvfs(disk)
        with open(os.path.join(disk, "of somebody else"), "wb") as f:
            os.posix_fallocate(f.fileno(), 0, fs.f_bavail * fs.f_frsize - (150 << 20))
        got = wait_for("its end", lambda: (g := d.must(200, "GET", f"{where}/{r}"))["status"] == "ended" and g)
        assert got["cause_text"] == "the daemon's disk was nearly full", got
        os.unlink(os.path.join(disk, "of somebody else"))
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def disk(d):
    """Recordings count as their owner's disk: first what they may have, then what they have."""
    box = make(d, limits={"disk": "1g"})
    got = d.ask("POST", path(box, "recordings"), {"size": "1g"})
    assert got.status == 201, got
    got = d.ask("POST", "/api/sandboxes", {"limits": {"disk": "1500m"}})
    assert got.status == 429 and "max_disk_owner" in got.json["error"]["message"], got
    d.must(200, "POST", path(box, "recordings", d.must(200, "GET", path(box, "recordings"))["recordings"][0]["recording_id"], "stop"))
    other = d.make(limits={"disk": "1500m"})
    got = d.ask("POST", path(box, "recordings"), {"size": "1g"})
    assert got.status == 429 and "max_disk_owner" in got.json["error"]["message"], got
    for b in (box, other):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")
    is_clean(d)


if __name__ == "__main__":
    main()
