"""Texts with the same beginning and end."""

from hypothesis import given
from hypothesis import strategies as st

from connect.data.framed import Framed, total_bytes

TEXT = st.binary(max_size=20).map(lambda data: data.replace(b"\n", b" "))


@given(TEXT, st.lists(TEXT, max_size=20), TEXT)
def test_it_is_the_list_of_all_put_together(before, texts, behind):
    """Whoever does not look for the parts sees a list of bytes."""
    framed = Framed(before, texts, behind)
    expected = [before + text + behind for text in texts]
    assert len(framed) == len(expected)
    assert [*framed] == expected
    assert [*framed[1:]] == expected[1:]
    assert total_bytes(framed) == total_bytes(expected) == sum(map(len, expected))
    assert [framed[i] for i in range(len(texts))] == expected
