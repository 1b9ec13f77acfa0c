#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pages say is so: commands run, references agree with their tables, links lead somewhere. test_docs.py [TEST…] runs some."""
import ctypes
import fcntl
import glob
import json
import os
import re
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from console import BUILD, PATIENCE_S, SOURCE, Failure, Terminal, run_page, steps  # noqa: E402

CLONE_NEWNET = 0x40000000


def own_network():
    """Ports are as the pages write them, whoever else listens on this machine: a network of our own, with loopback alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        print("needs root, for a network of its own:", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        up = struct.pack("16sH14x", b"lo", 1 | 64)  # IFF_UP, IFF_RUNNING
        fcntl.ioctl(s, 0x8914, up)  # SIOCSIFFLAGS


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def table(path, macro, fields):
    """Rows of a .def file, as texts."""
    text = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
    string = r'"((?:[^"\\]|\\.)*)"'
    found = re.findall(macro + r"\(\s*\w+\s*" + (r",\s*" + string + r"\s*") * fields + r"\)", text)
    assert len(found) == text.count(macro + "("), f"{path}: some rows are not understood"
    return found


def sections(text, level):
    """{title: text} of the headings of a level."""
    parts = re.split(rf"^{'#' * level} (.*)$", text, flags=re.M)
    return {title.strip(): body.split("\n#")[0] for title, body in zip(parts[1::2], parts[2::2])}


def plain(text):
    return " ".join(text.split())


class Pages(unittest.TestCase):
    """Each command that a page shows."""

    def check(self, *path):
        self.assertGreater(run_page("/".join(path), read(*path)), 0)

    def test_readme(self):
        self.check("README.md")

    def test_configuration(self):
        self.check("docs", "configuration.md")

    def test_deployment(self):
        self.check("docs", "deployment.md")

    def test_operations(self):
        self.check("docs", "operations.md")

    def test_volumes(self):
        self.check("docs", "volumes.md")

    def test_time(self):
        self.check("docs", "time.md")

    def test_mcp(self):
        self.check("docs", "mcp.md")

    def test_sdk_python(self):
        self.check("docs", "sdk-python.md")

    def test_skill(self):
        self.check("skills", "cay", "SKILL.md")

    def test_sdk_typescript(self):
        """With the package of this tree, where its compiler was fetched."""
        if not os.path.isdir(os.path.join(SOURCE, "build/npm/typescript/node_modules")):
            self.skipTest("'scripts/bootstrap check' fetches the compiler")
        subprocess.run([os.path.join(SOURCE, "sdk/typescript/tools/build"), os.path.join(BUILD, "sdk")], check=True, timeout=600)
        self.check("docs", "sdk-typescript.md")

    def test_registry(self):
        """With the page's own file as registry.yaml."""
        page = read("docs", "registry.md")
        example = re.search(r"```yaml\n(.*?)```", page, re.S).group(1)
        first = ["```console", "$ cat >registry.yaml <<'END'", *("> " + line for line in example.splitlines()), "> END", "```", ""]
        self.assertGreater(run_page("docs/registry.md", "\n".join(first) + page), 1)


