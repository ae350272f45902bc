"""Records become Arrow batches, a column at a time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from connect import Columns, DataError, SinkBatch, SinkRecord
from connect.pipeline import Failure, Stage
from dlq import letter
from spark_sink.schemas import ERROR, KAFKA, VALUE

# Who is at fault in a dead letter when a record does not fit its columns: in a worker's sink this
# is the step that would have noticed.
PUT_CLASS = "org.apache.kafka.connect.sink.SinkTask"

_MISFITS = (pa.ArrowException, ValueError, TypeError, OverflowError)


class RowBuilder:
    """Makes Arrow batches of one Spark schema."""

    def __init__(self, schema: StructType, connector: str, task: int) -> None:
        try:
            self._arrow = to_arrow_schema(schema, timezone="UTC")
        except TypeError:  # of Spark 4.1, where it is UTC unless told otherwise
            self._arrow = to_arrow_schema(schema)
        self._columns = [f for f in self._arrow if f.name not in (KAFKA, ERROR)]
        self._kafka = self._arrow.field(KAFKA).type
        self._error = self._arrow.field(ERROR).type
        self._connector = connector
        self._task = task
        self._takes_bare_values = any(f.name == VALUE for f in self._columns)

    def fit(
        self, batch: SinkBatch, messages: Sequence[Any], failed: Sequence[Failure]
    ) -> tuple[list[pa.Array], Sequence[Any], list[Failure]]:
        """The value columns of the records that fit, their messages, and those that don't.

        `failed` are those among the messages of which the batch has no record.
        """
        if batch.columns is not None:
            try:
                whole = self._fit_columns(batch.columns, len(batch))
            except _MISFITS:
                pass  # one does not fit; record by record it is found
            else:
                bad = {failure.record.offset() for failure in failed}
                return (
                    whole,
                    [m for m in messages if m.offset() not in bad] if bad else messages,
                    [],
                )
        return self._fit_records(batch.records, messages)

    def _fit_columns(self, columns: Columns, count: int) -> list[pa.Array]:
        fields = columns.fields
        return [
            _fitted(fields[f.name], f.type) if f.name in fields else pa.nulls(count, f.type)
            for f in self._columns
        ]

    def _fit_records(
        self, records: Sequence[SinkRecord], messages: Sequence[Any]
    ) -> tuple[list[pa.Array], Sequence[Any], list[Failure]]:
        rows = [record.value for record in records]
        origins = messages
        if len(records) < len(messages):  # some were dropped, or failed
            by_offset = {message.offset(): message for message in messages}
            origins = [by_offset[record.offset] for record in records]
        failures: dict[int, Exception] = {}
        for i, value in enumerate(rows):
            if type(value) is not dict:
                rows[i] = self._as_row(value, i, failures)
        arrays = self._fit_all(rows, failures)
        if failures:
            good = [i for i in range(len(rows)) if i not in failures]
            failed = [
                Failure(origins[i], Stage.TASK_PUT, PUT_CLASS, failures[i])
                for i in sorted(failures)
            ]
            arrays = self._fit_all([rows[i] for i in good], {})
            return arrays, [origins[i] for i in good], failed
        return arrays, origins, []

    def build(
        self, columns: list[pa.Array], origins: Sequence[Any], failures: Sequence[Failure]
    ) -> pa.RecordBatch:
        """One batch: rows that fit, then a row for each failure."""
        failed = len(failures)
        if failed:
            columns = [pa.concat_arrays([array, pa.nulls(failed, array.type)]) for array in columns]
        everything = [*origins, *(failure.record for failure in failures)]
        arrays = [*columns, self._kafka_column(everything)]
        arrays.append(self._error_column(len(origins), failures))
        return pa.RecordBatch.from_arrays(arrays, schema=self._arrow)

    def _as_row(self, value: Any, i: int, failures: dict[int, Exception]) -> dict[str, Any]:
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        if not self._takes_bare_values:
            failures[i] = DataError(
                f"The value is a {type(value).__name__} and no struct. Give it a column with the "
                "transform HoistField, or name the one column 'value' in spark.schema."
            )
            return {}
        return {VALUE: value}

    def _fit_all(
        self, rows: Sequence[dict[str, Any]], failures: dict[int, Exception]
    ) -> list[pa.Array]:
        arrays = []
        for field in self._columns:
            name = field.name
            try:
                values = [row[name] for row in rows]
            except KeyError:
                values = [row.get(name) for row in rows]
            try:
                array = _fitted(values, field.type)
            except _MISFITS:
                array = _fitted_one_by_one(name, values, field.type, failures)
            arrays.append(array)
        return arrays

    def _kafka_column(self, messages: Sequence[Any]) -> pa.Array:
        # A batch is of one range, so of one partition and one class, whose methods map() calls for
        # half of what a call costs.
        first, kind = messages[0], type(messages[0])
        stamps = [*map(kind.timestamp, messages)]
        columns = [
            pa.repeat(pa.scalar(first.topic(), pa.string()), len(messages)),
            pa.repeat(pa.scalar(first.partition(), pa.int32()), len(messages)),
            pa.array([*map(kind.offset, messages)], pa.int64()),
            pc.multiply(
                pa.array([ms if known else None for known, ms in stamps], pa.int64()), 1000
            ),
            pa.array([known for known, _ in stamps], pa.int32()),
            pa.array([*map(kind.key, messages)], pa.binary()),
        ]
        fields = [self._kafka.field(i) for i in range(self._kafka.num_fields)]
        columns[3] = columns[3].view(fields[3].type)
        headers = [
            [{"key": k, "value": v} for k, v in raw] if raw else None
            for raw in map(kind.headers, messages)
        ]
        columns.append(pa.array(headers, fields[6].type))
        return pa.StructArray.from_arrays(columns, fields=fields)

    def _error_column(self, good: int, failures: Sequence[Failure]) -> pa.Array:
        if not failures:
            return pa.nulls(good, self._error)
        told = [None] * good + [self._told(failure) for failure in failures]
        return pa.array(told, self._error)

    def _told(self, failure: Failure) -> dict[str, Any]:
        """A failure in the words of the dead letter's headers."""
        headers = dict(letter.error_headers(failure, self._connector, self._task))

        def text(name: str) -> str | None:
            data = headers[name]
            return None if data is None else data.decode("utf-8", "replace")

        return {
            "stage": text(letter.STAGE),
            "class": text(letter.CLASS),
            "exception": text(letter.EXCEPTION),
            "message": text(letter.MESSAGE),
            "stacktrace": text(letter.STACKTRACE),
            "value": failure.record.value(),
        }


