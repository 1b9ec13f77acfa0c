#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ops browser_*: pages used through REST, the command line and MCP, with Debian's Chromium. test_actions.py [NAME…] runs some."""
import base64
import concurrent.futures
import json
import os
import struct
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from test_browser import CAY, PATIENCE_S, PROGRAMS, Daemon, make, path, wait_for  # noqa: E402
from mcp_session import Session  # noqa: E402

SITE = "http://127.0.0.1:8000"


class Page:
    def __init__(self, d, box):
        self.d, self.box = d, box

    def ask(self, action, **fields):
        return self.d.ask("POST", path(self.box, action), fields)

    def do(self, action, **fields):
        got = self.d.must(200, "POST", path(self.box, action), fields)
        t = got["timings"]
        assert got["took_ms"] >= t["act_ms"] >= 0 and t["ready_ms"] >= 0 and t["settle_ms"] >= 0, got
        return got

    def fail(self, status, words, action, **fields):
        got = self.ask(action, **fields)
        assert got.status == status and words in got.json["error"]["message"], (action, fields, got.status, got.body)
        return got.json["error"]

    def get(self, what, query=""):
        return self.d.must(200, "GET", path(self.box, what) + query)

    def value(self, expression):
        return self.do("evaluate", expression=expression)["value"]

    def bytes(self, action, **fields):
        got = self.d.ask("POST", path(self.box, action), fields)
        assert got.status == 200, got.body
        return got.body


def png_size(data):
    assert data.startswith(b"\x89PNG"), data[:40]
    return struct.unpack(">II", data[16:24])


def reference(outline, text):
    (line,) = [x for x in outline.splitlines() if text in x]
    return line.split("[")[1].split("]")[0]


def navigating(p):
    got = p.do("navigate", url="127.0.0.1:8000/form")  # the browser is started by it
    assert (got["title"], got["status"], got["url"], got["tab"]) == ("Form", 200, SITE + "/form", 1), got
    assert p.do("navigate", url=SITE + "/nothing")["status"] == 404
    assert p.do("navigate", url=SITE + "/form#part", until="domcontentloaded")["url"].endswith("#part")
    assert p.do("navigate", url=SITE + "/form#other")["url"].endswith("#other")  # within the page
    assert p.do("history", go="back")["url"].endswith("#part")
    assert p.do("history", go="back")["url"] == SITE + "/nothing"
    assert p.do("history", go="forward")["title"] == "Form"
    assert p.do("history", go="reload", until="networkidle")["title"] == "Form"
    assert p.do("navigate", url=SITE + "/file")["download"] is True
    p.fail(400, "go: must be", "history", go="up")
    p.fail(400, "until: must be", "navigate", url=SITE, until="soon")
    error = p.fail(403, "navigation blocked: example.com is not allowed by this sandbox's network", "navigate", url="https://example.com/x")
    assert error.get("field") == "url", error
    p.fail(409, "nothing listens there", "navigate", url="http://127.0.0.1:8009/")
    p.fail(409, "no page to go forward to", "history", go="forward")
    p.fail(404, "tab: there is no tab '77'", "text", tab="77")
    p.fail(504, "was not done in 0.3 seconds: ", "navigate", url=SITE + "/slow", timeout=0.3)


