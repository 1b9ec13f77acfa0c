#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The threat model's table for the API, one function per row, under the row's name. test_security_api.py [NAME…] runs some.

Not here yet, because what they are about is not there yet: yaml (templates from files), ssrf (the remote tunnel), and the MCP
columns. auth_expired with a clock that is set back: tests/unit/domain/auth/test_token_clock.c."""
import base64
import hashlib
import hmac
import json
import os
import re
import select
import socket
import string
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import PATIENCE_S, Daemon, children, run_tests, wait_for  # noqa: E402
from ws_client import BINARY, CONTINUATION, PING, TEXT, Closed, Refused, WebSocket  # noqa: E402

SECRET = "the-secret-of-this-test-0123456789"
GOOD_ORIGIN = "https://good.example"


# Tools

def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(payload, secret=SECRET, word="cay1."):
    """A token as docs/tokens.md describes it; payload: the claims, or their text."""
    if not isinstance(payload, (str, bytes)):
        payload = json.dumps(payload)
    signed = word + b64(payload if isinstance(payload, bytes) else payload.encode())
    return signed + "." + b64(hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest())


def token_for(owner, scope="exec"):
    return sign(claims(o=owner, s=scope))


def claims(**more):
    return {"o": "default", "s": "exec", "e": int(time.time()) + 600, "i": "t", **more}


def raw(d, data, unix=False, half_close=False):
    """What comes back for bytes that no client library would send: everything until the server closes."""
    with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as s:
        s.settimeout(PATIENCE_S)
        s.connect(d.socket if unix else ("127.0.0.1", d.port))
        try:
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
        except ConnectionError:
            pass
        got = b""
        try:
            while more := s.recv(65536):
                got += more
        except ConnectionError:
            pass
        return got


def request(d, method, path, *lines, body=b"", close=True, token=True):
    head = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if token:
        head.append("Authorization: Bearer " + d.token)
    head += list(lines) + (["Connection: close"] if close else [])
    return ("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + body


def statuses(got):
    return [int(s) for s in re.findall(rb"(?:^|\r\n\r\n|[}\n])HTTP/1\.1 (\d{3}) ", got)]


def check_error(answer, *allowed):
    """The one form of errors."""
    assert answer.status in allowed, (allowed, answer)
    error = answer.json["error"]
    assert set(error) - {"first", "reason"} == {"code", "message", "field", "request_id"}, answer
    assert error["code"] and error["message"] and error["request_id"] == answer.headers["X-Request-Id"], answer
    return error


def without_id(answer):
    error = dict(answer.json["error"])
    error.pop("request_id")
    return json.dumps(error, sort_keys=True)


def nothing_made(d):
    assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []


VALUES = {  # for fields that an op needs
    "command": ["true"], "path": "a", "to": "b", "signal": "TERM", "timeout": 5, "rows": 1, "cols": 1, "data": "x",
    "code": "1", "host": "a.example", "header": "Authorization", "value": "x", "owner": "x", "login": "x", "label": "a", "name": "x", "port": 80, "message": "x", "pattern": "x",
    "url": "http://a.example/", "go": "back", "target": "a", "values": ["a"], "files": ["a"], "expression": "1",
    "x": 1, "y": 1, "to_x": 1, "to_y": 1, "direction": "up", "keys": "a", "text": "a", "snapshot": "x",
}


def ops(d):
    return d.must(200, "GET", "/api/reference", token=None)["ops"]


def fill(op, names):
    """(method, path, body) of a request that is well-formed for this op."""
    method, path = op["route"].split(" ")
    query, body = [], {}
    for f in op["fields"]:
        if f["in"] == "path":
            path = path.replace("{" + f["name"] + "}", str(names.get(f["name"], "x")))
        elif f["required"]:
            value = VALUES[f["name"]]  # a new one? say what is good for it
            if f["in"] == "body":
                body[f["name"]] = value
            else:
                query.append(f"{f['name']}={value}")
    assert "{" not in path, op
    if query:
        path += "?" + "&".join(query)
    if op["raw_body"]:
        return method, path, b""
    return method, path, None if method in ("GET", "DELETE") and not body else body


# auth

def test_auth_missing(d):
    bodies = set()
    for op in ops(d):
        if op["scope"] == "anybody":
            continue
        method, path, body = fill(op, {})
        a = d.ask(method, path, body, token=None)
        check_error(a, 401)
        assert a.headers["WWW-Authenticate"] == "Bearer", (op["name"], a.headers)
        bodies.add(without_id(a))
    for method in ("GET", "POST", "DELETE"):
        a = d.ask(method, "/api/sandboxes/x/ports/80/", token=None)
        check_error(a, 401)
        bodies.add(without_id(a))
    assert len(bodies) == 1, bodies
    # what anybody may ask is this and no more
    assert {op["name"] for op in ops(d) if op["scope"] == "anybody"} == {
        "health_live", "health_ready", "login_use", "service_health", "service_healthz", "service_sandbox_health"}


def forged(d):
    good = d.token
    word, payload, mac = good.split(".")
    text = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    yield from ("", " ", "x", good[:-1], good[:-20], good[: len(good) // 2], good + "=", good + "A", good + ".", "." + good)
    yield from (f"{word}.{payload}", f"{word}.{payload}.", f"{word}..{mac}", f".{payload}.{mac}", payload, mac)
    yield f"{word}.{payload}.{mac[:-1]}{'A' if mac[-1] != 'A' else 'B'}"
    yield f"{word}.{payload}.{mac.upper()}"
    yield f"cay2.{payload}.{mac}"
    yield f"cays1.{payload}.{mac}"
    yield f"none.{payload}."
    yield f"{word}.{b64(text.replace(b'exec', b'admin'))}.{mac}"
    yield f"{word}.{b64(text.replace(b'default', b'root'))}.{mac}"
    yield f"{word}.{b64(b'{}')}.{mac}"
    yield f"{word}.{b64(b'[' * 200)}.{mac}"
    yield sign(claims(), secret="another-secret-entirely")
    yield sign(claims(), secret="")
    yield sign(claims(), word="cays1.")
    yield b64(b'{"alg":"none"}') + "." + payload + "."
    yield b64(b'{"alg":"HS256"}') + "." + payload + "." + mac
    yield "a" * 20000
    yield "cayk_" + "a" * 38
    yield "cayk_" + "a" * 20000
    for bad in (b"", b"{", b"null", b"[]", b'"x"', b"{}", b"\xff", b'{"o":"a"}', json.dumps(claims(s="root")).encode(),
                json.dumps(claims(s="")).encode(), json.dumps(claims(o="")).encode(), json.dumps(claims(o="a b")).encode(),
                json.dumps(claims(o="../x")).encode(), json.dumps(claims(o="a\u0000b")).encode(),
                json.dumps(claims(x=1)).encode(), json.dumps(claims(i="a b")).encode(), json.dumps(claims(i=5)).encode(),
                json.dumps(claims()).encode() + b" {}", json.dumps(claims())[:-1].encode() + b',"o":"root"}',
                json.dumps(claims(o=["default"])).encode(), json.dumps(claims(o="x" * 64)).encode()):
        yield sign(bad)


def test_auth_forged(d):
    bodies = set()
    for token in forged(d):
        a = d.ask("GET", "/api/sandboxes", token=None, headers={"Authorization": "Bearer " + token})
        check_error(a, 401)
        bodies.add((without_id(a), a.headers["WWW-Authenticate"]))
    assert len(bodies) == 1, bodies
    twice = raw(d, request(d, "GET", "/api/sandboxes", "Authorization: Bearer " + d.token))
    assert statuses(twice) == [401], twice
    for size, allowed in ((60000, (431, 401)), (20000, (401,))):
        got = raw(d, request(d, "GET", "/api/sandboxes", "Authorization: Bearer " + "a" * size, token=False))
        assert statuses(got)[0] in allowed, got[:100]
    assert d.ask("GET", "/api/sandboxes", token=sign(claims())).status == 200  # the test's own hand is right


def test_auth_timing(d):
    """Structure, not a stopwatch: the payload is not looked at before the MAC is right, and every refusal takes the same road."""
    def why(token):
        before = len(d.log())
        a = d.ask("GET", "/api/sandboxes", token=token)
        assert a.status == 401, a
        return re.search(r"token refused why=(\w+)", d.log()[before:]).group(1), without_id(a)

    mac = d.token.split(".")[2]
    seen = [why(f"cay1.{b64(text)}.{mac}") for text in (b"{", b"\xff\xfe", b"[" * 100, json.dumps(claims(e=1)).encode(),
                                                       json.dumps(claims(o="?")).encode())]
    assert {reason for reason, _ in seen} == {"forged"}, seen
    inside = [why(sign(text)) for text in (b"{", json.dumps(claims(e=1)), json.dumps(claims(o="?")))]
    assert [reason for reason, _ in inside] == ["malformed", "expired", "malformed"], inside
    expired = inside.pop(1)[1]  # its holder had it from us: that its time is over tells nothing new
    assert "this token has expired" in str(expired) and "cay token" in str(expired), expired
    assert len({body for _, body in seen + inside}) == 1
    a = d.ask("GET", "/api/sandboxes", token=sign(claims(e=1)))
    assert a.headers["WWW-Authenticate"] == 'Bearer error="invalid_token", error_description="the token has expired"', a.headers
    a = d.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, token=sign(claims(e=1)))
    assert a.status == 401 and "this token has expired" in a.json["error_description"], a


def test_auth_expired(d):
    now = int(time.time())
    for expiry in (now - 1, now, 0, 1, -1, 2**63, 2**64, 2**64 + now, 1e9, "x", None, True, [now + 60], now + 2 * 86400):
        assert d.ask("GET", "/api/sandboxes", token=sign(claims(e=expiry))).status == 401, expiry
    assert d.ask("GET", "/api/sandboxes", token=sign(claims(e=now + 86000))).status == 200
    no_expiry = {k: v for k, v in claims().items() if k != "e"}
    assert d.ask("GET", "/api/sandboxes", token=sign(no_expiry)).status == 401
    short = sign(claims(e=int(time.time()) + 2))
    wait_for("its end", lambda: d.ask("GET", "/api/sandboxes", token=short).status == 401)


def test_auth_other_places(d):
    for name in ("token", "access_token", "api_key", "authorization", "Authorization", "bearer"):
        assert d.ask("GET", f"/api/sandboxes?{name}={d.token}", token=None).status == 401, name
        assert d.ask("GET", f"/api/sandboxes?{name}={d.token}").status == 400, name
        assert d.ask("POST", "/api/sandboxes", {name: d.token}, token=None).status == 401, name
        check_error(d.ask("POST", "/api/sandboxes", {name: d.token}), 400)
    for headers in ({"Cookie": f"token={d.token}"}, {"X-Api-Key": d.token + "x"}, {"X-Api-Key": ""}, {"X-Authorization": "Bearer " + d.token},
                    {"Proxy-Authorization": "Bearer " + d.token}, {"Authorization": d.token},
                    {"Authorization": "Basic " + b64(("x:" + d.token).encode())}, {"Authorization": "Token " + d.token},
                    {"Authorization": "Bearer"}, {"Authorization": "Bearer\t" + d.token},
                    {"Cookie": f"cay_session_{d.port}={d.token}"}):
        assert d.ask("GET", "/api/sandboxes", token=None, headers=headers).status == 401, headers
    assert d.ask("GET", "/api/sandboxes", token=None, headers={"X-Api-Key": d.token}).status == 200  # as clients of E2B send theirs
    nothing_made(d)


def at_once(count, work):
    """The results of so many calls that start together."""
    gate, results = threading.Barrier(count), [None] * count

    def one(i):
        gate.wait(PATIENCE_S)
        results[i] = work(i)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE_S)
    return results


def test_single_use(d):
    made = at_once(8, lambda _: d.ask("POST", "/api/sandboxes", {"execution_id": "create-once"}))
    assert sorted(a.status for a in made) == [201] + [409] * 7, made
    box = next(a.json["sandbox_id"] for a in made if a.status == 201)
    for a in made:
        if a.status == 409:
            assert check_error(a, 409)["first"] in (box, ""), a
    ran = at_once(8, lambda i: d.ask("POST", f"/api/sandboxes/{box}/execute",
                                     {"command": "echo x >>f"}, headers={"Idempotency-Key": "run-once"}))
    assert sorted(a.status for a in ran) == [200] + [409] * 7, ran
    assert d.run(box, ["cat", "f"])["stdout"] == "x\n"
    # unique per owner: somebody else's id is not taken by mine
    other = token_for("other")
    mine = d.must(201, "POST", "/api/sandboxes", {"execution_id": "create-once"}, token=other)["sandbox_id"]
    d.must(200, "DELETE", f"/api/sandboxes/{mine}", token=other)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    check_error(d.ask("POST", "/api/sandboxes", {"execution_id": "create-once"}), 409)  # also when what it made is gone


# tenants

def upgrade(d, path, token, origin=None):
    """The status of a refused upgrade; of one that is refused later, its error's code as a status."""
    headers = {"Origin": origin} if origin else {}
    try:
        with WebSocket(d.port, path, token=token, headers=headers) as ws:
            ws.send({"command": ["true"]})
            message = ws.read_json()
            if "error" in message:
                return {"not_found": 404, "denied": 403, "unauthenticated": 401}[message["error"]["code"]]
            return 101
    except Refused as refused:
        return refused.status
    except Closed as closed:
        return closed.code


