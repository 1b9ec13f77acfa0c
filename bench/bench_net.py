#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cay-net against a direct way, in turns: connects over a veth pair, throughput beside a copy over loopback, memory of idle connections.
Ratios are what counts. Run by `make bench` below tests/isolated/run_isolated (CAY_BUILD_DIR, CAY_SOURCE_DIR)."""
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = os.path.join(os.environ['CAY_SOURCE_DIR'], 'tests', 'integration', 'net')
sys.path.insert(0, TESTS)
import wire  # noqa: E402
from world import PEER, PUBLIC, Box, Internet, Net, make_certificate  # noqa: E402

ROUNDS = int(os.environ.get('RUNS', '7'))
CONNECTS, BYTES = 200, 512 << 20
FETCH = '''import socket, sys, time
began, s = time.monotonic(), socket.create_connection((sys.argv[1], 80))
s.sendall(b"send %d\\n" % int(sys.argv[2]))
left, room = int(sys.argv[2]), bytearray(1 << 20)
while left > 0:
    n = s.recv_into(room)
    if n == 0:
        sys.exit("cut off")
    left -= n
print(time.monotonic() - began)
'''


def connects(host):
    """Seconds for a connection with one word each way."""
    began = time.monotonic()
    for _ in range(CONNECTS):
        with socket.create_connection((host, 80)) as s:
            s.sendall(b'who\n')
            while s.recv(100):
                pass
    return (time.monotonic() - began) / CONNECTS


def fetch(host):
    return float(subprocess.run([sys.executable, '-c', FETCH, host, str(BYTES)], check=True, capture_output=True).stdout)


def in_net(pid, fn, *args):
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        wire.enter_net(pid)
        os.write(w, repr(fn(*args)).encode())
        os._exit(0)
    os.close(w)
    got = os.read(r, 100)
    os.close(r)
    os.waitpid(child, 0)
    return float(got)


def hold(host, count, ready, go_on):
    held = []
    for _ in range(count):
        s = socket.create_connection((host, 80))
        s.sendall(b'hold\n')
        held.append(s)
    for s in held:
        s.recv(4)
    os.write(ready, b'r')
    os.read(go_on, 1)


def memory_of_idle(net, box, count):
    ready, go_on = os.pipe(), os.pipe()
    before = net.memory()
    child = os.fork()
    if child == 0:
        os.close(go_on[1])
        wire.enter_net(box.child.pid)
        hold(PUBLIC, count, ready[1], go_on[0])
        os._exit(0)
    os.close(ready[1])
    assert os.read(ready[0], 1) == b'r'
    grown = net.memory() - before
    os.close(go_on[1])
    os.waitpid(child, 0)
    return grown


def ratio(a, b):
    return statistics.median(x / y for x, y in zip(a, b))


def main():
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    make_certificate(folder)
    with open(f'{folder}/resolv.conf', 'w', encoding='utf-8') as f:
        f.write(f'nameserver {PEER}\n')
    internet = Internet(folder)
    net = Net(f'{folder}/resolv.conf')
    box = Box('bench')
    a = net.front.add('bench', box.sockets, 'template public\nown public\n', wire.limits(connections=2000, connections_s=1000000))
    assert a.code == 0, a.text
    rows = {'direct': [], 'cay-net': [], 'loopback': [], 'fetch': []}
    for _ in range(ROUNDS):
        rows['direct'].append(connects(PUBLIC))
        rows['cay-net'].append(in_net(box.child.pid, connects, PUBLIC))
        rows['loopback'].append(in_net(internet.pid, fetch, '127.0.0.1'))
        rows['fetch'].append(in_net(box.child.pid, fetch, PUBLIC))
    mid = statistics.median
    print(f'network, {ROUNDS} rounds in turns, medians')
    print(f'  connect and one word each way   direct {mid(rows["direct"]) * 1e6:.0f} us   cay-net {mid(rows["cay-net"]) * 1e6:.0f} us   '
          f'{ratio(rows["cay-net"], rows["direct"]):.2f} times (goal: 2 at most)')
    rate = {k: BYTES / mid(v) / 1e6 for k, v in rows.items() if v and k in ('loopback', 'fetch')}
    print(f'  bytes from the world            loopback {rate["loopback"]:.0f} MB/s   cay-net {rate["fetch"]:.0f} MB/s   '
          f'{ratio(rows["loopback"], rows["fetch"]):.2f} of it (goal: 0.6)')
    print(f'  1,000 idle connections          {memory_of_idle(net, box, 1000) / 1048576:.1f} MiB (goal: 8 at most)')
    net.front.drop('bench')
    box.close()
    net.close()
    internet.close()
    shutil.rmtree(folder)


main()