def using(p):
    p.do("navigate", url=SITE + "/form")
    assert p.do("click", target="text=Later")["title"] == "late"  # waits until it is there
    shown = p.do("outline")
    assert 'heading "Sign up" level=1' in shown["outline"] and not shown["truncated"], shown["outline"]
    name, colour = reference(shown["outline"], 'textbox "Name"'), reference(shown["outline"], 'combobox "Colour"')
    assert 'button "Never"' in shown["outline"] and "disabled" in shown["outline"]
    p.do("type", target=name, text="Grüße 😀")
    p.do("type", target=name, text="!")
    assert p.value("document.forms[0].n.value") == "Grüße 😀!"
    p.do("type", target=name, text="Ada", clear=True)
    assert p.value("document.forms[0].n.value") == "Ada"
    assert 'value="Ada"' in p.do("outline")["outline"]
    p.do("type", target="input[name=d]", text="2001-02-03")
    assert p.value("document.forms[0].d.value") == "2001-02-03"
    p.fail(400, "is no value for this field", "type", target="input[name=d]", text="soon")
    p.fail(400, "takes no text", "type", target="#go", text="x")
    assert p.do("select", target=colour, values=["Green"])["selected"] == ["Green"]
    p.fail(400, 'there are: "Red", "Green"', "select", target=colour, values=["Blue"])
    p.do("click", target="#c")
    assert p.value("document.querySelector('#c').checked") is True
    p.do("click", target="#keys")
    p.do("press", keys="a Tab")
    p.do("type", target="#keys", text="text")
    p.do("press", keys="ctrl+a Delete Enter")
    assert p.value("[keys.dataset.k, keys.value]") == ["[a][Tab][c-a][Delete][Enter]", ""]
    p.fail(400, "keys: 'Hyper' cannot be held", "press", keys="a Hyper+b")
    p.fail(504, "'#off' is disabled", "click", target="#off", timeout=0.5)
    p.fail(504, "no element matches '#none'", "click", target="#none", timeout=0.5)
    p.fail(400, "is no reference (e12), no CSS selector", "click", target="##")
    p.fail(404, "e999999 is not on the page any more", "click", target="e999999")
    p.do("scroll")
    wait_for("the page to scroll", lambda: p.value("scrollY") > 100)
    p.do("scroll", target="#end")
    assert p.value("document.querySelector('#end').getBoundingClientRect().bottom <= innerHeight") is True
    at = p.value("(r => [r.x + r.width / 2, r.y + r.height / 2].map(Math.round))(document.querySelector('#ask').getBoundingClientRect())")
    p.do("scroll", target="#ask")
    at = p.value("(r => [r.x + r.width / 2, r.y + r.height / 2].map(Math.round))(document.querySelector('#ask').getBoundingClientRect())")
    asked = p.do("click", x=at[0], y=at[1])  # a dialog is a part of the result, and waits
    assert asked["dialog"]["type"] == "confirm" and asked["dialog"]["message"] == "sure?", asked
    p.fail(409, "the page shows a dialog and waits: confirm 'sure?'", "text")
    assert p.get("tabs")["tabs"][0]["dialog"]["message"] == "sure?"
    assert "dialog" not in p.do("dialog", accept=True)
    assert p.value("document.title") == "true"
    p.do("evaluate", expression="document.querySelector('#ask').onclick = () => alert(confirm('first?'))")
    assert p.do("click", target="#ask")["dialog"]["message"] == "first?"
    assert p.do("dialog")["dialog"]["message"] == "false"  # another one opens
    assert "dialog" not in p.do("dialog")
    p.fail(409, "no dialog is open", "dialog")
    d = p.d
    d.must(200, "POST", f"/api/sandboxes/{p.box}/execute", {"command": ["sh", "-c", "echo -n of-the-sandbox >/tmp/u.txt"]})
    p.do("upload", target="#up", files=["/tmp/u.txt"])
    p.do("wait", target="text=The end", delay=0.01)
    wait_for("the upload", lambda: p.value("document.title") == "up:of-the-sandbox")
    p.fail(504, "'#end' is not hidden", "wait", target="#end", state="hidden", timeout=0.3)
    p.fail(400, "say what to wait for", "wait")
    sent = p.do("click", target="text=Send it")  # leads to another page, which is waited for
    assert sent["title"] == "Frame" and "n=Ada&d=2001-02-03&s=g" in sent["url"], sent
    # A page that changes JavaScript's objects; shadow trees and frames.
    p.do("navigate", url=SITE + "/shadow")
    assert p.do("click", target="text=Dark")["title"] == "shadowed"
    assert p.do("click", target="text=Inner")["title"] == "framed"


