# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a document against a daemon: every block of ```sh, with what it must answer in the next block of ```json or ```text."""
import json
import re
import subprocess

from daemon import PATIENCE_S

BLOCK = re.compile(r"```(sh|json|text)\n(.*?)```", re.S)


def fits(want, got):
    """A document shows some members, "…" for any value, and numbers as examples."""
    if want == "…" or (isinstance(want, (int, float)) and not isinstance(want, bool) and isinstance(got, (int, float)) and want < 0):
        return True
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and fits(v, got[k]) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(want) <= len(got) and all(fits(w, g) for w, g in zip(want, got))
    return want == got


def run_lines(path, d, port="8888"):
    """TOKEN is set as the document says; the port is the daemon's own."""
    with open(path, encoding="utf-8") as f:
        blocks = BLOCK.findall(f.read())
    ran, out = 0, ""
    env = f"TOKEN={d.token}\n"
    for kind, text in blocks:
        if kind == "sh":
            text = text.replace(f"localhost:{port}", f"localhost:{d.port}")
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", env + text], capture_output=True, text=True, timeout=PATIENCE_S)
            assert done.returncode == 0, (text, done)
            env += "".join(f"{line}\n" for line in text.splitlines() if re.match(r"[A-Z_]+=", line) and "$(" not in line)
            out, ran = done.stdout, ran + 1
        elif kind == "json":
            assert fits(json.loads(text), json.loads(out)), (text, out)
        else:
            assert all(line in out for line in text.splitlines()), (text, out)
    assert ran > 2, f"{path} shows {ran} commands"
