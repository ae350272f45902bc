"""Changing some fields of a struct, wherever they are, and its schema with them.

What happens to one field is a `FieldEdit`: from the field's schema (None without one) to its new
schema and a function from old value to new. Edits of nested fields are built from edits of plain
ones, so that masking `a.b` is an edit of `a` whose function masks `b`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect import DataError, Schema, SchemaBuilder, Type
from connect.data.columns import kind_of
from connect.plugin import ValueEdit
from transforms.key_or_value import Convert, Plan
from transforms.requirements import only_maps, only_structs

FieldEdit = Callable[[Schema | None], Plan]
EditTree = Mapping[str, "FieldEdit | EditTree"]


def unchanged(value: Any) -> Any:
    return value


def failing(error: Callable[[Any], Exception]) -> Convert:
    """A function for values that will not do: it raises the error made from the value."""

    def convert(value: Any, *_: Any) -> Any:
        raise error(value)

    return convert


def defaults_of(schema: Schema) -> tuple[tuple[str, Any], ...]:
    """The fields of a struct that have a default, with it."""
    return tuple((f.name, f.schema.default) for f in schema.fields if f.schema.default is not None)


def same_basics(schema: Schema) -> SchemaBuilder:
    """A struct builder with another's name, version, doc and parameters, and no fields yet."""
    return (
        Schema.struct(schema.name)
        .version(schema.version)
        .doc(schema.doc)
        .parameters(schema.parameters)
    )


def edit_map(edits: EditTree, purpose: str, *, by_type: bool = False) -> Plan:
    """How to edit a schemaless map; `by_type` if a value's type alone tells what becomes of it."""
    leaves = tuple((name, edit(None).convert) for name, edit in edits.items() if callable(edit))
    inner = tuple(
        (name, _edit_inside(edit, purpose)) for name, edit in edits.items() if not callable(edit)
    )

    def change_own(new: Any, _: object = None) -> Any:
        # A field that is not there is edited as null and is there afterwards, as in the JVM.
        get = new.get
        for name, change in leaves:
            new[name] = change(get(name))
        return new

    def change_columns(fields: dict[str, Sequence[Any]], count: int) -> dict[str, Sequence[Any]]:
        for name, change in leaves:
            column = fields.get(name, (None,))
            if len(column) == 1 or (by_type and kind_of(column) is not None):
                fields[name] = [change(column[0])] * count
            else:
                fields[name] = [*map(change, column)]
        return fields

    def convert(value: Any) -> Any:
        try:
            new = {**value}
        except TypeError:
            raise only_maps(purpose, value) from None
        change_own(new)
        for name, change in inner:
            if name in new:
                new[name] = change(new[name])
        return new

    edit = ValueEdit(None, change_own, in_place=True, columns=change_columns)
    return Plan(None, convert, None if inner else edit)


def _edit_inside(edits: EditTree, purpose: str) -> Convert:
    """What happens to a schemaless value on the way to a nested field.

    Lists are edited item by item. What is no map has no such field and stays as it is.
    """
    edit = edit_map(edits, purpose).convert

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return edit(value)
        if isinstance(value, list):
            return [convert(item) for item in value]
        return value

    return convert


def edit_struct(
    schema: Schema, edits: EditTree, purpose: str, *, replace_nulls: bool, keep_flags: bool
) -> Plan:
    """How to edit a struct: the new schema and the function.

    Edits of fields that the schema does not have are left out. `keep_flags` says whether the new
    schema stays optional and keeps its default, if any.
    """
    if schema.type is not Type.STRUCT:
        return Plan(schema, failing(lambda value: only_structs(purpose, value, schema)))
    changes: list[tuple[str, Convert]] = []
    new_schemas: dict[str, Schema] = {}
    for field in schema.fields:
        edit = edits.get(field.name)
        if edit is None:
            continue
        if callable(edit):
            new_schema, change, _ = edit(field.schema)
        else:
            new_schema, change, _ = _edit_nested(
                field.schema, edit, purpose, replace_nulls=replace_nulls
            )
        if change is not unchanged:
            changes.append((field.name, change))
        if new_schema is not None and new_schema is not field.schema:
            new_schemas[field.name] = new_schema
    defaults = defaults_of(schema) if replace_nulls else ()
    change_own, convert = _struct_functions(tuple(changes), defaults)
    own = ValueEdit(schema, change_own, in_place=True, columns=on_columns(changes, defaults))
    if not new_schemas:
        return Plan(schema, convert, own)
    builder = same_basics(schema)
    for field in schema.fields:
        builder.field(field.name, new_schemas.get(field.name, field.schema))
    if keep_flags:
        if schema.optional:
            builder.optional()
        if schema.default is not None:
            builder.default(convert(schema.default))
    new_schema = builder.build()
    return Plan(new_schema, convert, own._replace(schema=new_schema))


