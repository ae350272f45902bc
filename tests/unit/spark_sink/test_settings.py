"""The data source's options and the connector's settings."""

import pickle

import pytest

from connect import ConfigError, TopicPartition, UnsupportedError
from spark_sink.checkpoint import Checkpoint
from spark_sink.connector import SparkSinkConnector
from spark_sink.options import ReadOptions, connector_options
from spark_sink.settings import Output, Trigger

BASE = {"topics": "a, b", "value.converter": "x"}


def test_names_of_transforms_follow_the_names_of_options():
    """Spark folds the case of options' names, so the names they are looked up by are folded too."""
    options = ReadOptions.parse(
        BASE | {"transforms": "InsTs", "transforms.ints.predicate": "Gone", "predicates": "Gone"}
    )
    assert options.topics == ("a", "b")
    assert options.spec.config["transforms"] == "insts"
    assert options.spec.config["predicates"] == "gone"
    assert options.spec.config["transforms.ints.predicate"] == "gone"


def test_a_connector_travels_as_one_option_and_keeps_its_case():
    """The connector's own config arrives on executors as it was written."""
    sent = ReadOptions.parse(BASE | {"name": "n"}).spec
    config = {"topics": "a", "transforms": "InsTs", "transforms.InsTs.type": "T"}
    spec = type(sent)("orders", 3, config, {"bootstrap.servers": "b:1"})
    read = ReadOptions.parse({k.lower(): v for k, v in connector_options(spec).items()})
    assert read.spec.config == config
    assert (read.spec.connector, read.spec.task) == ("orders", 3)
    assert pickle.loads(pickle.dumps(read)).spec.config == config


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"value.converter": "x"}, "topics"),
        (BASE | {"topics.regex": "x"}, "topics"),
        (BASE | {"failondataloss": "maybe"}, "failOnDataLoss"),
        (BASE | {"maxoffsetspertrigger": "0"}, "maxOffsetsPerTrigger"),
        (BASE | {"minpartitions": "x"}, "minPartitions"),
    ],
)
def test_wrong_options_are_named(options, named):
    """An option that will not do is told by its name."""
    with pytest.raises(ConfigError, match=named):
        ReadOptions.parse(options)


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({}, "spark.output.format"),
        ({"format": "parquet"}, "spark.output.path"),
        ({"format": "jdbc"}, "spark.output.table"),
        ({"format": "iceberg"}, "spark.output.table"),
        ({"format": "delta"}, "spark.output.path"),
        ({"format": "foreach"}, "spark.output.function"),
        ({"format": "kafka", "mode": "complete"}, "spark.output.mode"),
    ],
)
def test_outputs_need_what_their_format_needs(config, named):
    """What is missing is named, at the task's start and in the answer to a validation."""
    raw = {f"spark.output.{k}": v for k, v in config.items()}
    with pytest.raises(ConfigError, match=named):
        Output.parse(raw, "")
    values = SparkSinkConnector.config_def.validate(raw | {"spark.checkpoint.location": "/c"})
    SparkSinkConnector.validate(values)
    assert [name for name, value in values.items() if value.errors] == [named]


def test_several_outputs_have_their_own_keys():
    """With names, each output has its own keys, options and folders."""
    raw = {
        "spark.output.a.format": "CSV",
        "spark.output.a.path": "/x/",
        "spark.output.a.option.header": "true",
        "spark.output.a.partition.by": "d, e",
    }
    output = Output.parse(raw, "a")
    assert (output.format, output.path, output.partition_by) == ("csv", "/x", ("d", "e"))
    assert output.options == {"header": "true"}


def test_triggers():
    """An interval or available-now; anything else is refused."""
    assert Trigger.parse("k", "10 seconds").options == {"processingTime": "10 seconds"}
    assert Trigger.parse("k", "available-now").options == {"availableNow": True}
    with pytest.raises(ConfigError, match="soon"):
        Trigger.parse("k", "soon")


def test_changed_offsets_begin_a_new_checkpoint(tmp_path):
    """The old checkpoint stays beside the new one; a remote one can't be changed from here."""
    location = {"spark.checkpoint.location": str(tmp_path / "c")}
    connector = SparkSinkConnector()
    connector.config = SparkSinkConnector.config_def.parse(location)
    checkpoint = Checkpoint(f"file://{tmp_path}/c")
    for number, (offset, starting) in enumerate([(None, "latest"), (5, "group"), (None, "latest")]):
        assert checkpoint.path.endswith(f"/c/{number}")
        connector.alter_offsets({TopicPartition("orders", 0): offset})
        assert checkpoint.starting("latest") == starting
    with pytest.raises(UnsupportedError, match=r"s3a://bucket/c"):
        Checkpoint("s3a://bucket/c").begin_anew()


def test_a_checkpoint_belongs_to_one_connector(tmp_path):
    """Another connector is refused, by name; storage that only Spark sees is not looked at."""
    checkpoint = Checkpoint(str(tmp_path / "c"))
    checkpoint.claim("orders")
    checkpoint.claim("orders")
    with pytest.raises(ConfigError, match="is the checkpoint of connector orders"):
        Checkpoint(f"file:{tmp_path}/c").claim("payments")
    Checkpoint("s3a://bucket/c").claim("payments")
