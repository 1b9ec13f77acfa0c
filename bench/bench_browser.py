#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Browsers in new sandboxes against the same Chromium by hand, in turns: until the first answer on the control channel, until there is a tab, and until
the first screenshot; in a sandbox that is made, and in one whose box was made ahead. By hand it has the same flags, a profile of its own and a pipe.
Ratios are what counts, of time and of processor time. Run by `make bench` below tests/isolated/run_isolated (CAY_BUILD_DIR, CAY_SOURCE_DIR)."""
import base64
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ['CAY_SOURCE_DIR']
sys.path[:0] = [os.path.join(SOURCE, 'tests', 'integration', 'serve')]
from daemon import Daemon  # noqa: E402
from registry_file import Registry  # noqa: E402
from ws_client import WebSocket  # noqa: E402

ROUNDS = int(os.environ.get('RUNS', '7'))
PROGRAM = '/usr/lib/chromium/chromium-headless-shell'
PATIENCE_S = 60
# The built-in template, and the same with boxes made ahead.
TEMPLATE = """
  %s:
    host: true
    interpreter: [/bin/sh, -s]
    requires: ["/usr/lib/chromium/chromium-headless-shell|/usr/lib/chromium/chromium"]
    security: {font_cache: true}
    resources: {memory: 1g, pids: 512, cpus: 2, disk: 1g}
"""
REGISTRY = 'containers:' + TEMPLATE % 'browser' + TEMPLATE % 'ready' + '    pool: 2\n'


def flags():
    """Those that a sandbox's browser is started with: domain/browser/launch.c."""
    with open(os.path.join(SOURCE, 'src', 'domain', 'browser', 'launch.c'), encoding='utf-8') as f:
        fixed = re.search(r'fixed\[\] = \{(.*?)\};', f.read(), re.S).group(1)
    return re.findall(r'"(--[^"]+)"', fixed) + ['--window-size=1280,800']


class ByHand:
    def __init__(self, folder):
        self.profile = tempfile.mkdtemp(dir=folder)
        ours, theirs = os.pipe(), os.pipe()  # to it, from it
        self.began = time.monotonic()
        # Its descriptors 3 and 4; the shell costs a millisecond of what it takes.
        command = ['sh', '-c', f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}', 'sh', PROGRAM, *flags(), f'--user-data-dir={self.profile}', 'about:blank']
        self.child = subprocess.Popen(command, pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.of, self.last, self.rest = ours[1], theirs[0], 0, b''

    def since(self):
        return time.monotonic() - self.began

    def call(self, method, params=None, session=None):
        self.last += 1
        os.write(self.to, json.dumps({'id': self.last, 'method': method, 'params': params or {}, **({'sessionId': session} if session else {})}).encode() + b'\0')
        while True:
            while b'\0' not in self.rest:
                self.rest += os.read(self.of, 1 << 20)
            text, self.rest = self.rest.split(b'\0', 1)
            got = json.loads(text)
            if got.get('id') == self.last:
                return got['result']

    def end(self):
        os.close(self.to)
        _, _, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = 0
        os.close(self.of)
        shutil.rmtree(self.profile, ignore_errors=True)
        return usage.ru_utime + usage.ru_stime


def by_hand(folder, rows):
    hand = ByHand(folder)
    hand.call('Browser.getVersion')
    rows['hand_answer'].append(hand.since())
    while not (pages := [t for t in hand.call('Target.getTargets')['targetInfos'] if t['type'] == 'page']):
        pass
    rows['hand_tab'].append(hand.since())
    session = hand.call('Target.attachToTarget', {'targetId': pages[0]['targetId'], 'flatten': True})['sessionId']
    assert base64.b64decode(hand.call('Page.captureScreenshot', session=session)['data']).startswith(b'\x89PNG')
    rows['hand_shot'].append(hand.since())
    rows['hand_cpu'].append(hand.end())


def in_box(d, rows, name, template):
    began = time.monotonic()
    box = d.make(template=template, timeout='10m')
    at = f'/api/sandboxes/{box}'
    made = time.monotonic()
    d.must(200, 'POST', f'{at}/browser', {})
    rows[name + '_tab'].append(time.monotonic() - began)
    ws = WebSocket(d.port, f'{at}/browser/cdp', d.token)
    ws.send('{"id":1,"method":"Browser.getVersion"}')
    assert 'product' in ws.read_json()['result']
    rows[name + '_answer'].append(time.monotonic() - began)
    got = d.ask('POST', f'{at}/browser/screenshot', {})
    assert got.status == 200 and got.body.startswith(b'\x89PNG'), got
    rows[name + '_shot'].append(time.monotonic() - began)
    rows[name + '_make'].append(made - began)
    ws.sock.close()
    d.must(200, 'DELETE', at)


def ratio(a, b):
    return statistics.median(x / y for x, y in zip(a, b))


def note(name, value):
    """For the report at the end of `make bench` (goals.def)."""
    if os.environ.get('CAY_BENCH_RESULTS'):
        with open(os.environ['CAY_BENCH_RESULTS'], 'a', encoding='utf-8') as f:
            f.write(f'browser_{name} {value:.6g}\n')


def row(name, hand, cay):
    print(f'  {name:52} by hand {statistics.median(hand) * 1e3:6.1f} ms   in a sandbox {statistics.median(cay) * 1e3:6.1f} ms   '
          f'{ratio(cay, hand):.2f} times', flush=True)


def main():
    if not os.path.exists(PROGRAM):
        print('skipped: chromium-headless-shell is not installed')
        sys.exit(77)
    rows = {f'{who}_{what}': [] for who in ('hand', 'new', 'pool') for what in ('answer', 'tab', 'shot', 'make', 'cpu')}
    with tempfile.TemporaryDirectory() as folder, Registry(REGISTRY) as registry, Daemon('--registry', registry.path) as d:
        d.must(200, 'DELETE', f'/api/sandboxes/{d.make(template="ready")}')  # the first one starts the pool
        for _ in range(ROUNDS):
            by_hand(folder, rows)
            in_box(d, rows, 'new', 'browser')
            end = time.monotonic() + PATIENCE_S
            while d.must(200, 'GET', '/api/metrics')['pool']['ready'] < 2 and time.monotonic() < end:
                time.sleep(0.01)
            in_box(d, rows, 'pool', 'ready')
    row('a new sandbox: the first answer, against the same', rows['hand_answer'], rows['new_answer'])
    row('the same, against the first tab', rows['hand_tab'], rows['new_answer'])
    row('from a pool of boxes: the first answer', rows['hand_answer'], rows['pool_answer'])
    row('from a pool of boxes: the first screenshot', rows['hand_shot'], rows['pool_shot'])
    row('a new sandbox: the first screenshot', rows['hand_shot'], rows['new_shot'])
    print(f'  of it, to make the sandbox: {statistics.median(rows["new_make"]) * 1e3:.1f} ms, from the pool {statistics.median(rows["pool_make"]) * 1e3:.1f} ms; processor time by hand {statistics.median(rows["hand_cpu"]) * 1e3:.0f} ms')
    note('answer', ratio(rows['new_answer'], rows['hand_answer']))
    note('shot', ratio(rows['new_shot'], rows['hand_shot']))
    note('pool_answer', ratio(rows['pool_answer'], rows['hand_answer']))
    note('pool_shot', ratio(rows['pool_shot'], rows['hand_shot']))


main()
