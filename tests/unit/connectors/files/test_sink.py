"""The files sink on a local disk."""

import csv
import datetime as dt
import gzip
import io
import json
import os
import sys
from decimal import Decimal

import fastavro
import fsspec
import pyarrow.parquet as pq
import pytest

from connect import (
    ConfigError,
    ConnectError,
    DataError,
    Field,
    MissingExtraError,
    RetriableError,
    Schema,
    TopicPartition,
)
from connect.testing import SinkHarness, SinkTaskSuite
from connect.testing.running import checked_config
from connectors.files.sink import FilesSinkConnector

ROW = (
    Schema.struct("Row")
    .field("id", Schema.INT64)
    .field("name", Schema.OPTIONAL_STRING)
    .field("price", Schema.decimal(2).build())
    .field("day", Schema.date().build())
    .field("at", Schema.timestamp().build())
    .field("tags", Schema.array(Schema.STRING).build())
    .field("more", Schema.map(Schema.STRING, Schema.INT32).build())
    .field("inner", Schema.struct("Inner").field("x", Schema.FLOAT64).optional().build())
    .build()
)
VALUE = {
    "id": 1,
    "name": None,
    "price": Decimal("1.10"),
    "day": dt.date(2024, 2, 29),
    "at": dt.datetime(2024, 2, 29, 12, 30, 15, 250000, tzinfo=dt.UTC),
    "tags": ["a", "b"],
    "more": {"k": 7},
    "inner": {"x": 0.5},
}
DAY_MS = 86_400_000


def config(place, **more):
    settings = {"files_url": place / "out", "flush_size": 3, **more}
    return {k.replace("_", "."): str(v) for k, v in settings.items()}


def sink(place, *, with_reporter=True, **more):
    return SinkHarness(FilesSinkConnector, config(place, **more), with_reporter=with_reporter)


def files(place):
    return sorted(
        str(path.relative_to(place / "out"))
        for path in (place / "out").rglob("*")
        if path.is_file()
    )


def lines(place, name):
    return [json.loads(line) for line in (place / "out" / name).read_text().splitlines()]


def everything(place):
    """All records in all files, in the order of the files' names."""
    return [record for name in files(place) for record in lines(place, name)]


class TestFilesSink(SinkTaskSuite):
    connector = FilesSinkConnector
    exactly_once = True

    def config(self, place):
        return config(place, flush_size=1)

    def written(self, place):
        return everything(place)


def test_files_are_named_by_topic_partition_and_first_offset(tmp_path):
    """flush.size records make a file; what is left over waits and is not committed."""
    with sink(tmp_path) as s:
        s.put(*range(7))
        assert s.flush() == {TopicPartition("test", 0): 6}
    place = "topics/test/partition=0/test+0+000000000"
    assert files(tmp_path) == [f"{place}0.json", f"{place}3.json"]
    assert lines(tmp_path, f"{place}3.json") == [3, 4, 5]


@pytest.mark.parametrize("field", [False, True])
def test_after_a_crash_the_same_files_are_written_again(tmp_path, field):
    """Killed anywhere, before or after commits, each record is in exactly one file."""
    more = {"partitioner_class": "field", "partition_field_name": "kind"} if field else {}
    values = [{"n": n, "kind": "ab"[n % 2]} for n in range(20)]
    for crash_after in range(20):
        place = tmp_path / str(crash_after)
        s = sink(place, **more)
        s.start()
        for value in values[:crash_after]:
            s.put(value)
            if crash_after % 3 == 0:
                s.flush()
        s.crash()
        with s:
            s.put(*values[crash_after:], *[{"n": n, "kind": "a"} for n in (20, 21)])
        found = sorted(record["n"] for record in everything(place))
        assert found == list(range(21))  # seven files of three, the last record waits


