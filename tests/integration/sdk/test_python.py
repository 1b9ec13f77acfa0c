#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python SDK, synchronous and asynchronous, against real daemons: the suite that all SDKs share."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PATIENCE_S, SOURCE, run_suite  # noqa: E402



def install_with_pip():
    """From the checkout, without a network, as README says."""
    with tempfile.TemporaryDirectory(prefix="cay-pip-") as folder:
        tree = os.path.join(folder, "python")  # pip may write beside what it installs
        shutil.copytree(os.path.join(SOURCE, "sdk", "python"), tree, ignore=shutil.ignore_patterns("__pycache__"))
        site = os.path.join(folder, "site")
        subprocess.run(["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-index", "--root-user-action=ignore", "--target", site, tree],
                       check=True, timeout=PATIENCE_S * 5)
        out = subprocess.run(["/usr/bin/python3", "-c", "import cay; print(cay.__version__, cay.__file__)"], env={"PYTHONPATH": site}, check=True,
                             capture_output=True, text=True, timeout=PATIENCE_S).stdout
        assert site in out, out


if __name__ == "__main__":
    install_with_pip()
    runner = [sys.executable, "-W", "error", os.path.join(SOURCE, "sdk", "python", "tests", "suite.py")]
    run_suite(runner)
    run_suite([*runner, "--async"])
