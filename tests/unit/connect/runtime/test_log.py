"""Log lines, as text and as JSON."""

import json
import logging

import pytest

from connect.runtime.log import _Format, set_process_context


@pytest.fixture(autouse=True)
def context():
    set_process_context("[orders|task-3] ", "orders")
    yield
    set_process_context("")


def record(error=None):
    info = (type(error), error, None) if error is not None else None
    return logging.LogRecord("a.plugin", logging.WARNING, "", 0, "%d went\nwrong", (2,), info)


def test_text_line_says_whose_it_is():
    """Time, level, connector and task, the sentence, the logger."""
    line = _Format(as_json=False).format(record())
    assert line.endswith("WARNING [orders|task-3] 2 went\nwrong (a.plugin)")


def test_json_line_is_one_line_and_says_the_same():
    """Whatever the message has in it, one event is one line."""
    line = _Format(as_json=True).format(record(ValueError("why")))
    assert "\n" not in line
    told = json.loads(line)
    assert (told["level"], told["logger"], told["context"], told["message"]) == (
        "WARNING", "a.plugin", "orders|task-3", "2 went\nwrong",
    )  # fmt: skip
    assert "ValueError: why" in told["trace"]
    assert told["time"][10] == "T"
