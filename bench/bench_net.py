#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cay-net against a direct way and against pasta (Debian's passt), in turns: connects over a veth pair, throughput beside a copy over loopback (from
the same server, at an address of loopback that a rule names, and from one behind a veth pair), memory of idle connections, and what a policy
adds to the creation of a sandbox. Both ends are C (net_peer.c). Ratios are what counts. Run by `make bench` below
tests/isolated/run_isolated (CAY_BUILD_DIR, CAY_SOURCE_DIR)."""
import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = os.path.join(os.environ['CAY_SOURCE_DIR'], 'tests', 'integration')
sys.path[:0] = [os.path.join(TESTS, 'net'), os.path.join(TESTS, 'serve')]
import wire  # noqa: E402
from world import BUILD, PEER, PUBLIC, Box, Internet, Net, run  # noqa: E402
from daemon import Daemon  # noqa: E402

ROUNDS = int(os.environ.get('RUNS', '7'))
CONNECTS, BYTES, STARTS, CREATES = 500, 1 << 30, 20, 20
PEER_PROGRAM, PORT = f'{BUILD}/bench/net_peer', '80'
NEAR, NEAR_PORT = '10.77.0.1', '81'  # of this host: as near as the client of a direct copy has it


def serve(port):
    server = subprocess.Popen([PEER_PROGRAM, 'serve', port], stdout=subprocess.PIPE, preexec_fn=lambda: wire._libc.prctl(1, 9))
    assert server.stdout.readline() == b'listening\n'
    return server


class Servers(Internet):
    def serve(self):
        serve(PORT)


def peer(pid, *words):
    """Runs it in that process's network namespace (None: in ours); the number that it prints."""
    place = (lambda: wire.enter_net(pid)) if pid else None
    done = subprocess.run([PEER_PROGRAM, *map(str, words)], check=True, capture_output=True, preexec_fn=place, timeout=60)
    return float(done.stdout)


