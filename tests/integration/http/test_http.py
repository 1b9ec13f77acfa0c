#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_http.py SERVER: real clients (curl, http.client, sockets, TLS, node where it is) against a server of the HTTP layer."""
import array
import base64
import hashlib
import http.client
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SERVER = None
SANITIZED = False  # memory figures then say nothing
WAIT_S = 60
STILL_S = 2  # after an error the server waits a little longer than this for a client that sends no more


class Rig:
    """The server, and its folder with a certificate."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cay-http-")
        self.unix = os.path.join(self.folder, "socket")
        self.cert = os.path.join(self.folder, "cert.pem")
        key = os.path.join(self.folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", self.cert, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen([SERVER, "--tcp", "--unix", self.unix, "--tls", self.cert, key],
                                        stdout=subprocess.PIPE, text=True)
        self.ports = {}
        for line in self.process.stdout:
            if line == "ready\n":
                break
            name, port = line.split()
            self.ports[name] = int(port)
        self.url = f"http://127.0.0.1:{self.ports['tcp']}"

    def stop(self):
        """Ends the server; what it says at its end counts (leaks, under the sanitizer)."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            self.process.stdout.close()
        return code

    def close(self):
        code = self.stop()
        shutil.rmtree(self.folder)
        return code

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.ports["tcp"]), timeout=WAIT_S)
        return s

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


rig = None


def setUpModule():
    global rig
    rig = Rig()


def tearDownModule():
    code = rig.close()
    if code != 0:
        raise AssertionError(f"the server ended with {code}")


def curl(*args, data=None):
    done = subprocess.run(["curl", "-sS", "--max-time", str(WAIT_S), *args], input=data, capture_output=True)
    if done.returncode:
        raise AssertionError(f"curl {args}: {done.stderr.decode()}")
    return done.stdout


def heard(s, part):
    """What came up to and with this part, in however many pieces; or all."""
    got = b""
    while part not in got and (more := s.recv(4096)):
        got += more
    return got


class Curl(unittest.TestCase):
    def test_get(self):
        self.assertEqual(curl(rig.url + "/hello"), b"hello\n")

    def test_head(self):
        out = curl("-I", rig.url + "/hello")
        self.assertIn(b"200 OK", out)
        self.assertIn(b"Content-Length: 6", out)
        self.assertIn(b"nosniff", out)

    def test_two_on_one_connection(self):
        out = curl("-v", rig.url + "/hello", rig.url + "/hello", "--stderr", "-")
        self.assertIn(b"Re-using existing connection", out)

    def test_old(self):
        self.assertEqual(curl("--http1.0", rig.url + "/hello"), b"hello\n")

    def test_not_there(self):
        self.assertEqual(curl("-o", "/dev/null", "-w", "%{http_code}", rig.url + "/nowhere"), b"404")
        out = curl("-i", "-X", "DELETE", rig.url + "/hello")
        self.assertIn(b" 405 ", out)
        self.assertIn(b"Allow: GET, HEAD\r\n", out)

    def test_chunked_upload(self):
        body = os.urandom(3 << 20)
        out = curl("-T", "-", "-H", "Transfer-Encoding: chunked", rig.url + "/sink", data=body)
        self.assertEqual(out.split()[0], b"3145728")

    def test_expect(self):
        """curl waits for leave to send what is larger than a mebibyte (by itself a second at most, and then it gets none)."""
        body = b"x" * (2 << 20)
        out = curl("-v", "--stderr", "-", "--data-binary", "@-", "-H", "Expect: 100-continue", "-o", "/dev/null",
                   "--expect100-timeout", str(WAIT_S), rig.url + "/sink", data=body)
        self.assertIn(b"100 Continue", out)

    def test_echo(self):
        body = os.urandom(5 << 20)
        self.assertEqual(curl("--data-binary", "@-", rig.url + "/echo", data=body), body)

    def test_unix(self):
        out = curl("--unix-socket", rig.unix, "http://localhost/who")
        self.assertIn(b"unix=1", out)
        self.assertIn(b"uid=%d " % os.geteuid(), out)

    def test_tls(self):
        url = f"https://localhost:{rig.ports['tls']}"
        self.assertIn(b"tls=1", curl("--cacert", rig.cert, url + "/who"))
        body = os.urandom(5 << 20)
        self.assertEqual(curl("--cacert", rig.cert, "--data-binary", "@-", url + "/echo", data=body), body)
        size = curl("--cacert", rig.cert, "-o", "/dev/null", "-w", "%{size_download}", url + "/flood/20000000")
        self.assertEqual(size, b"20000000")

    def test_events(self):
        self.assertEqual(curl(rig.url + "/events"), b"id: 1\nevent: stdout\ndata: one\ndata: two\n\nid: 2\ndata: three\n\n")