def looking(p):
    p.do("navigate", url=SITE + "/form", until="networkidle")
    got = p.do("text")
    assert "Sign up" in got["text"] and got["length"] == len(got["text"]), got
    assert p.do("text", target="h1", limit=4)["text"] == "Sign" and p.do("text", target="h1", limit=4)["truncated"]
    assert p.do("dom", target="h1")["html"] == "<h1>Sign up</h1>"
    assert p.do("dom")["html"].startswith("<html>")
    assert p.do("outline", limit=30)["truncated"]
    assert p.do("evaluate", expression="await new Promise(r => setTimeout(r, 10, {a: [1, null]}))")["value"] == {"a": [1, None]}
    assert p.value("(async () => { await 0; return [1] })()") == p.value("await 0; Promise.resolve([1])") == [1]
    assert p.value("(async () => [1])()") == p.value("Promise.resolve([1])") == p.value("await 0; [1]") == [1]
    assert p.do("evaluate", expression="await 0; undefined")["type"] == "undefined" and p.value("await 0; 1/0") == "Infinity"
    p.fail(400, "expression: threw Error: no", "evaluate", expression="(async () => { await 0; throw new Error('no') })()")
    p.fail(400, "its value cannot be sent", "evaluate", expression="await 0; window")
    p.fail(504, "the expression has not ended", "evaluate", expression="(async () => { await new Promise(() => 0) })()", timeout=0.3)
    assert p.do("evaluate", expression="undefined")["type"] == "undefined"
    assert p.value("1/0") == "Infinity"
    p.fail(400, "expression: threw TypeError", "evaluate", expression="null.x")
    p.fail(400, "its value cannot be sent", "evaluate", expression="window")
    p.fail(504, "the expression has not ended", "evaluate", expression="new Promise(() => 0)", timeout=0.3)
    assert png_size(p.bytes("screenshot")) == (800, 600)
    assert png_size(p.bytes("screenshot", scale=0.5)) == (400, 300)
    w, h = png_size(p.bytes("screenshot", full=True))
    assert w == 800 and h > 3000, (w, h)
    w, h = png_size(p.bytes("screenshot", target="h1"))
    assert w > 100 and h < 100, (w, h)
    assert p.bytes("screenshot", format="jpeg", quality=50).startswith(b"\xff\xd8")
    p.fail(400, "format: must be", "screenshot", format="bmp")
    assert p.bytes("pdf").startswith(b"%PDF")
    # What it asked of the network, with bodies; what it printed.
    rows = p.get("requests", "?url=/n/5")["requests"]
    one = [r for r in rows if r["state"] == "done"][-1]
    assert (one["method"], one["status"], one["type"]) == ("POST", 200, "Fetch"), one
    got = p.get("requests/%d" % one["number"])
    assert got["body"] == "5" and got["request_body"] == "sent" and got["response_headers"]["Content-Type"] == "text/plain", got
    assert p.d.ask("GET", path(p.box, "requests/99999")).status == 404
    assert [r["url"] for r in p.get("requests", "?from=1&limit=1&type=document")["requests"]] == [SITE + "/form"]
    said = p.get("console", "?limit=500")["messages"]
    assert {("log", "hello Object 7"), ("error", "bad")} <= {(m["level"], m["text"]) for m in said}, said
    assert any(m["level"] == "exception" and "thrown" in m["text"] for m in said), said


def keeping(p):
    d, box = p.d, p.box
    p.do("cookies", name="a", value="1", url=SITE)
    p.do("cookies", name="b", value="2", domain="other.test", http_only=True)
    assert {c["name"] for c in p.get("cookies")["cookies"]} == {"a", "b"}
    assert [c["name"] for c in p.get("cookies", "?url=" + SITE)["cookies"]] == ["a"]
    assert p.do("navigate", url=SITE + "/cookie")["title"] == "a=1"
    p.fail(400, "url: give the address or the domain", "cookies", name="c", value="3")
    d.must(200, "DELETE", path(box, "cookies"), {"name": "a", "url": SITE})
    assert [c["name"] for c in p.get("cookies")["cookies"]] == ["b"]
    d.must(200, "DELETE", path(box, "cookies"))
    assert p.get("cookies")["cookies"] == []
    # Tabs
    p.do("navigate", url=SITE + "/form")
    popped = p.do("click", target="#pop")
    assert popped["title"] == "Form", popped  # the tab that was used stays the one that is used
    wait_for("the popup", lambda: len(p.get("tabs")["tabs"]) == 2)
    (other,) = [t for t in p.get("tabs")["tabs"] if not t["current"]]
    wait_for("the titles", lambda: {t["title"] for t in p.get("tabs")["tabs"]} == {"Form", "Frame"})
    p.do("evaluate", expression="document.title = 'Changed'")
    wait_for("the new title", lambda: {t["title"] for t in d.must(200, "GET", path(box))["tabs"]} == {"Changed", "Frame"})
    p.do("evaluate", expression="document.title = 'Form'")
    assert any(r["tab"] == other["tab"] and "popup" in r["url"] for r in p.get("requests")["requests"])  # its first request too
    p.do("wait", tab=str(other["tab"]), url="popup")
    opened = p.do("tabs", url=SITE + "/frame")
    assert opened["title"] == "Frame" and opened["status"] == 200 and p.do("text")["tab"] == opened["tab"]
    d.must(200, "POST", path(box, "tabs", "1", "select"), {})
    assert p.do("text")["title"] == "Form"
    left = d.must(200, "DELETE", path(box, "tabs", str(opened["tab"])))["tabs"]
    assert [t["tab"] for t in left] == [1, other["tab"]], left
    p.fail(404, "there is no tab", "text", tab=str(opened["tab"]))
    # A crash ends the action with its own words; going somewhere mends it.
    crash = p.ask("navigate", url="chrome://crash", timeout=5)
    assert crash.status != 200, crash.body
    p.fail(409, "the page crashed", "text")
    assert p.do("navigate", url=SITE + "/frame")["title"] == "Frame"


