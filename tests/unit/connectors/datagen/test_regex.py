import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.datagen.regex import RegexError, string_maker

ATOMS = st.sampled_from(
    ["a", "Z", "7", "_", r"\.", r"\-", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", ".", "[a-f]",
     "[^a-z]", "[]x]", "[a-]", r"[\d.-]", "é"]
)  # fmt: skip
QUANTIFIERS = st.sampled_from(["", "?", "*", "+", "{3}", "{0}", "{1,4}", "{2,}", "*?", "{1,2}+"])


def combine(inner):
    sequence = st.lists(st.tuples(inner, QUANTIFIERS).map("".join), max_size=4).map("".join)
    groups = st.sampled_from(["({})", "(?:{})"])
    return st.one_of(
        st.builds(str.format, groups, sequence),
        st.builds("({}|{})".format, sequence, sequence),
    )


PATTERNS = st.recursive(ATOMS, combine, max_leaves=6)


@given(PATTERNS, st.integers())
def test_what_is_made_matches(pattern, seed):
    """Every string made from an expression fits it, as Python's own engine sees it."""
    made = string_maker(pattern)(Random(seed), 5)
    assert len(made) == 5
    # Possessive repeats don't give back what they took, so for matching they are made greedy.
    greedy = re.sub(r"(?<=})\+", "", pattern)
    for text in made:
        assert re.fullmatch(greedy, text, re.DOTALL), (pattern, text)


def test_a_seed_makes_the_same_strings_again():
    """The same source of chance gives the same strings."""
    make = string_maker(r"User_[1-9]\d{0,2}")
    assert make(Random(1), 10) == make(Random(1), 10)


def test_all_of_a_range_comes_up():
    """Small sets are covered, and repeats go from least to most."""
    assert set(string_maker("[a-c]")(Random(1), 100)) == {"a", "b", "c"}
    assert set(map(len, string_maker("x{2,4}")(Random(1), 100))) == {2, 3, 4}


def test_anchors_at_the_ends_are_allowed():
    """^ and $ around the whole say nothing new."""
    assert string_maker("^abc$")(Random(1), 1) == ["abc"]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "a '(' without its ')'"),
        ("a)", "a ')' without its '('"),
        ("[a", "a '[' without its ']'"),
        ("*a", "'*' with nothing to repeat"),
        ("a{x}", "a repeat that is not {n}, {n,} or {n,m}"),
        ("a{3,1}", "a repeat of at least 3 and at most 1"),
        ("a{3", "a repeat that is not {n}, {n,} or {n,m}"),
        ("[z-a]", "the range z-a"),
        ("(?=a)", "a '(?…' group, of which only '(?:' can be made"),
        (r"\bword", r"'\b', a word boundary"),
        (r"(a)\1", r"'\1', which can not be made here"),
        ("a\\", "a '\\' at the end"),
        ("a^b", "'^' in the middle"),
        ("a$b", "'$' in the middle"),
        (r"[^\d\D]", "a class that no character is in"),
    ],
)
def test_what_can_not_be_made_is_said(pattern, reason):
    """The error shows the expression and what in it is the trouble."""
    with pytest.raises(RegexError) as raised:
        string_maker(pattern)
    assert str(raised.value) == f"the regular expression {pattern!r} has {reason}"
