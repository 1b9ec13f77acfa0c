# SPDX-License-Identifier: Apache-2.0
"""A sandbox: made on entry, destroyed on exit."""
from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, List, Mapping, Optional, Sequence, Union, cast

from .._http import path_segment
from .._requests import Request, new_key, request_of
from ..errors import ApiError, CayError, ConnectionLostError, ExistsError
from ..results import OUTPUT_MAX, Collector, Event, Result
from .client import AsyncAnswer, AsyncClient
from .command import AsyncCommand, collect, exec_events
from .files import AsyncFiles
from .net import sleep

if TYPE_CHECKING:  # names of schemas may change; only type checkers need them
    from .._generated.types import Network, NetworkEntry, SandboxStatsResult, TestResults
    from .._generated.types import Sandbox as SandboxData

Words = Union[str, Sequence[str]]


@dataclass
class AsyncResponse:
    """What a server in a sandbox answered."""

    status: int
    headers: Dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class AsyncSandbox:
    """
    An isolated place to run commands in. `async with` makes it and destroys it at the end, whatever happens.

    template: what it is made from. workspace: a folder of this machine to see as /workspace, with workspace_mode ro (the default), rw, or
    cow (its commands may change what they see; the folder stays as it is). memory, cpus, timeout, idle_timeout, env, labels, name: as they
    say. allow, deny: hosts that it may reach (pypi.org, *.example.org:443, preset:python). execution_id: makes the creation happen
    once: the same id again gives the same sandbox. options: the others of sandbox_create.
    """

    def __init__(self, template: Optional[str] = None, *, client: Optional[AsyncClient] = None, name: Optional[str] = None,
                 workspace: "Optional[Union[str, os.PathLike[str]]]" = None, workspace_mode: Optional[str] = None,
                 memory: Optional[Union[int, str]] = None, cpus: Optional[Union[float, str]] = None,
                 timeout: Optional[Union[float, str]] = None, idle_timeout: Optional[Union[float, str]] = None,
                 env: Optional[Mapping[str, str]] = None, labels: Optional[Mapping[str, str]] = None, allow: Optional[Sequence[str]] = None,
                 deny: Optional[Sequence[str]] = None, execution_id: Optional[str] = None, **options: Any) -> None:
        self._own_client = client is None
        self.client = client if client is not None else AsyncClient()
        self._options: Dict[str, Any] = {
            "template": template, "name": name, "timeout": timeout, "idle_timeout": idle_timeout, "env": env, "labels": labels, "allow": allow,
            "deny": deny, "memory_limit": memory, "cpu_limit": cpus, "execution_id": execution_id,
            **{k: v for k, v in options.items() if v is not None},
        }
        self._workspace, self._mode = workspace, workspace_mode
        self.data: Mapping[str, Any] = {}
        self.files = AsyncFiles(self)

    # Its life

    @classmethod
    async def create(cls, template: Optional[str] = None, **options: Any) -> "AsyncSandbox":
        """Makes one that stays until it is destroyed, or until its timeout."""
        return await cls(template, **options)._make()

    @classmethod
    async def get(cls, id: str, *, client: Optional[AsyncClient] = None) -> "AsyncSandbox":
        """One that is there, by id or name."""
        box = cls(client=client)
        box.data = await box.client._call("sandbox_get", {"id": id})
        return box

    async def _make(self) -> "AsyncSandbox":
        args = dict(self._options)
        if args["execution_id"] is None:
            args["execution_id"] = new_key()
        fd: Optional[int] = None
        if self._workspace is not None:
            path = os.fspath(self._workspace)
            if self.client.place.socket is not None:
                path = os.path.realpath(path)
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # with our own rights
            args["workspace"] = {"path": path, "mode": self._mode or "ro"}
        elif self._mode is not None:
            raise ValueError("workspace_mode: needs a workspace")
        try:
            r = request_of("sandbox_create", args)
            r.fd = fd
            self.data = await self.client._ask(r, AsyncAnswer.value)
        except ExistsError as e:
            if e.first is None:
                raise
            self.data = await self.client._call("sandbox_get", {"id": e.first})
        finally:
            if fd is not None:
                os.close(fd)
        return self

    async def __aenter__(self) -> "AsyncSandbox":
        return self if self.data else await self._make()

    async def __aexit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            await self.destroy()
        except (ApiError, ConnectionLostError):
            if kind is None:
                raise  # else the first error is the one to see
        finally:
            if self._own_client:
                await self.client.aclose()

    @property
    def id(self) -> str:
        if not self.data:
            raise CayError("the sandbox is not made yet: use it in a with block, or make it with create()")
        return str(self.data["sandbox_id"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.data.get('sandbox_id', 'not made yet')}>"

    async def info(self) -> SandboxData:
        """The API's object, as it is now."""
        self.data = await self.client._call("sandbox_get", {"id": self.id})
        return cast("SandboxData", self.data)

    async def _change(self, op: str, **args: Any) -> SandboxData:
        self.data = await self.client._call(op, {"id": self.id, **args})
        return cast("SandboxData", self.data)

    async def stop(self) -> SandboxData:
        """Ends its processes and keeps its files."""
        return await self._change("sandbox_stop")

    async def start(self) -> SandboxData:
        return await self._change("sandbox_start")

    async def pause(self) -> SandboxData:
        return await self._change("sandbox_pause")

    async def resume(self) -> SandboxData:
        return await self._change("sandbox_resume")

    async def extend(self, timeout: Optional[Union[float, str]] = None, idle_timeout: Optional[Union[float, str]] = None) -> SandboxData:
        return await self._change("sandbox_extend", timeout=timeout, idle_timeout=idle_timeout)

    async def destroy(self) -> None:
        """Removes it with its files. One that is gone already is no error."""
        from ..errors import NotFoundError
        try:
            await self.client._call("sandbox_destroy", {"id": self.id})
        except NotFoundError:
            pass

    async def stats(self) -> SandboxStatsResult:
        return cast("SandboxStatsResult", await self.client._call("sandbox_stats", {"id": self.id}))

    # Commands

    def stream(self, command: Words, **options: Any) -> AsyncIterator[Event]:
        """
        Starts a command and gives its events as they come: started, stdout, stderr, exited. A cut connection is resumed at the cursor. The
        command goes on when nobody listens any more. options: those of exec_run (env, workdir, timeout, stdin, user, tty, …).
        """
        return exec_events(self.client, self.id, {"command": command, "execution_id": new_key(), **options})

    async def run(self, command: Words, *, check: bool = False, max_output: int = OUTPUT_MAX, on_stdout: Optional[Callable[[str], Any]] = None,
                  on_stderr: Optional[Callable[[str], Any]] = None, **options: Any) -> Result:
        """
        Runs a command and waits for its end: a line for /bin/sh, or a list of words. check: raise CommandError unless it succeeds.
        on_stdout, on_stderr: are told the output as it comes. options: those of exec_run.
        """
        return await collect(self.stream(command, **options), Collector(max_output, on_stdout, on_stderr), check)

    async def spawn(self, command: Words, **options: Any) -> AsyncCommand:
        """Starts a command in the background. options: those of exec_run (open_stdin, tty, rows, cols, …)."""
        args = {"command": command, "execution_id": new_key(), **options, "id": self.id, "background": True}
        try:
            data = await self.client._call("exec_run", args)
        except ExistsError as e:
            if e.first is None:
                raise
            data = await self.client._call("exec_get", {"id": self.id, "exec": e.first})
        return AsyncCommand(self.client, self.id, data, offset=0)

    async def terminal(self, command: Words = "exec sh -i", *, rows: int = 24, cols: int = 80, **options: Any) -> AsyncCommand:
        """Starts a command with a terminal, for input(), resize() and events()."""
        return await self.spawn(command, tty=True, open_stdin=True, rows=rows, cols=cols, **options)

    async def command(self, exec_id: str) -> AsyncCommand:
        """One that is there, by its id."""
        return AsyncCommand(self.client, self.id, await self.client._call("exec_get", {"id": self.id, "exec": exec_id}))

    async def commands(self) -> List[AsyncCommand]:
        rows = (await self.client._call("exec_list", {"id": self.id}))["execs"]
        return [AsyncCommand(self.client, self.id, row) for row in rows]

    async def test_results(self, path: Optional[str] = None, *, command: "Optional[Union[str, AsyncCommand, Result]]" = None,
                           format: Optional[str] = None, limit: Optional[int] = None) -> TestResults:
        """Results of tests as data: JUnit XML or TAP, from a file or from the output of a command (its handle, result or id)."""
        exec_id = command if command is None or isinstance(command, str) else command.exec_id
        args = {"id": self.id, "path": path, "exec": exec_id, "format": format, "limit": limit}
        return cast("TestResults", await self.client._call("test_results", args))

    # Ports and network

    async def ports(self) -> List[int]:
        """Ports on which something in it listens."""
        return cast("List[int]", (await self.client._call("port_list", {"id": self.id}))["ports"])

    async def wait_for_port(self, port: int, timeout: float = 30.0) -> None:
        end = time.monotonic() + timeout
        while port not in await self.ports():
            if time.monotonic() >= end:
                raise CayError(f"nothing listens on port {port} of {self.id} after {timeout:g} s")
            await sleep(0.1)

    def url(self, port: int) -> str:
        """The URL of a server in it, for callers that send this client's token. For browsers use link()."""
        return f"{self.client.place.url}/api/sandboxes/{self.id}/ports/{port}/"

    async def link(self, port: int) -> str:
        """A URL of a server in it that works in a browser for ten minutes."""
        return str((await self.client._call("port_link", {"id": self.id, "port": port}))["url"])

    async def fetch(self, port: int, path: str = "/", *, method: str = "GET", body: Optional[bytes] = None,
                    headers: Optional[Mapping[str, str]] = None) -> AsyncResponse:
        """Asks a server in it, by this client's own connection."""
        target = f"/api/sandboxes/{path_segment(self.id)}/ports/{int(port)}/{path.lstrip('/')}"
        r = Request(method, target, dict(headers or {}), body, len(body) if body is not None else None, method in ("GET", "HEAD"), name="fetch")

        async def take(answer: AsyncAnswer) -> AsyncResponse:
            return AsyncResponse(answer.status, dict(answer.headers), await answer.read())

        return cast("AsyncResponse", await self.client._ask(r, take))

    async def network(self) -> Network:
        """Its rules, and what went over its network."""
        return cast("Network", await self.client._call("network_get", {"id": self.id}))

    async def network_log(self, from_: Optional[int] = None) -> List[NetworkEntry]:
        """What it looked up and connected to, with verdicts."""
        return cast("List[NetworkEntry]", (await self.client._call("network_log", {"id": self.id, "from": from_}))["entries"])
