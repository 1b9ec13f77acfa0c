#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The desktop of a sandbox and the ops for computer use, with a real Xvnc. test_desktop.py [NAME…] runs some of the tests."""
import base64
import json
import os
import signal
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mcp_session  # noqa: E402
from daemon import CAY, Daemon, run_tests, skip_without, wait_for  # noqa: E402

# Asks the X server itself, in its own protocol: where the pointer is, which buttons and modifiers are down.
QUERY_POINTER = r"""
import socket, struct
s = socket.socket(socket.AF_UNIX)
s.connect('/tmp/.X11-unix/X1')
f = s.makefile('rb')
s.sendall(struct.pack('<BxHHHHxx', 0x6c, 11, 0, 0, 0))
ok, _, _, n = struct.unpack('<BxHHH', f.read(8))
body = f.read(n * 4)
vendor, formats = struct.unpack('<H', body[16:18])[0], body[21]
root = struct.unpack('<I', body[32 + (vendor + 3) // 4 * 4 + 8 * formats:][:4])[0]
s.sendall(struct.pack('<BxHI', 38, 2, root))
r = f.read(32)
print(*struct.unpack('<hh', r[16:20]), struct.unpack('<H', r[24:26])[0])
"""


def at(box, what=""):
    return f"/api/sandboxes/{box}/computer" + (f"/{what}" if what else "")


def do(d, box, what, **fields):
    return d.must(200, "POST", at(box, what), fields)


def run(d, box, *argv):
    got = d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": list(argv)})
    assert got["exit_code"] == 0, got
    return got["stdout"]


def pointer(d, box):
    return tuple(map(int, run(d, box, "python3", "-c", QUERY_POINTER).split()))


