"""The loop that transforms of a key or a value share.

Such a transform makes a plan for a schema: the schema that comes out and a function from the
old value to the new one, with all that can be decided before the first record decided. Plans are
kept by the schema's identity, so a record costs one comparison and one call.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from connect import ConfigDef, ConfigType, Importance, Schema, Transformation
from connect.plugin import ValueEdit
from connect.records import R

# From the old value to the new one, and see `KeyOrValue.sees_record`.
Convert = Callable[..., Any]

# A plan is kept for so many schemas. A well-behaved connector has a handful; one that makes a
# schema for every record must not fill the memory.
MAX_PLANS = 256


class Plan(NamedTuple):
    schema: Schema | None
    convert: Convert
    edit: ValueEdit | None = None  # the same for `Transformation.value_edit`, where there is one


P = TypeVar("P")


class PlanCache(Generic[P]):
    """Plans by schema: made at a schema's first record, then found by its identity."""

    def __init__(self, make: Callable[[Schema | None], P]) -> None:
        self._make = make
        self._by_id: dict[int, tuple[Schema | None, P]] = {}
        self._by_schema: dict[Schema | None, P] = {}

    def plan_for(self, schema: Schema | None) -> P:
        # The entry holds the schema, so its id can't pass to another one.
        known = self._by_id.get(id(schema))
        if known is not None:
            return known[1]
        # Plugins that build an equal schema for each record get the same plan, and so the same
        # new schema, which keeps the caches of everything behind this transform warm.
        plan = self._by_schema.get(schema)
        if plan is None:
            plan = self._make(schema)
            if len(self._by_schema) >= MAX_PLANS:
                self._by_schema.clear()
            self._by_schema[schema] = plan
        if len(self._by_id) >= MAX_PLANS:
            self._by_id.clear()
        self._by_id[id(schema)] = (schema, plan)
        return plan


class KeyOrValue(Transformation[R], Generic[R]):
    """A transform with a variant for keys and one for values: extend it, then add the variants.

    class MaskField(KeyOrValue[R]): …
    class MaskFieldKey(OnKey[R], MaskField[R]): …
    class MaskFieldValue(OnValue[R], MaskField[R]): …
    """

    # Whether a null (a tombstone's value, a missing key) goes through with its schema as it is.
    passes_null: ClassVar[bool] = True
    # Whether `convert` gets the record after the value, to read from it or set its headers.
    sees_record: ClassVar[bool] = False

    def __init__(self) -> None:
        self._plans = PlanCache(self.plan)

    @abc.abstractmethod
    def plan(self, schema: Schema | None) -> Plan:
        """What to do with values of this schema, or with None, schemaless ones.

        Where no value of the schema will do, `convert` raises: then the error is the record's.
        """


class OnValue(KeyOrValue[R], Generic[R]):
    """The variant that works on the record's value."""

    def value_edit(self, schema: Schema | None) -> ValueEdit | None:
        return self._plans.plan_for(schema).edit

    def apply(self, record: R) -> R | None:
        value = record.value
        if value is None and self.passes_null:
            return record
        schema, convert, _ = self._plans.plan_for(record.value_schema)
        record.value = convert(value, record) if self.sees_record else convert(value)
        record.value_schema = schema
        return record

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        plan_for = self._plans.plan_for
        passes_null = self.passes_null
        sees_record = self.sees_record
        seen: object = self  # no schema
        new_schema: Schema | None = None
        convert: Convert
        for record in records:
            value = record.value
            if value is None and passes_null:
                continue
            schema = record.value_schema
            if schema is not seen:
                new_schema, convert, _ = plan_for(schema)
                seen = schema
            record.value = convert(value, record) if sees_record else convert(value)
            record.value_schema = new_schema
        return [*records]


class OnKey(KeyOrValue[R], Generic[R]):
    """The variant that works on the record's key. The same loop: attributes can't be passed."""

    def apply(self, record: R) -> R | None:
        key = record.key
        if key is None and self.passes_null:
            return record
        schema, convert, _ = self._plans.plan_for(record.key_schema)
        record.key = convert(key, record) if self.sees_record else convert(key)
        record.key_schema = schema
        return record

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        plan_for = self._plans.plan_for
        passes_null = self.passes_null
        sees_record = self.sees_record
        seen: object = self  # no schema
        new_schema: Schema | None = None
        convert: Convert
        for record in records:
            key = record.key
            if key is None and passes_null:
                continue
            schema = record.key_schema
            if schema is not seen:
                new_schema, convert, _ = plan_for(schema)
                seen = schema
            record.key = convert(key, record) if sees_record else convert(key)
            record.key_schema = new_schema
        return [*records]


def define_null_replacement(keys: ConfigDef) -> ConfigDef:
    return keys.define(
        "replace.null.with.default",
        ConfigType.BOOLEAN,
        default=True,
        importance=Importance.MEDIUM,
        doc="Whether a null field whose schema has a default becomes that default. "
        "With false it stays null.",
    )