class References(unittest.TestCase):
    def test_configuration_is_the_table(self):
        page = os.path.join(SOURCE, "docs", "configuration.md")
        done = subprocess.run([os.path.join(SOURCE, "tools", "update_config_doc"), "--check", page], capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_configuration_is_what_the_program_knows(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("CAY_", "SANDBOX_")) and k not in ("PORT", "HOST")}
        known = subprocess.run([os.path.join(BUILD, "cay"), "config"], check=True, capture_output=True, text=True, timeout=PATIENCE_S,
                               env=env).stdout
        known = {line.split(" = ")[0] for line in known.splitlines()}
        self.assertEqual(set(re.findall(r"^\| `(\w+)` \|", read("docs", "configuration.md"), re.M)), known | {"listen"})

    def test_every_key_of_the_registry(self):
        """Each key of the schema (which is made from the tables) stands on the page."""
        done = subprocess.run([os.path.join(BUILD, "cay"), "template", "schema"], check=True, capture_output=True, text=True, timeout=PATIENCE_S)
        known, told = set(), set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", read("docs", "registry.md")))))

        def walk(schema):
            for name, value in schema.get("properties", {}).items():
                known.add(name)
                walk(value)
            for part in (*schema.get("patternProperties", {}).values(), *schema.get("$defs", {}).values(), schema.get("additionalProperties")):
                if isinstance(part, dict):
                    walk(part)

        walk(json.loads(done.stdout))
        self.assertGreater(len(known), 30)
        self.assertEqual(known - told - {"containers"}, set())

    def test_every_cause(self):
        causes = dict(table("src/domain/model/cause.def", "CAY_CAUSE", 2))
        told = {t.strip("`"): body for t, body in sections(read("docs", "operations.md"), 3).items() if t.startswith("`")}
        self.assertEqual(set(told), set(causes))
        for word, advice in causes.items():
            self.assertIn(plain(advice), plain(told[word]), word)

    def test_every_error_code(self):
        codes = dict(table("src/foundation/base/error_codes.def", "CAY_CODE", 2))
        codes.pop("ok")
        told = set(re.findall(r"^\| `(\w+)` \| \d", read("docs", "operations.md"), re.M))
        self.assertEqual(told & set(codes), set(codes))

    def test_every_folder(self):
        """The tree on the page has every folder that tools/layers.txt has a rule for."""
        rules = re.findall(r"^([a-z/_-]+):", read("tools", "layers.txt"), re.M)
        tree = sections(read("docs", "architecture.md"), 2)["The tree"].split("```")[1]
        told = set(re.findall(r"[a-z_-]+", tree))
        missing = {r for r in rules if not set(r.split("/")) <= told and not r.startswith(("tests", "tools", "bench"))}
        self.assertEqual(missing, set())

    def test_links(self):
        pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "skills/cay/SKILL.md"] + glob.glob("docs/*.md", root_dir=SOURCE)
        for page in pages:
            text = re.sub(r"```.*?```", "", read(page), flags=re.S)
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if "://" in target or target.startswith("#"):
                    continue
                path = os.path.join(SOURCE, os.path.dirname(page), target.split("#")[0])
                self.assertTrue(os.path.exists(path), f"{page}: {target}")


class Harness(unittest.TestCase):
    """It would notice."""

    def page(self, *lines):
        return run_page("a page", "\n".join(["```console", *lines, "```", ""]))

    def refuses(self, what, *lines):
        with self.assertRaisesRegex(Failure, what):
            self.page(*lines)

    def test_what_is_shown(self):
        self.assertEqual(self.page("$ echo one two; echo three", "one …", "three", "$ X=5", "$ echo $X", "5"), 3)
        self.assertEqual(self.page("$ seq 5", "1", "…", "5", "$ cat <<END", "> a", "> END", "a"), 2)
        self.assertEqual(self.page("$ echo why; exit_with() { return $1; }; exit_with 3", "why", "$ echo $?", "3"), 2)
        self.assertEqual(self.page("$ printf no-end", "no-end", "$ echo to standard error >&2", "to standard error"), 2)

    def test_what_is_not(self):
        self.refuses("printed", "$ echo one", "two")
        self.refuses("printed", "$ echo one; echo two", "one")
        self.refuses("printed", "$ echo one", "one", "two")
        self.refuses("ended with 3", "$ (exit 3)")
        self.refuses("the shell is gone", "$ exit 3")
        self.refuses("begins with a command", "echo one")

    def test_blocks(self):
        for block in ("```", "```sh", "```console as it were"):
            with self.assertRaisesRegex(Failure, "what is in this block"):
                steps("a page", block + "\n$ true\n```\n")
        with self.assertRaisesRegex(Failure, "can be run here"):
            steps("a page", "```console not-here\n$ true\n```\n")
        with self.assertRaisesRegex(Failure, "no end"):
            steps("a page", "```console\n$ true\n")
        self.assertEqual(steps("a page", "```console not-here\n$ systemctl stop cay\n```\n"), [])

    def test_programs(self):
        with Terminal() as t:
            self.assertEqual(t.run("make no-such-target 2>/dev/null", "make")[1], 1)
            self.assertEqual(t.run("make test", "make"), ("", 0))
            self.assertEqual(t.run("cay version", "cay")[1], 0)


if __name__ == "__main__":
    own_network()
    unittest.main(verbosity=2)
