"""The pipelines: batches first, single records only when one raises, nothing lost between."""

import pytest

from connect import (
    Converter,
    DataError,
    HeaderConverter,
    Predicate,
    RetriableError,
    Schema,
    SchemaAndValue,
    SourceRecord,
    Transformation,
)
from connect.pipeline import (
    ErrorCounts,
    PipelineSpec,
    RawMessage,
    Retry,
    SinkPipeline,
    SourcePipeline,
    Stage,
)
from connect.pipeline.assembly import ConverterPart, Parts
from connect.pipeline.chain import Chain, Step


class Text(Converter, HeaderConverter):
    """Text that refuses b"bad" and, the first time it sees it, b"busy"."""

    def __init__(self) -> None:
        self.batches = 0
        self.singles = 0
        self.busy = 1

    def configure(self, config, *, is_key=False):
        pass

    def to_connect(self, topic, data, headers=()):
        self.singles += 1
        return self._read(data)

    def _read(self, data):
        if data == b"bad":
            raise DataError("bad bytes")
        if data == b"busy" and self.busy:
            self.busy -= 1
            raise RetriableError("registry is away")
        return SchemaAndValue(Schema.OPTIONAL_STRING, None if data is None else data.decode())

    def to_connect_batch(self, topic, data, headers):
        self.batches += 1
        pairs = [self._read(d) for d in data]
        return [p.schema for p in pairs], [p.value for p in pairs]

    def from_connect(self, topic, schema, value, headers=None):
        if headers is not None and value == "framed":
            headers.append(("schema", b"1"))
        if value == "bad":
            raise DataError("can't be written")
        return None if value is None else value.encode()

    def to_connect_header(self, topic, name, data):
        return self._read(data)

    def from_connect_header(self, topic, name, schema, value):
        return self.from_connect(topic, schema, value)


class Upper(Transformation):
    """Upper case; refuses "poison", drops "drop"."""

    def __init__(self) -> None:
        self.batches = 0

    def apply(self, record):
        if record.value == "poison":
            raise ValueError("poisoned")
        if record.value == "drop":
            return None
        # A second application would show.
        record.value += "!"
        return record

    def apply_batch(self, records):
        self.batches += 1
        return super().apply_batch(records)


class StartsWithA(Predicate):
    def test(self, record):
        return record.value.startswith("a")


SPEC = PipelineSpec("orders", 0, {})


def retry_now(counts=None, timeout_ms=10_000):
    return Retry(timeout_ms, 1, lambda _: False, counts or ErrorCounts())


def parts(*steps, key=None, value=None, retry=None):
    text = Text()
    return Parts(
        ConverterPart(Stage.KEY_CONVERTER, key or text, "KeyText"),
        ConverterPart(Stage.VALUE_CONVERTER, value or text, "ValueText"),
        ConverterPart(Stage.HEADER_CONVERTER, text, "HeaderText"),
        Chain(steps, retry or retry_now()),
    )


def sink(*steps, **kwargs):
    retry = kwargs.pop("retry", None) or retry_now()
    return SinkPipeline(SPEC, retry, parts(*steps, retry=retry, **kwargs))


def source(*steps, **kwargs):
    retry = retry_now()
    return SourcePipeline(SPEC, retry, parts(*steps, retry=retry, **kwargs))


def messages(*values, **kwargs):
    return [RawMessage("t", v, offset=i, **kwargs) for i, v in enumerate(values)]


def test_good_batch_takes_one_call_a_converter():
    """Without a failure no record is converted singly."""
    key, value = Text(), Text()
    records, failures = sink(key=key, value=value).run(messages(b"a", b"b", None))
    assert [r.value for r in records] == ["a", "b", None]
    assert failures == []
    assert (key.batches, key.singles, value.batches, value.singles) == (1, 0, 1, 0)


def test_record_knows_where_it_lay():
    """Topic, partition, offset and timestamp come from the message, also as the original ones."""
    message = RawMessage("t", b"v", b"k", partition=3, offset=7, timestamp=(1, 1234))
    [record], _ = sink().run([message])
    assert (record.topic, record.partition, record.offset, record.key) == ("t", 3, 7, "k")
    assert (record.original_topic, record.original_partition) == ("t", 3)
    assert (record.timestamp, record.timestamp_type) == (1234, "CreateTime")


def test_message_without_timestamp_has_none():
    """Timestamp type 0 means there is none, whatever number stands beside it."""
    [record], _ = sink().run([RawMessage("t", b"v", timestamp=(0, -1))])
    assert record.timestamp is None


@pytest.mark.parametrize(
    ("stage", "message", "class_name"),
    [
        (Stage.KEY_CONVERTER, RawMessage("t", b"v", b"bad"), "KeyText"),
        (Stage.VALUE_CONVERTER, RawMessage("t", b"bad", b"k"), "ValueText"),
        (Stage.HEADER_CONVERTER, RawMessage("t", b"v", headers=[("h", b"bad")]), "HeaderText"),
        (Stage.TRANSFORMATION, RawMessage("t", b"poison"), "Up"),
    ],
)
def test_one_failure_takes_no_other_record_with_it(stage, message, class_name):
    """The failing record is named with its stage and class; those around it go on, in order."""
    around = messages(b"one", b"two")
    pipeline = sink(Step("up", Upper(), "Up"))
    records, failures = pipeline.run([around[0], message, around[1]])
    assert [r.value for r in records] == ["one!", "two!"]
    [failure] = failures
    assert failure.record is message
    assert (failure.stage, failure.class_name) == (stage, class_name)


