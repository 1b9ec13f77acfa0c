#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The stock client of E2B against a daemon with a pool: from Sandbox.create() to the first result of runCode, beside a bare python3 in
turns, and 100 of them at once. Run by `make bench` below tests/isolated/run_isolated (CAY_BUILD_DIR, CAY_SOURCE_DIR)."""
import json
import os
import statistics
import subprocess
import sys

TESTS = os.path.join(os.environ['CAY_SOURCE_DIR'], 'tests', 'integration')
sys.path[:0] = [os.path.join(TESTS, 'e2b'), os.path.join(TESTS, 'serve')]
from daemon import Daemon  # noqa: E402
from test_e2b import PACKAGES, client_env, make_key  # noqa: E402

ROUNDS, CROWD = int(os.environ.get('RUNS', '60')), 100
SCRIPT = os.path.join(os.environ['CAY_SOURCE_DIR'], 'bench', 'e2b_run.cjs')


def note(row, value):
    """For the report at the end of `make bench` (goals.def)."""
    if os.environ.get('CAY_BENCH_RESULTS'):
        with open(os.environ['CAY_BENCH_RESULTS'], 'a', encoding='utf-8') as f:
            f.write(f'e2b_{row} {value:.6g}\n')


def measure(pool):
    with Daemon('--max-sandboxes', '150', '--pool', str(pool)) as d:
        done = subprocess.run(['node', SCRIPT, str(ROUNDS), str(CROWD)], env=client_env(d, make_key(d)), capture_output=True, text=True,
                              timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def main():
    if not os.path.isdir(os.path.join(PACKAGES, 'node_modules', '@e2b')):
        print('skipped: the packages of tests/integration/e2b are not in build/npm/e2b (scripts/bootstrap check)')
        sys.exit(77)
    load = os.getloadavg()[0]
    for name, pool in (('pool', 8), ('cold', 0)):
        rows = measure(pool)
        mid = {k: statistics.median(v) for k, v in rows.items()}
        ratio = statistics.median(a / b for a, b in zip(rows['first'], rows['bare']))
        print(f'E2B client, {ROUNDS} rounds, {"a pool of 8" if pool else "no pool"} (load {load:.1f})')
        print(f'  Sandbox.create()           p50 {mid["created"]:.1f} ms')
        print(f'  to the first runCode       p50 {mid["first"]:.1f} ms   bare python3 {mid["bare"]:.1f} ms   {ratio:.2f} times (goal: 30 ms)')
        crowd = statistics.median(a / b for a, b in zip(rows['crowd'], rows['crowd_bare']))
        print(f'  {CROWD} at once                {mid["crowd"]:.0f} ms in all, p50 {mid["crowd_first"]:.0f} ms   bare python3 '
              f'{mid["crowd_bare"]:.0f} ms in all   {crowd:.2f} times', flush=True)
        if name == 'pool':
            note('run', mid['first'])
            note('ratio', ratio)
            note('crowd', crowd)


main()
