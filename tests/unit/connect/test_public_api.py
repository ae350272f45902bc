"""The plugin API is what `connect/__init__.py` names: all documented, nothing by accident."""

import ast
import inspect
from pathlib import Path

import pytest

import connect
from connect import (
    ConfigDef,
    ConfigType,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
)
from connect.testing import SourceHarness

# Small data classes whose fields say everything.
SELF_EXPLAINING = {"ExactlyOnceSupport", "Importance", "SchemaAndValue", "TopicPartition", "Width"}


def test_every_public_name_is_listed():
    """__all__ and what the module imports for others are the same, in one sorted list."""
    tree = ast.parse(Path(connect.__file__).read_text())
    imported = {
        alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == set(connect.__all__)


@pytest.mark.parametrize("name", sorted(set(connect.__all__) - SELF_EXPLAINING))
def test_public_class_has_a_contract(name):
    """Who reads only the API knows what a class is for."""
    public = getattr(connect, name)
    if inspect.isclass(public) and not issubclass(public, Exception):
        assert public.__doc__, f"{name} has no docstring"
        assert public.__doc__ != inspect.getdoc(object)


@pytest.mark.parametrize("cls", [SourceTask, SinkTask, connect.Converter, connect.Transformation])
def test_methods_to_override_have_contracts(cls):
    """Every method that an author writes says who calls it and what an error means."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.getdoc(method), f"{cls.__name__}.{name} has no docstring"


class TicksTask(SourceTask):
    def start(self, config):
        self.config = config
        self.n = (self.context.offset({"ticks": "all"}) or {"n": 0})["n"]

    def poll(self):
        if self.n >= self.config["limit"]:
            return None
        self.n += 1
        place = {"source_partition": {"ticks": "all"}, "source_offset": {"n": self.n}}
        return [SourceRecord.of("ticks", self.n, **place)]


class Ticks(SourceConnector):
    task_class = TicksTask
    config_def = ConfigDef().define("limit", ConfigType.INT, 3, doc="How many.")


def test_connector_is_about_twenty_lines_and_goes_on_after_a_crash():
    """A source with config, offsets and restart fits on a screen, and runs."""
    lines = inspect.getsource(TicksTask) + inspect.getsource(Ticks)
    assert len(lines.splitlines()) <= 20
    with SourceHarness(Ticks, {"limit": "3"}) as source:
        source.poll(2)
        source.commit()
        source.crash()
        source.start()
        source.poll(1)
        source.commit()
        assert [record.value for record in source.committed] == [1, 2, 3]
