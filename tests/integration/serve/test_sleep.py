#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sleep: a sandbox that nobody uses is paused by the daemon and gives its memory back; the next request wakes it."""
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, Daemon, wait_for  # noqa: E402
from ws_client import WebSocket  # noqa: E402

FILL = "head -c 50m /dev/zero >/workspace/big && cat /workspace/big >/dev/null"


def view(d, box):
    return d.must(200, "GET", f"/api/sandboxes/{box}")


def asleep(d, box):
    v = view(d, box)
    return v if v["status"] == "paused" and v["asleep"] else None


def sleeper(d, **fields):
    box = d.make(sleep_after_s=1, **fields)
    return box


def test_memory(d):
    """What a pause gives back is told, by the event and by the figures."""
    box = d.make()
    d.run(box, FILL)
    before = d.must(200, "GET", f"/api/sandboxes/{box}/stats")["memory_bytes"]
    paused = d.must(200, "POST", f"/api/sandboxes/{box}/pause", {})
    after = d.must(200, "GET", f"/api/sandboxes/{box}/stats")["memory_bytes"]
    assert paused["memory_freed_bytes"] > 20 << 20 and after < before - (20 << 20), (paused["memory_freed_bytes"], before, after)
    event = d.must(200, "GET", f"/api/sandboxes/{box}/events?kind=sandbox_paused")["events"][-1]
    assert event["detail"]["memory_freed_bytes"] == str(paused["memory_freed_bytes"]) and "asleep" not in event["detail"]
    box2 = d.make(sleep_after_s=1)
    d.run(box2, FILL)
    wait_for("sleep", lambda: asleep(d, box2))
    said = subprocess.run([CAY, "get", box2, "--data", os.path.join(d.folder, "data")], capture_output=True, text=True, check=True).stdout
    told = dict(line.split(None, 1) if not line.startswith("memory freed") else ("memory freed", line.split()[-1]) for line in said.splitlines())
    assert told["status"] == "paused" and told["asleep"] == "yes" and told["memory freed"].endswith("M"), said
    said = subprocess.run([CAY, "resume", box2, "--data", os.path.join(d.folder, "data")], capture_output=True, text=True, check=True).stdout
    assert said.split() == [box2, "ready"], said
    d.run(box2, FILL)
    said = subprocess.run([CAY, "pause", box2, "--data", os.path.join(d.folder, "data")], capture_output=True, text=True, check=True).stdout
    assert said.split()[:4] == [box2, "paused", "memory", "freed:"] and said.endswith("M\n"), said
    d.must(200, "DELETE", f"/api/sandboxes/{box2}")
    # A client that pauses it is not overruled: nothing wakes it but a resume.
    a = d.ask("POST", f"/api/sandboxes/{box}/execute", {"command": "true"})
    assert a.status == 409 and "resume it first" in a.json["error"]["message"], a
    d.must(200, "POST", f"/api/sandboxes/{box}/resume", {})
    assert d.run(box, "wc -c </workspace/big")["stdout"].strip() == str(50 << 20)
    assert "memory_freed_bytes" not in view(d, box)
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_wakes(d):
    """Every kind of access wakes it; it is as it was."""
    box = sleeper(d)
    d.run(box, "echo kept >/workspace/file")
    ways = (
        lambda: d.run(box, "cat file")["stdout"] == "kept\n",
        lambda: d.ask("GET", f"/api/sandboxes/{box}/files?path=/workspace/file").body == b"kept\n",
        lambda: d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/new", b"x" * 300000).status in (200, 201),
        lambda: d.must(200, "GET", f"/api/sandboxes/{box}/processes") is not None,
        lambda: d.must(200, "GET", f"/api/sandboxes/{box}/ports") is not None,
    )
    for way in ways:
        wait_for("sleep", lambda: asleep(d, box))
        assert way()
        assert view(d, box)["asleep"] is False
    assert d.run(box, "wc -c <new")["stdout"].strip() == "300000"
    # Reading its record is no use of it.
    wait_for("sleep", lambda: asleep(d, box))
    assert d.must(200, "GET", "/api/metrics")["sandboxes"]["asleep"] == 1
    assert asleep(d, box)
    d.must(200, "POST", f"/api/sandboxes/{box}/resume", {})
    assert view(d, box)["status"] == "ready"
    # One that works does not sleep, and many requests at once wake it once.
    wait_for("sleep", lambda: asleep(d, box))
    events = len(d.must(200, "GET", f"/api/sandboxes/{box}/events?kind=sandbox_resumed")["events"])
    found = []
    threads = [threading.Thread(target=lambda i=i: found.append(d.run(box, f"sleep 1.5; echo {i}")["stdout"])) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == sorted(f"{i}\n" for i in range(8)), found
    assert len(d.must(200, "GET", f"/api/sandboxes/{box}/events?kind=sandbox_resumed")["events"]) == events + 1
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_terminal(d):
    """A terminal that is opened wakes it, by the page's way and by the API's; it does not sleep while the terminal is there."""
    box = sleeper(d)
    wait_for("sleep", lambda: asleep(d, box))
    terminal = WebSocket(d.port, f"/tty/{box}/ws", d.token, headers={"Sec-WebSocket-Protocol": "tty"})
    terminal.send(json.dumps({"AuthToken": "", "columns": 80, "rows": 24}).encode())
    terminal.send(b"0echo here-$((40+2))\r")
    seen = b""
    while b"here-42" not in seen:
        seen += terminal.read()[1]
    assert view(d, box)["asleep"] is False
    terminal.send(b"0exit\r")
    wait_for("sleep", lambda: asleep(d, box))
    x = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["sleep", "2"], "tty": True, "background": True})
    wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{x['exec_id']}")["status"] == "ended")
    terminal.sock.close()
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


