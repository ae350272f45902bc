"""Field paths: how a config names a field, at the top of a record or inside of it.

With `field.syntax.version=V1` a path is one name, dots and all. With `V2` dots lead inside:
`address.city`. A name that holds dots stands in backticks, `` `a.b`.c ``; a backtick inside of
those that would end the name is written with a backslash before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from connect import Config, ConfigDef, ConfigError, Importance, Schema, Type
from connect.config.validators import one_of_ignoring_case

FieldPath = tuple[str, ...]
T = TypeVar("T")

SYNTAX = "field.syntax.version"


def define_field_syntax(keys: ConfigDef) -> ConfigDef:
    return keys.define(
        SYNTAX,
        default="V1",
        validator=one_of_ignoring_case("V1", "V2"),
        importance=Importance.HIGH,
        doc="How fields are named. V1: by one name, at the top level only. V2: by a path with "
        "dots that leads into nested fields, such as address.city; a name that holds dots itself "
        "stands in backticks.",
    )


def parse_field_path(text: str, config: Config) -> FieldPath:
    """The names from the outermost to the innermost, by the syntax that `config` asks for."""
    return split_path(text) if config[SYNTAX].upper() == "V2" else (text,)


def split_path(text: str) -> FieldPath:
    """The steps of a V2 path."""
    steps: list[str] = []
    position = 0
    while True:
        if text[position : position + 1] == "`":
            step, position = _quoted(text, position)
        else:
            dot = text.find(".", position)
            end = len(text) if dot < 0 else dot
            step, position = text[position:end], end
        steps.append(step)
        if position >= len(text):
            return tuple(steps)
        position += 1  # the dot


def _quoted(text: str, start: int) -> tuple[str, int]:
    """The step in backticks that begins at start, and the place after it.

    A backtick ends it only where a dot or the end of the path follows; others are part of it.
    """
    step = ""
    copied = start + 1
    tick = start
    while True:
        tick = text.find("`", tick + 1)
        if tick < 0:
            raise ConfigError(
                f"Incomplete backtick pair in path: [{text}], consider adding a backslash before "
                f"backtick at position {start} to escape it"
            )
        if text[tick + 1 : tick + 2] not in ("", "."):
            continue
        if text[tick - 1] != "\\":
            return step + text[copied:tick], tick + 1
        step += text[copied : tick - 1] + "`"
        copied = tick + 1


def as_tree(key: str, leaves: Iterable[tuple[FieldPath, T]]) -> Mapping[str, T | Mapping]:  # type: ignore[type-arg]
    """Paths and what belongs to each as nested dicts, so that every level is visited once.

    `key` is the config key they came from, for the error when one path leads through another.
    """
    tree: dict[str, T | dict] = {}  # type: ignore[type-arg]
    for path, leaf in leaves:
        level = tree
        for step in path[:-1]:
            inner = level.setdefault(step, {})
            if not isinstance(inner, dict):
                raise _overlap(key, path)
            level = inner
        if isinstance(level.get(path[-1]), dict):
            raise _overlap(key, path)
        level[path[-1]] = leaf
    return tree


def _overlap(key: str, path: FieldPath) -> ConfigError:
    return ConfigError(
        key, ".".join(path), "names a field and another one inside of it: keep one of the two"
    )


def schema_at(schema: Schema, path: FieldPath) -> Schema | None:
    """The schema of what stands at a path of nested structs; None where there is no such field."""
    for step in path:
        field = schema.field(step) if schema.type is Type.STRUCT else None
        if field is None:
            return None
        schema = field.schema
    return schema


def value_at(value: object, path: FieldPath) -> object:
    """What stands at a path of nested dicts; None where there is nothing."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value
