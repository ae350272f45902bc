"""The files sink against a real S3 API."""

import json
import socket
import socketserver
import threading
from contextlib import contextmanager

import pytest

from connect import ConnectError, DataError, RetriableError
from connect.testing import SinkHarness
from connectors.files.sink import FilesSinkConnector
from tests.support.object_store import s3_server


@pytest.fixture(scope="module")
def s3():
    with s3_server() as url:
        yield url


def config(s3, **more):
    return {
        "s3.bucket.name": "lake",
        "s3.region": "eu-central-1",
        "store.url": s3,
        "aws.access.key.id": "key",
        "aws.secret.access.key": "secret",
        "flush.size": "2",
        **more,
    }


@pytest.fixture
def bucket(s3):
    import s3fs  # noqa: PLC0415

    system = s3fs.S3FileSystem(
        key="key", secret="secret", endpoint_url=s3, use_listings_cache=False,
        client_kwargs={"region_name": "eu-central-1"}, skip_instance_cache=True,
    )  # fmt: skip
    system.mkdir("lake")
    yield system
    system.rm("lake", recursive=True)


def test_objects_are_written_and_overwritten(s3, bucket):
    """Each file is an object under the S3 sink's key; after a crash the same key is written."""
    sink = SinkHarness(FilesSinkConnector, config(s3))
    sink.start()
    sink.put(*[{"n": n} for n in range(5)])
    sink.crash()
    with sink:
        sink.flush()
    keys = sorted(bucket.find("lake"))
    prefix = "lake/topics/test/partition=0/test+0+000000000"
    assert keys == [f"{prefix}0.json", f"{prefix}2.json"]
    found = [json.loads(line) for key in keys for line in bucket.cat(key).splitlines()]
    assert found == [{"n": n} for n in range(4)]


def test_bucket_that_is_not_there_fails_the_task(s3, bucket):
    """The error names the object; nothing is committed."""
    sink = SinkHarness(FilesSinkConnector, config(s3, **{"s3.bucket.name": "nowhere"}))
    sink.start()
    with pytest.raises(ConnectError, match="can't be written") as refused:
        sink.put({"n": 0}, {"n": 1})
    sink.crash()
    assert isinstance(refused.value.__cause__, FileNotFoundError)
    assert not isinstance(refused.value, DataError | RetriableError)
    assert sink.committed == {}


def test_store_out_of_reach_is_waited_for(s3, bucket, monkeypatch):
    """Nobody listens, or hangs up on every request: put asks to be called again."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with socket.socket() as closed, _hangs_up() as deaf:
        closed.bind(("127.0.0.1", 0))
        for port in (closed.getsockname()[1], deaf):
            url = f"http://127.0.0.1:{port}"
            sink = SinkHarness(FilesSinkConnector, config(url, **{"retry.backoff.ms": "70"}))
            sink.start()
            records = [sink.record({"n": n}) for n in range(2)]
            with pytest.raises(RetriableError, match="out of reach"):
                sink.task.put(records)
            assert sink.context.backoff_ms == 70
            sink.task.stop()


@contextmanager
def _hangs_up():
    """The port of a server that ends each connection once it was asked something."""

    class HangsUp(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(1)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), HangsUp) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_missing_credentials_fail_the_task(s3, bucket, monkeypatch):
    """They are not waited for: only a change of the config mends that."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    without = {k: v for k, v in config(s3).items() if not k.startswith("aws.")}
    sink = SinkHarness(FilesSinkConnector, without)
    sink.start()
    records = [sink.record({"n": n}) for n in range(2)]
    with pytest.raises(ConnectError, match="credentials") as refused:
        sink.task.put(records)
    assert not isinstance(refused.value, DataError | RetriableError)
    sink.task.stop()


def test_half_written_object_is_replaced(s3, bucket):
    """What a killed task may have left under a file's name is no part of it afterwards."""
    key = "lake/topics/test/partition=0/test+0+0000000000.json"
    bucket.pipe_file(key, b'{"n": 0}\n{"n":')
    with SinkHarness(FilesSinkConnector, config(s3)) as sink:
        sink.put({"n": 0}, {"n": 1})
    assert [json.loads(line) for line in bucket.cat(key).splitlines()] == [{"n": 0}, {"n": 1}]