SERVER = """
import functools, http.server, threading
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="/workspace")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
"""


def test_ports(d):
    """A connection to a port of a sleeper wakes it. An interpreter that waits for code does not keep it awake, a command does."""
    box = sleeper(d)
    d.ask("PUT", f"/api/sandboxes/{box}/files?path=/workspace/index.html", b"hello")
    context = d.must(201, "POST", f"/api/sandboxes/{box}/contexts", {"language": "python"})["context_id"]
    d.must(200, "POST", f"/api/sandboxes/{box}/contexts/{context}/run", {"code": SERVER})
    assert d.ask("GET", f"/api/sandboxes/{box}/ports/8000/").body == b"hello"
    wait_for("sleep", lambda: asleep(d, box))
    assert d.ask("GET", f"/api/sandboxes/{box}/ports/8000/").body == b"hello"
    command = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 600", "background": True})
    d.must(200, "POST", f"/api/sandboxes/{box}/contexts/{context}/run", {"code": "import time; time.sleep(2.5)"})
    assert not asleep(d, box), command
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_restart(d):
    """A sleeper is one after the front has been replaced, too; destroying and stopping need no waking."""
    box, other, third = sleeper(d), sleeper(d), sleeper(d)
    for b in (box, other, third):
        wait_for("sleep", lambda b=b: asleep(d, b))
    os.kill(d.child("cay-front"), 9)
    wait_for("the front", lambda: (a := d.ask("GET", f"/api/sandboxes/{box}")).status == 200 and a.json["asleep"])
    assert d.run(box, "echo again")["stdout"] == "again\n"
    d.must(200, "DELETE", f"/api/sandboxes/{other}")
    stopped = d.must(200, "POST", f"/api/sandboxes/{third}/stop", {})
    assert stopped["status"] == "stopped" and stopped["asleep"] is False, stopped
    for b in (box, third):
        d.must(200, "DELETE", f"/api/sandboxes/{b}")


def test_idle(d):
    """Who sleeps is not used: its idle limit counts on."""
    box = sleeper(d, idle_timeout=3)
    wait_for("sleep", lambda: asleep(d, box))
    wait_for("its end", lambda: d.ask("GET", f"/api/sandboxes/{box}").status == 404)


TESTS = [test_memory, test_wakes, test_terminal, test_ports, test_restart, test_idle]


def main():
    chosen = [t for t in TESTS if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]]
    with Daemon() as d:
        for t in chosen:
            t(d)
            print(f"ok {t.__name__}", flush=True)


main()
