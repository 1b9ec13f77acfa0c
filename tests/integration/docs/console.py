# SPDX-License-Identifier: Apache-2.0
"""Pages as terminals: what a page shows is run, and what it shows as output is compared. CONTRIBUTING.md has the convention.

A page is one session of one shell in an empty folder that has build/ with the programs. Lines of a ```console block that begin with
"$ " are commands, "> " goes on with one, the others are its output: "…" stands for anything in a line, a line "…" for any lines.
With no output shown, the exit status must be 0; with some, the output is what is compared. A command whose shown output has "serves" in it is
a daemon: the page goes on when that was printed, and ends it.
"""
import os
import re
import secrets
import selectors
import shutil
import signal
import subprocess
import tempfile
import time

BUILD = os.environ["CAY_BUILD_DIR"]
SOURCE = os.environ["CAY_SOURCE_DIR"]
PATIENCE_S = 90
PROGRAMS = ("cay", "cay-front", "cay-warden", "cay-init", "cay-tls", "cay-docker", "cay-process", "cay-net", "cay-edge", "cay-agent")
OUTPUT_MAX = 4 << 20
ANY_ID = re.compile(r"\baaaa[a-z2-7]{24}\b")  # an id on a page stands for whatever id this run makes
SHOWS_NO_COMMANDS = {"text", "c", "yaml", "nginx", "ini", "json", "ts"}  # languages of blocks that nothing runs
NOT_HERE = {"systemctl", "journalctl", "docker", "apt"}  # programs of ```console not-here: only their syntax is looked at

# Programs are what the build made: make's targets must be there, `make run` does what it does behind the build, and
# `make sdk` brings what a test has built.
MAKE = """#!/bin/sh
make=$(PATH=$CAY_DOCS_PATH command -v make) || exit 1
"$make" -C "$CAY_DOCS_SOURCE" -n "$@" >/dev/null || exit 1
if [ "$1" = run ]; then exec "$CAY_DOCS_SOURCE/scripts/run_daemon" build; fi
if [ "$1" = sdk ]; then mkdir -p build/sdk && cp "$CAY_DOCS_BUILD"/sdk/*.tgz build/sdk/; fi
"""


class Failure(Exception):
    pass


class Step:
    def __init__(self, page, line, command):
        self.where, self.command, self.shown = f"{page}:{line}", command, []

    @property
    def is_daemon(self):
        return any(re.match(r"cay \S+ serves ", line) for line in self.shown)

    def pattern(self):
        """What is shown as a regular expression over whole lines."""
        parts = []
        for line in self.shown:
            if line == "…":
                parts.append(r"(?:[^\n]*\n)*?")
            else:
                parts.append("[^\n]*".join(ANY_ID.sub(lambda _: ANY_ID.pattern, re.escape(p)) for p in line.split("…")) + "\n")
        return re.compile("".join(parts))

    def check(self, output, status):
        if not self.shown:
            if status != 0:
                raise Failure(f"{self.where}: {self.command!r} ended with {status}:\n{output}")
            return
        if not self.pattern().fullmatch(tidy(output)):
            raise Failure(f"{self.where}: {self.command!r} (status {status}) printed\n{tidy(output)}--- and the page shows\n"
                          + "\n".join(self.shown))


