#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often one token may ask: the same whatever carries the message, told in the words of the protocol that was spoken, and met by
nobody who works. test_rates.py [NAME…] runs some."""
import base64
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ws_client  # noqa: E402
from daemon import Daemon, wait_for  # noqa: E402
from mcp_session import LEGACY, Session, request  # noqa: E402

TOO_OFTEN = -32029
BURST = 40
SLOW = ("--rate-limit", "600", "--rate-burst", str(BURST))  # ten a second


def mcp_ws(d, token):
    w = ws_client.WebSocket(d.port, "/mcp", token)
    w.send(request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}, 0))
    assert "result" in w.read_json()
    return w


def answers(w, count):
    found = []
    while len(found) < count:
        m = w.read_json()
        if "id" in m:
            found.append(m)
    return found


def test_mcp_ws(d):
    """Every message is charged, refused ones are told when to come back, and the connection stays."""
    token = d.make_token("--owner", "quick")
    w = mcp_ws(d, token)
    for i in range(1, 301):
        w.send(request("ping", {}, i))
    found = answers(w, 300)
    assert sorted(m["id"] for m in found) == list(range(1, 301)), "each has its answer"
    refused = [m for m in found if "error" in m]
    assert refused, "more than there is room for"
    for m in refused:
        assert m["error"]["code"] == TOO_OFTEN and m["error"]["data"]["retryAfterMs"] > 0, m

    # What needs no answer is heard all the same: a cancel, in the middle of it.
    other = mcp_ws(d, d.make_token("--owner", "patient"))
    other.send(request("tools/call", {"name": "run_command", "arguments": {"command": "sleep 600", "wait_s": 300}}, 1))
    wait_for("the command", lambda: running(d, "patient"))
    for i in range(2, 102):
        other.send(request("ping", {}, i))
    other.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    wait_for("its end", lambda: not running(d, "patient"))

    def goes_on():
        w.send(request("ping", {}, 999))
        return "result" in answers(w, 1)[0]

    wait_for("room", goes_on)


def running(d, owner):
    found = d.must(200, "GET", "/api/sandboxes", token=False, unix=True)["sandboxes"]
    return [b for b in found if b["owner"] == owner and b["execs_running"]]


def test_one_purse(d):
    """One token pays from one purse, by whatever way it comes; another has its own."""
    token, other = d.make_token("--owner", "purse"), d.make_token("--owner", "other")
    w = mcp_ws(d, token)
    for i in range(1, 200):
        w.send(request("ping", {}, i))
    answers(w, 199)
    for _ in range(BURST):  # which a purse of its own would pay for
        a = d.ask("GET", "/api/sandboxes", token=token)
        if a.status != 200:
            break
    assert a.status == 429 and int(a.headers["Retry-After"]) >= 1 and a.json["error"]["code"] == "limit", a
    assert "rate_limit" in a.json["error"]["message"], a
    assert d.ask("GET", "/api/sandboxes", token=other).status == 200


def test_mcp_http(d):
    """HTTP's status and field, and a body that is JSON-RPC."""
    token = d.make_token("--owner", "poster")
    s = Session(d, token=token)
    for _ in range(200):
        a = s.post(request("ping", {}, 1))
        if a.status != 200:
            break
    assert a.status == 429 and int(a.headers["Retry-After"]) >= 1, a
    assert a.json["jsonrpc"] == "2.0" and a.json["error"]["code"] == TOO_OFTEN and a.json["error"]["data"]["retryAfterMs"] > 0, a


def test_exec_ws(d):
    """Input waits and none of it is lost; an order that can be given again is refused, and the stream goes on."""
    token = d.make_token("--owner", "feeder")
    box = d.must(201, "POST", "/api/sandboxes", {}, token=token)["sandbox_id"]
    w = ws_client.WebSocket(d.port, f"/api/sandboxes/{box}/execute", token)
    w.send({"command": "wc -c; sleep 0", "open_stdin": True})
    assert w.read_json()["event"] == "started"
    for _ in range(3 * BURST):
        w.send({"signal": "CONT"})
    trouble = w.read_json()
    assert trouble["event"] == "error" and trouble["code"] == "limit" and trouble["retry_after_ms"] > 0, trouble
    for _ in range(5):
        w.send(b"0123456789")
    for _ in range(5):
        w.send({"input_base64": base64.b64encode(b"0123456789").decode()})
    w.send({"eof": True})
    said = [e for e in w.events() if e["event"] != "error"]
    assert said[0]["text"].strip() == "100" and said[-1]["event"] == "exited", said
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=False, unix=True)


def test_terminal(d):
    token = d.make_token("--owner", "typist")
    box = d.must(201, "POST", "/api/sandboxes", {}, token=token)["sandbox_id"]
    exec_id = d.must(202, "POST", f"/api/sandboxes/{box}/execute",
                     {"command": f"stty raw -echo; echo ready; head -c {2 * BURST} | wc -c", "tty": True, "open_stdin": True, "background": True},
                     token=token)["exec_id"]
    w = ws_client.WebSocket(d.port, f"/tty/{box}/ws?exec={exec_id}", token, headers={"Sec-WebSocket-Protocol": "tty"})
    w.send(json.dumps({"columns": 80, "rows": 24}).encode())
    seen = b""
    while b"ready" not in seen:
        seen += w.read()[1]
    for _ in range(2 * BURST):
        w.send(b"0x")
    while str(2 * BURST).encode() not in seen:
        seen += w.read()[1]
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=False, unix=True)


def test_default(_):
    """What busy agents do at once is within the default: a hundred at a time, each with 25 calls, behind one token."""
    with Daemon() as d:
        bad = []

        def work(kind):
            w = mcp_ws(d, d.token) if kind % 2 else None
            for i in range(1, 26):
                if w:
                    w.send(request("tools/list", {}, i))
                    if "result" not in answers(w, 1)[0]:
                        bad.append((kind, i))
                elif d.ask("GET", "/api/sandboxes").status != 200:
                    bad.append((kind, i))

        workers = [threading.Thread(target=work, args=(k,)) for k in range(100)]
        for t in workers:
            t.start()
        for t in workers:
            t.join()
        assert not bad, bad[:10]


TESTS = [test_mcp_ws, test_one_purse, test_mcp_http, test_exec_ws, test_terminal]
ALONE = [test_default]


def main():
    chosen = [t for t in TESTS + ALONE if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]]
    with Daemon("--max-sandboxes", "50", *SLOW) as d:
        for t in chosen:
            if t in TESTS:
                t(d)
                print(f"ok {t.__name__}", flush=True)
    for t in chosen:
        if t in ALONE:
            t(None)
            print(f"ok {t.__name__}", flush=True)


main()
