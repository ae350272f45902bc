"""What a schema registry knows of a topic before its first record is read."""

from __future__ import annotations

import datetime as dt
import decimal
import logging
from collections.abc import Iterable, Iterator
from typing import Any

from connect import ConnectError, Schema, SinkRecord, Type
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from connect.pipeline import SinkPipeline
from converters.registry.converter import RegistryConverter

log = logging.getLogger(__name__)

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EXAMPLES: dict[Type, Any] = {
    Type.BOOLEAN: False,
    Type.STRING: "",
    Type.BYTES: b"",
    Type.ARRAY: [],
    Type.MAP: {},
}


def registered_records(topics: Iterable[str], pipeline: SinkPipeline) -> Iterator[SinkRecord]:
    """For each topic a made-up record of its newest schema, sent through the transforms.

    Transforms change columns, and only trying shows how. Topics without a schema are left out, and
    so are records that the transforms drop or refuse: the sample has to tell then.
    """
    converter = pipeline.parts.value.converter
    if not isinstance(converter, RegistryConverter):
        return
    for topic in topics:
        schema = _newest(converter, topic)
        if schema is None:
            continue
        record = SinkRecord(topic, 0, None, None, schema, example(schema))
        records, errors = pipeline.parts.chain.run([record], lambda _: record)  # noqa: B023
        for step, error in errors.values():
            log.info("The newest schema of %s does not pass %s: %s", topic, step.alias, error)
        yield from (passed for passed in records if passed is not None)


def _newest(converter: RegistryConverter, topic: str) -> Schema | None:
    try:
        registered = converter._registry.latest(converter._subject(topic, None))
        references = converter._registry.resolve(registered)
        # (0,): the first message of a Protobuf file, which is what writers use by default.
        return converter.compile_decoder(registered, references, registered.version, (0,)).schema
    except ConnectError as error:
        log.info("The registry has no schema for the values of %s: %s", topic, error)
        return None


def example(schema: Schema) -> Any:
    """A value that fits: null where that is allowed, else the smallest thing there is."""
    if schema.default is not None:
        return schema.default
    if schema.optional:
        return None
    if schema.name == DECIMAL:
        return decimal.Decimal(0).scaleb(-schema.scale)
    if schema.name in (DATE, TIME, TIMESTAMP):
        return {DATE: _EPOCH.date(), TIME: dt.time(), TIMESTAMP: _EPOCH}[schema.name]
    if schema.type is Type.STRUCT:
        return {f.name: example(f.schema) for f in schema.fields}
    return _EXAMPLES.get(schema.type, 0)
