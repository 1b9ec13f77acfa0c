# SPDX-License-Identifier: Apache-2.0
"""Both ends of the agent link (docs/agent-link.md), for tests in which one of them is hostile."""
import base64
import contextlib
import hashlib
import hmac
import os
import socket
import struct
import subprocess
import tempfile

from ws_client import Closed, WebSocket

VERSION = 2
HELLO, CHALLENGE, PROOF, WELCOME, REFUSED, BOX, READY, GONE, PING, PONG, ASK, ANSWER, DATA, CREDIT, END = range(1, 16)
MAKE, LINK, FREEZE, THAW, STAT, DROP = range(1, 7)
RO, RW, COW = range(3)
DENIED = 4  # of foundation/base/error_codes.def
PATIENCE_S = 60


def text(s):
    raw = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<I", len(raw)) + raw


def message(kind, number=0, payload=b""):
    return struct.pack("<II", kind, number) + payload


def take_text(raw):
    size = struct.unpack_from("<I", raw)[0]
    return raw[4:4 + size].decode(), raw[4 + size:]


class Key:
    """Ed25519, by the openssl program: Python alone has no signatures."""

    def __init__(self, folder, again=False):
        self.path = os.path.join(folder, "wire.pem")
        if not again:
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.path], check=True, capture_output=True)
        self.public = subprocess.run(["openssl", "pkey", "-in", self.path, "-pubout", "-outform", "DER"], check=True,
                                     capture_output=True).stdout[-32:]

    def sign(self, role, said):
        with tempfile.NamedTemporaryFile() as f:
            f.write(summary(role, said))
            f.flush()
            return subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.path, "-in", f.name], check=True,
                                  capture_output=True).stdout


def summary(role, said):
    return f"cay agent link: {role}".encode().ljust(32, b"\0") + hashlib.sha256(said).digest()


def mac(code, role, said):
    return hmac.new(code.encode(), summary(role, said), hashlib.sha256).digest()


def plan(folder="", mode=RO, secret=bytes(32), limits=(0,) * 6):
    return secret + bytes(3) + struct.pack("<I", 63) + struct.pack("<6Q", *limits) + bytes([mode]) + text(folder)


def ask_make(number, channel, box, **fields):
    return message(ASK, number, bytes([MAKE]) + text(box) + struct.pack("<I", channel) + plan(**fields))


class Peer:
    """One end of an open WebSocket whose messages are this link's."""

    def hear(self):
        raw = self.read_message()
        kind, number = struct.unpack_from("<II", raw)
        return kind, number, raw[8:]

    def hear_until(self, wanted):
        """What comes before it is not of interest; heartbeats are answered."""
        while True:
            kind, number, payload = self.hear()
            if kind == PING:
                self.say(message(PONG, 0, payload))
            elif kind == wanted:
                return number, payload

    def answer(self):
        """Of a request: code and text."""
        number, payload = self.hear_until(ANSWER)
        return number, payload[0], take_text(payload[1:])[0]


class FakeAgent(Peer):
    """Dials a daemon, and is paired with this code; without one it says the key that it had in that folder before. more: behind HELLO."""

    def __init__(self, port, folder, code, name="", version=VERSION, more=b"", about="a test"):
        self.ws = WebSocket(port, "/agent")
        key = Key(folder, again=not code)
        hello = message(HELLO, 0, struct.pack("<H", version) + text(name) + text(code[:5]) + key.public + os.urandom(32) + text(about) + more)
        self.say(hello)
        kind, _, payload = self.hear()
        self.refused = None
        if kind == REFUSED:
            self.refused = take_text(payload[1:])[0]
            return
        assert kind == CHALLENGE, kind
        said = hello + message(CHALLENGE, 0, payload)
        assert not code or hmac.compare_digest(payload[-32:], mac(code, "daemon", said[:len(hello) + 8 + 2 + 32 + 32])), "the daemon does not know the code"
        self.say(message(PROOF, 0, key.sign("agent", said) + mac(code, "agent", said)))
        kind, _, payload = self.hear()
        assert kind == WELCOME, (kind, payload)

    def say(self, raw):
        self.ws.send(raw)

    def read_message(self):
        _, raw = self.ws.read()
        return raw

    def ready(self, *boxes):
        for box in boxes:
            self.say(message(BOX, 0, text(box)))
        self.say(message(READY, 0, struct.pack("<IB", 63, 0)))

    def close_reason(self):
        """Why the daemon ended it."""
        try:
            while True:
                self.read_message()
        except Closed as e:
            return e.reason

    def close(self):
        self.ws.sock.close()


class FakeDaemon(Peer):
    """Accepts one agent after the other and knows this pairing code. serve() waits for the next one."""

    def __init__(self, folder, code, version=VERSION):
        self.key, self.code, self.version = Key(folder), code, version
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE_S)
        self.port = self.listener.getsockname()[1]
        self.sock = None

    def accept(self):
        self.sock, _ = self.listener.accept()
        self.sock.settimeout(PATIENCE_S)
        self.kept = b""
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.sock.recv(65536)
        asked = next(line.split(b":", 1)[1].strip() for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
        accept = base64.b64encode(hashlib.sha1(asked + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
        self.sock.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode())

    def serve(self):
        self.accept()
        hello = self.read_message()
        part = message(CHALLENGE, 0, struct.pack("<H", self.version) + self.key.public + os.urandom(32))
        said = hello + part
        self.say(part + self.key.sign("daemon", said) + mac(self.code, "daemon", said))
        return self

    def welcome(self):
        kind, _, _ = self.hear()
        assert kind == PROOF, kind
        self.say(message(WELCOME, 0, struct.pack("<I", 60000) + text("laptop")))
        boxes = []
        while True:
            kind, _, payload = self.hear()
            if kind == READY:
                return boxes
            assert kind == BOX, kind
            boxes.append(take_text(payload)[0])

    def say(self, raw):
        size = len(raw)
        head = bytes([0x82, size]) if size < 126 else bytes([0x82, 126]) + struct.pack("!H", size) if size < 65536 else \
            bytes([0x82, 127]) + struct.pack("!Q", size)
        self.sock.sendall(head + raw)

    def exactly(self, size):
        while len(self.kept) < size:
            more = self.sock.recv(65536)
            if not more:
                raise EOFError
            self.kept += more
        raw, self.kept = self.kept[:size], self.kept[size:]
        return raw

    def read_message(self):
        while True:
            first, second = self.exactly(2)
            size = second & 127
            if size == 126:
                size = struct.unpack("!H", self.exactly(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.exactly(8))[0]
            key = self.exactly(4)
            raw = bytes(b ^ key[i % 4] for i, b in enumerate(self.exactly(size)))
            if first & 15 == 8:
                raise EOFError
            if first & 15 == 2:
                return raw

    def is_over(self):
        """The agent has ended the connection."""
        try:
            while True:
                self.read_message()
        except TimeoutError:
            return False
        except (EOFError, OSError):
            return True

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.close()

    def done(self):
        self.close()
        self.listener.close()