def test_record_with_bad_key_and_bad_value_fails_once():
    """After the first failed stage the rest are skipped."""
    records, failures = sink().run([RawMessage("t", b"bad", b"bad")])
    assert records == []
    assert [f.stage for f in failures] == [Stage.KEY_CONVERTER]


def test_transform_sees_each_record_once_though_the_batch_is_run_again():
    """The second run starts from fresh records, not from what the first has changed."""
    pipeline = sink(Step("a", Upper(), "Up"), Step("b", Upper(), "Up"))
    records, failures = pipeline.run(messages(b"x", b"poison", b"y"))
    assert [r.value for r in records] == ["x!!", "y!!"]
    assert len(failures) == 1


def test_dropped_record_is_neither_delivered_nor_failed():
    """None from a transform drops the record and stops the chain for it."""
    second = Upper()
    pipeline = sink(Step("a", Upper(), "Up"), Step("b", second, "Up"))
    records, failures = pipeline.run(messages(b"drop", b"x", b"drop"))
    assert [(r.value, r.offset) for r in records] == [("x!!", 1)]
    assert failures == []


def test_batch_that_is_dropped_whole_skips_later_steps():
    """A step is not called with nothing to do."""
    second = Upper()
    records, _ = sink(Step("a", Upper(), "Up"), Step("b", second, "Up")).run(messages(b"drop"))
    assert records == []
    assert second.batches == 0


@pytest.mark.parametrize(("negate", "expected"), [(False, ["a!", "b"]), (True, ["a", "b!"])])
def test_predicate_guards_its_step(negate, expected):
    """A step applies where its predicate holds, or where it does not when negated."""
    step = Step("up", Upper(), "Up", predicate=StartsWithA(), negate=negate)
    records, _ = sink(step).run(messages(b"a", b"b"))
    assert [r.value for r in records] == expected


def test_batch_of_several_topics_keeps_its_order():
    """Records of different topics come out as they came in."""
    batch = [RawMessage("a", b"1"), RawMessage("b", b"2"), RawMessage("a", b"3")]
    records, _ = sink().run(batch)
    assert [(r.topic, r.value) for r in records] == [("a", "1"), ("b", "2"), ("a", "3")]


def test_retriable_error_is_tried_again():
    """A converter that fails with RetriableError gets the record again, and it is counted."""
    counts = ErrorCounts()
    value = Text()
    value.busy = 2  # once for the batch, once for the record
    records, failures = sink(value=value, retry=retry_now(counts)).run(messages(b"busy"))
    assert [r.value for r in records] == ["busy"]
    assert failures == []
    assert (counts.failures, counts.retries) == (1, 1)


def test_retriable_error_fails_in_the_end():
    """Without errors.retry.timeout there is no second attempt."""
    value = Text()
    value.busy = 99
    records, failures = sink(value=value, retry=retry_now(timeout_ms=0)).run(messages(b"busy"))
    assert records == []
    assert isinstance(failures[0].error, RetriableError)


def test_an_outage_is_waited_for_once_a_batch():
    """When what a converter needs is away, the records behind are not tried one after the other."""
    value = Text()
    value.busy = 2  # once for the batch, once for the first record
    records, failures = sink(value=value, retry=retry_now(timeout_ms=0)).run(
        messages(b"busy", b"a", b"b")
    )
    assert records == []
    assert [(f.record.value(), f.is_outage) for f in failures] == [
        (b"busy", True), (b"a", True), (b"b", True),
    ]  # fmt: skip


def test_source_batch_becomes_messages():
    """Values, keys and headers are converted; the original record stays beside its message."""
    record = SourceRecord.of("t", "v", key="k")
    [out], dropped, failures = source(Step("up", Upper(), "Up")).run([record])
    assert (out.topic, out.keys, out.values) == ("t", [b"k"], [b"v!"])
    assert out.records == [record]
    assert record.value == "v", "the task's own record must not change"
    assert dropped == []
    assert failures == []


def test_source_tells_dropped_from_failed():
    """Every record of the task is accounted for: sent, dropped or failed."""
    records = [SourceRecord.of("t", v) for v in ("a", "drop", "poison", "b")]
    [out], dropped, failures = source(Step("up", Upper(), "Up")).run(records)
    assert out.values == [b"a!", b"b!"]
    assert [r.value for r in dropped] == ["drop"]
    assert [f.record.value for f in failures] == ["poison"]


def test_source_record_that_can_not_be_written_fails_alone():
    """A converter's refusal is the record's failure, with its stage."""
    records = [SourceRecord.of("t", v) for v in ("a", "bad", "b")]
    [out], _, [failure] = source().run(records)
    assert out.values == [b"a", b"b"]
    assert (failure.stage, failure.record.value) == (Stage.VALUE_CONVERTER, "bad")


def test_converter_that_frames_by_header_is_not_doubled_by_a_second_run():
    """Headers that a converter appended before it raised are taken back."""
    records = [SourceRecord.of("t", v) for v in ("framed", "bad")]
    [out], _, _ = source().run(records)
    assert out.headers == [[("schema", b"1")]]


def test_source_batch_is_cut_where_the_topic_changes():
    """Order is kept over topics, so that one source partition's offsets stay in order."""
    records = [SourceRecord.of(t, "v") for t in ("a", "a", "b", "a")]
    outgoing, _, _ = source().run(records)
    assert [(o.topic, len(o.records)) for o in outgoing] == [("a", 2), ("b", 1), ("a", 1)]
