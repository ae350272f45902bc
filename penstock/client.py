"""Talks to a worker over its REST API; any Kafka Connect worker, this one's or the JVM's."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from penstock.contexts import Context
from penstock.errors import UserError
from penstock.options import DEFAULT_URL

# A rebalance is over in seconds, and until then workers answer 409.
_RETRY_SECONDS = 30.0
_RETRY_PAUSE_SECONDS = 0.5
# A worker gives up on a request after 90 seconds; its answer says more than a timeout here.
_TIMEOUT = httpx.Timeout(100.0, connect=5.0)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class WorkerError(UserError):
    """The worker refused; `status` is the HTTP status, the text is the worker's own."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class WorkerClient:
    """One worker, by its context. Errors are sentences for the user."""

    def __init__(self, context: Context, *, timeout: httpx.Timeout = _TIMEOUT) -> None:
        self.url = context.url.rstrip("/")
        host = urlsplit(self.url).hostname
        if not self.url.startswith(("http://", "https://")) or host is None:
            raise UserError(
                f"'{context}' is no URL of a worker: --url or PENSTOCK_URL is like {DEFAULT_URL}."
            )
        self._context = context
        # A proxy of the environment can't reach this machine's own loopback.
        self._http = httpx.Client(
            timeout=timeout, trust_env=host not in _LOOPBACK, verify=_tls(context)
        )
        self._has_credentials = False

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **params: Any) -> Any:
        return self.call("GET", path, params=params)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> Any:
        """The answer's JSON, or None if it has none. Waits while a rebalance or a limit is on."""
        if not self._has_credentials:
            self._add_credentials()
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            answer = self._send(method, path, body, params)
            if answer.is_success:
                return _json(answer)
            error = _error(answer)
            if not _may_pass(error, answer) or time.monotonic() > deadline:
                raise error
            time.sleep(_RETRY_PAUSE_SECONDS)

    def _add_credentials(self) -> None:
        known = self._context.with_secret()
        if known.token is not None:
            self._http.headers["Authorization"] = f"Bearer {known.token}"
        elif known.username is not None:
            self._http.auth = httpx.BasicAuth(known.username, known.password or "")
        self._has_credentials = True

    def _send(
        self, method: str, path: str, body: Any, params: Mapping[str, Any] | None
    ) -> httpx.Response:
        try:
            return self._http.request(method, self.url + path, json=body, params=params or None)
        except httpx.TimeoutException as error:
            raise UserError(
                f"The worker at {self.url} did not answer in time ({method} {path})."
            ) from error
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise UserError(
                f"No worker answers at {self.url} ({error}): start one, or name another by --url "
                "or PENSTOCK_URL."
            ) from error

    def connector_names(self) -> list[str]:
        return sorted(self.get("/connectors"))

    def connector(
        self, verb: str, name: str, path: str = "", body: Any = None, **params: Any
    ) -> Any:
        """A request about one connector. If there is none of that name, says which there are."""
        try:
            return self.call(verb, connector_path(name) + path, body, params)
        except WorkerError as error:
            if error.status != 404:
                raise
            names = self.connector_names()
            if name in names:
                raise  # the connector is there, what is missing is a part of it
            raise UserError(unknown("connector", name, names)) from error


def _tls(context: Context) -> ssl.SSLContext:
    try:
        tls = ssl.create_default_context(cafile=context.ca)
        # As `as_java_trusts` does for a worker, whose modules a command does not load.
        tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if context.cert is not None:
            tls.load_cert_chain(context.cert, context.key)
    except OSError as error:
        files = ", ".join(f for f in (context.ca, context.cert, context.key) if f)
        raise UserError(f"The certificates can't be used ({files}): {error}.") from error
    return tls


def connector_path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}"


def unknown(what: str, name: str, there_are: Sequence[str]) -> str:
    """What to say about a name that does not exist."""
    if not there_are:
        return f"There is no {what} '{name}', and no other {what} either."
    shown = "".join(f"\n  {each}" for each in there_are)
    return f"There is no {what} '{name}'. There are:{shown}"


def _json(answer: httpx.Response) -> Any:
    return answer.json() if answer.content else None


def _error(answer: httpx.Response) -> WorkerError:
    try:
        message = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        # Not a worker's answer, or a proxy's in front of it.
        message = f"{answer.request.url} answered {answer.status_code} {answer.reason_phrase}"
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        message += ". `penstock context set --help` tells how a command gets in."
    return WorkerError(answer.status_code, message)


def _may_pass(error: WorkerError, answer: httpx.Response) -> bool:
    """429 passes. 409 also means that a name is taken, which no waiting changes."""
    if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return True
    return answer.status_code == 409 and not str(error).endswith("already exists")
