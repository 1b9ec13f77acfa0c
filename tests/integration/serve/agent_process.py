# SPDX-License-Identifier: Apache-2.0
"""A `cay agent` that a test has started: its log, and its end."""
import contextlib
import signal
import subprocess

from daemon import PATIENCE_S


class AgentProcess:
    def __init__(self, words, log_path, code=None):
        """code: what it reads from standard input, which ends then."""
        self.log_path = log_path
        with open(log_path, "ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=log, stderr=log)
        with contextlib.suppress(BrokenPipeError):  # one that ends at once reads nothing
            if code is not None:
                self.process.stdin.write((code + "\n").encode())
            self.process.stdin.close()

    def log(self):
        with open(self.log_path, encoding="utf-8") as f:
            return f.read()

    def stop(self, expect=0):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == expect, (self.process.returncode, self.log())

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)
