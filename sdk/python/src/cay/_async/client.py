# SPDX-License-Identifier: Apache-2.0
"""A client of a daemon: connections, credentials, and trying again where that is safe."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, List, Mapping, Optional

from .._http import AnswerReader, Broken, request_head
from .._place import TOKEN_S, Place, Token, find_credentials, find_place
from .._requests import ANSWER_MAX, Body, Request, pause_before, request_of, value_of
from ..errors import ConnectionLostError, OutputLostError
from ..results import Collector, Lines, Result, event_of
from .net import TIMEOUTS, AsyncConnection, in_thread, sleep
from .ops import AsyncOps

if TYPE_CHECKING:
    from .._generated.types import Sandbox as SandboxData

IDLE_MAX = 8  # connections that are kept
CONNECT_S = 10.0
RETRY_AFTER_MAX = 2.0  # a daemon that asks for more is not waited for
LOST = (Broken, OSError, EOFError, *TIMEOUTS)


class AsyncAnswer:
    """An answer whose head is there. Its body is read once."""

    def __init__(self, client: "AsyncClient", connection: AsyncConnection, reader: AnswerReader, first: bytes) -> None:
        self._client, self._connection, self._reader, self._first = client, connection, reader, first
        self.status, self.headers = reader.status, reader.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        piece, self._first = self._first, b""
        while True:
            if piece:
                yield piece
            if self._reader.done:
                break
            data = await self._connection.receive(self._client.timeout)
            if not data:
                self._reader.end()
                break
            piece = self._reader.feed(data)
        await self.aclose()

    async def read(self, limit: int = ANSWER_MAX) -> bytes:
        out = bytearray()
        async for piece in self.pieces():
            out += piece
            if len(out) > limit:
                raise Broken(f"the answer is larger than {limit} bytes")
        return bytes(out)

    async def objects(self) -> AsyncIterator[Dict[str, Any]]:
        """Events of a stream, as they come."""
        lines = Lines()
        async for piece in self.pieces():
            for value in lines.feed(piece):
                yield value

    async def value(self) -> Any:
        return value_of(self.status, self.headers, await self.read())

    async def aclose(self) -> None:
        if self._reader.done and self._reader.can_reuse and len(self._client._idle) < IDLE_MAX:
            self._reader.can_reuse = False
            self._client._idle.append(self._connection)
        else:
            await self._connection.aclose()


class AsyncClient(AsyncOps):
    """
    A daemon. Without arguments it is found as `cay` finds it: CAY_URL, SANDBOX_SERVICE_URL, CAY_SOCKET, CAY_DATA, /var/lib/cay/cay.sock.

    token: a token, or a function that makes one. api_key: a key, which is sent as it is; with owner, an administrator's key makes tokens
    of that owner, and renews them. token_secret: the daemon's secret, with which tokens are made here. ca: a file with the authority of
    an https address. timeout: seconds without a byte after which a connection counts as cut. retries: how often a request is sent
    again if that is safe.
    """

    def __init__(self, url: Optional[str] = None, *, socket: Optional[str] = None, data: Optional[str] = None, token: Optional[Token] = None,
                 api_key: Optional[str] = None, token_secret: Optional[str] = None, owner: Optional[str] = None, scope: str = "exec",
                 token_lifetime: float = TOKEN_S, ca: Optional[str] = None, timeout: float = 60.0, retries: int = 4) -> None:
        self.place: Place = find_place(url, socket, data, ca)
        self.credentials = find_credentials(self.place, token, api_key, token_secret, owner, scope, token_lifetime)
        self.timeout, self.retries = timeout, retries
        self._tls = self.place.ssl_context()
        self._idle: List[AsyncConnection] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.place}>"

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

    # Requests

    async def _call(self, op: str, args: Mapping[str, Any], content: Optional[Body] = None) -> Any:
        return await self._ask(request_of(op, args, content), AsyncAnswer.value)

    async def _renew(self) -> None:
        """A token of the owner, by the administrator's key."""
        c = self.credentials
        r = request_of("token_make", {"owner": c.owner, "scope": c.scope, "lifetime": c.lifetime})
        answer = await self._send(r, c.api_key)
        c.keep((await answer.value())["token"], c.lifetime)

    async def _bearer(self) -> Optional[str]:
        if self.credentials.needs_token:
            await self._renew()
        return self.credentials.bearer()

    async def _connect(self, request: Request, head: bytes) -> AsyncConnection:
        """A connection over which the head was sent. One that was used before may be dead: it is for requests that can be repeated."""
        while self._idle and request.may_repeat and request.fd is None:
            connection = self._idle.pop()
            if connection.is_usable:
                try:
                    await connection.send(head, self.timeout)
                    return connection
                except LOST:
                    pass
            await connection.aclose()
        try:
            return await AsyncConnection.open(self.place, self._tls, min(CONNECT_S, self.timeout), head, request.fd)
        except (FileNotFoundError, ConnectionRefusedError) as e:
            raise ConnectionLostError(f"no daemon answers at {self.place} ({e.strerror}); start one with `cay serve`, or say where one is "
                                      "(CAY_URL, CAY_SOCKET, CAY_DATA)") from e

    async def _send(self, request: Request, bearer: Optional[str]) -> AsyncAnswer:
        """One try: the head of the answer, or one of LOST."""
        headers = dict(request.headers)
        if bearer is not None:
            headers["Authorization"] = "Bearer " + bearer
        head = request_head(request.method, self.place.path + request.target, self.place.authority, headers, request.length)
        body = request.body
        if isinstance(body, bytes) and len(body) <= 65536:
            head, body = head + body, None
        connection = await self._connect(request, head)
        try:
            await self._send_body(connection, body)
            reader, first = AnswerReader(), b""
            while reader.status == 0:
                data = await connection.receive(self.timeout)
                if not data:
                    reader.end()
                first = reader.feed(data)
            return AsyncAnswer(self, connection, reader, first)
        except BaseException:
            await connection.aclose()
            raise

    async def _send_body(self, connection: AsyncConnection, body: Optional[Body]) -> None:
        try:
            if isinstance(body, bytes):
                await connection.send(body, self.timeout)
            elif body is not None:
                while True:
                    piece = body.read(262144)
                    if not piece:
                        break
                    await connection.send(piece, self.timeout)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a daemon that refuses answers before it has everything: its answer may be there

    async def _ask(self, request: Request, use: Callable[[AsyncAnswer], Any]) -> Any:
        """Sends it, uses the answer, and sends it again where that is safe: see docs/sdk-python.md, "Retries"."""
        start = request.body.tell() if request.body is not None and not isinstance(request.body, bytes) else 0
        attempt, renewed = 0, False
        while True:
            if attempt and request.body is not None and not isinstance(request.body, bytes):
                request.body.seek(start)
            try:
                bearer = await self._bearer()
                request.sent += 1
                answer = await self._send(request, bearer)
                if answer.status == 401 and self.credentials.can_renew and not renewed:
                    renewed = True
                    self.credentials.forget()
                    await answer.read()
                    continue
                pause = self._pause_for(answer, attempt, request)
                if pause is None:
                    return await use(answer)
                await answer.read()
            except LOST as e:
                if not request.may_repeat or attempt >= self.retries:
                    what = "the connection was cut" if str(e) == "" else str(e)
                    more = "" if request.may_repeat else "; it is not known whether the request was carried out"
                    raise ConnectionLostError(f"{request.name}: {what}{more}") from e
                pause = pause_before(attempt)
            attempt += 1
            await sleep(pause)

    def _pause_for(self, answer: AsyncAnswer, attempt: int, request: Request) -> Optional[float]:
        """Seconds to wait before asking again; None: this answer is the one. A refusal for now means that nothing was done."""
        if attempt >= self.retries or answer.status not in (429, 503):
            return None
        after = answer.headers.get("retry-after")
        if answer.status == 503 and not request.may_repeat:
            return None
        if answer.status == 429 and after is None:
            return None
        pause = pause_before(attempt, after)
        return pause if pause <= RETRY_AFTER_MAX else None

    # What there is

    async def sandboxes(self, **filters: Any) -> AsyncIterator[SandboxData]:
        """All sandboxes that the caller sees, page by page; filters are those of sandbox_list."""
        cursor: Optional[str] = None
        while True:
            page = await self._call("sandbox_list", {**filters, "cursor": cursor})
            for box in page["sandboxes"]:
                yield box
            cursor = page["next"]
            if cursor is None:
                return

    async def events(self, *, after: Optional[int] = None, new_only: bool = False, sandbox: Optional[str] = None) -> AsyncIterator[Dict[str, Any]]:
        """Events of all sandboxes, or of one, as they happen. Resumes by itself after the last one."""
        failures = 0
        while True:
            args: Dict[str, Any] = {"follow": True, "after": after, "new_only": new_only if after is None else None}
            if sandbox is not None:
                args["id"] = sandbox
            r = request_of("sandbox_events" if sandbox else "event_list", args, accept="application/x-ndjson")
            answer = await self._ask(r, self._stream_of)
            try:
                async for value in answer.objects():
                    if "seq" in value:
                        after, failures = int(value["seq"]), 0
                        yield value
            except LOST as e:
                failures += 1
                if failures > self.retries:
                    raise ConnectionLostError(f"events: {e}") from e
                await sleep(pause_before(failures))
            finally:
                await answer.aclose()

    @staticmethod
    async def _stream_of(answer: AsyncAnswer) -> AsyncAnswer:
        """For streams: an answer that is read later, unless it is a refusal."""
        if answer.status >= 400:
            await answer.value()
        return answer

    async def run_code(self, code: Optional[str] = None, *, check: bool = False, on_stdout: Optional[Callable[[str], Any]] = None,
                       on_stderr: Optional[Callable[[str], Any]] = None, **options: Any) -> Result:
        """
        Runs code, or a command, in a sandbox of its own, which is removed afterwards. options: those of code_run (language, command,
        template, files, timeout, memory_limit, allow, …).
        """
        r = request_of("code_run", {"code": code, **options, "stream": True}, accept="application/x-ndjson")
        answer = await self._ask(r, self._stream_of)
        collector = Collector(on_stdout=on_stdout, on_stderr=on_stderr)
        try:
            async for value in answer.objects():
                collector.take(event_of(value))
        except LOST as e:
            raise ConnectionLostError(f"code_run: {e}; its sandbox ends with the connection") from e
        finally:
            await answer.aclose()
        if not collector.end:
            raise OutputLostError("code_run: the stream ended before the command", 0)
        result = collector.result()
        return result if not check else result.must()

    async def download_to(self, op: str, args: Mapping[str, Any], file: Any, limit: int) -> int:
        """An answer of bytes into a file, from its current position on; how many."""
        start = file.tell()

        async def copy(answer: AsyncAnswer) -> int:
            if answer.status >= 400:
                await answer.value()
            file.seek(start)
            file.truncate()
            size = 0
            async for piece in answer.pieces():
                size += len(piece)
                if size > limit:
                    raise ValueError(f"{op}: more than {limit} bytes; raise the limit, or take less")
                await in_thread(file.write, piece)
            return size

        return int(await self._ask(request_of(op, args, accept="*/*"), copy))

