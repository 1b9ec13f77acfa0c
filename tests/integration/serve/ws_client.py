# SPDX-License-Identifier: Apache-2.0
"""A WebSocket client (RFC 6455) that can also do what none should: for the tests of this folder."""
import base64
import hashlib
import json
import os
import socket
import struct

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
PATIENCE_S = 60


class Refused(Exception):
    """The server answered with something else than 101."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body[:300]!r}")
        self.status, self.body = status, body


class Closed(Exception):
    def __init__(self, code, reason):
        super().__init__(f"{code} {reason!r}")
        self.code, self.reason = code, reason


class WebSocket:
    def __init__(self, port, path, token=None, headers=None, host="127.0.0.1", small_window=False):
        self.sock = socket.socket()
        if small_window:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(("127.0.0.1", port))
        self.kept, self.opcode, self.parts = b"", None, []
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {"Host": f"{host}:{port}", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                  "Sec-WebSocket-Key": key}
        if token:
            fields["Authorization"] = "Bearer " + token
        fields.update(headers or {})
        lines = [f"GET {path} HTTP/1.1"] + [f"{k}: {v}" for k, v in fields.items() if v is not None]
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self._handshake(key)

    def _handshake(self, key):
        head = b""
        while b"\r\n\r\n" not in head:
            more = self.sock.recv(65536)
            if not more:
                break
            head += more
        head, _, self.kept = head.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1]) if lines[0] else 0
        self.fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        if status != 101:
            length = int(self.fields.get("content-length", 0))
            while len(self.kept) < length and (more := self.sock.recv(65536)):
                self.kept += more
            self.sock.close()
            raise Refused(status, self.kept)
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        assert self.fields["sec-websocket-accept"] == base64.b64encode(digest).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send_frame(self, opcode, payload=b"", last=True, masked=True, length=None):
        """length: what the header says, when it is to lie."""
        n = len(payload) if length is None else length
        head = bytes([(0x80 if last else 0) | opcode])
        bit = 0x80 if masked else 0
        if n < 126:
            head += bytes([bit | n])
        elif n < 65536:
            head += bytes([bit | 126]) + struct.pack(">H", n)
        else:
            head += bytes([bit | 127]) + struct.pack(">Q", n)
        if masked:
            mask = os.urandom(4)
            # Long ones as one number: quick enough for megabytes.
            cover = (mask * (len(payload) // 4 + 1))[:len(payload)]
            payload = (int.from_bytes(payload, "big") ^ int.from_bytes(cover, "big")).to_bytes(len(payload), "big")
            head += mask
        self.sock.sendall(head + payload)

    def send(self, message):
        if isinstance(message, bytes):
            self.send_frame(BINARY, message)
        else:
            self.send_frame(TEXT, (message if isinstance(message, str) else json.dumps(message)).encode())

    def _have(self, n):
        """Waits for so many bytes, and takes none of them: who gave up waiting goes on later where it was."""
        while len(self.kept) < n:
            more = self.sock.recv(1 << 18)
            if not more:
                raise Closed(1006, "the connection ended")
            self.kept += more

    def read_frame(self):
        self._have(2)
        first, second = self.kept[:2]
        assert first & 0x70 == 0 and second & 0x80 == 0, "a server's frame has no mask and no extension"
        n, at = second & 0x7f, 2
        if n >= 126:
            at = 4 if n == 126 else 10
            self._have(at)
            n = int.from_bytes(self.kept[2:at], "big")
        self._have(at + n)
        payload, self.kept = self.kept[at:at + n], self.kept[at + n:]
        return first & 0x0f, first & 0x80 != 0, payload

    def read(self):
        """(opcode, bytes) of the next message; pings are answered; Closed at the end."""
        while True:
            op, last, payload = self.read_frame()
            if op == PING:
                self.send_frame(PONG, payload)
            elif op == CLOSE:
                code = struct.unpack(">H", payload[:2])[0] if payload else 1005
                try:
                    self.send_frame(CLOSE, payload[:2])
                except OSError:
                    pass
                raise Closed(code, payload[2:].decode())
            elif op != PONG:
                self.opcode, self.parts = op if op else self.opcode, self.parts + [payload]
                if last:
                    whole, self.parts = b"".join(self.parts), []
                    return self.opcode, whole

    def read_json(self):
        opcode, text = self.read()
        assert opcode == TEXT, opcode
        return json.loads(text)

    def events(self, end=1000):
        """All events up to the close, whose code must be this."""
        while True:
            try:
                yield self.read_json()
            except Closed as c:
                assert c.code == end, c
                return
