#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Interpreters that wait for their command: every program of a table ends, says and sees the same as under a fresh python3; what
other code of the box can do to a waiting one, and what it cannot; limits and causes; pools.
"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, wait_for  # noqa: E402
from registry_file import Registry  # noqa: E402

REGISTRY = """containers:
  host:
    host: true
  warm:
    host: true
    warm: [python]
    resources: {memory: "256m", pids: 40, cpus: "2"}
  cold:
    host: true
    warm: []
    resources: {memory: "256m", pids: 40, cpus: "2"}
  pooled:
    host: true
    pool: 2
    resources: {memory: "256m"}
  ahead:
    host: true
    warm: [python]
    warm_modules: [json, random, logging.handlers, decimal, mymod, nowhere]
    resources: {memory: "256m", pids: 40, cpus: "2"}
  ahead-pooled:
    host: true
    pool: 1
    warm_modules: [json]
  shells:
    host: true
    pool: 1
    interpreter: [bash]
"""
IS_WARM = "print(open('/proc/self/cmdline').read().split(chr(0))[1] == '-m')"

# What is run with -c, in both ways. No pids, times or addresses in what they print.
CODE = [
    "print(1)",
    "",
    "import sys; print(sys.argv, sys.orig_argv, sys.path, sys.executable, sys.flags, sys.warnoptions, sys._xoptions)",
    "import sys; print(sorted(sys.modules)); print(sorted(sys.path_importer_cache)); print(sys.meta_path)",
    "print(list(globals()), __name__, __doc__, __package__, __spec__, __loader__, __builtins__)",
    "import os; print(dict(os.environ) == {k.decode(): v.decode() for k, v in os.environb.items()}, list(os.environ.items()))",
    "import os; print(os.getcwd(), os.getppid(), os.getpgid(0) == os.getpid(), os.getsid(0), os.getuid(), os.getgroups(), os.umask(0))",
    "import os; print({n: os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in os.listdir('/proc/self/fd') if int(n) < 3})",
    "import os; print(len(os.listdir('/proc/self/fd')))",
    "import sys; print(sys.stdin, sys.stdin.buffer, sys.stdin.seekable(), sys.stdin.isatty(), repr(sys.stdin.read()), sys.stdin is sys.__stdin__)",
    "import sys; print(sys.stdout, sys.stdout.line_buffering, sys.stderr, sys.stdout.buffer.raw)",
    "import signal; print([(s, signal.getsignal(s)) for s in signal.Signals], signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "import resource; print([(n, resource.getrlimit(getattr(resource, n))) for n in dir(resource) if n.startswith('RLIMIT')])",
    "import os; t = open('/proc/self/status').read(); print([l for l in t.splitlines() if l.split(':')[0] in "
    "('Name', 'Uid', 'Gid', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters', "
    "'SigBlk', 'SigIgn', 'SigCgt', 'SigPnd', 'ShdPnd', 'Threads', 'Cpus_allowed', 'TracerPid', 'Umask')])",
    "import os; print(open('/proc/self/oom_score_adj').read(), os.sched_getscheduler(0), os.nice(0), os.sched_getaffinity(0))",
    "import gc, threading; print(len(threading.enumerate()), threading.current_thread() is threading.main_thread(), gc.isenabled(), gc.get_threshold(), gc.garbage)",
    "import sys; print(sys.getrecursionlimit(), sys.gettrace(), sys.getprofile(), sys.excepthook is sys.__excepthook__)",
    "import sys, traceback; traceback.print_stack(); print(sys._getframe().f_back)",
    "import inspect; print(len(inspect.stack()))",
    "1/0",
    "def f(n):\n  return 1/n\ndef g():\n  f(0)\ng()",
    "try:\n  1/0\nexcept ZeroDivisionError as e:\n  raise ValueError('x') from e",
    "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "x = (",
    "if 1:\nprint(2)",
    "x = '\ud800'.encode()",
    "'a' is 1",
    "import warnings; warnings.warn('w'); warnings.warn('deep', stacklevel=5)",
    "next(iter([]))",
    "raise KeyboardInterrupt",
    "import sys; sys.exit(3)",
    "import sys; sys.exit('text')",
    "raise SystemExit",
    "raise SystemExit(2, 3)",
    "exit(4)",
    "import os; os._exit(5)",
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)",
    "import os, signal; os.kill(os.getpid(), signal.SIGPIPE); print('ignored')",
    "import atexit; atexit.register(print, 'at exit'); print('now')",
    "import atexit; atexit.register(lambda: 1/0); raise ValueError",
    "import threading, time; threading.Thread(target=lambda: (time.sleep(.05), print('thread'))).start(); print('main')",
    "import threading; t = threading.Thread(target=lambda: 1/0, name='T'); t.start(); t.join()",
    "class A:\n  def __del__(self): print('gone')\na = A()",
    "def f(): print('gone', len('abc'))\nclass A:\n  def __del__(self): f()\na = A(); a.me = a",
    "import os\nclass A:\n  def __del__(self): os.write(1, b'gone')\nos.kept = A(); os.kept.me = os.kept",
    "import os\nos.kept = open(1, 'w', closefd=False); os.kept.write('not flushed')",
    "import gc; print(gc.collect() >= 0, gc.garbage, [o for o in gc.get_objects() if o is globals()] == [globals()])",
    "import sys, __main__; print(__main__ is sys.modules['__main__'], vars(__main__) is globals(), __main__)",
    "import sys; sys.excepthook = lambda *a: print('hook', a[0].__name__, a[2].tb_lineno); 1/0",
    "import sys; sys.excepthook = lambda *a: 1/0; unknown",
    "import sys\ndef h(*a): sys.exit(9)\nsys.excepthook = h; unknown",
    "import sys; sys.stdout.write('no newline'); sys.stderr.write('err'); sys.stdout.flush()",
    "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv)'], capture_output=True).stdout)",
    "import subprocess; print(subprocess.run('env | sort; cat', shell=True, capture_output=True, text=True))",
    "import os\nif os.fork() == 0: print('child'); os._exit(0)\nos.wait(); print('parent')",
    "import multiprocessing as m\nwith m.get_context('fork').Pool(1) as p: print(p.map(abs, [-1]))",
    "import asyncio\nasync def f(): await asyncio.sleep(0); print('async')\nasyncio.run(f())",
    "from concurrent.futures import ThreadPoolExecutor as T\nwith T() as t: print(list(t.map(abs, [-2])))",
    "import site, sysconfig; print(site.getusersitepackages(), site.ENABLE_USER_SITE, site.USER_BASE, sysconfig.get_paths()['stdlib'])",
    "import locale, sys; print(locale.getpreferredencoding(), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(), sys.stdout.errors, sys.stdin.errors)",
    "import pickle\nclass A: x = 1\nprint(pickle.loads(pickle.dumps(A())).x, A.__module__)",
    "import runpy, sitecustomize_is_not_there",
    "import functools, zipimport, runpy; print(runpy.__name__, functools.reduce(max, [1, 2]), zipimport._zip_directory_cache)",
    "import faulthandler; faulthandler.dump_traceback()",
    "input()",
    "print('\u00e4\u20ac')",
    "import dataclasses\n@dataclasses.dataclass\nclass A:\n  x: int = 1\nprint(A())",
    "from __future__ import annotations\nx: undefined = 1\nprint(__annotations__)",
    "import __main__; print(__main__.__dict__ is globals(), hasattr(__main__, '__file__'))",
    "import ctypes; print(ctypes.CDLL(None).getpid() > 0)",
    "import time; print(time.tzname, time.process_time() < 5)",
]
# (words after python3, standard input)
WORDS = [
    (["-c", "import sys; print(sys.argv)", "a", "-b", "c d", ""], None),
    (["-c", "import sys; print(sys.stdin.read())"], "given\n"),
    (["-c", "import sys; print(list(sys.stdin), sys.stdin)"], ""),
    (["-c"], None),
    (["-", "x"], "import sys\nprint(sys.argv, __file__, repr(sys.stdin.read()), list(globals()))\n1/0\n"),
    ([], "import sys\nprint(sys.argv, sys.orig_argv, sys.path[0] == '')\nraise ValueError(3)"),
    ([], "x = \n"),
    ([], "'a' is 1\nx = (\n"),
    ([], "'a' is 1\nprint(2)\r\nprint(3)\r\n"),
    ([], ""),
    ([], "# -*- coding: latin-1 -*-\nprint('\u00e4')\n"),
    (["prog.py", "x"], None),
    (["./prog.py"], "input"),
    (["/workspace/sub/../prog.py"], None),
    (["link.py"], None),
    (["bad.py"], None),
    (["latin.py"], None),
    (["sub"], None),
    (["z.zip"], None),
    (["missing.py"], None),
    (["boom.py"], None),
    (["-m", "json.tool"], "[1]"),
    (["-V"], None),
    (["-B", "-c", "import sys; print(sys.dont_write_bytecode)"], None),
    (["-W", "error", "-c", "import warnings; warnings.warn('x')"], None),
]
FILES = r"""
cd /workspace; mkdir -p sub
cat >prog.py <<'EOF'
"doc"
import sys, mod
print(__file__, __name__, __doc__, __cached__, __loader__.path, sys.argv, sys.path[0], list(globals()), mod.x, sys.stdin.read())
def f():
    raise ValueError("from a file")
f()
EOF
echo 'x = 1' >mod.py; echo 'x = 2' >sub/mod.py; cp prog.py sub/real.py; ln -s sub/real.py link.py
printf 'def f(:\n' >bad.py; printf '# coding: latin-1\nprint("\344")\n' >latin.py
echo 'print("a folder", __name__)' >sub/__main__.py
python3 -m zipfile -c z.zip sub/__main__.py
printf 'import sys\nprint("before")\ndef f(n): return f(n + 1)\ntry:\n  f(0)\nexcept RecursionError as e: print(e)\nprint(sys.getrecursionlimit())\n' >boom.py
"""


