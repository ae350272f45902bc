"""Who is asking: what a request says of its sender."""

from __future__ import annotations

import time
from collections.abc import Generator

import httpx

from connect import Config, ConnectError, Secret

# A token that ends this soon is renewed, so that it does not end on its way.
_EARLY_SECONDS = 30.0


def authentication(config: Config) -> httpx.Auth | None:
    match config["auth.type"].lower():
        case "basic":
            password: Secret = config["connection.password"]
            return httpx.BasicAuth(config["connection.user"], password.reveal())
        case "bearer":
            return _Bearer(config["bearer.token"].reveal())
        case "oauth2":
            return _ClientCredentials(config)
    return None


class _Bearer(httpx.Auth):
    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class _ClientCredentials(httpx.Auth):
    """OAuth 2: a token for client and secret, renewed before its end and after a 401."""

    requires_response_body = True

    def __init__(self, config: Config) -> None:
        self._url: str = config["oauth2.token.url"]
        self._client: str = config["oauth2.client.id"]
        self._secret: Secret = config["oauth2.client.secret"]
        self._form = {"grant_type": "client_credentials"}
        if config["oauth2.client.scope"]:
            self._form["scope"] = config["oauth2.client.scope"]
        self._basic: httpx.BasicAuth | None = None
        if config["oauth2.client.auth.mode"].lower() == "header":
            self._basic = httpx.BasicAuth(self._client, self._secret.reveal())
        else:
            self._form |= {"client_id": self._client, "client_secret": self._secret.reveal()}
        self._token = ""
        self._until = 0.0

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        known = time.monotonic() < self._until
        if not known:
            self._take((yield self._token_request()))
        request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED and known:
            self._take((yield self._token_request()))
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    def _token_request(self) -> httpx.Request:
        request = httpx.Request("POST", self._url, data=self._form)
        if self._basic is not None:
            request = next(self._basic.auth_flow(request))
        return request

    def _take(self, response: httpx.Response) -> None:
        if response.status_code >= 500:
            # Passes as any failure to reach the service does.
            raise httpx.TransportError(f"no token from {self._url}: HTTP {response.status_code}")
        try:
            answer = response.json()
            self._token = answer["access_token"]
        except (ValueError, KeyError, TypeError) as error:
            raise ConnectError(
                f"No token from oauth2.token.url {self._url}: HTTP {response.status_code} "
                f"{response.text[:200]}"
            ) from error
        self._until = time.monotonic() + float(answer.get("expires_in", 300)) - _EARLY_SECONDS
