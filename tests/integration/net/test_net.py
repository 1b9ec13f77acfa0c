# SPDX-License-Identifier: Apache-2.0
"""cay-net between a sandbox's namespace and an internet: what is allowed arrives, what is not is refused quickly, all of it is logged."""
import errno
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(__file__))
import wire  # noqa: E402
from world import (DEAD, HOST, METADATA, OTHER, PEER, PRIVATE, PUBLIC, PUBLIC6, Box, Internet, Net, make_certificate, patience, serve_forever, serve_one, wait_for)  # noqa: E402

LIST = 'template public\nown list\nallow good.example:80,443,8080\n'
PUBLIC_POLICY = 'template public\nown public\n'
sanitized = '--sanitized' in sys.argv


# --- what runs inside a sandbox ---

def name_of(e):
    """A reset shows in different ways, depending on the call that meets it."""
    return 'ECONNRESET' if e.errno in (errno.EPIPE, errno.ENOTCONN) else errno.errorcode.get(e.errno, str(e))


def query(name, kind=1, tcp=False):
    """Returns (rcode, addresses)."""
    q = struct.pack('!HHHHHH', 9, 0x100, 1, 0, 0, 0) + b''.join(bytes([len(p)]) + p.encode() for p in name.split('.')) + b'\0' + struct.pack('!HH', kind, 1)
    if tcp:
        s = socket.create_connection(('127.0.0.1', 53), patience)
        for b in struct.pack('!H', len(q)) + q:  # byte by byte
            s.sendall(bytes([b]))
        size = struct.unpack('!H', s.recv(2))[0]
        a = s.recv(size)
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(patience)
        s.sendto(q, ('127.0.0.1', 53))
        a = s.recv(512)
    assert a[:2] == q[:2]
    count, rest = struct.unpack('!H', a[6:8])[0], a[len(q) + 12:]
    return a[3] & 15, [socket.inet_ntop(socket.AF_INET6 if kind == 28 else socket.AF_INET, rest)] if count else []


def address_of(name, kind=1):
    code, found = query(name, kind)
    assert code == 0 and len(found) == 1, (name, code, found)
    return found[0]


def dial(host, port):
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(patience)
    s.connect((host, port))
    return s


def read_all(s):
    data = b''
    while more := s.recv(1 << 20):
        data += more
    return data


def talk(host, port, line, more=b''):
    """What the server said, or the name of the error."""
    try:
        if not host[0].isdigit() and ':' not in host:
            host = address_of(host)
        with dial(host, port) as s:
            s.sendall(line + b'\n' + more)
            s.shutdown(socket.SHUT_WR)
            return read_all(s).decode()
    except OSError as e:
        return name_of(e)


def hello_bytes(name):
    """A client's first bytes."""
    out = ssl.MemoryBIO()
    context = ssl._create_unverified_context()
    o = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        o.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def tls(host_name, server_name, cert, pieces=0):
    try:
        s = dial(address_of(host_name), 443)
        context = ssl.create_default_context(cafile=cert) if server_name else ssl._create_unverified_context()
        if not server_name:
            context.check_hostname = False
        if pieces:
            return split_hello(s, context, server_name, pieces)
        with context.wrap_socket(s, server_hostname=server_name) as t:
            t.sendall(b'who\n')
            return read_all(t).decode()
    except OSError as e:
        return name_of(e)


def split_hello(s, context, name, pieces):
    """The hello in pieces of that many bytes, each in a packet of its own."""
    incoming, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    t = context.wrap_bio(incoming, out, server_hostname=name)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    first = True
    said = b''
    while True:
        try:
            t.do_handshake()
            t.write(b'who\n')
            s.sendall(out.read())
            break
        except ssl.SSLWantReadError:
            data = out.read()
            step = pieces if first else len(data) or 1
            for i in range(0, len(data), step):
                s.sendall(data[i:i + step])
                time.sleep(0.001)
            first = False
            incoming.write(s.recv(65536))
    while True:
        try:
            more = t.read(1000)
            if not more:
                return said.decode()
            said += more
        except ssl.SSLWantReadError:
            data = s.recv(65536)
            if not data:
                return said.decode()
            incoming.write(data)


# --- the rig ---

class Rig:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        make_certificate(self.folder)
        self.cert = f'{self.folder}/cert.pem'
        self.resolv = f'{self.folder}/resolv.conf'
        self.set_resolver(PEER)
        self.internet = Internet(self.folder)
        self.net = Net(self.resolv)
        self.boxes = []
        self.made = 0

    def set_resolver(self, address):
        with open(self.resolv + '.new', 'w', encoding='utf-8') as f:
            f.write(f'nameserver {address}\n')
        os.rename(self.resolv + '.new', self.resolv)

    def box(self, policy, lim=None, mode=6):
        self.made += 1
        b = Box(f'box-{self.made}', mode)
        self.boxes.append(b)
        a = self.net.front.add(b.id, b.sockets, policy, lim)
        assert a.code == 0, a.text
        return b

    def log(self, b, **want):
        return [e for e in self.net.front.log(b.id) if all(getattr(e, k) == v for k, v in want.items())]

    def has(self, b, **want):
        wait_for(lambda: self.log(b, **want), f'{want} in {self.net.front.log(b.id)}')
        return self.log(b, **want)[-1]

    def gone(self, b):
        self.net.front.drop(b.id)
        b.close()
        self.boxes.remove(b)

    def close(self):
        for b in list(self.boxes):
            self.gone(b)
        self.net.close()
        self.internet.close()
        shutil.rmtree(self.folder)


# --- tests ---

def test_names(rig):
    b = rig.box(LIST)
    code, found = b.inside(query, 'good.example')
    assert code == 0 and found[0].startswith('198.18.'), found
    assert b.inside(query, 'GOOD.example') == (0, found)
    code, six = b.inside(query, 'good.example', 28)
    assert code == 0 and six[0].startswith('fdca:c0de::'), six
    assert b.inside(query, 'other.example') == (3, [])
    assert b.inside(query, 'sub.good.example') == (3, [])
    assert b.inside(query, 'good.example', 16) == (0, [])  # TXT: the name exists, and has none
    assert b.inside(query, 'good.example', 1, True) == (0, found)  # over TCP, in pieces
    assert rig.has(b, kind='dns', name='good.example').verdict == 'allowed'
    e = rig.has(b, kind='dns', name='other.example')
    assert e.verdict == 'refused' and 'allowed hosts' in e.why, e
    other = rig.box(PUBLIC_POLICY)
    other.inside(query, 'a.example')
    assert other.inside(query, 'b.example')[1] != found  # tables are per sandbox: nothing is shared but the range


