# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as bytes, without a connection: heads of requests, and a reader of answers that is fed pieces of any size."""
from __future__ import annotations

from typing import Dict, Mapping, Optional
from urllib.parse import quote

HEAD_MAX = 64 * 1024
LINE_MAX = 1024  # of a chunk's size
PIECE = 64 * 1024


class Broken(Exception):
    """The connection was cut, or what came over it is no answer. Internal: callers see ConnectionLostError."""


def request_head(method: str, target: str, host: str, headers: Mapping[str, str], length: Optional[int]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items())]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    elif method not in ("GET", "DELETE"):
        lines.append("Content-Length: 0")
    text = "\r\n".join(lines)
    if "\n" in text.replace("\r\n", ""):
        raise ValueError("a header must not contain a line end")
    return (text + "\r\n\r\n").encode("latin-1")


def path_segment(value: object) -> str:
    text = quote(str(value), safe="")
    return text.replace(".", "%2E") if text in (".", "..") else text


class AnswerReader:
    """One answer. `feed` gives the bytes of the body in what it was fed; `end` says that the connection ended."""

    def __init__(self) -> None:
        self.status = 0  # 0: the head is not complete yet
        self.headers: Dict[str, str] = {}
        self.done = False
        self.can_reuse = False
        self._head = bytearray()
        self._line = bytearray()
        self._left = 0  # of the body, or of the chunk
        self._form = "head"  # then: length, chunk_size, chunk, chunk_end, trailer, until_end

    def feed(self, data: bytes) -> bytes:
        body = bytearray()
        view = memoryview(data)
        while len(view) and not self.done:
            view = self._step(view, body)
        if self.done and len(view):
            self.can_reuse = False  # it says more than it was asked
        return bytes(body)

    def end(self) -> None:
        if self._form == "until_end":
            self.done = True
        if not self.done:
            raise Broken("the connection was cut")

    def _step(self, view: memoryview, body: bytearray) -> memoryview:
        if self._form == "head":
            return self._feed_head(view)
        if self._form in ("length", "chunk"):
            taken = view[: self._left]
            body += taken
            self._left -= len(taken)
            if self._left == 0:
                if self._form == "length":
                    self.done = True
                else:
                    self._form = "chunk_end"
            return view[len(taken):]
        if self._form == "until_end":
            body += view
            return view[len(view):]
        return self._feed_line(view)

    def _feed_head(self, view: memoryview) -> memoryview:
        had = len(self._head)
        self._head += view
        at = self._head.find(b"\r\n\r\n", max(0, had - 3))
        if at < 0:
            if len(self._head) > HEAD_MAX:
                raise Broken("the head of the answer is too long")
            return view[len(view):]
        rest = view[at + 4 - had:]
        self._read_head(bytes(self._head[:at]))
        return rest

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise Broken("this is not an HTTP server")
        status = int(words[1])
        self._head.clear()
        if 100 <= status < 200:
            return  # an interim answer: the next head follows
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon:
                raise Broken("a header has no name")
            self.headers[name.strip().lower()] = value.strip()
        self.status = status
        self.can_reuse = self.headers.get("connection", "").lower() != "close" and words[0] == "HTTP/1.1"
        self._begin_body()

    def _begin_body(self) -> None:
        length = self.headers.get("content-length")
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            self._form = "chunk_size"
        elif self.status in (204, 304) or length == "0":
            self.done = True
        elif length is not None:
            if not length.isdigit():
                raise Broken("the length of the answer is not a number")
            self._form, self._left = "length", int(length)
        else:
            self._form, self.can_reuse = "until_end", False

    def _feed_line(self, view: memoryview) -> memoryview:
        had = len(self._line)
        self._line += view[:LINE_MAX]
        at = self._line.find(b"\r\n", max(0, had - 1))
        if at < 0:
            if len(self._line) > LINE_MAX:
                raise Broken("the size of a chunk is too long")
            return view[len(view):] if len(view) <= LINE_MAX else view[LINE_MAX:]
        line = bytes(self._line[:at])
        rest = view[at + 2 - had:]
        self._line.clear()
        if self._form == "chunk_end":
            if line:
                raise Broken("a chunk is longer than it said")
            self._form = "chunk_size"
        elif self._form == "chunk_size":
            try:
                self._left = int(line.split(b";")[0], 16)
            except ValueError:
                raise Broken("the size of a chunk is not a number") from None
            self._form = "chunk" if self._left else "trailer"
        elif not line:
            self.done = True
        return rest