class Pasta:
    """The same by pasta, in a namespace of its own, as an ordinary user: as root, the version of Debian 12 waits for ever for a child that may not
    write its user map. That user cannot open /dev/net/tun everywhere, so this process has one of its own there, in its own mount namespace."""
    USER, GROUP = 4321, 4321
    OPTIONS = '--config-net -4 --no-map-gw --tcp-ports none --udp-ports none --tcp-ns none --udp-ns none'.split()

    def __init__(self, folder):
        self.program = shutil.copy(PEER_PROGRAM, folder)  # where any user can run it
        self.is_mounted = False
        self.missing = self.why_not(folder)

    def why_not(self, folder):
        if not shutil.which('pasta'):
            return 'pasta is not installed (package passt)'
        devices = f'{folder}/dev-net'
        os.mkdir(devices)
        os.mknod(f'{devices}/tun', 0o20666, os.makedev(10, 200))
        os.chmod(f'{devices}/tun', 0o666)
        self.is_mounted = os.path.isdir('/dev/net') and ctypes.CDLL(None).mount(devices.encode(), b'/dev/net', None, 4096, None) == 0  # MS_BIND
        if not self.is_mounted:
            return 'there is no /dev/net'
        try:
            self.peer('connects', PUBLIC, PORT, 1)
        except (subprocess.SubprocessError, OSError, ValueError) as e:
            return f'it does not work here ({e})'
        return ''

    def close(self):
        if self.is_mounted:
            ctypes.CDLL(None).umount2(b'/dev/net', 2)  # MNT_DETACH

    def peer(self, *words):
        as_user = ['setpriv', '--reuid', str(self.USER), '--regid', str(self.GROUP), '--clear-groups']
        with subprocess.Popen([*as_user, 'pasta', *self.OPTIONS, '--', self.program, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, cwd='/') as p:
            try:
                return float(p.communicate(timeout=60)[0])
            except subprocess.TimeoutExpired:
                p.kill()
                raise


def memory_of_idle(net, box, count):
    before = net.memory()
    with subprocess.Popen([PEER_PROGRAM, 'hold', PUBLIC, PORT, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          preexec_fn=lambda: wire.enter_net(box.child.pid)) as holder:
        assert holder.stdout.readline() == b'held\n'
        grown = net.memory() - before
        holder.stdin.close()
    return grown


def note(row, value):
    """For the report at the end of `make bench` (goals.def)."""
    if os.environ.get('CAY_BENCH_RESULTS'):
        with open(os.environ['CAY_BENCH_RESULTS'], 'a', encoding='utf-8') as f:
            f.write(f'net_{row} {value:.6g}\n')


def ratio(a, b):
    return statistics.median(x / y for x, y in zip(a, b))


def bytes_and_connects():
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    with open(f'{folder}/resolv.conf', 'w', encoding='utf-8') as f:
        f.write(f'nameserver {PEER}\n')
    internet = Servers(folder)
    net = Net(f'{folder}/resolv.conf')
    box = Box('bench')
    run('ip', 'addr', 'add', f'{NEAR}/32', 'dev', 'lo')
    near = serve(NEAR_PORT)
    rules = f'public\nallow {NEAR}:{NEAR_PORT}\n'
    a = net.front.add('bench', box.sockets, f'template {rules}own {rules}', wire.limits(connections=2000, connections_s=1000000))
    assert a.code == 0, a.text
    pasta = Pasta(folder)
    rows = {name: [] for name in ('direct', 'connect', 'loopback', 'near', 'veth', 'fetch', 'pasta connect', 'pasta fetch')}
    for _ in range(ROUNDS):
        rows['direct'].append(peer(None, 'connects', PUBLIC, PORT, CONNECTS))
        rows['connect'].append(peer(box.child.pid, 'connects', PUBLIC, PORT, CONNECTS))
        rows['loopback'].append(peer(None, 'fetch', NEAR, NEAR_PORT, BYTES))
        rows['near'].append(peer(box.child.pid, 'fetch', NEAR, NEAR_PORT, BYTES))
        rows['veth'].append(peer(None, 'fetch', PUBLIC, PORT, BYTES))
        rows['fetch'].append(peer(box.child.pid, 'fetch', PUBLIC, PORT, BYTES))
        if not pasta.missing:
            rows['pasta connect'].append(pasta.peer('connects', PUBLIC, PORT, CONNECTS))
            rows['pasta fetch'].append(pasta.peer('fetch', PUBLIC, PORT, BYTES))
    mid = {k: statistics.median(v) for k, v in rows.items() if v}
    rate = {k: BYTES / mid[k] / 1e6 for k in ('loopback', 'near', 'veth', 'fetch')}
    print(f'network, {ROUNDS} rounds in turns, medians; both ends in C')
    print(f'  connect, a byte each way   direct {mid["direct"] * 1e6:.0f} us   cay-net {mid["connect"] * 1e6:.0f} us   '
          f'{ratio(rows["connect"], rows["direct"]):.2f} times (goal: 2 at most)')
    print(f'  bytes from this host       loopback {rate["loopback"]:.0f} MB/s   cay-net {rate["near"]:.0f} MB/s   '
          f'{ratio(rows["loopback"], rows["near"]):.2f} of loopback (goal: 0.6)')
    print(f'  bytes over a veth pair     direct {rate["veth"]:.0f} MB/s   cay-net {rate["fetch"]:.0f} MB/s   '
          f'{ratio(rows["veth"], rows["fetch"]):.2f} of direct, {ratio(rows["loopback"], rows["fetch"]):.2f} of loopback')
    if pasta.missing:
        print(f'  beside pasta               not measured: {pasta.missing}')
    else:
        print(f'  pasta, over a veth pair    connect {mid["pasta connect"] * 1e6:.0f} us, {ratio(rows["pasta connect"], rows["direct"]):.2f} times a direct one   '
              f'bytes {BYTES / mid["pasta fetch"] / 1e6:.0f} MB/s; cay-net {ratio(rows["pasta fetch"], rows["fetch"]):.2f} times that (goal: 1)')
        note('pasta', ratio(rows['pasta fetch'], rows['fetch']))
    idle = memory_of_idle(net, box, 1000) / 1048576
    print(f'  1,000 idle connections     {idle:.1f} MiB in cay-net (goal: 8 at most)', flush=True)
    note('connect', ratio(rows['connect'], rows['direct']))
    note('bytes', ratio(rows['loopback'], rows['near']))
    note('idle', idle)
    pasta.close()
    near.kill()
    near.wait()
    net.front.drop('bench')
    box.close()
    net.close()
    internet.close()
    shutil.rmtree(folder)


def starts():
    """`cay run -- true` with a policy and without."""
    rows = {'without': [], 'with': []}
    for _ in range(ROUNDS):
        rows['without'].append(peer(None, 'run', STARTS, f'{BUILD}/cay', 'run', '--', '/bin/true'))
        rows['with'].append(peer(None, 'run', STARTS, f'{BUILD}/cay', 'run', '--allow', 'pypi.org', '--', '/bin/true'))
    print(f'  cay run -- true            without {statistics.median(rows["without"]) * 1e3:.1f} ms   with a policy '
          f'{statistics.median(rows["with"]) * 1e3:.1f} ms   {ratio(rows["with"], rows["without"]):.2f} times (goal: 1.15 at most)', flush=True)
    note('run', ratio(rows['with'], rows['without']))


def creates():
    """A sandbox of a daemon, over its port, with a policy and without."""
    rows = {'without': [], 'with': []}
    with Daemon('--max-sandboxes', '64') as d:
        token = d.make_token('--scope', 'admin')
        for _ in range(ROUNDS):
            for name, fields in (('without', {}), ('with', {'allow': ['pypi.org', '*.pythonhosted.org']})):
                times = []
                for _ in range(CREATES):
                    began = time.monotonic()
                    made = d.must(201, 'POST', '/api/sandboxes', {'limits': {'memory': '64m'}, **fields}, token=token)
                    times.append(time.monotonic() - began)
                    d.must(200, 'DELETE', f'/api/sandboxes/{made["sandbox_id"]}', token=token)
                rows[name].append(statistics.median(times))
    print(f'  create in the daemon       without {statistics.median(rows["without"]) * 1e3:.1f} ms   with a policy '
          f'{statistics.median(rows["with"]) * 1e3:.1f} ms   {ratio(rows["with"], rows["without"]):.2f} times (goal: 1.15 at most)', flush=True)
    note('create', ratio(rows['with'], rows['without']))


def main():
    parts = {'bytes': bytes_and_connects, 'starts': starts, 'creates': creates}
    for name in sys.argv[1:] or parts:
        parts[name]()


main()
