"""Properties files here and in Java: the vectors were printed by Java 17 and Java 25 alike."""

import json
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.javalang.properties import PropertiesError, load_properties, read_properties
from tests.support.cases import every

VECTORS = json.loads((pathlib.Path(__file__).parent / "vectors" / "properties.json").read_text())


@every(VECTORS["load"])
def test_reads_as_java_does(text, expected):
    """Separators, continuations, comments and escapes give the keys and values Java gives."""
    assert load_properties(text) == expected


@every(VECTORS["malformed"])
def test_refuses_malformed_escapes_as_java_does(text):
    """An escape without four hexadecimal digits is refused."""
    with pytest.raises(PropertiesError, match="four hexadecimal digits"):
        load_properties(text)


def test_error_names_the_file_and_the_line(tmp_path):
    """The error of a malformed escape says where it is, counting natural lines."""
    path = tmp_path / "worker.properties"
    path.write_text("# one\na=x\\\n  y\nb=\\u00g0\n")
    with pytest.raises(PropertiesError) as error:
        read_properties(path)
    assert str(error.value) == (
        f"{path}, line 4: malformed escape '\\u00g0': four hexadecimal digits must follow \\u"
    )


def test_lone_backslash_at_the_end_is_nothing():
    """A last line of one backslash adds no key; Java adds an empty one."""
    assert load_properties("a=1\n\\") == {"a": "1"}


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("a=é".encode(), "é"),
        ("a=é".encode("latin-1"), "é"),
        (b"\xef\xbb\xbfa=\xc3\xa9", "é"),
        (b"a=\\u00e9", "é"),
    ],
)
def test_files_are_utf8_or_else_latin1(tmp_path, content, value):
    """A file is read as UTF-8, with or without a mark, and as Latin-1 if it is not that."""
    path = tmp_path / "a.properties"
    path.write_bytes(content)
    assert read_properties(path) == {"a": value}


def test_missing_file_is_named(tmp_path):
    """A file that cannot be read is named with the reason and the cause kept."""
    path = tmp_path / "missing.properties"
    with pytest.raises(PropertiesError, match="No such file or directory") as error:
        read_properties(path)
    assert str(path) in str(error.value)
    assert isinstance(error.value.__cause__, FileNotFoundError)


def test_directory_is_no_file(tmp_path):
    """A directory in place of the file is an error of ours, not a stray OSError."""
    with pytest.raises(PropertiesError, match="Is a directory"):
        read_properties(tmp_path)


def escaped(text):
    return "".join(f"\\u{ord(char):04x}" if char != "a" else char for char in text)


BMP = st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])


@settings(deadline=None)
@given(st.dictionaries(st.text(BMP, min_size=1), st.text(BMP)))
def test_escaped_texts_come_back(properties):
    """Any keys and values survive when every character is written as an escape."""
    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in properties.items())
    assert load_properties(text) == properties


@settings(deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused(text):
    """No text makes the reader fail in any other way than by a PropertiesError."""
    try:
        load_properties(text)
    except PropertiesError as error:
        assert "line" in str(error)  # noqa: PT017