def of_warden(d):
    """Host pids of all interpreters that were started ahead and have no command."""
    found = []

    def children(pid):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                return [int(p) for p in f.read().split()]
        except OSError:
            return []
    for init in children(d.child("cay-warden")):
        for pid in children(init):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as c:
                    if "cay_command" in c.read():
                        found.append(pid)
            except OSError:
                pass
    return found


def syscall_of(pid):
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
            return f.read()
    except OSError:
        return ""


def waiting(d):
    """Host pids of the interpreters that wait: they read from descriptor 4."""
    return [pid for pid in of_warden(d) if syscall_of(pid).startswith("0 0x4 ")]


def await_waiting(d, count=1):
    wait_for(f"{count} waiting interpreters", lambda: len(waiting(d)) >= count)


def told(got):
    """What has to be the same; addresses differ."""
    return {name: re.sub(r"0x[0-9a-f]+", "0x…", text) if isinstance(text := got.get(name), str) else text for name in
            ("exit_code", "signal", "cause", "stdout", "stderr", "stdout_base64", "stderr_base64", "cause_text", "hints")}


class Pair:
    def __init__(self, d):
        self.d = d
        self.warm, self.cold = d.make(template="warm"), d.make(template="cold")
        for box in (self.warm, self.cold):
            d.run(box, FILES)

    def compare(self, words, stdin=None, **fields):
        more = dict(fields) if stdin is None else {**fields, "stdin": stdin}
        await_waiting(self.d)
        before = waiting(self.d)
        warm = told(self.d.run(self.warm, ["python3", *words], **more))
        assert before != waiting(self.d), ("it was not used", words)
        cold = told(self.d.run(self.cold, ["python3", *words], **more))
        assert warm == cold, (words, warm, cold)

    def close(self):
        for box in (self.warm, self.cold):
            self.d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_same(d):
    p = Pair(d)
    for code in CODE:
        if "\ud800" not in code:
            p.compare(["-c", code])
    p.close()


