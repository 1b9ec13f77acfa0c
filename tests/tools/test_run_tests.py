# SPDX-License-Identifier: Apache-2.0
"""scripts/run_tests on a small project of its own: what passes, fails, is skipped, or fails once and then passes."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD_FILE = """project('small')
sh = find_program('sh')
{tests}
"""
ONCE = "test -e {mark} && echo better now || {{ touch {mark}; echo worse; exit 1; }}"


@unittest.skipUnless(os.geteuid() == 0, "run_tests becomes root")
class RunTests(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="cay-run-tests-")
        self.addCleanup(shutil.rmtree, self.top)
        os.mkdir(os.path.join(self.top, "scripts"))
        os.mkdir(os.path.join(self.top, "tests"))
        shutil.copy(os.path.join(TOP, "scripts", "run_tests"), os.path.join(self.top, "scripts"))

    def run_tests(self, flaky=(), **scripts):
        """(exit status, output) for test programs of these names; flaky: rows of tests/flaky.md."""
        tests = "".join(f"test('{name}', sh, args: ['-c', '''{script}'''], suite: 'unit')\n" for name, script in scripts.items())
        with open(os.path.join(self.top, "meson.build"), "w", encoding="utf-8") as f:
            f.write(BUILD_FILE.format(tests=tests))
        with open(os.path.join(self.top, "tests", "flaky.md"), "w", encoding="utf-8") as f:
            f.write("| date | test | what was seen | cause | fix |\n|---|---|---|---|---|\n" + "".join(row + "\n" for row in flaky))
        for build in ("check", "asan"):
            shutil.rmtree(os.path.join(self.top, "build", build), ignore_errors=True)
            subprocess.run(["meson", "setup", os.path.join("build", build)], cwd=self.top, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([sys.executable, os.path.join(self.top, "scripts", "run_tests"), "unit"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
        return done.returncode, done.stdout

    def once(self, name):
        """A script that fails in the first run of build/check, and passes from then on."""
        return ONCE.format(mark=os.path.join(self.top, "mark-" + name))

    def test_all_pass(self):
        status, said = self.run_tests(good="true", other="exit 77")
        self.assertEqual(status, 0, said)
        self.assertTrue(said.endswith("2 passed, 0 failed, 2 skipped\n"), said)
        self.assertNotIn("flaky", said)

    def test_a_failure_stays_one(self):
        status, said = self.run_tests(good="true", bad="echo why; exit 1")
        self.assertEqual(status, 1, said)
        self.assertIn("bad failed; once more, alone", said)
        self.assertTrue(said.endswith("2 passed, 2 failed\n"), said)
        self.assertNotIn("flaky:", said)

    def test_failed_then_passed_is_flaky(self):
        status, said = self.run_tests(good="true", odd=self.once("odd"))
        self.assertEqual(status, 0, said)
        self.assertIn("flaky: odd (build/check)", said)
        self.assertLess(said.index("the run that failed:\nworse"), said.index("the run that passed:\nbetter now"))
        self.assertTrue(said.endswith("4 passed, 0 failed\n"), said)

    def test_more_than_three_fail(self):
        names = ("a", "b", "c", "d")
        status, said = self.run_tests(**{name: self.once(name) for name in names[:3]})
        self.assertEqual(status, 0, said)
        for name in names:
            os.path.exists(os.path.join(self.top, "mark-" + name)) and os.unlink(os.path.join(self.top, "mark-" + name))
        status, said = self.run_tests(**{name: self.once(name) for name in names})
        self.assertEqual(status, 1, said)
        self.assertIn("FAILED 4 flaky programs in one run; 3 are allowed", said)

    def test_twice_without_a_cause_fails(self):
        row = "| 2026-01-01 | `odd` | it failed | {} | none |"
        status, said = self.run_tests([row.format("not found")], odd=self.once("odd"))
        self.assertEqual(status, 1, said)
        self.assertIn("FAILED odd is flaky for the second time", said)
        os.unlink(os.path.join(self.top, "mark-odd"))
        status, said = self.run_tests([row.format("not found"), row.format("a clock")], odd=self.once("odd"))
        self.assertEqual(status, 0, said)


if __name__ == "__main__":
    unittest.main()