def test_tenant_cross(d):
    box = d.make(name="mine")
    ran = d.run(box, ["true"])["exec_id"]
    admin_only = {"config_get", "token_make", "key_make", "key_list", "key_revoke", "login_make",
                  "recover_list", "recover_adopt", "recover_remove"}
    other = token_for("stranger")
    with_id = [op for op in ops(d) if "{id}" in op["route"]]
    assert len(with_id) > 20, len(with_id)
    for op in with_id:
        for one in (box, "mine"):
            asked = fill(op, {"id": one, "exec": ran, "exec_id": ran})
            a = d.ask(*asked, token=other)
            error = check_error(a, 404)
            assert error["code"] == "not_found", (op["name"], a)
            # not to be told from what was never there
            never = "a" * 28 if one == box else "ours"
            b = d.ask(*fill(op, {"id": never, "exec": ran, "exec_id": ran}), token=other)
            assert b.status == 404 and b.json["error"]["message"].replace(never, one) == error["message"], (op["name"], a, b)
    for op in ops(d):
        if op["name"] in admin_only:
            check_error(d.ask(*fill(op, {}), token=other), 403)
            admin_only.discard(op["name"])
    assert not admin_only, admin_only
    for path in (f"/api/sandboxes/{box}/ports/80/", f"/api/sandboxes/{box}/ports/80/a?b=c", "/api/sandboxes/mine/ports/80/"):
        for method in ("GET", "POST", "PUT", "DELETE"):
            check_error(d.ask(method, path, token=other), 404)
        assert upgrade(d, path, other) == 404, path
    for path in (f"/api/sandboxes/{box}/execute", f"/api/sandboxes/{box}/execs/{ran}/output"):
        assert upgrade(d, path, other) == 404, path
    assert d.must(200, "GET", "/api/sandboxes", token=other)["sandboxes"] == []
    assert d.must(200, "GET", "/api/events?limit=1000", token=other)["events"] == []
    assert d.must(200, "POST", "/api/sandboxes/cleanup", {"template": "host", "dry_run": True}, token=other)["sandboxes"] == []
    # who follows what happens hears of their own alone
    for path in ("/api/events?follow=true&new_only=true", f"/api/sandboxes/{box}/events?follow=true"):
        r, c = d.begin("GET", path, token=other)
        assert r.status in (200, 404), r.status
        d.run(box, ["true"])
        theirs = d.must(201, "POST", "/api/sandboxes", {}, token=other)["sandbox_id"]
        if box not in path:
            first = json.loads(next(line for line in r if line.strip()))
            assert first["sandbox_id"] == theirs, first
        else:
            assert r.status == 404 or not select.select([c.sock], [], [], 0.3)[0]
        c.close()
        d.must(200, "DELETE", f"/api/sandboxes/{theirs}", token=other)
    assert d.must(200, "GET", f"/api/sandboxes/{box}")["status"] == "ready"
    # the name is free for the other
    theirs = d.must(201, "POST", "/api/sandboxes", {"name": "mine"}, token=other)["sandbox_id"]
    assert d.must(200, "GET", "/api/sandboxes/mine", token=other)["sandbox_id"] == theirs
    assert d.must(200, "GET", "/api/sandboxes/mine")["sandbox_id"] == box
    d.must(200, "DELETE", f"/api/sandboxes/{theirs}", token=other)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_id_guess(d):
    ids = []
    for _ in range(40):
        ids.append(d.make(own_user_only=True))
        d.must(200, "DELETE", f"/api/sandboxes/{ids[-1]}")
    assert len(set(ids)) == len(ids) and {len(i) for i in ids} == {28}
    letters = set(string.ascii_lowercase + string.digits)
    assert all(set(i) <= letters for i in ids)
    # at 5 bits each, 20 places that vary freely are 100 bits
    free = [k for k in range(28) if len({i[k] for i in ids}) >= 15]
    assert len(free) >= 20, (free, ids[:3])
    box = d.make()
    for part in (box[:-1], box[:8], box + "a", box.upper(), box[:-1] + "%00", box + "%20", "*", "%2a", box + "%2f"):
        assert d.ask("GET", f"/api/sandboxes/{part}").status in (400, 404), part
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


