"""Record batches, read back by a reader that is not ours."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords

from connect.data.framed import Framed
from connect.runtime import record_batch
from connect.runtime.record_batch import MOST_DELTA_MS, MOST_RECORDS, RecordBatch, Signature

NO_LIMIT = 1 << 40
TEXT = st.binary(max_size=300).map(lambda data: data.replace(b"\n", b" "))
VALUES = st.lists(TEXT, min_size=1, max_size=20)
FRAMED = st.builds(Framed, TEXT, VALUES, TEXT)
NOW = 1_700_000_000_000
SIGNED = Signature(1 << 40, 3, (1 << 31) - 1)


def read(batch):
    """Offsets, timestamps and values, as kafka-python finds them."""
    data = b"".join(batch.parts(SIGNED))
    assert len(data) == batch.size
    records = MemoryRecords(data)
    found = records.next_batch()
    assert not records.has_next()
    assert found.validate_crc()
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == SIGNED
    result = [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in found]
    assert len(result) == batch.count
    return result


def made_of(*segments):
    batch = RecordBatch(segments[0][1])
    for values, timestamp in segments:
        assert batch.takes(len(values), timestamp)
        assert batch.add(values, timestamp, NO_LIMIT)
    return batch


def expected(*segments):
    every = [(value, timestamp) for values, timestamp in segments for value in values]
    return [(i, timestamp, None, value, []) for i, (value, timestamp) in enumerate(every)]


@given(st.lists(st.tuples(VALUES | FRAMED, st.integers(0, MOST_DELTA_MS)), min_size=1, max_size=4))
@example([([b""], 0)])
@example([([b"x"], 0), (Framed(b"{", [b"", b"1"], b"}"), 64)])
def test_what_was_added_is_read_back(parts):
    """Values, times and places, in the order in which they were added."""
    segments = [(values, NOW + delta) for values, delta in parts]
    segments[0] = (segments[0][0], NOW)
    assert read(made_of(*segments)) == expected(*segments)


@pytest.mark.parametrize("count", [63, 64, 65, 8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("first", [1, 63, 8000])
def test_places_of_every_width(count, first):
    """A place takes one byte more from 64 on, and from 8192 on; batches begin anywhere."""
    segments = ([b"a"] * first, NOW), ([b"%d" % n for n in range(count)], NOW + 70)
    assert read(made_of(*segments)) == expected(*segments)


def test_a_value_of_every_width_of_length():
    values = [b"x" * size for size in (0, 1, 54, 55, 63, 64, 8191, 8192, 1 << 20)]
    assert read(made_of((values, NOW))) == expected((values, NOW))


def test_more_lengths_than_are_remembered(monkeypatch):
    """The tables are emptied in the middle of a batch, and what is written is right."""
    monkeypatch.setattr(record_batch, "_MOST_LENGTHS", 10)
    values = [b"y" * size for size in range(500)]
    assert read(made_of((values, NOW))) == expected((values, NOW))


def test_what_is_too_large_is_not_added():
    """The batch stays as it was."""
    batch = made_of(([b"a", b"b"], NOW))
    assert not batch.add([b"c" * 1000], NOW, batch.size + 1000)
    assert batch.add([b"d"], NOW, batch.size + 1000)
    assert [record[3] for record in read(batch)] == [b"a", b"b", b"d"]


@pytest.mark.parametrize(
    ("count", "timestamp", "takes"),
    [
        (1, NOW, True),
        (1, NOW + MOST_DELTA_MS, True),
        (1, NOW + MOST_DELTA_MS + 1, False),
        (1, NOW - 1, False),
        (MOST_RECORDS, NOW, False),
        (MOST_RECORDS - 1, NOW, True),
    ],
)
def test_what_a_batch_takes(count, timestamp, takes):
    """No more records than fit, and no times before its own or long after."""
    assert made_of(([b"a"], NOW)).takes(count, timestamp) is takes


KEYED = st.lists(
    st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=200)), min_size=1
)


@given(KEYED)
def test_records_with_keys_are_read_back(records):
    """One by one, tombstones among them, as offsets are written."""
    batch = RecordBatch(NOW)
    for record in records:
        batch.add_keyed(*record)
    assert read(batch) == [(i, NOW, key, value, []) for i, (key, value) in enumerate(records)]


def test_a_transaction_is_told_by_its_batches():
    batch = made_of(([b"x"], NOW))
    for transactional in (False, True):
        data = b"".join(batch.parts(SIGNED, transactional=transactional))
        found = MemoryRecords(data).next_batch()
        assert found.validate_crc()
        assert found.is_transactional is transactional


# Utils.toPositive(Utils.murmur2(key)) % 12 of kafka-clients 4.3.1.
JAVAS_CHOICE = {
    "": 9, "a": 4, "ab": 2, "abc": 3, "abcd": 8, "order-1": 10, "customer-4711": 0, "Köln": 10,
    '{"id":7}': 9, "the quick brown fox": 1,
}  # fmt: skip


@pytest.mark.parametrize("key", JAVAS_CHOICE)
def test_key_belongs_where_java_puts_it(key):
    assert record_batch.partition_of(key.encode(), 12) == JAVAS_CHOICE[key]
