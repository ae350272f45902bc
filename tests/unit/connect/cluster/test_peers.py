"""Requests from worker to worker."""

import asyncio
import ssl

from connect.cluster.peers import Peers
from tests.support.http_service import http_service


def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    """Workers reach each other directly: what they pass on holds secrets."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    async def ask(url):
        peers = Peers(ssl.create_default_context)
        try:
            return await peers.ask("PUT", f"{url}/connectors/a/fence", b"", {})
        finally:
            await peers.close()

    with http_service() as service:
        assert asyncio.run(ask(service.url)).status_code == 200
        assert [asked.path for asked in service.asked] == ["/connectors/a/fence"]