def on_columns(
    changes: Sequence[tuple[str, Convert]], defaults: Sequence[tuple[str, Any]]
) -> Callable[[dict[str, Sequence[Any]], int], dict[str, Sequence[Any]]]:
    """Defaults in place of nulls, then changes, to the columns of structs."""

    def change(fields: dict[str, Sequence[Any]], _: object = None) -> dict[str, Sequence[Any]]:
        for name, default in defaults:
            if None in fields[name]:
                fields[name] = [default if value is None else value for value in fields[name]]
        for name, convert in changes:
            fields[name] = [*map(convert, fields[name])]
        return fields

    return change


def _struct_functions(
    changes: tuple[tuple[str, Convert], ...], defaults: tuple[tuple[str, Any], ...]
) -> tuple[Convert, Convert]:
    """The function that edits a dict of its own, and the one that makes a new dict."""

    def change_own(new: Any, _: object = None) -> Any:
        get = new.get
        if defaults:
            new |= {name: default for name, default in defaults if get(name) is None}
        for name, change in changes:
            new[name] = change(get(name))
        return new

    def convert(value: Any) -> Any:
        return change_own({**value})

    return change_own, convert if changes or defaults else unchanged


def _edit_nested(schema: Schema, edits: EditTree, purpose: str, *, replace_nulls: bool) -> Plan:
    """What happens to a field on the way to a nested one: structs, and structs in lists."""
    if schema.type is Type.STRUCT:
        plan = edit_struct(schema, edits, purpose, replace_nulls=replace_nulls, keep_flags=True)
        return Plan(plan.schema, unless_null(plan.convert))
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        new_items, convert, _ = _edit_nested(
            schema.value_schema, edits, purpose, replace_nulls=replace_nulls
        )
        if convert is unchanged:
            return Plan(schema, unchanged)
        new_schema = schema
        if new_items is not None and new_items is not schema.value_schema:
            new_schema = array_like(schema, new_items, convert)
        return Plan(new_schema, unless_null(lambda items: [convert(item) for item in items]))
    if schema.type is Type.MAP and schema.value_schema is not None:
        return _edit_entries(schema, schema.value_schema, edits, purpose, replace_nulls)
    return Plan(schema, unchanged)


def _edit_entries(
    schema: Schema, entries: Schema, edits: EditTree, purpose: str, replace_nulls: bool
) -> Plan:
    """Maps with a schema: single entries may change, but not to another schema."""
    changes: list[tuple[str, Convert]] = []
    for name, edit in edits.items():
        if callable(edit):
            new_schema, change, _ = edit(entries)
        else:
            new_schema, change, _ = _edit_nested(
                entries, edit, purpose, replace_nulls=replace_nulls
            )
        if new_schema != entries:
            return Plan(schema, unless_null(failing(_would_differ(purpose, name))))
        changes.append((name, change))

    def convert(value: Any) -> Any:
        new = {**value}
        for name, change in changes:
            if name in new:
                new[name] = change(new[name])
        return new

    return Plan(schema, unless_null(convert))


def _would_differ(purpose: str, entry: str) -> Callable[[Any], Exception]:
    return lambda _: DataError(
        f"[{purpose}] would give the entry {entry!r} of a map another type than the map's "
        "others have"
    )


def array_like(schema: Schema, items: Schema, convert: Convert) -> Schema:
    """An array schema with another schema for its items, and its default's items converted."""
    builder = (
        Schema.array(items)
        .name(schema.name)
        .version(schema.version)
        .doc(schema.doc)
        .parameters(schema.parameters)
    )
    if schema.optional:
        builder.optional()
    if schema.default is not None:
        builder.default([convert(item) for item in schema.default])
    return builder.build()


def unless_null(convert: Convert) -> Convert:
    if convert is unchanged:
        return unchanged

    def convertunless_null(value: Any) -> Any:
        return None if value is None else convert(value)

    return convertunless_null
