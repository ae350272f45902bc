"""What the records of an offset topic come to."""

import pytest

from connect.cluster.kafka_log import Record
from connect.cluster.offset_log import OffsetState
from connect.errors import DataError


def put(state, key, value):
    state.apply(Record(key, value, 0, 0))


def test_offsets_are_found_by_partition_whatever_the_order_of_its_keys():
    """A partition is a map: {"a","b"} and {"b","a"} are the same."""
    state = OffsetState()
    put(state, b'["c",{"b":2,"a":1}]', b'{"position":5}')
    assert state.read("c", [{"a": 1, "b": 2}, {"a": 1}]) == [{"position": 5}, None]
    assert state.read("other", [{"a": 1, "b": 2}]) == [None]


def test_an_entry_is_continued_under_its_own_key():
    """The key is repeated byte for byte, or Kafka would keep the old offset beside the new."""
    state = OffsetState()
    put(state, b'["c",{"b":2,"a":1}]', b'{"position":5}')
    assert state.record_of("c", {"a": 1, "b": 2}, {"position": 6}) == (
        b'["c",{"b":2,"a":1}]',
        b'{"position":6}',
    )


def test_new_key_is_written_as_the_jvm_does():
    """Compact JSON, in UTF-8."""
    key, value = OffsetState().record_of("ö", {"f": "/x"}, {"position": 1})
    assert key == '["ö",{"f":"/x"}]'.encode()
    assert value == b'{"position":1}'


def test_tombstone_forgets():
    """A deleted offset is not listed and not read; its key is remembered for the next write."""
    state = OffsetState()
    put(state, b'["c",{"f":1}]', b'{"p":5}')
    put(state, b'["c",{"f":1}]', None)
    assert state.read("c", [{"f": 1}]) == [None]
    assert state.all("c") == []
    assert state.record_of("c", {"f": 1}, None) == (b'["c",{"f":1}]', None)


@pytest.mark.parametrize(
    ("key", "value"),
    [(b'"c"', b"{}"), (b'["c"]', b"{}"), (b'[1,{"a":1}]', b"{}"), (b'["c",{"a":1}]', b"7")],
)
def test_foreign_records_are_refused(key, value):
    """What is no offset is an error of that record alone."""
    with pytest.raises(DataError):
        put(OffsetState(), key, value)