def test_allowed_connections(rig):
    b = rig.box(LIST)
    assert b.inside(talk, 'good.example', 80, b'echo', b'x' * 100000) == 'x' * 100000
    assert b.inside(talk, 'good.example', 8080, b'count', b'y' * 3000000) == '3000000'
    assert len(b.inside(talk, 'good.example', 80, b'send 5000000')) == 5000000
    assert b.inside(tls, 'good.example', 'good.example', rig.cert) in (PUBLIC6, '::ffff:' + PUBLIC)
    begun = rig.has(b, kind='tls', verdict='allowed')
    ended = rig.has(b, kind='tls', verdict='ended')
    assert begun.connection == ended.connection and ended.rule == 'good.example:80,443,8080' and ended.port == 443, ended
    assert ended.address in (PUBLIC, PUBLIC6) and ended.name == 'good.example' and ended.up > 300 and ended.down > 300
    e = [e for e in rig.log(b, kind='tcp', verdict='ended', port=8080)][0]
    assert e.up == 3000006 and e.down == 7 and e.why == 'closed', e
    stats = rig.net.front.stats(b.id)
    wait_for(lambda: rig.net.front.stats(b.id)['connections'] == 0, 'the end of all connections')
    assert stats['all'] == 4 and stats['up'] > 3100000 and stats['down'] > 5100000, stats
    numbers = [e.number for e in rig.net.front.log(b.id)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [e.number for e in rig.net.front.pushed[b.id]] == numbers  # all of them were pushed as well


def link():
    """Of a connection from here and of one to here: the congestion control and the size of segments."""
    with dial(address_of('good.example'), 80) as s:
        return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\0').decode(), s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)


def test_bytes_are_cheap(rig):
    """What stays in this machine's memory is neither paced nor cut into small packets."""
    b = rig.box(LIST)
    control, segment = b.inside(link)
    assert control == 'reno' and segment > 30000, (control, segment)


def refused(b, rig, host, port, says, line=b'who'):
    got = b.inside(talk, host, port, line)
    assert got == 'ECONNRESET', (host, port, got)
    wait_for(lambda: any(says in e.why for e in rig.log(b, verdict='refused')), f'{says!r} in {rig.log(b)}')


def ask_proxy(host, *pieces):
    """What the proxy on loopback says; a piece is sent when the one before was answered. The last is read to its end."""
    try:
        with dial(host, 64998) as s:
            got = b''
            for i, piece in enumerate(pieces):
                s.sendall(piece)
                if i + 1 == len(pieces):
                    s.shutdown(socket.SHUT_WR)
                    return got + read_all(s)
                got += s.recv(65536)
    except OSError as e:
        return name_of(e).encode()


def proxied_tls(host_name, server_name, cert):
    try:
        s = dial('127.0.0.1', 64998)
        s.sendall(f'CONNECT {host_name}:443 HTTP/1.1\r\nHost: {host_name}:443\r\n\r\n'.encode())
        got = s.recv(65536)
        assert got == b'HTTP/1.1 200 Connection established\r\n\r\n', got
        context = ssl.create_default_context(cafile=cert)
        context.check_hostname = False
        with context.wrap_socket(s, server_hostname=server_name) as t:
            t.sendall(b'who\n')
            return read_all(t).decode()
    except OSError as e:
        return name_of(e)


def test_proxy(rig):
    b = rig.box(LIST)
    connect = b'CONNECT %s HTTP/1.1\r\n\r\n'
    got = b.inside(ask_proxy, '127.0.0.1', connect % b'good.example:80', b'who\n')
    assert got.startswith(b'HTTP/1.1 200 ') and got.endswith(PUBLIC.encode()) or got.endswith(PUBLIC6.encode()), got
    assert rig.has(b, verdict='allowed', name='good.example', port=80)
    # A name or port that is not allowed, an address that is not, one that leads to a private one, one that nobody knows.
    for target, why in ((b'other.example:80', b'not in the sandbox'), (b'good.example:22', b'not in the sandbox'), (PUBLIC.encode() + b':80', b'not in the sandbox')):
        got = b.inside(ask_proxy, '127.0.0.1', connect % target)
        assert got.startswith(b'HTTP/1.1 403 ') and why in got, (target, got)
    wide = rig.box(PUBLIC_POLICY)
    for target in (b'private.example:80', b'metadata.example:80', b'mapped.example:80', b'alias.example:80', b'own.example:80', b'169.254.169.254:80',
                   b'[::ffff:10.9.9.9]:80', b'[64:ff9b::a09:909]:80'):
        got = wide.inside(ask_proxy, '127.0.0.1', connect % target)
        assert got.startswith(b'HTTP/1.1 403 '), (target, got)
    got = wide.inside(ask_proxy, '127.0.0.1', connect % b'nobody.example:80')
    assert got.startswith(b'HTTP/1.1 502 '), got
    # SOCKS 5, by name and by address, also by one that stands for a name.
    name = b'good.example'
    socks = b'\5\1\0\3' + bytes([len(name)]) + name + b'\0\x50'
    got = b.inside(ask_proxy, '::1', b'\5\1\0', socks, b'who\n')
    assert got.startswith(b'\5\0\5\0\0\1') and (got.endswith(PUBLIC.encode()) or got.endswith(PUBLIC6.encode())), got
    got = b.inside(ask_proxy, '127.0.0.1', b'\5\1\0', b'\5\1\0\1' + socket.inet_aton(PUBLIC) + b'\0\x50')
    assert got == b'\5\0\5\2\0\1' + bytes(6), got
    assert b.inside(ask_proxy, '127.0.0.1', b'\5\1\2') == b'\5\xff'
    stand_in = b.inside(address_of, 'good.example')
    got = b.inside(ask_proxy, '127.0.0.1', b'\5\1\0', b'\5\1\0\1' + socket.inet_aton(stand_in) + b'\0\x50', b'who\n')
    assert got.startswith(b'\5\0\5\0'), got
    # A plain request: its server gets a path and the URL's own host, whatever Host said; here it repeats its first line.
    got = b.inside(ask_proxy, '127.0.0.1', b'echo http://good.example:8080/x HTTP/1.1\r\nHost: evil.example\r\nProxy-Connection: keep-alive\r\n\r\nbody')
    assert b'evil' not in got and b'Host: good.example:8080\r\nConnection: close\r\n\r\nbody' in got, got
    # On 443 the TLS server name must be the name that was asked for.
    assert b.inside(proxied_tls, 'good.example', 'good.example', rig.cert) in (PUBLIC, PUBLIC6, '::ffff:' + PUBLIC)
    assert b.inside(proxied_tls, 'good.example', 'other.example', rig.cert) == 'ECONNRESET'
    wait_for(lambda: any('TLS server name is other.example' in e.why for e in rig.log(b, verdict='refused')), rig.log(b))


def test_streams_to_the_proxy(rig):
    """A sandbox without sockets: what its engine brings are streams, judged as everything is."""
    front = rig.net.front
    assert front.add('streams', [], LIST, wire.limits(connections=40, connections_s=5)).code == 0

    def ask(*pieces):
        s, a = front.proxied('streams')
        assert a.code == 0, a.text
        with s:
            for p in pieces:
                s.sendall(p)
            return s, read_all(s)
    assert ask(b'GET http://evil.example/ HTTP/1.1\r\n\r\n')[1].startswith(b'HTTP/1.1 403 ')
    assert ask(b'GET http://169.254.169.254/ HTTP/1.1\r\n\r\n')[1].startswith(b'HTTP/1.1 403 ')
    s, a = front.proxied('streams')
    began = rig.net.cpu_s()
    for byte in b'CONNECT good.example:8080 HTTP/1.1\r\nHost: good.example:8080\r\n\r\n':
        s.sendall(bytes([byte]))  # in pieces, and slowly: what is not whole keeps nobody busy
        time.sleep(0.005)
    assert s.recv(1000) == b'HTTP/1.1 200 Connection established\r\n\r\n'
    assert rig.net.cpu_s() - began < 0.25, rig.net.cpu_s() - began
    s.sendall(b'count\n' + b'z' * 2000000)
    s.shutdown(socket.SHUT_WR)
    assert read_all(s) == b'2000000'
    s.close()
    wait_for(lambda: any(e.up > 2000000 and e.name == 'good.example' for e in front.log('streams')), 'the end in the log')
    # Over the rate they wait; the policy and the end of the sandbox end them.
    held = [front.proxied('streams')[0] for _ in range(20)]
    for h in held:
        h.sendall(b'CONNECT good.example:80 HTTP/1.1\r\n\r\n')
    for h in held:
        assert h.recv(1000).startswith(b'HTTP/1.1 200 ')
    assert front.policy('streams', 'template public\nown list\nallow other.example\n').code == 0
    for h in held[:10]:
        assert h.recv(1000) == b''
    more, _ = front.proxied('streams')
    assert front.drop('streams').code == 0
    assert b'network was removed' in read_all(more)
    for h in [*held, more]:
        h.close()
    # Not a stream, no such sandbox, and sockets that are half there.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
        assert front.add('streams', [], LIST).code == 0
        assert front.ask(wire.PROXY, b'streams', [tcp.fileno()]).code == 1
        assert front.ask(wire.PROXY, b'nobody', [tcp.fileno()]).code == 2
        assert front.add('half', [tcp.fileno()] * 3, LIST).code == 1
    front.drop('streams')


def test_addresses(rig):
    b = rig.box(PUBLIC_POLICY)
    assert b.inside(talk, PUBLIC, 80, b'who') == '::ffff:' + PUBLIC
    assert b.inside(talk, PUBLIC6, 80, b'who') == PUBLIC6
    refused(b, rig, PRIVATE, 80, '10.9.9.9 is private')
    refused(b, rig, METADATA, 80, 'link-local')
    refused(b, rig, HOST, 80, "the host's own")
    refused(b, rig, '64:ff9b::a09:909', 80, 'private')  # NAT64 of 10.9.9.9
    for own in ('64:ff9b::808:401', '2002:808:401::1'):  # a translator would bring it back to the host
        refused(b, rig, own, 80, "the host's own")
    refused(b, rig, '168.63.129.16', 80, 'metadata')
    less = rig.box('template public\nown public\ndeny 93.184.216.0/24\n')
    refused(less, rig, '64:ff9b::5db8:d822', 80, 'denied by a rule')  # NAT64 of PUBLIC
    refused(b, rig, '198.18.99.99', 80, 'stands for no name')
    listed = rig.box(LIST)
    refused(listed, rig, PUBLIC, 80, 'not in the sandbox')
    wide = rig.box('template list\nallow 0.0.0.0/0:*\nallow [::/0]:*\nown list\nallow 0.0.0.0/0:*\nallow [::/0]:*\n')
    for own in ('127.0.0.1', '127.9.9.9', '::1'):  # straight to the listener, which is the proxy: never the host's loopback, whatever is allowed
        assert wide.inside(ask_proxy, own, b'who\r\n\r\n').startswith(b'HTTP/1.1 400 '), own
        for target in (b'127.0.0.1:80', b'[::1]:80', b'[::ffff:127.0.0.1]:80', b'127.9.9.9:64998'):
            got = wide.inside(ask_proxy, own, b'CONNECT ' + target + b' HTTP/1.1\r\n\r\n')
            assert got.startswith(b'HTTP/1.1 403 ') and b"loopback is the sandbox's own" in got, (own, target, got)
    sixes = rig.box('template list\nallow 0.0.0.0/0:*\nallow [::/0]:*\nown list\nallow [::/0]:80\n')
    assert sixes.inside(talk, PUBLIC6, 80, b'who') == PUBLIC6
    for four in (PUBLIC, PRIVATE, HOST):  # no IPv4 address is in a range of IPv6
        refused(sixes, rig, four, 80, 'not in the sandbox')
    ranged = rig.box('template list\nallow 10.0.0.0/8:*\nallow 8.8.4.0/24:80\nown list\nallow 10.9.9.9:80\nallow 8.8.4.1:80\n')
    assert ranged.inside(talk, PRIVATE, 80, b'who') == '::ffff:' + PRIVATE
    refused(ranged, rig, PRIVATE, 8080, 'not in the sandbox')
    assert ranged.inside(talk, HOST, 80, b'who') == 'ECONNRESET'  # allowed, and nobody listens there
    assert rig.has(ranged, verdict='failed', address=HOST).why == 'Connection refused'


def test_names_that_lead_elsewhere(rig):
    b = rig.box('template public\nown list\nallow *.example:80\n')
    for name, says in (('private.example', 'private'), ('metadata.example', 'link-local'), ('alias.example', 'private'), ('loop.example', 'loopback'),
                       ('mapped.example', 'private'), ('own.example', "leads to 8.8.4.1, which is the host's own")):
        refused(b, rig, name, 80, says)
        e = rig.has(b, kind='tcp', name=name)
        assert e.verdict == 'refused' and e.port == 80 and e.address, e
    assert b.inside(talk, 'mixed.example', 80, b'who') == '::ffff:' + PUBLIC  # the public one of its two
    assert b.inside(talk, 'six.example', 80, b'who') == PUBLIC6
    assert b.inside(talk, 'nobody.example', 80, b'who') == 'ECONNRESET'
    assert rig.has(b, name='nobody.example', kind='tcp').verdict == 'failed'
    assert b.inside(talk, 'rebind.example', 80, b'who') == '::ffff:' + PUBLIC
    refused(b, rig, 'rebind.example', 80, 'private')  # the same address inside, looked up again


OFF = 'template public\n{0}own public\n{0}'


def arrives(rig, attack, policy, mode=6, lim=None):
    """Whether the attack reaches a server, in a sandbox with that policy."""
    b = rig.box(policy, lim, mode)
    got = b.inside(attack, rig.cert)
    rig.gone(b)
    return got


def reach(host, port=80):
    return lambda cert: talk(host, port, b'who').startswith(('::ffff:', '2606:'))


def test_each_with_its_layer_off(rig):
    """What holds an attack is what is said to hold it: without that layer it succeeds, with it it fails."""
    rows = (
        ('a raw private address: the judge', reach(PRIVATE), PUBLIC_POLICY, OFF.format(f'allow {PRIVATE}:80\n')),
        ('metadata: the judge', reach(METADATA), PUBLIC_POLICY, OFF.format(f'allow {METADATA}:80\n')),
        ('an address in a list of names: the list', reach(PUBLIC), LIST, PUBLIC_POLICY),
        ('IPv6 in a list of names: the list', reach(PUBLIC6), LIST, PUBLIC_POLICY),
        ('v4-mapped: the judge', lambda cert: mapped(PRIVATE, 80).startswith('::ffff:'), PUBLIC_POLICY, OFF.format(f'allow {PRIVATE}:80\n')),
        ('a decimal address: the judge', lambda cert: reach(spelled('2852039166'))(cert), PUBLIC_POLICY, OFF.format(f'allow {METADATA}:80\n')),
        ('a name that is private: the judge of addresses', reach('private.example'), PUBLIC_POLICY, OFF.format(f'allow {PRIVATE}:80\n')),
        ('CNAME to private: the judge of addresses', reach('alias.example'), PUBLIC_POLICY, OFF.format(f'allow {PRIVATE}:80\n')),
        ('rebinding: the judge of addresses', lambda cert: [reach('rebind.example')(cert) for _ in range(2)][1], PUBLIC_POLICY, OFF.format(f'allow {PRIVATE}:80\n')),
        ('an octal address: the judge', reach(spelled('0251.0376.0251.0376')), PUBLIC_POLICY, OFF.format(f'allow {METADATA}:80\n')),
        ('a connection from a foreign address: the judge', lambda cert: talk_from('198.18.0.1', PRIVATE, 80).startswith('::ffff:') or
         talk_from('192.0.2.2', PRIVATE, 80).startswith('::ffff:'), PUBLIC_POLICY, OFF.format(f'allow {PRIVATE}:80\n')),
        ('Host and server name differ: the hello', lambda cert: tls('other.example', 'good.example', cert).startswith('::ffff:'),
         'template public\nown list\nallow good.example\nallow other.example\n', PUBLIC_POLICY),
        ('no server name: the hello', lambda cert: tls('good.example', None, cert).startswith(('::ffff:', '2606:')), LIST, PUBLIC_POLICY),
        ('a split hello with another name: the hello', lambda cert: tls('other.example', 'good.example', cert, 3).startswith('::ffff:'),
         'template public\nown list\nallow good.example\nallow other.example\n', PUBLIC_POLICY),
        ('a foreign address bound inside: the judge', lambda cert: bind_foreign(PRIVATE, 80).startswith('::ffff:'), PUBLIC_POLICY,
         OFF.format(f'allow {PRIVATE}:80\n')),
        ('a name that is not allowed: the stub', lambda cert: query('other.example')[0] == 0, LIST, PUBLIC_POLICY),
        ('straight to the listener: the judge', lambda cert: ask_proxy('127.0.0.1', b'CONNECT 10.9.9.9:80 HTTP/1.1\r\n\r\n').startswith(b'HTTP/1.1 200'),
         PUBLIC_POLICY, OFF.format(f'allow {PRIVATE}:80\n')),
        ('UDP: the rule', lambda cert: isinstance(send_udp('good.example', 123, b'x'), list), LIST, LIST + 'allow good.example:123/udp\n'),
    )
    for what, attack, held, off in rows:
        assert not arrives(rig, attack, held), what
        assert arrives(rig, attack, off), what + ' (layer off)'
    # The kernel's rules off (mode 6): the judge holds by itself; on, the kernel is asked first.
    for mode, name in ((6, 'ECONNRESET'), (7, 'ECONNREFUSED')):
        assert arrives(rig, lambda cert: talk(PRIVATE, 80, b'who'), PUBLIC_POLICY, mode) == name, mode
    # Limits: many queries and many connections are held by them alone.
    def many(cert):
        return all(query(f'n{i}.example')[0] == 0 for i in range(300))
    assert not arrives(rig, many, PUBLIC_POLICY, lim=wire.limits(dns_s=10))
    assert arrives(rig, many, PUBLIC_POLICY, lim=wire.limits(dns_s=100000))

    def crowd(cert):
        host, held = address_of('good.example'), []
        try:
            for _ in range(30):
                held.append(dial(host, 80))
                held[-1].sendall(b'hold\n')
            return all(s.recv(10) == b'held' for s in held)
        except OSError:
            return False
    assert not arrives(rig, crowd, LIST, lim=wire.limits(connections=10, connections_s=1000))
    assert arrives(rig, crowd, LIST, lim=wire.limits(connections=100, connections_s=1000))


def ping(host, kind):
    """An echo request by that kind of socket: what came back, or the error."""
    try:
        with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as s:
            s.settimeout(0.5)
            body = struct.pack('!BBHHH', 8, 0, 0, 7, 1) + b'ping'
            total = sum(struct.unpack('!6H', body))
            total = (total & 0xffff) + (total >> 16)
            s.sendto(body[:2] + struct.pack('!H', ~(total + (total >> 16)) & 0xffff) + body[4:], (host, 0))
            while True:
                got = s.recv(1000)
                if got[-12] == 0 and got[-4:] == b'ping':  # a reply, not an error or the request itself
                    return 'a reply'
    except TimeoutError:
        return 'nothing'
    except OSError as e:
        return name_of(e)


def test_no_icmp(rig):
    """Whoever is allowed: here even by root of the sandbox's namespace, which no command is. From outside the same address answers."""
    assert ping(PUBLIC, socket.SOCK_RAW) == 'a reply'
    for policy, mode in ((PUBLIC_POLICY, 6), (PUBLIC_POLICY, 3), (LIST, 1), (OFF.format('allow 0.0.0.0/0:*\n'), 6)):
        b = rig.box(policy, mode=mode)
        assert b.inside(ping, PUBLIC, socket.SOCK_RAW) != 'a reply', mode
        assert b.inside(ping, b.inside(address_of, 'good.example'), socket.SOCK_RAW) != 'a reply', mode
        assert b.inside(ping, PUBLIC, socket.SOCK_DGRAM) == 'EACCES', mode


def test_fallback(rig):
    b = rig.box('template public\nown list\nallow *.example:80\n')
    assert b.inside(talk, 'fallback.example', 80, b'who') == '::ffff:' + PUBLIC
    assert rig.has(b, name='fallback.example', verdict='ended').address == PUBLIC


def raw_443(b_name, data):
    try:
        with dial(address_of(b_name), 443) as s:
            s.sendall(data)
            return read_all(s).decode('latin1')
    except OSError as e:
        return name_of(e)


def test_tls_names(rig):
    b = rig.box('template public\nown list\nallow good.example\nallow other.example\n')
    assert b.inside(tls, 'other.example', 'other.example', rig.cert) == '::ffff:' + OTHER
    assert b.inside(tls, 'other.example', 'good.example', rig.cert) == 'ECONNRESET'
    assert rig.has(b, kind='tls', verdict='refused').why == 'the TLS server name is good.example, not other.example'
    assert b.inside(tls, 'good.example', None, rig.cert) == 'ECONNRESET'
    wait_for(lambda: any('no TLS server name' in e.why for e in rig.log(b)), 'no server name')
    assert b.inside(raw_443, 'good.example', b'GET / HTTP/1.1\r\n\r\n') == 'ECONNRESET'
    wait_for(lambda: any('not TLS' in e.why for e in rig.log(b)), 'not TLS')
    assert b.inside(raw_443, 'good.example', b'\x16\x03\x01\x00\x05\x02\x00\x00\x00\x00') == 'ECONNRESET'
    wait_for(lambda: any('malformed' in e.why for e in rig.log(b)), 'a malformed hello')
    assert b.inside(tls, 'good.example', 'good.example', rig.cert, 1) in (PUBLIC6, '::ffff:' + PUBLIC)  # a byte at a time
    assert b.inside(tls, 'good.example', 'good.example', rig.cert, 100) in (PUBLIC6, '::ffff:' + PUBLIC)
    opened = rig.box(PUBLIC_POLICY)  # names decide nothing here
    assert opened.inside(tls, 'other.example', 'good.example', rig.cert) == '::ffff:' + OTHER
    denied = rig.box('template public\ndeny good.example\nown public\n')
    assert denied.inside(query, 'good.example') == (3, [])
    assert denied.inside(tls, 'other.example', 'good.example', rig.cert) == 'ECONNRESET'


# --- datagrams ---

def send_udp(host, port, *words, size=0):
    """The answers to each word, or the error that came instead."""
    if not host[0].isdigit() and ':' not in host:
        host = address_of(host)
    with socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(patience)
        try:
            s.connect((host, port))
            for w in words:
                s.send(w.ljust(size, b'x'))
            return [s.recv(65535) for _ in words]
        except OSError as e:
            return name_of(e)


def answers_from(host, port):
    """An unconnected socket: the answer comes from where the question went."""
    with socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(patience)
        s.sendto(b'who', (host, port))
        data, who = s.recvfrom(100)
        return data, who[:2]


UDP = 'template public\nown list\nallow good.example:123/udp\nallow other.example:80\n'


def test_datagrams(rig):
    b = rig.box(UDP)
    assert b.inside(send_udp, 'good.example', 123, b'one', b'two', b'three') == [b'ONE', b'TWO', b'THREE']
    for kind in (1, 28):
        host = b.inside(address_of, 'good.example', kind)
        assert b.inside(answers_from, host, 123) == (b'WHO', (host, 123)), host
    assert b.inside(send_udp, 'good.example', 123, b'a', size=60000) == [b'A'.ljust(60000, b'X')]
    assert b.inside(send_udp, 'good.example', 123, b'') == [b'']
    e = rig.has(b, kind='udp', verdict='allowed')
    assert e.name == 'good.example' and e.port == 123 and e.address in (PUBLIC, PUBLIC6) and e.rule == 'good.example:123/udp', e
    before = rig.net.front.stats(b.id)
    assert before['all'] == 5 and before['connections'] == 5 and before['up'] >= 60000 and before['down'] >= 60000, before
    assert b.inside(send_udp, 'good.example', 124, b'x') == 'ECONNREFUSED'
    assert b.inside(send_udp, 'other.example', 80, b'x') == 'ECONNREFUSED'  # a rule for TCP is none for UDP
    assert b.inside(talk, 'good.example', 123, b'who') == 'ECONNRESET'      # nor the other way round
    assert b.inside(send_udp, PUBLIC, 123, b'x') == 'ECONNREFUSED'
    assert b.inside(send_udp, PUBLIC6, 123, b'x') == 'ECONNREFUSED'
    assert b.inside(send_udp, '127.0.0.1', 64998, b'x') == 'ECONNREFUSED'   # straight to the socket
    assert b.inside(send_udp, '::1', 64998, b'x') == 'ECONNREFUSED'
    assert b.inside(send_udp, '198.18.99.99', 123, b'x') == 'ECONNREFUSED'
    says = [e.why for e in rig.log(b, kind='udp', verdict='refused')]
    assert len(says) == 7 and sum('loopback' in w for w in says) == 2 and sum('no name any more' in w for w in says) == 1, says


def test_datagrams_elsewhere(rig):
    b = rig.box('template public\nown list\nallow *.example:*/udp\n')
    for name, says in (('private.example', 'private'), ('metadata.example', 'link-local'), ('alias.example', 'private'), ('loop.example', 'loopback'),
                       ('mapped.example', 'private'), ('own.example', "the host's own")):
        assert b.inside(send_udp, name, 123, b'x') == 'ECONNREFUSED', name
        assert says in rig.has(b, kind='udp', name=name, verdict='refused').why
    assert b.inside(send_udp, 'mixed.example', 123, b'x') == [b'X']
    assert b.inside(send_udp, 'nobody.example', 123, b'x') == 'ECONNREFUSED'
    assert rig.has(b, kind='udp', name='nobody.example').verdict == 'failed'
    assert b.inside(send_udp, 'good.example', 9999, b'x') == 'ECONNREFUSED'  # the server's own word, passed on
    assert rig.has(b, kind='udp', name='good.example', verdict='ended').why == 'Connection refused'
    opened = rig.box(PUBLIC_POLICY)  # all public addresses: not by UDP
    assert opened.inside(send_udp, 'good.example', 123, b'x') == 'ECONNREFUSED'
    narrow = rig.box('template list\nallow good.example:123\nown list\nallow good.example:123/udp\n')
    assert narrow.inside(send_udp, 'good.example', 123, b'x') == 'ECONNREFUSED'  # the template has it for TCP alone
    ranged = rig.box(f'template public\nallow {PRIVATE}:123/udp\nown list\nallow {PRIVATE}:123/udp\n')
    assert ranged.inside(send_udp, PRIVATE, 123, b'x') == [b'X']
    kernel = rig.box('template public\nown list\nallow good.example\n', mode=1)  # no rule for UDP: the kernel's word
    assert kernel.inside(send_udp, 'good.example', 443, b'quic') in ('ECONNREFUSED', 'EPERM')
    assert not rig.log(kernel, kind='udp')


def hold_udp(name, ready, count):
    """Flows that got an answer; returns how the next datagram of the first one fared, once the test has changed something."""
    host = address_of(name)
    held = []
    for _ in range(count):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(patience)
        s.connect((host, 123))
        s.send(b'x')
        assert s.recv(1) == b'X'
        held.append(s)
    os.write(ready, b'h')
    try:
        held[0].recv(1)
    except OSError as e:
        return name_of(e)
    return 'an answer'


def send_mute(name, count):
    host = address_of(name)
    held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]  # all open: each has a port of its own
    for s in held:
        s.sendto(b'mute', (host, 123))


