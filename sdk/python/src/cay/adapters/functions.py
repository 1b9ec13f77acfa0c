# SPDX-License-Identifier: Apache-2.0
"""
Tools as JSON schemas, for OpenAI's and Anthropic's APIs and everything that takes such schemas; and for the OpenAI Agents SDK.

    tools = CayTools(box)
    tools.openai()      # for chat.completions; .anthropic() for messages
    tools.call("run", '{"command": "ls"}')
    Agent(tools=tools.agents_sdk())     # from the package openai-agents
"""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Mapping, Tuple, Union

from .. import CayError, Result, Sandbox

ANSWER_MAX = 20000  # characters that a model is told of one answer

# name, description, arguments, method
ROWS: List[Tuple[str, str, Dict[str, str]]] = [
    ("run", "Run a shell command in an isolated sandbox. Answers with its output and how it ended.", {"command": "line for /bin/sh"}),
    ("read_file", "Read a text file of the sandbox.", {"path": "path; below the workspace unless it starts with /"}),
    ("write_file", "Write a text file in the sandbox; folders are made.", {"path": "path", "text": "its whole content"}),
    ("list_files", "List everything below a folder of the sandbox.", {"path": "folder; . is the workspace"}),
]


def describe(result: Result) -> str:
    """A result as a model is told it: output, and why it ended."""
    end = f"exit code {result.exit_code}" if result.cause == "exited" else f"{result.cause_text}; {result.advice}"
    return f"{result.stdout}{result.stderr}\n[{end}]"


def parameters(args: Mapping[str, str]) -> Dict[str, Any]:
    return {"type": "object", "properties": {k: {"type": "string", "description": v} for k, v in args.items()}, "required": list(args),
            "additionalProperties": False}


class CayTools:
    """The tools of one sandbox. What goes wrong is an answer, too: a model can go on from it."""

    def __init__(self, box: Sandbox, timeout: Union[float, str] = "5m") -> None:
        self.box, self.timeout = box, timeout
        self._calls: Dict[str, Callable[..., str]] = {"run": self.run, "read_file": self.read_file, "write_file": self.write_file,
                                                      "list_files": self.list_files}

    def run(self, command: str) -> str:
        return describe(self.box.run(command, timeout=self.timeout))

    def read_file(self, path: str) -> str:
        return self.box.files.read_text(path)

    def write_file(self, path: str, text: str) -> str:
        return f"{self.box.files.write(path, text, parents=True)['bytes']} bytes written"

    def list_files(self, path: str = ".") -> str:
        return "\n".join(f.get("name", "") for f in self.box.files.list(path, recursive=True) if f["type"] != "directory")

    def call(self, name: str, arguments: Union[str, Mapping[str, Any]]) -> str:
        """Carries out a model's call; arguments as JSON text or as they are."""
        try:
            given = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments)
            if name not in self._calls or not isinstance(given, dict):
                return f"error: there is no tool '{name}' with such arguments"
            answer = self._calls[name](**given)
        except (CayError, TypeError, ValueError) as e:
            return f"error: {e}"
        return answer if len(answer) <= ANSWER_MAX else answer[:ANSWER_MAX] + "\n(the rest was cut)"

    def openai(self) -> List[Dict[str, Any]]:
        return [{"type": "function", "function": {"name": n, "description": d, "parameters": parameters(a)}} for n, d, a in ROWS]

    def anthropic(self) -> List[Dict[str, Any]]:
        return [{"name": n, "description": d, "input_schema": parameters(a)} for n, d, a in ROWS]

    def agents_sdk(self) -> List[Any]:
        """FunctionTool objects of the OpenAI Agents SDK (the package openai-agents)."""
        import asyncio
        from agents import FunctionTool  # type: ignore[import]

        def tool(name: str, description: str, args: Dict[str, str]) -> Any:
            async def invoke(_context: Any, arguments: str) -> str:
                return await asyncio.get_running_loop().run_in_executor(None, self.call, name, arguments)

            return FunctionTool(name=name, description=description, params_json_schema=parameters(args), on_invoke_tool=invoke)

        return [tool(*row) for row in ROWS]
