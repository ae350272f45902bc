"""An S3 API on loopback, empty at first."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server that has no bucket. Skips the test where it is not installed."""
    pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'penstock[s3]'")
    moto = pytest.importorskip("moto.server", reason="moto's server is not installed")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        url = "http://{}:{}".format(*server.get_host_and_port())
        # What it holds belongs to the process, and an earlier server of this one may have left it.
        httpx.post(f"{url}/moto-api/reset", trust_env=False).raise_for_status()
        yield url
    finally:
        server.stop()
