#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What needs no daemon: the reader of answers, requests, addresses, archives of strangers, the package itself."""
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "src"), os.path.join(HERE, "..", "tools")]
import backend  # noqa: E402
import cay  # noqa: E402
from cay import _http, _place, _requests, _trees, errors, results  # noqa: E402


class Answers(unittest.TestCase):
    CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nTrailer: z\r\n\r\n"
    PLAIN = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc"

    def read(self, data, size):
        reader, body = _http.AnswerReader(), b""
        for i in range(0, len(data), size):
            body += reader.feed(data[i:i + size])
        return reader, body

    def test_pieces_of_any_size(self):
        for size in range(1, 80):
            reader, body = self.read(self.CHUNKED, size)
            self.assertEqual((reader.status, body, reader.done, reader.headers["x"], reader.can_reuse), (200, b"hello!", True, "y", True))
            reader, body = self.read(self.PLAIN, size)
            self.assertEqual((reader.status, body, reader.done), (404, b"abc", True))

    def test_cut_anywhere_is_noticed(self):
        for whole in (self.CHUNKED, self.PLAIN):
            for end in range(len(whole)):
                reader, _ = self.read(whole[:end], 7)
                with self.assertRaises(_http.Broken):
                    reader.end()

    def test_until_the_end(self):
        reader, body = self.read(b"HTTP/1.0 200 OK\r\n\r\nrest", 3)
        reader.end()
        self.assertEqual((body, reader.done, reader.can_reuse), (b"rest", True, False))

    def test_refused(self):
        for data in (b"SSH-2.0\r\n\r\n", b"HTTP/1.1 200\r\nnocolon\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n",
                     b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70000, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 5000):
            with self.assertRaises(_http.Broken, msg=data[:60]):
                self.read(data, 4096)

    def test_more_than_asked_is_not_reused(self):
        reader, _ = self.read(self.PLAIN + b"HTTP/1.1 200 OK\r\n", 4096)
        self.assertFalse(reader.can_reuse)

    def test_lines(self):
        lines = results.Lines()
        found = [v for piece in (b'{"a"', b':1}\n \n{"b":2}\n{"c"', b":3}\n") for v in lines.feed(piece)]
        self.assertEqual(found, [{"a": 1}, {"b": 2}, {"c": 3}])
        with self.assertRaises(ValueError):
            list(lines.feed(b"x" * (results.LINE_MAX + 1)))


class Requests(unittest.TestCase):
    def test_where_arguments_go(self):
        r = _requests.request_of("exec_run", {"id": "a/../b", "command": ["x"], "timeout": None})
        self.assertEqual((r.method, r.target, r.body), ("POST", "/api/sandboxes/a%2F..%2Fb/execute", b'{"command": ["x"]}'))
        r = _requests.request_of("file_list", {"id": "..", "path": "a&b=c ü", "sorted": True})
        self.assertEqual(r.target, "/api/sandboxes/%2E%2E/files/list?path=a%26b%3Dc+%C3%BC&sorted=true")
        for name, args in (("nothing", {}), ("exec_run", {"id": "x", "wrong": 1}), ("exec_run", {})):
            with self.assertRaises((TypeError, ValueError)):
                _requests.request_of(name, args)

    def test_only_what_is_safe_is_repeated(self):
        again = lambda name, **args: _requests.request_of(name, {"id": "x", "exec": "y", **args}).may_repeat  # noqa: E731
        self.assertTrue(again("exec_get"))
        self.assertFalse(_requests.request_of("sandbox_create", {}).may_repeat)
        self.assertTrue(_requests.request_of("sandbox_create", {"execution_id": "k"}).may_repeat)
        self.assertFalse(_requests.request_of("exec_run", {"id": "x", "command": "x"}).may_repeat)
        self.assertFalse(_requests.request_of("code_run", {"code": "x"}).may_repeat)
        self.assertFalse(_requests.request_of("file_write", {"id": "x", "path": "p", "append": True}, b"").may_repeat)
        self.assertTrue(_requests.request_of("file_write", {"id": "x", "path": "p"}, b"").may_repeat)
        self.assertFalse(_requests.request_of("exec_input", {"id": "x", "exec": "y"}, b"").may_repeat)
        self.assertTrue(_requests.request_of("exec_input", {"id": "x", "exec": "y", "offset": 0}, b"").may_repeat)

    def test_no_header_is_smuggled(self):
        with self.assertRaises(ValueError):
            _http.request_head("GET", "/", "h", {"Authorization": "Bearer x\r\nEvil: y\n"}, None)

    def test_errors(self):
        e = errors.error_of(404, {"error": {"code": "not_found", "message": "m", "field": "id", "request_id": "r"}})
        self.assertIsInstance(e, cay.errors.NotFoundError)
        self.assertEqual((e.status, e.code, e.field, e.request_id, str(e)), (404, "not_found", "id", "r", "m"))
        self.assertIsInstance(errors.error_of(502, None), cay.errors.UnavailableError)
        self.assertEqual(type(errors.error_of(418, {"error": {"code": "new_one", "message": "m"}})), cay.ApiError)


