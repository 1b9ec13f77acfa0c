#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contexts: interpreters that keep their state between runs. test_contexts.py [NAME…] runs some of the tests."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, Daemon, run_tests, wait_for  # noqa: E402
from kernel_mark import FIND_MARK  # noqa: E402


def path(box, context=None, verb=None):
    return f"/api/sandboxes/{box}/contexts" + (f"/{context}" if context else "") + (f"/{verb}" if verb else "")


def run(d, box, code, context="python", status=200, **fields):
    return d.must(status, "POST", path(box, context, "run"), {"code": code, **fields})


def only(got):
    """The one result of a run."""
    assert len(got["results"]) == 1, got
    return got["results"][0]


def events(d, box, code, context="python", **fields):
    answer, connection = d.begin("POST", path(box, context, "run"), {"code": code, "stream": True, **fields})
    assert answer.status == 200, answer.read()
    for line in answer:
        yield json.loads(line)
    connection.close()


def contexts(d, box):
    return {c["context_id"]: c for c in d.must(200, "GET", path(box))["contexts"]}


def test_python(d, box):
    got = run(d, box, "x = 41")
    assert got["results"] == [] and got["error"] is None and got["cause"] is None and got["execution_count"] == 1, got
    got = run(d, box, "import sys, os\nprint('out'); print('err', file=sys.stderr); os.system('echo sub')\nx + 1")
    assert (got["stdout"], got["stderr"]) == ("out\nsub\n", "err\n"), got
    assert only(got) == {"text": "42", "is_main_result": True}, got
    assert only(run(d, box, "{'a': [1, 2.5, None]}"))["json"] == {"a": [1, 2.5, None]}
    # As a notebook shows it: the code's own lines, and none of the kernel's.
    got = run(d, box, "def f():\n    raise ValueError('no')\nf()")
    assert got["error"]["name"] == "ValueError" and got["error"]["value"] == "no", got
    assert "line 2, in f\n    raise ValueError('no')" in got["error"]["traceback"] and "kernel" not in got["error"]["traceback"], got
    assert run(d, box, "1 +")["error"]["name"] == "SyntaxError"
    assert only(run(d, box, "import asyncio\nawait asyncio.sleep(0)\n'late'"))["text"] == "'late'"
    assert run(d, box, "input()")["error"]["name"] == "EOFError"
    assert run(d, box, "exit(3)")["error"]["name"] == "SystemExit"
    assert only(run(d, box, "x"))["text"] == "41"  # it lives on
    assert only(run(d, box, "_ + 1"))["text"] == "42"


def test_variables_of_one_run(d, box):
    for context, code in (("python", "import os; print(os.environ.get('A'))"), ("javascript", "console.log(process.env.A ?? 'None')"),
                          ("bash", 'echo "${A-None}"')):
        assert run(d, box, code, context, env={"A": "1 é\n2", "B": ""})["stdout"] == "1 é\n2\n", context
        assert run(d, box, code, context)["stdout"] == "None\n", context
    for name in ("1A", "A B", "A=", "", "é", "A" * 256):
        assert run(d, box, "1", env={name: "x"}, status=400)["error"]["message"].startswith("env"), name
    assert run(d, box, "1", env={f"A{i}": "x" for i in range(65)}, status=400)["error"]["field"] == "env"
    assert run(d, box, "len([n for n in os.environ if n.startswith('LONG')])", env={f"LONG{i}": "x" * 4096 for i in range(64)})["results"][0]["text"] == "64"


def test_rich(d, box):
    got = run(d, box, """
class Rich:
    def _repr_html_(self): return '<b>é</b>'
    def _repr_markdown_(self): return '**e**'
    def _repr_svg_(self): return '<svg/>'
    def _repr_latex_(self): return '$e$'
    def _repr_png_(self): return b'\\x89PNG' * 3000
    def _repr_json_(self): return {'e': [1]}
    def __repr__(self): return 'rich'
print('before')
display(Rich())
print('after')
Rich()""")
    first, main = got["results"]
    assert first.pop("is_main_result") is False and main.pop("is_main_result") is True
    assert first == main and len(main.pop("png")) == 16000, main
    assert main == {"text": "rich", "html": "<b>é</b>", "markdown": "**e**", "svg": "<svg/>", "latex": "$e$", "json": {"e": [1]}}
    # In a stream, results stand between the output as the code gave them.
    kinds = [e["event"] for e in events(d, box, "print(1, flush=True); display(2); print(3, flush=True); 4")]
    assert kinds == ["started", "stdout", "result", "stdout", "result", "end"], kinds
    # Too large, too many: told, and the context lives.
    assert "too large" in only(run(d, box, "'x' * 3_000_000"))["text"]
    got = run(d, box, "for i in range(100): display(i)")
    assert len(got["results"]) == 65 and "more than 64" in got["results"][-1]["text"]
    assert only(run(d, box, "float('nan')"))["text"] == "nan"
    assert "text" in only(run(d, box, "a = []; a.append(a); a"))


