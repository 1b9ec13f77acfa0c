# SPDX-License-Identifier: Apache-2.0
"""Calls as requests and answers as values, without a connection; and which requests may be sent again."""
from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass, field
from typing import IO, Any, Dict, Mapping, Optional, Union
from urllib.parse import urlencode

from ._generated.codes import VERSION
from ._generated.table import OPS, Op
from ._http import path_segment
from .errors import error_of

Body = Union[bytes, IO[bytes]]
ANSWER_MAX = 128 * 1024 * 1024  # of an answer that is kept in memory
KEYED = ("sandbox_create", "exec_run")  # a lost answer of these is found again by their execution_id


@dataclass
class Request:
    """What goes over the wire, and whether it may go twice."""

    method: str
    target: str
    headers: Dict[str, str] = field(default_factory=dict)
    body: Optional[Body] = None
    length: Optional[int] = None
    may_repeat: bool = False  # the second time changes nothing, or is refused with what the first made
    fd: Optional[int] = None  # a descriptor that goes along, over a unix socket
    name: str = ""
    sent: int = 0  # how often it was


def new_key() -> str:
    return "py-" + os.urandom(12).hex()


def query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def size_of(body: Body) -> int:
    if isinstance(body, (bytes, bytearray, memoryview)):
        return len(body)
    at = body.tell()
    size = body.seek(0, os.SEEK_END) - at
    body.seek(at)
    return size


def may_repeat(op: Op, args: Mapping[str, Any]) -> bool:
    if op.method == "GET" or op.name in ("sandbox_destroy", "exec_kill", "exec_resize", "intent_detect"):
        return True
    if op.name in KEYED:
        return args.get("execution_id") is not None
    if op.name == "exec_input":
        return args.get("offset") is not None
    if op.name == "file_write":
        return not args.get("append") and not args.get("exclusive") and args.get("if_tag") is None
    return op.name == "archive_put"


def request_of(name: str, args: Mapping[str, Any], content: Optional[Body] = None, accept: str = "application/json") -> Request:
    op = OPS.get(name)
    if op is None:
        raise ValueError(f"there is no operation '{name}'")
    given = {k: v for k, v in args.items() if v is not None}
    unknown = set(given) - set(op.path) - set(op.query) - set(op.body)
    if unknown:
        raise TypeError(f"{name} has no argument '{sorted(unknown)[0]}'")
    path = op.route
    for key in op.path:
        if key not in given:
            raise TypeError(f"{name} needs the argument '{key}'")
        path = path.replace("{" + key + "}", path_segment(given[key]))
    query = {k: query_value(given[k]) for k in op.query if k in given}
    r = Request(op.method, path + ("?" + urlencode(query) if query else ""), {"Accept": accept}, name=name, may_repeat=may_repeat(op, given))
    if content is not None:
        r.body, r.length = content, size_of(content)
        r.headers["Content-Type"] = "application/octet-stream"
    elif op.method != "GET":
        body = {k: given[k] for k in op.body if k in given}
        if op.body:
            r.body = json.dumps(body).encode()
            r.length = len(r.body)
            r.headers["Content-Type"] = "application/json"
    r.headers["User-Agent"] = f"cay-python/{VERSION}"
    return r


def value_of(status: int, headers: Mapping[str, str], body: bytes) -> Any:
    """An answer's JSON, or its bytes; raises what it is an error of."""
    is_json = headers.get("content-type", "").startswith("application/json")
    value: Any = body
    if is_json or status >= 400:
        try:
            value = json.loads(body) if body else None
        except ValueError:
            value = None
    if status >= 400:
        raise error_of(status, value)
    return value


def pause_before(attempt: int, retry_after: Optional[str] = None) -> float:
    """Seconds before the next try: grows, with some chance in it, so that many clients do not come at once."""
    if retry_after is not None and retry_after.isdigit():
        return float(retry_after)
    return float(min(2.0, 0.1 * 2 ** attempt) * (0.5 + random.random() / 2))
