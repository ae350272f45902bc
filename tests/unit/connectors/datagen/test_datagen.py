import json

import pytest

from connect import ConfigError, ConnectError, ExactlyOnceSupport, Schema, Type
from connect.testing import SourceHarness, SourceTaskSuite
from connectors.datagen import DatagenConnector
from connectors.datagen.settings import quickstarts

FAST = {"kafka.topic": "t", "max.interval": "0", "random.seed": "42"}
ORDERS = {**FAST, "quickstart": "orders"}
SCHEMA = json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]})


class TestDatagenConforms(SourceTaskSuite):
    connector = DatagenConnector
    endless = True
    count = 2500  # two blocks and a half

    def config(self, place):
        return {**ORDERS, "poison.ratio": "0.05"}


def run(count, **config):
    with SourceHarness(DatagenConnector, {**ORDERS, **config}) as source:
        return source.poll(count)[:count]


@pytest.mark.parametrize("name", list(quickstarts()))
def test_quickstarts_make_records_that_fit(name):
    """Every quickstart gives structs that fit their schema, keyed by a field of theirs."""
    records = run(100, quickstart=name.upper())
    schema = records[0].value_schema
    assert schema.type is Type.STRUCT
    assert schema.name == f"penstock.datagen.{name}"
    assert schema.doc
    assert records[0].key_schema in [field.schema for field in schema.fields]
    assert len({json.dumps(record.value, default=str) for record in records}) > 5


def test_there_are_quickstarts_for_the_usual_names():
    """The names that tutorials use are there."""
    assert {
        "orders", "users", "pageviews", "clickstream", "stock_trades", "ratings", "transactions",
        "inventory",
    } <= set(quickstarts())  # fmt: skip


def test_a_seed_makes_the_same_data_again_and_other_seeds_other_data():
    """Two connectors with a seed make the same, with another seed something else."""
    values = [record.value for record in run(50)]
    assert [record.value for record in run(50)] == values
    assert [record.value for record in run(50, **{"random.seed": "43"})] != values


def test_tasks_make_different_data():
    """tasks.max multiplies what is made, it does not repeat it."""
    made = []
    for task in (0, 1):
        with SourceHarness(DatagenConnector, ORDERS, tasks_max=2, task=task) as source:
            records = source.poll(20)
            made.append([record.value["itemid"] for record in records])
            assert records[0].source_partition == {"task.id": task}
    assert made[0] != made[1]


def test_without_a_seed_a_restart_goes_on_with_the_same_data():
    """The seed is part of the offset, so an interrupted run equals an uninterrupted one."""
    config = {k: v for k, v in ORDERS.items() if k != "random.seed"}
    source = SourceHarness(DatagenConnector, config)
    source.start()
    records = source.poll(20)
    source.commit(10)
    source.crash()
    with source:
        again = source.poll(10)
    assert [r.value for r in again[:10]] == [r.value for r in records[10:20]]


def test_offsets_are_in_the_form_of_the_jvms_connector():
    """Generation, iteration and seed, by the number of the task."""
    (record,) = run(1)
    assert record.source_partition == {"task.id": 0}
    assert record.source_offset == {
        "task.generation": 1,
        "current.iteration": 1,
        "random.seed": 42,
    }


def test_iterations_end_the_task_quietly():
    """After its iterations a task rests, before and after a restart; it does not fail."""
    source = SourceHarness(DatagenConnector, {**ORDERS, "iterations": "1500"})
    for _ in range(2):
        with source:
            while source.poll_once():
                pass
            source.commit()
    assert len(source.committed) == 1500


def test_batches_are_large_at_full_speed():
    """Without a pause a poll gives hundreds of records."""
    with SourceHarness(DatagenConnector, ORDERS) as source:
        assert len(source.poll_once()) == 1000


def test_keys():
    """A quickstart has its key, schema.keyfield another, and without either keys are null."""
    assert run(1)[0].key == 1
    record = run(1, **{"schema.keyfield": "itemid"})[0]
    assert (record.key, record.key_schema) == (record.value["itemid"], Schema.STRING)
    record = run(1, quickstart="", **{"schema.string": SCHEMA})[0]
    assert (record.key, record.key_schema) == (None, Schema.OPTIONAL_STRING)


def test_a_schema_can_come_from_a_file(tmp_path):
    """schema.filename is read."""
    file = tmp_path / "r.avsc"
    file.write_text(SCHEMA)
    assert run(1, quickstart="", **{"schema.filename": str(file)})[0].value_schema.name == "R"


def test_json_text():
    """With format=json the value is the same record as text, for StringConverter."""
    struct, text = run(1)[0], run(1, format="json")[0]
    assert text.value_schema == Schema.STRING
    assert json.loads(text.value) == struct.value
    assert json.loads(run(1, format="json", quickstart="purchases")[0].value)["price_per_unit"]
    assert json.loads(run(1, format="json", quickstart="sensors")[0].value)["read_at"]


