#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signing in: one-time logins and cookies, what `cay serve` prints, TLS, names, settings. test_sign_in.py [NAME…] runs some."""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, Daemon, children, run_tests, wait_for  # noqa: E402
from ws_client import Refused, WebSocket  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LINK = re.compile(r"(https?://[^ /]+)/#login=([A-Za-z0-9_-]{43})\b")


def new_login(d, *flags):
    return LINK.fullmatch(d.make_token("--login", *flags)).group(2)


def sign_in(d, login, **headers):
    """The answer, and the cookie as a browser would send it back."""
    a = d.ask("POST", "/api/login", {"login": login}, token=None, headers=headers)
    return a, a.headers.get("Set-Cookie", "").split(";")[0]


def own(d):
    return f"http://127.0.0.1:{d.port}"


def by_cookie(d, method, path, cookie, body=None, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return d.ask(method, path, body, token=None, headers={"Cookie": cookie, **named})


def test_login(d):
    """A link signs in, once; what comes is a cookie that scripts and other sites never see."""
    base, login = LINK.search(d.make_token("--login", "--scope", "admin")).groups()
    assert base == own(d), base
    a, cookie = sign_in(d, login, Origin=own(d))
    assert a.status == 200 and (a.json["owner"], a.json["scope"]) == ("default", "admin"), a
    whole = a.headers["Set-Cookie"]
    assert set(whole.split("; ")[1:]) == {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=43200"}, whole
    assert a.headers["Cache-Control"] == "no-store" and "cays1." not in a.body.decode(), a
    who = by_cookie(d, "GET", "/api/whoami", cookie)
    assert who.status == 200 and who.json["credential"] == "session" and who.json["owner"] == "default", who
    again, none = sign_in(d, login)
    assert again.status == 403 and not none and again.json["error"]["field"] == "login", again
    for bad in ("", "x", login[:-1], login + "A", "A" * 43, "\u0000", "é" * 43):
        a, none = sign_in(d, bad)
        assert a.status in (400, 403) and not none, (bad, a)
    for body in ({}, {"login": None}, {"login": 5}, {"login": [login]}, {"login": login, "owner": "x"}, []):
        assert d.ask("POST", "/api/login", body, token=None).status == 400, body
    assert d.ask("GET", "/api/login?login=" + new_login(d), token=None).status == 405
    assert login not in d.log() and cookie.split("=")[1] not in d.log()
    # eight at once: exactly one gets in
    login = new_login(d)
    started = [d.connect() for _ in range(8)]
    for c in started:
        c.request("POST", "/api/login", json.dumps({"login": login}))
    assert sorted(c.getresponse().status for c in started) == [200] + [403] * 7
    for c in started:
        c.close()


def check_sockets(d, cookie):
    """A WebSocket has no preflight: with a cookie it needs the Origin of a page of ours, and runs nothing without."""
    box = d.make()
    path = f"/api/sandboxes/{box}/execute"
    for headers, status in [({}, 403), ({"Origin": "null"}, 403), ({"Origin": "https://evil.example"}, 403),
                            ({"Origin": own(d), "Sec-Fetch-Site": "cross-site", "Cookie": "a=b"}, 401)]:
        try:
            with WebSocket(d.port, path, headers={"Cookie": cookie, **headers}):
                raise AssertionError(headers)
        except Refused as refused:
            assert refused.status == status, (headers, refused)
    with WebSocket(d.port, path, headers={"Cookie": cookie, "Origin": own(d), "Sec-Fetch-Site": "same-origin"}) as ws:
        ws.send({"command": ["true"]})
        assert [e["event"] for e in ws.events()][-1] == "exited"
    assert len(d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"]) == 1
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_cookie(d):
    """What changes things, and WebSockets, need the Origin of a page of ours; a cookie is no token and a token no cookie."""
    _, cookie = sign_in(d, new_login(d))
    name, session = cookie.split("=", 1)
    assert by_cookie(d, "GET", "/api/sandboxes", cookie).status == 200
    for origin, status in [(None, 403), ("null", 403), ("https://evil.example", 403), (own(d) + ".evil.example", 403),
                           (f"https://127.0.0.1:{d.port}", 403), (f"http://127.0.0.1:{d.port + 1}", 403),
                           (own(d), 201), ("https://good.example", 201)]:
        headers = {"Origin": origin} if origin else {}
        a = by_cookie(d, "POST", "/api/sandboxes", cookie, {}, **headers)
        assert a.status == status, (origin, a)
        if status == 201:
            box = f"/api/sandboxes/{a.json['sandbox_id']}"
            assert by_cookie(d, "DELETE", box, cookie, Origin="https://evil.example").status == 403
            assert by_cookie(d, "DELETE", box, cookie).status == 403
            assert by_cookie(d, "DELETE", box, cookie, Origin=origin).status == 200
        else:
            assert a.json["error"]["code"] == "denied" and a.json["error"]["request_id"], a
    assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []
    check_sockets(d, cookie)
    for site, status in [("same-origin", 200), ("none", 200), ("cross-site", 401), ("same-site", 401), ("rubbish", 401)]:
        assert by_cookie(d, "GET", "/api/sandboxes", cookie, Sec_Fetch_Site=site).status == status, site
    assert by_cookie(d, "GET", "/api/sandboxes", cookie, Sec_Fetch_Site="cross-site",
                     Origin="https://good.example").status == 200
    # other forms of it are nobody's
    for text in (name + "=", name + "=" + session[:-1], f"{cookie}; {cookie}", f"{name}=x; {cookie}", f"x{cookie}",
                 "cay_session=" + session, name + "=" + d.token):
        assert by_cookie(d, "GET", "/api/sandboxes", text).status == 401, text
    assert by_cookie(d, "GET", "/api/sandboxes", f"a=b; {cookie};c=d").status == 200
    assert d.ask("GET", "/api/sandboxes", token=session).status == 401
    # a foreign page cannot sign somebody in, nor out
    login = new_login(d)
    assert sign_in(d, login, Origin="https://evil.example")[0].status == 403
    assert sign_in(d, login)[0].status == 200
    assert by_cookie(d, "POST", "/api/logout", cookie, Origin="https://evil.example").status == 403
    # logout: this session and no other
    _, other = sign_in(d, new_login(d))
    out = by_cookie(d, "POST", "/api/logout", cookie, Origin=own(d))
    assert out.status == 200 and "Max-Age=0" in out.headers["Set-Cookie"], out
    assert by_cookie(d, "GET", "/api/whoami", cookie).status == 401
    assert by_cookie(d, "GET", "/api/whoami", other).status == 200
    assert d.ask("POST", "/api/logout").status == 409
    # a stale cookie does not keep one from signing in again
    a = d.ask("POST", "/api/login", {"login": new_login(d)}, token=None, headers={"Cookie": cookie, "Origin": own(d)})
    assert a.status == 200, a


def test_who(d):
    key = json.loads(d.make_token("--key", "--owner", "robot", "--scope", "read"))["key"]
    assert d.must(200, "GET", "/api/whoami", token=key)["credential"] == "key"
    token = d.must(200, "GET", "/api/whoami")
    assert (token["owner"], token["scope"], token["credential"]) == ("default", "exec", "token"), token
    peer = d.must(200, "GET", "/api/whoami", token=None, unix=True)
    assert (peer["owner"], peer["scope"], peer["credential"]) == (f"uid:{os.getuid()}", "admin", "peer"), peer
    d.must(401, "GET", "/api/whoami", token=None)
    # logins are made by admins only, for whom they choose
    d.must(403, "POST", "/api/logins", {})
    d.must(400, "POST", "/api/logins", {"owner": "uid:0"}, token=None, unix=True)
    d.must(400, "POST", "/api/logins", {"scope": "root"}, token=None, unix=True)
    a, cookie = sign_in(d, new_login(d, "--owner", "alice", "--scope", "admin"))
    assert (a.json["owner"], a.json["scope"]) == ("alice", "admin"), a
    assert by_cookie(d, "GET", "/api/config", cookie).status == 200
    d.make_token("--revoke", json.loads(d.make_token("--list-keys"))["keys"][0]["key_id"])


NODE = r"""
const fs = require('fs');
const [script, base, fragment] = process.argv.slice(1);
const place = { textContent: '' };
let cookie = '';
globalThis.document = { getElementById: (id) => (id === 'who' ? place : null) };
globalThis.location = { hash: fragment, pathname: '/' };
globalThis.history = { replaceState: (a, b, to) => { location.hash = ''; location.pathname = to; } };
const real = fetch;
const open = [];
globalThis.fetch = (path, options = {}) => {
  const headers = { ...options.headers, Origin: base, ...(cookie ? { Cookie: cookie } : {}) };
  const asked = real(base + path, { ...options, headers }).then((r) => {
    const given = r.headers.get('set-cookie');
    if (given) cookie = given.split(';')[0];
    return r;
  });
  open.push(asked);
  return asked;
};
(0, eval)(fs.readFileSync(script, 'utf8'));
(async () => {
  for (let i = 0; i < 5000 && !place.textContent; i++) await new Promise((go) => setTimeout(go, 10));
  console.log(JSON.stringify({ text: place.textContent, hash: location.hash, path: location.pathname }));
})();
"""


def test_page(d):
    """The reference page's script takes the login out of the address, spends it and shows who is in."""
    page = d.ask("GET", "/reference", token=None)
    assert b"<script src=/login.js defer></script>" in page.body and b"id=who" in page.body, page
    policy = page.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy and "unsafe" not in policy and "default-src 'none'" in policy, policy
    script = d.ask("GET", "/login.js", token=None)
    assert script.status == 200 and script.headers["Content-Type"].startswith("text/javascript"), script
    node = shutil.which("node")
    if not node or int(subprocess.run([node, "--version"], capture_output=True, text=True, check=True,
                                      timeout=PATIENCE_S).stdout[1:].split(".")[0]) < 18:
        print("  no node with fetch here: the script is not run")
        return
    path = os.path.join(d.folder, "login.js")
    with open(path, "wb") as f:
        f.write(script.body)

    def visit(fragment):
        done = subprocess.run([node, "-e", NODE, path, own(d), fragment], capture_output=True, text=True, check=True,
                              timeout=PATIENCE_S)
        return json.loads(done.stdout)

    login = new_login(d, "--owner", "alice")
    assert visit("#login=" + login) == {"text": "Signed in as alice (exec).", "hash": "", "path": "/"}
    again = visit("#login=" + login)
    assert "works once" in again["text"] and again["hash"] == "", again
    assert "cay token --login" in visit("")["text"]


def paste(d, **env):
    """What is printed works as it stands, comments too: the line of the program itself, then those of curl."""
    lines = d.told[d.told.index("\n# "):]
    done = subprocess.run(["sh", "-c", lines], capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                          env={**os.environ, **env})
    own_line, _, answer = done.stdout.partition("\n")
    assert done.returncode == 0 and own_line == "hello", done
    assert json.loads(answer)["stdout"].startswith("hello from "), done
    boxes = d.must(200, "GET", "/api/sandboxes", token=None, unix=True)["sandboxes"]
    assert {b["owner"] for b in boxes} == {"default", f"uid:{os.getuid()}"}, boxes
    for box in boxes:
        d.must(200, "DELETE", f"/api/sandboxes/{box['sandbox_id']}", token=None, unix=True)


def test_printed_lines(d):
    paste(d)


def make_certificate(folder):
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True,
                   timeout=PATIENCE_S)
    return cert, key


class TlsDaemon(Daemon):
    """Says https:// where a plain one says http://."""

    def __init__(self, cert, key, folder):
        super().__init__("--tls-cert", cert, "--tls-key", key, folder=folder, scheme="https")
        self.cert = cert

    def connect(self, unix=False):
        if unix:
            return super().connect(True)
        import http.client
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S,
                                           context=ssl.create_default_context(cafile=self.cert))


def test_tls(_):
    folder = tempfile.mkdtemp(prefix="cay-tls-")
    try:
        cert, key = make_certificate(folder)
        with TlsDaemon(cert, key, folder) as d:
            assert d.must(200, "GET", "/api/whoami")["owner"] == "default"
            box = d.make()
            assert d.run(box, ["cat"], stdin="x" * 500000)["stdout"] == "x" * 500000
            d.must(200, "DELETE", f"/api/sandboxes/{box}")
            login = new_login(d)
            a, cookie = sign_in(d, login, Origin=f"https://127.0.0.1:{d.port}")
            assert a.status == 200 and "; Secure" in a.headers["Set-Cookie"] and cookie.startswith("__Host-"), a.headers
            assert by_cookie(d, "GET", "/api/whoami", cookie).status == 200
            assert by_cookie(d, "POST", "/api/logout", cookie, Origin=own(d)).status == 403  # http is another origin
            paste(d, CURL_CA_BUNDLE=cert)
            # plain HTTP at the TLS port gets nothing, and the next client is served
            s = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
            s.settimeout(PATIENCE_S)
            s.sendall(b"GET /api/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                assert b"200" not in s.recv(4096)
            except ConnectionError:
                pass
            s.close()
            old = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{d.port}", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
            assert old.returncode != 0 and "alert protocol version" in old.stderr, old
            d.must(200, "GET", "/api/version")
    finally:
        shutil.rmtree(folder)


def refused(flags, env=None):
    folder = tempfile.mkdtemp(prefix="cay-refused-")
    try:
        done = subprocess.run([CAY, "serve", "--data", folder + "/data", *flags], capture_output=True, text=True,
                              timeout=PATIENCE_S, env={"PATH": os.environ["PATH"], **(env or {})})
        assert done.returncode != 0 and done.stdout == "", (flags, done)
        assert not os.path.exists(folder + "/data"), flags  # before anything is made
        return done.stderr
    finally:
        shutil.rmtree(folder)


def test_refused_starts(_):
    """What would be unsafe or cannot work is refused before a socket is bound, with the remedy."""
    for flags, env in [(["--listen", "0.0.0.0:0"], {}), (["--listen", "[::]:0"], {}), (["--listen", "192.0.2.7:0"], {}),
                       ([], {"HOST": "0.0.0.0", "PORT": "0"}), (["--listen", "some.name.example:0"], {})]:
        said = refused(flags, env)
        assert "trusted_hosts" in said and "SANDBOX_TRUSTED_HOSTS" in said and "127.0.0.1" in said, said
    for flags, word in [(["--listen", "0.0.0.0:0", "--trusted-hosts", "*"], "name the hosts"),
                        (["--tls-cert", "/x"], "tls_key"), (["--tls-key", "/x"], "tls_cert"),
                        (["--allow-origins", "*"], "allow_origins"), (["--allow-origin-regex", "evil"], "^"),
                        (["--workspace-roots", "/"], "workspace_roots"), (["--token-secret", "abcdefghijk"], "token-secret")]:
        assert word in refused(flags), (flags, refused(flags))
    folder = tempfile.mkdtemp(prefix="cay-tls-")
    try:
        cert, key = make_certificate(folder)
        for pair in [(cert, "/nowhere/key"), ("/nowhere/cert", key), (key, key), (cert, cert)]:
            done = subprocess.run([CAY, "serve", "--data", folder + "/data", "--listen", "127.0.0.1:0", "--tls-cert", pair[0],
                                   "--tls-key", pair[1]], capture_output=True, text=True, timeout=PATIENCE_S)
            assert done.returncode != 0 and "TOKEN=" not in done.stdout, (pair, done)
            assert os.path.basename(pair[1]) in done.stderr or os.path.basename(pair[0]) in done.stderr, done.stderr
    finally:
        shutil.rmtree(folder)


def test_off_loopback_names(_):
    """With trusted_hosts another address may be listened on (here still one of this machine alone) and only those names count."""
    with Daemon("--listen", "127.0.0.2:0", "--trusted-hosts", "cay.example,.below.example", host="127.0.0.2") as d:
        for host, status in [("cay.example", 200), (f"cay.example:{d.port}", 200), ("x.below.example", 200),
                             (f"127.0.0.2:{d.port}", 200), ("localhost", 200), ("evil.example", 421),
                             ("cay.example.evil.example", 421), ("xbelow.example", 421), ("127.0.0.3", 421)]:
            assert d.ask("GET", "/api/version", headers={"Host": host}).status == status, host
        assert f"http://127.0.0.2:{d.port}/" in d.told, d.told
        login = new_login(d)
        assert sign_in(d, login, Host="cay.example", Origin="http://cay.example")[0].status == 200


def test_secrets_are_for_terminals(_):
    """The login and the token of the start are shown to a terminal and to nothing else: files and logs are read by many, for long."""
    with Daemon() as d:
        assert "#login=" not in d.told and "cay1." not in d.told + d.log() and " token --login --data " in d.told, d.told
    folder = tempfile.mkdtemp(prefix="cay-terminal-")
    master, slave = os.openpty()
    try:
        with open(os.path.join(folder, "err"), "wb") as err:
            p = subprocess.Popen([CAY, "serve", "--data", folder + "/data", "--listen", "127.0.0.1:0"], stdout=slave, stderr=err,
                                 stdin=subprocess.DEVNULL)
        text = ""
        try:
            while "/execute\r\n" not in text and select.select([master], [], [], PATIENCE_S)[0]:
                text += os.read(master, 4096).decode()
        finally:
            p.terminate()
            assert p.wait(PATIENCE_S) == 0
        assert LINK.search(text) and re.search(r"^TOKEN=cay1\.\S+\r$", text, re.M), text
        with open(os.path.join(folder, "err"), encoding="utf-8") as f:
            said = f.read()
        assert "#login=" not in said and "cay1." not in said, said
    finally:
        os.close(master)
        os.close(slave)
        shutil.rmtree(folder)


def test_ctrl_c(_):
    """Ctrl-C reaches the whole group at once: all three end, in order, with status 0."""
    folder = tempfile.mkdtemp(prefix="cay-ctrl-c-")
    try:
        with open(os.path.join(folder, "out"), "wb") as out, open(os.path.join(folder, "err"), "wb") as err:
            p = subprocess.Popen([CAY, "serve", "--data", folder + "/data", "--listen", "127.0.0.1:0"], stdout=out,
                                 stderr=err, start_new_session=True)
        d = Daemon(folder=folder)
        d.adopt(p)
        box = d.make()
        d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["sleep", "1000"], "background": True})
        kids = [pid for pid, _ in children(p.pid)]
        os.killpg(p.pid, signal.SIGINT)
        assert p.wait(PATIENCE_S) == 0, d.log()
        d.check_log()
        assert len(kids) >= 2 and not any(os.path.exists(f"/proc/{pid}") for pid in kids), kids
        assert not os.path.exists(folder + "/data/cay.sock")
    finally:
        if p.poll() is None:
            p.kill()
            p.wait(PATIENCE_S)
        shutil.rmtree(folder)