def tidy(output):
    """Without blanks at the ends of lines, and with an end of the last one."""
    lines = [line.rstrip() for line in output.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return "".join(line + "\n" for line in lines)


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(") ")[2].startswith("Z")
    except OSError:
        return True


def blocks(page, text):
    """(line, words behind the fence, lines) of each block."""
    found, begin = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("```"):
            if begin:
                begin[2].append(line)
        elif not line.startswith("```"):
            raise Failure(f"{page}:{number}: blocks begin at the first column")
        elif begin:
            found.append(begin)
            begin = None
        else:
            begin = (number, line[3:].split(), [])
    if begin:
        raise Failure(f"{page}:{begin[0]}: the block has no end")
    return found


def steps_of(page, first, lines):
    steps = []
    for number, line in enumerate(lines, first + 1):
        if line.startswith("$ "):
            steps.append(Step(page, number, line[2:]))
        elif not steps:
            raise Failure(f"{page}:{number}: a console block begins with a command: '$ …'")
        elif line.startswith("> ") and not steps[-1].shown:
            steps[-1].command += "\n" + line[2:]
        else:
            steps[-1].shown.append(line.rstrip())
    return steps


def check_elsewhere(step):
    program = step.command.split()[0]
    if program not in NOT_HERE:
        raise Failure(f"{step.where}: {program} can be run here")
    subprocess.run(["sh", "-n", "-c", step.command], check=True, timeout=PATIENCE_S)


def steps(page, text):
    """All commands of a page that are run, in their order."""
    found = []
    for number, words, lines in blocks(page, text):
        if words == ["console"]:
            found += steps_of(page, number, lines)
        elif words == ["console", "not-here"]:
            for step in steps_of(page, number, lines):
                check_elsewhere(step)
        elif len(words) != 1 or words[0] not in SHOWS_NO_COMMANDS:
            raise Failure(f"{page}:{number}: what is in this block? {' '.join(words) or 'nothing'} is none of console, "
                          + ", ".join(sorted(SHOWS_NO_COMMANDS)))
    return found


class Terminal:
    """A shell in a folder of its own. `with` it; nothing is left afterwards."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="cay-docs-")
        self.daemon, self.daemons = None, 0
        self.mark = secrets.token_hex(8)
        self.fill()
        self.shell = subprocess.Popen(["sh"], cwd=os.path.join(self.folder, "cay"), env=self.environment(), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        os.set_blocking(self.shell.stdout.fileno(), False)
        return self

    def fill(self):
        os.makedirs(os.path.join(self.folder, "bin"))
        os.makedirs(os.path.join(self.folder, "home"))
        os.makedirs(os.path.join(self.folder, "cay", "build"))
        for name in PROGRAMS:
            if os.path.exists(os.path.join(BUILD, name)):
                shutil.copy2(os.path.join(BUILD, name), os.path.join(self.folder, "cay", "build", name))
        os.symlink(os.path.join(SOURCE, "sdk"), os.path.join(self.folder, "cay", "sdk"))
        with open(os.path.join(self.folder, "bin", "make"), "w", encoding="utf-8") as f:
            f.write(MAKE)
        os.chmod(f.name, 0o755)
        os.symlink("../cay/build/cay", os.path.join(self.folder, "bin", "cay"))

    def environment(self):
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith(("CAY_", "SANDBOX_", "DOCKER_", "LC_", "MAKE", "MESON")) or k.startswith("CAY_TEST_")}
        for name in ("PORT", "HOST", "MFLAGS", "http_proxy", "https_proxy", "XDG_STATE_HOME"):
            kept.pop(name, None)
        kept.update({"CAY_DOCS_SOURCE": SOURCE, "CAY_DOCS_BUILD": BUILD, "CAY_DOCS_PATH": kept["PATH"], "HOME": os.path.join(self.folder, "home"),
                     "LANG": "C.UTF-8", "TERM": "dumb", "CAY_RUNS": os.path.join(self.folder, "runs"),
                     "TMPDIR": os.path.join(self.folder, "home"),
                     "PATH": os.path.join(self.folder, "bin") + ":" + kept["PATH"]})
        return kept

    def send(self, script):
        self.shell.stdin.write(script.encode())
        self.shell.stdin.flush()

    def receive(self, what):
        """Until the mark, with a deadline."""
        out, end = b"", time.monotonic() + PATIENCE_S
        mark = re.compile(rb"\x1e" + self.mark.encode() + rb" (\d+)\n")
        with selectors.DefaultSelector() as s:
            s.register(self.shell.stdout, selectors.EVENT_READ)
            while time.monotonic() < end and len(out) < OUTPUT_MAX:
                s.select(0.5)
                more = self.shell.stdout.read()
                if more == b"":
                    raise Failure(f"{what}: the shell is gone: {out.decode(errors='replace')}")
                out += more or b""
                found = mark.search(out)
                if found:
                    return out[:found.start()].decode(errors="replace"), int(found.group(1))
        raise Failure(f"{what}: no end within {PATIENCE_S} s, or too much output: {out[-2000:].decode(errors='replace')}")

    def run(self, command, what):
        """Output and status. The status before it is $? to it, as at a prompt."""
        self.send(f"(exit ${{cay_docs_status:-0}})\n{{ {command}\n}} </dev/null\ncay_docs_status=$?\n"
                  f"printf '\\036{self.mark} %d\\n' $cay_docs_status\n")
        return self.receive(what)

    def start_daemon(self, step):
        """Its output goes to a file, which is looked at until it has what the page shows."""
        self.stop_daemon(step.where)
        self.daemons += 1
        path = os.path.join(self.folder, f"daemon{self.daemons}")
        for name in (path, path + ".log"):
            with open(name, "x", encoding="utf-8"):
                pass
        out, _ = self.run(f"{step.command} >{path} 2>{path}.log &\necho $!", step.where)
        self.daemon = int(out.split()[-1])
        text = ""
        for _ in range(PATIENCE_S * 20):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            if step.pattern().fullmatch(tidy(text)) and "/execute\n" in text:
                return
            if has_ended(self.daemon):
                break
            time.sleep(0.05)
        with open(path + ".log", encoding="utf-8", errors="replace") as f:
            raise Failure(f"{step.where}: {step.command!r} printed\n{text}{f.read()[-2000:]}--- and the page shows\n" + "\n".join(step.shown))

    def stop_daemon(self, what):
        if self.daemon is None:
            return
        pid, self.daemon = self.daemon, None
        out, _ = self.run(f"kill -TERM {pid}; wait {pid}; echo $?", what)
        if out.split()[-1] != "0":
            with open(os.path.join(self.folder, f"daemon{self.daemons}.log"), encoding="utf-8", errors="replace") as f:
                raise Failure(f"{what}: the daemon ended with {out.split()[-1]}: {f.read()[-2000:]}")

    def do(self, step):
        if step.is_daemon:
            self.start_daemon(step)
        else:
            step.check(*self.run(step.command, step.where))

    def __exit__(self, kind, value, trace):
        try:
            self.stop_daemon("at the end")
        except Failure:
            if kind is None:
                raise
        finally:
            try:
                self.shell.stdin.close()
                self.shell.wait(PATIENCE_S)
            except (OSError, subprocess.TimeoutExpired):
                pass
            try:
                os.killpg(self.shell.pid, signal.SIGKILL)  # what a page left in the background
            except ProcessLookupError:
                pass
            self.shell.wait()
            self.shell.stdout.close()
            shutil.rmtree(self.folder)


def run_page(page, text):
    """All of a page's commands; how many there were."""
    found = steps(page, text)
    with Terminal() as terminal:
        for step in found:
            terminal.do(step)
    return len(found)
