#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Browsers in sandboxes: Debian's Chromium, driven by stock Playwright and Puppeteer through a real daemon. test_browser.py [NAME…] runs some.

The pages (site.py) are served inside the sandbox: it has no network."""
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(SOURCE, "tests/integration/serve"))
from daemon import CAY, PATIENCE_S, Daemon, wait_for  # noqa: E402
from ws_client import Closed, Refused, WebSocket  # noqa: E402

NPM = os.environ.get("CAY_BROWSER_NPM") or os.path.join(SOURCE, "build/npm/browser")
PROGRAMS = ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium"]


def path(box, *more):
    return f"/api/sandboxes/{box}/browser" + "".join("/" + m for m in more)


def start_site(d, box):
    with open(os.path.join(HERE, "site.py"), encoding="utf-8") as f:
        d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", f.read()], "background": True})
    probe = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/frame')"
    wait_for("the site", lambda: d.run(box, ["python3", "-c", probe])["exit_code"] == 0)


def make(d, **fields):
    box = d.make(template="browser", timeout="10m", **fields)
    start_site(d, box)
    return box


def link(d, box):
    return d.must(201, "POST", path(box, "links"))["url"]


def clients(d, box, *steps, **env):
    with tempfile.TemporaryDirectory() as folder:  # Playwright leaves files behind
        r = subprocess.run(["node", os.path.join(HERE, "clients.mjs"), *steps], capture_output=True, text=True, timeout=4 * PATIENCE_S,
                           env={**os.environ, "TMPDIR": folder, "CAY_BROWSER_NPM": NPM, "CDP_URL": link(d, box), **env})
    assert r.returncode == 0, r.stdout + r.stderr


class Cdp:
    """A client that sends what it likes."""

    def __init__(self, d, box, **more):
        self.ws = WebSocket(d.port, path(box, "cdp"), more.pop("token", d.token), **more)
        self.last = 0

    def call(self, method, params=None, session=None):
        self.last += 1
        self.ws.send(json.dumps({"id": self.last, "method": method, "params": params or {}, **({"sessionId": session} if session else {})}))
        return self.answer(self.last)

    def answer(self, nr=None):
        while True:
            got = self.ws.read_json()
            if got.get("id") == nr:
                return got


def test_clients(d):
    box = make(d)
    got = d.must(200, "POST", path(box), {"width": 900, "height": 700})
    assert got["status"] == "running" and got["clients"] == 0 and "Chrome" in got["product"], got
    assert [t["url"] for t in got["tabs"]] == ["about:blank"], got
    again = d.must(200, "POST", path(box))
    assert again["exec_id"] == got["exec_id"], again  # one that runs stays
    clients(d, box, "playwright", "several", "large")
    wait_for("clients to be gone", lambda: d.must(200, "GET", path(box))["clients"] == 0)
    got = d.must(200, "GET", path(box))
    (one,) = got["downloads"]
    assert (one["name"], one["state"], one["bytes"]) == ("report.bin", "completed", 16), one
    assert d.run(box, ["cat", one["path"]])["stdout"] == "downloaded bytes"
    assert len(got["tabs"]) == 1 and got["tabs"][0]["url"] == "about:blank", got  # those of private contexts went with their clients
    # Nothing listens: the control channel is a pipe. It is no context either.
    assert ":8000" in listening(d, box) and len(listening(d, box).split()) == 1, listening(d, box)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/contexts") == {"contexts": []}
    clients(d, box, "by_http", HTTP_URL=f"http://127.0.0.1:{d.port}{path(box)}", TOKEN=d.token)
    clients(d, box, "open_frame", "crash")
    front_dies(d, box)
    out = subprocess.run([CAY, "browser", box, "--json"], capture_output=True, text=True, timeout=PATIENCE_S, check=True,
                         env={**os.environ, "CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_TOKEN": d.token}).stdout
    assert json.loads(out)["status"] == "running", out
    clients(d, box, "close")
    wait_for("its end", lambda: d.ask("GET", path(box)).status == 404)
    d.must(200, "POST", path(box))  # once more
    assert d.must(200, "DELETE", path(box))["stopped"]
    assert d.ask("GET", path(box)).status == 404
    d.must(200, "DELETE", path(box))
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def listening(d, box):
    """Addresses that something in the sandbox listens on."""
    code = ("for f in ('tcp', 'tcp6'):\n for l in open('/proc/net/' + f).read().splitlines()[1:]:\n  w = l.split()\n"
            "  if w[3] == '0A': print(':%d' % int(w[1].split(':')[1], 16))")
    return d.run(box, ["python3", "-c", code])["stdout"]


def front_dies(d, box):
    """A browser outlives the front, with its tabs; a client that hung on it is told."""
    one = Cdp(d, box)
    one.call("Target.setDiscoverTargets", {"discover": True})
    pid = d.child("cay-front")
    os.kill(pid, signal.SIGKILL)
    wait_for("another front", lambda: d.child("cay-front") != pid)

    def answers():
        try:
            return d.ask("GET", path(box)).status == 200
        except OSError:
            return False

    wait_for("the browser", answers)
    clients(d, box, "still_there", TITLE="Frame")


def test_protocol(d):
    """What a client may not do, and what it is told."""
    box = make(d)
    one, two = Cdp(d, box), Cdp(d, box)
    tab = one.call("Target.getTargets")["result"]["targetInfos"][0]["targetId"]
    session = one.call("Target.attachToTarget", {"targetId": tab, "flatten": True})["result"]["sessionId"]
    assert one.call("Page.enable", session=session)["result"] == {}
    assert two.call("Page.enable", session=session)["error"]["code"] == -32001
    assert two.call("Runtime.evaluate", {"expression": "1"}, session=session)["error"]["code"] == -32001
    for method in ("Target.exposeDevToolsProtocol", "Target.setRemoteLocations", "Tethering.bind", "Target.sendMessageToTarget"):
        got = two.call(method)
        assert got["error"]["code"] == -32000, got
    # A comment that would hide another client's session from who reads without comments.
    for text in ('{"id":77,"method":"Page.enable","params":{/*"*/},"sessionId":"%s"/*"*/}}' % session, "[]", '{"id":77', "{}\0{}"):
        two.ws.send(text)
        assert "error" in two.ws.read_json(), text
    two.ws.send('{"id":78,"method":"Page.n\\u0061vigate"}')
    assert two.answer(78)["error"]["code"] == -32600
    assert "result" in two.call("Browser.getVersion")
    assert one.call("Runtime.evaluate", {"expression": "6*7"}, session=session)["result"]["result"]["value"] == 42
    hostile(d, box, one, session)
    # Files are those of the sandbox, as its user sees them; process 1 and other users' files are not for it.
    for url, text in (("file:///etc/passwd", "sandbox"), ("file:///proc/1/environ", None), ("file:///root/x", None)):
        got = one.call("Page.navigate", {"url": url}, session=session)["result"]
        if text is None:
            assert got.get("errorText"), got
    refused(404, d, path("nosuchbox", "cdp"), d.token)
    refused(401, d, path(box, "cdp"), None)
    refused(404, d, path(box, "cdp"), d.make_token("--owner", "somebody", "--scope", "exec"))
    other = d.make(template="browser", timeout="5m")
    query = link(d, box).split("?")[1]
    refused(401, d, path(other, "cdp") + "?" + query, None)  # a link is good for one browser
    assert d.ask("GET", path(box) + "?" + query, token=None).status == 401  # and for nothing else
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    try:
        while True:
            one.ws.read()
    except Closed as c:
        assert c.code in (1000, 1011), c
    d.must(200, "DELETE", f"/api/sandboxes/{other}")


def hostile(d, box, one, session):
    """What a page can try, and what the processes that run it have: no more than anything else in the sandbox."""
    one.call("Page.navigate", {"url": "http://127.0.0.1:8000/frame"}, session=session)
    code = """(async () => { const out = [];
      for (const url of ['http://127.0.0.1:%d/api/health', 'http://10.0.0.1/', 'file:///etc/passwd', 'http://127.0.0.1:9222/json'])
        out.push(await fetch(url, {mode: 'no-cors'}).then(() => 'reached ' + url, () => 'no'));
      out.push(typeof window.cdp, typeof window.chrome?.send); return out.join(' ') })()""" % d.port
    wait_for("the page", lambda: one.call("Runtime.evaluate", {"expression": "location.pathname"}, session=session)
             .get("result", {}).get("result", {}).get("value") == "/frame")
    got = one.call("Runtime.evaluate", {"expression": code, "awaitPromise": True}, session=session)["result"]["result"]["value"]
    assert got == "no no no no undefined undefined", got
    look = ("import os\nfor p in os.listdir('/proc'):\n if p.isdigit() and b'chromium' in open(f'/proc/{p}/cmdline', 'rb').read():\n"
            "  s = dict(l.split(':\\t', 1) for l in open(f'/proc/{p}/status').read().splitlines() if ':\\t' in l)\n"
            "  print(s['Uid'].split()[0], s['CapEff'], s['CapBnd'], s['NoNewPrivs'], s['Seccomp'])")
    rows = d.run(box, ["python3", "-c", look])["stdout"].splitlines()
    assert len(rows) >= 3 and set(rows) == {"1001 0000000000000000 0000000000000000 1 2"}, rows
    assert d.run(box, ["unshare", "-U", "true"])["exit_code"] != 0  # the reason why Chromium's own sandbox is off


def refused(status, d, where, token):
    try:
        WebSocket(d.port, where, token)
    except Refused as r:
        assert r.status == status, (where, r.status, r.body)
    else:
        raise AssertionError(f"{where} was let in")


def test_causes(d):
    """Why there is no browser, in words."""
    for limits, words in (({"pids": 50}, "limits.pids: 50 is too few"), ({"memory": "128m"}, "limits.memory: 128 MiB is too little")):
        box = d.make(template="browser", limits=limits)
        got = d.ask("POST", path(box))
        assert got.status == 429 and words in got.json["error"]["message"], got
        refused(429, d, path(box, "cdp"), d.token)
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
    box = d.make(template="browser")
    assert d.run(box, ["rm", "-f", *PROGRAMS], user="root")["exit_code"] == 0  # in the sandbox's own layer
    got = d.ask("POST", path(box))
    assert got.status == 422 and "apt-get install chromium-headless-shell" in got.json["error"]["message"], got
    # One that ends at its start says why; one that is killed later too.
    fake = "printf '#!/bin/sh\\necho it is broken >&2; exit 3\\n' >/usr/lib/chromium/chromium; chmod 755 /usr/lib/chromium/chromium"
    assert d.run(box, ["sh", "-c", fake], user="root")["exit_code"] == 0
    got = d.ask("POST", path(box))
    assert got.status == 409 and "ended at its start" in got.json["error"]["message"] and "it is broken" in got.json["error"]["message"], got
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def main():
    if not os.path.isdir(os.path.join(NPM, "node_modules")):
        print(f"skipped: {NPM} has no packages; scripts/bootstrap check fetches them")
        sys.exit(77)
    if not any(os.path.exists(p) for p in PROGRAMS):
        print("skipped: Chromium is not installed (apt-get install chromium-headless-shell)")
        sys.exit(77)
    wanted = sys.argv[1:]
    with Daemon() as d:
        for name, test in list(globals().items()):
            if name.startswith("test_") and (not wanted or name in wanted):
                test(d)
                print("ok", name)


if __name__ == "__main__":
    main()