def _fitted_one_by_one(
    name: str, values: Sequence[Any], type: pa.DataType, failures: dict[int, Exception]
) -> pa.Array:
    arrays = []
    for i, value in enumerate(values):
        try:
            arrays.append(_fitted([value], type))
        except _MISFITS as error:
            failures.setdefault(i, _misfit(name, value, type, error))
            arrays.append(pa.nulls(1, type))
    return pa.concat_arrays(arrays)


def _misfit(name: str, value: Any, type: pa.DataType, error: Exception) -> DataError:
    shown = repr(value)
    shown = shown if len(shown) <= 100 else shown[:97] + "..."
    misfit = DataError(f"Field {name} with {shown} does not fit its column of type {type}: {error}")
    misfit.__cause__ = error
    return misfit


def _fitted(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    """A column, with nothing bent to fit.

    Arrow is asked what the values are, then moves them to the column's type and refuses to lose
    anything. Told the type at once it would take 1.5 for an integer 1, and 5 for five
    microseconds.
    """
    if _has_map(type):
        return pa.array([_checked(value, type) for value in values], type)
    return _moved(pa.array(values), type)


def _moved(array: pa.Array, type: pa.DataType) -> pa.Array:
    if array.type == type:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), type)
    if pa.types.is_struct(type):
        return _moved_struct(array, type)
    if pa.types.is_list(type):
        if not pa.types.is_list(array.type):
            raise pa.ArrowTypeError(f"{array.type} is no array")
        items = _moved(array.values, type.value_type)
        return pa.ListArray.from_arrays(array.offsets, items, type=type, mask=array.is_null())
    if not _may_move(array.type, type):
        raise pa.ArrowTypeError(f"{array.type} is not {type}")
    if pa.types.is_timestamp(type) and pa.types.is_integer(array.type):
        # Connect's and JSON's way to write a time: milliseconds.
        return array.cast(pa.timestamp("ms", type.tz)).cast(type)
    if pa.types.is_time(array.type):
        return array.cast(pa.time32("ms")).cast(pa.int32()).cast(type)
    return array.cast(type)


