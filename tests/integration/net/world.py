# SPDX-License-Identifier: Apache-2.0
"""An internet in a namespace of its own, sandboxes' namespaces, and cay-net between them. Nothing leaves the test's namespaces."""
import multiprocessing
import os
import resource
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(__file__))
import wire  # noqa: E402

BUILD = os.environ['CAY_BUILD_DIR']
HOST, PEER = '8.8.4.1', '8.8.4.2'
PUBLIC, OTHER, PUBLIC6 = '93.184.216.34', '93.184.216.35', '2606:2800:21f::34'
PRIVATE, METADATA, DEAD = '10.9.9.9', '169.254.169.254', '93.184.216.99'
NAMES = f'''
host-record=good.example,{PUBLIC},{PUBLIC6}
host-record=other.example,{OTHER}
host-record=six.example,{PUBLIC6}
host-record=private.example,{PRIVATE}
host-record=metadata.example,{METADATA}
host-record=own.example,{HOST}
host-record=loop.example,127.0.0.1
host-record=mapped.example,::ffff:10.9.9.9
host-record=mixed.example,{PRIVATE}
host-record=mixed.example,{PUBLIC}
host-record=fallback.example,{DEAD}
host-record=fallback.example,{PUBLIC}
cname=alias.example,private.example
server=/rebind.example/{PEER}#5353
'''
patience = float(os.environ.get('CAY_TEST_PATIENCE', '60'))


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def wait_for(what, why):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if what():
            return
        time.sleep(0.01)
    raise AssertionError(f'waited in vain for {why}')


def serve_one(c):
    """A line says what is wanted: echo, send N, count, hold."""
    with c:
        head = b''
        while not head.endswith(b'\n'):
            b = c.recv(1)
            if not b:
                return
            head += b
        word, *rest = head.decode().split()
        if word == 'echo':
            while data := c.recv(65536):
                c.sendall(data)
        elif word == 'send':
            left, block = int(rest[0]), bytes(65536)
            while left > 0:
                left -= c.send(block[:min(left, len(block))])
        elif word == 'count':
            total = 0
            while data := c.recv(1 << 20):
                total += len(data)
            c.sendall(b'%d' % total)
        elif word == 'who':
            c.sendall(c.getsockname()[0].encode())
        elif word == 'hold':
            c.sendall(b'held')
            c.recv(1)


def serve_forever(listener, context=None):
    def one(c):
        try:
            if context:
                c = context.wrap_socket(c, server_side=True)
            serve_one(c)
        except OSError:
            pass
    while True:
        try:
            c, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=one, args=(c,), daemon=True).start()


def serve_datagrams():
    """Port 123: what came, in capitals, and who answers. `mute` gets no answer."""
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    s.bind(('::', 123))
    while True:
        data, control, _, who = s.recvmsg(65535, 256)
        if data != b'mute':
            info = [c for c in control if c[0] == socket.IPPROTO_IPV6 and c[1] == socket.IPV6_PKTINFO]
            s.sendmsg([data.upper()], info, 0, who)