def test_full_disk_is_waited_for(tmp_path, monkeypatch):
    """A write that fails is tried again, and nothing is written twice or lost."""
    s = sink(tmp_path)
    s.start()
    real, failures = s.task._store.write, [OSError(28, "No space left on device")] * 2

    def write(path, data):
        if failures:
            raise failures.pop()
        real(path, data)

    monkeypatch.setattr(s.task._store, "write", write)
    s.put(*range(8))
    s.stop()
    assert s.retries == 2
    assert everything(tmp_path) == list(range(6))


def test_torn_write_leaves_no_file(tmp_path, monkeypatch):
    """A file is there whole or not: what was written before the disk was full is taken away."""
    s = sink(tmp_path)
    s.start()
    failures = [OSError(28, "No space left on device")]
    monkeypatch.setattr(os, "fsync", lambda _: failures and _raise(failures.pop()))
    s.record("a"), s.record("b"), s.record("c")
    with pytest.raises(RetriableError, match="No space left"):
        s.task.put(next(iter(s.log.values())))
    assert files(tmp_path) == []
    s.deliver()
    s.stop()
    assert everything(tmp_path) == ["a", "b", "c"]


def _raise(error):
    raise error


def test_lasting_failure_fails_the_task(tmp_path):
    """A place that can't be written to is named in the error, and no record is blamed."""
    (tmp_path / "out").write_text("a file, not a directory")
    s = sink(tmp_path)
    s.start()
    with pytest.raises(ConnectError, match="out") as refused:
        s.put(*range(3))
    assert not isinstance(refused.value, DataError | RetriableError)
    s.crash()


def test_parquet_keeps_the_types(tmp_path):
    """Decimals, dates, times, lists, maps and structs are Parquet's own."""
    with sink(tmp_path, format_class="io.confluent.connect.s3.format.parquet.ParquetFormat") as s:
        s.put(VALUE, VALUE, VALUE, schema=ROW)
    (name,) = files(tmp_path)
    assert name.endswith("+0000000000.snappy.parquet")
    table = pq.read_table(tmp_path / "out" / name, partitioning=None)
    assert table.num_rows == 3
    assert table.to_pylist()[0] == {**VALUE, "more": [("k", 7)]}
    assert str(table.schema.field("price").type) == "decimal128(38, 2)"
    assert str(table.schema.field("at").type) == "timestamp[ms, tz=UTC]"
    assert not table.schema.field("id").nullable


def test_avro_keeps_the_types(tmp_path):
    """A container file that any Avro reader reads."""
    with sink(tmp_path, format_class="avro") as s:
        s.put(VALUE, VALUE, VALUE, schema=ROW)
    (name,) = files(tmp_path)
    with (tmp_path / "out" / name).open("rb") as file:
        assert [*fastavro.reader(file)] == [VALUE] * 3


ADDRESS = Schema.struct("com.x.Address").field("city", Schema.STRING)
BARE = Schema.struct("Geo").field("lat", Schema.FLOAT64)


@pytest.mark.parametrize("name", ["com.x.Order", "Order", None])
def test_avro_defines_a_struct_once_and_names_it_thereafter(tmp_path, name):
    """Fields of one named struct share it; so do those in lists, maps and other namespaces."""
    within = Schema.struct("com.y.Site").field("geo", BARE.build()).build()
    schema = (
        Schema.struct(name)
        .field("billing", ADDRESS.build().as_optional())
        .field("shipping", ADDRESS.build())
        .field("former", Schema.array(ADDRESS.build()).build())
        .field("others", Schema.map(Schema.STRING, ADDRESS.build().as_optional()).build())
        .field("site", within)
        .field("geo", BARE.build())
        .field("last", within)
        .build()
    )
    here, geo = {"city": "here"}, {"lat": 0.5}
    value = {
        "billing": None,
        "shipping": here,
        "former": [here],
        "others": {"a": here, "b": None},
        "site": {"geo": geo},
        "geo": geo,
        "last": {"geo": geo},
    }
    assert avro_of(tmp_path, [value, {**value, "billing": here}], schema) == [
        value,
        {**value, "billing": here},
    ]