def test_words(d):
    p = Pair(d)
    for words, stdin in WORDS:
        more = {"stdin": stdin} if stdin is not None else {}
        cold = told(d.run(p.cold, ["python3", *words], **more))
        await_waiting(d)
        warm = told(d.run(p.warm, ["python3", *words], **more))
        assert warm == cold, (words, warm, cold)
    p.close()


def check_home(d):
    """Another HOME is no reason to start again, unless the user has modules there."""
    p = Pair(d)
    show = "import os, site, sys; print(os.path.expanduser('~'), site.USER_BASE, site.USER_SITE, site.getusersitepackages(), site.ENABLE_USER_SITE, sys.path)"
    for home in ("/tmp", "/tmp/", "/nowhere", "relative", "", "/"):
        cold = told(d.run(p.cold, ["python3", "-c", show], env={"HOME": home}))
        await_waiting(d)
        warm = told(d.run(p.warm, ["python3", "-c", show], env={"HOME": home}))
        assert warm == cold, (home, warm, cold)
    await_waiting(d)
    assert d.run(p.warm, ["python3", "-c", IS_WARM], env={"HOME": "/tmp"})["stdout"] == "True\n"
    d.run(p.warm, "python3 -c 'import os, site; os.makedirs(site.USER_SITE); open(site.USER_SITE + \"/ours.py\", \"w\").write(\"x = 1\")'",
          env={"HOME": "/tmp/own"})
    await_waiting(d)
    assert d.run(p.warm, ["python3", "-c", "import ours; print(ours.x)"], env={"HOME": "/tmp/own"})["stdout"] == "1\n"
    p.close()


