"""Fields that are to be hidden are, wherever they are."""

from dlq.masking import Mask


def test_fields_are_hidden_by_name_and_path():
    """A name is hidden at any depth, a path only where it leads; case does not matter."""
    mask = Mask(["password", " card.number "])
    shown = mask.value(
        {"Password": "x", "number": 1, "card": {"number": 2, "kind": "v"},
         "all": [{"password": {"deep": 1}}]}
    )  # fmt: skip
    assert shown == {
        "Password": "[hidden]",
        "number": 1,
        "card": {"number": "[hidden]", "kind": "v"},
        "all": [{"password": "[hidden]"}],
    }


def test_a_star_hides_every_value():
    """The shape is seen, the values are not."""
    assert Mask(["*"]).value({"a": 1, "b": [None, "x"]}) == {
        "a": "[hidden]",
        "b": [None, "[hidden]"],
    }


def test_bytes_that_can_not_be_looked_into_are_hidden_as_a_whole():
    """With fields to hide, only JSON is shown."""
    mask = Mask(["a"])
    assert mask.raw(b'{"a": 1, "b": 2}') == '{"a": "[hidden]", "b": 2}'
    assert mask.raw(b"a=1") == "[hidden]"
    assert mask.raw(b'"the value itself"') == '"[hidden]"'
    assert mask.raw(None) is None


def test_messages_do_not_tell_what_is_hidden():
    """A quotation in a message or a trace may be a secret."""
    mask = Mask(["a"])
    assert mask.text("token 'geheim' at 7") == "token ? at ?"
    assert mask.trace("E: 'geheim'\n\tat x (y.py:7)") == "E: ?\n\tat x (y.py:7)"


def test_without_fields_everything_is_shown():
    """Text as text, other bytes as base64."""
    mask = Mask([""])
    assert not mask
    assert mask.raw(b"abc") == "abc"
    assert mask.raw(b"\xff") == {"base64": "/w=="}
    assert mask.text("token 'x'") == "token 'x'"