def frames(p, isolate_sites):
    """Frames of the same site and of others are in the outline and can be used like the page, also if they have processes of their own."""
    d, box = p.d, p.box
    d.must(200, "POST", path(box), {"isolate_sites": isolate_sites})
    p.do("navigate", url=SITE + "/frames")
    p.do("wait", text="Far text")
    p.do("wait", target="text=Press deep", state="attached")
    shown = p.do("outline")
    text = shown["outline"]
    lines = text.splitlines()
    depth = {part: len(line) - len(line.lstrip()) for line in lines for part in ('"Outside"', '"Near"', '"Press near"', '"Far"', '"Press far"', '"Deep"', '"Press deep"')
             if part in line}
    assert depth['"Near"'] < depth['"Press near"'] and depth['"Far"'] < depth['"Press far"'] == depth['"Deep"'] < depth['"Press deep"'], text
    order = [text.index(x) for x in ('"Outside"', '"Near"', '"Press near"', '"Far"', "Far text", '"Press far"', '"Deep"', '"Press deep"')]
    assert order == sorted(order) and not shown["truncated"] and shown["lines"] == len(lines), text
    near, far, deep = (reference(text, f'button "Press {x}"') for x in ("near", "far", "deep"))
    assert near.startswith("f") and far.startswith("f") and deep.startswith("f") and len({r.split("e")[0] for r in (near, far, deep)}) == 3, text
    for target, says in ((near, "near"), (far, "far"), (deep, "deep"), ("text=Press near", "near"), ("text=Press far", "far"), ("text=Press deep", "deep"),
                         ("#far", "far"), ("text=Press late", "late")):
        p.do("evaluate", expression="scrollTo(0, 0)")
        p.do("click", target=target)
        wait_for(f"the click on {target}", lambda: p.value("document.title") == says)
        p.do("evaluate", expression="document.title = 'Frames'")
    p.do("type", target=reference(text, 'textbox "Word"'), text="Grüße", submit=True)
    wait_for("the word", lambda: p.value("document.title") == "word Grüße")
    assert 'value="Grüße"' in p.do("outline")["outline"]
    p.do("select", target="select", values=["L"])
    wait_for("the size", lambda: p.value("document.title") == "size L")
    d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": ["sh", "-c", "echo -n of-the-sandbox >/tmp/u.txt"]})
    p.do("upload", target="#up", files=["/tmp/u.txt"])
    wait_for("the upload", lambda: p.value("document.title") == "up of-the-sandbox")
    assert p.do("text", target=far)["text"] == "Press far" and p.do("text", target="p")["text"] == "Far text"
    p.do("scroll", target=deep)
    w, h = png_size(p.bytes("screenshot", target=deep))
    box_of = p.do("click", target=deep)
    assert 40 < w < 200 and 10 < h < 60, (w, h)
    assert box_of["x"] > 40 and 0 < box_of["y"] < 800, box_of
    p.fail(504, "'text=Press far' is not hidden", "wait", target="text=Press far", state="hidden", timeout=0.5)
    p.fail(504, "no element matches '#none'", "click", target="#none", timeout=0.5)
    # Something lies over the frame; then the frame is hidden, and what is in it with it.
    cover = "document.body.insertAdjacentHTML('beforeend', '<div id=over style=\"position:fixed;inset:0;z-index:9\"></div>')"
    p.do("evaluate", expression=cover)
    p.fail(504, "covered", "click", target=far, timeout=0.5)
    p.do("evaluate", expression="over.remove()")
    p.do("evaluate", expression="document.querySelector('[title=Far]').style.display = 'none'")
    assert "Press far" not in p.do("outline")["outline"]
    p.fail(504, "not visible", "click", target=far, timeout=0.5)
    p.do("evaluate", expression="document.querySelector('[title=Far]').remove()")
    wait_for("the frame to be gone", lambda: "is not on the page any more" in p.ask("click", target=far).json["error"]["message"])
    p.do("evaluate", expression="document.body.insertAdjacentHTML('beforeend', '<button id=once>Once</button>')")
    once = reference(p.do("outline")["outline"], 'button "Once"')
    p.do("evaluate", expression="once.outerHTML += ''")
    p.fail(404, "is not on the page any more", "click", target=once)
    # A page that changes JavaScript's objects has no part in how references are found.
    p.do("navigate", url=SITE + "/shadow")
    p.do("click", target=reference(p.do("outline")["outline"], 'button "Dark"'))
    assert p.value("document.title") == "shadowed"
    p.do("click", target=reference(p.do("outline")["outline"], 'button "Inner"'))
    assert p.value("document.title") == "framed"


