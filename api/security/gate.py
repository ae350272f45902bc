"""The gate that every request passes: how often, from where, by whom; and the note of changes."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import error_response
from api.paths import printable_path, segments_of
from api.security.audit import Audit, is_change
from api.security.rates import Rates
from api.security.roles import Caller
from api.security.users import User, Users
from connect.cluster.herder import Herder

# Sent along with a request that is passed on: who asked this worker, and its signature for it.
CALLER_HEADER = "X-Penstock-Caller"

# Passwords are hashed beside the event loop, few at a time, so that guessing slows nobody else.
_HASHING_THREADS = 2
# Credentials that were found right are known again by their digest.
_REMEMBERED = 1000
_BASIC = {"WWW-Authenticate": 'Basic realm="penstock", charset="UTF-8"'}
_BEARER = {"WWW-Authenticate": 'Bearer realm="penstock", error="invalid_token"'}


class Refused(Exception):  # noqa: N818 - it is an answer
    """No way in; the answer says why."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        self.status, self.headers = status, headers
        super().__init__(message)


@dataclass
class Security:
    """What a worker's settings say about it; `users` is None where nobody is asked for a name."""

    herder: Herder
    users: Users | None = None
    rates: Rates | None = None
    audit: Audit = field(default_factory=Audit)
    allow_origins: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._hashing = ThreadPoolExecutor(_HASHING_THREADS, "password")
        self._known: dict[bytes, str] = {}
        self._known_version = 0

    def close(self) -> None:
        self._hashing.shutdown(wait=False, cancel_futures=True)
        self.audit.close()

    # -- who -------------------------------------------------------------------------------

    async def caller(self, scope: Scope, headers: Headers) -> Caller:
        """Who sends this; Refused when that can't be told, or it is too much."""
        address = scope["client"][0] if scope.get("client") else "-"
        given = headers.get("authorization")
        # What an extension has found out counts, then the header, then the certificate that the
        # listener has verified.
        name = scope.get("user") or (scope["state"].get("certificate") if given is None else None)
        if (told := await self._told_by_worker(scope, headers)) is not None:
            scope["state"]["passed_on"] = True
            name, address = told["user"], told["address"]
        if self.users is None:
            self._count(scope, name or address)
            return Caller(name, address)
        self.users.refresh()
        if name is not None:
            user = self.users.named(name)
            if user is None:
                raise Refused(401, f"There is no user {name} in rest.auth.file", _BASIC)
        else:
            user = await self._by_header(given, partial(self._count, scope, address))
        self._count(scope, user.name)
        return Caller(user.name, address, user.grants)

    async def _told_by_worker(self, scope: Scope, headers: Headers) -> dict[str, Any] | None:
        text, _, signature = headers.get(CALLER_HEADER, "").rpartition(" ")
        if text and await self.herder.vouched(vouched_bytes(scope, text), signature):
            told: dict[str, Any] = json.loads(text)
            return told
        return None

    async def _by_header(self, given: str | None, count: partial[None]) -> User:
        assert self.users is not None
        digest = hashlib.sha256((given or "").encode()).digest()
        version = self.users.version
        if self._known_version != version:
            self._known.clear()
            self._known_version = version
        known = self._known.get(digest)
        if known is not None and (user := self.users.named(known)) is not None:
            return user
        count()  # to guess is limited by address
        if given is None:
            raise Refused(401, "Authentication is required", _BASIC)
        scheme, _, credentials = given.strip().partition(" ")
        if scheme.lower() == "bearer":
            found = self.users.by_token(credentials.strip())
            headers = _BEARER
        elif scheme.lower() == "basic":
            name, password = _basic(credentials)
            checking = partial(self.users.by_password, name, password)
            found = await asyncio.get_running_loop().run_in_executor(self._hashing, checking)
            headers = _BASIC
        else:
            raise Refused(401, "The Authorization header is neither Basic nor Bearer", _BASIC)
        if found is None:
            raise Refused(401, "The credentials are not those of a user", headers)
        if len(self._known) >= _REMEMBERED:
            self._known.pop(next(iter(self._known)))
        if version == self.users.version:  # it may have changed while the password was hashed
            self._known[digest] = found.name
        return found

    def _count(self, scope: Scope, client: str) -> None:
        if self.rates is None or scope["state"].get("passed_on"):
            return
        if wait := self.rates.wait(client):
            raise Refused(
                429,
                f"{client} sends more requests than rest.rate.limit allows",
                {"Retry-After": str(math.ceil(wait))},
            )

    # -- from where ------------------------------------------------------------------------

    def check_origin(self, headers: Headers) -> None:
        """A browser says whose page sends a change; another site's may not."""
        origin = headers.get("origin")
        if origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower():
            return
        if not {origin, "*"}.intersection(self.allow_origins):
            raise Refused(
                403,
                f"A page of {origin} may change nothing here: access.control.allow.origin does "
                "not name it",
            )


class Gate:
    """ASGI middleware. Leaves the caller in `scope["state"]` for the routes."""

    def __init__(self, app: ASGIApp, security: Security) -> None:
        self._app = app
        self._security = security

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "state": dict(scope.get("state") or {})}
        segments = segments_of(scope)
        address = scope["client"][0] if scope.get("client") else "-"
        scope["state"]["caller"] = Caller(address=address)
        if segments == ["health"] or _is_internal(scope["method"], segments):
            await self._app(scope, receive, send)
            return
        change = is_change(scope["method"], segments)

        async def noting(message: Message) -> None:
            # Before the answer, so that who has one finds it noted. The worker that was asked
            # first knows most; what it passed on is noted there.
            if message["type"] == "http.response.start" and not scope["state"].get("passed_on"):
                self._security.audit.write(
                    scope["state"]["caller"], scope, printable_path(scope), message["status"]
                )
            await send(message)

        sending = noting if change else send
        if segments[:1] == ["connectors"] and len(segments) > 1:
            scope["state"]["noted"] = {"connector": segments[1]}
        try:
            headers = Headers(scope=scope)
            scope["state"]["caller"] = await self._security.caller(scope, headers)
            if change:
                self._security.check_origin(headers)
            await self._app(scope, receive, sending)
        except Refused as refused:
            answer = error_response(refused.status, str(refused), refused.headers)
            await answer(scope, receive, sending)


def vouched_bytes(scope: Scope, text: str) -> bytes:
    """What a worker signs when it says who sent a request."""
    path = scope.get("raw_path") or scope["path"].encode()
    return b"%s %s\n%s" % (scope["method"].encode(), path, text.encode())


def _is_internal(method: str, segments: list[str]) -> bool:
    """What workers ask of each other; the route demands their signature."""
    return (
        len(segments) == 3
        and segments[0] == "connectors"
        and (method, segments[2]) in (("POST", "tasks"), ("PUT", "fence"))
    )


def _basic(credentials: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(credentials.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Refused(401, "The Authorization header is not base64 of UTF-8", _BASIC) from None
    name, colon, password = text.partition(":")
    if not colon:
        raise Refused(401, "The Authorization header holds no user:password", _BASIC)
    return name, password
