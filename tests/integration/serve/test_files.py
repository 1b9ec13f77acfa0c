#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files through the API: watching, packed archives, large ones in constant memory, and the attacks of the threat
model's part 2.3. test_files.py [NAME…] runs some of them."""
import base64
import concurrent.futures
import contextlib
import ctypes
import gzip
import hashlib
import http.client
import io
import json
import os
import shutil
import signal
import socket
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import BUILD, PATIENCE_S, Daemon, children, run_tests, wait_for  # noqa: E402

SILENCE_S = 5  # nobody who runs is that long without a moment of the machine's time
CANARY = b"a secret of the host " + os.urandom(16).hex().encode()


def at(box, what="files", **query):
    text = urllib.parse.urlencode({k: str(v).lower() if isinstance(v, bool) else v for k, v in query.items()},
                                  quote_via=urllib.parse.quote)
    return f"/api/sandboxes/{box}/{what}" + ("?" + text if text else "")


@contextlib.contextmanager
def sandbox(d, **fields):
    box = d.make(**fields)
    yield box
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


@contextlib.contextmanager
def host_canary():
    """A file of the host that anybody may read, at a place that no sandbox has."""
    folder = tempfile.mkdtemp(prefix="cay-canary-")
    os.chmod(folder, 0o777)
    path = os.path.join(folder, "canary")
    with open(path, "wb") as f:
        f.write(CANARY)
    os.chmod(path, 0o666)
    try:
        yield path
        with open(path, "rb") as f:
            assert f.read() == CANARY
        assert os.listdir(folder) == ["canary"], os.listdir(folder)
    finally:
        shutil.rmtree(folder)


def shell(d, box, line, **more):
    r = d.run(box, ["sh", "-c", line], **more)
    assert r["exit_code"] == 0, r
    return r["stdout"]


def inits_of(d):
    return [pid for pid, comm in children(d.child("cay-warden")) if comm == "cay-init"]


def init_of(d):
    """The one cay-init below the daemon."""
    return wait_for("the sandbox's init", lambda: inits_of(d))[0]


# Watching


class Watch:
    """Events of a watch, one after the other."""

    def __init__(self, d, box, path, headers=None, **query):
        self.response, self.connection = d.begin("GET", at(box, "files/watch", path=path, **query), headers=headers)
        self.seen = []
        assert self.response.status == 200, self.response.read()

    def next(self):
        line = self.response.readline()
        if not line:
            return None
        self.seen.append(json.loads(line))
        return self.seen[-1]

    def expect(self, *kinds, **fields):
        """The next event of one of these kinds that has these fields."""
        for _ in range(100000):
            e = self.next()
            assert e is not None, (kinds, fields, self.seen[-20:])
            if e["event"] in kinds and all(e.get(k) == v for k, v in fields.items()):
                return e
        raise AssertionError((kinds, fields, self.seen[-20:]))

    def close(self):
        self.response.close()
        self.connection.close()