def test_avro_gives_different_structs_of_one_name_names_of_their_own(tmp_path):
    """The second of that name is another, also where it comes again."""
    other = Schema.struct("com.x.Address").field("zip", Schema.INT32).build()
    schema = (
        Schema.struct("Order")
        .field("a", ADDRESS.build())
        .field("b", other)
        .field("c", other.as_optional())
        .field("d", ADDRESS.build())
        .build()
    )
    value = {"a": {"city": "x"}, "b": {"zip": 1}, "c": {"zip": 2}, "d": {"city": "y"}}
    assert avro_of(tmp_path, [value], schema) == [value]


def avro_of(place, values, schema):
    """What a reader finds in the Avro file of these values."""
    with sink(place, format_class="avro", flush_size=len(values)) as s:
        s.put(*values, schema=schema)
    assert s.reported == []
    (name,) = files(place)
    with (place / "out" / name).open("rb") as file:
        return [*fastavro.reader(file)]


def recursive(name):
    """A struct with an optional field of itself."""
    node = Schema.struct(name).field("n", Schema.INT64).optional().build()
    node.fields = (*node.fields, Field("next", 1, node))
    return node


def test_avro_has_structs_that_hold_themselves(tmp_path):
    """By their name."""
    value = {"n": 1, "next": {"n": 2, "next": None}}
    assert avro_of(tmp_path, [value], recursive("Node")) == [value]


@pytest.mark.parametrize(("format_", "name"), [("avro", None), ("parquet", "Node")])
def test_schema_without_a_form_in_the_format_is_the_records_fault(tmp_path, format_, name):
    """An endless schema is reported; records of another are written."""
    with sink(tmp_path, format_class=format_, flush_size=1) as s:
        s.put({"n": 1, "next": None}, schema=recursive(name))
        s.put(VALUE, schema=ROW)
    ((record, error),) = s.reported
    assert record.offset == 0
    assert isinstance(error, DataError)
    assert "has no form in" in str(error)
    assert len(files(tmp_path)) == 1


def test_csv_has_a_line_of_names(tmp_path):
    """Nested values are JSON, texts are quoted where they must be."""
    with sink(tmp_path, format_class="csv", compression_type="gzip") as s:
        s.put({"a": 'x,"y"\n', "b": None}, {"a": 1.5, "c": [1]}, {"a": True})
    (name,) = files(tmp_path)
    assert name.endswith(".csv.gz")
    text = gzip.decompress((tmp_path / "out" / name).read_bytes()).decode()
    assert [*csv.reader(io.StringIO(text))] == [
        ["a", "b", "c"],
        ['x,"y"\n', "", ""],
        ["1.5", "", "[1]"],
        ["true", "", ""],
    ]


def test_same_records_make_the_same_bytes(tmp_path):
    """A file that takes another's place is equal to it."""
    for format_name in ("parquet", "avro", "json", "csv"):
        made = []
        for run in range(2):
            place = tmp_path / f"{format_name}{run}"
            with sink(place, format_class=format_name) as s:
                s.put(VALUE, VALUE, VALUE, schema=ROW)
            made.append((place / "out" / files(place)[0]).read_bytes())
        assert made[0] == made[1]


def test_time_decides_the_directory(tmp_path):
    """Records go by their own time into directories of the pattern, in the zone asked for."""
    with sink(
        tmp_path, flush_size=1, partitioner_class="TimeBasedPartitioner", timezone="Asia/Tokyo",
        path_format="'y'=YYYY/MM-dd/HH", partition_duration_ms=3_600_000,
    ) as s:  # fmt: skip
        s.record("x", timestamp=int(VALUE["at"].timestamp() * 1000))
        s.deliver()
    assert files(tmp_path) == ["topics/test/y=2024/02-29/21/test+0+0000000000.json"]


