#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that make the daemon hold memory: messages that never end, answers that nobody reads, streams that are kept. With a
budget of 64 MiB ten of each leave the front small and others served; what finds no room is told so; and room comes back."""
import json
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import PATIENCE_S, Daemon, wait_for  # noqa: E402
from kernel_mark import FIND_MARK  # noqa: E402
from mcp_session import Session  # noqa: E402
from test_security_api import SECRET, token_for  # noqa: E402
from ws_client import CLOSE, PING, PONG, WebSocket  # noqa: E402

MIB = 1 << 20
BUDGET = 64 * MIB
SLACK = 40 * MIB  # what the front has by itself meanwhile: buffers that grow, answers in the making
CLIENTS = 10


def resident(d):
    front = d.child("cay-front")
    with open(f"/proc/{front}/maps", encoding="utf-8", errors="replace") as f:
        if "libasan" in f.read():
            return 0  # a sanitizer's own memory says nothing
    with open(f"/proc/{front}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS:"))


def is_held(ws):
    """True: the server took it all and waits for more; else it said goodbye, for want of memory."""
    try:
        ws.send_frame(PING, b"still there?")
        while True:
            frame = ws.read_frame()
            opcode, payload = frame[0], frame[-1]
            if opcode == PONG:
                return True
            if opcode == CLOSE:
                code, reason = struct.unpack("!H", payload[:2])[0], payload[2:].decode()
                assert code == 1013 and "memory" in reason, (code, reason)
                return False
            assert opcode == PING, opcode
    except ConnectionError:
        return False


def send_part(ws, size):
    """A text frame of that size that is not the last of its message (its mask is zero), and what is_held says of it."""
    try:
        ws.sock.sendall(struct.pack("!BBQ", 0x01, 0x80 | 127, size) + bytes(4) + b"x" * size)
    except ConnectionError:
        pass
    return is_held(ws)


def ask_unread(d, path, body, token):
    """A request whose answer nobody reads; its socket."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(PATIENCE_S)
    s.connect(("127.0.0.1", d.port))
    data = json.dumps(body).encode()
    s.sendall((f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
               f"Content-Length: {len(data)}\r\n\r\n").encode() + data)
    return s


def first_line(s):
    """Of an answer that has begun: its status; the rest stays where it is."""
    wait_for("an answer", lambda: b"\r\n" in s.recv(64, socket.MSG_PEEK))
    return int(s.recv(64, socket.MSG_PEEK).split()[1])


def serve_others(d, box, token):
    d.must(200, "GET", "/api/sandboxes", token=token)
    body = b"y" * (2 * MIB)
    d.must(200, "PUT", f"/api/sandboxes/{box}/files?path=mine", body, token=token)
    assert d.must(200, "GET", f"/api/sandboxes/{box}/files?path=mine", token=token) == body
    a = d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "echo fine"}, token=token)
    assert a["stdout"] == "fine\n", a
    ws = WebSocket(d.port, "/mcp", token)
    assert send_part(ws, MIB), "a message of 1 MiB of somebody else is refused"
    ws.sock.close()


def test_all_at_once(d):
    other, greedy = token_for("other"), token_for("greedy")
    mine = d.must(201, "POST", "/api/sandboxes", {}, token=other)["sandbox_id"]
    big = d.must(201, "POST", "/api/sandboxes", {}, token=greedy)["sandbox_id"]
    before = resident(d)
    messages = [WebSocket(d.port, "/mcp", token_for("greedy", "read")) for _ in range(CLIENTS)]
    held = [send_part(ws, 11 * MIB) for ws in messages]
    print_it = {"command": "head -c 4000000 /dev/zero | tr '\\0' z", "max_output": "8m"}
    unread = [ask_unread(d, f"/api/sandboxes/{big}/execute", print_it, greedy) for _ in range(CLIENTS)]
    said = [first_line(s) for s in unread]
    now = resident(d)
    assert now < before + BUDGET + SLACK, f"{now >> 20} MiB, {before >> 20} before; {held} {said}"
    assert not all(held), held
    assert set(said) <= {200, 503} and 503 in said, said
    serve_others(d, mine, other)
    for s in unread:
        s.close()
    for ws in messages:
        ws.sock.close()

    def comes_back():
        ws = WebSocket(d.port, "/mcp", greedy)
        ok = send_part(ws, 10 * MIB)  # one connection alone has a sixth
        ws.sock.close()
        return ok

    wait_for("room", comes_back)
    wait_for("the front to be small again", lambda: resident(d) < before + SLACK)


PICTURES = "for i in range(4): open(f'{i}.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + b'z' * 1040000)"


def test_kept_streams(d):
    """What MCP streams keep to tell it again: sessions that make it say much hold no more than their owner may."""
    other, greedy = token_for("other"), token_for("greedy")
    mine = d.must(201, "POST", "/api/sandboxes", {}, token=other)["sandbox_id"]
    big = d.must(201, "POST", "/api/sandboxes", {}, token=greedy)["sandbox_id"]
    before, heard = resident(d), 0
    for _ in range(CLIENTS):
        session = Session(d, token=greedy)
        session.must("logging/setLevel", {"level": "debug"})
        for _ in range(3):
            r, c = session.begin("tools/call", {"name": "run_code", "arguments": {"sandbox_id": big, "language": "python", "code": PICTURES}})
            told = r.read()
            assert r.status == 200 and b'"result"' in told, told[-500:]  # of notes some may be missing, of the answer nothing
            c.close()
            heard += len(told)
    now = resident(d)
    print(f"{heard >> 20} MiB were told, {(now - before) >> 20} MiB are held", flush=True)
    assert heard > BUDGET + SLACK, heard  # or nothing had to be left out
    assert now < before + BUDGET + SLACK, f"{now >> 20} MiB, {before >> 20} before"
    serve_others(d, mine, other)