def take_port():
    """One of those that are given: no outgoing connection takes it while it is free for a moment."""
    s = socket.socket()
    for port in range(19000, 19999):
        with contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return s, port
    raise AssertionError("no port is free")


def test_make_run(_):
    """What `make run` does after its build: the first port if it is free, else another; a folder of its own."""
    script = os.path.join(ROOT, "scripts", "run_daemon")
    folder = tempfile.mkdtemp(prefix="cay-make-run-")
    taken, port = take_port()
    env = {k: v for k, v in os.environ.items() if k not in ("PORT", "HOST") and not k.startswith(("CAY_", "SANDBOX_"))}
    try:
        for busy in (True, False):
            if busy:
                taken.listen()
            else:
                taken.close()
            with open(os.path.join(folder, "out"), "wb") as out, open(os.path.join(folder, "err"), "wb") as err:
                p = subprocess.Popen([script, os.path.dirname(CAY), folder + "/data", str(port)], stdout=out, stderr=err,
                                     env=env, start_new_session=True)
            d = Daemon(folder=folder)
            try:
                d.adopt(p)
                assert (d.port != port) == busy, (d.port, port, busy)
                assert d.must(200, "GET", "/api/whoami")["owner"] == "default"
                assert sign_in(d, new_login(d))[0].status == 200
                paste(d)
            finally:
                os.killpg(p.pid, signal.SIGINT)
                status = p.wait(PATIENCE_S)
            assert status == 0, d.log()
            d.check_log()
    finally:
        taken.close()
        shutil.rmtree(folder)