def test_datagram_limits(rig):
    b = rig.box(UDP, wire.limits(connections=20, connections_s=5000, udp_idle_s=1))
    b.inside(send_mute, 'good.example', 100)
    wait_for(lambda: rig.net.front.stats(b.id)['all'] == 100, 'all flows')
    assert rig.net.front.stats(b.id)['connections'] <= 20
    assert any('more than 20 connections' in e.why for e in rig.log(b, kind='udp'))
    wait_for(lambda: rig.net.front.stats(b.id)['connections'] == 0, 'the end of idle flows')
    assert rig.has(b, kind='udp', verdict='ended').why == 'idle'
    flood = rig.box(UDP, wire.limits(connections=4, connections_s=5000))
    flood.inside(send_mute, 'good.example', 4)
    wait_for(lambda: len(rig.log(flood, kind='udp', verdict='allowed')) == 4, 'four flows')
    time.sleep(1.1)
    assert flood.inside(send_udp, 'good.example', 123, b'new') == [b'NEW']  # the one that was idle longest gave way
    assert rig.has(flood, kind='udp', verdict='ended').why == 'idle, and others need its place'
    rig.net.front.policy(flood.id, 'template public\nown list\nallow good.example:123/udp\n', wire.limits(connections=4))
    assert rig.net.front.stats(flood.id)['connections'] == 4  # still allowed
    quota = rig.box(UDP, wire.limits(total=3000))
    assert quota.inside(send_udp, 'good.example', 123, b'a', size=1400) == [b'A'.ljust(1400, b'X')]
    assert quota.inside(send_udp, 'good.example', 123, b'a', size=1400) == 'ECONNREFUSED'
    assert rig.has(quota, kind='quota').up + rig.has(quota, kind='quota').down <= 4200
    assert rig.net.front.stats(quota.id)['connections'] == 0


