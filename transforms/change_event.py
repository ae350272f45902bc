"""Change events: the envelope in which Debezium sends a row before and after a change.

    {"before": {…}, "after": {…}, "source": {…}, "op": "u", "ts_ms": …, "transaction": {…}}

With a schema, its name ends in `.Envelope`. Without one, a map with an `op` and a `before` or
`after` is taken for such an event.
"""

from __future__ import annotations

from typing import Any

from connect import Schema, Type

CREATE, READ, UPDATE, DELETE, TRUNCATE = "c", "r", "u", "d", "t"


def is_envelope(schema: Schema) -> bool:
    return (
        schema.type is Type.STRUCT and schema.name is not None and schema.name.endswith(".Envelope")
    )


def is_change_event(value: Any) -> bool:
    """Whether a value without a schema is one."""
    return isinstance(value, dict) and "op" in value and ("after" in value or "before" in value)