# Document 003's variables: what they are called here, a value, how `cay config` shows it.
VARIABLES = [
    ("SANDBOX_TOKEN_SECRET", "token_secret", "a-shared-secret-of-two", "(set)"),
    ("SANDBOX_ALLOW_ORIGINS", "allow_origins", "http://localhost:3000,https://app.example",
     "http://localhost:3000,https://app.example"),
    ("SANDBOX_ALLOW_ORIGIN_REGEX", "allow_origin_regex", r"^https?://([a-z0-9-]+\.)*pages\.example$",
     r"^https?://([a-z0-9-]+\.)*pages\.example$"),
    ("SANDBOX_TRUSTED_HOSTS", "trusted_hosts", "cay.example", "cay.example"),
    ("SANDBOX_MAX_MEMORY_MB", "max_memory", "1024", "1g"),
    ("SANDBOX_MAX_CPU_PERCENT", "max_cpu", "50.0", "50"),
    ("SANDBOX_MODE", "sandbox_mode", "1", "true"),
    ("SANDBOX_SERVICE_URL", "service_url", "http://sandbox.internal:8888", "http://sandbox.internal:8888"),
    ("SANDBOX_MAX_SANDBOXES", "max_sandboxes", "3", "3"),
    ("SANDBOX_MAX_PIDS", "max_pids", "77", "77"),
    ("PORT", "port", "0", "0"),
    ("HOST", "host", "127.0.0.1", "127.0.0.1"),
]