@pytest.mark.parametrize("value", [VALUE["at"], 1709209815250, "2024-02-29T12:30:15.25Z"])
def test_time_may_be_a_field(tmp_path, value):
    """A timestamp, milliseconds, or a text."""
    with sink(
        tmp_path, flush_size=1, partitioner_class="daily", timestamp_extractor="RecordField",
        timestamp_field="meta.when",
    ) as s:  # fmt: skip
        s.put({"meta": {"when": value}}, {"meta": {}})
    assert files(tmp_path) == ["topics/test/year=2024/month=02/day=29/test+0+0000000000.json"]
    assert [str(error) for _, error in s.reported] == ["The record has no field meta.when"]


def test_record_time_ends_a_file(tmp_path):
    """rotate.interval.ms goes by the records' times: the first one too far on begins a new file."""
    with sink(tmp_path, flush_size=100, rotate_interval_ms=1000) as s:
        for at in (0, 999, 500, 1000, 1500, 2000):
            s.record(at, timestamp=at)
        s.deliver()
        assert s.flush() == {TopicPartition("test", 0): 5}
    assert [lines(tmp_path, name) for name in files(tmp_path)] == [[0, 999, 500], [1000, 1500]]


def test_schema_change_ends_a_file(tmp_path):
    """No file has records of two schemas; equal schemas count as one."""
    other = Schema.struct("Row").field("id", Schema.INT64).build()
    same = ROW.to_builder().build()
    with sink(tmp_path, flush_size=3, format_class="parquet") as s:
        s.put(VALUE, schema=ROW)
        s.put(VALUE, schema=same)
        s.put({"id": 5}, schema=other)
        s.put({"id": 6}, {"id": 7}, schema=other)
    counts = [pq.read_metadata(tmp_path / "out" / name).num_rows for name in files(tmp_path)]
    assert counts == [2, 3]


def test_waiting_records_are_written_by_the_clock(tmp_path):
    """rotate.schedule.interval.ms writes what has waited that long, without new records."""
    with sink(tmp_path, flush_size=100, rotate_schedule_interval_ms=0) as s:
        s.put("a", "b")
        assert files(tmp_path) == []
        s.deliver()
        assert everything(tmp_path) == ["a", "b"]
        assert s.context.commit_requested


def test_field_values_stay_in_their_directory(tmp_path):
    """A value can't climb out of the directory, nor make others."""
    with sink(tmp_path, flush_size=1, partitioner_class="field", partition_field_name="a,b") as s:
        s.put({"a": "../../x", "b": 1}, {"a": "..", "b": True}, {"a": {"no": 1}, "b": 1})
    assert files(tmp_path) == [
        "topics/test/a=%/b=true/test+0+0000000001.json",
        "topics/test/a=..%2F..%2Fx/b=1/test+0+0000000000.json",
    ]
    assert len(s.reported) == 1


def test_values_that_do_not_fit_the_format_are_reported(tmp_path):
    """Parquet needs a schema; the record without one is named, the others are written."""
    with sink(tmp_path, format_class="parquet", flush_size=1) as s:
        s.put("text")
        s.put(VALUE, schema=ROW)
    ((_, error),) = s.reported
    assert "hold structs with a schema" in str(error)
    assert len(files(tmp_path)) == 1


def test_without_a_reporter_the_task_fails(tmp_path):
    """The error says what the format needs."""
    s = sink(tmp_path, format_class="avro", with_reporter=False)
    s.start()
    with pytest.raises(DataError, match="Avro files hold structs"):
        s.put("text")
    s.task.stop()


@pytest.mark.parametrize("format_", ["parquet", "avro"])
def test_values_that_break_their_own_schema_are_reported(tmp_path, format_):
    """A number too big, a text for a number, a null that may not be: these alone; the rest is
    written, also when the file is written in a later batch.
    """
    with sink(tmp_path, format_class=format_, flush_size=4) as s:
        for n, wrong in enumerate([{}, {"id": 2**70}, {}, {"id": "x"}, {"id": None}, {}]):
            s.record({**VALUE, "name": str(n), **wrong}, schema=ROW)
        s.deliver()
        assert [record.offset for record, _ in s.reported] == [1, 3, 4]
        assert "does not fit its own schema" in str(s.reported[0][1])
        s.put({**VALUE, "name": "last"}, schema=ROW)
    (name,) = files(tmp_path)
    with (tmp_path / "out" / name).open("rb") as file:
        rows = pq.read_table(file).to_pylist() if format_ == "parquet" else [*fastavro.reader(file)]
    assert [row["name"] for row in rows] == ["0", "2", "5", "last"]