def serve_rebinding(path):
    """The first answer is public, every further one private; both live for no time."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((PEER, 5353))
    asked = 0
    while True:
        q, who = s.recvfrom(512)
        with open(path, 'ab') as f:
            f.write(q[12:q.index(b'\0', 12)] + b'\n')
        end = q.index(b'\0', 12) + 5
        if struct.unpack('!H', q[end - 4:end - 2])[0] != 1:
            s.sendto(q[:2] + struct.pack('!HHHHH', 0x8180, 1, 0, 0, 0) + q[12:end], who)
            continue
        address = PUBLIC if asked == 0 else PRIVATE
        asked += 1
        s.sendto(q[:2] + struct.pack('!HHHHH', 0x8180, 1, 1, 0, 0) + q[12:end] +
                 struct.pack('!HHHIH', 0xc00c, 1, 1, 0, 4) + socket.inet_aton(address), who)


def make_certificate(folder):
    names = 'subjectAltName=DNS:good.example,DNS:other.example'
    run('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=good.example',
        '-addext', names, '-keyout', f'{folder}/key.pem', '-out', f'{folder}/cert.pem')


def listen_at(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('::', port))
    s.listen(4096)
    return s


class Internet:
    """A child in a namespace with addresses of all kinds and a DNS server. What is on its ports is the subclass's choice; here TLS on 443
    and a plain server on 80 and 8080."""
    names = NAMES

    def __init__(self, folder):
        self.folder = folder
        ready_r, ready_w = os.pipe()
        go_r, go_w = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(go_w)
                wire.unshare_net()
                os.write(ready_w, b'n')
                os.read(go_r, 1)
                self.main(ready_w)
            except BaseException:  # pylint: disable=broad-except
                traceback.print_exc()
            os._exit(1)
        os.close(ready_w)
        assert os.read(ready_r, 1) == b'n'
        run('ip', 'link', 'set', 'lo', 'up')
        run('ip', 'link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'up1', 'netns', str(self.pid))
        # No link-local address: the kernel adds it later, and the host's configuration would differ afterwards.
        run('ip', 'link', 'set', 'up0', 'addrgenmode', 'none')
        run('ip', 'addr', 'add', f'{HOST}/24', 'dev', 'up0')
        run('ip', 'addr', 'add', '2606:2800:21f:1::1/64', 'dev', 'up0', 'nodad')
        run('ip', 'link', 'set', 'up0', 'up')
        os.write(go_w, b'x')
        assert os.read(ready_r, 1) == b'r'
        run('ip', 'route', 'add', 'default', 'via', PEER)
        run('ip', '-6', 'route', 'add', 'default', 'via', '2606:2800:21f:1::2')
        self.dns = None

    def main(self, ready):
        run('ip', 'link', 'set', 'lo', 'up')
        run('ip', 'addr', 'add', f'{PEER}/24', 'dev', 'up1')
        run('ip', 'addr', 'add', '2606:2800:21f:1::2/64', 'dev', 'up1', 'nodad')
        run('ip', 'link', 'set', 'up1', 'up')
        for a in (PUBLIC, OTHER, PRIVATE, METADATA):
            run('ip', 'addr', 'add', f'{a}/32', 'dev', 'lo')
        run('ip', 'addr', 'add', f'{PUBLIC6}/128', 'dev', 'lo', 'nodad')
        with open(f'{self.folder}/dnsmasq.conf', 'w', encoding='utf-8') as f:
            f.write(self.names)
        os.chmod(self.folder, 0o755)
        subprocess.Popen(['dnsmasq', '--no-daemon', '--no-resolv', '--no-hosts', f'--conf-file={self.folder}/dnsmasq.conf', f'--listen-address={PEER}',
                          '--bind-interfaces', '--user=root', '--pid-file=', '--local=/example/', '--cache-size=0'],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: wire._libc.prctl(1, signal.SIGKILL))
        self.serve()
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        probe.settimeout(0.2)
        query = struct.pack('!HHHHHH', 7, 0x100, 1, 0, 0, 0) + b'\4good\7example\0' + struct.pack('!HH', 1, 1)
        while True:
            try:
                probe.sendto(query, (PEER, 53))
                probe.recv(512)
                break
            except OSError:
                time.sleep(0.05)
        os.write(ready, b'r')
        signal.pause()

    def serve(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f'{self.folder}/cert.pem', f'{self.folder}/key.pem')
        threading.Thread(target=serve_rebinding, args=(f'{self.folder}/asked',), daemon=True).start()
        threading.Thread(target=serve_datagrams, daemon=True).start()
        for port in (80, 8080, 443):
            s = listen_at(port)
            threading.Thread(target=serve_forever, args=(s, context if port == 443 else None), daemon=True).start()

    def asked(self):
        """What the server of rebind.example was asked for."""
        try:
            with open(f'{self.folder}/asked', 'rb') as f:
                return [line.decode('latin1') for line in f]
        except FileNotFoundError:
            return []

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Box:
    """A sandbox's namespace; `inside` runs a function in it, in a child, and returns what it returned."""

    def __init__(self, ident, mode=6):  # of foundation/sys/net_divert.h: all addresses, UDP too
        self.id = ident
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        os.set_inheritable(theirs.fileno(), True)
        self.child = subprocess.Popen([f'{BUILD}/tests/integration/net_box', str(theirs.fileno()), str(mode)], close_fds=False)
        theirs.close()
        self.link = ours
        _, self.sockets, _, _ = socket.recv_fds(ours, 1, 64)
        if len(self.sockets) != (39 if mode & 8 else 7):
            sys.exit(self.child.wait())

    def inside(self, fn, *args, **named):
        r, w = multiprocessing.Pipe(False)
        pid = os.fork()
        if pid == 0:
            try:
                os.close(self.link.fileno())
                for fd in self.sockets:
                    os.close(fd)
                wire.enter_net(self.child.pid)
                w.send(('ok', fn(*args, **named)))
            except BaseException as e:  # pylint: disable=broad-except
                traceback.print_exc()
                w.send(('failed', repr(e)))
            os._exit(0)
        w.close()
        try:
            how, value = r.recv()
        finally:
            os.waitpid(pid, 0)
        assert how == 'ok', value
        return value

    def forget_sockets(self):
        for fd in self.sockets:
            os.close(fd)
        self.sockets = []

    def close(self):
        self.forget_sockets()
        self.link.close()
        self.child.wait()


class Net:
    """cay-net itself, as a keeper starts it."""

    def __init__(self, resolv, keep=True, files=0, edge=False):
        front, front_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.keeper, keeper_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ends = (front_end.fileno(), keeper_end.fileno())

        def place():
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            a, b = os.dup(ends[0]), os.dup(ends[1])
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.closerange(5, 256)
        self.child = subprocess.Popen([f'{BUILD}/cay-net', '--keep', '--id', '4242', '--resolv-conf', resolv,
                                       *(['--edge', f'{BUILD}/cay-edge'] if edge else [])], preexec_fn=place, close_fds=False)
        front_end.close()
        keeper_end.close()
        self.front = wire.Front(front)
        self.front.hello()

    def next_front(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(self.keeper, [struct.pack('=IIII', 0x6361796b, 16, 1, 0)], [theirs.fileno()])
        theirs.close()
        self.front.sock.close()
        self.front = wire.Front(ours)
        self.front.hello()

    def memory(self):
        """Private memory in bytes."""
        with open(f'/proc/{self.child.pid}/smaps_rollup', encoding='utf-8') as f:
            return sum(int(line.split()[1]) for line in f if line.startswith('Private_')) * 1024

    def descriptors(self):
        return len(os.listdir(f'/proc/{self.child.pid}/fd'))

    def cpu_s(self):
        with open(f'/proc/{self.child.pid}/stat', encoding='utf-8') as f:
            words = f.read().rsplit(')', 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')

    def close(self):
        self.keeper.close()
        assert self.child.wait(60) == 0, 'cay-net did not end well'
        self.front.sock.close()
