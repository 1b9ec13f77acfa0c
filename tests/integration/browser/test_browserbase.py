#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Browserbase's stock SDK with Playwright and Puppeteer, on a real daemon with Debian's Chromium. test_browserbase.py [NAME…] runs some.

What the SDK does is in browserbase.mjs; here is what is around it: keys, a front that dies, a daemon that starts again, a browser that is killed."""
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(SOURCE, "tests/integration/serve"))
from daemon import CAY, PATIENCE_S, Daemon, wait_for  # noqa: E402

NPM = os.environ.get("CAY_BROWSER_NPM") or os.path.join(SOURCE, "build/npm/browser")
PROGRAMS = ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium"]
OWN = "a-key-of-the-operator"


def make_key(d, owner="ada"):
    return d.must(201, "POST", "/api/keys", {"owner": owner, "scope": "exec"}, token=False, unix=True)["key"]


def start_sdk(d, key, *steps, **env):
    folder = tempfile.mkdtemp(dir=d.folder)  # Playwright leaves files behind
    return subprocess.Popen(["node", os.path.join(HERE, "browserbase.mjs"), *steps], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, "TMPDIR": folder, "CAY_BROWSER_NPM": NPM, "CHROMIUM": next(filter(os.path.exists, PROGRAMS), ""), "BASE": f"http://127.0.0.1:{d.port}", "KEY": key, **env})


def sdk(d, key, *steps, **env):
    process = start_sdk(d, key, *steps, **env)
    out, _ = process.communicate(timeout=8 * PATIENCE_S)
    assert process.returncode == 0, out
    return out


def ask(d, key, method, path, body=None):
    return d.ask(method, path, body, token=False, headers={"X-BB-API-Key": key})


def drop_all(d):
    for box in d.must(200, "GET", "/api/sandboxes", token=d.make_token("--scope", "admin"))["sandboxes"]:
        d.must(200, "DELETE", f"/api/sandboxes/{box['sandbox_id']}", token=d.make_token("--scope", "admin"))


def test_life(d):
    key = make_key(d)
    sdk(d, key, "life")
    drop_all(d)
    sdk(d, key, "keep_alive", "puppeteer", "several")
    drop_all(d)


def test_recording(d):
    sdk(d, make_key(d), "recording")
    drop_all(d)


NOISE = """document.body.innerHTML = '<canvas width=1900 height=1100>'; const c = document.querySelector('canvas').getContext('2d');
  setInterval(() => { const i = c.createImageData(1900, 1100); const n = new Uint32Array(i.data.buffer);
  for (let k = 0; k < n.length; k++) n[k] = Math.random() * 2 ** 32 | 0xff000000; c.putImageData(i, 0, 0) }, 300) && 0"""


def resident(d):
    with open(f"/proc/{d.child('cay-front')}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS:"))


def unread_recordings():
    """Clients that ask for a recording with large frames and read nothing: what the daemon holds for them is within their owner's budget."""
    with Daemon("--client-memory", "64m", "--rate-limit", "0") as d:
        key = make_key(d)
        session = ask(d, key, "POST", "/v1/sessions", {"browserSettings": {"recordSession": True, "viewport": {"width": 1900, "height": 1100}}}).json["id"]
        box = f"/api/sandboxes/{session}/browser"
        d.must(200, "POST", box + "/evaluate", {"expression": NOISE}, token=key)
        wait_for("frames", lambda: d.must(200, "GET", box + "/recordings", token=key)["recordings"][0]["frames"] > 12)
        before, clients = resident(d), []
        for _ in range(200):
            clients.append(socket.socket())
            clients[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            clients[-1].connect(("127.0.0.1", d.port))
            clients[-1].sendall(f"GET /v1/sessions/{session}/recording HTTP/1.1\r\nHost: localhost\r\nX-BB-API-Key: {key}\r\n\r\n".encode())
        for c in clients:
            c.settimeout(PATIENCE_S)
            c.recv(1)
        grown = resident(d) - before
        print(f"  {grown >> 20} MiB for {len(clients)} clients", flush=True)
        assert grown < 104 << 20, grown
        for c in clients:
            c.close()
        drop_all(d)


def test_errors(d):
    sdk(d, make_key(d), "projects", "errors", OTHER_KEY=make_key(d, "eve"))
    # The operator's own key; one that is wrong; none; both fields of keys stay out of sandboxes.
    assert ask(d, OWN, "GET", "/v1/projects").json[0]["name"] == "default"
    got = ask(d, OWN + "x", "GET", "/v1/projects")
    assert got.status == 401 and got.headers["X-Should-Retry"] == "false" and got.json["statusCode"] == 401, got
    assert d.ask("GET", "/v1/sessions", token=False).status == 401
    got = ask(d, OWN, "GET", "/v1/nothing")
    assert got.status == 404 and got.json["error"] == "Not Found", got
    assert ask(d, OWN, "DELETE", "/v1/sessions").status == 405
    got = ask(d, OWN, "POST", "/v1/sessions", "{")
    assert got.status == 400, got
    drop_all(d)


def test_metadata_is_data(d):
    """Labels and metadata that were written without this API are told as they are: in nobody's list do they become other members, or break it."""
    token, session = d.make_token("--owner", "eve"), "12345678-1234-4234-8234-123456789abc"
    for text in ('1},"connectUrl":"ws://evil.example","x":{"y":2', "[1", "", "{} {}", "[" * 100 + "]" * 100):
        made = d.ask("POST", "/api/sandboxes", {"template": "browser", "name": session, "metadata": {"a": text, "b": '{"c": [2, null]}'},
                                                "labels": {"browserbase.session": "yes", "browserbase.values": "|a|b|"}}, token=token)
        assert made.status == 201, made
        for who in (token, d.make_token("--scope", "admin")):
            got = [s for s in ask(d, who, "GET", "/v1/sessions").json if s["id"] == session]
            assert len(got) == 1 and "connectUrl" not in got[0] and got[0]["userMetadata"] == {"a": text, "b": {"c": [2, None]}}, (text, got)
        d.must(200, "DELETE", f"/api/sandboxes/{made.json['sandbox_id']}", token=token)


def test_uploads(d):
    sdk(d, make_key(d), "uploads")
    drop_all(d)


def test_contexts(d):
    """Also that another owner cannot use one, and that it outlives the daemon."""
    key, other = make_key(d), make_key(d, "eve")
    sdk(d, key, "contexts")
    drop_all(d)
    context = sdk(d, key, "contexts", KEEP_CONTEXT="1").split("context ")[1].split()[0]
    drop_all(d)
    for method, path in (("GET", f"/v1/contexts/{context}"), ("DELETE", f"/v1/contexts/{context}")):
        assert ask(d, other, method, path).status == 404, path
    got = ask(d, other, "POST", "/v1/sessions", {"browserSettings": {"context": {"id": context}}})
    assert got.status == 404, got
    d.stop()
    d.start()
    sdk(d, key, "context_again", KEEP_CONTEXT=context)
    drop_all(d)


def find(d, session):
    return d.must(200, "GET", f"/api/sandboxes?name={session}", token=d.make_token("--scope", "admin"))["sandboxes"][0]


def test_ends(d):
    """A session that runs out of time, and one whose browser is killed."""
    key = make_key(d)
    process = start_sdk(d, key, "crash")
    session = process.stdout.readline().split()[1]
    box = find(d, session)["sandbox_id"]
    admin = d.make_token("--scope", "admin")
    kill = ("import os\nfor p in os.listdir('/proc'):\n if p.isdigit() and int(p) != os.getpid() and b'remote-debugging-pipe' in open(f'/proc/{p}/cmdline', 'rb').read():\n"
            "  os.kill(int(p), 9)")
    got = d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", kill]}, token=admin)
    assert got["exit_code"] == 0, got
    out, _ = process.communicate(timeout=4 * PATIENCE_S)
    assert process.returncode == 0, out
    got = d.must(200, "GET", f"/api/browsers?sandbox={box}", token=admin)["browsers"][0]
    assert got["status"] == "ended" and got["failed"] and not got["timed_out"], got
    left = find(d, session)["expires_in_ms"]
    assert 0 < left <= 300000, left  # it is not kept for its whole time
    sdk(d, key, "times_out")
    drop_all(d)


def test_front_dies(d):
    """A session outlives the front: it is shown as before, can be connected to and released."""
    key = make_key(d)
    made = ask(d, key, "POST", "/v1/sessions", {"keepAlive": True})
    assert made.status == 200, made
    session = made.json["id"]
    pid = d.child("cay-front")
    os.kill(pid, signal.SIGKILL)
    wait_for("another front", lambda: d.child("cay-front") != pid)

    def again():
        try:
            return ask(d, key, "GET", f"/v1/sessions/{session}")
        except OSError:
            return None

    got = wait_for("the session", lambda: (r := again()) and r.status == 200 and r).json
    assert got["status"] == "RUNNING" and got["startedAt"] == made.json["startedAt"] and got["connectUrl"], got
    got = ask(d, key, "POST", f"/v1/sessions/{session}", {"status": "REQUEST_RELEASE"})
    assert got.status == 200 and got.json["status"] == "COMPLETED", got
    drop_all(d)


def test_profile(d):
    """The same without Browserbase: a profile in a volume, downloads and logs by REST and by the command line."""
    env = {**os.environ, "CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_TOKEN": d.token}

    def cay(*words):
        return subprocess.run([CAY, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=True, env=env).stdout

    box = d.make(template="browser", timeout="10m", volumes=["me:/profile"])
    assert d.ask("POST", f"/api/sandboxes/{box}/browser", {"profile": "here"}).status == 400
    assert d.ask("POST", f"/api/sandboxes/{box}/browser", {"copy": True}).status == 400
    cay("browser", "start", box, "--profile", "/profile/p", "--logs")
    at = f"/api/sandboxes/{box}/browser"
    with open(os.path.join(HERE, "site.py"), encoding="utf-8") as f:
        d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", f.read()], "background": True})
    wait_for("the site", lambda: d.ask("POST", at + "/navigate", {"url": "http://127.0.0.1:8000/"}).status == 200)
    d.must(200, "POST", at + "/evaluate", {"expression": "document.cookie = 'who=me'; localStorage.x = 1; console.log('printed')"})
    d.must(200, "POST", at + "/click", {"target": "#file"})
    done = wait_for("the download", lambda: [x for x in d.must(200, "GET", at + "/downloads")["downloads"] if x["state"] == "completed"])
    assert (done[0]["name"], done[0]["error"]) == ("report.bin", None), done
    logs = d.must(200, "GET", at + "/logs")
    assert any(r["url"] == "http://127.0.0.1:8000/" and r["status"] == 200 for r in logs["requests"]), logs
    assert any(m["text"] == "printed" for m in logs["messages"]), logs
    d.must(200, "DELETE", at)
    for _ in range(2):  # after its end too
        archive = zipfile.ZipFile(io.BytesIO(d.must(200, "GET", at + "/downloads.zip")))
        assert archive.testzip() is None and {i.filename: archive.read(i) for i in archive.infolist()} == {"report.bin": b"downloaded bytes"}
    assert "report.bin" in cay("browser", "downloads", box) and "127.0.0.1:8000" in cay("browser", "logs", box)
    assert json.loads(cay("browser", "list", "--json"))["browsers"][0]["status"] == "ended"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    box = d.make(template="browser", timeout="10m", volumes=["me:/profile"])
    cay("browser", "start", box, "--profile", "/profile/p")
    names = [c["name"] for c in d.must(200, "GET", f"/api/sandboxes/{box}/browser/cookies")["cookies"]]
    assert names == ["who"], names
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_too_large(d):
    """A download that would not fit: cancelled, and its text says so."""
    box = d.make(template="browser", timeout="10m", limits={"disk": "64m"})
    at = f"/api/sandboxes/{box}/browser"
    d.must(200, "POST", at)
    serve = ("import http.server\nclass H(http.server.BaseHTTPRequestHandler):\n def do_GET(self):\n"
             "  self.send_response(200); self.send_header('Content-Length', str(1 << 30)); self.send_header('Content-Disposition', 'attachment; filename=big.bin'); self.end_headers()\n"
             "  for i in range(1024): self.wfile.write(bytes(1 << 20))\n"
             "http.server.ThreadingHTTPServer(('127.0.0.1', 8001), H).serve_forever()")
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", serve], "background": True})
    wait_for("the server", lambda: d.run(box, ["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8001))"])["exit_code"] == 0)
    d.ask("POST", at + "/navigate", {"url": "http://127.0.0.1:8001/"})
    (one,) = wait_for("its end", lambda: [x for x in d.must(200, "GET", at + "/downloads")["downloads"] if x["state"] == "canceled"])
    assert "the download is too large: it has 1024 MiB, and at most 64 MiB are kept" in one["error"], one
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def main():
    if not os.path.isdir(os.path.join(NPM, "node_modules")):
        print(f"skipped: {NPM} has no packages; scripts/bootstrap check fetches them")
        sys.exit(77)
    if not any(os.path.exists(p) for p in PROGRAMS):
        print("skipped: Chromium is not installed (apt-get install chromium-headless-shell)")
        sys.exit(77)
    wanted = sys.argv[1:]
    with Daemon("--browserbase-network", "bridge", "--allow-origins", "http://app.test", env={"BROWSERBASE_API_KEY": OWN}) as d:
        for name, test in list(globals().items()):
            if name.startswith("test_") and (not wanted or name in wanted):
                test(d)
                print("ok", name, flush=True)
    if not wanted or "unread_recordings" in wanted:
        unread_recordings()
        print("ok unread_recordings", flush=True)


if __name__ == "__main__":
    main()