def _moved_struct(array: pa.Array, type: pa.StructType) -> pa.Array:
    if not pa.types.is_struct(array.type):
        raise pa.ArrowTypeError(f"{array.type} is no struct")
    fields = [type.field(i) for i in range(type.num_fields)]
    there = {array.type.field(i).name: i for i in range(array.type.num_fields)}
    columns = [
        _moved(array.field(there[f.name]), f.type)
        if f.name in there
        else pa.nulls(len(array), f.type)
        for f in fields
    ]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=array.is_null())


def _is_number(type: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type)
    )


def _may_move(found: pa.DataType, type: pa.DataType) -> bool:
    """Whether a value of one kind may stand in a column of another, if nothing is lost."""
    kinds = pa.types
    text = bool(kinds.is_string(found))
    if kinds.is_decimal(type):
        return text or _is_number(found)
    if kinds.is_integer(type):
        return _is_number(found) or bool(kinds.is_time(found))
    if kinds.is_floating(type):
        return _is_number(found)
    if kinds.is_timestamp(type):
        return text or bool(kinds.is_integer(found) or kinds.is_temporal(found))
    if kinds.is_date(type):
        return text or bool(kinds.is_date(found))
    if kinds.is_string(type) or kinds.is_large_string(type):
        return text
    if kinds.is_binary(type):
        return text or bool(kinds.is_binary(found))
    return bool(found == type)


def _has_map(type: pa.DataType) -> bool:
    if pa.types.is_map(type):
        return True
    if pa.types.is_list(type):
        return _has_map(type.value_type)
    if pa.types.is_struct(type):
        return any(_has_map(type.field(i).type) for i in range(type.num_fields))
    return False


_PYTHON: dict[int, Any] = {
    pa.map_(pa.string(), pa.string()).id: dict,
    pa.struct([]).id: dict,
    pa.list_(pa.string()).id: list,
}


def _checked(value: Any, type: pa.DataType) -> Any:
    """A value around or inside a map, in the form that Arrow takes for exactly its type.

    Maps can't go the columns' way: Arrow would take each for a struct with all keys of all maps.
    """
    if value is None:
        return None
    if not isinstance(value, _PYTHON.get(type.id, object)):
        raise pa.ArrowTypeError(f"a {value.__class__.__name__} is no {type}")
    if pa.types.is_map(type):
        return [(_checked(k, type.key_type), _checked(v, type.item_type)) for k, v in value.items()]
    if pa.types.is_list(type):
        return [_checked(item, type.value_type) for item in value]
    if pa.types.is_struct(type):
        names = [type.field(i) for i in range(type.num_fields)]
        return {f.name: _checked(value.get(f.name), f.type) for f in names}
    if isinstance(value, float) and pa.types.is_integer(type) and not value.is_integer():
        raise pa.ArrowInvalid(f"{value} is no whole number")
    if isinstance(value, int) and pa.types.is_timestamp(type):
        return dt.datetime.fromtimestamp(value / 1000, dt.UTC)
    if isinstance(value, dt.time):
        return (value.hour * 3600 + value.minute * 60 + value.second) * 1000 + (
            value.microsecond // 1000
        )
    return value