def test_datagrams_and_policy(rig):
    b = rig.box(UDP)
    ready, done = in_background(b, hold_udp, 'good.example', 2)
    ready()
    assert rig.net.front.policy(b.id, LIST).code == 0
    assert done() == 'ECONNREFUSED'
    assert 'the policy changed' in rig.has(b, kind='udp', verdict='ended').why
    assert b.inside(send_udp, 'good.example', 123, b'x') == 'ECONNREFUSED'
    assert rig.net.front.policy(b.id, UDP).code == 0
    assert b.inside(send_udp, 'good.example', 123, b'x') == [b'X']


# --- private networks ---

def member(owner, host, network='team', policy=LIST):
    return policy + f'member {owner} {network} {host}\n'


def serve_inside(address, ready, port, count):
    """A server of a sandbox: the first word it is told decides (world.serve_one)."""
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen(64)
    os.write(ready, b'h')
    peers = set()
    for _ in range(count):
        c, who = s.accept()
        peers.add(who[0])
        serve_one(c)
    return sorted(peers)


def test_private_network(rig):
    db, web = rig.box(member('ada', 'db'), mode=14), rig.box(member('ada', 'web'), mode=14)
    evil, outside = rig.box(member('eve', 'db'), mode=14), rig.box(PUBLIC_POLICY)
    elsewhere = rig.box(member('ada', 'db2', 'other'), mode=14)
    ready, done = in_background(db, serve_inside, '0.0.0.0', 5432, 43)
    ready()
    assert web.inside(talk, 'db.team.internal', 5432, b'echo', b'x' * 1000000) == 'x' * 1000000
    assert web.inside(talk, 'DB.team.internal', 5432, b'count', b'y' * 3000000) == '3000000'
    assert len(web.inside(talk, 'db.team.internal', 5432, b'send 3000000')) == 3000000
    for _ in range(40):  # more than there are sockets: they are used again
        assert web.inside(talk, 'db.team.internal', 5432, b'echo', b'again') == 'again'
    assert done() == ['192.0.2.2']  # an address of its own, never loopback
    e = rig.has(web, verdict='ended', name='db.team.internal')
    assert e.rule == 'private network team' and e.port == 5432 and e.address == '' and e.why == 'closed', e
    assert not rig.log(db, kind='tcp')
    assert web.inside(query, 'nobody.team.internal') == (3, [])
    assert web.inside(query, 'team.internal') == (3, [])
    assert web.inside(query, 'db2.other.internal') == (3, [])
    assert web.inside(query, 'db.other.internal') == (3, [])
    assert outside.inside(talk, 'db.team.internal', 5432, b'echo') == 'ECONNRESET'  # a name like others, that nobody has
    assert rig.has(outside, kind='tcp').verdict == 'failed'
    # Another owner's network of the same name is another one.
    ready, done = in_background(evil, serve_inside, '0.0.0.0', 5432, 1)
    ready()
    assert evil.inside(talk, 'db.team.internal', 5432, b'echo', b'its own') == 'its own'
    done()
    assert web.inside(talk, 'db.team.internal', 5432, b'echo') == 'ECONNRESET'  # nobody listens in ada's any more
    assert rig.has(web, verdict='failed', name='db.team.internal').why == 'Connection refused'
    assert evil.inside(query, 'web.team.internal') == (3, [])
    # What is served on loopback alone is not for others.
    ready, done = in_background(db, serve_inside, '127.0.0.1', 6000, 1)
    ready()
    assert web.inside(talk, 'db.team.internal', 6000, b'echo') == 'ECONNRESET'
    assert db.inside(talk, '127.0.0.1', 6000, b'echo', b'own') == 'own'
    done()
    assert elsewhere.inside(query, 'db.team.internal') == (3, [])


