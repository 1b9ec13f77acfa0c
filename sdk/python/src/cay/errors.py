# SPDX-License-Identifier: Apache-2.0
"""Errors as classes, one for each code of the API. Each says what was wrong and, where the daemon knows, what to do."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Type

from ._generated.codes import CODES

if TYPE_CHECKING:
    from .results import Result


class CayError(Exception):
    """The base of everything that this package raises on purpose."""


class ApiError(CayError):
    """The daemon refused. `message` says what was wrong, `field` about which field of the request, `request_id` is in its log."""

    code = ""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(error.get("code") or self.code or "internal")
        self.message = str(error.get("message") or f"the answer was {status}")
        self.field: Optional[str] = error.get("field")
        self.request_id: Optional[str] = error.get("request_id")
        self.first: Optional[str] = error.get("first")
        self.confirm: Optional[str] = error.get("confirm")
        self.reason: Optional[str] = error.get("reason")
        super().__init__(self.message)


class ConnectionLostError(CayError):
    """There is no daemon, or the connection was cut and trying again is not safe or did not help."""

    code = "connection"

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class OutputLostError(CayError):
    """A stream could not resume: the output after its cursor is no longer kept. `cursor` is where it was."""

    def __init__(self, message: str, cursor: int) -> None:
        self.message, self.cursor = message, cursor
        super().__init__(message)


class CommandError(CayError):
    """A command that was to succeed did not (`check=True`). `result` has its output, cause and advice."""

    def __init__(self, result: "Result") -> None:
        self.result = result
        self.cause, self.cause_text, self.advice = result.cause, result.cause_text, result.advice
        self.exit_code, self.signal = result.exit_code, result.signal
        self.stdout, self.stderr = result.stdout, result.stderr
        text = result.cause_text or f"the command ended: {result.cause}"
        if result.advice:
            text += f"; {result.advice}"
        last = result.stderr.strip().splitlines()[-1:] if result.stderr else []
        super().__init__("\n".join([text, *last]))


def class_name(code: str) -> str:
    return "".join(word.capitalize() for word in code.split("_")) + "Error"


# InvalidError, NotFoundError, ExistsError, DeniedError, …: the list is the API's own.
BY_CODE: Dict[str, Type[ApiError]] = {
    code: type(class_name(code), (ApiError,), {"code": code, "__doc__": f"The API's error with the code {code}.", "__module__": __name__})
    for code in CODES
}
globals().update({c.__name__: c for c in BY_CODE.values()})

if TYPE_CHECKING:  # what the line above makes, for type checkers
    class InvalidError(ApiError): ...
    class NotFoundError(ApiError): ...
    class ExistsError(ApiError): ...
    class DeniedError(ApiError): ...
    class ConflictError(ApiError): ...
    class LimitError(ApiError): ...
    class UnsupportedError(ApiError): ...
    class UnavailableError(ApiError): ...
    class TimeoutError(ApiError): ...
    class NoSpaceError(ApiError): ...
    class InternalError(ApiError): ...
    class DamagedError(ApiError): ...
    class UnauthenticatedError(ApiError): ...
    class MethodNotAllowedError(ApiError): ...
    class TooLargeError(ApiError): ...
    class WrongHostError(ApiError): ...
    class ConfirmError(ApiError): ...


def error_of(status: int, body: Any) -> ApiError:
    """The error that an answer is; also one that is not Cay's (a proxy's page)."""
    inner = body.get("error") if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        inner = {"code": "unavailable" if status in (502, 503, 504) else "internal", "message": f"the answer was {status}, and not Cay's"}
    return BY_CODE.get(str(inner.get("code")), ApiError)(status, inner)
