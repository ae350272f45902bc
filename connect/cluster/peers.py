"""How this worker reaches the others of its cluster: over their REST API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ssl import SSLContext
from typing import TYPE_CHECKING

from connect.errors import ConnectError

if TYPE_CHECKING:
    import httpx

# A request that is passed on may take as long as one here; what waits longer gives up by itself.
_SECONDS = 120.0


class PeerError(ConnectError):
    """Another worker could not be asked."""


class Peers:
    """A client for all of them. It is made with the first request: many workers never send one."""

    def __init__(self, tls: Callable[[], SSLContext]) -> None:
        self._tls = tls
        self._client: httpx.AsyncClient | None = None

    async def ask(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> httpx.Response:
        """The answer, whatever it says. PeerError if there is none."""
        import httpx  # noqa: PLC0415 - heavy, rarely needed

        if self._client is None:
            # Not through a proxy of the environment: it would see the secrets in what is passed on.
            self._client = httpx.AsyncClient(verify=self._tls(), timeout=_SECONDS, trust_env=False)
        try:
            return await self._client.request(method, url, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise PeerError(str(error)) from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
