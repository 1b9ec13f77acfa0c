#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_paths over small trees made for the purpose: names that exist, and names that do not."""
import os
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "check_paths")


def check(text, status, *lines):
    """One run over a tree with these documents; `lines` must be all that it finds."""
    with tempfile.TemporaryDirectory(prefix="cay-paths-") as root:
        files = {"docs/other.md": text, "src/low/base/a.c": "int on_a(void);", "src/low/sys/b.h": "", "src/prog/main.c": "",
                 "tools/t": ""}
        for name, content in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                f.write(content)
        subprocess.run(["git", "-C", root, "init", "-q"], check=True, timeout=60)
        subprocess.run(["git", "-C", root, "add", "."], check=True, timeout=60)
        done = subprocess.run([TOOL, root], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done
    assert done.stdout.split("\n")[:-2] == list(lines), done


def main():
    check("`src/low/base/a.c` `low/base/a.c` `a.c` `low/` `src/low/base` `*.h` `src/prog/m*.c` `tools/t`", 0)
    check("words: `a/b`, `text/plain`, `GET /x.c y`, `.def` and `--flag`", 0)
    check("one\n`low/base/b.c`\n", 1, "docs/other.md:2: there is no low/base/b.c")
    check("`nothing.h` `tools/u`", 1, "docs/other.md:1: there is no nothing.h", "docs/other.md:1: there is no tools/u")
    check("`base/a.c` (`on_a`), and `base/a.c` (the first)", 0)
    check("`base/a.c` (`on_b`)", 1, "docs/other.md:1: there is no on_b in base/a.c")
    print("ok")


if __name__ == "__main__":
    main()
