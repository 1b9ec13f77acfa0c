#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Forks against plain creates, steps, waking, and reading after many snapshots, on a layer pool, in turns. Ratios are what counts. Run by `make
bench` below tests/isolated/run_isolated (CAY_BUILD_DIR, CAY_SOURCE_DIR)."""
import os
import shutil
import statistics
import sys
import threading
import time

SOURCE = os.environ['CAY_SOURCE_DIR']
sys.path[:0] = [os.path.join(SOURCE, 'tests', 'integration', 'serve')]
from daemon import Daemon, wait_for  # noqa: E402

ROUNDS = int(os.environ.get('RUNS', '5'))
FORKS, SNAPSHOTS, SLEEPERS = 20, int(os.environ.get('SNAPSHOTS', '500')), 8
READ = 'cat /workspace/big > /dev/null'


def timed(what):
    began = time.monotonic()
    what()
    return time.monotonic() - began


def note(name, value):
    """For the report at the end of `make bench` (goals.def)."""
    if os.environ.get('CAY_BENCH_RESULTS'):
        with open(os.environ['CAY_BENCH_RESULTS'], 'a', encoding='utf-8') as f:
            f.write(f'time_{name} {value:.6g}\n')


def remove(d, boxes):
    for box in boxes:
        d.must(200, 'DELETE', f'/api/sandboxes/{box}')


def create(d, made):
    threads = [threading.Thread(target=lambda: made.append(d.make())) for _ in range(FORKS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def forks(d):
    """Of a snapshot whose layer has 900 MiB in use, against as many creates at once; and of one that is empty."""
    box = d.make()
    d.run(box, 'head -c 900M /dev/urandom > /workspace/big; sync', timeout='5m')
    d.must(201, 'POST', f'/api/sandboxes/{box}/snapshots', {'name': 'big'})
    empty = d.make()
    d.must(201, 'POST', f'/api/sandboxes/{empty}/snapshots', {'name': 'empty'})
    found = {'big': [], 'empty': [], 'plain': []}
    for _ in range(ROUNDS):
        for what in ('big', 'empty'):
            made = []
            found[what].append(timed(lambda what=what, made=made: made.extend(
                s['sandbox_id'] for s in d.must(201, 'POST', f'/api/sandboxes/{what}/fork', {'count': FORKS})['sandboxes'])))
            remove(d, made)
        made = []
        found['plain'].append(timed(lambda made=made: create(d, made)))
        remove(d, made)
    remove(d, (box, empty))
    ratio = statistics.median(a / b for a, b in zip(found['big'], found['plain']))
    print(f'  {FORKS} forks of 900 MiB {statistics.median(found["big"]) * 1e3:.0f} ms, of an empty one {statistics.median(found["empty"]) * 1e3:.0f} ms, '
          f'{FORKS} creates at once {statistics.median(found["plain"]) * 1e3:.0f} ms: {ratio:.2f} times', flush=True)
    note('forks', ratio)


def steps(d):
    """What a step adds to a command of a few milliseconds."""
    box = d.make()
    d.run(box, 'head -c 300M /dev/urandom > /workspace/big; sync', timeout='5m')
    plain, made = [], []
    for _ in range(4 * ROUNDS):
        plain.append(timed(lambda: d.run(box, ['true'])))
        made.append(timed(lambda: d.run(box, ['true'], checkpoint=True)))
    remove(d, (box,))
    print(f'  a command {statistics.median(plain) * 1e3:.1f} ms, with a step of 300 MiB {statistics.median(made) * 1e3:.1f} ms', flush=True)
    note('step', (statistics.median(made) - statistics.median(plain)) * 1e3)


def waking(d):
    """What a sleeper's next command takes more than a command of one that is awake."""
    awake, sleepers = d.make(), [d.make(sleep_after_s=1) for _ in range(SLEEPERS)]
    plain, woken = [], []
    for _ in range(ROUNDS):
        for box in sleepers:
            wait_for('sleep', lambda box=box: d.must(200, 'GET', f'/api/sandboxes/{box}')['asleep'])
            plain.append(timed(lambda: d.run(awake, ['true'])))
            woken.append(timed(lambda box=box: d.run(box, ['true'])))
    remove(d, (awake, *sleepers))
    more = (statistics.median(woken) - statistics.median(plain)) * 1e3
    print(f'  a command {statistics.median(plain) * 1e3:.1f} ms, of a sleeper {statistics.median(woken) * 1e3:.1f} ms', flush=True)
    note('wake', more)


def many(d):
    """Reading a file after many snapshots, with a change before each, against a sandbox without."""
    box, other = d.make(), d.make()
    for b in (box, other):
        d.run(b, 'head -c 100M /dev/urandom > /workspace/big; sync')
    for i in range(SNAPSHOTS):
        d.run(box, f'head -c 64K /dev/urandom | dd of=/workspace/big bs=64K seek={i} conv=notrunc status=none')
        d.must(201, 'POST', f'/api/sandboxes/{box}/snapshots', {})
    found = {box: [], other: []}
    for _ in range(2 * ROUNDS):
        for b in found:
            found[b].append(d.run(b, READ)['wall_us'])  # of the command alone: the other has no old commands that are forgotten with each
    ratio = statistics.median(found[box]) / statistics.median(found[other])
    print(f'  reading 100 MiB after {SNAPSHOTS} snapshots {ratio:.2f} times', flush=True)
    note('many', ratio)
    for s in d.must(200, 'GET', '/api/snapshots?limit=1000')['snapshots']:
        d.must(200, 'DELETE', f'/api/snapshots/{s["snapshot_id"]}')
    remove(d, (box, other))


def main():
    if not shutil.which('mkfs.xfs', path='/sbin:/usr/sbin'):
        print('skipped: mkfs.xfs is not installed')
        sys.exit(77)
    rows = {'forks': forks, 'steps': steps, 'waking': waking, 'many': many}
    wanted = os.environ.get('ROWS')
    with Daemon('--rate-limit', '0', '--max-sandboxes', '60', '--layer-pool', '40g') as d:
        for name, what in rows.items():
            if not wanted or name in wanted.split(','):
                what(d)


main()