def test_private_network_rules(rig):
    db, web = rig.box(member('ada', 'db'), mode=14), rig.box(member('ada', 'web', policy=LIST + 'deny db.team.internal:22\n'), mode=14)
    assert web.inside(talk, 'db.team.internal', 22, b'echo') == 'ECONNRESET'
    assert rig.has(web, verdict='refused', name='db.team.internal').why == 'it is denied by a rule'
    by_id = f'{db.id}.team.internal'
    assert web.inside(talk, by_id, 22, b'echo') == 'ECONNRESET'  # whichever of its names is asked for
    assert rig.has(web, verdict='refused', name=by_id).why == 'it is denied by a rule'
    assert web.inside(talk, by_id, 23, b'echo') == 'ECONNRESET'  # another port: nobody listens
    assert rig.has(web, verdict='failed', name=by_id, port=23).why == 'Connection refused'
    for name in ('db.x.team.internal', 'x.db.team.internal', f'{db.id}.x.team.internal'):  # these are none of its names
        assert web.inside(query, name) == (3, []), name
    twin = rig.box(member('ada', 'db'), mode=14)
    assert web.inside(query, 'db.team.internal') == (3, [])  # two of a name: none of them
    rig.gone(twin)
    ready, done = in_background(web, hold_and_wait_for, 'db.team.internal', db, 5000)
    ready()
    rig.gone(db)  # the one that is connected to ends
    assert done() == ['ECONNRESET'] * 3
    assert 'was removed' in rig.has(web, verdict='ended', name='db.team.internal').why
    assert web.inside(query, 'db.team.internal') == (3, [])
    db = rig.box(member('ada', 'db'), mode=14)
    ready, done = in_background(web, hold_and_wait_for, 'db.team.internal', db, 5000)
    ready()
    assert rig.net.front.policy(web.id, LIST).code == 0  # not a member any more
    assert done() == ['ECONNRESET'] * 3
    assert web.inside(query, 'db.team.internal') == (3, [])
    for bad in ('member ada\n', 'member ada team db more\n', 'member ada te.am db\n', 'member ada team db\nmember ada team db\n'):
        assert rig.net.front.policy(web.id, LIST + bad).code == 1, bad


