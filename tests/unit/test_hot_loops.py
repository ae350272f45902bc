"""What a record costs in the hot loops, in calls and objects: counts, because times vary.

A change that calls something once a record where a batch could do it once shows here.
"""

import gc
import sys
import weakref

import pytest
from confluent_kafka import Producer

from connect import Columns, Schema, SinkBatch, SourceBatch, SourceRecord
from connect.config.connector import framework_settings
from connect.data.framed import Framed, total_bytes
from connect.data.java_lines import java_lines_of as lines_by_columns
from connect.pipeline import (
    ErrorCounts,
    Outgoing,
    PipelineSpec,
    RawMessage,
    SinkPipeline,
    SourcePipeline,
)
from connect.runtime.express import Terms
from connect.runtime.express_transactions import ExpressTransactions
from connect.runtime.record_batch import RecordBatch
from connect.runtime.source import SourceLoop
from connect.runtime.tolerance import Tolerance
from connect.testing import SinkHarness
from connectors.file.sink import _lines as lines_of
from connectors.jdbc.sink import JdbcSinkConnector
from converters.avro import AvroConverter
from converters.protobuf import ProtobufConverter

COUNT = 1000
APACHE = "org.apache.kafka.connect"
JSON = {
    "key.converter": f"{APACHE}.storage.StringConverter",
    "value.converter": f"{APACHE}.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
SINK = {
    **JSON,
    "transforms": "origin,shape,mask",
    "transforms.origin.type": f"{APACHE}.transforms.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "here",
    "transforms.shape.type": f"{APACHE}.transforms.ReplaceField$Value",
    "transforms.shape.exclude": "note",
    "transforms.shape.renames": "customer:client",
    "transforms.mask.type": f"{APACHE}.transforms.MaskField$Value",
    "transforms.mask.fields": "email",
}
SOURCE = {
    **JSON,
    "transforms": "line,origin",
    "transforms.line.type": f"{APACHE}.transforms.HoistField$Value",
    "transforms.line.field": "line",
    "transforms.origin.type": f"{APACHE}.transforms.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "here",
}


def messages(every_tenth_is_poison=False):
    value = b'{"id": 1, "customer": "c", "email": "a@b", "amount": 1.5, "paid": true, "note": "n"}'
    return [
        RawMessage("t", value[:-9] if every_tenth_is_poison and n % 10 == 9 else value, b"key")
        for n in range(COUNT)
    ]


def sink(config):
    spec = PipelineSpec("c", 0, config)
    return SinkPipeline(spec, spec.retry())


def calls(run):
    """Calls a record: of Python functions, and from Python code to functions in C."""
    run()  # caches are filled
    counted = 0

    def count(_frame, event, _arg):
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return counted / COUNT


def blocks(run):
    """Memory blocks a record that the result holds."""
    run()
    gc.collect()
    before = sys.getallocatedblocks()
    result = run()
    after = sys.getallocatedblocks()
    del result
    return (after - before) / COUNT


# RawMessage's methods are Python's, nine a record; those of Kafka's messages cost nothing here.
MESSAGE_METHODS = 9
COLUMN_METHODS = 4


def test_calls_of_a_sink_without_transforms():
    """Nothing is called once a record."""
    pipeline, batch = sink(JSON), messages()
    assert calls(lambda: pipeline.run(batch)) - MESSAGE_METHODS < 0.5


def test_calls_of_a_sink_with_transforms():
    """Three transforms done together: a call or two for each."""
    pipeline, batch = sink(SINK), messages()
    assert calls(lambda: pipeline.run(batch)) - MESSAGE_METHODS < 13


def test_calls_of_a_sink_with_poison():
    """Every tenth record fails; the good ones do not pay for it."""
    pipeline, batch = sink(SINK), messages(every_tenth_is_poison=True)
    assert calls(lambda: pipeline.run(batch)) - MESSAGE_METHODS < 20


def test_calls_of_a_sink_by_columns():
    """No call a record, whatever the transforms, but to look what a masked field is."""
    pipeline, batch = sink(SINK), messages()
    assert calls(lambda: pipeline.run_batch(batch)) - COLUMN_METHODS < 2.5
    columns = pipeline.run_batch(batch)[0].columns
    assert calls(lambda: lines_by_columns(columns)) < 0.5


def test_calls_of_a_sink_by_columns_with_poison():
    """Every tenth record fails; the good ones do not pay for it."""
    pipeline, batch = sink(SINK), messages(every_tenth_is_poison=True)
    assert calls(lambda: pipeline.run_batch(batch)) - COLUMN_METHODS < 6


def test_calls_of_structs_by_columns():
    """One look at where each envelope begins."""
    schema = b'{"type":"struct","fields":[{"field":"id","type":"int64"}]}'
    value = b'{"schema":%b,"payload":{"id":1}}' % schema
    batch = [RawMessage("t", value, b"key") for _ in range(COUNT)]
    pipeline = sink({**JSON, "value.converter.schemas.enable": "true"})
    assert pipeline.run_batch(batch)[0].columns is not None
    assert calls(lambda: pipeline.run_batch(batch)) - COLUMN_METHODS < 1.5


@pytest.mark.parametrize(("kind", "most"), [("Avro", 8), ("Protobuf", 2)])
def test_calls_of_registered_structs(kind, most):
    """Code made for a schema reads a batch: Avro's calls something for each text, none for records.

    What Protobuf's library does by itself is not seen here, but that a message is parsed.
    """
    url = f"mock://hot-loops-{kind}"
    converter = {"Avro": AvroConverter, "Protobuf": ProtobufConverter}[kind]()
    converter.configure({"schema.registry.url": url}, is_key=False)
    schema = Schema.struct("order").field("id", Schema.INT64)
    for name in ("customer", "email", "note"):
        schema = schema.field(name, Schema.STRING)
    value = {"id": 1_000_000, "customer": "c", "email": "a@b", "note": "n" * 100}
    data = converter.from_connect("t", schema.build(), value)
    batch = [RawMessage("t", data, b"key") for _ in range(COUNT)]
    pipeline = sink(
        {
            **JSON,
            "value.converter": f"io.confluent.connect.{kind.lower()}.{kind}Converter",
            "value.converter.schema.registry.url": url,
        }
    )
    assert calls(lambda: pipeline.run(batch)) - MESSAGE_METHODS < most
    assert pipeline.run_batch(batch)[0].columns is not None
    assert calls(lambda: pipeline.run_batch(batch)) - COLUMN_METHODS < most


def test_calls_of_rows_for_a_database(tmp_path):
    """Columns become rows without a call for each."""
    schema = Schema.struct().field("id", Schema.INT64).field("name", Schema.STRING).build()
    fields = {"id": [*range(COUNT)], "name": ["x"] * COUNT}
    batch = SinkBatch(COUNT, Columns(schema, fields), list, "t")
    config = {
        "connection.url": f"sqlite:///{tmp_path}/out.db", "auto.create": "true",
        "insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id",
    }  # fmt: skip
    with SinkHarness(JdbcSinkConnector, config) as harness:
        assert calls(lambda: harness.task._segment(batch)) < 0.5


class Batch(list):
    """A list that can be watched."""


@pytest.mark.parametrize("run", [SinkPipeline.run, SinkPipeline.run_batch])
def test_a_batch_with_poison_is_freed_without_the_collector(run):
    """An error's frames hold the batch that holds the error; it must not wait for a collector."""
    pipeline = sink(SINK)
    config = {"name": "c", "connector.class": "x", "errors.tolerance": "all"}
    settings = framework_settings(config, is_sink=True)
    tolerance = Tolerance("c-0", settings, ErrorCounts())

    def handle():
        batch = Batch(messages(every_tenth_is_poison=True))
        _, failures = run(pipeline, batch)
        tolerance.handle(failures, COUNT)
        return [weakref.ref(batch), *(weakref.ref(failure.error) for failure in failures)]

    gc.disable()
    try:
        watched = handle()
        assert len(watched) == 1 + COUNT // 10
        assert not any(watch() for watch in watched)
    finally:
        gc.enable()


def test_calls_of_a_record_that_comes_alone():
    """From its message to its line, with three transforms: few, because none is warm."""
    pipeline, one = sink(SINK), messages()[:1]
    count = calls(lambda: lines_of(pipeline.run_batch(one)[0].records)) * COUNT
    assert count < 75


def test_calls_of_the_file_sink():
    """Lines are printed column by column."""
    records, _ = sink(SINK).run(messages())
    assert calls(lambda: lines_of(records)) < 0.5


def test_calls_of_a_file_source():
    """From a line of a file to a message for Kafka."""
    spec = PipelineSpec("c", 0, SOURCE)
    pipeline = SourcePipeline(spec, spec.retry())
    records = [
        SourceRecord.of("t", "a line", schema=Schema.STRING, source_offset={"position": n})
        for n in range(COUNT)
    ]
    assert calls(lambda: pipeline.run(records)) < 5


def test_calls_of_a_file_source_by_columns():
    """Nothing is called once a line, and a message is all that is made of it."""
    spec = PipelineSpec("c", 0, SOURCE)
    pipeline = SourcePipeline(spec, spec.retry())
    lines = [f"line {n}" for n in range(COUNT)]
    batch = SourceBatch(
        "t", lines, schema=Schema.STRING, timestamp=1, offset_of=lambda n: {"position": n}
    )
    assert calls(lambda: pipeline.run(batch)) < 0.5
    assert blocks(lambda: pipeline.run(batch)) < 1.5


def test_calls_of_a_source_that_sends():
    """Kafka's client takes a batch by one call from Python."""
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    nothing = [None] * COUNT
    batch = Outgoing("t", nothing, nothing, [1] * COUNT, nothing, [b"{}"] * COUNT, nothing)
    loop = SourceLoop.__new__(SourceLoop)
    loop._acknowledge, loop._producer = False, producer
    assert calls(lambda: loop._queue(batch)) < 0.1
    assert len(producer) >= 2 * COUNT
    producer.purge()


def test_calls_of_a_source_that_sends_the_short_way():
    """A batch becomes a record batch without a call, and without an object, for each value."""
    texts = Framed(b'{"line":', [b'"%d"' % n for n in range(COUNT)], b',"origin":"here"}')

    def packed():
        records = RecordBatch(1)
        assert records.add(texts, 1, 1_000_000)
        return records

    assert calls(packed) < 0.1
    assert blocks(packed) < 0.1


def test_calls_of_a_transaction_that_goes_the_short_way():
    """The same for many batches: what each takes is known before it is put together."""
    nothing = [None] * COUNT
    texts = Framed(b'{"line":', [b'"%d"' % n for n in range(COUNT)], b',"origin":"here"}')
    batches = [Outgoing("t", nothing, nothing, [1], nothing, texts, nothing, True)] * 10
    terms = Terms((), "c", -1, 30, 100_000, 10_000)
    transactions = ExpressTransactions(terms, "id", 1000, "offsets", lambda: None)

    def packed():
        assert sum(total_bytes(batch.values) for batch in batches) > 100_000
        parcels = transactions.pack(batches, 1_000_000)
        assert sum(parcel.records.count for parcel in parcels) == 10 * COUNT
        return parcels

    assert calls(packed) < 10 * 0.1
    assert blocks(packed) < 10 * 0.1


def test_objects_of_a_sink():
    """A record holds itself, its key, its value and the value's parts, and nothing else."""
    pipeline, batch = sink(SINK), messages()
    assert blocks(lambda: pipeline.run(batch)) < 8
