import json

import pytest

from connect.config.files import ConnectorFile, parse_connector, read_connector_file
from connect.errors import ConfigError

CONFIG = {"connector.class": "FileStreamSink", "topics": "orders"}


def test_a_flat_map_and_a_create_request_mean_the_same():
    """Both JSON shapes give one connector, with its name in the config."""
    flat = parse_connector(json.dumps({"name": "a", **CONFIG}), "here")
    request = parse_connector(json.dumps({"name": "a", "config": CONFIG}), "here")

    assert flat == request == ConnectorFile("a", {**CONFIG, "name": "a"})


def test_a_create_request_may_say_the_initial_state():
    """initial_state is kept; fields nobody knows are ignored, as Kafka Connect's worker does."""
    text = json.dumps({"name": "a", "config": CONFIG, "initial_state": "PAUSED", "comment": "x"})

    assert parse_connector(text, "here").initial_state == "PAUSED"


def test_scalars_become_the_text_they_were_written_as():
    """1.50 is not 1.5, and true is not True."""
    found = parse_connector('{"name": "a", "tasks.max": 2, "x": 1.50, "y": true}', "here")

    assert found.config == {"name": "a", "tasks.max": "2", "x": "1.50", "y": "true"}


def test_a_file_without_a_name_takes_the_one_given():
    """--name names a connector whose file does not; it can't rename one."""
    assert parse_connector(json.dumps(CONFIG), "here", "a").name == "a"
    with pytest.raises(ConfigError, match="here is for the connector a, not for b"):
        parse_connector(json.dumps({"name": "a", **CONFIG}), "here", "b")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "a" 1}', "x.json is not valid JSON at line 1, column 14"),
        ("[]", "x.json holds a list"),
        ("{}", "x.json names no connector"),
        ('{"name": "a", "b": {"c": 1}}', "x.json: the value of b must be a string"),
        ('{"name": "a", "b": null}', "x.json: the value of b must be a string"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(text, reason):
    """An error names the file and the place or key in it."""
    with pytest.raises(ConfigError, match=reason):
        parse_connector(text, "x.json")


def test_files_are_read_with_and_without_byte_order_mark(tmp_path):
    """A mark that some editors write is no part of the JSON; bytes that are no text are refused."""
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"name": "a"}).encode())
    assert read_connector_file(path).name == "a"

    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_connector_file(path)
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        read_connector_file(tmp_path / "nope.json")
