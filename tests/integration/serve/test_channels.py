#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much one sandbox holds at once: commands, connections to its ports, and files beside them; and what the next one is told."""
import contextlib
import os
import resource
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, wait_for  # noqa: E402

COMMANDS, PORTS = 128, 200
SERVER = r"""
import socket, threading
s = socket.create_server(("127.0.0.1", 8000), backlog=300)
held = []
def serve(c):
    while b"\r\n\r\n" not in c.recv(65536): pass
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
    held.append(c)
while True:
    serve(s.accept()[0])
"""


def box_of(d, **limits):
    return d.must(201, "POST", "/api/sandboxes", {"limits": {"pids": 400, "memory": "512m", **limits}})["sandbox_id"]


def start(d, box, command, **more):
    return d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": command, "background": True, **more})["exec_id"]


def answers(d, box):
    response, c = d.begin("GET", f"/api/sandboxes/{box}/ports/8000/")
    c.close()
    return response.status == 200


def check_others(d, box):
    """What is no command and no connection goes on."""
    d.must(200, "PUT", f"/api/sandboxes/{box}/files?path=/workspace/note", b"x" * 300000)
    assert d.ask("GET", f"/api/sandboxes/{box}/files?path=/workspace/note").body == b"x" * 300000
    assert d.must(200, "GET", f"/api/sandboxes/{box}/processes")
    assert d.must(200, "GET", f"/api/sandboxes/{box}")["status"] in ("ready", "busy")


def everything_at_once(d):
    box = box_of(d)
    start(d, box, ["python3", "-c", SERVER])
    wait_for("the server", lambda: answers(d, box))
    floods = [start(d, box, "yes" if i % 8 == 0 else "sleep 1000", open_stdin=True) for i in range(COMMANDS - 1)]
    with contextlib.ExitStack() as held:
        for i in range(PORTS):
            response, c = d.begin("GET", f"/api/sandboxes/{box}/ports/8000/")
            held.callback(c.close)
            assert response.status == 200, (i, response.status, response.read())
            assert response.read(2) == b"hi"
        # Neither files nor what is said to a command waits for any of them.
        check_others(d, box)
        d.must(200, "POST", f"/api/sandboxes/{box}/execs/{floods[1]}/input", b"hello\n")
        a = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "true"})
        assert a.status == 429 and "128 commands" in a.json["error"]["message"], a
        d.must(200, "DELETE", f"/api/sandboxes/{box}/execs/{floods[2]}")
        wait_for("its place", lambda: d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "true"}).status == 200)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def hold_until_refused(d, box, held):
    """How many connections there could be, and what the next one was told."""
    for count in range(300):
        response, c = d.begin("GET", f"/api/sandboxes/{box}/ports/8000/", unix=count % 2 == 0)  # one client may have 256
        held.callback(c.close)
        if response.status != 200:
            return count, (response.status, response.read().decode())
    raise AssertionError("there is no end")


def connections_beyond_the_limit(d):
    """Told as what it is: somebody may well answer at the port."""
    box = box_of(d)
    start(d, box, ["python3", "-c", SERVER])
    wait_for("the server", lambda: answers(d, box))
    with contextlib.ExitStack() as held:
        count, (status, text) = hold_until_refused(d, box, held)
        assert 250 <= count <= 256 and status == 429 and "256 connections" in text, (count, status, text)
        check_others(d, box)
    wait_for("room", lambda: answers(d, box))
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def input_is_applied_once(d):
    """At an offset: what was given before is skipped, a hole is refused, and the end may be said again."""
    box = box_of(d)
    x = start(d, box, "cat; sleep 1000", open_stdin=True)
    url = f"/api/sandboxes/{box}/execs/{x}/input"
    big = bytes(range(256)) * 1000
    assert d.must(200, "POST", url + "?offset=0", b"abc") == {"bytes": 3, "offset": 3}
    assert d.must(200, "POST", url + "?offset=0", b"abc") == {"bytes": 3, "offset": 3}
    assert d.must(200, "POST", url + "?offset=2", b"c" + big) == {"bytes": 1 + len(big), "offset": 3 + len(big)}
    assert d.must(200, "POST", url + "?offset=3", big) == {"bytes": len(big), "offset": 3 + len(big)}
    a = d.ask("POST", url + f"?offset={len(big) + 4}", b"x")
    assert a.status == 409 and f"has received {len(big) + 3} bytes" in a.json["error"]["message"], a
    for _ in range(2):
        assert d.must(200, "POST", url + f"?offset={len(big) + 3}&eof=true", b"!") == {"bytes": 1, "offset": len(big) + 4}
    a = d.ask("POST", url + f"?offset={len(big) + 4}", b"more")
    assert a.status == 409, a
    path = f"/api/sandboxes/{box}/execs/{x}"
    wait_for("its output", lambda: d.must(200, "GET", path)["stdout_bytes"] == len(big) + 4)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def few_descriptors(d):
    """What the box's own init meets is passed on in words, to a command and through the proxy."""
    box = box_of(d)
    start(d, box, ["python3", "-c", SERVER])
    wait_for("the server", lambda: answers(d, box))
    refused = None
    for _ in range(COMMANDS):
        a = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 1000", "background": True, "open_stdin": True})
        if a.status != 202:
            refused = a
            break
    assert refused is not None and refused.status == 429 and "RLIMIT_NOFILE" in refused.json["error"]["message"], refused
    with contextlib.ExitStack() as held:
        count, (status, text) = hold_until_refused(d, box, held)  # a connection takes less than a command
        assert count < 50 and status == 429 and "RLIMIT_NOFILE" in text, (count, status, text)


def main():
    with Daemon("--rate-limit", "0") as d:
        for test in (input_is_applied_once, everything_at_once, connections_beyond_the_limit):
            test(d)
            print(f"ok {test.__name__}", flush=True)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
            with Daemon("--rate-limit", "0") as d:
                few_descriptors(d)
            print("ok few_descriptors", flush=True)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


main()
