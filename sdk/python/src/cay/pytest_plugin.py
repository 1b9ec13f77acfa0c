# SPDX-License-Identifier: Apache-2.0
"""
`pytest --cay`: the tests are collected and run by a pytest in a sandbox, and reported by the one that was started.

The project (pytest's rootdir) is mapped into the sandbox copy-on-write over a unix socket, or copied where the daemon is elsewhere. Test
files are not imported here: code that is not trusted runs in the sandbox alone. Results come back as data (JUnit XML, by the op
test_results). Options: --cay-template, --cay-memory, --cay-timeout, --cay-allow HOST (more than once), --cay-python.
"""
from __future__ import annotations

import os
import shlex
from typing import Any, Dict, Iterator, List, Optional

import pytest

from . import CayError, Client, Sandbox

RESULTS = "/tmp/cay-pytest.xml"
CASES_MAX = 10000


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("cay", "run tests in a Cay sandbox")
    group.addoption("--cay", action="store_true", help="run the tests in a sandbox")
    group.addoption("--cay-template", default="python", metavar="NAME", help="template of the sandbox (default: python)")
    group.addoption("--cay-memory", default=None, metavar="SIZE", help="memory of the sandbox, for example 1g")
    group.addoption("--cay-timeout", default="10m", metavar="TIME", help="time for the tests of one file (default: 10m)")
    group.addoption("--cay-allow", action="append", default=[], metavar="HOST", help="host that the tests may reach; may be repeated")
    group.addoption("--cay-python", default="python3", metavar="PROGRAM", help="Python in the sandbox (default: python3)")


def pytest_configure(config: Any) -> None:
    if config.getoption("--cay") and not config.getoption("--collect-only", False):
        config.pluginmanager.register(Plugin(config), "cay-sandbox")


class Remote(pytest.Item):
    """A case that ran in the sandbox."""

    case: Dict[str, Any]

    def runtest(self) -> None:
        status = self.case["status"]
        if status == "skipped":
            pytest.skip(self.case["message"] or "skipped")
        if status != "passed":
            raise Failed(self.case)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, Failed):
            return excinfo.value.case["text"] or excinfo.value.case["message"]
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> Any:
        return self.path, max(0, int(self.case["line"]) - 1) if self.case["line"] else None, self.name


class Failed(Exception):
    def __init__(self, case: Dict[str, Any]) -> None:
        self.case = case
        super().__init__(case["message"])


class RemoteFile(pytest.File):
    """A test file: collecting it runs it, for only its Python knows what is in it."""

    plugin: "Plugin"

    def collect(self) -> Iterator[Any]:
        for case in self.plugin.run(self.path):
            name = f"{case['class_name'].rpartition('.')[2]}::{case['name']}" if "." in case["class_name"] else case["name"]
            item = Remote.from_parent(self, name=name)
            item.case = case
            yield item


class Plugin:
    def __init__(self, config: Any) -> None:
        self.config, self.box = config, None  # type: Any, Optional[Sandbox]
        self.root = str(config.rootpath)

    def open(self) -> Sandbox:
        if self.box is None:
            o = self.config.getoption
            client = Client()
            options: Dict[str, Any] = {"memory": o("--cay-memory"), "allow": o("--cay-allow") or None, "idle_timeout": "30m"}
            if client.place.socket is not None:
                options.update(workspace=self.root, workspace_mode="cow")
            self.box = Sandbox.create(o("--cay-template"), client=client, labels={"made_by": "pytest"}, **options)
            if client.place.socket is None:
                self.box.files.upload(self.root, keep=lambda p: os.path.basename(p) not in (".git", "__pycache__", ".venv", "node_modules"))
        return self.box

    def run(self, path: Any) -> List[Dict[str, Any]]:
        box, o = self.open(), self.config.getoption
        inside = os.path.relpath(str(path), self.root)
        words = [o("--cay-python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", f"--junitxml={RESULTS}", inside]
        if o("-k"):
            words += ["-k", o("-k")]
        if o("-m"):
            words += ["-m", o("-m")]
        ran = box.run("rm -f " + RESULTS + "; exec " + " ".join(map(shlex.quote, words)), timeout=o("--cay-timeout"), env={"PYTHONDONTWRITEBYTECODE": "1"})
        try:
            results = box.test_results(RESULTS, format="junit", limit=CASES_MAX)
        except CayError:
            why = ran.cause_text if ran.cause != "exited" else (ran.stdout + ran.stderr).strip()[-2000:]
            raise pytest.Collector.CollectError(f"{inside} did not run in the sandbox: {why}") from None
        cases: List[Dict[str, Any]] = [dict(c) for c in results["cases"]]
        if ran.cause != "exited":  # a limit of the sandbox ended it: the cases that are there stay true
            cases.append({"class_name": "", "name": "(the sandbox)", "status": "error", "message": ran.cause_text, "line": 0,
                          "text": f"{ran.cause_text}; {ran.advice}"})
        return cases

    def pytest_pycollect_makemodule(self, module_path: Any, parent: Any) -> Any:
        # Registered last, so asked first: nobody imports the module here.
        file = RemoteFile.from_parent(parent, path=module_path)
        file.plugin = self
        return file

    def pytest_report_header(self) -> str:
        return f"cay: tests run in a sandbox of {Client().place}"

    def pytest_unconfigure(self) -> None:
        if self.box is not None:
            self.box.destroy()
            self.box.client.close()
            self.box = None
