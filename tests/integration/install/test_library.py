# SPDX-License-Identifier: Apache-2.0
"""libcay.so, its header and the manual pages say the same: what the library hands out, what cay.h declares, what is written about it."""
import os
import re
import subprocess
import unittest

BUILD = os.environ["CAY_BUILD_DIR"]
SOURCE = os.environ["CAY_SOURCE_DIR"]
HEADER = os.path.join(SOURCE, "src", "libcay", "cay.h")
LIBRARY = os.path.join(BUILD, "src", "libcay", "libcay.so")


def output(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}"
    return done.stdout


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def header_code():
    return re.sub(r"/\*.*?\*/", "", read("src", "libcay", "cay.h"), flags=re.S)


def declared():
    return set(re.findall(r"^\w[\w ]*[ *](cay_\w+)\(", re.sub(r"^typedef .*", "", header_code(), flags=re.M), flags=re.M))


class Library(unittest.TestCase):
    def test_hands_out_what_the_header_declares_and_nothing_else(self):
        lines = output("nm", "-D", "--defined-only", LIBRARY).splitlines()
        symbols = {line.split()[2].split("@")[0] for line in lines if line.split()[1] != "A"}
        self.assertGreater(len(declared()), 25)
        self.assertEqual(symbols, declared())

    def test_needs_only_libc_and_has_its_name(self):
        dynamic = output("readelf", "-d", os.path.realpath(LIBRARY))
        self.assertEqual(re.findall(r"NEEDED.*\[(.*)\]", dynamic), ["libc.so.6"])
        self.assertEqual(re.findall(r"SONAME.*\[(.*)\]", dynamic), ["libcay.so.0"])
        self.assertNotIn("TEXTREL", dynamic)

    def test_writes_to_no_stream_and_never_exits(self):
        wanted = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--undefined-only", LIBRARY).splitlines()}
        for name in ("exit", "printf", "puts", "stdout", "perror", "system", "setenv", "putenv", "strerror", "popen"):
            self.assertNotIn(name, wanted)


class Header(unittest.TestCase):
    def check(self, *compiler):
        # Twice: it may be included again.
        output(*compiler, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-",
               input=f'#include "{HEADER}"\n#include "{HEADER}"\nint main(void) {{ return cay_version() == 0; }}\n')

    def test_is_plain_c(self):
        self.check("gcc", "-std=c11", "-x", "c")
        self.check("clang", "-std=c11", "-x", "c")
        self.check("gcc", "-std=c99", "-x", "c")

    def test_is_plain_cpp(self):
        self.check("g++", "-std=c++11", "-x", "c++")

    def test_includes_nothing_of_ours(self):
        self.assertEqual(re.findall(r"#include (.*)", header_code()), ["<stddef.h>", "<stdint.h>"])


class Manual(unittest.TestCase):
    def check_has(self, page, pattern, what):
        self.assertTrue(re.search(pattern, page, flags=re.M), f"{what} is not described")

    def test_pages_are_well_formed(self):
        for page in ("cay.1", "libcay.3"):
            said = output("groff", "-ww", "-mdoc", "-Tutf8", "-z", os.path.join(SOURCE, "man", page))
            self.assertEqual(said, "", page)

    def test_every_function_and_constant_is_described(self):
        page = read("man", "libcay.3")
        synopsis, rest = page.split(".Sh DESCRIPTION")
        self.assertEqual(set(re.findall(r"^\.Fn (cay_\w+)", synopsis, flags=re.M)) - {"cay_output_fn"}, declared())
        for name in sorted(declared() - {"cay_task_free", "cay_result_free", "cay_version", "cay_result_id"}):
            self.check_has(rest, rf"Fn {name}\b", name)
        for name in re.findall(r"\b(CAY_(?:E|NUMBER|WORKSPACE|STD)\w+)\b", header_code()):
            self.check_has(rest, rf"\b{name}\b", name)

    def test_prototypes_are_those_of_the_header(self):
        code = " ".join(header_code().split())
        page = read("man", "libcay.3").split(".Sh DESCRIPTION")[0]
        for kind, name, rest in re.findall(r'^\.Ft (.*)\n\.Fn (cay_\w+) (.*)$', page, flags=re.M):
            kind = kind.strip('"')
            space = "" if kind.endswith("*") else " "
            arguments = ", ".join(re.findall(r'"([^"]*)"', rest))
            self.assertIn(f"{kind}{space}{name}({arguments})", code)

    def test_limits_and_causes_are_the_real_ones(self):
        page = read("man", "libcay.3")
        limits = re.findall(r'^CAY_LIMIT\(\w+, *"(\w+)"', read("src", "domain", "model", "limits.def"), flags=re.M)
        self.assertGreater(len(limits), 8)
        table = page.split(".Sh LIMITS")[1].split(".Sh")[0]
        self.assertEqual(re.findall(r"^\.It (\w+) Ta", table, flags=re.M), limits)
        causes = re.findall(r'^CAY_CAUSE\(\w+, *"(\w+)"', read("src", "domain", "model", "cause.def"), flags=re.M)
        listed = re.findall(r"^\.It (\w.*)$", page.split(".Sh CAUSES")[1].split(".Sh")[0], flags=re.M)
        words = {word for line in listed for word in re.findall(r"\w+", line)}
        self.assertEqual(words, set(causes) - {"daemon_lost"})
        self.assertTrue(words <= set(re.findall(r"\w+", read("src", "libcay", "cay.h"))))

    def test_every_verb_and_option_of_cay_is_described(self):
        page = read("man", "cay.1")
        cay = os.path.join(BUILD, "cay")
        verbs = re.findall(r"^  (\w+) ", output(cay, "help"), flags=re.M)
        self.assertIn("run", verbs)
        for verb in verbs:
            self.check_has(page, rf"^\.It Cm {verb}\b", verb)
            for option in re.findall(r"^ +--([\w-]+)", output(cay, "help", verb), flags=re.M):
                if option != "test-off":
                    self.check_has(page, rf"Fl -{option}\b", f"{verb} --{option}")


if __name__ == "__main__":
    unittest.main()
