# SPDX-License-Identifier: Apache-2.0
"""What comes of a command: its events as they come, and its result."""
from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional

from .errors import CommandError

LINE_MAX = 4 * 1024 * 1024  # an event is at most half of that
OUTPUT_MAX = 16 * 1024 * 1024  # of a stream that is collected, unless the caller says otherwise


@dataclass
class Event:
    """One event of a command: started, stdout, stderr, exited or error. `data` is the API's own object."""

    event: str
    data: Dict[str, Any]
    bytes: bytes = b""

    @property
    def text(self) -> str:
        return self.bytes.decode("utf-8", "replace")

    @property
    def cursor(self) -> int:
        return int(self.data.get("cursor", 0))


def event_of(data: Dict[str, Any]) -> Event:
    raw = b""
    if "text" in data:
        raw = str(data["text"]).encode("utf-8", "surrogatepass")
    elif "base64" in data:
        raw = base64.b64decode(data["base64"])
    return Event(str(data.get("event", "")), data, raw)


class Lines:
    """NDJSON from pieces of any size. Lines without an object are keep-alives."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Dict[str, Any]]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_MAX:
            raise ValueError("an event is too long")
        for line in lines:
            if line.strip():
                value = json.loads(line)
                if isinstance(value, dict):
                    yield value


@dataclass
class Result:
    """A command that ended. Output is kept up to a maximum; `truncated` says whether some was dropped."""

    data: Dict[str, Any]
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    truncated: bool = False

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def exit_code(self) -> Optional[int]:
        return self.data.get("exit_code")

    @property
    def signal(self) -> Optional[str]:
        return self.data.get("signal")

    @property
    def cause(self) -> str:
        """Why it ended: exited, memory, wall_time, …"""
        return str(self.data.get("cause") or "")

    @property
    def cause_text(self) -> str:
        return str(self.data.get("cause_text") or "")

    @property
    def advice(self) -> str:
        return str(self.data.get("advice") or "")

    @property
    def hints(self) -> List[str]:
        return list(self.data.get("hints") or [])

    @property
    def exec_id(self) -> str:
        return str(self.data.get("exec_id") or "")

    @property
    def duration_ms(self) -> int:
        return int(self.data.get("duration_ms") or 0)

    @property
    def ok(self) -> bool:
        return self.cause == "exited" and self.exit_code == 0

    def must(self) -> "Result":
        """Itself, if the command succeeded; else raises CommandError."""
        if not self.ok:
            raise CommandError(self)
        return self

    def __str__(self) -> str:
        return self.stdout


@dataclass
class Collector:
    """Makes a result of events."""

    limit: int = OUTPUT_MAX
    on_stdout: Optional[Callable[[str], Any]] = None
    on_stderr: Optional[Callable[[str], Any]] = None
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    truncated: bool = False
    end: Dict[str, Any] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        if event.event in ("stdout", "stderr"):
            into, tell = (self.out, self.on_stdout) if event.event == "stdout" else (self.err, self.on_stderr)
            room = self.limit - len(into)
            into += event.bytes[:room]
            self.truncated = self.truncated or len(event.bytes) > room
            if tell is not None:
                tell(event.text)
        elif event.event == "error":
            self.truncated = True
        elif event.event == "exited":
            self.end = event.data

    def result(self) -> Result:
        return Result(self.end, bytes(self.out), bytes(self.err), self.truncated)