# names and pages

FOREIGN_HOSTS = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8888", "10.0.0.1",
                 "169.254.169.254", "0.0.0.0", "[::2]", "xn--lcalhost-2fb", "localhost.", "2130706433", "127.1", "[::ffff:10.0.0.1]"]


def test_host_rebinding(d):
    box = d.make()
    before = len(d.log())
    for host in FOREIGN_HOSTS:
        for method, path, headers in (("GET", "/api/sandboxes", {}), ("POST", "/api/sandboxes", {}), ("GET", "/", {}),
                                      ("GET", "/login.js", {}), ("GET", "/reference.css", {}), ("GET", "/api/reference", {}),
                                      ("GET", "/api/events", {"Accept": "text/event-stream"}),
                                      ("POST", "/api/login", {}), ("GET", f"/api/sandboxes/{box}/ports/80/", {}),
                                      ("OPTIONS", "/api/sandboxes", {}), ("GET", "/nowhere", {})):
            a = d.ask(method, path, headers={"Host": host, **headers})
            assert check_error(a, 421, 400)["code"] in ("wrong_host", "invalid"), (host, path, a)
        for path in (f"/api/sandboxes/{box}/execute", f"/api/sandboxes/{box}/ports/80/"):
            try:
                with WebSocket(d.port, path, token=d.token, headers={"Host": host}):
                    raise AssertionError((host, path))
            except Refused as refused:
                assert refused.status in (421, 400), (host, path, refused)
    assert "op=sandbox" not in d.log()[before:]  # before routing
    live = d.ask("GET", "/api/health/live", token=None, headers={"Host": "evil.example"})
    assert live.status == 200 and set(live.json) == {"status", "version"}, live
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    nothing_made(d)


def test_host_ambiguous(d):
    def ask(*lines, target="/api/sandboxes"):
        text = "\r\n".join([f"GET {target} HTTP/1.1", f"Authorization: Bearer {d.token}", "Connection: close", *lines])
        return statuses(raw(d, (text + "\r\n\r\n").encode("latin-1")))[0]

    assert ask("Host: localhost") == 200
    for lines in ([], ["Host:"], ["Host: localhost", "Host: localhost"], ["Host: localhost", "Host: evil.example"],
                  ["Host: evil.example", "Host: localhost"], ["Host: user@localhost"], ["Host: localhost@evil.example"],
                  ["Host: localhost, evil.example"], ["Host: localhost evil.example"], ["Host: localhost/evil"],
                  ["Host: localhost#x"], ["Host: localhost?x"], ["Host: localhost:x"], ["Host: localhost:99999"],
                  ["Host: localhost:"], ["Host : localhost"], [" Host: localhost"], ["Host: [::1"], ["Host: ::1"],
                  ["Host: localhost\\evil"], ["Host: http://localhost"], ["Host: %6cocalhost"], ["Host: local\x00host"]):
        assert ask(*lines) in (400, 403, 421), lines
    for target in ("http://evil.example/api/sandboxes", "http://localhost@evil.example/api/sandboxes", "//evil.example/api/sandboxes",
                   "http://evil.example:80/", "evil.example:80", "https://localhost/api/sandboxes/../..", "http:///api/sandboxes",
                   "ftp://localhost/api/sandboxes"):
        assert ask("Host: localhost", target=target) in (400, 403, 404, 421), target
    assert ask("Host: evil.example", target="http://localhost/api/sandboxes") in (200, 400, 421)
    old = raw(d, f"GET /api/sandboxes HTTP/1.0\r\nAuthorization: Bearer {d.token}\r\n\r\n".encode())
    assert statuses(old)[0] in (400, 421), old


BAD_ORIGINS = ["https://evil.example", "null", "NULL", "https://good.example.evil.example", "https://evilgood.example", "file://",
               "http://good.example", "https://good.example:444", "https://good.example/", "https://good.example, https://x.example",
               "https://GOOD.example.evil", "chrome-extension://abc", "*", "", "https://good.example\t"]


