#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The TypeScript SDK, built from this tree, against real daemons. test_typescript.py [NAME…] runs some. Without npm: 77, skipped."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from world import SOURCE, run_suite  # noqa: E402
from daemon import BUILD, PATIENCE_S  # noqa: E402

PACKAGE = os.path.join(SOURCE, "sdk", "typescript")
OUT = os.path.join(BUILD, "sdk")
NODE_S = 900


def build():
    done = subprocess.run([os.path.join(PACKAGE, "tools", "build"), OUT], timeout=NODE_S, capture_output=True, text=True)
    if done.returncode != 0 and "fetch_npm:" in done.stderr:
        print(f"skipped: {done.stderr}")
        sys.exit(77)
    assert done.returncode == 0, done.stdout + done.stderr


def node(script, *args, form="esm", env=None):
    """A script of typescript/, with the package in the form that was asked for."""
    return subprocess.run(["node", os.path.join(HERE, "typescript", script), *args], check=True, timeout=NODE_S,
                          env={**os.environ, "CAY_SDK_DIR": os.path.join(OUT, "typescript"), "CAY_SDK_FORM": form, **(env or {})})


def test_suite():
    """The suite that all SDKs have in common, as ES modules and as CommonJS."""
    script = os.path.join(HERE, "typescript", "suite.mjs")
    for form in ("esm", "cjs"):
        os.environ.update(CAY_SDK_DIR=os.path.join(OUT, "typescript"), CAY_SDK_FORM=form)
        run_suite(["node", script])


def test_current():
    """What is generated is what sdk/openapi.json makes, and the version is the daemon's."""
    subprocess.run(["node", os.path.join(PACKAGE, "tools", "generate.mjs"), "--check"], check=True, timeout=NODE_S)
    with open(os.path.join(PACKAGE, "package.json"), encoding="utf-8") as f:
        package = json.load(f)
    with open(os.path.join(SOURCE, "meson.build"), encoding="utf-8") as f:
        version = re.search(r"version: '([^']+)'", f.read())[1]
    assert package["version"] == version, (package["version"], version)
    assert "dependencies" not in package, "the SDK has no dependencies"


TESTS = [test_current, test_suite]


def main():
    build()
    for t in TESTS:
        if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]:
            t()
            print(f"ok {t.__name__}", flush=True)


main()