class WebSocket:
    """A client by hand."""

    def __init__(self, sock, path):
        self.sock = sock
        key = base64.b64encode(os.urandom(16)).decode()
        sock.sendall((f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
                      f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        self.file = sock.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            if not line:
                raise AssertionError(f"no answer: {head}")
            head += line
        accept = base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        if b" 101 " not in head or accept not in head:
            raise AssertionError(head)

    def send(self, opcode, body, last=True):
        mask = os.urandom(4)
        size = len(body)
        head = bytes([(128 if last else 0) | opcode])
        if size < 126:
            head += bytes([128 | size])
        elif size < 65536:
            head += struct.pack(">BH", 128 | 126, size)
        else:
            head += struct.pack(">BQ", 128 | 127, size)
        stream = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(body, "big") ^ int.from_bytes(stream, "big")).to_bytes(size, "big")
        self.sock.sendall(head + mask + masked)

    def receive(self):
        first, size = self.file.read(2)
        if size == 126:
            size, = struct.unpack(">H", self.file.read(2))
        elif size == 127:
            size, = struct.unpack(">Q", self.file.read(8))
        return first & 15, self.file.read(size)

    def close(self):
        self.file.close()
        self.sock.close()


class Ws(unittest.TestCase):
    def setUp(self):
        self.ws = WebSocket(rig.connect(), "/ws")

    def tearDown(self):
        self.ws.close()

    def test_echo(self):
        for size in (0, 1, 125, 126, 65535, 65536, 5 << 20):
            body = os.urandom(size)
            self.ws.send(2, body)
            self.assertEqual(self.ws.receive(), (2, body))

    def test_fragments_and_ping(self):
        self.ws.send(1, "gr\u00fc".encode()[:3], last=False)
        self.ws.send(9, b"?")
        self.assertEqual(self.ws.receive(), (10, b"?"))
        self.ws.send(0, "gr\u00fc".encode()[3:] + b"n")
        self.assertEqual(self.ws.receive(), (1, "gr\u00fcn".encode()))

    def test_bad_text(self):
        self.ws.send(1, b"\xff")
        self.assertEqual(self.ws.receive(), (8, b"\x03\xef"))

    def test_goodbye(self):
        self.ws.send(8, b"\x03\xe9bye")
        self.assertEqual(self.ws.receive(), (8, b"\x03\xe9"))
        self.assertEqual(self.ws.sock.recv(1), b"")


class Node(unittest.TestCase):
    def test_agent(self):
        """node's own client, twelve requests over two kept connections."""
        if not shutil.which("node"):
            self.skipTest("node is not installed")
        script = """
            const http = require('http'), agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
            let left = 12;
            for (let i = 0; i < 12; i++) {
                const req = http.request(process.argv[1] + '/echo', { agent, method: 'POST' }, (res) => {
                    let got = '';
                    res.on('data', (d) => got += d);
                    res.on('end', () => { if (got !== 'body' + i) process.exit(1); if (--left === 0) process.exit(0); });
                });
                req.write('body'); req.end(String(i));
            }"""
        self.assertEqual(subprocess.run(["node", "-e", script, rig.url], timeout=WAIT_S).returncode, 0)

    def test_ws(self):
        """The npm package ws, if it is there."""
        probe = "require('ws')"
        if not shutil.which("node") or subprocess.run(["node", "-e", probe], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("node or its ws package is not installed")
        script = """
            const W = require('ws'), ws = new W(process.argv[1] + '/ws', ['tty']), big = Buffer.alloc(200000, 7);
            let step = 0;
            ws.on('open', () => { if (ws.protocol !== 'tty') process.exit(1); ws.send('gr\\u00fcn'); });
            ws.on('message', (m, binary) => {
                if (step++ === 0) { if (binary || m.toString() !== 'gr\\u00fcn') process.exit(2); ws.send(big); }
                else { if (!binary || !big.equals(m)) process.exit(3); ws.close(1000, 'done'); }
            });
            ws.on('close', (code) => process.exit(code === 1000 ? 0 : 4));
            ws.on('error', () => process.exit(5));"""
        url = rig.url.replace("http", "ws")
        self.assertEqual(subprocess.run(["node", "-e", script, url], timeout=WAIT_S).returncode, 0)


class Descriptors(unittest.TestCase):
    def test_folder_comes_along(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(WAIT_S)
            s.connect(rig.unix)
            folder = os.open(rig.folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                s.sendmsg([b"GET /who HTTP/1.1\r\nHost: x\r\n\r\n"],
                          [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [folder]))])
                inode = os.fstat(folder).st_ino
            finally:
                os.close(folder)
            self.assertIn(b"inode=%d\n" % inode, heard(s, b"inode=%d\n" % inode))
            before = rig.fds()
            s.sendall(b"GET /who HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b"inode=0\n", heard(s, b"inode=0\n"))
            self.assertLessEqual(rig.fds(), before)  # connections of before may still be closing


class Load(unittest.TestCase):
    def test_many_requests_flat_memory(self):
        client = http.client.HTTPConnection("127.0.0.1", rig.ports["tcp"], timeout=WAIT_S)
        sizes = []
        for i in range(10000):
            client.request("POST", "/sink", body=b"x" * (i % 300), headers={"X-Number": str(i)})
            answer = client.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.read().split()[0], b"%d" % (i % 300))
            if i in (1000, 9999):
                sizes.append(rig.rss_kib())
        client.close()
        if not SANITIZED:
            self.assertLess(sizes[1] - sizes[0], 256)

    def test_large_upload_flat_memory(self):
        before = rig.rss_kib()
        with rig.connect() as s:
            s.sendall(b"PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (256 << 20))
            block = bytes(1 << 20)
            for _ in range(256):
                s.sendall(block)
            self.assertIn(b"268435456 0\n", heard(s, b"268435456 0\n"))
        if not SANITIZED:
            self.assertLess(rig.rss_kib() - before, 1024)

    def test_large_download_and_a_stalled_reader(self):
        before = rig.rss_kib()
        stalled = [rig.connect() for _ in range(20)]
        for s in stalled:
            s.sendall(b"GET /flood/10000000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(curl("-o", "/dev/null", "-w", "%{size_download}", rig.url + "/flood/300000000"), b"300000000")
        if not SANITIZED:
            self.assertLess(rig.rss_kib() - before, 20 * 600 + 2048)
        fds = rig.fds()
        for s in stalled:
            s.close()
        for _ in range(WAIT_S * 20):
            if rig.fds() <= fds - 20:
                break
            time.sleep(0.05)
        self.assertLessEqual(rig.fds(), fds - 20)

    def test_slow_clients_do_not_stop_others(self):
        slow = [rig.connect() for _ in range(300)]
        for s in slow:
            s.sendall(b"GET /hello HT")
        self.assertEqual(curl(rig.url + "/hello"), b"hello\n")
        for s in slow:
            s.sendall(b"TP/1.1\r\nHost: x\r\n\r\n")
        for s in slow:
            self.assertIn(b"hello\n", heard(s, b"hello\n"))
            s.close()

    def test_half_sent_bodies(self):
        for _ in range(100):
            with rig.connect() as s:
                s.sendall(b"PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
        with rig.connect() as s:
            s.sendall(b"PUT /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
            s.shutdown(socket.SHUT_WR)
            self.assertIn(b" 400 ", heard(s, b" 400 "))

    def test_an_error_reaches_a_client_that_still_sends(self):
        """The answer is not lost in a reset, although megabytes were on their way."""
        good = 0
        for _ in range(50):
            with rig.connect() as s:
                longest, before = 0, time.monotonic()
                s.sendall(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
                try:
                    for _ in range(64):
                        s.sendall(bytes(65536))
                        longest, before = max(longest, time.monotonic() - before), time.monotonic()
                    self.assertIn(b" 404 ", heard(s, b" 404 "))
                except (BrokenPipeError, ConnectionResetError):
                    if max(longest, time.monotonic() - before) < STILL_S:
                        self.fail("reset before the answer was read")
                    continue  # this machine let us stand still for so long that we were taken for gone
            good += 1
            if good == 5:
                return
        self.fail("never sent without standing still")


class Smuggling(unittest.TestCase):
    """A second request hidden in the first is never answered."""

    FORMS = [
        b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 44\r\n\r\n",
        b"Content-Length: +0\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 18446744073709551616\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0;x\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0\n\n",
        b"X:\r\rContent-Length: 5\r\n\r\n",
        b"X: y\r\n Content-Length: 5\r\n\r\n",
        b"X: y\nContent-Length: 5\r\n\r\n",
        b"X\x00: y\r\n\r\n",
    ]

    def test_forms(self):
        for form in self.FORMS:
            with self.subTest(form=form), rig.connect() as s:
                s.sendall(b"POST /sink HTTP/1.1\r\nHost: x\r\n" + form + b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
                got = b""
                while block := s.recv(65536):
                    got += block
                self.assertEqual(got.count(b"HTTP/1.1 "), 1, got)
                self.assertIn(b"HTTP/1.1 400 ", got)
                self.assertNotIn(b"hello", got)


class Tls(unittest.TestCase):
    def test_python(self):
        context = ssl.create_default_context(cafile=rig.cert)
        client = http.client.HTTPSConnection("localhost", rig.ports["tls"], context=context, timeout=WAIT_S)
        for _ in range(3):
            client.request("GET", "/hello")
            self.assertEqual(client.getresponse().read(), b"hello\n")
        client.close()

    def test_plain_text_to_tls(self):
        with socket.create_connection(("127.0.0.1", rig.ports["tls"]), timeout=WAIT_S) as s:
            s.sendall(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            try:
                while s.recv(4096):
                    pass
            except ConnectionResetError:
                pass  # as good an end as any


if __name__ == "__main__":
    SERVER = sys.argv.pop(1)
    if "--sanitized" in sys.argv:
        sys.argv.remove("--sanitized")
        SANITIZED = True
    if not shutil.which("curl") or not shutil.which("openssl"):
        print("curl or openssl is not installed", file=sys.stderr)
        sys.exit(77)
    unittest.main()
