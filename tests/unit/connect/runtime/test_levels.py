"""Levels of connectors that share a process."""

import logging

import pytest

from connect.runtime.levels import ConnectorLevels

ROOT = logging.getLogger()


@pytest.fixture(autouse=True)
def root_level():
    before = ROOT.level
    ROOT.setLevel(logging.INFO)
    yield
    ROOT.setLevel(before)


def passes(levels, connector, level, name="some.plugin"):
    record = logging.LogRecord(name, level, "", 0, "", None, None)
    return logging.getLogger(name).isEnabledFor(level) and levels.lets_through(record, connector)


def test_connector_tells_more_and_others_do_not():
    """The root logger lets more through, and what the others did not ask for is held back."""
    levels = ConnectorLevels()
    levels.apply([("connector.loud", "DEBUG")])
    assert passes(levels, "loud", logging.DEBUG)
    assert not passes(levels, "other", logging.DEBUG)
    assert passes(levels, "other", logging.INFO)


def test_connector_tells_less():
    """A level above the root's silences one connector."""
    levels = ConnectorLevels()
    levels.apply([("connector.calm", "ERROR")])
    assert not passes(levels, "calm", logging.WARNING)
    assert passes(levels, "other", logging.INFO)


def test_logger_with_a_level_of_its_own_keeps_it():
    """What was asked of a logger is not undone by a connector's level."""
    levels = ConnectorLevels()
    logger = logging.getLogger("test_levels.own")
    levels.apply([("test_levels", "DEBUG"), ("connector.calm", "ERROR")])
    assert passes(levels, "calm", logging.DEBUG, logger.name)
    logging.getLogger("test_levels").setLevel(logging.NOTSET)


def test_levels_go_back_with_the_root():
    """Setting the root logger sets everything below it, connectors too."""
    levels = ConnectorLevels()
    levels.apply([("connector.loud", "DEBUG"), ("root", "WARN")])
    assert not passes(levels, "loud", logging.INFO)
    levels.apply([("connector.loud", "INFO")])
    assert passes(levels, "loud", logging.INFO)
    assert not passes(levels, "other", logging.INFO)


def test_connector_s_level_is_in_force_again_for_loggers_below_one_that_was_set():
    """A level that was once set for a logger is undone by setting the root's."""
    levels = ConnectorLevels()
    name = "test_levels.once"
    levels.apply([(name, "INFO"), ("root", "INFO"), ("connector.loud", "DEBUG")])
    assert passes(levels, "loud", logging.DEBUG, name)
