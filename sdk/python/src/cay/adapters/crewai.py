# SPDX-License-Identifier: Apache-2.0
"""
CrewAI tools: `Agent(role=…, tools=crewai_tools(box))`. Needs the package crewai.
"""
from __future__ import annotations

from typing import Any, List

from .. import Sandbox
from .functions import CayTools


def crewai_tools(box: Sandbox, **options: Any) -> List[Any]:
    """CrewAI's decorator makes a tool of a function, by its name, its annotations and its docstring."""
    from crewai.tools import tool  # type: ignore[import]

    tools = CayTools(box, **options)

    @tool("sandbox_run")  # type: ignore[misc]
    def run(command: str) -> str:
        """Run a shell command in an isolated sandbox. Answers with its output and how it ended."""
        return tools.call("run", {"command": command})

    @tool("sandbox_read_file")  # type: ignore[misc]
    def read_file(path: str) -> str:
        """Read a text file of the sandbox."""
        return tools.call("read_file", {"path": path})

    @tool("sandbox_write_file")  # type: ignore[misc]
    def write_file(path: str, text: str) -> str:
        """Write a text file in the sandbox; folders are made."""
        return tools.call("write_file", {"path": path, "text": text})

    @tool("sandbox_list_files")  # type: ignore[misc]
    def list_files(path: str) -> str:
        """List everything below a folder of the sandbox."""
        return tools.call("list_files", {"path": path})

    return [run, read_file, write_file, list_files]
