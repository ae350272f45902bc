"""Headers: many of a name, in order, never changed."""

import pickle

from connect import Header, Headers, Schema

THREE = Headers((Header("a", 1, Schema.INT64), Header("b", "x"), Header("a", 2)))


def test_the_last_of_a_name_counts():
    """Where only one can be, it is the newest; where there is none, it is None."""
    assert THREE.last("a") == Header("a", 2)
    assert THREE.last("b") == Header("b", "x")
    assert THREE.last("c") is None


def test_all_of_a_name_come_in_order():
    """Oldest first."""
    assert [h.value for h in THREE.all("a")] == [1, 2]
    assert THREE.all("c") == []


def test_adding_and_dropping_give_new_headers():
    """The ones at hand stay as they are; others may hold them too."""
    more = THREE.with_("c", 3.5, Schema.FLOAT64)
    assert [h.name for h in more] == ["a", "b", "a", "c"]
    assert more.last("c") == Header("c", 3.5, Schema.FLOAT64)
    fewer = more.without("a", "c")
    assert [*fewer] == [Header("b", "x")]
    assert isinstance(fewer, Headers)
    assert len(THREE) == 3


def test_dropping_what_is_not_there_changes_nothing():
    """No error, equal headers."""
    assert THREE.without("zzz") == THREE


def test_headers_travel_between_processes():
    """Pickled and back they are equal, and still Headers."""
    back = pickle.loads(pickle.dumps(THREE))
    assert back == THREE
    assert isinstance(back, Headers)
