"""Which fields of a record stay, and under which name, to any depth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from connect import Schema, Type
from connect.plugin import ValueEdit
from transforms.field_path import FieldPath
from transforms.key_or_value import Convert, Plan
from transforms.requirements import only_maps, only_structs
from transforms.struct_edit import (
    array_like,
    failing,
    on_columns,
    same_basics,
    unchanged,
    unless_null,
)


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
            return _select_in_map(self._top, self._purpose)
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
        edit = _mover(moves, dropped, defaults, changes)
        convert = _on_copies(edit)
        if nested:
            if schema.optional:
                builder.optional()
            if schema.default is not None:
                builder.default(convert(schema.default))
        new_schema = builder.build()
        return Plan(new_schema, convert, edit._replace(schema=new_schema))

    def _inside(self, schema: Schema, level: _Level) -> Plan:
        """What happens to a field that holds fields of its own: structs, and lists of them."""
        if schema.type is Type.STRUCT:
            new_schema, convert, _ = self._in_struct(schema, level, nested=True)
            return Plan(new_schema, unless_null(convert))
        if schema.type is Type.ARRAY and schema.value_schema is not None:
            items, change, _ = self._inside(schema.value_schema, level)
            if items is None or change is unchanged:
                return Plan(schema, unchanged)
            return Plan(
                array_like(schema, items, change),
                unless_null(lambda value: [change(item) for item in value]),
            )
        if schema.type is Type.MAP and not level.inner:
            return Plan(schema, unless_null(_select_in_map(level, self._purpose).convert))
        return Plan(schema, unchanged)


def _on_copies(edit: ValueEdit) -> Convert:
    change = edit.change
    if edit.in_place:
        return lambda value: change({**value}, None)
    return lambda value: change(value, None)


def _mover(
    moves: list[tuple[str, str]],
    dropped: list[str],
    defaults: list[tuple[str, Any]],
    changes: list[tuple[str, Convert]],
) -> ValueEdit:
    """From an old struct to the new one. The schema is not known here."""
    move = _copier(moves, dropped)
    if not defaults and not changes:
        return move
    finish_columns = on_columns(changes, defaults)

    def change_columns(fields: Any, _: object = None) -> Any:
        return finish_columns(move.change(fields, None), 0)

    def move_and_change(value: Any, _: object = None) -> Any:
        new_value = move.change(value, None)
        get = new_value.get
        new_value |= {name: default for name, default in defaults if get(name) is None}
        for name, change in changes:
            new_value[name] = change(get(name))
        return new_value

    return move._replace(change=move_and_change, columns=change_columns)


def _copier(moves: list[tuple[str, str]], dropped: list[str]) -> ValueEdit:
    """The quickest way to the fields that stay: leave some out, or pick some."""
    renamed = [(new, old) for new, old in moves if new != old]

    def leave_out(new_value: Any, _: object = None) -> Any:
        for name in dropped:
            new_value.pop(name, None)
        # All old names go before a new one comes, as it may be one of them.
        if renamed:
            new_value.update([(new, new_value.pop(old, None)) for new, old in renamed])
        return new_value

    def pick(value: Any, _: object = None) -> Any:
        get = value.get
        return {new: get(old) for new, old in moves}

    # What drops and renames the fields of a struct drops and renames columns as well.
    if len(dropped) + len(renamed) > len(moves):
        return ValueEdit(None, pick, in_place=False, columns=pick)
    return ValueEdit(None, leave_out, in_place=True, columns=leave_out)


def _select_in_map(level: _Level, purpose: str) -> Plan:
    """From an old schemaless map to the new one."""
    exclude, include, renames = tuple(level.exclude), level.include, level.renames
    renamed = tuple(renames.items())
    only_old, only_new = renamed[0] if renamed else ("", "")
    inner = tuple(
        (renames.get(name, name), _select_inside(inner, purpose))
        for name, inner in level.inner.items()
    )

    def change_own(new_value: Any, _: object = None) -> Any:
        for name in exclude:
            new_value.pop(name, None)
        if include:
            new_value = {name: new_value[name] for name in new_value if name in include}
        if len(renamed) == 1:
            if only_old in new_value:
                new_value[only_new] = new_value.pop(only_old)
        elif renamed:
            # All old names go before a new one comes, as it may be one of them.
            new_value.update(
                [(new, new_value.pop(old)) for old, new in renamed if old in new_value]
            )
        return new_value

    def convert(value: Any) -> Any:
        try:
            new_value = change_own({**value})
        except TypeError:
            raise only_maps(purpose, value) from None
        for name, change in inner:
            if name in new_value:
                new_value[name] = change(new_value[name])
        return new_value

    # What drops and renames the values of a map drops and renames columns as well.
    edit = ValueEdit(None, change_own, in_place=True, columns=change_own)
    return Plan(None, convert, None if inner else edit)


def _select_inside(level: _Level, purpose: str) -> Convert:
    select = _select_in_map(level, purpose).convert

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return select(value)
        if isinstance(value, list):
            return [convert(item) for item in value]
        return value

    return convert