def frame_hangs(p):
    """A frame that does not answer, or has crashed, keeps nobody from the rest of the page."""
    p.do("navigate", url=SITE + "/frames")
    p.do("wait", text="Far text")
    far = reference(p.do("outline")["outline"], 'button "Press far"')
    p.do("evaluate", expression="frames[1].postMessage('hang', '*')")
    shown = p.do("outline")
    assert shown["truncated"] and '"Press near"' in shown["outline"] and "Press far" not in shown["outline"], shown
    p.fail(409, "does not answer", "click", target=far)
    p.do("evaluate", expression="setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<button id=last>Last</button>'), 500)")
    p.do("click", target="#last", timeout=60)
    p.do("click", target="text=Press near")


SIGNAL_SCREEN = "for p in /proc/[0-9]*; do if tr '\\0' ' ' <$p/cmdline | grep -q '[-]-type=gpu-process'; then kill -%s ${p#/proc/} && echo done; fi; done"


def screen_is_late(p):
    """The browser passes the mouse on to frames in other processes by what its screen showed last: here its screen stands still for a while."""
    def signal(name):
        assert p.d.run(p.box, ["sh", "-c", SIGNAL_SCREEN % name])["stdout"] == "done\n"

    def act(action, **fields):
        p.do("evaluate", expression="document.title = 'Frames'; scrollTo(0, 0)")
        time.sleep(0.2)  # shown, so that what was under the mouse before is another thing
        signal("STOP")
        later = threading.Timer(0.5, signal, ("CONT",))
        later.start()
        p.do(action, **fields)
        later.join()

    def scrolled():
        p.do("evaluate", expression="frames[1].postMessage('where', '*')")
        return p.value("document.title").startswith("at ") and p.value("document.title") != "at 0"

    p.do("navigate", url=SITE + "/frames")
    p.do("wait", target="text=Press deep", state="attached")
    for target, says in (("text=Press far", "far"), ("text=Press deep", "deep")) * 2:
        act("click", target=target)
        wait_for(f"the click on {target}", lambda: p.value("document.title") == says)
    p.do("navigate", url=SITE + "/frames")
    p.do("wait", text="Far text")
    act("scroll", target="text=Far text", direction="down", amount=200)
    wait_for("the frame to scroll", scrolled)


