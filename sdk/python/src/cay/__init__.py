# SPDX-License-Identifier: Apache-2.0
"""
Isolated sandboxes for agents.

    import cay

    with cay.Sandbox() as box:
        print(box.run("echo hi").stdout)

Everything is there twice: Sandbox, Client and Command for ordinary code, AsyncSandbox, AsyncClient and AsyncCommand for asyncio.
"""
from . import errors, types
from ._async.client import AsyncClient
from ._async.command import AsyncCommand
from ._async.sandbox import AsyncSandbox
from ._generated.codes import VERSION as __version__
from ._sync.client import Client
from ._sync.command import Command
from ._sync.sandbox import Sandbox
from .errors import ApiError, CayError, CommandError, ConnectionLostError, OutputLostError
from .results import Event, Result

__all__ = [
    "ApiError", "AsyncClient", "AsyncCommand", "AsyncSandbox", "CayError", "Client", "Command", "CommandError", "ConnectionLostError", "Event",
    "OutputLostError", "Result", "Sandbox", "__version__", "errors", "types",
]
