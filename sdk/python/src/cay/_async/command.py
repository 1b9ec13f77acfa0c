# SPDX-License-Identifier: Apache-2.0
"""Commands: streams that resume at their cursor by themselves, input, terminals, signals."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Mapping, Optional, Union

from .._requests import pause_before, request_of
from ..errors import ConflictError, ConnectionLostError, ExistsError, OutputLostError, UnauthenticatedError
from ..results import OUTPUT_MAX, Collector, Event, Result, event_of
from .client import LOST, AsyncAnswer
from .net import sleep

if TYPE_CHECKING:
    from .client import AsyncClient

RESUMES_MAX = 20  # in a row, without a byte in between


async def exec_events(client: "AsyncClient", sandbox_id: str, args: Optional[Mapping[str, Any]] = None, *, exec_id: Optional[str] = None,
                      cursor: int = 0) -> AsyncIterator[Event]:
    """
    Events of a command that is started (args: those of exec_run, with an execution_id), or of one that is there. A connection that is cut
    costs nothing: the next one goes on at the cursor. If the answer to the start was lost, the same id finds the command.
    """
    failures, has_started = 0, False
    while True:
        if exec_id is None:
            r = request_of("exec_run", {"id": sandbox_id, **(args or {}), "stream": True}, accept="application/x-ndjson")
        else:
            r = request_of("exec_attach", {"id": sandbox_id, "exec": exec_id, "from": cursor}, accept="application/x-ndjson")
        try:
            answer = await client._ask(r, client._stream_of)
        except ExistsError as e:
            if exec_id is not None or e.first is None:
                raise
            exec_id = e.first
            continue
        except ConflictError as e:
            if exec_id is None or not has_started:
                raise
            raise OutputLostError(e.message, cursor) from e
        why: Any = "the stream ended before the command"
        try:
            async for data in answer.objects():
                event = event_of(data)
                if event.event == "started":
                    exec_id = str(data["exec_id"])
                    if not has_started:
                        has_started = True
                        yield event
                elif event.event in ("stdout", "stderr"):
                    cursor, failures = int(data["next"]), 0
                    yield event
                elif event.event == "exited":
                    yield event
                    return
                elif data.get("code") == "unauthenticated":
                    why = UnauthenticatedError(401, data)
                    if not client.credentials.can_renew:
                        raise why
                    client.credentials.forget()
                else:
                    cursor = max(cursor, int(data.get("cursor", cursor)))
                    yield event
        except LOST as e:
            why = e
        finally:
            await answer.aclose()
        failures += 1
        if failures > RESUMES_MAX:
            raise ConnectionLostError(f"the command's stream: {why}")
        await sleep(pause_before(min(failures, 5)))


class AsyncCommand:
    """A command in a sandbox. It goes on whether or not anybody listens."""

    def __init__(self, client: "AsyncClient", sandbox_id: str, data: Mapping[str, Any], offset: Optional[int] = None) -> None:
        self._client, self.sandbox_id, self.data, self._offset = client, sandbox_id, data, offset

    @property
    def exec_id(self) -> str:
        return str(self.data["exec_id"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.exec_id} in {self.sandbox_id}>"

    def _names(self) -> Dict[str, Any]:
        return {"id": self.sandbox_id, "exec": self.exec_id}

    async def info(self) -> Mapping[str, Any]:
        """The API's object, as it is now."""
        self.data = await self._client._call("exec_get", self._names())
        return self.data

    def events(self, from_: int = 0) -> AsyncIterator[Event]:
        """Its events from a cursor to its end."""
        return exec_events(self._client, self.sandbox_id, exec_id=self.exec_id, cursor=from_)

    async def wait(self, *, check: bool = False, from_: int = 0, max_output: int = OUTPUT_MAX, on_stdout: Optional[Callable[[str], Any]] = None,
                   on_stderr: Optional[Callable[[str], Any]] = None) -> Result:
        """Waits for its end; the result has the output that is kept."""
        return await collect(self.events(from_), Collector(max_output, on_stdout, on_stderr), check)

    async def input(self, data: Union[str, bytes] = b"", *, eof: bool = False) -> None:
        """Gives it input (open_stdin=True). Nothing is lost or doubled if the connection is cut."""
        content = data.encode() if isinstance(data, str) else data
        r = request_of("exec_input", {**self._names(), "eof": eof, "offset": self._offset}, content)
        try:
            answer = await self._client._ask(r, AsyncAnswer.value)
        except ConflictError:
            if r.sent < 2:
                raise
            return  # the first one arrived, and with it the command ended
        if self._offset is not None:
            self._offset = int(answer.get("offset", self._offset + len(content)))

    async def resize(self, rows: int, cols: int) -> None:
        """Sets the size of its terminal (tty=True)."""
        await self._client._call("exec_resize", {**self._names(), "rows": rows, "cols": cols})

    async def signal(self, name: str) -> None:
        """Sends a signal: TERM, INT, HUP, …"""
        await self._client._call("exec_signal", {**self._names(), "signal": name})

    async def kill(self) -> None:
        """Ends it and everything it started."""
        await self._client._call("exec_kill", self._names())


async def collect(events: AsyncIterator[Event], collector: Collector, check: bool) -> Result:
    async for event in events:
        collector.take(event)
    result = collector.result()
    return result.must() if check else result
