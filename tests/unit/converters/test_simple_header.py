"""The header converter that finds types by looking."""

from hypothesis import given
from hypothesis import strategies as st

from connect import Schema
from converters.simple_header import SimpleHeaderConverter
from tests.support import vectors
from tests.support.cases import every

CONVERTER = SimpleHeaderConverter()


@every(vectors.load("simple_header"), vectors.short)
def test_headers_are_read_and_written_as_by_kafka_connect(vector):
    """The answers are Kafka Connect's own."""
    vectors.agrees(vector)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_as_something(data):
    """No header is too strange: the worst that can happen is a string."""
    CONVERTER.to_connect_header("t", "h", data)


@given(
    st.recursive(
        st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        # Without quotes, backslashes and colons, and not like a date: those change on the way.
        | st.text("abc xyz", max_size=6).map(lambda s: f"x{s}x"),
        lambda inner: st.lists(inner, min_size=1, max_size=3),
        max_leaves=5,
    )
)
def test_what_is_written_is_found_again(value):
    """Booleans, numbers, words and lists of them come back as they went."""
    data = CONVERTER.from_connect_header("t", "h", None, value)
    assert CONVERTER.to_connect_header("t", "h", data).value == value


def test_brackets_without_end_stay_text():
    """A hundred thousand brackets are a string, not an overflow."""
    found = CONVERTER.to_connect_header("t", "h", b"[" * 100_000)
    assert found.value in ("[" * 100_000, b"[" * 100_000)
    assert found.schema in (Schema.STRING, Schema.BYTES)
