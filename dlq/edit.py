"""Edits: what is changed in a letter before it is replayed."""

from __future__ import annotations

import json
from typing import Any, Protocol

import msgspec

from connect.errors import ConnectError
from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline
from dlq.json_patch import JsonPatch, PatchError
from dlq.probe import message_of
from dlq.reader import DeadLetter


class EditError(ConnectError):
    """A letter can't be edited; it stays open."""


class Edit(Protocol):
    def __call__(self, letter: DeadLetter) -> DeadLetter:
        """The letter with another key or value. EditError if that can't be done."""


class PatchEdit:
    """Applies a JSON Patch to values that are JSON."""

    def __init__(self, patch: JsonPatch) -> None:
        self._patch = patch

    def __call__(self, letter: DeadLetter) -> DeadLetter:
        try:
            # Python's own parser: whole numbers of any size come out as they went in.
            document = json.loads(letter.value or b"null")
        except (ValueError, RecursionError) as error:
            # What is wrong with it is told of many letters together, so no value may be in it.
            raise EditError("The value is no JSON that a patch can be applied to.") from error
        try:
            patched = self._patch.apply(document)
            changed = json.dumps(patched, ensure_ascii=False, separators=(",", ":")).encode()
        except PatchError as error:
            raise EditError(f"The patch does not fit. {error}") from error
        except (ValueError, RecursionError) as error:
            raise EditError("The patched value can't be written as JSON.") from error
        return msgspec.structs.replace(letter, value=changed)


class TransformEdit:
    """Reads a letter by the connector's converters, transforms it, and writes it by them again.

    `spec` has the converters of the connector and the transforms of the edit alone. Runs plugin
    code in this process.
    """

    def __init__(self, spec: PipelineSpec) -> None:
        self._spec = spec
        self._pipeline = SinkPipeline(spec, spec.retry())

    def __call__(self, letter: DeadLetter) -> DeadLetter:
        message = message_of(letter, self._spec.config)
        records, failures = self._pipeline.run([message])
        if failures:
            raise EditError(f"{failures[0].stage}: {failures[0].error}") from failures[0].error
        if not records:
            raise EditError("A transform of the edit drops the record.")
        record = records[0]
        parts = self._pipeline.parts
        headers = list(letter.headers)
        try:
            key = self._write(parts.key.converter, message, record.key_schema, record.key, headers)
            value = self._write(
                parts.value.converter, message, record.value_schema, record.value, headers
            )
        except Exception as error:
            raise EditError(f"The edited record can't be written: {error}") from error
        return msgspec.structs.replace(letter, key=key, value=value, headers=headers)

    def _write(
        self, converter: Any, message: RawMessage, schema: Any, value: Any, headers: list[Any]
    ) -> bytes | None:
        written: bytes | None = converter.from_connect(message.topic(), schema, value, headers)
        return written


def edit_config(connector: dict[str, str], edit: dict[str, str]) -> dict[str, str]:
    """The connector's converters with the edit's transforms and predicates."""
    if not edit.get("transforms", "").strip():
        raise EditError(
            "The edit names no transforms: it needs the key transforms, as connectors do."
        )
    chain = ("transforms", "predicates")
    kept = {k: v for k, v in connector.items() if not k.startswith(chain)}
    return {**kept, **{k: v for k, v in edit.items() if k.startswith(chain)}}
