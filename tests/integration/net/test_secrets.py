# SPDX-License-Identifier: Apache-2.0
"""Secrets at the edge: a placeholder becomes the secret in one header towards one host, and nowhere else, whatever the sandbox tries."""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
import wire  # noqa: E402
from servers import Noting as Handler, Server, make_ca  # noqa: E402
from world import BUILD, NAMES, OTHER, PEER, PUBLIC, Box, Internet, Net, listen_at, patience, wait_for  # noqa: E402

SEED = '5a' * 32
VALUE, MARK = 'sk-the-real-one', 'cay-secret-0123456789abcdef'
HOSTS = ('api.example', 'other.example')
LIST = 'template public\nown list\n' + ''.join(f'allow {h}:80,443\n' for h in (*HOSTS, 'wrong.example', 'name.example'))
SECRETS = f'ca {SEED}\nsecret api.example Authorization {MARK} {VALUE}\n' + ''.join(
    f'secret {h} Authorization {MARK} {VALUE}\n' for h in ('wrong.example', 'name.example'))


class Servers(Internet):
    names = NAMES + f'host-record=api.example,{PUBLIC}\nhost-record=wrong.example,{OTHER}\nhost-record=name.example,{PUBLIC}\n'

    def serve(self):
        Handler.log = f'{self.folder}/requests'

        def context(folder):
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.load_cert_chain(f'{folder}/cert.pem', f'{folder}/key.pem')
            return made
        contexts = {PUBLIC: context(self.folder), OTHER: context(f'{self.folder}/strange')}

        class Two(Server):
            def finish_request(self, request, client_address):
                self.context = contexts[PUBLIC]
                # other.example is at OTHER too, with a certificate of the same CA as the others.
                request.settimeout(patience)
                chosen = contexts[PUBLIC]
                if request.getsockname()[0].endswith(OTHER):
                    chosen = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    chosen.load_cert_chain(f'{folder}/strange/cert.pem', f'{folder}/strange/key.pem')

                    def by_name(sock, name, _):
                        if name == 'other.example':
                            sock.context = contexts[PUBLIC]
                    chosen.sni_callback = by_name
                self.RequestHandlerClass(chosen.wrap_socket(request, server_side=True), client_address, self)
        folder = self.folder
        server = Two(listen_at(443), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()


class Rig:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        make_ca(self.folder, HOSTS)
        os.mkdir(f'{self.folder}/strange')
        make_ca(f'{self.folder}/strange', ('wrong.example',))
        self.ca = f'{self.folder}/edge.pem'
        with open(self.ca, 'wb') as f:
            f.write(subprocess.run([f'{BUILD}/tests/integration/edge_ca', SEED], check=True, capture_output=True).stdout)
        # What a sandbox has: the host's certificates and the daemon's.
        with open(f'{self.folder}/bundle.pem', 'wb') as f:
            for name in ('ca.pem', 'edge.pem'):
                with open(f'{self.folder}/{name}', 'rb') as part:
                    f.write(part.read())
        with open(f'{self.folder}/resolv.conf', 'w', encoding='utf-8') as f:
            f.write(f'nameserver {PEER}\n')
        open(f'{self.folder}/requests', 'w', encoding='utf-8').close()
        self.internet = Servers(self.folder)
        self.net = self.start_net()
        self.made = 0

    def start_net(self):
        os.environ['SSL_CERT_FILE'] = f'{self.folder}/ca.pem'
        return Net(f'{self.folder}/resolv.conf', edge=True)

    def box(self, secrets=SECRETS):
        self.made += 1
        b = Box(f'box-{self.made}')
        assert self.net.front.add(b.id, b.sockets, LIST).code == 0
        a = self.net.front.secrets(b.id, secrets)
        assert a.code == 0, a.text
        return b

    def gone(self, b):
        self.net.front.drop(b.id)
        b.close()

    def requests(self):
        with open(f'{self.folder}/requests', encoding='utf-8') as f:
            return [json.loads(line) for line in f]

    def whys(self, b):
        return [e.why for e in self.net.front.log(b.id)]

    def close(self):
        self.net.close()
        self.internet.close()
        shutil.rmtree(self.folder)


# --- what runs inside ---

def address_of(name):
    with open('/dev/null', encoding='utf-8'):
        q = b'\0\7\1\0\0\1\0\0\0\0\0\0' + b''.join(bytes([len(p)]) + p.encode() for p in name.split('.')) + b'\0\0\1\0\1'
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(patience)
    s.sendto(q, ('127.0.0.1', 53))
    return socket.inet_ntoa(s.recv(512)[-4:])


def dial(name, bundle, alpn=('http/1.1',), server_name=None):
    context = ssl.create_default_context(cafile=bundle)
    context.set_alpn_protocols(list(alpn))
    s = socket.create_connection((address_of(name), 443), patience)
    return context.wrap_socket(s, server_hostname=server_name or name)


def ask(name, bundle, headers, body=None, method='GET', path='/', times=1):
    """Answers of `times` requests over one connection: (status, text)."""
    c = http.client.HTTPSConnection(name)
    c.sock = dial(name, bundle)
    found = []
    for _ in range(times):
        c.request(method, path, body=body, headers=headers, encode_chunked=isinstance(body, list))
        r = c.getresponse()
        found.append((r.status, r.read().decode()))
    return found


def raw(name, bundle, sent):
    """What came back until the end, for bytes that no client library would send."""
    got = b''
    with dial(name, bundle) as s:
        s.sendall(sent)
        try:
            while more := s.recv(65536):
                got += more
        except OSError:
            pass
    return got.decode('latin-1')


def fails(name, bundle, **more):
    try:
        dial(name, bundle, **more).close()
        return ''
    except OSError as e:
        return str(e)


def hold(name, bundle, count):
    """Connections at once; returns how many of them work."""
    opened = []
    for _ in range(count):
        try:
            opened.append(dial(name, bundle))
        except OSError:
            pass
    return len(opened)


# --- tests ---

def fields(answer):
    return {k.lower(): v for k, v in json.loads(answer)['headers']}


def test_replaced(rig):
    b = rig.box()
    bundle = f'{rig.folder}/bundle.pem'
    (status, first), (_, second) = b.inside(ask, 'api.example', bundle, {'authorization': f'Bearer {MARK}', 'X-Other': MARK, 'Cookie': 'a=b'}, None,
                                            'GET', f'/path?q={MARK}', 2)
    assert status == 200 and fields(first)['authorization'] == fields(second)['authorization'] == f'Bearer {VALUE}', first
    # Only in its own header.
    assert fields(first)['x-other'] == MARK and VALUE not in first.replace(f'Bearer {VALUE}', ''), first
    assert MARK in json.loads(first)['line']
    basic = base64.b64encode(f'user:{MARK}'.encode()).decode()
    (_, told), = b.inside(ask, 'api.example', bundle, {'Authorization': f'Basic {basic}'})
    assert base64.b64decode(fields(told)['authorization'].split()[1]).decode() == f'user:{VALUE}', told
    # A body is a body, whatever it looks like.
    fake = f'GET / HTTP/1.1\r\nHost: api.example\r\nAuthorization: {MARK}\r\n\r\n'
    for body in (fake.encode(), [fake.encode(), b'more']):
        more = {'Transfer-Encoding': 'chunked'} if isinstance(body, list) else {}
        (status, told), = b.inside(ask, 'api.example', bundle, {'Authorization': MARK, **more}, body, 'POST')
        assert status == 200 and fake in json.loads(told)['body'] and fields(told)['authorization'] == VALUE, told
    entries = rig.net.front.log(b.id)
    assert any(e.verdict == 'allowed' and e.name == 'api.example' and e.port == 443 for e in entries), entries
    assert VALUE not in repr(entries) and MARK not in repr(entries)
    rig.gone(b)


def test_elsewhere_it_is_worthless(rig):
    """At another host, from another sandbox, after an upgrade."""
    b = rig.box()
    bundle = f'{rig.folder}/bundle.pem'
    (status, told), = b.inside(ask, 'other.example', bundle, {'Authorization': MARK})
    assert status == 200 and fields(told)['authorization'] == MARK, told
    another = rig.box(SECRETS.replace(MARK, MARK[:-1] + 'x'))
    (status, told), = another.inside(ask, 'api.example', bundle, {'Authorization': MARK})
    assert status == 200 and fields(told)['authorization'] == MARK, told
    none = rig.box('')
    (status, told), = none.inside(ask, 'api.example', bundle, {'Authorization': MARK})
    assert status == 200 and fields(told)['authorization'] == MARK, told
    head = 'GET / HTTP/1.1\r\nHost: api.example\r\n'
    told = b.inside(raw, 'api.example', bundle, (head + 'Connection: upgrade\r\nUpgrade: x\r\n\r\n' + head + f'Authorization: {MARK}\r\nConnection: close'
                                                 '\r\n\r\n').encode())
    assert VALUE not in told and MARK in told, told
    for box in (b, another, none):
        rig.gone(box)


def test_host_must_be_the_host(rig):
    b = rig.box()
    bundle = f'{rig.folder}/bundle.pem'
    before = len(rig.requests())
    for sent in (f'GET / HTTP/1.1\r\nHost: other.example\r\nAuthorization: {MARK}\r\n\r\n',
                 f'GET https://other.example/ HTTP/1.1\r\nHost: api.example\r\nAuthorization: {MARK}\r\n\r\n',
                 f'GET //other.example@ HTTP/1.0\r\nAuthorization: {MARK}\r\n\r\n',
                 f'GET / HTTP/1.1\r\nHost: api.example:8443\r\nAuthorization: {MARK}\r\n\r\n'):
        told = b.inside(raw, 'api.example', bundle, sent.encode())
        assert told.startswith('HTTP/1.1 4') and VALUE not in told, (sent, told)
    # The server name must be the name that was looked up, as everywhere.
    assert b.inside(fails, 'other.example', bundle, ) == ''
    assert b.inside(dial_as, 'other.example', bundle, 'api.example') != ''
    assert len(rig.requests()) == before
    assert any('another host' in w for w in rig.whys(b)), rig.whys(b)
    rig.gone(b)


def dial_as(name, bundle, server_name):
    return fails(name, bundle, server_name=server_name)


def test_smuggling(rig):
    """Requests that two readers could see differently never leave."""
    b = rig.box()
    bundle = f'{rig.folder}/bundle.pem'
    before = len(rig.requests())
    head = f'POST / HTTP/1.1\r\nHost: api.example\r\nAuthorization: {MARK}\r\n'
    inner = f'GET /inner HTTP/1.1\r\nHost: api.example\r\nAuthorization: {MARK}\r\n\r\n'
    for sent in (head + f'Content-Length: {len(inner)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' + inner,
                 head + 'Content-Length: 0\r\nContent-Length: 5\r\n\r\n' + inner,
                 head + 'Content-Length: +5\r\n\r\n' + inner,
                 head + 'Transfer-Encoding: xchunked\r\n\r\n' + inner,
                 head + 'Transfer-Encoding : chunked\r\n\r\n' + inner,
                 head + 'X: a\r\n folded\r\n\r\n',
                 head + 'X: a\rY: b\r\n\r\n',
                 head.replace('\r\n', '\n') + '\n',
                 head + 'Host: other.example\r\n\r\n',
                 head.replace('POST /', 'POST / HTTP/1.1\nX:') + '\r\n',
                 'TRACE / HTTP/1.1\r\nHost: api.example\r\n\r\n',
                 'CONNECT other.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n',
                 head + 'X: ' + 'y' * 70000 + '\r\n\r\n',
                 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
                 '\0' * 100 + '\r\n\r\n'):
        told = b.inside(raw, 'api.example', bundle, sent.encode())
        assert told.startswith('HTTP/1.1 4') or told.startswith('HTTP/1.1 5') or told == '', (sent[:200], told)
        assert VALUE not in told
    # Malformed chunks: the head was passed on, what follows never is.
    told = b.inside(raw, 'api.example', bundle, (head + f'Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nabcde\r\n0\r\n\r\n{inner}').encode())
    assert VALUE not in told
    wait_for(lambda: any('no plain HTTP' in w for w in rig.whys(b)), 'the log')
    assert len(rig.requests()) == before, rig.requests()[before:]
    # Two requests at once are two requests, each with its own header.
    told = b.inside(raw, 'api.example', bundle, (inner + inner.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')).encode())
    assert told.count('HTTP/1.1 200') == 2, told
    rig.gone(b)


def test_wrong_certificates(rig):
    b = rig.box()
    bundle = f'{rig.folder}/bundle.pem'
    before = len(rig.requests())
    for name, text in (('wrong.example', 'signed by nobody'), ('name.example', 'for another name')):
        (status, told), = b.inside(ask, name, bundle, {'Authorization': MARK})
        assert status == 502 and text in told and VALUE not in told, told
        wait_for(lambda text=text: any(text in w for w in rig.whys(b)), f'{text} in {rig.whys(b)}')
    assert len(rig.requests()) == before
    # Who does not trust the daemon's authority gets nothing, and the log says why.
    assert 'certificate verify failed' in b.inside(fails, 'api.example', f'{rig.folder}/ca.pem')
    wait_for(lambda: any('does not trust' in w for w in rig.whys(b)), rig.whys(b))
    # HTTP/2 alone is not spoken.
    assert b.inside(only_h2, bundle) != ''
    rig.gone(b)


def only_h2(bundle):
    return fails('api.example', bundle, alpn=('h2',))


def test_changes(rig):
    b = rig.box()
    bundle = f'{rig.folder}/bundle.pem'
    (_, told), = b.inside(ask, 'api.example', bundle, {'Authorization': MARK})
    assert fields(told)['authorization'] == VALUE
    assert rig.net.front.secrets(b.id, SECRETS.replace(VALUE, 'second')).code == 0
    (_, told), = b.inside(ask, 'api.example', bundle, {'Authorization': MARK})
    assert fields(told)['authorization'] == 'second'
    for bad in ('secret api.example A p v\n', f'ca {SEED[1:]}\n', f'ca {SEED}\nsecret api.example Host {MARK} v\n', f'ca {SEED}\nsecret a b c\n',
                f'ca {SEED}\nsecret api.example A {MARK} a\tb\n', f'ca {SEED}\nsecret 10.0.0.1/8 A {MARK} b\n'):
        a = rig.net.front.secrets(b.id, bad)
        assert a.code != 0, bad
    assert rig.net.front.secrets('nobody', '').code != 0
    rig.gone(b)


def burst(name, bundle, count):
    """All at once: how many were answered."""
    done = []

    def one():
        try:
            done.append(ask(name, bundle, {'Authorization': MARK})[0][0])
        except OSError:
            pass
    threads = [threading.Thread(target=one) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return done.count(200)


def test_burst(rig):
    b = rig.box()
    assert b.inside(burst, 'api.example', f'{rig.folder}/bundle.pem', 30) == 30, rig.whys(b)
    wait_for(lambda: processes(rig) == 1, 'the processes to end')
    rig.gone(b)


def test_limit(rig):
    """A sandbox has at most 32 of these connections at once; their processes end with them."""
    b = rig.box()
    assert b.inside(hold, 'api.example', f'{rig.folder}/bundle.pem', 40) == 32
    assert any('limit: too many connections with secrets' in w for w in rig.whys(b)), rig.whys(b)
    wait_for(lambda: processes(rig) == 1, 'the processes to end')
    (status, _), = b.inside(ask, 'api.example', f'{rig.folder}/bundle.pem', {'Authorization': MARK})
    assert status == 200
    rig.gone(b)


def edge_pid(rig):
    with open(f'/proc/{rig.net.child.pid}/task/{rig.net.child.pid}/children', encoding='utf-8') as f:
        return int(f.read().split()[0])


def processes(rig):
    pid = edge_pid(rig)
    with open(f'/proc/{pid}/task/{pid}/children', encoding='utf-8') as f:
        return 1 + len(f.read().split())


def test_confined(rig):
    pid = edge_pid(rig)
    with open(f'/proc/{pid}/status', encoding='utf-8') as f:
        status = dict(line.split(':', 1) for line in f)
    assert status['Uid'].split() == ['4242'] * 4 and int(status['CapEff'], 16) == 0 and int(status['NoNewPrivs']) == 1, status
    if '--sanitized' not in sys.argv:
        assert int(status['Seccomp']) == 2, status
    kinds = [os.readlink(f'/proc/{pid}/fd/{n}').split(':')[0] for n in os.listdir(f'/proc/{pid}/fd') if int(n) > 2]
    assert kinds == ['socket'], kinds  # the link to cay-net alone
    with open(f'/proc/{pid}/cmdline', 'rb') as f:
        assert VALUE.encode() not in f.read()


def test_cay_edge_dies(rig):
    """Then cay-net ends too; whoever started both starts both."""
    os.kill(edge_pid(rig), signal.SIGKILL)
    assert rig.net.child.wait(patience) == 0
    rig.net.keeper.close()
    rig.net.front.sock.close()
    rig.net = rig.start_net()
    b = rig.box()
    (status, told), = b.inside(ask, 'api.example', f'{rig.folder}/bundle.pem', {'Authorization': MARK})
    assert status == 200 and fields(told)['authorization'] == VALUE
    rig.gone(b)


def main():
    wire.unshare_net()
    rig = Rig()
    try:
        for name, test in list(globals().items()):
            if name.startswith('test_') and (len(sys.argv) < 2 or sys.argv[1] == '--sanitized' or name in sys.argv[1:]):
                began = time.monotonic()
                test(rig)
                print(f'ok {name} ({time.monotonic() - began:.2f} s)', flush=True)
    finally:
        rig.close()


main()