def test_charts(d, box):
    """With Debian's matplotlib and pandas, where this machine has them."""
    if run(d, box, "import matplotlib.pyplot as plt, pandas as pd")["error"]:
        print("skipped: no matplotlib or pandas in /usr")
        return
    drawn = only(run(d, box, "plt.plot([1, 2, 3], [2, 4, 8], label='a')\nplt.title('T')\nNone"))  # without show()
    assert drawn["png"].startswith("iVBOR") and not drawn["is_main_result"], drawn.keys()
    assert drawn["chart"] == {"title": "T", "x_label": None, "y_label": None, "type": "line",
                              "elements": [{"label": "a", "points": [[1, 2], [2, 4], [3, 8]]}]}, drawn["chart"]
    bars = only(run(d, box, "plt.bar(['p', 'q'], [3, 4])\nNone"))["chart"]
    assert bars["type"] == "bar" and [(e["label"], e["value"]) for e in bars["elements"]] == [("p", 3), ("q", 4)], bars
    table = only(run(d, box, "pd.DataFrame({'a': [1, 2], 'b': ['x', None]})"))
    assert table["data"] == {"columns": ["a", "b"], "rows": [[1, "x"], [2, None]], "row_count": 2, "index": [0, 1]}, table
    assert "<table" in table["html"], table


def test_javascript(d, box):
    assert run(d, box, "const x = 41; let {a, b: [c]} = {a: 1, b: [2]}", "javascript")["error"] is None
    got = run(d, box, "console.log('hi'); console.error('no'); x + a", "js")
    assert (got["stdout"], got["stderr"], only(got)["text"], got["language"]) == ("hi\n", "no\n", "42", "javascript"), got
    assert only(run(d, box, "const x = {k: [c]}; x", "javascript"))["json"] == {"k": [2]}  # run again: no complaint
    got = run(d, box, "const late = await new Promise((r) => setTimeout(() => r(7), 5)); late * 6", "javascript")
    assert only(got)["text"] == "42", got
    assert only(run(d, box, "late", "javascript"))["text"] == "7"
    got = run(d, box, "throw new TypeError('no')", "javascript")
    assert (got["error"]["name"], got["error"]["value"]) == ("TypeError", "no") and "<cell" in got["error"]["traceback"], got
    assert only(run(d, box, "class A { m() { return `a${1 + 1}` } }\nnew A().m()", "javascript"))["text"] == "'a2'"
    assert only(run(d, box, "require('fs').readFileSync(0, 'utf8')", "javascript"))["text"] == "''"


def test_bash(d, box):
    assert run(d, box, "x=5; cd /tmp; declare -a list=(a b)", "bash")["error"] is None
    got = run(d, box, "pwd; echo $x ${list[1]}; echo no >&2", "bash")
    assert (got["stdout"], got["stderr"]) == ("/tmp\n5 b\n", "no\n"), got
    assert run(d, box, "false", "bash")["error"]["value"] == "the last command ended with status 1"