class Places(unittest.TestCase):
    def place(self, env, **args):
        with mock.patch.dict(os.environ, env, clear=True):
            return _place.find_place(args.get("url"), args.get("socket"), args.get("data"), args.get("ca"))

    def test_as_cay_finds_it(self):
        self.assertEqual(self.place({}).socket, "/var/lib/cay/cay.sock")
        self.assertEqual(self.place({"CAY_DATA": "/d"}).socket, "/d/cay.sock")
        self.assertEqual(self.place({"CAY_DATA": "/d", "CAY_SOCKET": "/s"}).socket, "/s")
        self.assertEqual(self.place({"CAY_SOCKET": "/s", "CAY_URL": "https://h"}).url, "https://h")
        self.assertEqual(self.place({"CAY_URL": "http://[::1]:8/p/"}, ).url, "http://[::1]:8/p")
        for bad in ("h:80", "http://u:p@h", "http://h/?token=x", "ftp://h"):
            with self.assertRaises(ValueError):
                self.place({}, url=bad)

    def credentials(self, env, place):
        with mock.patch.dict(os.environ, env, clear=True):
            return _place.find_credentials(place, None, None, None, None, "exec", 60)

    def test_secrets_go_where_they_belong(self):
        env = {"SANDBOX_SERVICE_URL": "http://a:1", "SANDBOX_TOKEN_SECRET": "s" * 32}
        here, there = _place.parse_url("http://a:1", None), _place.parse_url("http://b:1", None)
        self.assertTrue(self.credentials(env, here).bearer().startswith("cay1."))
        self.assertIsNone(self.credentials(env, there).bearer())
        self.assertIsNone(self.credentials({"CAY_TOKEN": "t"}, _place.Place(socket="/s")).bearer())
        self.assertEqual(self.credentials({"CAY_TOKEN": "t"}, there).bearer(), "t")

    def test_tokens_that_are_made_are_renewed(self):
        made = []
        c = _place.Credentials(token=lambda: made.append(1) or f"t{len(made)}", lifetime=3600)
        self.assertEqual([c.bearer(), c.bearer()], ["t1", "t1"])
        c.forget()
        self.assertEqual(c.bearer(), "t2")


class Trees(unittest.TestCase):
    def archive(self, *members):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, kind, value in members:
                info = tarfile.TarInfo(name)
                info.type = kind
                info.mode = 0o4777
                if kind == tarfile.REGTYPE:
                    info.size = len(value)
                    tar.addfile(info, io.BytesIO(value))
                else:
                    info.linkname = value
                    tar.addfile(info)
        out.seek(0)
        return out

    def test_there_and_back(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            os.makedirs(os.path.join(one, "a", "b"))
            with open(os.path.join(one, "a", "b", "f"), "w") as f:
                f.write("x")
            os.link(os.path.join(one, "a", "b", "f"), os.path.join(one, "z"))
            os.symlink("b/f", os.path.join(one, "a", "l"))
            os.mkfifo(os.path.join(one, "pipe"))
            packed = io.BytesIO()
            names = _trees.pack(one, packed, keep=lambda p: p != "skipped")
            packed.seek(0)
            self.assertEqual(sorted(_trees.unpack(packed, two)), ["a/b/f", "a/l", "z"])
            self.assertNotIn("pipe", names)
            for name in ("z", "a/l"):
                with open(os.path.join(two, name)) as f:
                    self.assertEqual(f.read(), "x")

    def test_strangers_archives_stay_inside(self):
        for members in ([("../x", tarfile.REGTYPE, b"")], [("/x", tarfile.REGTYPE, b"")], [("a/../../x", tarfile.REGTYPE, b"")],
                        [("l", tarfile.SYMTYPE, "/etc")], [("l", tarfile.SYMTYPE, "../..")],
                        [("d", tarfile.SYMTYPE, "."), ("d/x", tarfile.REGTYPE, b"")]):
            with tempfile.TemporaryDirectory() as top:
                inside = os.path.join(top, "in")
                with self.assertRaises(_trees.UnsafeArchive, msg=members):
                    _trees.unpack(self.archive(*members), inside)
                self.assertEqual(os.listdir(top), ["in"])

    def test_links_that_are_there_are_not_followed(self):
        with tempfile.TemporaryDirectory() as top:
            inside, outside = os.path.join(top, "in"), os.path.join(top, "out")
            os.mkdir(inside)
            with open(outside, "w") as f:
                f.write("mine")
            os.symlink(outside, os.path.join(inside, "x"))
            _trees.unpack(self.archive(("x", tarfile.REGTYPE, b"theirs")), inside)
            with open(outside) as f:
                self.assertEqual(f.read(), "mine")
            self.assertEqual(os.stat(os.path.join(inside, "x")).st_mode & 0o7000, 0)

    def test_devices_are_left_out(self):
        with tempfile.TemporaryDirectory() as top:
            self.assertEqual(_trees.unpack(self.archive(("d", tarfile.CHRTYPE, "")), top), [])


class Package(unittest.TestCase):
    def test_wheel_works_from_where_pip_puts_it(self):
        with tempfile.TemporaryDirectory() as folder:
            name = backend.build_wheel(folder)
            self.assertEqual(name, f"cay-{cay.__version__}-py3-none-any.whl")
            with zipfile.ZipFile(os.path.join(folder, name)) as z:
                self.assertIn("cay/py.typed", z.namelist())
                self.assertIn(b"cay = cay.pytest_plugin", z.read(f"cay-{cay.__version__}.dist-info/entry_points.txt"))
                z.extractall(os.path.join(folder, "site"))
            code = "import cay; print(cay.__version__, cay.Sandbox, cay.AsyncSandbox)"
            out = subprocess.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": os.path.join(folder, "site")}, cwd=folder, check=True,
                                 capture_output=True, text=True, timeout=600).stdout
            self.assertTrue(out.startswith(cay.__version__), out)

    def test_same_sources_same_bytes(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            for build in (backend.build_wheel, backend.build_sdist):
                with open(os.path.join(one, build(one)), "rb") as a, open(os.path.join(two, build(two)), "rb") as b:
                    self.assertEqual(a.read(), b.read())


if __name__ == "__main__":
    unittest.main()
