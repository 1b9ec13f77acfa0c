# SPDX-License-Identifier: Apache-2.0
"""Connections on asyncio streams. _sync/net.py is the same on sockets; everything above is written once."""
from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any, Callable, Optional, TypeVar

from .._http import PIECE
from .._place import Place

T = TypeVar("T")


class AsyncConnection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def open(cls, place: Place, tls: Optional[ssl.SSLContext], timeout: float, first: bytes, fd: Optional[int]) -> "AsyncConnection":
        """Connects and sends the first bytes; a descriptor goes along with them."""
        if place.socket is None:
            made = await asyncio.wait_for(asyncio.open_connection(place.host, place.port, ssl=tls), timeout)
        else:
            raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                raw.setblocking(False)
                await asyncio.wait_for(asyncio.get_running_loop().sock_connect(raw, place.socket), timeout)
                if fd is not None:
                    sent = socket.send_fds(raw, [first[:1]], [fd])
                    first = first[sent:]
                made = await asyncio.open_unix_connection(sock=raw)
            except BaseException:
                raw.close()
                raise
        connection = cls(*made)
        await connection.send(first, timeout)
        return connection

    @property
    def is_usable(self) -> bool:
        """It belongs to its loop, and has said nothing unasked."""
        return self._loop is asyncio.get_running_loop() and not self._reader.at_eof() and not self._writer.is_closing()

    async def send(self, data: bytes, timeout: float) -> None:
        self._writer.write(data)
        await asyncio.wait_for(self._writer.drain(), timeout)

    async def receive(self, timeout: float) -> bytes:
        return await asyncio.wait_for(self._reader.read(PIECE), timeout)

    async def aclose(self) -> None:
        try:
            self._writer.transport.abort()
        except RuntimeError:
            pass  # its loop is closed, and so is this


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, function, *args)


TIMEOUTS = (asyncio.TimeoutError,)
