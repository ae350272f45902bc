"""What is saved of a source's record, whatever it is."""

import json

import pytest

from connect import SourceRecord
from connect.data.headers import NO_HEADERS
from connect.pipeline import Failure, Stage
from dlq import letter as names
from dlq.letter import error_headers, letter_of


class Unshowable:
    def __str__(self):
        raise OSError("gone")

    __repr__ = __str__


def loop():
    """A list that holds itself."""
    found = []
    found.append(found)
    return found


def deep():
    found = []
    for _ in range(100_000):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("value", "saved"),
    [
        ({"a": 1}, b'{"a":1}'),
        ({"a": [2**70, {3}]}, b'{"a":[1180591620717411303424,"{3}"]}'),
        ({"a": "\ud800"}, b'{"a":"\\ud800"}'),
        ({b"k": 1, (1, 2): None}, b'{"b\'k\'":1,"(1, 2)":null}'),
        (loop(), b"[[...]]"),
        (deep(), b"<list>"),
        (Unshowable(), b"<Unshowable>"),
        ({"a": 10**5000}, b"<dict>"),
        ("\ud800", b"?"),
    ],
    ids=["plain", "large", "half a character", "keys", "loop", "deep", "hostile", "huge", "text"],
)
def test_no_value_is_without_a_letter(value, saved):
    """As JSON if it can be, else as text; in the key, value and headers, and in where it lay."""
    record = SourceRecord.of("t", value, key=value)
    record.source_partition = record.source_offset = value
    record.headers = record.headers.with_("h", value)
    key, found, headers, _ = letter_of(record)
    assert (key, found, headers) == (saved, saved, [("h", saved)])
    failure = Failure(record, Stage.VALUE_CONVERTER, "some.Converter", ValueError("no"))
    told = dict(error_headers(failure, "c", 0))
    assert (told[names.SOURCE_PARTITION], told[names.SOURCE_OFFSET]) == (saved, saved)


def test_what_json_can_hold_is_json():
    """A number of any size and half a character come out as they were."""
    value = {"a": [2**70, "\ud800"]}
    assert json.loads(letter_of(SourceRecord.of("t", value))[1]) == value


def test_names_may_be_no_text():
    """Half a character in the name of a topic or header does not cost the letter."""
    record = SourceRecord.of("t\ud800", 1, headers=NO_HEADERS.with_("h\ud800", 1))
    assert letter_of(record)[2] == [("h?", b"1")]
    failure = Failure(record, Stage.TRANSFORMATION, "some.Transform", ValueError("no"))
    assert dict(error_headers(failure, "c", 0))[names.TOPIC] == b"t?"
