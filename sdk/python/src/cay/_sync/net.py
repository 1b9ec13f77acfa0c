# SPDX-License-Identifier: Apache-2.0
"""Connections on sockets: the synchronous twin of _async/net.py."""
from __future__ import annotations

import select
import socket
import ssl
import time
from typing import Any, Callable, Optional, TypeVar

from .._http import PIECE
from .._place import Place

T = TypeVar("T")


class Connection:
    def __init__(self, raw: socket.socket) -> None:
        self._socket = raw

    @classmethod
    def open(cls, place: Place, tls: Optional[ssl.SSLContext], timeout: float, first: bytes, fd: Optional[int]) -> "Connection":
        """Connects and sends the first bytes; a descriptor goes along with them."""
        if place.socket is None:
            raw = socket.create_connection((place.host, place.port), timeout)
        else:
            raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            raw.settimeout(timeout)
            if place.socket is not None:
                raw.connect(place.socket)
            if fd is not None:
                sent = socket.send_fds(raw, [first[:1]], [fd])
                first = first[sent:]
            if tls is not None:
                raw = tls.wrap_socket(raw, server_hostname=place.host)
            connection = cls(raw)
            connection.send(first, timeout)
        except BaseException:
            raw.close()
            raise
        return connection

    @property
    def is_usable(self) -> bool:
        """It has said nothing unasked: neither bytes nor its end."""
        if self._socket.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def send(self, data: bytes, timeout: float) -> None:
        self._socket.settimeout(timeout)
        self._socket.sendall(data)

    def receive(self, timeout: float) -> bytes:
        self._socket.settimeout(timeout)
        return self._socket.recv(PIECE)

    def close(self) -> None:
        self._socket.close()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def in_thread(function: Callable[..., T], *args: Any) -> T:
    return function(*args)


TIMEOUTS = (socket.timeout,)
