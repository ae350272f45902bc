"""java.util.regex here and in Java: the vectors were printed by Java 17 and Java 25 alike."""

import json
import pathlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.javalang.codepoints import MAX_CODE_POINT, CodePoints
from connect.javalang.regex import (
    JavaFlag,
    JavaRegexError,
    ReplacementError,
    UnsupportedRegexError,
    compile_java,
)
from tests.support.cases import every

VECTORS = json.loads((pathlib.Path(__file__).parent / "vectors" / "regex.json").read_text())


@every(VECTORS["find"])
def test_finds_what_java_finds(pattern, text, whole, spans):
    """Every match and group lies where Java finds it, and matches() agrees."""
    compiled = compile_java(pattern)
    groups = range(compiled.group_count + 1)
    found = [[list(match.span(n)) for n in groups] for match in compiled.find_all(text)]
    assert (compiled.matches(text), found) == (whole, spans)


@every(VECTORS["error"])
def test_refuses_what_java_refuses_in_its_words(pattern, message):
    """A bad pattern is refused with the text of Java's PatternSyntaxException."""
    with pytest.raises(JavaRegexError) as error:
        compile_java(pattern)
    assert str(error.value) == message


@every(VECTORS["replace"])
def test_replaces_as_java_does(operation, pattern, text, replacement, fine, expected):
    """replaceFirst and replaceAll give Java's result, or Java's error text."""
    compiled = compile_java(pattern)
    replace = compiled.replace_first if operation == "first" else compiled.replace_all
    if fine:
        assert replace(text, replacement) == expected
    else:
        with pytest.raises(ReplacementError, match=f"^{re.escape(expected)}$"):
            replace(text, replacement)


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        (r"a\X", r"\X (a grapheme cluster)"),
        (r"\b{g}", r"\b{g}"),
        (r"a\G", r"\G other than at the beginning"),
        (r"\Ga|b", r"\G other than at the beginning"),
        (r"\p{IsOgham}", "the Unicode script or property 'IsOgham'"),
        (r"\p{InOgham}", "the Unicode block 'Ogham'"),
        (r"(a\1)", "the back reference to group 1"),
        (r"\1(a)", "the back reference to group 1"),
        (r"(?<=xa+)b", "a look-behind of varying length"),
        (r"(?<=(a|bc))d", "a look-behind of varying length"),
        (r"(?<=x[ab]{1,200})c", "a look-behind of varying length"),
    ],
)
def test_says_what_it_cannot_do(pattern, construct):
    """A construct beyond Python's re is named with its place and a way out, never misread."""
    with pytest.raises(UnsupportedRegexError) as error:
        compile_java(pattern)
    assert str(error.value).startswith(construct)
    assert re.search(r" at index \d+ of the regex .* is not supported: \w+", str(error.value))


def test_word_boundary_is_ascii_as_in_later_javas():
    r"""\b sees ASCII word characters only, as \w does; Java 17 still saw letters of any kind."""
    assert [match.start() for match in compile_java(r"\b").find_all("é a")] == [2, 3]


def test_trailing_intersection_is_ignored():
    """A class that ends in && means what stands before it, as in Java 17."""
    assert compile_java("[a&&]").matches("a")


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "matches"),
    [
        ("a.c", JavaFlag.LITERAL, "a.c", True),
        ("a.c", JavaFlag.LITERAL, "abc", False),
        (r"\Qa", JavaFlag.LITERAL, r"\Qa", True),
        ("ab", JavaFlag.CASE_INSENSITIVE, "AB", True),
        ("é", JavaFlag.CASE_INSENSITIVE, "É", False),
        ("é", JavaFlag.CASE_INSENSITIVE | JavaFlag.UNICODE_CASE, "É", True),
        ("a b", JavaFlag.COMMENTS, "ab", True),
        (".", JavaFlag.DOTALL, "\n", True),
        (r"\w", JavaFlag.UNICODE_CHARACTER_CLASS, "é", True),
        ("é", JavaFlag.UNICODE_CHARACTER_CLASS | JavaFlag.CASE_INSENSITIVE, "É", True),
    ],
)
def test_flags_of_compile(pattern, flags, text, matches):
    """Flags given beside the pattern work as Pattern.compile's second argument."""
    assert compile_java(pattern, flags).matches(text) is matches


