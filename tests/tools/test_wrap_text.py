#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wrap_text over small files: what is too long is wrapped, everything else stays, and a second run changes nothing."""
import os
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "wrap_text")
LONG = " ".join(["word"] * 30)  # 149 columns
HALF = " ".join(["word"] * 21)  # 104


def run(name, text):
    """What is left of a file of this name; --check must say beforehand whether it changes."""
    with tempfile.TemporaryDirectory(prefix="cay-wrap-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        would = subprocess.run([TOOL, "--check", path], capture_output=True, text=True, check=False, timeout=60)
        subprocess.run([TOOL, path], check=True, timeout=60)
        with open(path, encoding="utf-8") as f:
            new = f.read()
        again = subprocess.run([TOOL, "--check", path], capture_output=True, text=True, check=False, timeout=60)
    assert would.returncode == (new != text) and again.returncode == 0, (would, again)
    return new


def main():
    # A comment becomes a block, a block's paragraph is wrapped, and the paragraph after it stays.
    got = run("a.c", f"/* {LONG} */\nint a;\n")
    assert got.startswith("/*\n * word") and got.endswith("word\n */\nint a;\n") and max(map(len, got.split("\n"))) <= 110, got
    got = run("a.h", f"        /*\n         * {LONG}\n         *\n         * short\n         */\n")
    assert "         *\n         * short\n" in got and max(map(len, got.split("\n"))) <= 110, got
    # A comment behind code goes above the statement; rows of a table, and what is laid out by hand, stay.
    got = run("a.c", f"        f(a,\n          b); /* {HALF} */\n")
    assert got.endswith(" */\n        f(a,\n          b);\n") and got.startswith("        /*"), got
    for same in (f"ROW(a) /* {LONG} */\n", "/*\n * a  b  c " + LONG + "\n */\n", f"int a; // {LONG}\n"):
        assert run("a.def", same) == same, same
    # A row begins with all words up to two spaces: rows are not joined, and what is too long hangs below its text.
    got = run("a.h", f"/*\n *   serve A PORT      one\n *   fetch A PORT NR   {HALF}\n *   hold   two\n */\n")
    assert got.startswith("/*\n *   serve A PORT      one\n *   fetch A PORT NR   word") and "\n *                     word" in got, got
    assert got.endswith("\n *   hold   two\n */\n"), got
    # Pages: paragraphs and items, but no tables, code or headings; code spans stay whole.
    for same in (f"| {LONG} |\n", f"```text\n{LONG}\n```\n", f"# {LONG}\n", f"---\nname: {LONG}\n---\n"):
        assert run("a.md", same) == same, same
    got = run("a.md", f"- {LONG}\n- short\n")
    assert got.endswith("\n- short\n") and "\n  word" in got and max(map(len, got.split("\n"))) <= 100, got
    got = run("a.md", " ".join(["word"] * 19) + " `GET /api/x` more\n")
    assert "`GET /api/x`" in got and "\n" in got[:-1], got
    assert "\n- " not in run("a.md", f"{LONG[:97]} - {LONG}\n"), "a dash does not become an item"
    print("ok")


if __name__ == "__main__":
    main()