def test_cors(d):
    for path in ("/api/sandboxes", "/", "/api/health/live", "/api/login", "/nowhere", "/login.js"):
        for origin in BAD_ORIGINS:
            a = d.ask("GET", path, headers={"Origin": origin})
            b = d.ask("OPTIONS", path, token=None, headers={"Origin": origin, "Access-Control-Request-Method": "POST",
                                                            "Access-Control-Request-Headers": "authorization"})
            for answer in (a, b):
                if origin == "https://good.example\t":  # blanks around a value are no part of it
                    continue
                assert not [h for h in answer.headers if h.lower().startswith("access-control-allow")], (origin, answer.headers)
            if origin != "https://good.example\t":
                assert b.status == 403, (origin, b)
        a = d.ask("GET", path, headers={"Origin": GOOD_ORIGIN})
        assert a.headers["Access-Control-Allow-Origin"] == GOOD_ORIGIN and "Origin" in a.headers["Vary"], a.headers
        assert "Access-Control-Allow-Credentials" not in a.headers, a.headers
    a = d.ask("OPTIONS", "/api/sandboxes", token=None, headers={"Origin": GOOD_ORIGIN, "Access-Control-Request-Method": "POST"})
    assert a.status == 204 and "Authorization" in a.headers["Access-Control-Allow-Headers"], a.headers
    assert "*" not in str(a.headers), a.headers
    two = raw(d, request(d, "GET", "/api/sandboxes", "Origin: " + GOOD_ORIGIN, "Origin: https://evil.example"))
    assert b"Access-Control-Allow-Origin" not in two, two


# WebSocket

def ws_paths(d, box):
    ran = d.run(box, ["true"])["exec_id"]
    return [f"/api/sandboxes/{box}/execute", f"/api/sandboxes/{box}/execs/{ran}/output", f"/api/sandboxes/{box}/ports/80/"]


