"""The files sink against a real S3 API."""

import json

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


def test_half_written_object_is_replaced(s3, bucket):
    """What a killed task may have left under a file's name is no part of it afterwards."""
    key = "lake/topics/test/partition=0/test+0+0000000000.json"
    bucket.pipe_file(key, b'{"n": 0}\n{"n":')
    with SinkHarness(FilesSinkConnector, config(s3)) as sink:
        sink.put({"n": 0}, {"n": 1})
    assert [json.loads(line) for line in bucket.cat(key).splitlines()] == [{"n": 0}, {"n": 1}]
