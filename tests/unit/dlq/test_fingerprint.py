"""Fingerprints bring together what has one cause and keep apart what has not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.fingerprint import fingerprint, innermost, normalised, reason, template


def _reason(message, trace):
    return reason(*template(message, trace))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bad key 12 at offset 5", "Bad key 7 at offset 123456"),
        ("Unrecognized token 'abc': was expecting", "Unrecognized token 'x y': was expecting"),
        ('value "a\\"b" is bad', 'value "" is bad'),
        ("id 6fa459ea-ee8a-3ca4-894e-db77e160355e", "id deadbeef-dead-dead-dead-deadbeefdead"),
        ("at 2026-01-31T12:00:01.5Z", "at 2025-12-01T00:00:00Z"),
        ("host 10.0.0.1:9092 is down", "host 10.0.0.27:9093 is down"),
        ("line 1\n  column 2", "line 17 column 3"),
        ('cut off "in the mid', 'cut off "elsewhere'),
    ],
)
def test_values_do_not_matter(one, other):
    """Messages that differ in numbers, quoted text and identifiers are one."""
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Field does not exist: id", "Field does not exist: name"),
        ("can't read it, can't write it", "can't read it, can't see it"),
        ("Bad key 12", "Bad value 12"),
    ],
)
def test_words_matter(one, other):
    """Other words are another cause; an apostrophe is no quotation mark."""
    assert normalised(one) != normalised(other)


def test_the_innermost_cause_tells_wrapped_errors_apart():
    """JVM converters say the same for every error; what they wrap makes the difference."""
    said = b"Converting byte[] to Kafka Connect data failed due to serialization error: "
    trace = "DataException: wrapped\n\tat x\nCaused by: a.B: outer\nCaused by: {}\n\tat y\n"
    one = _reason(said, trace.format("c.Jackson: Unexpected end-of-input").encode())
    other = _reason(said, trace.format("c.Jackson: Unrecognized token 'q'").encode())
    assert one != other
    assert one.endswith("← c.Jackson: Unexpected end-of-input")
    assert innermost(b"no cause here") == b""


def test_a_template_is_all_that_a_reason_needs():
    """Digits made alike change nothing about the reason."""
    for n in range(50):
        said = f"{n % 5} of 'x{n}' in {n}".encode()
        assert _reason(said, None) == normalised(said.decode())


def test_a_cause_repeated_by_its_wrapper_is_told_once():
    """`Error: x` caused by `Error: x` reads `x`."""
    assert _reason(b"no field", b"E: no field\nCaused by: V: no field\n") == "no field"
    assert _reason(b"Read: no end", b"E: Read: no end\nCaused by: V: no end\n") == "Read: no end"


@given(st.text(max_size=3000), st.text(max_size=50))
def test_any_text_has_a_fingerprint(message, stage):
    """No text breaks it, and it is always as long."""
    assert len(fingerprint(stage, None, normalised(message))) == 12


def test_hostile_text_takes_no_time():
    """A megabyte of opening quotes and digits is done at once."""
    begin = time.perf_counter()
    for text in ("'" * 10**6, '"\\' * 10**6, "a1" * 10**6, "a" * 10**6, "`" * 10**6):
        normalised(text)
    assert time.perf_counter() - begin < 1
