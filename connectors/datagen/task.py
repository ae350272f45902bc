"""The Datagen task: makes records, block by block, so that it can begin anywhere."""

from __future__ import annotations

import base64
import logging
import secrets
import time
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

import orjson

from connect import Config, ConnectError, Headers, Schema, SourceRecord, SourceTask
from connectors.datagen import poison
from connectors.datagen.generator import generator
from connectors.datagen.pace import LONGEST_WAIT_SECONDS, FullSpeed, Pace, RandomPauses, Steady
from connectors.datagen.settings import key_field, schema_text

log = logging.getLogger(__name__)

TASK_ID = "task.id"
GENERATION = "task.generation"
ITERATION = "current.iteration"
SEED = "random.seed"

# Records are made in blocks of this many, each from a seed of its own: that of the task and the
# number of the block. A restart makes its block again and goes on in the middle of it.
BLOCK = 1000

_NO_HEADERS = Headers()


class _Block(NamedTuple):
    """Records in the making: what goes into each, column by column."""

    number: int
    keys: list[Any]
    schemas: list[Schema]
    values: list[Any]
    headers: list[Headers]


class DatagenTask(SourceTask):
    """Its offset is how many records it has made, and with which seed."""

    def start(self, config: Config) -> None:
        self._topic: str = config["kafka.topic"]
        self._iterations: int = config["iterations"]
        self._poison: float = config["poison.ratio"]
        self._as_json: bool = config["format"] == "json"
        self._with_headers: bool = config["generation.headers"]
        self._id = int(config[TASK_ID])
        made = generator(schema_text(config))
        self._column, self._schema = made.column, made.schema
        self._key = key_field(config)
        field = self._schema.field(self._key) if self._key else None
        self._key_schema = Schema.OPTIONAL_STRING if field is None else field.schema
        self._pace = _pace(config)
        self._partition = {TASK_ID: self._id}
        self._restore(config[SEED])
        self._block: _Block | None = None
        self._said_done = False

    def _restore(self, configured: int | None) -> None:
        stored = self.context.offset(self._partition) or {}
        self._generation = _stored_number(stored, GENERATION, 0)
        self._count = _stored_number(stored, ITERATION, 0)
        # Without a seed in the config each connector makes data of its own, and goes on with it.
        fresh = secrets.randbelow(2**63)
        self._seed = _stored_number(stored, SEED, fresh) if configured is None else configured

    def poll(self) -> list[SourceRecord] | None:
        left = BLOCK - self._count % BLOCK
        if self._iterations > 0:
            left = min(left, self._iterations - self._count)
            if left <= 0:
                self._rest()
                return None
        count = self._pace.next(left)
        return self._records(count) if count else None

    def _rest(self) -> None:
        if not self._said_done:
            self._said_done = True
            log.info("All %d records of task %d are made.", self._iterations, self._id)
        time.sleep(LONGEST_WAIT_SECONDS)

    def _records(self, count: int) -> list[SourceRecord]:
        block = self._current_block()
        first = self._count
        begin = first % BLOCK
        end = begin + count
        self._count += count
        topic, partition, key_schema = self._topic, self._partition, self._key_schema
        generation, seed = self._generation + 1, self._seed
        return [
            SourceRecord(
                topic, None, key_schema, key, schema, value, headers,
                source_partition=partition,
                source_offset={GENERATION: generation, ITERATION: number, SEED: seed},
            )
            for number, key, schema, value, headers in zip(
                range(first + 1, first + count + 1),
                block.keys[begin:end],
                block.schemas[begin:end],
                block.values[begin:end],
                block.headers[begin:end],
                strict=True,
            )
        ]  # fmt: skip

    def _current_block(self) -> _Block:
        number = self._count // BLOCK
        if self._block is None or self._block.number != number:
            self._block = self._make(number)
        return self._block

    def _make(self, number: int) -> _Block:
        seed = f"{self._seed}:{self._id}:{number}"
        first = number * BLOCK
        rows = self._column(Random(seed), first, BLOCK)  # noqa: S311
        key = self._key
        block = _Block(
            number,
            [row[key] for row in rows] if key else [None] * BLOCK,
            [Schema.STRING if self._as_json else self._schema] * BLOCK,
            [*map(_to_json, rows)] if self._as_json else rows,
            [*map(self._own_headers, range(first, first + BLOCK))]
            if self._with_headers
            else [_NO_HEADERS] * BLOCK,
        )
        # A stream of chance of its own, so that poison does not change the good records.
        kinds = poison.poisoned(Random(f"{seed}:poison"), self._poison, BLOCK)  # noqa: S311
        for place, kind in enumerate(kinds):
            if kind is not None:
                self._spoil(block, place, kind)
        return block

    def _spoil(self, block: _Block, place: int, kind: str) -> None:
        if self._as_json:
            block.values[place] = poison.broken(block.values[place], kind)
        else:
            kind = "wrong_type"
            block.values[place] = poison.WRONG_TYPE
            block.schemas[place] = Schema.STRING
        block.headers[place] = Headers((*block.headers[place], *poison.headers_for(kind)))

    def _own_headers(self, number: int) -> Headers:
        return (
            Headers()
            .with_(GENERATION, self._generation, Schema.INT64)
            .with_(TASK_ID, self._id, Schema.INT64)
            .with_(ITERATION, number, Schema.INT64)
        )


def _pace(config: Config) -> Pace:
    if config["rate"] is not None:
        return Steady(config["rate"])
    if config["max.interval"] > 0:
        return RandomPauses(config["max.interval"] / 1000)
    return FullSpeed()


def _stored_number(stored: Mapping[str, Any], key: str, default: int) -> int:
    value = stored.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConnectError(f"The stored offset's '{key}' is {value!r}, not a number: reset it.")
    return value


def _plain(value: Any) -> Any:
    """For what JSON has no word of its own: bytes as base64, decimals as text."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _to_json(row: Mapping[str, Any]) -> str:
    return orjson.dumps(row, default=_plain).decode()
