"""What the JVM's transforms do with the same records, frozen: results, errors and their texts."""

from __future__ import annotations

import copy
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from connect.errors import class_name_of
from tests.unit.transforms.records import read_record, read_schema, seen

VECTORS = json.loads(Path(__file__).with_name("jvm_vectors.json").read_text())
SCHEMAS = [read_schema(schema) for schema in VECTORS["schemas"]]
CASES = VECTORS["cases"]


def load(name: str) -> type[Any]:
    module, _, simple = name.partition(":")
    return getattr(importlib.import_module(module), simple)


PLUGINS = sorted({case[0] for case in CASES})
TRANSFORMS = [name for name in PLUGINS if hasattr(load(name), "apply_batch")]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_jvm_does_the_same(plugin):
    """Each record comes out as from the JVM's transform, or fails with the same class and text."""
    for _, config, given, expected in (case for case in CASES if case[0] == plugin):
        where = f"{plugin} {config} {given}"
        assert outcome(load(plugin), config, given) == wanted(expected), where


@pytest.mark.parametrize("plugin", TRANSFORMS)
def test_a_batch_comes_out_as_its_records_do(plugin):
    """All records of a config in one batch come out as one by one, nothing shared is changed."""
    kind = load(plugin)
    by_config: dict[str, list[Any]] = {}
    for _, config, given, expected in (case for case in CASES if case[0] == plugin):
        if "record" in expected:
            by_config.setdefault(json.dumps(config), []).append((given, expected))
    for config, cases in by_config.items():
        transform = kind()
        transform.configure(kind.config_def.parse(json.loads(config)))
        records = [read_record(given, SCHEMAS) for given, _ in cases]
        before = copy.deepcopy([(r.key, r.value) for r in records])
        parts = [(r.key, r.value) for r in records]
        results = transform.apply_batch(records)
        assert [seen(r) for r in results] == [wanted(expected)["record"] for _, expected in cases]
        assert repr(parts) == repr(before), "a shared key or value was changed in place"


def outcome(kind: type[Any], config: dict[str, str], given: dict[str, Any] | None) -> Any:
    try:
        plugin = kind()
        plugin.configure(kind.config_def.parse(config))
        if given is None:
            return {"configured": True}
        record = read_record(given, SCHEMAS)
        if hasattr(plugin, "test"):
            return {"test": plugin.test(record)}
        return {"record": seen(plugin.apply(record))}
    except Exception as error:  # noqa: BLE001
        return {"error": class_name_of(error), "message": str(error)}


def wanted(expected: dict[str, Any]) -> Any:
    if expected.get("record") is None:
        return expected
    return {"record": seen(read_record(expected["record"], SCHEMAS))}