def test_ws_origin(d):
    box = d.make()
    for path in ws_paths(d, box):
        for origin in BAD_ORIGINS:
            if origin in ("", "https://good.example\t"):
                continue
            assert upgrade(d, path, d.token, origin) == 403, (path, origin)
    for origin in (GOOD_ORIGIN, f"http://127.0.0.1:{d.port}", None):
        assert upgrade(d, f"/api/sandboxes/{box}/execute", d.token, origin) == 101, origin
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_auth(d):
    box = d.make()
    reader = token_for("default", "read")
    for path in ws_paths(d, box):
        assert upgrade(d, path, None) == 401, path
        for token in ("x", d.token[:-1], sign(claims(e=1))):
            assert upgrade(d, path, token) == 401, (path, token)
    assert upgrade(d, f"/api/sandboxes/{box}/execute", reader) == 403
    assert upgrade(d, f"/api/sandboxes/{box}/ports/80/", reader) == 403
    assert upgrade(d, f"/api/sandboxes/{box}/execute?token={d.token}", None) == 401
    assert len(d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"]) == 1  # that of ws_paths
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_ws_frames(d):
    """What is no WebSocket ends it, with the number that says why. (The command goes on: its client may come back.)"""
    box = d.make()
    path = f"/api/sandboxes/{box}/execute"

    def closes(bad, want, started=True):
        with WebSocket(d.port, path, token=d.token) as ws:
            if started:
                ws.send({"command": ["cat"], "open_stdin": True})
                first = ws.read_json()
                assert first.get("event") == "started", first
            bad(ws)
            try:
                for _ in range(100):
                    ws.read()
                raise AssertionError("it goes on")
            except Closed as closed:
                assert closed.code == want, (closed, want)
        if started:
            kill(first["exec_id"])

    def kill(command):
        d.must(200, "DELETE", f"/api/sandboxes/{box}/execs/{command}")
        wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["execs_running"] == 0)

    def bytes_of(*numbers):
        return lambda ws: ws.sock.sendall(bytes(numbers))

    for started in (True, False):
        closes(lambda ws: ws.send_frame(TEXT, b"hello", masked=False), 1002, started)
        closes(bytes_of(0xc1, 0x80, 0, 0, 0, 0), 1002, started)  # a reserved bit
        closes(bytes_of(0x83, 0x80, 0, 0, 0, 0), 1002, started)  # a reserved opcode
        closes(lambda ws: ws.send_frame(PING, b"", last=False), 1002, started)
        closes(lambda ws: ws.send_frame(PING, b"x" * 126), 1002, started)
        closes(bytes_of(0x81, 0xfe, 0, 5, 0, 0, 0, 0, *b"hello"), 1002, started)  # a length the long way
        closes(lambda ws: ws.send_frame(CONTINUATION, b"x"), 1002, started)  # of nothing
        closes(lambda ws: (ws.send_frame(TEXT, b"{", last=False), ws.send_frame(TEXT, b"}")), 1002, started)
        closes(bytes_of(0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 1002, started)  # 2^63
        closes(lambda ws: ws.send_frame(BINARY, b"", length=1 << 40), 1009, started)
        closes(lambda ws: ws.send_frame(TEXT, b'{"input": "\xff"}'), 1007, started)
        closes(lambda ws: ws.send_frame(TEXT, b"\xc0\x80"), 1007, started)

    def endless(ws):
        ws.send_frame(TEXT, b"x", last=False)
        for _ in range(4096):
            try:
                ws.send_frame(CONTINUATION, b"x" * 65536, last=False)
            except OSError:
                return  # it has closed already

    before = rss_kib(d)
    closes(endless, 1009)
    with WebSocket(d.port, path, token=d.token) as ws:
        ws.send({"command": ["sleep", "1000"]})
        sleeper = ws.read_json()["exec_id"]
        for _ in range(20000):
            try:
                ws.send_frame(PING, b"x" * 125)
            except OSError:
                break
    assert rss_kib(d) - before < 64 * 1024
    kill(sleeper)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


# HTTP

def test_smuggling(d):
    hidden = b"GET /api/hidden-one HTTP/1.1\r\nHost: localhost\r\n\r\n"
    chunk = b"0\r\n\r\n"
    forms = {
        "both lengths": (["Content-Length: 6", "Transfer-Encoding: chunked"], chunk + b"X"),
        "both, the other way round": (["Transfer-Encoding: chunked", "Content-Length: 6"], chunk + b"X"),
        "two lengths": (["Content-Length: 0", f"Content-Length: {len(hidden)}"], hidden),
        "two equal lengths": (["Content-Length: 2", "Content-Length: 2"], b"{}"),
        "a list of lengths": (["Content-Length: 2, 2"], b"{}"),
        "a signed length": (["Content-Length: +2"], b"{}"),
        "a negative length": (["Content-Length: -1"], b""),
        "a hexadecimal length": (["Content-Length: 0x2"], b"{}"),
        "a length too large for 64 bits": (["Content-Length: 18446744073709551618"], b"{}"),
        "an unknown coding": (["Transfer-Encoding: xchunked"], chunk),
        "a list of codings": (["Transfer-Encoding: chunked, identity"], chunk),
        "coding twice": (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], chunk),
        "a blank before the colon": (["Transfer-Encoding : chunked"], chunk),
        "a vertical tab in the value": (["Transfer-Encoding: \x0bchunked"], chunk),
        "a folded line": (["Transfer-Encoding:", " chunked"], chunk),
        "a NUL in a field": (["X-A: b\x00c", "Content-Length: 0"], b""),
        "a bare CR in a field": (["X-A: b\rTransfer-Encoding: chunked", "Content-Length: 0"], b""),
        "a bare LF": (["X-A: b\nTransfer-Encoding: chunked", "Content-Length: 0"], b""),
        "a chunk size that overflows": (["Transfer-Encoding: chunked"], b"10000000000000002\r\n{}\r\n" + chunk),
        "a signed chunk size": (["Transfer-Encoding: chunked"], b"+2\r\n{}\r\n" + chunk),
        "a chunk size with 0x": (["Transfer-Encoding: chunked"], b"0x2\r\n{}\r\n" + chunk),
        "a chunk longer than said": (["Transfer-Encoding: chunked"], b"1\r\n{}\r\n" + chunk),
        "a chunk that ends with LF": (["Transfer-Encoding: chunked"], b"2\n{}\r\n" + chunk),
        "a length in the trailer": (["Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n"),
    }
    assert len(forms) >= 18
    for name, (lines, body) in forms.items():
        got = raw(d, request(d, "POST", "/api/sandboxes", *lines, body=body, close=False) + hidden)
        assert statuses(got) == [400], (name, got)  # refused, and closed: what follows is not read as a request
        error = json.loads(got.split(b"\r\n\r\n", 1)[1])["error"]
        assert set(error) == {"code", "message", "field", "request_id"} and error["request_id"], (name, got)
    # the proxy writes requests anew: what it passes on is framed by us
    nothing_made(d)
    assert "hidden-one" not in d.log()


def has_none(d):
    """There is no sandbox. Whoever was held up on the way, for longer than heads may take here, asks again."""
    begun = time.monotonic()
    try:
        a = d.ask("GET", "/api/sandboxes")
    except ConnectionError:
        assert time.monotonic() - begun >= 1.4, "refused at once"
        return False
    assert (a.status == 408 and time.monotonic() - begun >= 1.4) or (a.status == 200 and a.json["sandboxes"] == []), a
    return a.status == 200


def test_slowloris(_):
    with Daemon("--header-timeout", "1500ms", "--body-timeout", "1500ms", "--rate-limit", "0") as d:
        socks = []
        for text in (b"", b"G", b"GET /api/health/live HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b") * 10:
            s = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
            s.sendall(text)
            socks.append(s)
        body = request(d, "POST", "/api/sandboxes", "Content-Length: 100", close=False) + b"{"
        for _ in range(10):
            s = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
            s.sendall(body)
            socks.append(s)
        wait_for("others to be served meanwhile", lambda: has_none(d))
        # one that drips: each byte in time, the whole too late
        drip = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
        closed = False
        for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Padding: " + b"a" * 2000:
            try:
                drip.sendall(bytes([byte]))
            except ConnectionError:
                closed = True
                break
            if select.select([drip], [], [], 0.02)[0]:
                try:
                    got = drip.recv(4096)
                except ConnectionError:  # closed before it had seen the last byte
                    got = b""
                closed = got == b"" or b" 408 " in got
                break
        assert closed
        drip.close()
        for s in socks:
            s.settimeout(PATIENCE_S)
            got = b""
            try:
                while more := s.recv(4096):
                    got += more
            except ConnectionError:
                pass
            assert got == b"" or statuses(got) == [408], got
            s.close()
        wait_for("others to be served afterwards", lambda: has_none(d))


def test_idle_connections(_):
    with Daemon("--idle-timeout", "1500ms", "--rate-limit", "0") as d:
        # after an answer, silence: closed
        c = d.connect()
        c.request("GET", "/api/health/live")
        c.getresponse().read()
        c.sock.settimeout(PATIENCE_S)
        assert c.sock.recv(1) == b""
        c.close()
    with Daemon("--max-connections-client", "20", "--header-timeout", "5m", "--rate-limit", "0") as d:
        # those who say nothing, half a head or half a body lock nobody out: the oldest of them goes, and who has shown a token stays
        known = d.connect()
        known.request("GET", "/api/sandboxes", headers={"Authorization": "Bearer " + d.token})
        assert known.getresponse().read()
        socks = []
        for i in range(60):
            s = socket.create_connection(("127.0.0.1", d.port), PATIENCE_S)
            s.sendall([b"", b"GET /api/sand", b"POST /api/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"][i % 3])
            socks.append(s)
        for _ in range(30):
            assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []
        assert d.must(200, "GET", "/api/health/ready", token=None, unix=True)["status"] == "ok"
        known.request("GET", "/api/sandboxes", headers={"Authorization": "Bearer " + d.token})  # on the same connection
        assert known.getresponse().status == 200
        known.close()
        for s in socks:
            s.close()


def test_early_errors(d):
    """What is refused before anybody knows what it asks for still has an id, the same in its head and in its body."""
    host = b"Host: localhost\r\n"
    for status, data in [(400, b"nonsense\r\n\r\n"), (400, b"GET / HTTP/1.1\r\n\r\n"), (400, b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
                         (421, b"GET /api/sandboxes HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
                         (431, b"GET / HTTP/1.1\r\n" + host + b"X: " + b"x" * 40000 + b"\r\n\r\n"),
                         (414, b"GET /" + b"x" * 40000 + b" HTTP/1.1\r\n" + host + b"\r\n"),
                         (505, b"GET / HTTP/2.0\r\n" + host + b"\r\n"), (501, b"BREW / HTTP/1.1\r\n" + host + b"\r\n"),
                         (413, b"POST /api/sandboxes HTTP/1.1\r\n" + host + b"Content-Length: 99999999999999\r\n\r\n")]:
        got = raw(d, data)
        head, _, body = got.partition(b"\r\n\r\n")
        assert statuses(got) == [status], (status, got)
        found = re.findall(rb"\r\nX-Request-Id: ([0-9a-f]{24})", head)
        assert len(found) == 1 and json.loads(body)["error"]["request_id"] == found[0].decode(), got


def rss_kib(d):
    """Of the front; 0 under a sanitizer, whose own memory says nothing."""
    front = d.child("cay-front")
    with open(f"/proc/{front}/maps", encoding="utf-8", errors="replace") as f:
        if "libasan" in f.read():
            return 0
    with open(f"/proc/{front}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def post(d, status, path, fields):
    """Head and body at a stroke: nobody is late with the body."""
    body = json.dumps(fields).encode()
    got = raw(d, request(d, "POST", path, f"Content-Length: {len(body)}", "Content-Type: application/json", body=body))
    assert statuses(got) == [status], got
    return json.loads(got.split(b"\r\n\r\n", 1)[1])


def test_sse_exhaustion(_):
    """Streams that nobody reads hold connections and little else; there is a limit, and others are served."""
    with Daemon("--max-connections-client", "60", "--rate-limit", "0", "--body-timeout", "1s") as d:
        box = post(d, 201, "/api/sandboxes", {})["sandbox_id"]
        back = post(d, 202, f"/api/sandboxes/{box}/execute", {"command": "yes | head -c 30000000; sleep 1000", "background": True})
        path = f"/api/sandboxes/{box}/execs/{back['exec_id']}/output"
        before = rss_kib(d)
        socks = []
        for _ in range(58):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(PATIENCE_S)
            s.connect(("127.0.0.1", d.port))
            s.sendall(request(d, "GET", path, "Accept: text/event-stream", close=False))
            socks.append(s)
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["sandbox_id"] == box
        extra = [socket.create_connection(("127.0.0.1", d.port), PATIENCE_S) for _ in range(4)]
        assert d.must(200, "GET", "/api/health/ready", token=None, unix=True)["status"] == "ok"
        for s in extra:
            s.close()
        assert rss_kib(d) - before < 58 * 1024 * 2  # not 30 MB each
        # readers who take nothing are let go; nobody else notices
        wait_for("the slow readers' end", lambda: d.must(200, "GET", "/api/health/ready", unix=True, token=None)["watchers"] == 0)
        for s in socks:
            s.close()
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_header_size(d):
    before = rss_kib(d)
    for lines, allowed in [(["X-A: " + "a" * 40000], (431,)), (["X-A: " + "a" * 5000000], (431,)),
                           ([f"X-{i}: a" for i in range(5000)], (431,)), (["Cookie: " + "a=b; " * 10000], (431,)),
                           (["Origin: " + "a" * 40000], (431,))]:
        got = raw(d, request(d, "GET", "/api/sandboxes", *lines))
        assert not got or statuses(got)[0] in allowed, got[:200]
    for target in ("/" + "a" * 40000, "/api/sandboxes?" + "a" * 40000, "/" + "a/" * 20000):
        got = raw(d, request(d, "GET", target))
        assert statuses(got)[0] in (414, 431), got[:200]
    assert rss_kib(d) - before < 32 * 1024
    assert d.ask("GET", "/api/sandboxes", headers={"X-A": "a" * 8000}).status == 200


def test_body_size(d):
    before = rss_kib(d)
    for length in (64 << 30, (1 << 63) - 1):
        got = raw(d, request(d, "POST", "/api/sandboxes", f"Content-Length: {length}") + b"{")
        assert statuses(got)[0] in (413, 400), got
    got = raw(d, request(d, "POST", "/api/sandboxes", "Content-Length: 2000000", "Expect: 100-continue"))
    assert statuses(got) == [413], got  # without having been told to go on
    # endless chunks: ended as soon as it is too much
    with socket.create_connection(("127.0.0.1", d.port), PATIENCE_S) as s:
        s.sendall(request(d, "POST", "/api/sandboxes", "Transfer-Encoding: chunked", close=False))
        piece, sent = b"10000\r\n" + b"x" * 65536 + b"\r\n", 0
        while sent < 1 << 30 and not select.select([s], [], [], 0)[0]:
            try:
                s.sendall(piece)
            except ConnectionError:  # it has answered and waits no longer
                break
            sent += 65536
        assert sent < 256 << 20 and statuses(s.recv(4096)) == [413], sent
    with Daemon("--max-body", "1m", "--rate-limit", "0") as small:
        box = small.make()
        for method, path in [("PUT", f"/api/sandboxes/{box}/files?path=a"), ("PUT", f"/api/sandboxes/{box}/archive?path=."),
                             ("POST", f"/api/sandboxes/{box}/ports/80/")]:
            got = raw(small, request(small, method, path, "Content-Length: 1048577") + b"x")
            assert statuses(got)[0] == 413, (path, got)
        small.must(404, "GET", f"/api/sandboxes/{box}/files?path=a")
        small.must(200, "DELETE", f"/api/sandboxes/{box}")
    assert rss_kib(d) - before < 32 * 1024
    nothing_made(d)


# JSON

BAD_JSON = [
    "[" * 100000, "[" * 100000 + "]" * 100000, '{"a":' * 100000, '{"labels":' + '{"a":' * 60 + "1" + "}" * 61,
    b'{"name": "\xff"}', b'{"name": "\xc0\xaf"}', b'{"name": "\xed\xa0\x80"}', '{"name": "\\ud800"}', '{"name": "\\udc00\\ud800"}',
    '{"name": "a\\u0000b"}', b'{"name": "a\x00b"}', b"\x00", '{"timeout": 1e999999999}', '{"timeout": -1e999999999}',
    '{"timeout": NaN}', '{"timeout": Infinity}', '{"timeout": -Infinity}', '{"timeout": 0x10}', '{"timeout": 01}', '{"timeout": +1}',
    '{"timeout": .5}', '{"timeout": 1.}', '{"name": "a", "name": "b"}', '{"limits": {"pids": 1, "pids": 2}}', "{} {}", "{}x", "{}\x00",
    "{}{}", "", " ", "{", "}", "{,}", '{"name"}', '{"name":}', "{'name': 'a'}", '{"name": "a",}', '{name: "a"}', '{"name": "a\nb"}',
    '{"name": "\\x41"}', '{"name": "\\u00"}', "null", "true", "1", '"x"', "[]", "[{}]", b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00",
    '{"name": /* c */ "a"}', '{"\\u0000": 1}', '{"": 1}', '{"__proto__": {}}', '{"name": "' + "a" * 100000 + '"}',
    "{" + ",".join(f'"k{i}": 1' for i in range(50000)) + "}", '{"labels": {' + ",".join(f'"k{i}": "v"' for i in range(30000)) + "}}",
]


def test_json(d):
    before = rss_kib(d)
    for body in BAD_JSON:
        a = d.ask("POST", "/api/sandboxes", body, headers={"Content-Type": "application/json"})
        if body in ("", " ") and a.status == 201:  # no body is an empty one
            d.must(200, "DELETE", f"/api/sandboxes/{a.json['sandbox_id']}")
            continue
        check_error(a, 400)
    assert rss_kib(d) - before < 64 * 1024
    nothing_made(d)


BAD_NUMBERS = ['"99999999999999g"', "-1", '"-1"', "9223372036854775808", "18446744073709551616", '"18446744073709551616"', '"NaN"',
               '"inf"', '"Infinity"', "1e308", "1e309", "[]", "{}", "[1]", "true", '""', '" 1"', '"1 "', '"0x10"', '"1e3"',
               '"1,5"', '"١"', '"1g1"', '"g"', '"1gg"', '"--1"', '"99999999999999999999999999999999g"']


def test_limits(d):
    fields = ["memory_limit", "cpu_limit", "timeout", "idle_timeout"]
    op = next(op for op in ops(d) if op["name"] == "sandbox_create")
    nested = next(f["fields"] for f in op["fields"] if f["name"] == "limits")
    assert {f["name"] for f in op["fields"]} >= set(fields) and len(nested) >= 5, nested
    for field in fields + [f["name"] for f in nested]:
        for value in BAD_NUMBERS:
            body = f'{{"{field}": {value}}}' if field in fields else f'{{"limits": {{"{field}": {value}}}}}'
            a = d.ask("POST", "/api/sandboxes", body.encode(), headers={"Content-Type": "application/json"})
            error = check_error(a, 400, 422)
            named = error["field"] or error["message"]
            assert field in named or "JSON" in error["message"] or "number" in error["message"], (body, a)
    user = token_for("somebody")
    for field, value in (("memory", "9g"), ("swap", "9g"), ("cpus", "9"), ("pids", 5000), ("disk", "8t"), ("inodes", 1000000000)):
        error = check_error(d.ask("POST", "/api/sandboxes", {"limits": {field: value}}, token=user), 400)
        assert error["field"] == "limits." + field and "most_" in error["message"], error
    nothing_made(d)
    box = d.make()
    for body in ('{"command": "x", "timeout": -1}', '{"command": "x", "timeout": "1e9y"}', '{"command": "x", "max_output": -1}',
                 '{"command": "x", "rows": -1}', '{"command": "x", "cols": 65536}', '{"command": "x", "timeout": 1e400}'):
        check_error(d.ask("POST", f"/api/sandboxes/{box}/execute", body), 400, 422)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"] == []
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


# paths

DOTS = ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", ".%2e/", "%2e./", "..%5c", "..\\", "%252e%252e%252f", "..%252f", "%c0%ae%c0%ae/",
        "%c0%2e%c0%2e%c0%af", "....//", "..;/", "%uff0e%uff0e/", "..%00/"]


def test_static_traversal(d):
    assert len(DOTS) == 16
    secret = open(os.path.join(d.folder, "data", "token.secret"), encoding="ascii").read() if os.path.exists(
        os.path.join(d.folder, "data", "token.secret")) else None
    for dots in DOTS:
        for tail in ("etc/passwd", "token.secret", "proc/self/environ", "state/cay.db"):
            for head in ("/", "/reference.css/", "/login.js/", "/api/reference/", "/static/"):
                got = raw(d, request(d, "GET", head + dots * 6 + tail, token=False))
                assert statuses(got)[0] in (400, 404, 421), (head, dots, got[:200])
                assert b"root:" not in got and b"PATH=" not in got and b"SQLite" not in got
                assert not secret or secret.encode() not in got
    for path in ("/reference.css%00.html", "/reference.css/", "/REFERENCE.CSS", "/./reference.css", "//reference.css", "/reference.css?x",
                 "/etc/passwd", "/index.html", "/.git/config", "/login.js%2f", "/%6cogin.js"):
        got = raw(d, request(d, "GET", path, token=False))
        assert statuses(got)[0] in (200, 400, 404), (path, got[:200])
        if statuses(got)[0] == 200:  # the same page by another spelling of its name, and nothing else
            assert b"'use strict'" in got or b"font:" in got, got[:200]


def test_file_traversal(d):
    """Paths are resolved inside, by the sandbox's own rights: whatever they say, no byte of the host comes out or goes in."""
    flag = os.path.join(d.folder, "flag")
    with open(flag, "w", encoding="ascii") as f:
        f.write("host bytes")
    os.chmod(flag, 0o644)
    os.chmod(d.folder, 0o755)
    box = d.make()
    d.run(box, f"ln -s / root; ln -s {flag} flag; ln -s ../../../../../../.. up; mkdir dir; ln -s loop loop")
    files = f"/api/sandboxes/{box}/files"
    tails = [flag, flag.lstrip("/")]
    names = [dots * 8 + tails[1] for dots in DOTS] + ["flag", "root" + flag, "up" + flag, "dir/../../../../.." + flag, flag, "//" + flag,
                                                     f"/proc/self/root{flag}", f"/proc/1/root{flag}", f"/proc/1/cwd{flag}", "loop", ""]
    for name in names:
        safe = name.replace("\\", "%5C").replace(" ", "%20")
        a = d.ask("GET", f"{files}?path={safe}")
        assert a.status in (400, 403, 404, 409) and b"host bytes" not in a.body, (name, a)
        a = d.ask("GET", f"/api/sandboxes/{box}/archive?path={safe}")
        assert b"host bytes" not in a.body, name
        a = d.ask("PUT", f"{files}?path={safe}", b"overwritten")
        assert a.status != 500, (name, a)
    assert open(flag, encoding="ascii").read() == "host bytes"
    for op in ("mkdir", "move"):
        body = {"path": "../../../../../../" + d.folder + "/made", **({"to": d.folder + "/moved"} if op == "move" else {})}
        assert d.ask("POST", f"{files}/{op}", body).status in (400, 403, 404, 409, 200)
    assert not os.path.exists(d.folder + "/made") and not os.path.exists(d.folder + "/moved")
    # ids are no paths
    for bad in DOTS:
        got = raw(d, request(d, "GET", f"/api/sandboxes/{bad * 3}config"))
        assert statuses(got)[0] in (400, 404), (bad, got[:200])
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_header_injection(d):
    box = d.make()
    d.run(box, "printf x >\"$(printf 'a\\r\\nSet-Cookie: evil=1\\r\\n\\r\\nb')\"; printf x >'q\"; filename=\"evil'; printf x >'é<b>'")
    for name in ("a%0D%0ASet-Cookie:%20evil=1%0D%0A%0D%0Ab", "q%22;%20filename=%22evil", "%C3%A9%3Cb%3E"):
        got = raw(d, request(d, "GET", f"/api/sandboxes/{box}/files?path={name}"))
        head, _, body = got.partition(b"\r\n\r\n")
        assert statuses(got)[0] == 200 and body == b"x", got
        name = re.search(rb"\r\nContent-Disposition: attachment; filename=\"([^\r]*)\"\r\n", head).group(1)
        assert b"\nSet-Cookie" not in head and not set(name) & set(b'"\\;%'), head
    for path in ("/api/sandboxes/%0D%0ASet-Cookie:%20evil=1", "/%0d%0aX-Evil:%201", "/api/sandboxes?name=%0D%0AX-Evil:1"):
        got = raw(d, request(d, "GET", path))
        assert b"\nX-Evil" not in got and b"\nSet-Cookie" not in got, got
    for header in ("Origin", "Host", "Idempotency-Key", "X-Request-Id", "Accept", "Last-Event-ID"):
        got = raw(d, request(d, "POST", "/api/sandboxes", f"{header}: x\x01\x7f", "Content-Length: 0"))
        assert statuses(got)[0] >= 400, (header, got)
    a = d.ask("GET", "/api/version", headers={"X-Request-Id": "mine"})
    assert a.headers["X-Request-Id"] != "mine"  # ours, always
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


PORT_SERVER = """
import socketserver
class H(socketserver.StreamRequestHandler):
    def handle(self):
        head = b""
        while not head.endswith(b"\\r\\n\\r\\n"):
            line = self.rfile.readline()
            if not line: return
            head += line
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nSet-Cookie: cay_session_1=evil; Path=/\\r\\n"
                         b"Access-Control-Allow-Origin: *\\r\\nStrict-Transport-Security: max-age=9\\r\\nClear-Site-Data: \\"*\\"\\r\\n"
                         b"Content-Security-Policy: default-src *\\r\\nService-Worker-Allowed: /\\r\\nX-Frame-Options: ALLOW\\r\\n"
                         b"Content-Length: %d\\r\\n\\r\\n" % len(head) + head)
class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
S(("127.0.0.1", 8080), H).serve_forever()
"""


def test_proxy_port(d):
    box = d.make()
    ports = f"/api/sandboxes/{box}/ports"
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", PORT_SERVER], "background": True})
    wait_for("the port", lambda: d.must(200, "GET", ports)["ports"] == [8080])
    for port in ("08080", "+8080", "-8080", "0", "65536", "73616", "4295008", "18446744073709559696", "8080.0", "8e3", "0x1f90", "8080%20",
                 "%208080", "8080%00", "808०", "", "8080,80", "localhost:8080", "127.0.0.1:8080", "%38080x"):
        a = d.ask("GET", f"{ports}/{port.encode().decode('latin-1')}/" if port.isascii() else f"{ports}/808%E0%A5%A6/")
        assert a.status in (400, 404), (port, a)
    # a port of the host is not in there, whatever Host says
    for port in (d.port, 22):
        assert d.ask("GET", f"{ports}/{port}/api/health/live").status == 502, port
    got = raw(d, request(d, "GET", f"{ports}/8080/x", "Cookie: a=b; cay_session_1=c", "Proxy-Authorization: Bearer x", "X-Forwarded-For: 6.6.6.6",
                         "Forwarded: for=6.6.6.6", "X-Forwarded-Host: evil.example", "X-Kept: yes", "TE: trailers", "Keep-Alive: 5",
                         "Proxy-Connection: x", "X-Hop: secret"))
    head, _, passed = got.partition(b"\r\n\r\n")
    passed = passed.lower()
    for word in (b"authorization", b"cookie", d.token.lower().encode(), b"6.6.6.6", b"evil.example", b"trailers", b"keep-alive", b"proxy-connection"):
        assert word not in passed, (word, passed)
    assert b"x-kept: yes" in passed and b"host: localhost:8080" in passed, passed
    lines = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
    for word in (b"set-cookie", b"strict-transport-security", b"clear-site-data", b"service-worker-allowed", b"access-control-allow-origin"):
        assert word not in lines, head
    policy = re.findall(rb"\r\nContent-Security-Policy: ([^\r]*)", head)
    assert len(policy) == 1 and policy[0].startswith(b"sandbox ") and b"allow-same-origin" not in policy[0], head
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


# the rest

LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info|warn|error) cay(-front|-warden)?: ")


def test_log_injection(_):
    evil = "x\n2026-01-01T00:00:00.000Z error cay: forged\r\n\x1b[31m\x00"
    coded = "".join(f"%{b:02X}" for b in evil.replace("\x00", "").encode())
    with Daemon("--rate-limit", "0", "--log-level", "debug", env={"SANDBOX_TOKEN_SECRET": SECRET}) as d:
        box = d.make(labels={"a": "b"})
        for method, path, body, headers in [
                ("POST", "/api/sandboxes", {"name": evil}, {}), ("POST", "/api/sandboxes", {"template": evil}, {}),
                ("POST", "/api/sandboxes", {"labels": {"k": evil.replace("\x00", "")}}, {}),
                ("POST", "/api/sandboxes", {"metadata": {"k": evil.replace("\x00", "")}}, {}),
                ("POST", "/api/sandboxes", {"execution_id": evil.replace("\x00", "")}, {}),
                ("POST", f"/api/sandboxes/{box}/execute", {"command": evil.replace("\x00", "")}, {}),
                ("POST", f"/api/sandboxes/{box}/execute", {"command": ["true"], "workdir": evil.replace("\x00", "")}, {}),
                ("GET", f"/api/sandboxes/{coded}", None, {}), ("GET", f"/{coded}", None, {}),
                ("GET", f"/api/sandboxes?name={coded}", None, {}), ("GET", f"/api/sandboxes/{box}/files?path={coded}", None, {}),
                ("PUT", f"/api/sandboxes/{box}/files?path={coded}", b"x", {}),
                ("GET", "/api/sandboxes", None, {"User-Agent": "a\x1b[31mb"}), ("GET", "/", None, {"Referer": "http://x/\x1b]0;t"})]:
            try:
                a = d.ask(method, path, body, headers=headers)
            except ValueError:
                continue
            if a.status == 201:
                d.must(200, "DELETE", f"/api/sandboxes/{a.json['sandbox_id']}")
        for token in (evil.replace("\n", "").replace("\r", "").replace("\x00", ""), "cay1.x.y"):
            raw(d, request(d, "GET", "/api/sandboxes", "Authorization: Bearer " + token, token=False))
        login = d.make_token("--login").split("#login=")[1]
        session = d.ask("POST", "/api/login", {"login": login}, token=None)
        cookie = session.headers["Set-Cookie"].split(";")[0].split("=", 1)[1]
        key = json.loads(d.make_token("--key", "--owner", "robot"))["key"]
        d.must(200, "GET", "/api/sandboxes", token=key)
        admin = d.must(201, "POST", "/api/tokens", {"owner": "x"}, token=None, unix=True)["token"]
        d.must(200, "GET", "/api/sandboxes", token=admin)
        wrong = sign(claims(o="loud"), secret="not-the-secret-at-all")
        d.ask("GET", "/api/sandboxes", token=wrong)
        d.ask("GET", f"/api/sandboxes?token={admin}", token=None)
        secrets = {"token": d.token, "mac": d.token.split(".")[2], "secret": SECRET, "cookie": cookie, "key": key, "admin": admin,
                   "wrong": wrong.split(".")[2], "login": login}
        # neither in the arguments nor in the environment of any of the daemon's processes
        everyone = [d.process.pid]
        for pid in everyone:
            everyone += [kid for kid, _ in children(pid)]
        assert len(everyone) >= 3, everyone
        looked = 0
        for pid in everyone:
            for name in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{pid}/{name}", "rb") as f:
                        text = f.read()
                except (FileNotFoundError, ProcessLookupError):  # a worker of a sandbox that has done its work
                    continue
                looked += name == "cmdline" and text != b""
                for what, secret in secrets.items():
                    assert secret.encode() not in text, (pid, name, what)
        assert looked >= 3, (looked, everyone)
        assert "PATH=" not in d.run(box, "cat /proc/1/environ 2>/dev/null; env")["stdout"].replace("PATH=/usr", "")
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
        log = d.log()
        for line in log.splitlines():
            assert LOG_LINE.match(line) and "\x1b" not in line, line
        assert "cay: forged" not in [line[25:] for line in log.splitlines()], log
        assert not re.search(r"^2026-01-01T00:00:00.000Z", log, re.M)
        for what, secret in secrets.items():
            assert secret not in log, what


def test_ui_headers(d):
    evil = "<script>alert(1)</script>"
    box = d.make(labels={"x": evil}, metadata={"y": evil})
    d.run(box, ["sh", "-c", f"echo '{evil}' | tee evil.html"])
    answers = [("page", "/"), ("page", "/reference"), ("script", "/app.js"), ("script", "/login.js"), ("style", "/reference.css"), ("api", f"/api/sandboxes/{box}"),
               ("error", "/nowhere"), ("error", "/api/sandboxes/none"), ("file", f"/api/sandboxes/{box}/files?path=evil.html"),
               ("list", "/api/sandboxes"), ("reference", "/api/reference"), ("proxy", f"/api/sandboxes/{box}/ports/80/")]
    for kind, path in answers:
        a = d.ask("GET", path)
        assert a.headers["X-Content-Type-Options"] == "nosniff" and a.headers["Referrer-Policy"] == "no-referrer", (path, a.headers)
        policy = a.headers["Content-Security-Policy"]
        assert "unsafe" not in policy and "*" not in policy, (path, policy)
        if kind != "proxy":
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy, (path, policy)
            assert "base-uri 'none'" in policy and "form-action 'none'" in policy, (path, policy)
        if kind not in ("page",):
            assert not a.headers["Content-Type"].startswith("text/html"), (path, a.headers)
        if kind == "file":
            assert a.headers["Content-Disposition"].startswith("attachment"), a.headers
    for path in ("/", "/reference"):
        page = d.ask("GET", path, token=None).body.decode()
        own = r"<script(?! src=/login\.js defer></script>| type=\"module\" src=\"/app\.js\"></script>)"
        assert not re.search(own, page) and not re.search(r"\son\w+=", page), "inline script"
        assert "style=" not in page and "<style" not in page and "javascript:" not in page
        assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page), "an outside resource"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


SHARED = [test_auth_missing, test_auth_forged, test_auth_timing, test_auth_expired, test_auth_other_places, test_single_use,
          test_tenant_cross, test_id_guess, test_host_rebinding, test_host_ambiguous, test_cors, test_ws_origin, test_ws_auth,
          test_ws_frames, test_smuggling, test_header_size, test_body_size, test_json, test_limits, test_static_traversal,
          test_file_traversal, test_header_injection, test_proxy_port, test_ui_headers, test_early_errors]
ALONE = [test_slowloris, test_idle_connections, test_sse_exhaustion, test_log_injection]


def main():
    with Daemon("--rate-limit", "0", "--allow-origins", GOOD_ORIGIN, "--log-level", "debug",
                env={"SANDBOX_TOKEN_SECRET": SECRET}) as d:
        run_tests(SHARED + ALONE, d)


if __name__ == "__main__":
    main()
