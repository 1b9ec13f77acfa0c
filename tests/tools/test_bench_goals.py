#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_goals: what holds, what misses as declared, what fails; the table itself; that every part of the bench is a word of scripts/bench."""
import os
import re
import subprocess
import tempfile

SOURCE, BUILD = os.environ["CAY_SOURCE_DIR"], os.environ["CAY_BUILD_DIR"]
ROW = re.compile(r'^CAY_GOAL\((\w+), (AT_MOST|AT_LEAST), ([\d.]+), ([\d.]+), "(.*)"\)$')


def read_rows():
    with open(f"{SOURCE}/bench/goals.def", encoding="utf-8") as f:
        text = re.sub(r",\s*\n\s+", ", ", f.read())
    rows = [m.groups() for m in map(ROW.match, text.splitlines()) if m]
    assert len(rows) == text.count("\nCAY_GOAL("), "a row that this test does not read"
    return {name: (way, float(goal), float(bound), words) for name, way, goal, bound, words in rows}


def report(*lines):
    with tempfile.NamedTemporaryFile("w", suffix=".results") as f:
        f.write("".join(f"{line}\n" for line in lines))
        f.flush()
        return subprocess.run([f"{BUILD}/bench/bench_goals", f.name], capture_output=True, text=True, timeout=60, check=False)


def verdict_of(done, words):
    line, = [x for x in done.stdout.splitlines() if x.startswith(f"| {words} |")]
    return line.rsplit("|", 2)[1].strip(" *")


def test_verdicts(rows):
    for name, (way, goal, bound, words) in rows.items():
        better = 1 if way == "AT_MOST" else -1
        assert bound == 0 or better * bound > better * goal, f"{name}: a bound that is no miss"
        done = report(f"{name} {goal}")
        assert done.returncode == 0 and verdict_of(done, words) == "holds", done
        beyond = bound or goal
        if bound:
            done = report(f"{name} {bound}")
            assert done.returncode == 0 and verdict_of(done, words) == "declared miss", done
        done = report(f"{name} {beyond * (1 + better * 0.01)}")
        assert done.returncode == 1 and verdict_of(done, words) == "FAILS", done


def test_what_is_not_measured(rows):
    done = report()
    assert done.returncode == 0 and done.stdout.count("not measured |") == len(rows), done
    first = next(iter(rows))
    done = report(f"{first} -1", "no_such_row 1")
    assert done.returncode == 1 and "no_such_row" in done.stderr, done
    done = report(f"{first} -1", f"{first} 0.0001")
    assert done.returncode == 0, "the later value counts"


def test_parts():
    done = subprocess.run([f"{SOURCE}/scripts/bench", os.path.relpath(BUILD, SOURCE), "nonsense"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 2 and "there are: run user daemon net" in done.stderr, done


table = read_rows()
assert len({words for *_, words in table.values()}) == len(table), "two rows of the same words"
test_verdicts(table)
test_what_is_not_measured(table)
test_parts()
print("passed")
