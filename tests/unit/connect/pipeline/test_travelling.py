"""Pipelines travel to other processes by their config, and bring no Kafka along."""

import pickle
import subprocess
import sys

from connect import SourceRecord
from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline, SourcePipeline

CONFIG = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "transforms": "mask",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "card",
}


def made(kind):
    spec = PipelineSpec("orders", 0, CONFIG)
    return pickle.loads(pickle.dumps(kind(spec, spec.retry())))


def test_pipelines_pickle():
    """What comes out of the pickle converts and transforms as before."""
    [record], failures = made(SinkPipeline).run([RawMessage("t", b'{"card":"4111"}', b"k")])
    assert (record.key, record.value, failures) == ("k", {"card": ""}, [])
    [out], _, failures = made(SourcePipeline).run([SourceRecord.of("t", {"card": "4111"}, key="k")])
    assert (out.keys, out.values, failures) == ([b"k"], [b'{"card":""}'], [])


def test_a_pipeline_needs_neither_kafka_nor_spark():
    """A config without a registry runs where their libraries are not even loaded."""
    code = (
        "import sys\n"
        "from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline\n"
        f"spec = PipelineSpec('orders', 0, {CONFIG!r})\n"
        "SinkPipeline(spec, spec.retry()).run([RawMessage('t', b'{}')])\n"
        "print([m for m in ('confluent_kafka', 'pyspark') if m in sys.modules])\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