def test_environment(d):
    check_home(d)
    p = Pair(d)
    show = "import os, sys, time; print(os.environ, sys.flags, hash('a') if sys.flags.hash_randomization == 0 else '', time.tzname)"
    for env in ({"A": "1", "B": "x=y", "C": ""}, {"PYTHONHASHSEED": "0"}, {"LANG": "C"}, {"LC_ALL": "POSIX"}, {"TZ": "Asia/Tokyo"},
                {"HOME": "/tmp"}, {"PYTHONPATH": "/workspace/sub"}, {"PYTHONUTF8": "1"}, {"PATH": "/usr/bin"}):
        cold = told(d.run(p.cold, ["python3", "-c", show + "; import subprocess; subprocess.run('env')"], env=env))
        await_waiting(d)
        warm = told(d.run(p.warm, ["python3", "-c", show + "; import subprocess; subprocess.run('env')"], env=env))
        assert warm == cold, (env, warm, cold)
    for folder in ("/tmp", "/workspace/sub", "/nowhere", "/root"):
        cold = told(d.run(p.cold, ["python3", "-c", "import os; print(os.getcwd())"], workdir=folder))
        await_waiting(d)
        warm = told(d.run(p.warm, ["python3", "-c", "import os; print(os.getcwd())"], workdir=folder))
        assert warm == cold, (folder, warm, cold)
    await_waiting(d)
    assert d.run(p.warm, ["python3", "-c", IS_WARM], env={"A": "1"})["stdout"] == "True\n"
    p.close()


def test_own(d):
    """Each run has its own process, hash seed and random state, and is replaced."""
    box = d.make(template="warm")
    seen = set()
    for _ in range(4):
        await_waiting(d)
        got = d.run(box, ["python3", "-c", "import os, random; print(os.getpid(), hash('a'), random.random(), os.urandom(4));" + IS_WARM])
        first, is_warm = got["stdout"].splitlines()
        assert is_warm == "True", got
        seen.add(tuple(first.split()))
    assert [len({s[i] for s in seen}) for i in range(4)] == [4, 2, 4, 4], seen  # all but the first are forks, which share it
    # Two at once: the other one starts a fresh interpreter.
    await_waiting(d)
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["python3", "-c", "import time; time.sleep(60)"], "background": True})
    assert d.run(box, ["python3", "-c", "print(7)"])["stdout"] == "7\n"
    await_waiting(d)  # replaced while the first one runs
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    assert waiting(d) == []