def unquote(text):
    text = text.strip()
    return json.loads(text) if text.startswith('"') else text


def test_variables(_):
    """Each is a row of the table, shown by `cay config` with where it came from, and has its effect on the daemon."""
    env = {name: value for name, _, value, _ in VARIABLES}
    shown = subprocess.run([CAY, "config"], capture_output=True, text=True, check=True, timeout=PATIENCE_S,
                           env={"PATH": os.environ["PATH"], **env}).stdout
    rows = {}
    for line in shown.splitlines():
        if " = " in line and not line.startswith("#"):
            key, _, rest = line.partition(" = ")
            value, _, origin = rest.rpartition(" # ")
            rows[key.strip()] = (value, origin)
    for name, key, _, want in VARIABLES:
        value, origin = rows[key]
        assert unquote(value).replace(", ", ",") == want and name in origin, (name, rows[key])
    assert env["SANDBOX_TOKEN_SECRET"] not in shown
    for name, value, word in [("SANDBOX_MODE", "0", "sandbox_mode"), ("SANDBOX_MAX_MEMORY_MB", "lots", "SANDBOX_MAX_MEMORY_MB"),
                              ("SANDBOX_MAX_CPU_PERCENT", "NaN", "SANDBOX_MAX_CPU_PERCENT"), ("PORT", "70000", "PORT"),
                              ("SANDBOX_TOKEN_SECRET", "short", "SANDBOX_TOKEN_SECRET"),
                              ("SANDBOX_ALLOW_ORIGIN_REGEX", "(", "SANDBOX_ALLOW_ORIGIN_REGEX")]:
        said = refused([], {"PORT": "0", name: value})
        assert word in said, (name, said)
        assert name != "SANDBOX_TOKEN_SECRET" or "short" not in said.replace("too short", ""), said
    env.pop("PORT")
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("stop_timeout = 9s\nrate_limit = 1000\n")
        file.flush()
        check_daemon(env, file.name)


