# SPDX-License-Identifier: Apache-2.0
"""Where the daemon is and as whom to speak to it: arguments, then the variables that `cay` reads, then the usual socket."""
from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import ssl
import time
from dataclasses import dataclass
from typing import Callable, Optional, Union
from urllib.parse import urlsplit

DEFAULT_DATA = "/var/lib/cay"
TOKEN_S = 1800
MARGIN_S = 30.0  # a token is renewed so long before its end, or after two thirds of a short life

Token = Union[str, Callable[[], str]]


@dataclass
class Place:
    """A daemon's address: a unix socket, or a host and a port."""

    socket: Optional[str] = None
    host: str = "localhost"
    port: int = 0
    is_tls: bool = False
    path: str = ""  # in front of every path, where a proxy serves the daemon below one
    ca: Optional[str] = None

    @property
    def authority(self) -> str:
        if self.socket:
            return "localhost"
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.is_tls else 80) else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """For people and other programs. A socket has no URL of its own: the daemon writes its other address beside it."""
        if self.socket:
            try:
                with open(os.path.join(os.path.dirname(self.socket), "url"), encoding="utf-8") as f:
                    return f.read(1024).strip()
            except OSError:
                return "http://localhost"
        return f"{'https' if self.is_tls else 'http'}://{self.authority}{self.path}"

    def ssl_context(self) -> Optional[ssl.SSLContext]:
        return ssl.create_default_context(cafile=self.ca) if self.is_tls else None

    def __str__(self) -> str:
        return self.socket or self.url


def parse_url(url: str, ca: Optional[str]) -> Place:
    if url.startswith("unix:"):
        return Place(socket=url[5:] if not url.startswith("unix://") else url[7:])
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url: '{url}' is not http://HOST[:PORT], https://HOST[:PORT] or unix:PATH")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("url: must not contain a user, a query or a fragment; give the token by itself")
    is_tls = parts.scheme == "https"
    return Place(host=parts.hostname, port=parts.port or (443 if is_tls else 80), is_tls=is_tls, path=parts.path.rstrip("/"), ca=ca)


def variable(name: str) -> Optional[str]:
    return os.environ.get(name) or None


def find_place(url: Optional[str], socket: Optional[str], data: Optional[str], ca: Optional[str]) -> Place:
    if sum(x is not None for x in (url, socket, data)) > 1:
        raise ValueError("url, socket and data exclude each other")
    ca = ca or variable("CAY_CA_FILE")
    if url is None and socket is None and data is None:
        url = variable("CAY_URL") or variable("SANDBOX_SERVICE_URL")
        if url is None:
            socket = variable("CAY_SOCKET")
    if url is not None:
        return parse_url(url, ca)
    return Place(socket=socket or os.path.join(data or variable("CAY_DATA") or DEFAULT_DATA, "cay.sock"))


def _b64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def make_token(secret: str, owner: str, scope: str, lifetime: float) -> str:
    """A token of the form that docs/tokens.md describes."""
    claims = {"o": owner, "s": scope, "e": int(time.time() + lifetime), "i": "python"}
    payload = b"cay1." + _b64(json.dumps(claims).encode())
    return (payload + b"." + _b64(hmac.new(secret.encode(), payload, hashlib.sha256).digest())).decode()


@dataclass
class Credentials:
    """As whom. At most one of the three is used: a token (or what makes one), a key, the shared secret."""

    token: Optional[Token] = None
    api_key: Optional[str] = None
    secret: Optional[str] = None
    owner: Optional[str] = None
    scope: str = "exec"
    lifetime: float = TOKEN_S
    _now: Optional[str] = None
    _renew_at: float = 0.0

    @property
    def makes_by_key(self) -> bool:
        """An administrator's key that makes tokens of an owner, by the daemon."""
        return self.api_key is not None and self.owner is not None

    @property
    def can_renew(self) -> bool:
        return self.makes_by_key or callable(self.token) or self.secret is not None

    def bearer(self) -> Optional[str]:
        """What to send now; None: nothing, or a token has to be made by the daemon first (needs_token)."""
        if self.makes_by_key:
            return self._now
        if self.api_key is not None:
            return self.api_key
        if isinstance(self.token, str):
            return self.token
        if self._now is None or time.monotonic() >= self._renew_at:
            if callable(self.token):
                self.keep(self.token(), self.lifetime)
            elif self.secret is not None:
                self.keep(make_token(self.secret, self.owner or "default", self.scope, self.lifetime), self.lifetime)
        return self._now

    @property
    def needs_token(self) -> bool:
        return self.makes_by_key and (self._now is None or time.monotonic() >= self._renew_at)

    def keep(self, token: str, lifetime: float) -> None:
        self._now = token
        self._renew_at = time.monotonic() + max(lifetime - MARGIN_S, lifetime * 2 / 3 - 1)

    def forget(self) -> None:
        self._now = None


def find_credentials(place: Place, token: Optional[Token], api_key: Optional[str], secret: Optional[str], owner: Optional[str], scope: str,
                     lifetime: float) -> Credentials:
    if sum(x is not None for x in (token, api_key, secret)) > 1:
        raise ValueError("token, api_key and token_secret exclude each other")
    if token is None and api_key is None and secret is None and not place.socket:
        token, api_key = variable("CAY_TOKEN"), variable("CAY_API_KEY")
        path = variable("CAY_TOKEN_FILE")
        if token is None and api_key is None and path is not None:
            with open(path, encoding="utf-8") as f:
                token = f.read(4096).strip()
        service = variable("SANDBOX_SERVICE_URL")
        if token is None and api_key is None and service is not None and parse_url(service, place.ca) == place:
            secret = variable("SANDBOX_TOKEN_SECRET")  # its tokens go nowhere else
        elif token is not None:
            api_key = None
    return Credentials(token, api_key, secret, owner, scope, lifetime)
