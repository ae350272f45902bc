"""Query strings, as routes declare them."""

from typing import Annotated

import pytest
from msgspec import Meta, Struct
from starlette.datastructures import QueryParams

from api.queries import read_query
from connect.cluster.herder import BadRequestError


class Filter(Struct, forbid_unknown_fields=True):
    name: str | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None
    letters: Annotated[list[str] | None, Meta(description="some")] = None
    deep: Annotated[bool, Meta(description="or not")] = False


class Loose(Struct):
    name: str = "x"


def read(text, shape=Filter):
    return read_query(QueryParams(text), shape)


def test_what_is_not_given_is_the_default():
    """And an empty text is a text."""
    assert read("") == Filter()
    assert read("name=") == Filter(name="")


def test_a_list_is_given_by_repetition_and_else_the_last_one_counts():
    """As clients have always sent it."""
    assert read("letters=a&name=x&letters=b,c&name=y&limit=7") == Filter("y", 7, ["a", "b,c"])


@pytest.mark.parametrize("text", ["true", "True", "1", "yes", "YES", "y", "t", "on"])
def test_a_flag_is_set_in_many_words(text):
    """Scripts write booleans in all of these."""
    assert read(f"deep={text}").deep is True


@pytest.mark.parametrize("text", ["false", "FALSE", "0", "no", "N", "f", "Off"])
def test_a_flag_is_taken_back_in_many_words(text):
    """The same for the other value."""
    assert read(f"deep=1&deep={text}").deep is False


def test_every_problem_is_told_with_parameter_and_value():
    """So that one try shows them all."""
    with pytest.raises(BadRequestError) as caught:
        read("deep=huh&limit=0&colour=red&name=fine")
    assert str(caught.value).split("; ") == [
        "query parameter deep=huh: Expected `bool`, got `str`",
        "query parameter limit=0: Expected `int` >= 1",
        "query parameter colour=red: there is no such parameter",
    ]


@pytest.mark.parametrize("text", ["deep=", "limit=many", "limit=1.5", "limit="])
def test_what_is_no_value_of_its_kind_is_refused(text):
    """An empty text is neither a number nor a flag."""
    with pytest.raises(BadRequestError, match=f"^query parameter {text}: Expected"):
        read(text)


def test_parameters_that_nobody_reads_do_no_harm_unless_they_are_forbidden():
    """A worker that passes a request on adds one."""
    assert read("forward=true&name=y", Loose) == Loose("y")
