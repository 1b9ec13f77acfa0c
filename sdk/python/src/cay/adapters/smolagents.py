# SPDX-License-Identifier: Apache-2.0
"""
An executor for smolagents: `CodeAgent(tools=[], model=model, executor=CayExecutor(box))`. The agent's code runs in the sandbox.

State is kept from call to call by a Python process there. The value of the last expression is the answer; final_answer(x) ends the run.
"""
from __future__ import annotations

import base64
import json
from typing import Any, Dict, List

from .. import CayError, Sandbox

MARK = "\x1ecay:"
# Reads base64 lines of code, runs each in one namespace, and answers with a marked line.
DRIVER = r'''
import ast, base64, io, json, sys, contextlib, traceback
names, real = {"__name__": "__main__"}, sys.stdout
class Final(BaseException): pass
def final_answer(value=None):
    names["_final"] = value
    raise Final()
names["final_answer"] = final_answer
def show(value):
    try: return json.loads(json.dumps(value))
    except (TypeError, ValueError): return repr(value)
for line in sys.stdin:
    out, answer = io.StringIO(), {"output": None, "error": None, "final": False}
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            kind, text = line.strip().split(" ", 1)
            text = base64.b64decode(text).decode()
            if kind == "set": names.update(json.loads(text))
            else:
                tree = ast.parse(text)
                last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
                exec(compile(tree, "<agent>", "exec"), names)
                if last is not None: answer["output"] = show(eval(compile(ast.Expression(last.value), "<agent>", "eval"), names))
        except Final: answer.update(final=True, output=show(names["_final"]))
        except BaseException: answer["error"] = traceback.format_exc(limit=-3)
    answer["logs"] = out.getvalue()[-100000:]
    real.write("\x1ecay:" + json.dumps(answer) + "\n"); real.flush()
'''


class CayExecutor:
    """What smolagents calls a PythonExecutor: __call__(code) gives an object with output, logs and is_final_answer."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self._command = box.spawn(["python3", "-u", "-c", DRIVER], open_stdin=True)
        self._events = self._command.events()
        self._rest = b""

    def send_variables(self, variables: Dict[str, Any]) -> None:
        """Variables for the code, as far as JSON has them."""
        self._ask("set", json.dumps({k: v for k, v in variables.items() if _is_json(v)}))

    def send_tools(self, tools: Dict[str, Any]) -> None:
        """Tools of the agent are Python objects of this process: they stay here, and the code in the sandbox cannot call them."""
        left = sorted(set(tools) - {"final_answer"})
        if left:
            raise CayError(f"tools of this process cannot be called from the sandbox: {', '.join(left)}")

    def __call__(self, code: str) -> Any:
        answer = self._ask("run", code)
        if answer["error"]:
            raise CayError(answer["error"])
        return make_output(answer["output"], answer["logs"], answer["final"])

    def _ask(self, kind: str, text: str) -> Dict[str, Any]:
        self._command.input(f"{kind} {base64.b64encode(text.encode()).decode()}\n")
        mark = MARK.encode()
        for event in self._events:
            if event.event == "exited":
                raise CayError(f"the agent's Python ended: {event.data.get('cause_text')}; {event.data.get('advice')}")
            if event.event != "stdout":
                continue
            *lines, self._rest = (self._rest + event.bytes).split(b"\n")
            found: List[bytes] = [line for line in lines if line.startswith(mark)]
            if found:
                value = json.loads(found[-1][len(mark):])
                return value if isinstance(value, dict) else {}
        raise CayError("the agent's Python ended")

    def cleanup(self) -> None:
        self._command.kill()


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
        return True
    except (TypeError, ValueError):
        return False


class _Output:
    def __init__(self, output: Any, logs: str, is_final_answer: bool) -> None:
        self.output, self.logs, self.is_final_answer = output, logs, is_final_answer


def make_output(output: Any, logs: str, is_final: bool) -> Any:
    """smolagents' own CodeOutput where there is one."""
    try:
        from smolagents.local_python_executor import CodeOutput  # type: ignore[import]
    except ImportError:
        CodeOutput = _Output
    return CodeOutput(output=output, logs=logs, is_final_answer=is_final)
