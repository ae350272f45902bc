"""Values into Arrow columns: everything that fits, nothing bent."""

import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql import types as spark

from connect import Columns, DataError, SinkBatch, SinkRecord
from connect.pipeline import Failure, RawMessage, Stage
from spark_sink.columns import RowBuilder
from spark_sink.schemas import row_type

UTC = dt.UTC
COLUMN = {
    "bigint": spark.LongType(),
    "int": spark.IntegerType(),
    "double": spark.DoubleType(),
    "string": spark.StringType(),
    "binary": spark.BinaryType(),
    "boolean": spark.BooleanType(),
    "date": spark.DateType(),
    "timestamp": spark.TimestampType(),
    "decimal": spark.DecimalType(10, 2),
    "array": spark.ArrayType(spark.IntegerType()),
    "struct": spark.StructType([spark.StructField("a", spark.LongType())]),
    "map": spark.MapType(spark.StringType(), spark.LongType()),
}


def build(kind, values):
    columns = spark.StructType([spark.StructField("x", COLUMN[kind])])
    builder = RowBuilder(row_type(columns), "orders", 0)
    messages = [
        RawMessage("t", b"raw", b"key", offset=i, timestamp=(1, 1500)) for i in range(len(values))
    ]
    records = [
        SinkRecord("t", 0, None, None, None, value, offset=i, original_topic="t")
        for i, value in enumerate(values)
    ]
    arrays, origins, failures = builder.fit(SinkBatch.of(records), messages, [])
    built = builder.build(arrays, origins, failures)
    if all(isinstance(value, dict) for value in values) and len({*map(tuple, values)}) == 1:
        fields = {name: [value[name] for value in values] for name in values[0]}
        batch = SinkBatch(len(records), Columns(None, fields), lambda: records)
        assert builder.build(*builder.fit(batch, messages, [])) == built  # told the same way
    return built, failures


def test_failures_are_left_out_of_columns():
    """The rows are those of the other messages, in their order."""
    columns = spark.StructType([spark.StructField("x", COLUMN["bigint"])])
    builder = RowBuilder(row_type(columns), "orders", 0)
    messages = [RawMessage("t", b"raw", offset=i) for i in range(3)]
    failure = Failure(messages[1], Stage.VALUE_CONVERTER, "C", DataError("broken"))
    batch = SinkBatch(2, Columns(None, {"x": [7, 9]}), list)
    arrays, origins, misfits = builder.fit(batch, messages, [failure])
    assert (arrays[0].to_pylist(), origins, misfits) == ([7, 9], [messages[0], messages[2]], [])


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("bigint", 2**62, 2**62),
        ("bigint", 2.0, 2),
        ("double", 3, 3.0),
        ("string", "é", "é"),
        ("binary", b"\x00\xff", b"\x00\xff"),
        ("boolean", True, True),
        ("date", dt.date(2026, 1, 2), dt.date(2026, 1, 2)),
        ("date", "2026-01-02", dt.date(2026, 1, 2)),
        ("timestamp", 1500, dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)),
        ("timestamp", "2026-01-02T03:04:05Z", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("timestamp", dt.datetime(2026, 1, 2, tzinfo=UTC), dt.datetime(2026, 1, 2, tzinfo=UTC)),
        ("decimal", Decimal("1.5"), Decimal("1.50")),
        ("decimal", "1.25", Decimal("1.25")),
        ("int", dt.time(0, 1, 1, 5000), 61_005),
        ("array", [1, None], [1, None]),
        ("struct", {"a": 1, "unknown": 2}, {"a": 1}),
        ("struct", {}, {"a": None}),
        ("map", {"k": 1, "l": None}, [("k", 1), ("l", None)]),
    ],
)
def test_what_fits_is_kept(kind, value, expected):
    """A value of the column's kind arrives as it is, beside nulls."""
    batch, failures = build(kind, [{"x": value}, {"x": None}, {}, None])
    assert not failures
    assert batch.column("x").to_pylist() == [expected, None, None, None]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bigint", 1.5),
        ("bigint", "12"),
        ("bigint", True),
        ("bigint", 2**63),
        ("int", 2**31),
        ("double", "1.5"),
        ("string", 1),
        ("string", {"a": 1}),
        ("boolean", 1),
        ("date", 5),
        ("timestamp", "yesterday"),
        ("timestamp", True),
        ("decimal", Decimal("1.234")),
        ("array", [1.5]),
        ("array", {"a": 1}),
        ("struct", {"a": "x"}),
        ("struct", [1]),
        ("map", {"k": 1.5}),
        ("map", {"k": "x"}),
        ("map", [1]),
    ],
)
def test_what_does_not_fit_fails_alone(kind, value):
    """A value of another kind, or one that would lose something, fails; its neighbours pass."""
    batch, failures = build(kind, [{"x": None}, {"x": value}, {}])
    assert [f.record.offset() for f in failures] == [1]
    assert failures[0].stage is Stage.TASK_PUT
    assert "Field x" in str(failures[0].error)
    assert batch.column("x").null_count == 3
    errors = batch.column("_error").to_pylist()
    assert [error is not None for error in errors] == [False, False, True]
    assert errors[2]["value"] == b"raw"


def test_rows_know_where_they_lay():
    """`_kafka` has place, time and key of the message itself."""
    batch, _ = build("bigint", [{"x": 1}])
    [place] = batch.column("_kafka").to_pylist()
    assert place == {
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp": dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC),
        "timestampType": 1,
        "key": b"key",
        "headers": None,
    }


def test_mixed_spellings_share_a_column():
    """A timestamp may be a number in one record and text in the next."""
    batch, failures = build("timestamp", [{"x": 0}, {"x": "1970-01-01T00:00:00Z"}])
    assert not failures
    assert len(set(batch.column("x").to_pylist())) == 1


def test_failures_tell_what_a_dead_letter_would():
    """`_error` has stage, class, exception and message under the names of the DLQ's headers."""
    builder = RowBuilder(row_type(spark.StructType()), "orders", 0)
    message = RawMessage("t", b"raw", None, headers=[("h", None)])
    failure = Failure(message, Stage.KEY_CONVERTER, "a.Converter", DataError("no good"))
    [row] = builder.build([], [], [failure]).to_pylist()
    assert row["_error"]["stage"] == "KEY_CONVERTER"
    assert row["_error"]["exception"] == "org.apache.kafka.connect.errors.DataException"
    assert row["_error"]["message"] == "no good"
    assert row["_kafka"]["headers"] == [{"key": "h", "value": None}]
