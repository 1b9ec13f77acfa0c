#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mypy (Debian's) finds nothing in the Python SDK, as the oldest Python that it is for; skipped where there is none."""
import os
import shutil
import subprocess
import sys
import tempfile

if shutil.which("mypy", path="/usr/bin:/usr/local/bin") is None:
    print("skipped: there is no mypy")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="cay-mypy-") as cache:
    done = subprocess.run(["/usr/bin/mypy", "--strict", "--python-version", "3.9", "--cache-dir", cache, "-p", "cay"],
                          cwd=os.path.join(os.environ["CAY_SOURCE_DIR"], "sdk", "python", "src"), timeout=800)
sys.exit(done.returncode)
