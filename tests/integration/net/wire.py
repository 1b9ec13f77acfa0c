# SPDX-License-Identifier: Apache-2.0
"""The front's side of links/net/net_message.h."""
import ctypes
import fcntl
import os
import socket
import struct

MAGIC = 0x6361796e
HELLO, ADD, POLICY, DROP, LIST, STATS, LOG_READ, SECRETS, PROXY, DIAL = range(1, 11)
LOG = 100
REQUEST, ANSWER = 280, 1200
KINDS = {0: None, 1: 'dns', 2: 'tcp', 3: 'tls', 4: 'udp', 5: 'quota'}
VERDICTS = {0: None, 1: 'allowed', 2: 'refused', 3: 'failed', 4: 'ended'}
SEALS = 1 | 2 | 4 | 8
ENTRY = struct.Struct('=QQQQQQIII16s256s320s200s4x')


def text(raw):
    return raw.split(b'\0', 1)[0].decode()


class Entry:
    def __init__(self, raw):
        (self.number, self.wall_ms, self.connection, self.up, self.down, self.ms, kind, verdict, self.port, address, name, rule,
         why) = ENTRY.unpack(raw)
        self.kind, self.verdict = KINDS[kind], VERDICTS[verdict]
        self.name, self.rule, self.why = text(name), text(rule), text(why)
        self.address = '' if address == bytes(16) else socket.inet_ntop(
            socket.AF_INET, address[12:]) if address[:12] == bytes(10) + b'\xff\xff' else socket.inet_ntop(socket.AF_INET6, address)

    def __repr__(self):
        return (f'<{self.number} {self.kind} {self.verdict} {self.name} {self.address}:{self.port} rule={self.rule!r} why={self.why!r} '
                f'up={self.up} down={self.down} conn={self.connection}>')


class Answer:
    def __init__(self, raw):
        assert len(raw) == ANSWER, len(raw)
        magic, size, self.type, self.seq, self.code, self.sys, message, ident = struct.unpack_from('=IIIIIi256s64s', raw)
        assert magic == MAGIC and size == ANSWER
        self.text, self.id = text(message), text(ident)
        self.body = raw[344:]

    def stats(self):
        names = 'up down connections all refused queries queries_refused log_first log_next'.split()
        values = struct.unpack_from('=9QI', self.body)
        return dict(zip(names, values), over=values[9])

    def entry(self):
        return Entry(self.body[:ENTRY.size])


def sealed(words):
    fd = os.memfd_create('policy', os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, words.encode())
    fcntl.fcntl(fd, 1033, SEALS)
    return fd


def limits(up_s=0, down_s=0, total=0, connections=0, connections_s=0, dns_s=0, udp_idle_s=0):
    return struct.pack('=QQQIIII', up_s, down_s, total, connections, connections_s, dns_s, udp_idle_s)


class Front:
    """One front's socket. Log entries that come unasked are kept in `pushed`, by sandbox."""

    def __init__(self, sock):
        self.sock = sock
        self.seq = 0
        self.pushed = {}
        self.sock.settimeout(60)

    def read(self):
        raw = self.sock.recv(ANSWER + 1)
        if not raw:
            raise EOFError
        a = Answer(raw)
        if a.type == LOG:
            self.pushed.setdefault(a.id, []).append(a.entry())
        return a

    def ask(self, kind, body=b'', fds=()):
        self.seq += 1
        raw = struct.pack('=IIII', MAGIC, REQUEST, kind, self.seq) + body.ljust(REQUEST - 16, b'\0')
        socket.send_fds(self.sock, [raw], list(fds))
        while True:
            a = self.read()
            if a.type != LOG:
                assert a.seq == self.seq and a.type == kind, (a.seq, a.type, kind)
                return a

    def hello(self):
        a = self.ask(HELLO, struct.pack('=I', 2))
        assert a.code == 0, a.text

    def add(self, ident, sockets, policy, lim=None, used=(0, 0, 0)):
        fd = sealed(policy)
        try:
            return self.ask(ADD, ident.encode().ljust(64, b'\0') + (lim or limits()) + struct.pack('=QQQ', *used), list(sockets) + [fd])
        finally:
            os.close(fd)

    def policy(self, ident, policy, lim=None):
        fd = sealed(policy)
        try:
            return self.ask(POLICY, ident.encode().ljust(64, b'\0') + (lim or limits()), [fd])
        finally:
            os.close(fd)

    def secrets(self, ident, words):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(words.encode())
            ours.close()
            return self.ask(SECRETS, ident.encode(), [theirs.fileno()])

    def proxied(self, ident):
        """A stream to the proxy of a sandbox without sockets, and the answer."""
        ours, theirs = socket.socketpair()
        ours.settimeout(60)
        with theirs:
            return ours, self.ask(PROXY, ident.encode(), [theirs.fileno()])

    def stats(self, ident):
        a = self.ask(STATS, ident.encode())
        assert a.code == 0, a.text
        return a.stats()

    def drop(self, ident):
        return self.ask(DROP, ident.encode())

    def list(self):
        found, at = [], 0
        while True:
            a = self.ask(LIST, struct.pack('=I', at))
            if not a.id:
                return found
            found.append(a.id)
            at = struct.unpack_from('=I', a.body)[0]

    def log(self, ident, start=0):
        found = []
        while True:
            a = self.ask(LOG_READ, ident.encode().ljust(64, b'\0') + struct.pack('=Q', start))
            assert a.code == 0, a.text
            e = a.entry()
            if not e.number:
                return found
            found.append(e)
            start = e.number + 1


_libc = ctypes.CDLL(None, use_errno=True)


def enter_net(pid):
    fd = os.open(f'/proc/{pid}/ns/net', os.O_RDONLY)
    if _libc.setns(fd, 0x40000000) < 0:
        raise OSError(ctypes.get_errno(), 'setns')
    os.close(fd)


def unshare_net():
    if _libc.unshare(0x40000000) < 0:
        raise OSError(ctypes.get_errno(), 'unshare')
