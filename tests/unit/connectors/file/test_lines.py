import itertools
import re

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.file.lines import LineSplitter

SEPARATOR = "\u2028".encode()
PIECES = st.lists(
    st.sampled_from(
        [b"a", b"bc", b"\n", b"\r", b"\r\n", b"\v", "ä".encode(), SEPARATOR, b"\xff", b"\xc3"]
    )
)


def split_at(data, cuts):
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def expected_lines(data):
    """The same rule said in another way: one match a complete line."""
    lines, ends = [], []
    for match in re.finditer(rb"([^\r\n]*)(\r\n|\n|\r(?=.))", data, re.DOTALL):
        lines.append(match[1].decode("utf-8", "replace"))
        ends.append(match.end())
    return lines, ends


def found(lines):
    return lines.texts, lines.ends


@given(PIECES.map(b"".join), st.lists(st.integers(1, 40)))
@example(b"a\r\nb", [2])
@example(b"a\rb\r", [2, 3])
def test_lines_and_their_ends_do_not_depend_on_how_the_bytes_arrive(data, cuts):
    """Cut anywhere, the same bytes give the same lines, each with the byte position of its end."""
    splitter = LineSplitter("x")
    texts, ends = [], []
    for block in split_at(data, cuts):
        lines = splitter.feed(block)
        texts += lines.texts
        ends += lines.ends
    assert (texts, ends) == expected_lines(data)


def test_a_carriage_return_waits_for_what_follows():
    r"""After \r alone the line is not given until it is known whether \n belongs to it."""
    splitter = LineSplitter("x")
    assert splitter.feed(b"a\r").texts == []
    assert found(splitter.feed(b"\nb\r")) == (["a"], [3])
    assert found(splitter.feed(b"c")) == (["b"], [5])


def test_only_line_ends_of_the_jvm_end_a_line():
    """Vertical tabs, form feeds and Unicode separators are part of the line."""
    assert LineSplitter("x").feed("\x0ba\x0c\x85b\u2028c\n".encode()).texts == [
        "\x0ba\x0c\x85b\u2028c"
    ]


def test_positions_count_bytes_from_where_reading_began():
    """A letter of two bytes counts two, and the first position is added."""
    lines = LineSplitter("x", 100).feed("ä\nö\n".encode())
    assert found(lines) == (["ä", "ö"], [103, 106])


def test_bytes_that_are_not_utf8_are_replaced_and_warned_of_once(caplog):
    """Bad bytes become U+FFFD as on the JVM, lines stay whole, and one warning says where."""
    splitter = LineSplitter("data.txt")
    assert splitter.feed(b"ok\nbad\xff\xc3(\xe2\x82\nhalf\xed\xa0\x80\n").texts == [
        "ok",
        "bad\ufffd\ufffd(\ufffd",
        "half\ufffd",
    ]
    splitter.feed(b"\xfe\n")
    (warning,) = caplog.records
    assert warning.getMessage().startswith("data.txt is not all UTF-8: byte 0xff at position 6, ")


def test_the_rest_can_be_taken_when_nothing_more_comes():
    """A last line without its end is given by finish, once."""
    splitter = LineSplitter("x")
    splitter.feed(b"a\nlast")
    assert found(splitter.finish()) == (["last"], [6])
    assert found(splitter.finish()) == ([], [])


def test_a_line_of_many_blocks_is_put_together():
    """A line longer than a block arrives whole."""
    splitter = LineSplitter("x")
    for _ in range(1000):
        assert splitter.feed(b"x" * 1000).texts == []
    assert found(splitter.feed(b"\n")) == (["x" * 1_000_000], [1_000_001])


@given(PIECES.map(b"".join), st.integers(1, 5))
def test_lines_in_parts_end_where_they_end_together(data, count):
    """However they are handed out, each line ends at the same position."""
    splitter = LineSplitter("x", 7)
    lines = splitter.feed(data)
    parts = [*lines.parts(count)]
    assert all(len(part.texts) <= count for part in parts)
    assert [text for part in parts for text in part.texts] == lines.texts
    assert [part.end_of(i) for part in parts for i in range(len(part.texts))] == lines.ends
    assert [part.end for part in parts] == lines.ends[count - 1 :: count] + (
        lines.ends[-1:] if len(lines.ends) % count else []
    )