def test_frames(d):
    for isolate_sites in (False, True):
        box = make(d)
        p = Page(d, box)
        frames(p, isolate_sites)
        if isolate_sites:
            screen_is_late(p)
            frame_hangs(p)
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_rest(d):
    box = make(d)
    d.must(200, "POST", path(box), {"width": 800, "height": 600})
    p = Page(d, box)
    for part in (navigating, using, looking, keeping):
        part(p)
        print("ok", part.__name__, flush=True)
    assert d.must(200, "GET", path(box))["clients"] == 0  # actions are no clients
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_command_line(d):
    box = make(d)

    def cay(*args):
        return subprocess.run([CAY, "browser", *args], capture_output=True, timeout=PATIENCE_S, check=True,
                              env={**os.environ, "CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_TOKEN": d.token}).stdout

    assert b"Form" in cay("navigate", box, SITE + "/form")
    outline = cay("outline", box).decode()
    assert 'heading "Sign up" level=1\n' in outline, outline
    cay("type", box, "Ada", reference(outline, 'textbox "Name"'))
    assert cay("evaluate", box, "document.forms[0].n.value") == b"Ada\n"
    assert json.loads(cay("text", box, "--json"))["text"].startswith("Sign up")
    assert png_size(cay("screenshot", box, "--full"))[1] > 3000
    assert b"/form" in cay("requests", box) and b"hello" in cay("console", box)
    said = cay("click", box, "#ask").decode().split()
    assert said[-4:] == ["dialog", "confirm", "says", "sure?"], said
    assert b"sure?" not in cay("dialog", box)
    assert b"false" in cay("tabs", box)
    assert cay("run", PAGE, "--expression", "[1, 'a']").split()[-4:-2] == [b"value", b'[1,"a"]'], "a value"
    cay("open", box)
    assert b"about:blank" in cay("tabs", box)
    cay("stop", box)
    got = d.ask("GET", path(box, "tabs"))  # to look starts nothing
    assert got.status == 404 and "has no browser that runs" in got.json["error"]["message"], got
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_causes(d):
    """A page that takes all memory is killed, and that is told; the browser and its other pages live on. A browser that ends ends its actions."""
    box = make(d, limits={"memory": "256m"})
    p = Page(d, box)
    p.do("navigate", url=SITE + "/frame")
    words = "the page's process was killed, as happens when its sandbox runs out of memory; raise limits.memory"
    p.fail(429, words, "evaluate", expression="const a = []; for (;;) a.push(new Uint8Array(8 << 20).fill(1))", timeout=PATIENCE_S)
    p.fail(429, words, "text")
    assert p.do("navigate", url=SITE + "/frame")["title"] == "Frame"
    # Fonts: those of /usr/share/fonts/truetype, and no others, or the first start takes three times as long.
    dirs = d.run(box, ["sh", "-c", "cat /tmp/.browser.fonts.conf"])["stdout"]
    assert "<dir>/usr/share/fonts/truetype</dir>" in dirs and "xdg" not in dirs, dirs
    # The same words, whether the browser has not heard of the action, is at it, or has given up its tab already.
    with concurrent.futures.ThreadPoolExecutor(1) as ended:
        for pause_s in (0.005, 0.02, 0.1):
            p.do("navigate", url=SITE + "/frame")
            waits = ended.submit(p.ask, "evaluate", expression="new Promise(() => 0)", timeout=PATIENCE_S)
            while not waits.done():  # it may come after a stop, and start another browser
                time.sleep(pause_s)
                d.ask("DELETE", path(box))
            got = waits.result()
            assert got.status == 409 and "the browser was stopped" in got.json["error"]["message"], got
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


PAGE = "data:text/html,<title>Doc</title><h1>Hello</h1><script>console.log('said')</script>"


def test_one_request(d):
    """Document 003's request bodies, and the same as an operation: a page in a sandbox made for it."""
    token = d.make_token("--owner", "service", "--scope", "read,exec")

    def execute(status, **body):
        return d.must(status, "POST", "/sandbox/execute", body, token=token)

    body = {"sandbox_type": "browser", "action": "execute", "url": "https://example.com", "timeout": 30, "metadata": {}}
    error = execute(403, **body)["error"]
    assert error["field"] == "url" and "navigation blocked: example.com is not allowed by this sandbox's network" in error["message"], error
    for action in ("execute", "screenshot"):
        got = execute(200, **{**body, "action": action, "url": PAGE, "code": "document.title + '!'", "metadata": {"a": 1}})
        assert (got["success"], got["status"], got["sandbox_type"], got["title"], got["result"], got["metadata"]) == \
            (True, "completed", "browser", "Doc", "Doc!", {"a": 1}), got
        assert png_size(base64.b64decode(got["screenshot_base64"])) == (1280, 800)
        assert "<h1>Hello</h1>" in got["dom"] and got["console"][0]["text"] == "said", got
        assert got["network_requests"][0]["url"].startswith("data:text/html"), got["network_requests"]
    assert execute(200, **{**body, "url": PAGE, "execution_id": "once"})["execution_id"] == "once"
    error = execute(409, **{**body, "url": PAGE, "execution_id": "once"})["error"]
    assert error["field"] == "execution_id" and error["first"], error
    assert execute(200, **{**body, "url": PAGE, "code": "document.title = 'Other'"})["title"] == "Other"
    error = execute(409, **{**body, "url": "http://127.0.0.1:1/"})["error"]
    assert "127.0.0.1: the browser does not connect to this port (net::ERR_UNSAFE_PORT)" in error["message"], error
    error = execute(400, **{**body, "url": PAGE, "code": "null.x"})["error"]
    assert "expression: threw TypeError" in error["message"], error
    wait_for("the sandboxes to be gone", lambda: d.must(200, "GET", "/api/sandboxes", token=token)["sandboxes"] == [])
    got = d.must(200, "POST", "/api/browser/run", {"url": PAGE, "format": "jpeg"})
    assert got["screenshot_type"] == "image/jpeg" and got["value"] is None and got["took_ms"] >= got["load_ms"], got
    got = d.ask("POST", "/api/browser/run", {"url": PAGE, "limits": {"pids": 50}})
    assert got.status == 429 and "limits.pids: 50 is too few" in got.json["error"]["message"], got


