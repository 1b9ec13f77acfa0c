# SPDX-License-Identifier: Apache-2.0
"""What a copy of a project has that the project has not: shown as a diff, and applied file by file."""
import difflib
import os
import shutil

SKIPPED = {".git", "__pycache__", ".pytest_cache", ".mypy_cache", "node_modules"}


def files_of(folder):
    found = {}
    for top, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f not in SKIPPED and not os.path.islink(os.path.join(top, f))]
        for name in names:
            path = os.path.join(top, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as f:
                    found[os.path.relpath(path, folder)] = f.read()
    return found


def lines_of(data):
    try:
        return data.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None


class Changes:
    """Links are left alone: one that leads out of the project must not be written through."""

    def __init__(self, project, copy):
        self.project, self.copy = project, copy
        old, new = files_of(project), files_of(copy)
        self.rows = [(path, old.get(path), new.get(path)) for path in sorted({*old, *new}) if old.get(path) != new.get(path)]

    def __bool__(self):
        return bool(self.rows)

    def diff(self):
        out = []
        for path, old, new in self.rows:
            a, b = lines_of(old or b""), lines_of(new or b"")
            if a is None or b is None:
                out.append(f"binary file {path} {'added' if old is None else 'removed' if new is None else 'changed'}\n")
                continue
            out += difflib.unified_diff(a, b, "/dev/null" if old is None else "a/" + path, "/dev/null" if new is None else "b/" + path)
        return "".join(line if line.endswith("\n") else line + "\n" for line in out)

    def summary(self):
        count = lambda test: sum(1 for _, old, new in self.rows if test(old, new))  # noqa: E731
        return (f"{count(lambda o, n: o is not None and n is not None)} changed, {count(lambda o, n: o is None)} added, "
                f"{count(lambda o, n: n is None)} removed")

    def apply(self):
        for path, _, new in self.rows:
            at = os.path.join(self.project, path)
            inside = os.path.realpath(os.path.dirname(at)) + os.sep
            if not inside.startswith(self.project + os.sep) or os.path.islink(at):
                raise ValueError(f"{path} is behind a link: not applied")
            if new is None:
                os.unlink(at)
                continue
            os.makedirs(os.path.dirname(at), exist_ok=True)
            shutil.copyfile(os.path.join(self.copy, path), at)
            shutil.copymode(os.path.join(self.copy, path), at)