def test_value_that_breaks_its_own_schema_fails_the_task_without_a_reporter(tmp_path):
    """The error has the schema's name, and nothing is written."""
    s = sink(tmp_path, format_class="parquet", flush_size=1, with_reporter=False)
    s.start()
    with pytest.raises(ConnectError, match="does not fit its own schema"):
        s.put({**VALUE, "id": 2**70}, schema=ROW)
    s.task.stop()
    assert files(tmp_path) == []


def test_value_that_breaks_its_own_schema_is_not_taken_where_it_may_be_skipped(tmp_path):
    """Without a reporter the error comes with the record's own batch, and no file waits for it."""
    s = sink(tmp_path, format_class="parquet", with_reporter=False, errors_tolerance="all")
    s.start()
    good, bad = (s.record({**VALUE, "id": n}, schema=ROW) for n in (1, 2**70))
    with pytest.raises(DataError, match="does not fit its own schema"):
        s.task.put([good, bad])
    s.task.put([good])
    with pytest.raises(DataError, match="does not fit its own schema"):
        s.task.put([bad])
    s.task.put([s.record(VALUE, schema=ROW) for _ in range(2)])
    s.task.stop()
    (name,) = files(tmp_path)
    assert pq.read_metadata(tmp_path / "out" / name).num_rows == 3


def test_value_that_has_no_form_in_its_file_blames_no_other_record(tmp_path):
    """It is of an earlier batch by the time its file is written: the task fails."""
    with sink(tmp_path, flush_size=2) as s:
        s.put({"n": 2**70})
        with pytest.raises(ConnectError, match="can't be written") as refused:
            s.put({"n": 1})
        assert not isinstance(refused.value, DataError)
        s.positions.clear()
    assert s.reported == []


def test_any_file_system_of_fsspec_takes_the_files(tmp_path):
    """A URL's kind names the file system; what stands behind it is where the files go."""
    system = fsspec.filesystem("memory")
    with SinkHarness(
        FilesSinkConnector,
        {"files.url": "memory://bucket/deep/", "flush.size": "1", "topics.dir": "topics"},
    ) as s:
        s.put("a")
    try:
        (path,) = system.find("/bucket")
        assert path == "/bucket/deep/topics/test/partition=0/test+0+0000000000.json"
        assert system.cat(path) == b'"a"\n'
    finally:
        system.rm("/bucket", recursive=True)


@pytest.mark.parametrize(
    ("url", "extra"),
    [("gs://bucket/x", "gcs"), ("abfs://container/x", "azure"), ("az://container", "azure")],
)
def test_stores_by_extras_say_which_one_is_missing(url, extra, monkeypatch):
    """Google's and Azure's stores come with extras of their own."""
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    monkeypatch.setitem(sys.modules, "adlfs", None)
    s = SinkHarness(FilesSinkConnector, {"files.url": url, "flush.size": "1"})
    with pytest.raises(MissingExtraError, match=rf"penstock\[{extra}\]"):
        s.start()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Say where files go"),
        ({"files.url": "x", "format.class": "xml"}, "is none of parquet, avro, json, csv"),
        ({"files.url": "x", "partitioner.class": "FieldPartitioner"}, "needs fields"),
        ({"files.url": "x", "compression.type": "snappy"}, "json files can have none, gzip"),
        ({"files.url": "x", "timezone": "Mars"}, "is no time zone"),
    ],
)
def test_configs_that_do_not_fit_are_refused(settings, message):
    """The error names the key and the way out."""
    with pytest.raises(ConfigError, match=message):
        checked_config(FilesSinkConnector, {"flush.size": "1", "topics": "t", **settings})