def read_png(data):
    """Width, height and rows of (r, g, b) bytes."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:16]
    at_, packed, size = 8, b"", None
    while at_ < len(data):
        n, kind = struct.unpack(">I4s", data[at_:at_ + 8])
        body = data[at_ + 8:at_ + 8 + n]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at_ + 8 + n:at_ + 12 + n])[0]
        at_ += 12 + n
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
            assert body[8:] == b"\x08\x02\0\0\0", body
        elif kind == b"IDAT":
            packed += body
    assert kind == b"IEND"
    raw, (w, h), rows, above = zlib.decompress(packed), size, [], bytes(size[0] * 3)
    assert len(raw) == h * (w * 3 + 1)
    for y in range(h):
        line = bytearray(raw[y * (w * 3 + 1):(y + 1) * (w * 3 + 1)])
        kind, row = line[0], line[1:]
        for i in range(w * 3):
            row[i] = (row[i] + (above[i] if kind == 2 else row[i - 3] if kind == 1 and i >= 3 else 0)) & 255
        rows.append(bytes(row))
        above = row
    return w, h, rows


def shot(d, box, **query):
    r = d.ask("POST", at(box, "screenshot"), query)
    assert r.status == 200 and r.headers["Content-Type"] == "image/png", (r.status, r.body[:300])
    return read_png(r.body)


def desktop(d, box, method="GET", body=None, status=200):
    return d.must(status, method, f"/api/sandboxes/{box}/desktop", body)


def test_life(d, box):
    assert desktop(d, box)["status"] == "stopped"
    assert "start it" in d.must(409, "GET", at(box))["error"]["message"]
    got = desktop(d, box, "POST", {}, 201)
    assert (got["status"], got["width"], got["height"]) == ("running", 1280, 800), got
    assert desktop(d, box)["exec_id"] == got["exec_id"]
    # It is a command like others, and no context.
    execs = {e["exec_id"]: e for e in d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"]}
    assert execs[got["exec_id"]]["status"] == "running", execs
    assert d.must(200, "GET", f"/api/sandboxes/{box}/contexts")["contexts"] == []
    assert d.ask("DELETE", f"/api/sandboxes/{box}/contexts/.desktop").status == 404
    # A second start only changes the size.
    again = desktop(d, box, "POST", {"width": 1000, "height": 700}, 200)
    assert (again["exec_id"], again["width"], again["height"]) == (got["exec_id"], 1000, 700), again
    w, h, rows = shot(d, box)
    assert (w, h) == (1000, 700)
    assert len(set(rows)) > 10, "the screen is empty"
    assert "16080" not in run(d, box, "cat", "/proc/net/tcp") and not run(d, box, "cat", "/proc/net/tcp").strip().splitlines()[1:]
    assert desktop(d, box, "DELETE")["status"] == "stopped"
    wait_for("the end of its programs", lambda: "Xtigervnc" not in str(d.must(200, "GET", f"/api/sandboxes/{box}/processes")))
    # The next use starts it.
    assert shot(d, box, scale="0.5")[:2] == (640, 400)
    # It outlives the daemon's front.
    before = desktop(d, box)["exec_id"]
    os.kill(d.child("cay-front"), signal.SIGKILL)

    def again():
        try:
            return d.ask("GET", f"/api/sandboxes/{box}").status == 200
        except OSError:
            return False

    wait_for("the next front", again)
    assert desktop(d, box)["exec_id"] == before and shot(d, box)[:2] == (1280, 800)
    # A desktop that dies is told, and the next use starts another one.
    d.must(200, "DELETE", f"/api/sandboxes/{box}/execs/{before}")
    wait_for("its end", lambda: desktop(d, box)["status"] == "stopped")
    assert desktop(d, box)["cause"] == "killed"
    assert shot(d, box)[:2] == (1280, 800) and desktop(d, box)["exec_id"] != before


def test_typing(d, box):
    """A terminal is there from the start; what is typed into it arrives."""
    assert do(d, box, "wait", still="300ms", timeout="20s")["still"]
    do(d, box, "click", x=300, y=200)
    text = "größe Ω 你好 {~} \"'\\ ABC xyz"
    do(d, box, "type", text=f"cat > typed.txt\n{text}\n")
    do(d, box, "key", keys="ctrl+d")

    def typed():
        r = d.ask("GET", f"/api/sandboxes/{box}/files?path=typed.txt")
        return r.status == 200 and r.body.decode()

    wait_for("what was typed", lambda: (typed() or "").endswith("\n"))
    assert typed() == text + "\n", typed()
    long = "".join(chr(97 + i % 26) for i in range(400))
    do(d, box, "type", text=f"echo {long} > long.txt; touch done\n")
    wait_for("the long line", lambda: "done" in run(d, box, "ls"))
    assert run(d, box, "cat", "long.txt") == long + "\n"
    # Modifiers are released again.
    do(d, box, "click", x=300, y=200, keys="ctrl+shift")
    assert pointer(d, box) == (300, 200, 0)
    for fields, name in (({"keys": "hyper+x"}, "keys"), ({"keys": ""}, "keys")):
        bad = d.must(400, "POST", at(box, "key"), fields)
        assert bad["error"]["field"] == name, bad
    assert "U+0007" in d.must(400, "POST", at(box, "type"), {"text": "a\x07"})["error"]["message"]


def test_points(d, box):
    """Points are exact at any scale: the middle of what a pixel of the picture shows."""
    for scale, x, y, where in (("1", 0, 0, (0, 0)), ("1", 1279, 799, (1279, 799)), ("0.5", 100, 50, (201, 101)), ("0.5", 639, 399, (1279, 799)),
                               ("0.3", 383, 239, (1278, 798)), ("0.8", 1, 1, (1, 1)), ("0.125", 10, 10, (84, 84))):
        got = do(d, box, "move", x=x, y=y, scale=scale)
        assert pointer(d, box)[:2] == where, (scale, x, y, pointer(d, box))
        assert (got["x"], got["y"]) == (x, y), got
        assert d.must(200, "GET", at(box) + f"?scale={scale}")["x"] == x
    bad = d.must(400, "POST", at(box, "move"), {"x": 640, "y": 1, "scale": 0.5})
    assert bad["error"]["field"] == "x" and "640 pixels wide" in bad["error"]["message"], bad
    assert d.must(400, "POST", at(box, "move"), {"x": 1, "y": 1, "scale": 2})["error"]["field"] == "scale"
    assert d.must(400, "POST", at(box, "click"), {"x": 1})["error"]["field"] == "y"
    assert d.must(400, "POST", at(box, "click"), {"x": 1, "y": 1, "button": "big"})["error"]["field"] == "button"
    # A window that is dragged by its title bar has moved: the terminal's is above its first row.
    do(d, box, "wait", still="300ms", timeout="20s")
    before = shot(d, box)[2]
    do(d, box, "drag", x=300, y=50, to_x=500, to_y=330)
    assert pointer(d, box) == (500, 330, 0)
    wait_for("the window to move", lambda: shot(d, box, still="200ms")[2][200] != before[200])
    do(d, box, "scroll", direction="down", amount=5)
    assert pointer(d, box) == (500, 330, 0)
    # Scales of a picture agree with the screen: the same colours on average.
    full, half = shot(d, box, still="200ms"), shot(d, box, scale="0.5")
    for x, y in ((5, 5), (300, 300), (630, 390)):
        four = [full[2][2 * y + j][(2 * x + i) * 3:(2 * x + i) * 3 + 3] for i in (0, 1) for j in (0, 1)]
        mean = [(sum(p[c] for p in four) + 2) // 4 for c in range(3)]
        assert list(half[2][y][x * 3:x * 3 + 3]) == mean, (x, y)


def test_command_line(d, box):
    def cay(*words, status=0):
        r = subprocess.run([CAY, *words, "--data", os.path.join(d.folder, "data")], env=d.environment(), capture_output=True, timeout=120)
        assert r.returncode == status, r
        return r.stdout

    cay("desktop", "start", box, "--width", "800", "--height", "600")
    assert read_png(cay("computer", "screenshot", box))[:2] == (800, 600)
    cay("computer", "move", box, "10", "20")
    assert json.loads(cay("computer", box, "--json"))["x"] == 10
    cay("computer", "wait", box, "--still", "200ms")
    cay("computer", "click", box, "300", "200")
    cay("computer", "type", box, "touch from-cli\n")
    wait_for("the file", lambda: "from-cli" in run(d, box, "ls"))
    cay("desktop", "stop", box)


def test_tools(d, box):
    """Over MCP the picture is image content with its size, and points of it are exact at its scale."""
    s = mcp_session.Session(d, "/mcp?tools=computer")
    assert {"computer_screenshot", "computer_click", "desktop_start"} <= {t["name"] for t in s.must("tools/list")["tools"]}
    started = s.good("desktop_start", sandbox_id=box, width=1000, height=600)
    assert (started["width"], started["height"]) == (1000, 600), started
    for scale, size in ((None, (1000, 600)), (0.5, (500, 300)), (0.333, (333, 200))):
        more = {"scale": scale} if scale else {}
        got = s.call("computer_screenshot", sandbox_id=box, **more)
        block, = got["content"]
        assert (block["type"], block["mimeType"]) == ("image", "image/png") and not got.get("isError"), got
        w, h, _ = read_png(base64.b64decode(block["data"]))
        assert (w, h) == size and got["structuredContent"] == {"mime_type": "image/png", "width": w, "height": h}, got["structuredContent"]
        s.good("computer_move", sandbox_id=box, x=w - 1, y=h // 2, **more)
        x, y, _ = pointer(d, box)
        assert abs((x + 0.5) / 1000 - (w - 0.5) / w) < 1 / 1000 and abs((y + 0.5) / 600 - (h // 2 + 0.5) / h) < 1 / 600, (scale, x, y)
    assert s.bad("computer_screenshot", sandbox_id=box, scale=3)["message"].startswith("scale")
    assert s.good("desktop_stop", sandbox_id=box)["status"] == "stopped"
    s.end()


def test_together(d, box):
    """Calls at once share one desktop, and the input of each is whole."""
    import threading
    got = []
    threads = [threading.Thread(target=lambda: got.append(shot(d, box, scale="0.25")[:2])) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert got == [(320, 200)] * 4, got
    execs = [e for e in d.must(200, "GET", f"/api/sandboxes/{box}/execs")["execs"] if e["status"] == "running"]
    assert len(execs) == 1, execs


def test_missing(d, box):
    """What a sandbox without the programs says."""
    del box
    other = d.make(memory_limit="512m", timeout="10m", env={"PATH": "/workspace/bin"})
    run(d, other, "/bin/mkdir", "bin")
    run(d, other, "/bin/ln", "-s", "/bin/mkdir", "/bin/rm", "bin")
    bad = d.ask("POST", at(other, "screenshot"), {})
    assert bad.status == 422 and "tigervnc-standalone-server" in bad.body.decode(), (bad.status, bad.body)
    d.must(200, "DELETE", f"/api/sandboxes/{other}")


def test_ends(d, box):
    """Each end has its own text, at the next call and in what is told of the desktop."""
    def kill(name):
        run(d, box, "sh", "-c", f'for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = {name} ] && kill -9 ${{p#/proc/}}; done; true')

    def ended(word):
        wait_for("its end", lambda: desktop(d, box)["status"] == "stopped")
        told = desktop(d, box)
        assert word in told["cause_text"] and told["exec_id"] in told["cause_text"], told

    for name, word in (("Xtigervnc", "X server ended;"), ("openbox", "window manager ended;")):
        desktop(d, box, "POST", {}, 201)
        kill(name)
        ended(word)
    run(d, box, "sh", "-c", "rm -rf /tmp/.cay-desktop && touch /tmp/.cay-desktop")
    assert "/tmp" in desktop(d, box, "POST", {}, 409)["error"]["message"]
    run(d, box, "sh", "-c", "rm /tmp/.cay-desktop && rm -f /tmp/.X1-lock && mkdir /tmp/.X1-lock")
    assert "X server ended at the start" in desktop(d, box, "POST", {}, 409)["error"]["message"]
    run(d, box, "rmdir", "/tmp/.X1-lock")
    desktop(d, box, "POST", {}, 201)
    # Even where the script itself was killed, and left its server behind.
    pid = run(d, box, "cat", "/tmp/.cay-desktop/server.pid").strip()
    run(d, box, "sh", "-c", f"kill -9 $(cut -d' ' -f4 /proc/{pid}/stat)")
    wait_for("its end", lambda: desktop(d, box)["status"] == "stopped")
    desktop(d, box, "POST", {}, 201)
    small = d.make(memory_limit="12m", timeout="10m")
    error = desktop(d, small, "POST", {}, 429)["error"]
    assert "out of memory" in error["message"] and "256 MiB" in error["message"], error
    d.must(200, "DELETE", f"/api/sandboxes/{small}")


def main():
    skip_without("Xtigervnc", "openbox", "xterm")
    with Daemon() as d:
        run_tests(globals(), d, own_box=True)


if __name__ == "__main__":
    main()