def test_changed(d):
    """What changes how a Python starts is seen by the next run."""
    box = d.make(template="warm")
    site = d.run(box, ["python3", "-c", "import site; print(site.getusersitepackages())"])["stdout"].strip()
    await_waiting(d)
    d.run(box, f"mkdir -p {site} /tmp/more; echo /tmp/more >{site}/a.pth; echo 'y = 5' >/tmp/more/ymod.py; echo 'print(\"custom\")' >{site}/usercustomize.py")
    got = d.run(box, ["python3", "-c", "import ymod; print(ymod.y)"])
    assert got["stdout"] == "custom\n5\n", got
    for _ in range(4):  # and none waits that ran such code before its command
        assert d.run(box, ["python3", "-c", "import ymod; print(ymod.y)"])["stdout"] == "custom\n5\n"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


INSIDE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
own = os.getpid()
for pid in sorted(int(p) for p in os.listdir('/proc') if p.isdigit()):
    try:
        if b'cay_command' not in open(f'/proc/{pid}/cmdline', 'rb').read() or pid == own: continue
    except OSError: continue
    tried = {}
    for name in ('mem', 'environ', 'maps', 'auxv', 'fd/4', 'fd/0', 'cwd', 'root', 'exe', 'stack', 'syscall'):
        path = f'/proc/{pid}/{name}'
        try:
            tried[name] = os.readlink(path) if name in ('cwd', 'root', 'exe') else open(path, 'rb').read(8)
        except OSError as e:
            tried[name] = 'refused'
    for name, request in (('attach', 16), ('seize', 0x4206)):
        tried[name] = 'refused' if libc.ptrace(request, pid, 0, 0) < 0 else 'done'
    tried['pidfd'] = 'refused' if libc.syscall(438, libc.syscall(434, pid, 0), 4, 0) < 0 else 'done'
    print(pid, tried)
