"""Which fields of a record stay, and under which name, to any depth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from connect import Schema, Type
from transforms.field_path import FieldPath
from transforms.key_or_value import Convert, Plan
from transforms.requirements import only_maps, only_structs
from transforms.struct_edit import array_like, failing, same_basics, unchanged, unless_null


@dataclass(slots=True)
class _Level:
    """What happens to the fields of one struct; `inner` to those of the structs in it."""

    exclude: set[str] = field(default_factory=set)
    include: set[str] = field(default_factory=set)
    renames: dict[str, str] = field(default_factory=dict)
    inner: dict[str, _Level] = field(default_factory=dict)

    def at(self, path: FieldPath) -> _Level:
        level = self
        for step in path:
            level = level.inner.setdefault(step, _Level())
        return level

    def keeps(self, name: str) -> bool:
        return name not in self.exclude and (not self.include or name in self.include)


class Selection:
    """Drops, keeps and renames fields. Say what with the first three methods, then ask for plans.

    Lists on the way to a nested field are done item by item.
    """

    def __init__(self, purpose: str, *, replace_nulls: bool) -> None:
        self._purpose = purpose
        self._replace_nulls = replace_nulls
        self._top = _Level()

    def exclude(self, path: FieldPath) -> None:
        self._top.at(path[:-1]).exclude.add(path[-1])

    def rename(self, path: FieldPath, new: str) -> None:
        self._top.at(path[:-1]).renames[path[-1]] = new

    def include(self, paths: list[FieldPath]) -> None:
        whole = set(paths)
        for path in paths:
            # `a` keeps all of a, so `a.b` beside it asks for nothing more.
            if any(path[:n] in whole for n in range(1, len(path))):
                continue
            for depth, name in enumerate(path):
                self._top.at(path[:depth]).include.add(name)

    def plan(self, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, _select_in_map(self._top, self._purpose))
        return self._in_struct(schema, self._top, nested=False)

    def _in_struct(self, schema: Schema, level: _Level, *, nested: bool) -> Plan:
        if schema.type is not Type.STRUCT:
            return Plan(schema, failing(lambda value: only_structs(self._purpose, value, schema)))
        builder = same_basics(schema)
        moves: list[tuple[str, str]] = []
        dropped: list[str] = []
        changes: list[tuple[str, Convert]] = []
        defaults: list[tuple[str, Any]] = []
        for f in schema.fields:
            if not level.keeps(f.name):
                dropped.append(f.name)
                continue
            new_name = level.renames.get(f.name, f.name)
            inner = level.inner.get(f.name)
            plan = Plan(f.schema, unchanged) if inner is None else self._inside(f.schema, inner)
            builder.field(new_name, plan.schema or f.schema)
            moves.append((new_name, f.name))
            if plan.convert is not unchanged:
                changes.append((new_name, plan.convert))
            if self._replace_nulls and f.schema.default is not None:
                defaults.append((new_name, f.schema.default))
        convert = _mover(moves, dropped, defaults, changes)
        if nested:
            if schema.optional:
                builder.optional()
            if schema.default is not None:
                builder.default(convert(schema.default))
        return Plan(builder.build(), convert)

    def _inside(self, schema: Schema, level: _Level) -> Plan:
        """What happens to a field that holds fields of its own: structs, and lists of them."""
        if schema.type is Type.STRUCT:
            new_schema, convert = self._in_struct(schema, level, nested=True)
            return Plan(new_schema, unless_null(convert))
        if schema.type is Type.ARRAY and schema.value_schema is not None:
            items, change = self._inside(schema.value_schema, level)
            if items is None or change is unchanged:
                return Plan(schema, unchanged)
            return Plan(
                array_like(schema, items, change),
                unless_null(lambda value: [change(item) for item in value]),
            )
        if schema.type is Type.MAP and not level.inner:
            return Plan(schema, unless_null(_select_in_map(level, self._purpose)))
        return Plan(schema, unchanged)


def _mover(
    moves: list[tuple[str, str]],
    dropped: list[str],
    defaults: list[tuple[str, Any]],
    changes: list[tuple[str, Convert]],
) -> Convert:
    """The function from an old struct to the new one."""
    move = _copier(moves, dropped)

    def move_and_change(value: Any) -> Any:
        new_value = move(value)
        get = new_value.get
        new_value |= {name: default for name, default in defaults if get(name) is None}
        for name, change in changes:
            new_value[name] = change(get(name))
        return new_value

    return move_and_change if defaults or changes else move


def _copier(moves: list[tuple[str, str]], dropped: list[str]) -> Convert:
    """The quickest way to the fields that stay: leave some out, or pick some."""
    renamed = [(new, old) for new, old in moves if new != old]

    def leave_out(value: Any) -> Any:
        new_value = {**value}
        for name in dropped:
            new_value.pop(name, None)
        return new_value

    def leave_out_and_rename(value: Any) -> Any:
        new_value = leave_out(value)
        # All old names go before a new one comes, as it may be one of them.
        new_value.update([(new, new_value.pop(old, None)) for new, old in renamed])
        return new_value

    def pick(value: Any) -> Any:
        get = value.get
        return {new: get(old) for new, old in moves}

    if len(dropped) + len(renamed) > len(moves):
        return pick
    return leave_out_and_rename if renamed else leave_out


def _select_in_map(level: _Level, purpose: str) -> Convert:
    """The function from an old schemaless map to the new one."""
    exclude, include, renames = tuple(level.exclude), level.include, level.renames
    renamed = tuple(renames.items())
    inner = tuple(
        (renames.get(name, name), _select_inside(inner, purpose))
        for name, inner in level.inner.items()
    )

    def drop(value: Any) -> Any:
        try:
            new_value = {**value}
        except TypeError:
            raise only_maps(purpose, value) from None
        for name in exclude:
            new_value.pop(name, None)
        return new_value

    def keep(value: Any) -> Any:
        new_value = drop(value)
        return {name: new_value[name] for name in new_value if name in include}

    def rename(value: Any) -> Any:
        new_value = base(value)
        # All old names go before a new one comes, as it may be one of them.
        new_value.update([(new, new_value.pop(old)) for old, new in renamed if old in new_value])
        return new_value

    def select_inside(value: Any) -> Any:
        new_value = flat(value)
        for name, change in inner:
            if name in new_value:
                new_value[name] = change(new_value[name])
        return new_value

    base = keep if include else drop
    flat = rename if renames else base
    return select_inside if inner else flat


def _select_inside(level: _Level, purpose: str) -> Convert:
    select = _select_in_map(level, purpose)

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return select(value)
        if isinstance(value, list):
            return [convert(item) for item in value]
        return value

    return convert
