#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Desktops in sandboxes against the same by hand, in turns: the start of Xvnc alone and with its windows (by the script that sandboxes run), and a
screenshot against a client of RFB in Python that fetches the screen and compresses it. Ratios are what counts. Run by `make bench` below
tests/isolated/run_isolated (CAY_BUILD_DIR, CAY_SOURCE_DIR)."""
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
import zlib

SOURCE = os.environ['CAY_SOURCE_DIR']
sys.path[:0] = [os.path.join(SOURCE, 'tests', 'integration', 'serve')]
from daemon import Daemon  # noqa: E402

ROUNDS = int(os.environ.get('RUNS', '7'))
SHOTS = 5
SCRIPT = os.path.join(SOURCE, 'src', 'domain', 'desktop', 'desktop.sh')
BARE = ('mkdir -p /tmp/.cay-desktop; exec Xtigervnc :1 -geometry 1280x800 -depth 24 -rfbport -1 -rfbunixpath /tmp/.cay-desktop/vnc.sock '
        '-SecurityTypes None -AlwaysShared -nolisten tcp -noreset -quiet -br -extension GLX')
PATIENCE_S = 60


def banner(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE_S)
        s.connect(path)
        return s.recv(12) == b'RFB 003.008\n'


class ByHand:
    """In a mount namespace of its own, for a /tmp of its own, and a process namespace, so that all of it ends."""

    def __init__(self, command):
        self.child = subprocess.Popen(['unshare', '--mount', '--net', '--ipc', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c',
                                       f'mount -t tmpfs none /tmp && cd /tmp && {command}'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                inside = int(open(f'/proc/{self.child.pid}/task/{self.child.pid}/children').read().split()[0])
                self.path = f'/proc/{inside}/root/tmp/.cay-desktop/vnc.sock'
                if banner(self.path):
                    return
            except (OSError, IndexError):
                time.sleep(0.002)
        raise AssertionError('no desktop by hand')

    def end(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait(PATIENCE_S)


def picture(path):
    """The whole screen, uncompressed, as a PNG without a filter."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE_S)
        s.connect(path)
        f = s.makefile('rwb', buffering=1 << 16)

        def say(data):
            f.write(data)
            f.flush()

        f.read(12)
        say(b'RFB 003.008\n')
        f.read(f.read(1)[0])
        say(b'\1')
        f.read(4)
        say(b'\1')
        width, height = struct.unpack('>HH', f.read(4))
        f.read(16)
        f.read(struct.unpack('>I', f.read(4))[0])
        say(struct.pack('>BxHi', 2, 1, 0) + struct.pack('>BBHHHH', 3, 0, 0, 0, width, height))
        screen, seen = bytearray(width * height * 4), 0
        while seen < width * height:
            kind = f.read(1)[0]
            assert kind == 0, kind
            for _ in range(struct.unpack('>xH', f.read(3))[0]):
                x, y, w, h, encoding = struct.unpack('>HHHHi', f.read(12))
                assert encoding == 0
                data = f.read(w * h * 4)
                for row in range(h):
                    at = ((y + row) * width + x) * 4
                    screen[at:at + w * 4] = data[row * w * 4:(row + 1) * w * 4]
                seen += w * h
    rgb = bytearray(width * height * 3)
    rgb[0::3], rgb[1::3], rgb[2::3] = screen[2::4], screen[1::4], screen[0::4]
    rows = b''.join(b'\0' + rgb[y * width * 3:(y + 1) * width * 3] for y in range(height))
    return zlib.compress(rows, 1)


def timed(what):
    began = time.monotonic()
    got = what()
    return time.monotonic() - began, got


def ratio(a, b):
    return statistics.median(x / y for x, y in zip(a, b))


def note(name, value):
    """For the report at the end of `make bench` (goals.def)."""
    if os.environ.get('CAY_BENCH_RESULTS'):
        with open(os.environ['CAY_BENCH_RESULTS'], 'a', encoding='utf-8') as f:
            f.write(f'desktop_{name} {value:.6g}\n')


def row(name, hand, cay):
    print(f'  {name:42} by hand {statistics.median(hand) * 1e3:6.1f} ms   in a sandbox {statistics.median(cay) * 1e3:6.1f} ms   '
          f'{ratio(cay, hand):.2f} times', flush=True)


def main():
    for program in ('Xtigervnc', 'openbox', 'xterm'):
        if not shutil.which(program):
            print(f'skipped: {program} is not installed')
            sys.exit(77)
    rows = {name: [] for name in ('bare', 'script', 'start', 'new', 'hand', 'full', 'half')}
    with Daemon() as d:
        for _ in range(ROUNDS):
            taken, bare = timed(lambda: ByHand(BARE))
            rows['bare'].append(taken)
            bare.end()
            taken, hand = timed(lambda: ByHand(f'sh {SCRIPT} 1280x800'))
            rows['script'].append(taken)
            box = d.make(memory_limit='512m', timeout='10m')
            at = f'/api/sandboxes/{box}'
            rows['start'].append(timed(lambda: d.must(201, 'POST', f'{at}/desktop', {}))[0])
            time.sleep(0.3)  # both terminals have drawn
            for _ in range(SHOTS):
                rows['hand'].append(timed(lambda: picture(hand.path))[0])
                for name, scale in (('full', 1), ('half', 0.5)):
                    taken, answer = timed(lambda: d.ask('POST', f'{at}/computer/screenshot', {'scale': scale}))
                    assert answer.status == 200 and answer.body[:4] == b'\x89PNG'
                    rows[name].append(taken)
            hand.end()
            d.must(200, 'DELETE', at)

            def make():
                new = d.make(memory_limit='512m', timeout='10m')
                d.must(201, 'POST', f'/api/sandboxes/{new}/desktop', {})
                return new

            taken, box = timed(make)
            rows['new'].append(taken)
            d.must(200, 'DELETE', f'/api/sandboxes/{box}')
    row('a desktop, against Xvnc alone', rows['bare'], rows['start'])
    row('a desktop, against the same script', rows['script'], rows['start'])
    row('a sandbox with a desktop, the same script', rows['script'], rows['new'])
    row('a screenshot', rows['hand'], rows['full'])
    row('a screenshot at half the size', rows['hand'], rows['half'])
    note('start', ratio(rows['start'], rows['script']))
    note('shot', ratio(rows['full'], rows['hand']))


main()
