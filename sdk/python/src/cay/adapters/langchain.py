# SPDX-License-Identifier: Apache-2.0
"""
LangChain tools: `create_agent(model, tools=langchain_tools(box))`. Needs the package langchain-core.
"""
from __future__ import annotations

from typing import Any, List

from .. import Sandbox
from .functions import ROWS, CayTools, parameters


def langchain_tools(box: Sandbox, **options: Any) -> List[Any]:
    """One StructuredTool for each tool of CayTools; its arguments are described by a JSON schema."""
    from langchain_core.tools import StructuredTool  # type: ignore[import]

    tools = CayTools(box, **options)

    def make(name: str, description: str, args: Any) -> Any:
        def call(**given: Any) -> str:
            return tools.call(name, given)

        return StructuredTool.from_function(func=call, name="sandbox_" + name, description=description, args_schema=parameters(args))

    return [make(*row) for row in ROWS]