def check_daemon(env, file):
    with Daemon("--config", file, "--rate-burst", "500", env=env) as d:
        admin = {"token": None, "unix": True}
        config = d.must(200, "GET", "/api/config", **admin)
        for name, key, _, want in VARIABLES:
            value = "(hidden)" if want == "(set)" else want
            if name != "PORT":
                assert config[key]["value"].replace(", ", ",") == value, (name, config[key])
        # Where each came from, also for a daemon whose programs were handed their settings.
        for key, source in [("max_sandboxes", "environment"), ("token_secret", "environment"), ("rate_burst", "flag"), ("port", "flag"),
                            ("data", "flag"), ("config", "flag"), ("stop_timeout", "file"), ("rate_limit", "file"), ("body_timeout", "default")]:
            assert config[key]["source"] == source, (key, config[key])
        assert config["config"]["value"] == file, config["config"]
        # a token made with the secret alone, as the document's backend does
        script = os.path.join(ROOT, "docs", "tokens.md")
        with open(script, encoding="utf-8") as f:
            program = f.read().split("<!-- example: python -->")[1].split("```python\n")[1].split("```")[0]
        token = subprocess.run(["python3", "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE_S,
                               env={**os.environ, "SANDBOX_TOKEN_SECRET": env["SANDBOX_TOKEN_SECRET"]}).stdout.strip()
        assert d.must(200, "GET", "/api/whoami", token=token)["owner"] == "alice"
        assert d.ask("GET", "/api/version", headers={"Host": "cay.example"}).status == 200
        for origin, fine in [("http://localhost:3000", True), ("https://a-1.pages.example", True),
                             ("https://pages.example.evil", False), ("http://localhost:3001", False)]:
            a = d.ask("GET", "/api/version", headers={"Origin": origin})
            assert (a.headers.get("Access-Control-Allow-Origin") == origin) == fine, (origin, a.headers)
        boxes = [d.make(own_user_only=True) for _ in range(3)]
        assert d.ask("POST", "/api/sandboxes", {}).status == 429
        for box in boxes:
            d.must(200, "DELETE", f"/api/sandboxes/{box}")


SHARED = [test_login, test_cookie, test_who, test_page, test_printed_lines]
ALONE = [test_tls, test_refused_starts, test_off_loopback_names, test_secrets_are_for_terminals, test_ctrl_c, test_make_run, test_variables]


def main():
    with Daemon("--rate-limit", "0", "--allow-origins", "https://good.example", "--log-level", "debug") as d:
        run_tests(SHARED + ALONE, d)


if __name__ == "__main__":
    main()