def test_canonical_equivalence_is_refused():
    """CANON_EQ is beyond re and is refused rather than ignored."""
    with pytest.raises(UnsupportedRegexError, match="CANON_EQ"):
        compile_java("a", JavaFlag.CANON_EQ)


def test_groups_are_reachable_by_name():
    """A match of the whole text gives its named groups."""
    match = compile_java(r"(?<db>\w+)\.(?<table>\w+)").match("shop.orders")
    assert match
    assert match.groupdict() == {"db": "shop", "table": "orders"}


def test_find_starts_where_told_and_still_sees_what_is_before():
    """find(text, start) looks behind the start, as Java's find after a find does."""
    assert compile_java("(?<=a)b").find("ab", 1)
    assert compile_java("^b").find("ab", 1) is None


@settings(deadline=None)
@given(st.text())
def test_quoted_text_matches_itself_only(text):
    r"""Between \Q and \E anything but the end mark stands for itself."""
    text = text.replace("\\E", "")
    assert compile_java(f"\\Q{text}\\E").matches(text)
    assert not compile_java(f"\\Q{text}\\E").matches(text + "x")


@settings(deadline=None)
@given(st.text(alphabet="ab\n\r\u2028", max_size=8))
def test_dot_and_line_terminators_share_the_text(text):
    """Every character is a line terminator or a dot, never both."""
    dots = {match.start() for match in compile_java(".").find_all(text)}
    ends = {match.start() for match in compile_java(r"[\n\r\x85\u2028\u2029]").find_all(text)}
    assert dots | ends == set(range(len(text)))
    assert not dots & ends


@settings(deadline=None)
@given(st.text(alphabet="()[]{}*+?|\\^$.-&<>:=!abkQEGRNxpPLu012,i \n#", max_size=12))
def test_any_pattern_is_compiled_or_refused(pattern):
    """No pattern, however broken, makes the translator fail in a way of its own."""
    try:
        compiled = compile_java(pattern)
    except (JavaRegexError, UnsupportedRegexError) as error:
        assert pattern in str(error)  # noqa: PT017
    else:
        compiled.find("ab")


def test_nesting_beyond_the_stack_is_refused():
    """A pattern too deep for the translator is refused, not a crash of the worker."""
    with pytest.raises(UnsupportedRegexError, match="nesting this deep"):
        compile_java("(" * 5000 + ")" * 5000)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [(r"\Ga*", "baa", "-baa"), (r"\Ga?", "aaba", "---ba"), (r"\G", "ab", "-ab")],
)
def test_matches_stay_together_after_the_last_match(pattern, text, expected):
    r"""Once \G found nothing more it never finds again, as in Java."""
    assert compile_java(pattern).replace_all(text, "-") == expected


def test_replacements_are_not_mixed_up():
    """One pattern used with several replacements in turn expands each of them."""
    pattern = compile_java("(a)")
    assert [pattern.replace_all("a", text) for text in ("$1x", "", "$1y", "")] == [
        "ax",
        "",
        "ay",
        "",
    ]


ranges = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 40)).map(lambda pair: (pair[0], sum(pair))),
    max_size=6,
)


@settings(deadline=None)
@given(ranges, ranges)
def test_code_point_sets_obey_set_algebra(left, right):
    """Union, intersection and complement agree with Python's sets, and so does the source."""
    a, b = CodePoints.of(left), CodePoints.of(right)
    assert set(a | b) == set(a) | set(b)
    assert set(a & b) == set(a) & set(b)
    assert set(a - b) == set(a) - set(b)
    assert ~~a == a
    matcher = re.compile(a.source())
    for code in range(345):
        assert (code in a) == (matcher.fullmatch(chr(code)) is not None)
    assert MAX_CODE_POINT not in a
