#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
`pytest --cay`, and the adapters to agent frameworks against a real daemon. The frameworks cannot be had on test machines: what of them the
adapters use is stood in for here, as their documentation describes it. Debian's pytest is the real one.
"""
import asyncio
import dataclasses
import os
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PATIENCE_S, SOURCE, Daemon  # noqa: E402

SDK = os.path.join(SOURCE, "sdk", "python", "src")
sys.path.insert(0, SDK)
import cay  # noqa: E402

TESTS = '''
import os, pathlib, pytest

pathlib.Path("/workspace/ran-here").write_text("x")

class TestAll:
    def test_good(self):
        assert pathlib.Path("/workspace/test_it.py").exists()

    def test_bad(self):
        assert 1 + 1 == 3, "arithmetic"

@pytest.mark.skip(reason="not now")
def test_skipped():
    pass

def test_is_inside():
    assert os.getuid() != 0 and os.getcwd() == "/workspace"
'''


def stand_in(name, **members):
    module = types.ModuleType(name)
    for key, value in members.items():
        setattr(module, key, value)
    parts = name.split(".")
    for i in range(1, len(parts)):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    sys.modules[name] = module


def check_functions(box):
    from cay.adapters.functions import CayTools
    tools = CayTools(box)
    assert [t["function"]["name"] for t in tools.openai()] == [t["name"] for t in tools.anthropic()]
    assert tools.call("write_file", '{"path": "a/b.txt", "text": "hello"}') == "5 bytes written"
    assert tools.call("read_file", {"path": "a/b.txt"}) == "hello"
    assert "a/b.txt" in tools.call("list_files", '{"path": "."}')
    assert tools.call("run", '{"command": "echo hi; exit 3"}') == "hi\n\n[exit code 3]"
    assert tools.call("read_file", '{"path": "none"}').startswith("error: ")
    for name, args in (("fly", "{}"), ("run", "[]"), ("run", "not json"), ("run", '{"wrong": 1}')):
        assert tools.call(name, args).startswith("error: "), name


def check_agents_sdk(box):
    @dataclasses.dataclass
    class FunctionTool:  # https://openai.github.io/openai-agents-python/ref/tool/
        name: str
        description: str
        params_json_schema: dict
        on_invoke_tool: object

    stand_in("agents", FunctionTool=FunctionTool)
    from cay.adapters.functions import CayTools
    run = CayTools(box).agents_sdk()[0]
    assert run.name == "run" and run.params_json_schema["required"] == ["command"]
    assert asyncio.run(run.on_invoke_tool(None, '{"command": "echo agents"}')) == "agents\n\n[exit code 0]"


def check_langchain(box):
    class StructuredTool:
        @classmethod
        def from_function(cls, func, name, description, args_schema):
            tool = cls()
            tool.func, tool.name, tool.description, tool.args_schema = func, name, description, args_schema
            return tool

        def invoke(self, given):
            assert set(given) == set(self.args_schema["properties"])
            return self.func(**given)

    stand_in("langchain_core.tools", StructuredTool=StructuredTool)
    from cay.adapters.langchain import langchain_tools
    tools = {t.name: t for t in langchain_tools(box)}
    assert tools["sandbox_run"].invoke({"command": "echo chain"}) == "chain\n\n[exit code 0]"


def check_crewai(box):
    def tool(name):
        def wrap(function):
            assert function.__doc__ and function.__annotations__
            return types.SimpleNamespace(name=name, run=function)
        return wrap

    stand_in("crewai.tools", tool=tool)
    from cay.adapters.crewai import crewai_tools
    tools = {t.name: t for t in crewai_tools(box)}
    tools["sandbox_write_file"].run(path="crew", text="x")
    assert tools["sandbox_read_file"].run(path="crew") == "x" and "crew" in tools["sandbox_list_files"].run(path=".")


def check_smolagents(box):
    from cay.adapters.smolagents import CayExecutor
    executor = CayExecutor(box)
    executor.send_variables({"n": 20, "not_json": object()})
    executor.send_tools({"final_answer": print})
    first = executor("import os\nprint('log')\nm = n + 22\nm")
    assert (first.output, first.logs, first.is_final_answer) == (42, "log\n", False), vars(first)
    assert executor("m + 1").output == 43
    last = executor("final_answer({'x': m})")
    assert last.is_final_answer and last.output == {"x": 42}
    try:
        executor("1 / 0")
        raise AssertionError("no error")
    except cay.CayError as e:
        assert "ZeroDivisionError" in str(e)
    try:
        executor.send_tools({"web_search": print})
        raise AssertionError("no error")
    except cay.CayError as e:
        assert "web_search" in str(e)
    executor.cleanup()


def check_pytest(d, by_tcp):
    env = {**os.environ, "PYTHONPATH": SDK, "PYTHONDONTWRITEBYTECODE": "1"}
    env.update({"CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_TOKEN": d.token} if by_tcp else {"CAY_SOCKET": d.socket})
    with tempfile.TemporaryDirectory(prefix="cay-pytest-") as folder:
        os.chmod(folder, 0o755)
        os.chown(folder, 1000, 1000)
        with open(os.path.join(folder, "test_it.py"), "w", encoding="utf-8") as f:
            f.write(TESTS)
        done = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-p", "cay.pytest_plugin", "-p", "no:cacheprovider", "--cay", "-v", "-rA"], cwd=folder,
                              env=env, capture_output=True, text=True, timeout=PATIENCE_S * 5)
        out = done.stdout + done.stderr
        assert done.returncode == 1, out
        for text in ("test_good PASSED", "test_bad FAILED", "test_skipped SKIPPED", "test_is_inside PASSED", "1 failed, 2 passed, 1 skipped", "arithmetic"):
            assert text in out, f"{text!r} is not in:\n{out}"
        assert os.listdir(folder) == ["test_it.py"], os.listdir(folder)


def main():
    with Daemon() as d:
        os.environ["CAY_SOCKET"] = d.socket
        with cay.Sandbox("python") as box:
            for check in (check_functions, check_agents_sdk, check_langchain, check_crewai, check_smolagents):
                check(box)
        check_pytest(d, by_tcp=False)
        check_pytest(d, by_tcp=True)
        assert d.must(200, "GET", "/api/sandboxes", token=False, unix=True)["sandboxes"] == []


if __name__ == "__main__":
    main()