def test_interrupt(d, box):
    on = {"python": "print('on')\n", "javascript": "console.log('on');", "bash": "echo on\n"}
    for context, code in (("python", "import time\ntime.sleep(600)"), ("python", "while True: pass"), ("javascript", "for (;;) {}"),
                          ("javascript", "await new Promise(() => setTimeout(() => {}, 600000))"), ("bash", "sleep 600"),
                          ("bash", "while :; do :; done")):
        run(d, box, "kept = 1" if context != "bash" else "kept=1", context)
        stream = events(d, box, on[context] + code, context)
        assert [next(stream)["event"] for _ in range(2)] == ["started", "stdout"]
        # A second run is refused while one has the context.
        assert contexts(d, box)[context]["busy"]
        assert d.ask("POST", path(box, context, "run"), {"code": "1"}).status == 409
        d.must(200, "POST", path(box, context, "interrupt"))
        error, end = list(stream)
        assert error["event"] == "error" and error["name"] in ("KeyboardInterrupt", "Interrupted"), error
        assert end["event"] == "end" and end["cause"] is None, end
        got = run(d, box, "echo $kept" if context == "bash" else "kept", context)
        assert got["stdout"] == "1\n" or only(got)["text"] == "1", got
    # Nobody's turn: an interrupt does nothing.
    for context in ("python", "javascript", "bash"):
        for _ in range(3):
            d.must(200, "POST", path(box, context, "interrupt"))
        got = run(d, box, "echo $kept" if context == "bash" else "kept", context)
        assert got["stdout"] == "1\n" or only(got)["text"] == "1", got


def test_interrupt_at_once(d, box):
    """One interrupt ends a run at whatever moment it comes, and never the next run."""
    for context, code, forever in (("python", "x = %d", "while True: pass"), ("javascript", "x = %d", "for (;;) {}"),
                                   ("javascript", "x = %d", "await new Promise(() => setTimeout(() => {}, 600000))"),
                                   ("bash", "x=%d", "while :; do :; done")):
        run(d, box, code % 0, context)
        for n in range(12):
            stream = events(d, box, forever, context)
            assert next(stream)["event"] == "started"
            time.sleep(n / 4000)
            d.must(200, "POST", path(box, context, "interrupt"))
            error, end = list(stream)
            assert error["name"] in ("KeyboardInterrupt", "Interrupted") and end["cause"] is None, (error, end)
            assert run(d, box, code % n, context)["error"] is None, (context, n)