def test_generation_headers_are_there_when_wanted():
    """The JVM's three headers, and none unless asked for."""
    assert run(1)[0].headers == ()
    headers = run(1, **{"generation.headers": "true"})[0].headers
    assert {h.name: h.value for h in headers} == {
        "task.generation": 0,
        "task.id": 0,
        "current.iteration": 0,
    }


def kind_of(record):
    header = record.headers.last("datagen.poison")
    return None if header is None else header.value


def test_poison_leaves_the_other_records_as_they_were():
    """The good records of a poisoned run are those of a clean one, in their places."""
    clean = run(1000, format="json")
    poisoned = run(1000, format="json", **{"poison.ratio": "0.1"})
    kinds = [kind_of(record) for record in poisoned]
    assert 60 < sum(kind is not None for kind in kinds) < 140
    for good, other, kind in zip(clean, poisoned, kinds, strict=True):
        assert (good.value == other.value) == (kind is None)


def test_poisoned_text_is_broken_as_its_header_says():
    """Cut or foreign text can't be parsed; the wrong type can, but is no object."""
    seen = set()
    for record in run(200, format="json", **{"poison.ratio": "1"}):
        seen.add(kind_of(record))
        if kind_of(record) == "wrong_type":
            assert isinstance(json.loads(record.value), str)
        else:
            with pytest.raises(ValueError):
                json.loads(record.value)
    assert seen == {"truncated", "not_json", "wrong_type"}


def test_poisoned_structs_are_of_the_wrong_type():
    """Where the converter writes the text, a string stands for the struct, and says it is one."""
    (record,) = run(1, **{"poison.ratio": "1"})
    assert (record.value_schema, type(record.value)) == (Schema.STRING, str)
    assert kind_of(record) == "wrong_type"


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"quickstart": ""}, "Must set exactly one of schema.string, schema.filename, quickstart"),
        (
            {"schema.string": SCHEMA},
            "Must set exactly one of schema.string, schema.filename, quickstart",
        ),
        ({"quickstart": "nope"}, "quickstart must be one out of clickstream,credit_cards,"),
        (
            {"quickstart": "", "schema.string": '{"type": "record", "name": "R"}'},
            "configuration schema.string: it must be a record with at least one field",
        ),
        ({"quickstart": "", "schema.string": "{"}, "configuration schema.string: it is not JSON"),
        (
            {"quickstart": "", "schema.filename": "/no/such.avsc"},
            "Invalid value /no/such.avsc for configuration schema.filename: the file can't be read",
        ),
        (
            {"schema.keyfield": "colour"},
            "The schema does not contain the field provided in 'schema.keyfield': it has ordertime",
        ),
        ({"poison.ratio": "2"}, "configuration poison.ratio: Value must be no more than 1"),
        ({"poison.ratio": "some"}, "configuration poison.ratio: Not a number of type DOUBLE"),
        ({"rate": "0"}, "configuration rate: Value must be above 0"),
        ({"format": "xml"}, "configuration format: String must be one of: struct, json"),
        ({"iterations": "-5"}, "configuration iterations: Value must be at least -1"),
        ({"kafka.topic": ""}, "configuration kafka.topic: String must be non-empty"),
    ],
)
def test_wrong_configs_are_refused(config, error):
    """Each wrong key is named with the reason, and the way out where there is one."""
    with pytest.raises(ConfigError) as raised:
        SourceHarness(DatagenConnector, {**ORDERS, **config}).start()
    assert error in str(raised.value)


def test_quickstarts_are_recommended():
    """A form can offer the quickstarts."""
    values = DatagenConnector.config_def.validate(ORDERS)
    assert "orders" in values["quickstart"].recommended


@pytest.mark.parametrize(
    "offsets",
    [
        [({"task.id": 0}, {})],
        [({"task.id": 0}, {"current.iteration": "5"})],
        [({"task.id": 0}, {"current.iteration": -5})],
        [({"task": 0}, {"current.iteration": 5})],
        [(None, {"current.iteration": 5})],
    ],
)
def test_offsets_that_make_no_sense_are_refused(offsets):
    """An offset says how many records, a partition which task."""
    with pytest.raises(ConnectError, match="should"):
        DatagenConnector().alter_offsets(offsets)


def test_good_offsets_are_taken_and_gone_on_from():
    """A task can be sent to any record, without a seed in the offset too."""
    assert DatagenConnector().alter_offsets([({"task.id": 0}, {"current.iteration": 5})])
    expected = run(10)[5:]
    source = SourceHarness(DatagenConnector, ORDERS)
    source.offsets.store({"task.id": 0}, {"current.iteration": 5})
    with source:
        assert [r.value for r in source.poll(5)[:5]] == [r.value for r in expected]


def test_a_broken_stored_offset_fails_the_task():
    """What is no number is not guessed at."""
    source = SourceHarness(DatagenConnector, ORDERS)
    source.offsets.store({"task.id": 0}, {"current.iteration": "many"})
    with pytest.raises(ConnectError, match=r"'current.iteration' is 'many', not a number"):
        source.start()


def test_exactly_once_is_supported():
    """Records carry all it takes to go on behind them."""
    assert DatagenConnector().exactly_once_support() is ExactlyOnceSupport.SUPPORTED