def hold_and_wait_for(name, ready, server, port):
    """Three connections to a server that is started in the other sandbox's namespace."""
    r, w = os.pipe()
    if os.fork() == 0:
        wire.enter_net(server.child.pid)
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('0.0.0.0', port))
        s.listen(64)
        os.write(w, b'x')
        held = [s.accept()[0] for _ in range(3)]
        for c in held:
            c.recv(5)
            c.sendall(b'held')
        for c in held:
            try:
                c.recv(1)
            except OSError:
                pass
        os._exit(0)
    os.read(r, 1)
    host = address_of(name)
    held = [dial(host, port) for _ in range(3)]
    for s in held:
        s.sendall(b'hold\n')
    for s in held:
        assert s.recv(4) == b'held'
    os.write(ready, b'h')
    ends = []
    for s in held:
        try:
            ends.append(s.recv(1).decode())
        except OSError as e:
            ends.append(errno.errorcode[e.errno])
    os.wait()
    return ends


def fill_member(name, port, count):
    """How many of the connections that are held at once got through."""
    host = address_of(name)
    held, got = [], 0
    for _ in range(count):
        try:
            s = dial(host, port)
            s.sendall(b'hold\n')
            held.append(s)
        except OSError:
            pass
    for s in held:
        try:
            got += s.recv(4) == b'held'
        except OSError:
            pass
    return got