def uid_of(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def workers_of(init):
    """Each transfer and each watch is a process of the sandbox, with its user's id: init's own is that of the spare for the next command."""
    return [pid for pid, comm in children(init) if comm == "cay-init" and uid_of(pid) not in (None, uid_of(init))]


def workers(d):
    """Of the one sandbox."""
    return workers_of(init_of(d))


def test_watch(d):
    with sandbox(d) as box:
        shell(d, box, "mkdir -p top/a")
        for path, status in [("none", 404), ("/etc/passwd", 409), ("top/a/../../none", 404)]:
            a = d.ask("GET", at(box, "files/watch", path=path))
            assert a.status == status and a.json["error"]["message"], a
        w = Watch(d, box, "top", recursive=True)
        assert w.expect("ready")["folders"] == 2
        assert w.response.headers["Content-Type"].startswith("application/x-ndjson")
        d.must(200, "PUT", at(box, path="top/a/f"), b"hello")
        w.expect("created", path="a/f", is_directory=False)  # whole from the first moment
        d.must(200, "PUT", at(box, path="top/a/f"), b"hello again")
        w.expect("moved", to="a/f")
        shell(d, box, "echo x >>top/a/f")
        w.expect("modified", path="a/f")
        w.expect("closed", path="a/f")
        shell(d, box, "mkdir -p top/new/er && echo x >top/new/er/g && mv top/a top/b && chmod 600 top/b/f")
        w.expect("created", path="new/er/g")
        w.expect("moved", path="a", to="b", is_directory=True)
        w.expect("attributes", path="b/f")
        shell(d, box, "rm -r top/new")
        w.expect("removed", path="new", is_directory=True)
        d.must(200, "POST", at(box, "files/move"), {"path": "top/b/f", "to": "top/h"})
        w.expect("moved", path="b/f", to="h")
        # names that are no UTF-8, as in lists
        shell(d, box, r"touch top/$(printf '\377x')")
        w.expect("created", path_base64=base64.b64encode(b"\xffx").decode())
        # the folder goes
        shell(d, box, "rm -r top")
        w.expect("gone")
        w.expect("ended", reason="gone")
        assert w.next() is None
        w.close()


def test_watch_sse(d):
    with sandbox(d) as box:
        shell(d, box, "mkdir top")
        r, c = d.begin("GET", at(box, "files/watch", path="top"), headers={"Accept": "text/event-stream"})
        assert r.headers["Content-Type"].startswith("text/event-stream"), r.headers
        assert r.readline() == b"event: ready\n"
        shell(d, box, "touch top/a")
        text = b""
        while b"created" not in text or b"\n\n" not in text[text.index(b"created"):]:
            text += r.readline()
        assert b"event: created\ndata: {" in text, text
        r.close()
        c.close()


def test_watch_overflow(d):
    """A client that does not read, while more happens than fits anywhere: it is told to look again."""
    with sandbox(d) as box:
        shell(d, box, "mkdir -p top/sub")
        w = Watch(d, box, "top", recursive=True)
        w.expect("ready")
        line = "import os\n" \
               "for i in range(60000):\n" \
               "    n = 'top/%s%d' % ('x' * 100, i % 5)\n" \
               "    os.close(os.open(n, os.O_CREAT | os.O_WRONLY))\n" \
               "    os.unlink(n)\n" \
               "os.mkdir('top/late')\n"
        assert d.run(box, ["python3", "-c", line])["exit_code"] == 0
        # A watcher that had to wait for the machine may have looked anew before the last folder was there: then that one is told of.
        told = w.expect("overflow")
        while told.get("folders") != 3 and told.get("path") != "late":
            told = w.expect("overflow", "created")
        shell(d, box, "touch top/late/seen")
        w.expect("created", path="late/seen")
        w.close()


def test_watch_bounds(d):
    with sandbox(d) as box:
        shell(d, box, "mkdir -p top/a top/b top/c")
        w = Watch(d, box, "top", recursive=True, max_folders=2)
        e = w.expect("unwatched", reason="limit")
        assert e["path"] in ("a", "b", "c"), e
        w.expect("ready", folders=2)
        w.close()
        wait_for("the watcher's end", lambda: not workers(d))
        many = [Watch(d, box, "top") for _ in range(16)]
        for w in many:
            w.expect("ready")
        assert len(workers(d)) == 16, workers(d)
        a = d.ask("GET", at(box, "files/watch", path="top"))
        assert a.status == 429 and "16 folders" in a.json["error"]["message"], a
        # others are not in the way of anything
        d.must(200, "PUT", at(box, path="top/x"), b"x")
        for w in many:
            w.expect("created", path="x")
        # a client that goes takes its watcher along; one that stays learns of the sandbox's end
        for w in many[1:]:
            w.close()
        wait_for("the watchers' end", lambda: len(workers(d)) == 1)
        d.must(200, "POST", at(box, "stop"))
        e = many[0].expect("ended", reason="sandbox")
        assert e["message"], e
        assert many[0].next() is None
        many[0].close()


# Packed archives


def zstd(data, window_log=None):
    """By the library, since Python has none: one frame, its size not told."""
    lib = ctypes.CDLL("libzstd.so.1")

    class Buffer(ctypes.Structure):
        _fields_ = [("mem", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    lib.ZSTD_createCCtx.restype = ctypes.c_void_p
    lib.ZSTD_compressStream2.restype = ctypes.c_size_t
    lib.ZSTD_compressStream2.argtypes = [ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.POINTER(Buffer), ctypes.c_int]
    lib.ZSTD_CCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    lib.ZSTD_freeCCtx.argtypes = [ctypes.c_void_p]
    context = lib.ZSTD_createCCtx()
    lib.ZSTD_CCtx_setParameter(context, 201, 1)  # a checksum
    if window_log:
        lib.ZSTD_CCtx_setParameter(context, 101, window_log)
    room = ctypes.create_string_buffer(len(data) + (len(data) >> 3) + 4096)
    source = ctypes.create_string_buffer(data, len(data))
    out = Buffer(ctypes.addressof(room), len(room), 0)
    into = Buffer(ctypes.addressof(source), len(data), 0)
    lib.ZSTD_compressStream2(context, out, into, 0)
    assert lib.ZSTD_compressStream2(context, out, into, 2) == 0
    lib.ZSTD_freeCCtx(context)
    return room.raw[:out.pos]


def unzstd(data, most):
    lib = ctypes.CDLL("libzstd.so.1")
    room = ctypes.create_string_buffer(most)

    class Buffer(ctypes.Structure):
        _fields_ = [("mem", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    lib.ZSTD_createDCtx.restype = ctypes.c_void_p
    lib.ZSTD_decompressStream.restype = ctypes.c_size_t
    lib.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.POINTER(Buffer)]
    lib.ZSTD_freeDCtx.argtypes = [ctypes.c_void_p]
    context = lib.ZSTD_createDCtx()
    source = ctypes.create_string_buffer(data, len(data))
    out = Buffer(ctypes.addressof(room), most, 0)
    into = Buffer(ctypes.addressof(source), len(data), 0)
    assert lib.ZSTD_decompressStream(context, out, into) == 0, "not one whole frame"
    assert into.pos == len(data)
    lib.ZSTD_freeDCtx(context)
    return room.raw[:out.pos]


def tar_of(*members):
    """(name, bytes) or TarInfo: a tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as t:
        for m in members:
            info, data = (m, b"") if isinstance(m, tarfile.TarInfo) else (tarfile.TarInfo(m[0]), m[1])
            if not isinstance(m, tarfile.TarInfo):
                info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_packed(d):
    with sandbox(d) as box:
        noise = os.urandom(300000)
        shell(d, box, "mkdir -p src/deep && seq 100000 >src/deep/numbers")
        d.must(200, "PUT", at(box, path="src/noise"), noise)
        numbers = "".join(f"{i}\n" for i in range(1, 100001)).encode()
        plain = d.ask("GET", at(box, "archive", path="src"))
        assert plain.headers["Content-Type"] == "application/x-tar"
        for form, kind, undo in [("tar.gz", "application/gzip", gzip.decompress),
                                 ("tar.zst", "application/zstd", lambda b: unzstd(b, 4 << 20))]:
            a = d.ask("GET", at(box, "archive", path="src", format=form))
            assert a.status == 200 and a.headers["Content-Type"] == kind, a.headers
            assert f'"src.{form}"' in a.headers["Content-Disposition"], a.headers
            assert len(a.body) < len(plain.body) and undo(a.body) == plain.body
            for query in [{}, {"format": form}]:
                shell(d, box, "rm -rf back")
                put = d.must(200, "PUT", at(box, "archive", path="back", parents=True, **query), a.body)
                assert put["format"] == form and put["entries"] >= 4, put
                assert put["bytes"] == len(numbers) + len(noise), put
                assert shell(d, box, "diff -r src back") == ""
        assert d.must(200, "PUT", at(box, "archive", path="back", format="tar"), plain.body)["format"] == "tar"
        # a file, an empty folder, an empty body, and one too short to tell
        one = gzip.decompress(d.must(200, "GET", at(box, "archive", path="src/noise", format="tar.gz")))
        assert noise in one
        shell(d, box, "mkdir empty")
        assert gzip.decompress(d.must(200, "GET", at(box, "archive", path="empty", format="tar.gz")))
        d.must(404, "GET", at(box, "archive", path="none", format="tar.zst"))
        a = d.ask("GET", at(box, "archive", path="src", format="rar"))
        assert a.status == 400 and a.json["error"]["field"] == "format", a
        for body in [b"", b"x", b"\x1f", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"]:
            for query in [{}, {"format": "tar.gz"}, {"format": "tar.zst"}]:
                a = d.ask("PUT", at(box, "archive", path="empty", **query), body)
                assert a.status == 400, (body, query, a)
        # two members in a row are one archive; a byte at a time is as good as all at once
        half = len(plain.body) // 2
        two = gzip.compress(plain.body[:half]) + gzip.compress(plain.body[half:])
        assert d.must(200, "PUT", at(box, "archive", path="back"), two)["format"] == "tar.gz"
        small = gzip.compress(tar_of(("slow", b"slowly")))
        r, c = d.begin("PUT", at(box, "archive", path="back"), body=(bytes([b]) for b in small),
                       headers={"Content-Length": str(len(small))})
        assert r.status == 200 and json.loads(r.read())["entries"] == 1
        c.close()
        assert d.must(200, "GET", at(box, path="back/slow")) == b"slowly"


def test_packed_damage(d):
    """Cut or damaged: 400, members before it are there, the one in the middle is not."""
    first, second = os.urandom(200000), os.urandom(800000)
    archive = tar_of(("first", first), ("second", second), ("third", b"3"))
    with sandbox(d) as box:
        for pack in (gzip.compress, zstd):
            packed = pack(archive)
            middle = len(packed) // 2
            bad = packed[:middle] + bytes(b ^ 0xff for b in packed[middle:middle + 64]) + packed[middle + 64:]
            for body in (packed[:middle], bad):
                shell(d, box, "rm -rf into && mkdir into")
                a = d.ask("PUT", at(box, "archive", path="into"), body)
                assert a.status == 400 and "stream" in a.json["error"]["message"], (pack, a)
                assert d.must(200, "GET", at(box, path="into/first")) == first
                if body is not bad:  # a checksum is the last thing there is: all may be unpacked by then
                    assert shell(d, box, "ls into").split() == ["first"]
            a = d.ask("PUT", at(box, "archive", path="into"), packed + b"rubbish")
            assert a.status == 400, a
        a = d.ask("PUT", at(box, "archive", path="into"), zstd(archive, window_log=27))
        assert a.status == 400 and "zstd" in a.json["error"]["message"], a
        # half sent: the body ends with its connection
        c = d.connect()
        c.putrequest("PUT", at(box, "archive", path="into"))
        c.putheader("Authorization", "Bearer " + d.token)
        c.putheader("Content-Length", str(len(packed)))
        c.endheaders()
        c.send(packed[:middle])
        c.close()
        wait_for("the worker's end", lambda: not workers(d))


def memory_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        status = dict(line.split(":", 1) for line in f)
    return int(status["VmHWM"].split()[0]) * 1024, int(status["VmRSS"].split()[0]) * 1024


def is_sanitized():
    """A sanitizer keeps what was freed for a while: its growth says nothing."""
    with open(os.path.join(BUILD, "cay-front"), "rb") as f:
        return b"__asan_init" in f.read()


class Growth:
    """By how much the peaks of processes grow while it is open; bytes."""

    def __init__(self, **pids):
        self.pids = pids

    def __enter__(self):
        for pid in self.pids.values():
            with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as f:
                f.write("5")
        self.before = {name: memory_of(pid)[1] for name, pid in self.pids.items()}
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            return
        for name, pid in self.pids.items():
            grown = memory_of(pid)[0] - self.before[name]
            print(f"  {name} grew by {grown >> 10} KiB", flush=True)
            assert grown < 16 << 20 or is_sanitized(), (name, grown)


def test_bombs(d):
    """Little that unpacks to much: memory stays as it is, the sandbox's disk or the bound says no."""
    huge = tarfile.TarInfo("zeros")
    huge.size = 160 << 20  # of 64 MiB that there is room for
    whole = huge.tobuf(tarfile.PAX_FORMAT) + bytes(huge.size) + bytes(1024)
    bombs = [gzip.compress(whole, 1), zstd(whole), gzip.compress(gzip.compress(bytes(20 << 20)))]
    del whole
    with sandbox(d, limits={"disk": "64m"}) as box:
        shell(d, box, "mkdir into")
        for bomb in bombs:
            with Growth(front=d.child("cay-front"), init=init_of(d)):
                a = d.ask("PUT", at(box, "archive", path="into"), bomb)
            assert a.status in (400, 507), a
            assert shell(d, box, "ls into") == ""
    with Daemon("--rate-limit", "0", "--max-body", "1m") as small:
        with sandbox(small) as box:
            a = small.ask("PUT", at(box, "archive", path="."), bombs[1])
            assert a.status == 429 and "unpacks to more than" in a.json["error"]["message"], a


# Gigabytes in constant memory


class Stream:
    """Bytes of a given length that nobody holds; a file for http.client, and their hash."""

    def __init__(self, length):
        self.block = os.urandom(1 << 20)
        self.left = length
        self.hash = hashlib.sha256()

    def read(self, n):
        piece = self.block[:min(n, self.left)]
        self.left -= len(piece)
        self.hash.update(piece)
        return piece


def hash_of(response):
    h = hashlib.sha256()
    while piece := response.read(1 << 20):
        h.update(piece)
    return h.hexdigest()


def test_large(d):
    size = (32 if is_sanitized() else 128) << 20  # eight times what anybody may grow by; sanitizers look at the ways, not at memory
    with sandbox(d, limits={"memory": "1g", "disk": "2g"}) as box:
        with Growth(front=d.child("cay-front"), init=init_of(d)):
            body = Stream(size)
            put = d.must(200, "PUT", at(box, path="big"), body, headers={"Content-Length": str(size)})
            assert put["bytes"] == size and shell(d, box, "sha256sum big").split()[0] == body.hash.hexdigest()
            r, c = d.begin("GET", at(box, path="big"))
            assert int(r.headers["Content-Length"]) == size and hash_of(r) == body.hash.hexdigest()
            c.close()
            # ranges, at any place
            for first, last in [(0, 0), (size - 1, size - 1), (size // 3 - 3, size // 3 * 2 + 7)]:
                r, c = d.begin("GET", at(box, path="big"), headers={"Range": f"bytes={first}-{last}"})
                assert r.status == 206 and r.headers["Content-Range"] == f"bytes {first}-{last}/{size}", r.headers
                want = shell(d, box, f"tail -c +{first + 1} big | head -c {last - first + 1} | sha256sum").split()[0]
                assert hash_of(r) == want
                c.close()
            # a tree out and in again, one going straight into the other
            for form in ("tar", "tar.zst"):
                r, c = d.begin("GET", at(box, "archive", path="big", format=form))
                shell(d, box, "rm -rf copy")
                d.must(200, "PUT", at(box, "archive", path="copy", parents=True), iter(lambda r=r: r.read(1 << 18), b""))
                c.close()
                assert shell(d, box, "find copy -type f | xargs cmp big") == ""
        # a client that reads nothing holds up nobody but itself
        with Growth(front=d.child("cay-front"), init=init_of(d)):
            r, c = d.begin("GET", at(box, path="big"))
            lazy = [d.begin("GET", at(box, path="big")) for _ in range(8)]
            assert hash_of(r) == body.hash.hexdigest()
            for _, other in lazy + [(r, c)]:
                other.close()


# Part 2.3 of the threat model, a row each


def test_host_files_stay_outside(d):
    """Links to the host, to /, and chains of `..` lead to the sandbox's own files or nowhere."""
    with host_canary() as canary, sandbox(d) as box:
        shell(d, box, f"ln -s {canary} link; ln -s / root; ln -s {os.path.dirname(canary)} folder; "
                      f"ln -s /proc/1/root/{canary} magic; mkdir tree; cp -P link root folder magic tree/")
        up = "../" * 40
        for path in ["link", "root" + canary, "folder/canary", up + canary[1:], canary, "magic", "/proc/1/root" + canary,
                     "/proc/self/root" + canary, "/proc/self/cwd/" + up + canary[1:], "root/" + up + canary[1:]]:
            for what in ("files", "archive", "files/stat", "files/list", "files/watch"):
                a = d.ask("GET", at(box, what, path=path, follow=True) if what == "files/stat" else at(box, what, path=path))
                assert CANARY not in a.body, (what, path)
                if what == "archive" and path in ("link", "magic"):
                    continue  # the link itself, as a link
                assert a.status in (400, 403, 404, 409), (what, path, a)
            for method, what in (("PUT", "files"), ("DELETE", "files"), ("PUT", "archive")):
                if path in ("link", "magic") and method == "DELETE":
                    continue
                a = d.ask(method, at(box, what, path=path), b"" if method == "DELETE" else b"mine now")
                assert a.status in (400, 403, 404, 409), (method, what, path, a)
        for path in (".", "tree", "root", "folder"):
            for form in ("tar", "tar.gz"):
                a = d.ask("GET", at(box, "archive", path=path, format=form))
                body = gzip.decompress(a.body) if form == "tar.gz" and a.status == 200 else a.body
                assert CANARY not in body, path
        with tarfile.open(fileobj=io.BytesIO(d.must(200, "GET", at(box, "archive", path="tree")))) as t:
            links = {os.path.basename(m.name): m.linkname for m in t if m.issym()}
            assert links["link"] == canary and links["root"] == "/", links
        names = [e["name"] for e in d.must(200, "GET", at(box, "files/list", path="tree", recursive=True))["entries"]]
        assert sorted(names) == ["folder", "link", "magic", "root"], names


RACE = """
import os, sys
canary = sys.argv[1]
os.makedirs('race/dir', exist_ok=True)
open('race/dir/f', 'w').write('own')
open('race/file', 'w').write('own')
os.symlink(canary, 'race/link')
os.symlink(os.path.dirname(canary), 'race/out')
for name in ('a', 'b'):
    os.makedirs('race/x' + name, exist_ok=True)
print('go', flush=True)
while not os.path.exists('stop'):
    for thing, other in (('file', 'link'), ('dir', 'out')):
        os.rename('race/' + thing, 'race/spare')
        os.rename('race/' + other, 'race/' + thing)
        os.rename('race/' + thing, 'race/' + other)
        os.rename('race/spare', 'race/' + thing)
"""


def test_exchange_race(d):
    """Names that change between file, folder and link to the host while they are copied: never a byte of the host."""
    with host_canary() as canary, sandbox(d) as box:
        exec_id = d.must(202, "POST", at(box, "execute"),
                         {"command": ["python3", "-c", RACE, canary], "background": True})["exec_id"]
        wait_for("the race", lambda: d.ask("GET", at(box, "files/stat", path="race/xb")).status == 200)
        hits = 0
        for i in range(60):
            for method, path in (("GET", at(box, path="race/file")), ("GET", at(box, "archive", path="race")),
                                 ("GET", at(box, path="race/dir/canary")), ("GET", at(box, "archive", path="race/dir"))):
                a = d.ask(method, path)
                assert CANARY not in a.body, path
                hits += a.status == 200
            d.ask("PUT", at(box, path="race/file"), b"own")
            d.ask("PUT", at(box, path=f"race/dir/new{i % 3}"), b"own")
            d.ask("PUT", at(box, "archive", path="race/dir"), tar_of(("canary", b"overwritten")))
            d.ask("DELETE", at(box, path="race/dir/canary"))
        assert hits > 20, hits
        shell(d, box, "touch stop")
        wait_for("the racer's end", lambda: d.must(200, "GET", at(box, f"execs/{exec_id}"))["status"] != "running")


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def special(name, kind):
    info = tarfile.TarInfo(name)
    info.type, info.devmajor, info.devminor = kind, 1, 3
    return info


def with_mode(name, mode, uid=0):
    info = tarfile.TarInfo(name)
    info.mode, info.uid, info.gid, info.uname, info.gname = mode, uid, uid, "root", "root"
    return info


def raw_size(name, text):
    """A member whose size field is what it is."""
    info = bytearray(tarfile.TarInfo(name).tobuf(tarfile.USTAR_FORMAT))
    info[124:136] = text
    info[148:156] = b" " * 8
    info[148:156] = b"%06o\0 " % sum(info[:512])
    return bytes(info)


def test_hostile_archives(d):
    """Uploads that leave the folder, go through links, bring devices or lie about sizes: refused, nothing outside."""
    with host_canary() as canary, sandbox(d) as box:
        shell(d, box, "mkdir outside && echo mine >outside/f && echo mine >own")
        look = "ls outside; stat -c '%i %h %a' own outside/f; cat outside/f own; ls evil /tmp/evil 2>/dev/null || true"
        before = shell(d, box, look)
        evil = [
            [("../evil", b"x")], [("a/../../evil", b"x")], [("/tmp/evil", b"x")], [("..", b"x")],
            [link("d", "/tmp"), ("d/evil", b"x")],
            [link("d", "../outside"), ("d/f", b"evil")],
            [link("d", "../outside"), ("d/new", b"evil")],
            [("d", b"a file"), ("d/f", b"below a file")],
            [link("hard", "../own", tarfile.LNKTYPE)],
            [link("hard", canary, tarfile.LNKTYPE)],
            [link("hard", "/etc/passwd", tarfile.LNKTYPE)],
            [link("l", "../own"), link("hard", "l", tarfile.LNKTYPE), ("hard", b"evil")],
            [special("device", tarfile.CHRTYPE)], [special("disk", tarfile.BLKTYPE)], [special("pipe", tarfile.FIFOTYPE)],
        ]
        bodies = [tar_of(*members) for members in evil]
        bodies += [raw_size("f", text) + bytes(2048) for text in
                   (b"-1\0\0\0\0\0\0\0\0\0\0", b"77777777777\0", b"\xff" * 12, b"\x80" + b"\xff" * 11, b"\x80" + b"\x7f" * 11)]
        pax = tarfile.TarInfo("ok")
        pax.pax_headers = {"path": "../evil"}
        bodies.append(tar_of(pax))
        pax = tarfile.TarInfo("ok")
        pax.pax_headers = {"size": "99999999999999999999"}
        bodies.append(tar_of(pax))
        for i, body in enumerate(bodies):
            for pack in (lambda b: b, gzip.compress):
                shell(d, box, "rm -rf into && mkdir into")
                a = d.ask("PUT", at(box, "archive", path="into"), pack(body))
                assert a.status in (400, 403, 409, 429, 507), (i, a)
                outside = shell(d, box, look)
                assert outside == before, (i, outside)
                found = shell(d, box, "find into -type b -o -type c -o -type p -o -type s")
                assert found == "", (i, found)


def test_harmless_archives(d):
    """Modes, owners, doubles and numbers of members: taken, but tamed."""
    with sandbox(d) as box:
        ids = shell(d, box, "id -u; id -g").split()
        body = tar_of(with_mode("setuid", 0o6755), with_mode("sticky", 0o1777, 12345), ("twice", b"1"), ("twice", b"two"))
        assert d.must(200, "PUT", at(box, "archive", path="in", parents=True), body)["entries"] == 4
        shown = shell(d, box, "stat -c '%n %a %u %g' in/setuid in/sticky in/twice").splitlines()
        assert shown[0] == f"in/setuid 755 {ids[0]} {ids[1]}" and shown[1] == f"in/sticky 777 {ids[0]} {ids[1]}", shown
        assert d.must(200, "GET", at(box, path="in/twice")) == b"two"
        many = tar_of(*[(f"many/{i}", b"") for i in range(20000)])
        a = d.must(200, "PUT", at(box, "archive", path="."), gzip.compress(many, 1))
        assert a["entries"] >= 20000, a
        assert shell(d, box, "ls many | wc -l").strip() == "20000"
        # a program can't make it either, nor can a mode in a request
        assert d.run(box, ["sh", "-c", "chmod u+s in/setuid && test -u in/setuid"])["exit_code"] != 0
        d.must(400, "PUT", at(box, path="x", mode="4755"), b"")
        mounts = [m.split() for m in shell(d, box, "cat /proc/mounts").splitlines()]
        home = max((m for m in mounts if "/workspace".startswith(m[1])), key=lambda m: len(m[1]))
        assert {"nosuid", "nodev"} <= set(home[3].split(",")) and "noexec" not in home[3], home


def test_odd_files(d):
    """What is no plain file, or has no plain name: sent as what it is, skipped or refused; nothing hangs."""
    names = [b"new\nline", b"quo\"te'", b"\xff\xfe", b"<script>", b" ", b"\x1b[31m", "ü".encode()]
    make = "import os, socket\nos.makedirs('odd/deep')\nos.chdir('odd')\n" \
           f"for n in {names!r}:\n    open(n, 'w').write('x')\n" \
           "os.mkfifo('fifo')\ns = socket.socket(socket.AF_UNIX)\ns.bind('socket')\nos.symlink('loop', 'loop')\n" \
           "os.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 64 << 20)\n" \
           "os.chdir('deep')\n" \
           "for i in range(1100):\n    os.mkdir('d')\n    os.chdir('d')\n" \
           "open('f', 'w').write('bottom')\n"
    with sandbox(d) as box:  # deeper than a process may have files open
        r = d.run(box, ["python3", "-c", make])
        assert r["exit_code"] == 0, r
        for path in ("odd/fifo", "odd/socket", "odd/loop", "/dev/zero", "/dev/tty", "odd", "odd/deep/" + "d/" * 2100):
            a = d.ask("GET", at(box, path=path))
            assert a.status in (400, 403, 404, 409, 414), (path[-40:], a)
            if path not in ("odd", "odd/loop", "odd/deep/" + "d/" * 2100):
                a = d.ask("PUT", at(box, path=path), b"x")
                assert a.status in (400, 403, 404, 409), (path, a)
        entries = d.must(200, "GET", at(box, "files/list", path="odd"))["entries"]
        kinds = {e["name"]: e["type"] for e in entries if "name" in e}
        assert kinds["fifo"] == "fifo" and kinds["socket"] == "socket" and kinds["loop"] == "symlink", kinds
        shown = {e["name"].encode() if "name" in e else base64.b64decode(e["name_base64"]) for e in entries}
        assert set(names) <= shown, shown
        for name in names:
            a = d.ask("GET", f"/api/sandboxes/{box}/files?path=odd/" + urllib.parse.quote_from_bytes(name))
            assert a.status == 200 and a.body == b"x", (name, a)
            header = a.headers.get("Content-Disposition", "")
            assert "\n" not in header and header.count('"') in (0, 2) and "<script>" != header, header
        packed = d.must(200, "GET", at(box, "archive", path="odd", format="tar.gz"))
        assert len(packed) < 4 << 20, len(packed)
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as t:
            members = {m.name: m for m in t}
        sparse = next(m for n, m in members.items() if n.endswith("sparse"))
        assert sparse.size == 64 << 20
        assert not any(m.ischr() or m.isblk() for m in members.values())
        assert any(n.endswith("/d" * 1000 + "/f") or n.count("/d") >= 1100 for n in members), max(members, key=len)[-80:]
        e = d.must(200, "GET", at(box, "files/list", path="odd/deep", recursive=True, limit=10000))["entries"]
        assert len(e) >= 1100, len(e)
        d.must(200, "DELETE", at(box, path="odd", recursive=True))
        assert shell(d, box, "ls") == ""


def test_names_that_are_no_text(d):
    """A name need not be UTF-8: the bytes go in a query as %FF, and everything that takes a path takes them."""
    raw = urllib.parse.quote_from_bytes
    with sandbox(d) as box:
        base = f"/api/sandboxes/{box}"
        folder, file, other = b"f\xff", b"f\xff/a\xfe", b"f\xff/b\xfd"
        made = d.must(200, "POST", f"{base}/files/mkdir?path={raw(folder)}")
        assert base64.b64decode(made["path_base64"]) == folder, made
        d.must(200, "PUT", f"{base}/files?path={raw(file)}", b"text")
        assert d.must(200, "GET", f"{base}/files?path={raw(file)}") == b"text"
        assert base64.b64decode(d.must(200, "GET", f"{base}/files/stat?path={raw(file)}")["name_base64"]) == b"a\xfe"
        d.must(200, "POST", f"{base}/files/move?path={raw(file)}&to={raw(other)}")
        listed = d.must(200, "GET", f"{base}/files/list?path={raw(folder)}")
        assert [base64.b64decode(e["name_base64"]) for e in listed["entries"]] == [b"b\xfd"], listed
        assert d.must(200, "GET", f"{base}/archive?path={raw(folder)}")
        d.must(200, "DELETE", f"{base}/files?path={raw(folder)}&recursive=true")
        a = d.ask("GET", f"{base}/files/list?path=.&limit=%FF")
        assert a.status == 400 and a.json["error"]["field"] == "limit", a


def test_tags(d):
    """if_tag: what somebody else wrote in between is not overwritten."""
    with sandbox(d) as box:
        first = d.must(200, "PUT", at(box, path="note"), b"one")["tag"]
        assert d.must(200, "GET", at(box, "files/stat", path="note"))["tag"] == first
        second = d.must(200, "PUT", at(box, path="note", if_tag=first), b"two!")["tag"]
        assert second != first
        shell(d, box, "echo theirs > note")
        a = d.ask("PUT", at(box, path="note", if_tag=second), b"mine")
        assert a.status == 409 and a.json["error"]["field"] == "if_tag" and "changed" in a.json["error"]["message"], a
        assert shell(d, box, "cat note; rm note") == "theirs\n"
        a = d.ask("PUT", at(box, path="note", if_tag=second), b"mine")
        assert a.status == 409 and "gone" in a.json["error"]["message"], a
        assert shell(d, box, "ls") == ""
        d.must(200, "PUT", at(box, path="src/deep/file", parents=True), b"x")
        for path, name in (("src", "src.tar.gz"), ("src/deep/", "deep.tar.gz"), (".", "archive.tar.gz"), ("src/..", "archive.tar.gz")):
            header = d.ask("GET", at(box, "archive", path=path, format="tar.gz")).headers["Content-Disposition"]
            assert f'"{name}"' in header, (path, header)


def test_metadata(d):
    """What a file is written with is shown with it, moves with it, and goes when it is written anew."""
    with sandbox(d) as box:
        def shown(path):
            return d.must(200, "GET", at(box, "files/stat", path=path, metadata=True)).get("metadata")

        d.must(200, "PUT", at(box, path="a", metadata="kind=x%3Dy&note=one%20two"), b"1")
        wanted = {"kind": "x=y", "note": "one two"}
        assert shown("a") == wanted
        assert "metadata" not in d.must(200, "GET", at(box, "files/stat", path="a"))
        d.must(200, "POST", at(box, "files/move", path="a", to="b"))
        assert shown("b") == wanted
        d.must(200, "PUT", at(box, path="c"), b"")
        listed = d.must(200, "GET", at(box, "files/list", path=".", metadata=True, sorted=True))["entries"]
        assert [e.get("metadata") for e in listed] == [wanted, None], listed
        d.must(200, "PUT", at(box, path="b", append=True), b"2")
        assert shown("b") == wanted  # it is the same file
        d.must(200, "PUT", at(box, path="b", append=True, metadata="only=this"), b"3")
        assert shown("b") == {"only": "this"}
        assert shell(d, box, "cat b") == "123"
        d.must(200, "PUT", at(box, path="b"), b"new")
        assert shown("b") is None
        d.must(200, "PUT", at(box, path="/tmp/t", metadata="on=tmpfs"), b"")
        assert shown("/tmp/t") == {"on": "tmpfs"}
        for bad in ("x", "=y", "a=%0A", "a=%C3%A9", "a=%zz", "n" * 247 + "=1", "a=" + "x" * 4100, "&".join(f"k{i}=v" for i in range(65))):
            a = d.ask("PUT", at(box, path="b", metadata=bad), b"never")
            assert a.status == 400 and "metadata" in a.json["error"]["message"], (bad[:40], a)
        assert shell(d, box, "cat b") == "new"
        # Commands can neither see nor set them.
        assert "ENOTSUP" in shell(d, box, "python3 -c \"import errno, os\ntry: os.setxattr('b', 'user.e2b.x', b'1')\nexcept OSError as e: print(errno.errorcode[e.errno])\"")


def test_processes(d):
    """Each process with the processor time and memory that it has used."""
    with sandbox(d) as box:
        d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", "x = bytearray(30 << 20)\nwhile True: pass"], "background": True})

        def busy():
            found = [p for p in d.must(200, "GET", f"/api/sandboxes/{box}/processes")["processes"] if p["command"].startswith("python3 -c")]
            return found and found[0]["cpu_ms"] >= 200 and found[0]["memory_bytes"] > 30 << 20 and found[0]
        assert wait_for("a busy process", busy)["state"] in "RS"


def test_cleaning_follows_nothing(d):
    """Removing a tree, and a sandbox: links in it are removed, what they lead to is not."""
    with host_canary() as canary:
        with sandbox(d) as box:
            shell(d, box, f"mkdir keep tree && echo 1 >keep/f && ln -s ../keep tree/keep && ln -s {os.path.dirname(canary)} tree/out"
                          " && ln -s / tree/root && ln -s /proc/1/root tree/magic && mkdir tree/sub && ln -s ../../keep tree/sub/keep")
            d.must(200, "DELETE", at(box, path="tree", recursive=True))
            assert shell(d, box, "ls; cat keep/f") == "keep\n1\n"
            shell(d, box, f"ln -s {os.path.dirname(canary)} out; ln -s / root; ln -s keep also")
            d.must(200, "DELETE", at(box, path="also", recursive=True))
            assert shell(d, box, "cat keep/f") == "1\n"
            for path in ("/", "/proc", "/workspace"):
                a = d.ask("DELETE", at(box, path=path, recursive=True))
                assert a.status in (400, 403, 409), (path, a)
        # and with the sandbox itself, its links to the host: the canary is still there


def test_many_at_once(d):
    """Transfers beside each other, one of which never goes on, in one sandbox."""
    with sandbox(d) as box:
        stuck = d.connect()
        stuck.putrequest("PUT", at(box, path="stuck"))
        stuck.putheader("Authorization", "Bearer " + d.token)
        stuck.putheader("Content-Length", "1000000")
        stuck.endheaders()
        stuck.send(b"x" * 1000)
        failures = []

        def one(i):
            try:
                data = os.urandom(1 << 20)
                d.must(200, "PUT", at(box, path=f"f{i}"), data)
                assert d.must(200, "GET", at(box, path=f"f{i}")) == data
            except Exception as e:  # pylint: disable=broad-except
                failures.append(e)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(PATIENCE_S)
        assert not failures, failures
        stuck.close()


def test_ranges(d):
    """RFC 9110: one range is served, one beyond the end is 416, what is not understood is ignored."""
    with sandbox(d) as box:
        url = at(box, path="f")
        d.must(200, "PUT", url, b"0123456789")
        d.must(200, "PUT", at(box, path="empty"), b"")
        for text, body, where in [
                ("bytes=0-", b"0123456789", "0-9"), ("bytes=2-4", b"234", "2-4"), ("BYTES=9-9", b"9", "9-9"), ("bytes=8-99", b"89", "8-9"),
                ("bytes=8-99999999999999999999999", b"89", "8-9"), ("bytes=-3", b"789", "7-9"), ("bytes=-99", b"0123456789", "0-9")]:
            a = d.ask("GET", url, headers={"Range": text})
            assert (a.status, a.body, a.headers["Content-Range"]) == (206, body, f"bytes {where}/10"), (text, a)
            assert a.headers["Content-Length"] == str(len(body)), a.headers
        for text in ("bytes=10-", "bytes=10-20", "bytes=11-", "bytes=99999999999999999999999-", "bytes=-0"):
            a = d.ask("GET", url, headers={"Range": text})
            assert a.status == 416 and a.headers["Content-Range"] == "bytes */10", (text, a)
            assert a.json["error"]["field"] == "Range" and "10 bytes" in a.json["error"]["message"], a
        for text in ("bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=a-b", "bytes=4-2", "bytes=1", "bytes=+1-2", "bytes=1-2x", "lines=1-2",
                     "0-4", "bytes= 1-2", "bytes=0x1-2", ""):
            a = d.ask("GET", url, headers={"Range": text})
            assert a.status == 200 and a.body == b"0123456789" and "Content-Range" not in a.headers, (text, a)
        assert d.ask("GET", url, headers={"Range": "bytes=1-2", "If-Range": '"x"'}).status == 200  # we gave no such name
        assert d.ask("HEAD", url, headers={"Range": "bytes=99-"}).status == 200  # ranges are GET's alone
        assert d.must(206, "GET", at(box, path="f", offset=1, length=2), headers={"Range": "bytes=5-6"}) == b"12"
        assert d.must(206, "GET", at(box, path="f", tail=2)) == b"89"
        assert d.must(400, "GET", at(box, path="f", tail=2, offset=1))["error"]["field"] == "tail"
        assert d.must(400, "GET", at(box, path="f", offset=11))["error"]["field"] == "offset"
        for text in ("bytes=0-", "bytes=-5"):  # of nothing there is no part; the whole is nothing
            a = d.ask("GET", at(box, path="empty"), headers={"Range": text})
            assert a.status == 200 and a.body == b"", a


def begin_upload(d, url):
    """The first half of one; its connection."""
    c = d.connect()
    c.putrequest("PUT", url)
    c.putheader("Authorization", "Bearer " + d.token)
    c.putheader("Content-Length", "2000")
    c.endheaders()
    c.send(b"x" * 1000)
    return c


class SilentBox:
    """A sandbox of its own, and the processes in it that do not answer for a while."""

    def __init__(self, d):
        self.d, before = d, set(inits_of(d))
        self.id = d.make()
        (self.init,) = set(inits_of(d)) - before

    def workers(self):
        return workers_of(self.init)

    def stop_worker(self):
        os.kill(wait_for("the worker", self.workers)[0], signal.SIGSTOP)


def check_stopped_upload(silent, c):
    c.send(b"x" * 1000)
    answer = c.getresponse()
    error = json.loads(answer.read())["error"]
    assert answer.status == 504 and error["code"] == "timeout" and "file_timeout" in error["message"], (answer.status, error)
    c.close()
    wait_for("the worker's end", lambda: not silent.workers())


def check_stopped_download(silent, response, c):
    silent.stop_worker()
    try:
        got = len(response.read())
    except http.client.IncompleteRead as e:
        got = len(e.partial)
    assert got < 32 << 20, got  # ended short of what was announced
    c.close()
    wait_for("the worker's end", lambda: not silent.workers())


def check_silent_init(d, silent):
    """All at once: each would take the whole timeout."""
    failures = []

    def one(method, what, query):
        try:
            a = d.ask(method, at(silent.id, what, **query), b"z" * 1000 if method == "PUT" else None)
            assert a.status == 504 and a.json["error"]["code"] == "timeout", a
        except Exception as e:  # pylint: disable=broad-except
            failures.append((method, what, e))

    os.kill(silent.init, signal.SIGSTOP)
    threads = [threading.Thread(target=one, args=row) for row in [
        ("GET", "files", {"path": "big"}), ("GET", "files/stat", {"path": "big"}), ("GET", "files/list", {"path": "."}),
        ("DELETE", "files", {"path": "big"}), ("GET", "archive", {"path": "."}), ("GET", "processes", {}), ("GET", "ports", {}),
        ("GET", "files/watch", {"path": "."}), ("PUT", "files", {"path": "new"}), ("PUT", "archive", {"path": "."})]]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE_S)
    assert not failures, failures


def test_silent_box(_):
    """A box that answers pings alone, or nothing at all, holds nobody up for longer than file_timeout."""
    with Daemon("--rate-limit", "0", "--file-timeout", f"{SILENCE_S}s") as d:
        upload, download, paused, init = (SilentBox(d) for _ in range(4))
        # Paused, time stands still; and nobody reads: the box waits, and nothing is wrong.
        slow = begin_upload(d, at(paused.id, path="slow"))
        wait_for("the worker", paused.workers)
        d.must(200, "POST", f"/api/sandboxes/{paused.id}/pause")
        slow.send(b"x" * 1000)
        shell(d, download.id, "head -c 32M /dev/zero >big")
        response, big = d.begin("GET", at(download.id, path="big"))
        assert response.status == 200
        began = time.monotonic()
        half = begin_upload(d, at(upload.id, path="half"))
        upload.stop_worker()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for job in [pool.submit(check_stopped_upload, upload, half), pool.submit(check_silent_init, d, init)]:
                job.result(PATIENCE_S)
        time.sleep(max(0, SILENCE_S + 0.5 - (time.monotonic() - began)))
        check_stopped_download(download, response, big)
        d.must(200, "POST", f"/api/sandboxes/{paused.id}/resume")
        answer = slow.getresponse()
        assert answer.status == 200, answer.read()
        slow.close()
        assert d.must(200, "GET", at(paused.id, path="slow")) == b"x" * 2000
        wait_for("no channel", lambda: d.must(200, "GET", "/api/health/ready", unix=True, token=None)["channels"] == 0)
        os.kill(init.init, signal.SIGCONT)
        for silent in (upload, download, paused, init):
            d.must(200, "DELETE", f"/api/sandboxes/{silent.id}")


def cut_off(d, url, head, body):
    """A request whose client goes away after so much of its body; returns when the daemon has done with it."""
    with socket.create_connection((d.host, d.port)) as c:
        c.sendall(f"PUT {url} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {d.token}\r\n{head}\r\n\r\n".encode() + body)
        wait_for("its worker", lambda: workers(d))
    wait_for("the worker's end", lambda: not workers(d))


def test_cut_uploads(d):
    """What is cut off leaves the old file as it was, and nothing beside it; what is whole takes its place, with its mode, its owner, its links."""
    with sandbox(d) as box:
        d.must(200, "PUT", at(box, path="file"), b"as it was")
        shell(d, box, "chmod 751 file; ln -s file link; ln file second")
        length = "Content-Length: 500000"
        cut_off(d, at(box, path="file"), length, b"x" * 100000)
        cut_off(d, at(box, path="link"), length, b"x" * 100000)
        cut_off(d, at(box, path="new"), length, b"x" * 100000)
        whole = tar_of(("file", b"y" * 400000))
        cut_off(d, at(box, "archive", path="."), f"Content-Length: {len(whole)}", whole[:200000])
        assert shell(d, box, "ls -A; cat file").split("\n") == ["file", "link", "second", "as it was"], shell(d, box, "ls -lA")
        d.must(200, "PUT", at(box, path="link"), b"new")
        assert shell(d, box, "ls -A; cat file second; stat -c ' %a %U' file; readlink link") == (
            "file\nlink\nsecond\nnewas it was 751 sandbox\nfile\n"), shell(d, box, "ls -lA")
        d.must(200, "PUT", at(box, "archive", path="."), whole)
        assert shell(d, box, "ls -A; wc -c < file").split() == ["file", "link", "second", "400000"]
        a = d.ask("PUT", at(box, path="second", exclusive=True), b"new")
        assert a.status == 409, a


ALL = [test_cut_uploads, test_ranges, test_silent_box, test_watch, test_watch_sse, test_watch_overflow, test_watch_bounds, test_packed, test_packed_damage, test_bombs, test_large,
       test_host_files_stay_outside, test_exchange_race, test_hostile_archives, test_harmless_archives, test_odd_files,
       test_names_that_are_no_text, test_tags, test_metadata, test_processes, test_cleaning_follows_nothing, test_many_at_once]


def main():
    with Daemon("--rate-limit", "0") as d:
        run_tests(ALL, d)


if __name__ == "__main__":
    main()
