"""The string converter."""

import pytest
from hypothesis import given

from connect import ConfigError, Schema
from converters.string import StringConverter
from tests.support import vectors
from tests.support.cases import every
from tests.support.strategies import TEXT


def made(encoding="UTF-8"):
    converter = StringConverter()
    converter.configure({"converter.encoding": encoding}, is_key=True)
    return converter


@every(
    [v for v in vectors.load("plain_converters") if "StringConverter" in v["ask"]["class"]],
    vectors.short,
)
def test_texts_are_read_and_written_as_by_kafka_connect(vector):
    """Encodings, broken bytes, structs and numbers: the answers are Kafka Connect's own."""
    vectors.agrees(vector)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "utf-16le", "UTF-32"])
@given(text=TEXT)
def test_text_comes_back_as_it_went(encoding, text):
    """Any text survives an encoding that has all characters."""
    converter = made(encoding)
    data = converter.from_connect("t", Schema.STRING, text)
    assert converter.to_connect("t", data) == (Schema.OPTIONAL_STRING, text)


def test_batches_keep_nulls_in_place():
    """A null among texts stays a null, in both directions."""
    converter = made()
    _, values = converter.to_connect_batch("t", [b"a", None, b""], [()] * 3)
    assert values == ["a", None, ""]
    assert converter.from_connect_batch("t", [None] * 3, values, [[]] * 3) == [b"a", None, b""]


def test_an_unknown_encoding_is_a_config_error():
    """It is found before the first record, and named."""
    with pytest.raises(ConfigError, match=r"nope for configuration converter\.encoding"):
        made("nope")


def test_headers_are_converted_like_keys():
    """The same converter serves headers."""
    converter = StringConverter()
    converter.configure({})
    assert converter.from_connect_header("t", "h", None, "é") == "é".encode()
    assert converter.to_connect_header("t", "h", "é".encode()).value == "é"