"""


def test_attacked(d):
    box = d.make(template="warm")
    await_waiting(d)
    got = d.run(box, ["python3", "-B", "-c", INSIDE])
    seen = dict(line.split(" ", 1) for line in got["stdout"].splitlines())
    assert len(seen) >= 1, got  # the server that forks, and perhaps the next one
    for tried in seen.values():
        assert set(eval(tried).values()) == {"refused"}, tried  # pylint: disable=eval-used
    # Stopped: continued when it is needed. First one that waits, then all of them.
    for which in ("last", "all"):
        await_waiting(d)
        got = d.run(box, "for p in /proc/[0-9]*; do grep -q cay_command $p/cmdline 2>/dev/null && echo ${p#/proc/}; done; true")
        victims = sorted(int(pid) for pid in got["stdout"].split())
        d.run(box, f"kill -STOP {' '.join(str(v) for v in (victims if which == 'all' else victims[-1:]))}")
        for _ in range(3):
            got = d.run(box, ["python3", "-c", "import os; print(os.getpid());" + IS_WARM])
            assert got["exit_code"] == 0 and (which == "all" or got["stdout"].endswith("True\n")), (victims, got)
            await_waiting(d)
    # Ended: a command has no head start, and the next one has.
    for signal in ("KILL", "TERM", "INT", "HUP", "USR1", "SEGV"):
        await_waiting(d)
        d.run(box, f"for p in /proc/[0-9]*; do grep -q cay_command $p/cmdline 2>/dev/null && kill -{signal} ${{p#/proc/}}; done; true")
        got = d.run(box, ["python3", "-c", "print(6)"])
        assert told(got)["stdout"] == "6\n" and got["exit_code"] == 0 and got["stderr"] == "", (signal, got)
    # Code that stays: sees a process, but neither its code nor its input.
    await_waiting(d)
    d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"background": True, "command":
           "while :; do cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ; done >/workspace/seen 2>/dev/null"})
    await_waiting(d)
    got = d.run(box, ["python3", "-c", "import time, sys; sys.stdin.read(); time.sleep(.3) # code-9b1c\n" + IS_WARM], stdin="input-9b1c")
    assert got["stdout"] == "True\n", got
    assert d.run(box, "grep -ac '9b1[c]' /workspace/seen; grep -aq cay_command /workspace/seen; echo $?")["stdout"] == "0\n0\n"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def servers(d):
    """Host pids of the interpreters that fork others: they wait in recvmsg."""
    return [pid for pid in of_warden(d) if syscall_of(pid).startswith("47 0x4 ")]


OWN = """
import os, random, sys, time
mine = os.open('/workspace', os.O_RDONLY)
print([os.getpid(), random.random(), os.urandom(8), random.getrandbits(64), time.time_ns(), os.environ['MINE'], os.getcwd(), sys.argv[1]])
print(sorted(os.listdir('/proc/self/fd')), os.getppid(), hasattr(os, 'seen'), os.path.exists('/proc/self/fd/9'), hash('a'))
os.seen = True
"""


def test_forks(d):
    """One server makes all the processes of many runs, and nothing of one run is another's."""
    box = d.make(template="warm")
    await_waiting(d)
    assert servers(d) == []  # the first run has the interpreter that was started
    assert d.run(box, ["python3", "-c", IS_WARM])["stdout"] == "True\n"
    await_waiting(d)
    server = servers(d)
    assert len(server) == 1, server
    seen, same = [], set()
    for i in range(12):
        await_waiting(d)
        folder = ("/tmp", "/workspace", "/")[i % 3]
        got = d.run(box, ["python3", "-c", OWN + IS_WARM, f"word{i}"], env={"MINE": f"value {i}"}, workdir=folder)
        first, second, is_warm = got["stdout"].splitlines()
        assert is_warm == "True", got
        values = eval(first)  # pylint: disable=eval-used
        assert values[5:] == [f"value {i}", folder, f"word{i}"], values
        seen.append(values[:5])
        same.add(second)
    assert all(len({row[i] for row in seen}) == 12 for i in range(5)), seen
    assert [row[4] for row in seen] == sorted(row[4] for row in seen), seen
    # The same open files, the same parent, no trace of another run; the hash seed is the server's.
    assert len(same) == 1 and " 1 False False " in same.pop(), same
    wait_for("the same server", lambda: servers(d) == server)  # it may be forking just now
    # None has a descriptor by which processes could be moved.
    for pid in of_warden(d):
        assert not [n for n in os.listdir(f"/proc/{pid}/fd") if "cgroup" in os.readlink(f"/proc/{pid}/fd/{n}")]
    wait_for("two that wait", lambda: len(waiting(d)) == 2)
    # Two at once have both one.
    note = IS_WARM.replace("print(", "open(f'/tmp/{os.getpid()}.is', 'w').write(str(", 1) + ")"
    ids = [d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"background": True, "command":
           ["python3", "-c", f"import os, time; {note}; time.sleep(60)"]})["exec_id"] for _ in range(2)]
    wait_for("their notes", lambda: d.run(box, "cat /tmp/*.is")["stdout"] == "TrueTrue")
    for e in ids:
        d.must(200, "POST", f"/api/sandboxes/{box}/execs/{e}/signal", {"signal": "KILL"})
    # Files that were loaded ahead have changed: another server.
    await_waiting(d)
    d.run(box, "mkdir -p ~/.local/lib/python3.11/site-packages")
    assert d.run(box, ["python3", "-c", "print(1)"])["stdout"] == "1\n"
    wait_for("another server", lambda: servers(d) and servers(d) != server)
    # It dies: another one, and what runs goes on.
    await_waiting(d)
    server = servers(d)
    e = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"background": True, "command":
               ["python3", "-c", "import time; time.sleep(2); print('done')"]})["exec_id"]
    os.kill(server[0], 9)
    wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{e}")["status"] == "ended")
    assert b"done" in d.must(200, "GET", f"/api/sandboxes/{box}/execs/{e}/output")
    await_waiting(d)
    assert servers(d) != server
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    assert servers(d) == [] and waiting(d) == []


DENIED = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
if sys.argv[1] == 'far' and os.fork() == 0:  # not a child of the command any more, in a session of its own
    os.setsid()
    if os.fork() == 0:
        time.sleep(.1); libc.mount(b'a', b'/tmp', b'tmpfs', 0, 0); open('/tmp/far', 'w').close()
    os._exit(0)