def serve_many(_, ready, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.bind(('0.0.0.0', port))
    s.listen(64)
    threading.Thread(target=serve_forever, args=(s,), daemon=True).start()
    os.write(ready, b'h')
    time.sleep(3)


def test_private_network_limit(rig):
    db, web = rig.box(member('ada', 'db'), mode=14), rig.box(member('ada', 'web'), mode=14)
    ready, done = in_background(db, serve_many, None, 7000)
    ready()
    assert web.inside(fill_member, 'db.team.internal', 7000, 40) == 32
    assert any('too many connections of others' in e.why for e in rig.log(web))
    wait_for(lambda: rig.net.front.stats(web.id)['connections'] == 0, 'their end')
    assert web.inside(fill_member, 'db.team.internal', 7000, 2) == 2
    done()


def half_closed(name):
    with dial(address_of(name), 80) as s:
        s.sendall(b'count\n' + b'z' * 1000)
        s.shutdown(socket.SHUT_WR)
        return read_all(s).decode()


def slow_reader(name, size):
    """The server's bytes are taken late: meanwhile nothing is lost and little is held."""
    with dial(address_of(name), 80) as s:
        s.sendall(b'send %d\n' % size)
        time.sleep(0.3)
        return len(read_all(s))


def test_half_close_and_back_pressure(rig):
    b = rig.box(LIST)
    assert b.inside(half_closed, 'good.example') == '1000'
    before = rig.net.memory()
    assert b.inside(slow_reader, 'good.example', 30000000) == 30000000
    if not sanitized:
        assert rig.net.memory() - before < 2 << 20


def hold_and_wait(name, ready, count, port=80):
    """Connections that are held open; returns how each ended once they have."""
    host = address_of(name)
    held = []
    for _ in range(count):
        s = dial(host, port)
        s.sendall(b'hold\n')
        assert s.recv(4) == b'held'
        held.append(s)
    os.write(ready, b'h')
    ends = []
    for s in held:
        try:
            ends.append(s.recv(1).decode())
        except OSError as e:
            ends.append(errno.errorcode[e.errno])
    return ends


def in_background(b, fn, *args):
    """Begins inside(fn) in a child; returns (wait for its byte, read its result)."""
    r, w = os.pipe()
    result = []

    def body():
        try:
            result.append(b.inside(fn, args[0], w, *args[1:]))
        except BaseException as e:  # pylint: disable=broad-except
            result.append(e)
    t = threading.Thread(target=body)
    t.start()

    def ready():
        assert os.read(r, 1) == b'h'

    def done():
        t.join()
        os.close(r)
        os.close(w)
        if isinstance(result[0], BaseException):
            raise result[0]
        return result[0]
    return ready, done


def test_policy_change(rig):
    b = rig.box('template public\nown list\nallow good.example\nallow other.example\n')
    ready, done = in_background(b, hold_and_wait, 'good.example', 3)
    ready()
    a = rig.net.front.policy(b.id, 'template public\nown list\nallow good.example\n')
    assert a.code == 0, a.text
    assert rig.net.front.stats(b.id)['connections'] == 3  # still allowed: still there
    assert b.inside(query, 'other.example') == (3, [])
    a = rig.net.front.policy(b.id, 'template list\nallow other.example\nown public\n')
    assert a.code == 0, a.text
    assert done() == ['ECONNRESET'] * 3
    assert 'the policy changed' in rig.has(b, verdict='ended').why
    a = rig.net.front.policy(b.id, 'template open\nown list\n')
    assert a.code == 1 and "'open'" in a.text, a.text
    assert b.inside(talk, 'other.example', 80, b'who') == '::ffff:' + OTHER  # a bad policy changes nothing


def timed_send(name, line, more=b''):
    began = time.monotonic()
    got = talk(name, 80, line, more)
    return len(got), time.monotonic() - began


def test_limits(rig):
    b = rig.box(LIST, wire.limits(down_s=1 << 20, up_s=1 << 19))
    size, took = b.inside(timed_send, 'good.example', b'send 2000000')
    assert size == 2000000 and took > 1.2, took  # a fifth of a second's worth comes at once
    size, took = b.inside(timed_send, 'good.example', b'count', b'u' * 1000000)
    assert took > 1.2, took
    few = rig.box(LIST, wire.limits(connections=2))
    ready, done = in_background(few, hold_and_wait, 'good.example', 2)
    ready()
    refused(few, rig, 'good.example', 80, 'more than 2 connections at once')
    rig.net.front.policy(few.id, 'template none\nown none\n')
    assert done() == ['ECONNRESET'] * 2
    slow = rig.box(LIST, wire.limits(connections_s=10))
    began = time.monotonic()
    assert slow.inside(lambda: [talk('good.example', 80, b'who') for _ in range(30)]) == [slow.inside(talk, 'good.example', 80, b'who')] * 30
    assert time.monotonic() - began > 0.9


def test_quota(rig):
    b = rig.box(LIST, wire.limits(total=1000000))
    ready, done = in_background(b, hold_and_wait, 'good.example', 1)
    ready()
    got = b.inside(talk, 'good.example', 80, b'send 5000000')
    assert got == 'ECONNRESET', got[:20]
    assert done() == ['ECONNRESET']  # the idle one too
    e = rig.has(b, kind='quota')
    assert 'quota' in e.why and e.up + e.down == 1000000, e
    assert any(e.verdict == 'ended' and e.why == 'quota' for e in rig.log(b))
    stats = rig.net.front.stats(b.id)
    assert stats['over'] == 1 and stats['up'] + stats['down'] == 1000000, stats
    assert b.inside(query, 'good.example')[0] == 5
    rig.net.front.policy(b.id, LIST, wire.limits(total=9000000))
    assert len(b.inside(talk, 'good.example', 80, b'send 5000000')) == 5000000


def flood_queries(count):
    codes = []
    for i in range(count):
        codes.append(query(f'x{i}.good.example')[0])
    return codes


def test_dns_rate(rig):
    b = rig.box('template public\nown list\nallow *.good.example\n', wire.limits(dns_s=1))
    codes = b.inside(flood_queries, 400)
    assert codes[:4] == [0] * 4 and codes.count(5) > 100, codes
    assert any('too many queries' in e.why for e in rig.log(b, kind='dns'))
    assert rig.net.front.stats(b.id)['queries'] == 400
    kept = rig.net.front.log(b.id)
    assert len(kept) <= 500


def silent_links(count):
    held = [dial('127.0.0.1', 53) for _ in range(count)]
    time.sleep(1)
    return len(held)


def test_no_descriptors(rig):
    """A listener whose connections cannot be accepted does not keep cay-net busy, and goes on when there are descriptors again."""
    net, b = Net(rig.resolv, files=24), Box('few-files')
    assert net.front.add(b.id, b.sockets, LIST, None).code == 0
    used = net.cpu_s()
    assert b.inside(silent_links, 20) == 20
    used = net.cpu_s() - used
    assert used < 0.3, used
    assert b.inside(query, 'good.example', 1, True)[0] == 0
    net.front.drop(b.id)
    b.close()
    net.close()


def open_idle(name, ready, count):
    host = address_of(name)
    held = []
    for _ in range(count):
        s = dial(host, 80)
        s.sendall(b'hold\n')
        held.append(s)
    for s in held:
        assert s.recv(4) == b'held'
    os.write(ready, b'h')
    ends = set()
    for s in held:
        try:
            s.recv(1)
        except OSError as e:
            ends.add(errno.errorcode[e.errno])
    return sorted(ends)


def test_many_idle(rig):
    b = rig.box(LIST, wire.limits(connections=1200, connections_s=5000))
    before, before_fds = rig.net.memory(), rig.net.descriptors()
    ready, done = in_background(b, open_idle, 'good.example', 1000)
    ready()
    wait_for(lambda: rig.net.descriptors() <= before_fds + 2000 + 2 * 64 + 8, 'pipes to be given back')
    grown = rig.net.memory() - before
    print(f'1,000 idle connections: {grown >> 10} KiB')
    assert sanitized or grown < 8 << 20, grown
    rig.gone(b)
    assert done() == ['ECONNRESET']
    wait_for(lambda: rig.net.descriptors() <= before_fds + 2 * 64, 'descriptors to be closed')


# --- attacks: how addresses are written, what is bound inside, floods ---

def spelled(text):
    """What a C library makes of an address in octal, decimal or shortened form."""
    return socket.inet_ntoa(socket.inet_aton(text))


def mapped(address, port):
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as s:
        s.settimeout(patience)
        try:
            s.connect(('::ffff:' + address, port))
            s.sendall(b'who\n')
            return read_all(s).decode()
        except OSError as e:
            return name_of(e)


def test_spelled_addresses(rig):
    judged, kernel = rig.box(PUBLIC_POLICY), rig.box(PUBLIC_POLICY, mode=7)
    for text, address in (('0251.0376.0251.0376', METADATA), ('2852039166', METADATA), ('0xa9fea9fe', METADATA), ('012.9.2313', PRIVATE)):
        assert spelled(text) == address
        assert judged.inside(talk, spelled(text), 80, b'who') == 'ECONNRESET'
        assert kernel.inside(talk, spelled(text), 80, b'who') == 'ECONNREFUSED'  # at once, by the kernel
        assert judged.inside(query, text)[0] in (0, 3)  # as a name: at the connect it leads nowhere
        assert judged.inside(talk_by_name, text, 80) == 'ECONNRESET'
    for address in (PRIVATE, METADATA):
        assert judged.inside(mapped, address, 80) == 'ECONNRESET'
        assert kernel.inside(mapped, address, 80) == 'ECONNREFUSED'
    assert judged.inside(mapped, PUBLIC, 80) == kernel.inside(mapped, PUBLIC, 80) == '::ffff:' + PUBLIC
    assert kernel.inside(talk, PUBLIC6, 80, b'who') == PUBLIC6
    told = {(e.address, e.port, e.why) for e in rig.log(kernel, verdict='refused')}
    assert told == {(a, 80, 'no rule allows this address: the kernel refused it') for a in (PRIVATE, METADATA)}, told
    refused(kernel, rig, HOST, 80, "the host's own")  # which ones these are the kernel's rules do not know


def talk_by_name(name, port):
    code, found = query(name)
    return talk(found[0], port, b'who') if code == 0 else 'ECONNRESET'


def bind_foreign(address, port):
    """A socket of the sandbox's own with somebody's address, which needs no right; then the address is asked."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND
        s.bind((address, port))
        s.listen(5)
        return talk(address, port, b'who')


def test_foreign_addresses_bound_inside(rig):
    b = rig.box(PUBLIC_POLICY)
    assert b.inside(bind_foreign, PUBLIC, 80) == '::ffff:' + PUBLIC  # the real one answered
    refused(b, rig, PRIVATE, 80, 'private')
    assert b.inside(bind_foreign, PRIVATE, 80) == 'ECONNRESET'


def talk_from(source, host, port):
    """From an address that is not the sandbox's own: IP_FREEBIND needs no right."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_IP, 15, 1)
        s.settimeout(5)
        try:
            s.bind((source, 0))
            s.connect((host, port))
            s.sendall(b'who\n')
            return read_all(s).decode()
        except OSError as e:
            return name_of(e)


def test_forged_requests(rig):
    """One sandbox cannot ask in another's name: who asks is told by the namespace that a connection comes from, not by anything in it."""
    good, evil = rig.box(LIST), rig.box('template public\nown list\nallow other.example:80\n')
    theirs = good.inside(address_of, 'good.example')
    assert good.inside(talk, theirs, 80, b'who')
    before, stats = len(rig.log(good)), rig.net.front.stats(good.id)
    refused(evil, rig, theirs, 80, 'stands for no name')  # an address that only the other one was told
    got = evil.inside(ask_proxy, '127.0.0.1', b'\5\1\0', b'\5\1\0\1' + socket.inet_aton(theirs) + b'\0\x50')
    assert got == b'\5\0\5\2\0\1' + bytes(6), got
    own = evil.inside(address_of, 'other.example')
    for source in ('192.0.2.2', '198.18.0.1', HOST, PUBLIC):  # its own; others'
        for host in (theirs, PUBLIC, PRIVATE):
            if host != own:
                assert not evil.inside(talk_from, source, host, 80).startswith(('::ffff:', '2606:')), (source, host)
    assert evil.inside(talk_from, '192.0.2.2', own, 80) == '::ffff:' + OTHER  # the layer is the table: its own name works
    assert len(rig.log(good)) == before and rig.net.front.stats(good.id) == stats  # nothing of it is the other's


def test_nothing_is_asked_by_a_query(rig):
    """A tunnel needs somebody outside who hears the names: queries alone reach nobody."""
    b = rig.box('template public\nown list\nallow *.rebind.example:80\n', wire.limits(dns_s=1000))
    for i in range(50):
        assert b.inside(query, f'secret-{i}.rebind.example')[0] == 0
    assert not [n for n in rig.internet.asked() if 'secret' in n]
    b.inside(talk, 'shown.rebind.example', 80, b'who')
    assert [n for n in rig.internet.asked() if 'shown' in n]  # by a connect it is: as often as there may be connections
    assert b.inside(query, 'x' * 64 + '.rebind.example')[0] in (1, 3)


def ten_thousand(name, count):
    host = address_of(name)
    held, seen = [], 0
    for _ in range(count):
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.setblocking(False)
        s.connect_ex((host, 80))
        held.append(s)
        seen += 1
        if len(held) > 400:
            held.pop(0).close()
    return seen


def test_ten_thousand(rig):
    b, other = rig.box(LIST, wire.limits(connections=300, connections_s=100000)), rig.box(LIST)
    before = rig.net.memory()
    assert b.inside(ten_thousand, 'good.example', 10000) == 10000
    assert other.inside(talk, 'good.example', 80, b'echo', b'alive') == 'alive'
    assert rig.net.front.stats(b.id)['connections'] <= 300
    assert sanitized or rig.net.memory() - before < 16 << 20
    wait_for(lambda: rig.net.front.stats(b.id)['connections'] == 0, 'the end of all')


def half_open(name, count):
    """Connections to 443 that say nothing; those over the limit are reset, some before the connect returns."""
    host = address_of(name)
    held = []
    for _ in range(count):
        try:
            held.append(dial(host, 443))
        except ConnectionResetError:
            pass
    return len(held)


def test_half_open_flood(rig):
    b = rig.box(LIST, wire.limits(connections=50, connections_s=2000))
    other = rig.box(LIST)
    assert b.inside(half_open, 'good.example', 500) >= 50
    assert other.inside(talk, 'good.example', 80, b'who')  # nobody else is held up
    wait_for(lambda: rig.net.front.stats(b.id)['connections'] == 0, 'closed ones to be let go')
    assert rig.net.front.stats(b.id)['refused'] >= 450


def test_front_dies(rig):
    b = rig.box(LIST)
    ready, done = in_background(b, hold_and_wait, 'good.example', 2)
    ready()
    known = rig.net.front.log(b.id)
    rig.net.front.sock.close()
    assert b.inside(talk, 'good.example', 80, b'echo', b'without a front') == 'without a front'
    rig.net.next_front()
    assert b.id in rig.net.front.list()
    assert rig.net.front.stats(b.id)['connections'] == 2
    now = rig.net.front.log(b.id)
    assert len(now) >= len(known) + 2 and now[-1].verdict == 'ended', now  # nothing of what happened meanwhile is lost
    assert [e.number for e in now] == list(range(1, len(now) + 1))
    rig.gone(b)
    assert done() == ['ECONNRESET'] * 2


def test_new_resolver(rig):
    b = rig.box(LIST)
    rig.set_resolver('8.8.4.77')  # nobody is there
    time.sleep(1.1)  # it is looked at once a second
    began = time.monotonic()
    assert b.inside(talk, 'good.example', 80, b'who') == 'ECONNRESET'
    assert rig.has(b, verdict='failed').name == 'good.example'
    print(f'a dead resolver is given up after {time.monotonic() - began:.1f} s')
    rig.set_resolver(PEER)
    time.sleep(1.1)
    assert b.inside(talk, 'good.example', 80, b'who')


def test_bad_requests(rig):
    front = rig.net.front
    b = rig.box(LIST)
    assert front.add(b.id, b.sockets, LIST).code == 3  # exists
    for i in range(6):  # not what they should be
        wrong = list(b.sockets)
        wrong[i] = b.sockets[(i + 1) % 4]
        assert front.add('box-x', wrong, LIST).code == 1, i
    assert front.add('box-x', b.sockets, 'nonsense\n').code == 1
    assert front.policy('box-x', LIST).code == 2
    assert front.drop('box-x').code == 2
    fd = os.memfd_create('open', os.MFD_ALLOW_SEALING)
    os.write(fd, LIST.encode())
    a = front.ask(wire.POLICY, b.id.encode().ljust(64, b'\0') + wire.limits(), [fd])
    os.close(fd)
    assert a.code == 1 and 'sealed' in a.text
    before = rig.net.descriptors()
    front.sock.send(b'x' * 144)  # not a message
    wait_for(lambda: hung_up(front), 'the end of the link')
    rig.net.next_front()
    assert b.inside(talk, 'good.example', 80, b'who')
    assert rig.net.descriptors() <= before + 4


def hung_up(front):
    try:
        front.read()
        return False
    except (EOFError, ConnectionResetError):
        return True


def test_confined(rig):
    with open(f'/proc/{rig.net.child.pid}/status', encoding='utf-8') as f:
        status = dict(line.split(':\t', 1) for line in f.read().splitlines() if ':\t' in line)
    assert status['Uid'].split() == ['4242'] * 4 and status['Gid'].split() == ['4242'] * 4
    assert status['Groups'].strip() == '' and status['CapEff'] == status['CapPrm'] == '0' * 16
    assert status['NoNewPrivs'] == '1' and (sanitized or status['Seccomp'] == '2')


def test_killed(rig):
    b = rig.box(LIST)
    ready, done = in_background(b, hold_and_wait, 'good.example', 150)
    ready()
    used = rig.net.front.stats(b.id)
    rig.net.child.kill()
    rig.net.child.wait()
    ends = done()
    assert ends == ['ECONNRESET'] * 150, ends
    rig.net.keeper.close()
    rig.net = Net(rig.resolv)
    a = rig.net.front.add(b.id, b.sockets, LIST, None, (used['up'], used['down'], used['log_next']))
    assert a.code == 0, a.text
    for other in rig.boxes:
        if other is not b:
            rig.net.front.add(other.id, other.sockets, LIST)
    assert b.inside(talk, 'good.example', 80, b'who')
    assert rig.net.front.log(b.id)[0].number == used['log_next']
    assert rig.net.front.stats(b.id)['down'] > used['down']


def netlink_says(fd, kind, body, as_id):
    """The kernel's answer (errno) to a message over that socket, sent by a child with this id."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(as_id, as_id, as_id)
        os.setresuid(as_id, as_id, as_id)
        s = socket.socket(fileno=os.dup(fd))
        s.setblocking(True)
        s.settimeout(20)
        s.send(struct.pack('=IHHII', 16 + len(body), kind, 5, 77, 0) + body)
        while True:
            got = s.recv(4096)
            if struct.unpack_from('=H', got, 4)[0] == 2:
                os.write(w, struct.pack('=i', -struct.unpack_from('=i', got, 16)[0]))
                os._exit(0)
    os.close(w)
    said = struct.unpack('=i', os.read(r, 4))[0]
    os.close(r)
    assert os.waitpid(pid, 0)[1] == 0
    return said


def test_kernel_refusals(rig):
    """What the kernel's rules refuse is in the log when the program has its ECONNREFUSED; a flood of it is bounded by the rules themselves."""
    b = rig.box(LIST, mode=1)
    for host in (PUBLIC, PUBLIC6, PRIVATE):
        assert b.inside(talk, host, 80, b'who') == 'ECONNREFUSED'
        assert [(e.kind, e.port) for e in rig.log(b, verdict='refused', address=host)] == [('tcp', 80)], host
    assert rig.net.front.stats(b.id)['refused'] == 3
    rig.net.front.stats(b.id)  # and all of it was pushed before the answer
    assert [e.address for e in rig.net.front.pushed[b.id]] == [PUBLIC, PUBLIC6, PRIVATE]
    # QUIC that falls back is no refusal of the host; what is allowed is none either.
    assert b.inside(send_udp, 'good.example', 443, b'quic') in ('ECONNREFUSED', 'EPERM')
    assert b.inside(talk_by_name, 'good.example', 80) in (PUBLIC, PUBLIC6)
    assert rig.net.front.stats(b.id)['refused'] == 3

    def flood():
        for i in range(5000):
            assert talk(PUBLIC, 1000 + i, b'x') == 'ECONNREFUSED'
    began = time.monotonic()
    b.inside(flood)
    flooded, lasted = rig.net.front.stats(b.id)['refused'] - 3, time.monotonic() - began
    assert 0 < flooded <= 51 + 10 * (lasted + 1), (flooded, lasted)
    # The socket is of no use for changing anything: that takes the right in the sandbox's namespace, which cay-net does not have.
    alone = Box('alone', 1)  # nobody else reads its answers
    config, unbind = 4 << 8 | 1, struct.pack('!BBH', 0, 0, 1) + struct.pack('=HHB3x', 5, 1, 2)
    flush = struct.pack('!BBH', 1, 0, 0)  # of all tables
    assert netlink_says(alone.sockets[6], config, unbind, 4242) == errno.EPERM
    assert netlink_says(alone.sockets[6], 10 << 8 | 2, flush, 4242) == errno.EPERM
    assert netlink_says(alone.sockets[6], config, unbind, 0) == 0  # the layer off: with the right it is obeyed
    alone.close()


def host_network():
    """All of the host's network configuration that a sandbox could have changed."""
    said = []
    for words in ('-details -oneline link', '-oneline addr', 'route show table all', '-6 route show table all', 'rule', '-6 rule', 'neigh show nud permanent'):
        said.append(subprocess.run(['ip', *words.split()], check=True, capture_output=True, text=True).stdout)
    for path in ('ip_tables_names', 'ip6_tables_names', 'netfilter/nf_log'):
        if os.path.exists('/proc/net/' + path):
            with open('/proc/net/' + path, encoding='utf-8') as f:
                said.append(f.read())
    for root, _, names in os.walk('/proc/sys/net'):
        for n in names:
            try:
                with open(os.path.join(root, n), encoding='utf-8') as f:
                    said.append(f'{root}/{n} {f.read()}')
            except (OSError, UnicodeDecodeError):
                pass
    if shutil.which('nft'):
        said.append(subprocess.run(['nft', 'list', 'ruleset'], check=False, capture_output=True, text=True).stdout)
    return said


def main():
    if not shutil.which('dnsmasq'):
        print('skipped: dnsmasq is not installed')
        sys.exit(77)
    wanted = [w for w in sys.argv[1:] if not w.startswith('--')]
    tests = [(n, f) for n, f in globals().items() if n.startswith('test_') and (not wanted or n[5:] in wanted)]
    rig = Rig()
    wait_for(lambda: 'state UP' in subprocess.run(['ip', 'link', 'show', 'up0'], check=True, capture_output=True, text=True).stdout,
             'the device to be up: the kernel says so a moment later')
    before = host_network()
    try:
        for name, fn in tests:
            began = time.monotonic()
            fn(rig)
            print(f'ok {name} ({time.monotonic() - began:.2f} s)', flush=True)
            for b in list(rig.boxes):
                rig.gone(b)
        changed = [pair for pair in zip(before, host_network()) if pair[0] != pair[1]]
        assert not changed, changed
        print('ok the host has the network configuration that it had')
    except BaseException:
        for b in rig.boxes:
            try:
                print(b.id, *rig.net.front.log(b.id), sep='\n  ')
            except BaseException:  # pylint: disable=broad-except
                break
        traceback.print_exc()
        rig.internet.close()
        rig.net.child.kill()
        os._exit(1)
    rig.close()


main()