def test_turns(d):
    """Actions that change a page take turns on a tab, in the order in which they came; those that look do not wait."""
    box = make(d)
    p = Page(d, box)
    p.do("navigate", url=SITE + "/frame")
    p.do("evaluate", expression="document.body.innerHTML = '<input id=i>'; setTimeout(() => { document.body.innerHTML += '<input id=late>' }, 3000)")
    got = []

    def act(name, **fields):
        got.append((name, p.ask("type", **fields).status))

    one = threading.Thread(target=act, args=("first",), kwargs={"target": "#late", "text": "a"})
    one.start()
    wait_for("the first one to wait", lambda: p.value("1") == 1)  # scripts do not take turns
    assert p.fail(504, "another action was at work in this tab all the time", "type", target="#i", text="x", timeout=0.3)
    two = threading.Thread(target=act, args=("second",), kwargs={"target": "#late", "text": "b"})
    two.start()
    one.join()
    two.join()
    assert got == [("first", 200), ("second", 200)], got
    assert p.value("document.querySelector('#late').value") == "ab"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_models(d):
    """A model's tools: a picture comes as a picture."""
    box = make(d)
    s = Session(d)
    s.call("browser_navigate", id=box, url=SITE + "/form")
    content = s.call("browser_screenshot", id=box)["content"]
    (image,) = [c for c in content if c["type"] == "image"]
    assert image["mimeType"] == "image/png" and png_size(base64.b64decode(image["data"])) == (1280, 800)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_hostile(d):
    """A page that does what pages can to make an action hang, or to lie to it: each is answered, with its own words, and the browser lives on."""
    box = make(d)
    p = Page(d, box)
    p.do("navigate", url=SITE + "/frame")
    p.fail(504, "was not done in", "evaluate", expression="for (;;);", timeout=2)
    assert p.do("navigate", url=SITE + "/frame")["title"] == "Frame"
    p.do("evaluate", expression="Object.defineProperty(Element.prototype, 'innerText', { get() { throw 1 } }); document.querySelector = () => null; "
                                "window.getComputedStyle = () => { throw 2 }; JSON.stringify = () => '{'")
    assert "Frame" in p.do("text")["text"] or p.do("text")["text"] != ""
    p.do("evaluate", expression="document.body.innerHTML = '<button id=b>B</button>'.repeat(20000) + '\\u202e\\u0000'")
    assert len(p.do("outline")["outline"]) < 2 << 20
    p.do("evaluate", expression="history.pushState(0, '', '/' + 'x'.repeat(100000))")
    assert len(p.get("tabs")["tabs"][0]["url"]) <= 1024
    p.do("evaluate", expression="window.onbeforeunload = () => 'stay'; for (let i = 0; i < 3000; i++) console.log('y'.repeat(10000))")
    assert len(p.get("console", "?limit=1000")["messages"]) <= 500
    assert p.value("1 + 1") == 2
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def main():
    if not any(os.path.exists(p) for p in PROGRAMS):
        print("skipped: Chromium is not installed (apt-get install chromium-headless-shell)")
        sys.exit(77)
    wanted = sys.argv[1:]
    with Daemon() as d:
        for name, test in list(globals().items()):
            if name.startswith("test_") and callable(test) and (not wanted or name in wanted):
                test(d)
                print("ok", name, flush=True)


if __name__ == "__main__":
    main()