if sys.argv[1] == 'near': libc.mount(b'a', b'/tmp', b'tmpfs', 0, 0)
while sys.argv[1] == 'far' and not os.path.exists('/tmp/far'): time.sleep(.01)
time.sleep(.2)
"""


def test_denied(d):
    """Commands share a filter, and each is told of its own denied calls."""
    box = d.make(template="warm")
    await_waiting(d)
    d.run(box, ["python3", "-c", "1"])
    for which in (("near", "none"), ("far", "none")):
        wait_for("two that wait", lambda: len(waiting(d)) == 2)
        ids = [d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"background": True, "command": ["python3", "-c", DENIED, w]})["exec_id"]
               for w in which]
        ends = []
        for e in ids:
            wait_for("its end", lambda e=e: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{e}")["status"] == "ended")
            ends.append(d.must(200, "GET", f"/api/sandboxes/{box}/execs/{e}"))
        assert [e["hints"] for e in ends] == [["syscall"], []], ends
        d.run(box, "rm -f /tmp/far")
    # Too many end the command that made them, and no other.
    wait_for("two that wait", lambda: len(waiting(d)) == 2)
    quiet = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"background": True, "command":
                   ["python3", "-c", "import time; time.sleep(1); print('done')"]})["exec_id"]
    got = d.run(box, ["python3", "-c", "import ctypes; l = ctypes.CDLL(None)\nwhile True: l.mount(b'a', b'/tmp', b'tmpfs', 0, 0)"])
    assert got["cause"] == "syscall", got
    wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{quiet}")["status"] == "ended")
    assert d.must(200, "GET", f"/api/sandboxes/{box}/execs/{quiet}")["cause"] == "exited"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


LOADED = "import sys; print(*[n for n in ('json', 'random', 'logging.handlers', 'decimal', 'mymod', 'nowhere') if n in sys.modules])"


def test_modules(d):
    """Modules that the template names are imported ahead, and a program notices by the time alone."""
    box = d.make(template="ahead")

    def run(code, words=(), **more):
        await_waiting(d)
        return d.run(box, ["python3", "-c", code, *words], **more)
    assert run(LOADED)["stdout"] == "json random logging.handlers decimal\n"
    time.sleep(1.2)
    got = [run("import json, logging, random, time; print(random.random(), random.getrandbits(99), time.time() - logging._startTime < 1);" + IS_WARM)["stdout"].split()
           for _ in range(3)]
    assert all(g[2:] == ["True", "True"] for g in got) and len({g[0] for g in got}) == len({g[1] for g in got}) == 3, got
    # A program's own module comes first, where a fresh interpreter would find it.
    d.run(box, "mkdir -p sub; echo 'x = 5' >json.py; echo 'x = 6' >sub/decimal.py; echo 'import decimal, json; print(decimal.x, hasattr(json, \"x\"))' >sub/prog.py")
    assert run("import json; print(json.x)")["stdout"] == "5\n"
    await_waiting(d)
    assert d.run(box, ["python3"], stdin="import json; print(json.x)")["stdout"] == "5\n"
    await_waiting(d)
    assert d.run(box, ["python3", "sub/prog.py"])["stdout"] == "6 False\n"
    assert run(LOADED + ";" + IS_WARM, workdir="/tmp")["stdout"].endswith("\nTrue\n")
    d.run(box, "rm -r json.py sub")
    # What a module asks the environment for when it is imported, it asks that of its command.
    d.run(box, "p=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p $p; "
               "printf 'import os\\nVALUE = os.environ.get(\"MYMOD\", \"none\")\\nprint(\"imported\")\\n' >$p/mymod.py")
    run("1")  # notices it
    wait_for("mymod ahead", lambda: "mymod" in run(LOADED)["stdout"])
    use = "import mymod, sys; print(mymod.VALUE);" + IS_WARM
    assert run(use)["stdout"] == "none\nTrue\n"
    assert run(use, env={"OTHER": "1"})["stdout"] == "none\nTrue\n"
    assert run(use, env={"MYMOD": "given"})["stdout"] == "imported\ngiven\nFalse\n"
    assert run(use, env={"OMP_NUM_THREADS": "1"})["stdout"] == "imported\nnone\nFalse\n"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    # In boxes for one run, too.
    d.must(200, "POST", "/api/run", {"template": "ahead-pooled", "code": "1"})
    await_waiting(d)
    got = d.must(200, "POST", "/api/run", {"template": "ahead-pooled", "code": LOADED + ";" + IS_WARM})
    assert got["stdout"] == "json\nTrue\n", got


def test_limits(d):
    box = d.make(template="warm")

    def run(code, **more):
        await_waiting(d)
        return d.run(box, ["python3", "-c", code], **more)
    assert run("x = bytearray(1 << 30)")["cause"] == "memory"
    assert run("while True: pass", timeout=1)["cause"] == "wall_time"
    assert run("while True: pass", cpu_time=1)["cause"] == "cpu_time"
    got = run("import ctypes, os; l = ctypes.CDLL(None, use_errno=True); r = l.mount(b'a', b'/tmp', b'tmpfs', 0, 0); print(r, os.strerror(ctypes.get_errno()))")
    assert got["stdout"] == "-1 Operation not permitted\n", got
    assert "mount" in json.dumps(got["hints"]) or "mount" in json.dumps(got), got
    got = run("import ctypes; l = ctypes.CDLL(None)\nwhile True: l.mount(b'a', b'/tmp', b'tmpfs', 0, 0)")
    assert got["cause"] == "syscall", got
    got = run("import os\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: import time; time.sleep(3); os._exit(0)\n    n += 1\nexcept OSError: print(n)")
    assert 30 <= int(got["stdout"]) <= 40, got
    # What it left has all processes for a while: then one waits again, as run() sees.
    got = run("open('/workspace/f', 'wb').truncate(1 << 50)")
    assert got["exit_code"] != 0, got
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def pool(d):
    return d.must(200, "GET", "/api/metrics")["pool"]


def test_pool(d):
    def full(count):
        wait_for("the pool to be full", lambda: pool(d)["making"] == 0 and pool(d)["ready"] == pool(d)["wanted"] >= count)
    box = d.make(template="pooled")
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    full(2)
    await_waiting(d, 2)
    now = pool(d)
    assert now["warm"] == 2 and now["memory_bytes"] == 2 * (5 << 20) + 2 * (512 << 10) <= now["memory_limit_bytes"], now
    claimed = now["claimed"]
    box = d.make(template="pooled", env={"MINE": "1"})
    got = d.run(box, ["python3", "-c", "import os; print(os.environ['MINE']);" + IS_WARM])
    assert got["stdout"] == "1\nTrue\n" and pool(d)["claimed"] == claimed + 1, got
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    # Runs have a shape, and interpreters, of their own.
    d.must(200, "POST", "/api/run", {"template": "pooled", "code": "1"})
    full(4)
    await_waiting(d, 4)
    for request in ({"code": IS_WARM}, {"command": ["python3", "-c", IS_WARM]}, {"command": ["/usr/bin/python3", "-c", IS_WARM]}):
        full(4)
        await_waiting(d, 4)
        got = d.must(200, "POST", "/api/run", {"template": "pooled", **request})
        assert got["stdout"] == "True\n", (request, got)
    # Not where another program takes the code.
    d.must(200, "DELETE", f"/api/sandboxes/{d.make(template='shells')}")
    full(5)
    assert pool(d)["warm"] == 4, pool(d)


TESTS = (test_same, test_words, test_environment, test_own, test_changed, test_attacked, test_forks, test_denied, test_modules,
         test_limits, test_pool)


def main():
    chosen = [t for t in TESTS if len(sys.argv) < 2 or t.__name__ in sys.argv[1:]]
    for test in chosen:
        with Registry(REGISTRY) as registry, Daemon("--registry", registry.path) as d:
            test(d)
            print("ok", test.__name__, flush=True)


if __name__ == "__main__":
    main()