HOLD = FIND_MARK + """
import json, os, time
def frames(kind, data):
    for at in range(0, len(data), 4000):
        piece = data[at:at + 4000]
        os.write(1, b"\\x1e" + mark + (kind.upper() if at + 4000 >= len(data) else kind) + b"%04x" % len(piece) + piece)
frames(b"e", json.dumps({"name": "E", "value": "v" * 1900000, "traceback": ""}).encode())
frames(b"r", b"r" * 1900000)
for at in range(0, 1900000, 4000):
    os.write(1, b"\\x1e" + mark + b"r0fa0" + b"r" * 4000)
time.sleep(600)
"""


def test_contexts(d):
    """What runs of code have sent so far, which no answer has taken yet: errors, and results that never end."""
    other, greedy = token_for("other"), token_for("coder")
    mine = d.must(201, "POST", "/api/sandboxes", {}, token=other)["sandbox_id"]
    boxes = [d.must(201, "POST", "/api/sandboxes", {}, token=greedy)["sandbox_id"] for _ in range(3)]
    before = resident(d)
    runs = []
    for box in boxes:
        for i in range(11):
            d.must(201, "POST", f"/api/sandboxes/{box}/contexts", {"name": f"c{i}"}, token=greedy)
            runs.append(ask_unread(d, f"/api/sandboxes/{box}/contexts/c{i}/run", {"code": HOLD}, greedy))

    def has_sent(box, context):
        return d.must(200, "GET", f"/api/sandboxes/{box}/execs/{context['exec_id']}", token=greedy)["stdout_bytes"] > 5600000

    def all_sent():
        return all(has_sent(box, c) for box in boxes for c in d.must(200, "GET", f"/api/sandboxes/{box}/contexts", token=greedy)["contexts"])

    wait_for("what they send", all_sent)
    now = resident(d)
    print(f"{len(runs)} runs: {(now - before) >> 20} MiB are held", flush=True)
    assert now < before + BUDGET + SLACK, f"{now >> 20} MiB, {before >> 20} before"
    for s in runs:
        s.close()
    serve_others(d, mine, other)
    for box in boxes:
        d.must(200, "DELETE", f"/api/sandboxes/{box}", token=greedy)


def test_bounds(d):
    """And what no budget sees: the keeper bounds the front, and sandboxes do not all go before it where the machine runs out."""
    front = d.child("cay-front")
    with open(f"/proc/{front}/maps", encoding="utf-8", errors="replace") as f:
        is_sanitized = "libasan" in f.read()
    with open(f"/proc/{front}/limits", encoding="utf-8") as f:
        data = next(line.split()[3:5] for line in f if line.startswith("Max data size"))
    assert is_sanitized or data == [str(BUDGET + 4 * 16 * MIB + 512 * MIB)] * 2, data
    for name, wanted in [("cay-front", "1000"), ("cay-warden", "0")]:
        with open(f"/proc/{d.child(name)}/oom_score_adj", encoding="utf-8") as f:
            assert f.read().strip() == wanted, name


def test_ten_owners(d):
    """Each with a budget of its own: together they still leave room for the next."""
    other = token_for("other")
    mine = d.must(201, "POST", "/api/sandboxes", {}, token=other)["sandbox_id"]
    before = resident(d)
    messages = [WebSocket(d.port, "/mcp", token_for(f"greedy{i}", "read")) for i in range(CLIENTS) for _ in range(3)]
    held = [send_part(ws, 11 * MIB) for ws in messages]
    assert resident(d) < before + BUDGET + SLACK and not all(held), held
    serve_others(d, mine, other)
    for ws in messages:
        ws.sock.close()


def test_refusal_is_told(d):
    """A single request that is too much gets its own protocol's word for it, and its connection goes on."""
    token = token_for("alone")
    box = d.must(201, "POST", "/api/sandboxes", {}, token=token)["sandbox_id"]
    ws = [WebSocket(d.port, "/mcp", token) for _ in range(4)]
    for w in ws:
        send_part(w, 6 * MIB)
    c = d.connect()
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    for _ in range(2):
        c.request("POST", f"/api/sandboxes/{box}/execute", json.dumps({"command": "head -c 7000000 /dev/zero | tr '\\0' z", "max_output": "8m"}), headers)
        r = c.getresponse()
        error = json.loads(r.read())["error"]
        assert r.status == 503 and "memory" in error["message"] and r.getheader("X-Request-Id") == error["request_id"], (r.status, error)
    c.request("GET", "/api/sandboxes", headers=headers)
    r = c.getresponse()
    assert r.status == 200 and r.read()
    for w in ws:
        w.sock.close()


def main():
    tests = [test_all_at_once, test_ten_owners, test_kept_streams, test_contexts, test_refusal_is_told, test_bounds]
    for test in tests:
        with Daemon("--client-memory", "64m", "--rate-limit", "0", "--max-sandboxes", "4",
                    env={"SANDBOX_TOKEN_SECRET": SECRET}) as d:
            test(d)
        print(f"ok {test.__name__}", flush=True)
    print(f"{len(tests)} passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
