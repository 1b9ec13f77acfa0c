# SPDX-License-Identifier: Apache-2.0
"""check_layers over small trees made for the purpose: each rule is broken once and kept once."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "check_layers")

TABLE = """
base:
core: base
init: base base_plan.h
file core/client*: base core init
main: *
tests/*: *
set libc: stdio.h sys/*.h
system base init: libc   # a comment
header cmocka.h: tests/*
"""


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.tree = tempfile.TemporaryDirectory()
        self.write("tools/layers.txt", TABLE)
        self.write("src/base/a.h", "")
        self.write("src/core/spec.h", "")
        self.write("src/init/init.h", "")

    def tearDown(self):
        self.tree.cleanup()

    def write(self, path, text):
        full = os.path.join(self.tree.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(text)

    def run_tool(self):
        return subprocess.run([sys.executable, TOOL, self.tree.name], capture_output=True, text=True, check=False)

    def holds(self, path, text):
        self.write(path, text)
        result = self.run_tool()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def breaks(self, path, text, *words):
        self.write(path, text)
        result = self.run_tool()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stdout)

    def table_wrong(self, table, word):
        self.write("tools/layers.txt", table)
        result = self.run_tool()
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn(word, result.stderr)

    def test_own_folder_and_allowed_folder(self):
        self.holds("src/core/quota.c", '#include "core/spec.h"\n#include "base/a.h"\n')

    def test_folder_not_in_row(self):
        self.breaks("src/base/x.c", '\n\n#include "core/spec.h"\n',
                    "src/base/x.c:3", '"core/spec.h"', "may include: nothing of ours")

    def test_spaces_before_include(self):
        self.breaks("src/base/x.c", '  #  include   "core/spec.h"\n', "src/base/x.c:1")

    def test_def_files_are_read(self):
        self.breaks("src/base/x.def", '#include "core/spec.h"\n', "src/base/x.def:1")

    def test_main_may_include_everything_but_nobody_main(self):
        self.write("src/main/m.h", "")
        self.holds("src/main/m.c", '#include "core/spec.h"\n#include "init/init.h"\n')
        self.breaks("src/core/x.c", '#include "main/m.h"\n', "main/m.h")

    def test_file_rule_replaces_folder_rule(self):
        self.holds("src/core/client.c", '#include "init/init.h"\n#include "core/spec.h"\n')
        self.breaks("src/core/other.c", '#include "init/init.h"\n', "src/core/other.c:1")

    def test_generated_header_only_where_named(self):
        self.holds("src/init/f.c", '#include "base_plan.h"\n')
        self.breaks("src/core/f.c", '#include "base_plan.h"\n', "no file of src/")

    def test_path_must_start_at_src(self):
        self.breaks("src/core/x.c", '#include "../base/a.h"\n', "write the path from src/")
        self.breaks("src/core/x.c", '#include "spec.h"\n', "no file of src/")

    def test_system_headers(self):
        self.holds("src/init/x.c", "#include <stdio.h>\n#include <sys/mount.h>\n")
        self.breaks("src/init/x.c", "#include <openssl/ssl.h>\n", "src/init/x.c:1", "openssl/ssl.h", "libc")

    def test_system_headers_free_where_no_row(self):
        self.holds("src/core/x.c", "#include <openssl/ssl.h>\n")

    def test_header_named_in_one_folder(self):
        self.holds("tests/unit/base/t.c", "#include <cmocka.h>\n")
        self.breaks("src/core/x.c", "#include <cmocka.h>\n", "tests/* alone")

    def test_folder_without_row(self):
        self.breaks("src/extra/x.c", "", "'extra' has no row")

    def test_row_within_its_group(self):
        table = "group low:\ngroup high: low middle/port\nlow/a:\nlow/b: low/a made.h\nmiddle/port:\nmiddle/rest:\n"
        self.write("tools/layers.txt", table + "high/x: low/b middle/port/one.h\nbase:\ncore:\ninit:\n")
        self.assertEqual(self.run_tool().returncode, 0)
        self.table_wrong(table + "high/x: middle/rest\n", "allows 'middle/rest', but group 'high' may know only: low middle/port")
        self.table_wrong(table + "low/c: high/x\n", "may know only: itself")
        self.table_wrong(table + "file low/a_*: middle/port\n", "'low/a_*'")

    def test_table_with_circle(self):
        self.table_wrong("a: b\nb: c\nc: a\n", "circle")

    def test_table_held_folder_reaches_free_folder(self):
        self.table_wrong("a: b\nb:\nset libc: stdio.h\nsystem a: libc\n", "'b', which is not")

    def test_table_nonsense(self):
        self.table_wrong("a b c\n", "expected")
        self.table_wrong("what is this: a\n", "unknown rule")
        self.table_wrong("a:\na:\n", "second row")
        self.table_wrong("a:\nsystem a: nothing\n", "no set")

    def test_the_real_table_is_sound(self):
        with open(os.path.join(TOP, "tools", "layers.txt"), encoding="utf-8") as table:
            self.write("tools/layers.txt", table.read())
        shutil.rmtree(os.path.join(self.tree.name, "src"))  # its folders have no row there
        result = self.run_tool()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