def test_time(d, box):
    run(d, box, "kept = 1")
    got = run(d, box, "import time\ntime.sleep(600)", timeout="300ms")
    assert (got["cause"], got["error"]["name"]) == ("wall_time", "KeyboardInterrupt"), got
    assert only(run(d, box, "kept"))["text"] == "1"
    # One that does not stop is ended, which is told, and starts again when it is asked to.
    got = run(d, box, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", timeout="300ms")
    assert got["cause"] == "wall_time" and "variables are gone" in got["cause_text"], got
    wait_for("the end", lambda: contexts(d, box)["python"]["status"] == "ended")
    refused = d.must(409, "POST", path(box, "python", "run"), {"code": "1"})
    assert "restart it" in refused["error"]["message"], refused
    d.must(200, "POST", path(box, "python", "restart"))
    assert run(d, box, "kept")["error"]["name"] == "NameError"


def test_death(d, box):
    got = run(d, box, "x = bytearray(1 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1")
    assert got["cause"] == "memory" and got["advice"], got
    assert contexts(d, box)["python"]["cause"] == "memory"
    d.must(200, "POST", path(box, "python", "restart"))
    got = run(d, box, "import os\nprint('last', flush=True)\nos._exit(7)")
    assert got["cause"] == "exited" and got["stdout"] == "last\n", got
    d.must(200, "DELETE", path(box, "python"))
    assert "python" not in contexts(d, box)
    assert only(run(d, box, "1"))["text"] == "1"  # made again, for it has a language's name


def test_named(d, box):
    made = d.must(201, "POST", path(box), {"name": "one", "language": "py", "cwd": "/tmp", "env": {"A": "b"}})
    assert (made["context_id"], made["language"], made["cwd"], made["status"]) == ("one", "python", "/tmp", "running"), made
    assert only(run(d, box, "import os; os.getcwd(), os.environ['A']", "one"))["text"] == "('/tmp', 'b')"
    other = d.must(201, "POST", path(box), {"language": "python"})["context_id"]
    run(d, box, "mine = 1", other)
    assert run(d, box, "mine", "one")["error"]["name"] == "NameError"
    d.must(409, "POST", path(box), {"name": "one"})
    d.must(400, "POST", path(box), {"language": "cobol"})
    d.must(400, "POST", path(box), {"name": "-"})
    d.must(404, "POST", path(box, "none", "run"), {"code": "1"})
    for name in ("one", other):
        d.must(200, "DELETE", path(box, name))
        d.must(404, "DELETE", path(box, name))
    # So many, and no more.
    names = [d.must(201, "POST", path(box), {"language": "bash"})["context_id"] for _ in range(16 - len(contexts(d, box)))]
    d.must(429, "POST", path(box), {"language": "bash"})
    for name in names:
        d.must(200, "DELETE", path(box, name))


FORGE = FIND_MARK + r"""
import os
os.write(1, b"\x1e" + mark + b'R0009{"text":1')
print("x")
"""


def test_hostile(d, box):
    """Code that writes frames, or whatever looks like them, lies about its own run only."""
    got = run(d, box, "print('\\x1e' + '0' * 32 + 'D0000')")
    assert got["stdout"] == "\x1e" + "0" * 32 + "D0000\n", got
    got = run(d, box, FORGE)
    assert got["error"] is None and got["stdout"] == "x\n", got
    assert all(set(r) <= {"text", "is_main_result"} for r in got["results"]), got
    assert only(run(d, box, "5"))["text"] == "5"
    # What an earlier run left running prints at its own time, and does not end a later one.
    run(d, box, "import threading, time\nthreading.Thread(target=lambda: [print('late', flush=True) or time.sleep(0.01) for _ in range(50)]).start()")
    assert only(run(d, box, "time.sleep(0.2); 'x' * 100000"))["text"] == repr("x" * 100000)
    # A client that goes away interrupts its run.
    connection = d.connect()
    connection.request("POST", path(box, "python", "run"), json.dumps({"code": "time.sleep(600)"}),
                       {"Authorization": "Bearer " + d.token, "Content-Type": "application/json"})
    wait_for("the run", lambda: contexts(d, box)["python"]["busy"])
    connection.close()
    wait_for("the end of the run", lambda: not contexts(d, box)["python"]["busy"])
    assert only(run(d, box, "6"))["text"] == "6"


def test_next_after_one_that_was_left(d, box):
    """A client leaves code that never ends; the next run takes the interpreter at once, and is the one that is not interrupted."""
    for context, forever in (("javascript", "for (;;) {}"), ("javascript", "await new Promise(() => setTimeout(() => {}, 600000))"),
                             ("python", "while True: pass"), ("bash", "while :; do :; done")):
        run(d, box, "1" if context != "bash" else ":", context)
        for n in range(6):
            connection = d.connect()
            connection.request("POST", path(box, context, "run"), json.dumps({"code": forever}),
                               {"Authorization": "Bearer " + d.token, "Content-Type": "application/json"})
            wait_for("the run", lambda: contexts(d, box)[context]["busy"])
            time.sleep(n / 100)  # an interpreter may not have begun yet
            connection.close()
            wait_for("the turn", lambda: not contexts(d, box)[context]["busy"])
            got = run(d, box, "7" if context != "bash" else "echo 7", context, timeout="20s")
            assert got["error"] is None and got["cause"] is None, (context, n, got)


def test_command_line(d, box):
    def code(*words):
        r = subprocess.run([CAY, "code", "--data", os.path.join(d.folder, "data"), box, *words], env=d.environment(), capture_output=True,
                           text=True, timeout=120)
        return r.returncode, r.stdout, r.stderr

    assert code("x = 41") == (0, "", "")
    assert code("print('hi'); x + 1") == (0, "hi\n42\n", "")
    assert code("--context", "bash", "echo $((6 * 7)); echo no >&2") == (0, "42\n", "no\n")
    status, out, errors = code("1 / 0")
    assert (status, out) == (1, "") and errors.endswith("ZeroDivisionError: division by zero\n"), errors
    status, out, errors = code("import time; time.sleep(600)", "--timeout", "200ms")
    assert status == 1 and "cay code: the time of the run was over" in errors, errors
    status, out, errors = code("--json", "x")
    assert status == 0 and json.loads(out)["results"][0]["text"] == "41", out


def test_front_death(d, box):
    run(d, box, "kept = 'still here'")
    os.kill(d.child("cay-front"), signal.SIGKILL)

    def again():
        try:
            return d.ask("GET", path(box)).status == 200
        except OSError:
            return False

    wait_for("the next front", again)
    assert only(run(d, box, "kept"))["text"] == "'still here'"


def main():
    with Daemon() as d:
        run_tests(globals(), d, own_box=True)


if __name__ == "__main__":
    main()
