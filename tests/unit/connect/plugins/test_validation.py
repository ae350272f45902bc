"""The validate answer, against what Apache Kafka Connect 4.3.1 answered to the same configs."""

import json
import pickle
from pathlib import Path

import pytest

from connect.config.worker import load_worker_config
from connect.errors import ConfigError, ConnectError, NotFoundError
from connect.plugins import PluginInfo, Plugins, PluginType
from connect.plugins.builtin import penstock_version
from connect.plugins.validation import plugin_config_keys, validate_connector

HERE = Path(__file__).parent
ANSWERS = json.loads(
    (HERE / "validate_answers.json").read_text().replace("4.3.1", penstock_version())
)
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SINK = {"connector.class": "FileStreamSink", "name": "out", "topics": "t", "file": "f"}
SOURCE = {"connector.class": "FileStreamSource", "name": "in", "topic": "t", "file": "f"}


def stand_in(type_, name):
    """A plugin of stand_ins.py."""
    return PluginInfo(
        type_, f"stand_ins.{name}", f"stand_ins:{name}", "1.0", (name,), "tests",
        str(HERE / "stand_ins.py"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def plugins():
    return Plugins(
        extra=[
            stand_in(PluginType.SINK, "VaultSinkConnector"),
            stand_in(PluginType.SINK, "FailingSinkConnector"),
            stand_in(PluginType.TRANSFORMATION, "Choosy"),
            stand_in(PluginType.TRANSFORMATION, "Mask"),
            stand_in(PluginType.CONVERTER, "EnvelopeConverter"),
            stand_in(PluginType.HEADER_CONVERTER, "EnvelopeConverter"),
        ]
    )


def worker(**settings):
    """The settings of a distributed worker, like the one that gave the answers."""
    base = {
        "bootstrap.servers": "localhost:9092",
        "group.id": "oracle-group",
        "config.storage.topic": "c",
        "offset.storage.topic": "o",
        "status.storage.topic": "s",
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "connector.client.config.override.policy": "Principal",
        "config.providers": "env",
        "config.providers.env.class": "EnvVarConfigProvider",
    }
    return load_worker_config(base | settings, distributed=True)


@pytest.mark.parametrize("case", ANSWERS, ids=[case["title"] for case in ANSWERS])
def test_answers_are_those_of_kafka_connect(case, plugins):
    """The same config gets the same keys in the same order, counts, groups, values and errors."""
    config = {k: v if v is None else str(v) for k, v in case["config"].items()}
    answer = validate_connector(plugins, worker(), config).to_json()
    assert answer["name"] == config["connector.class"]
    assert answer["groups"] == case["groups"]
    names = [(c["definition"] or c["value"])["name"] for c in answer["configs"]]
    assert names == case.get("keys", names)
    wrong = [c["value"] for c in answer["configs"] if c["value"]["errors"]]
    if "wrong" in case:
        assert [{k: v[k] for k in ("name", "value", "errors")} for v in wrong] == case["wrong"]
    for ours, theirs in zip(answer["configs"], case.get("configs", answer["configs"]), strict=True):
        if "configs" in case:
            recommended = ours["value"].pop("recommended_values")
            assert set(theirs.get("recommended", ())) <= set(recommended)
            assert ours["definition"].pop("documentation")
            assert ours["definition"] == theirs["definition"]
            assert ours["value"] == theirs["value"]
    assert answer["error_count"] == case["error_count"]


def test_refusal_lists_every_error():
    """The text with which a config is refused has the count, each message and the endpoint."""
    props = SINK | {"tasks.max": "0", "errors.tolerance": "x"}
    assert validate_connector(Plugins(), worker(), props).failure() == (
        "Connector configuration is invalid and contains the following 2 error(s):\n"
        "Invalid value 0 for configuration tasks.max: Value must be at least 1\n"
        "Invalid value x for configuration errors.tolerance: String must be one of: none, all\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def test_valid_config_is_not_refused(plugins):
    """There is no refusal for a config without errors, and the answer travels between processes."""
    answer = pickle.loads(pickle.dumps(validate_connector(plugins, worker(), SINK)))
    assert answer.failure() is None
    assert answer.errors == {}


def test_missing_class_is_named(plugins):
    """A config without connector.class is refused without showing its values."""
    with pytest.raises(ConfigError, match="contains no connector type") as caught:
        validate_connector(plugins, worker(), {"name": "x", "password": "hunter2"})
    assert "hunter2" not in str(caught.value)


def test_unknown_class_is_named_with_the_known_ones(plugins):
    """An unknown connector class is refused with the list of those that are installed."""
    with pytest.raises(
        ConfigError,
        match=r"Failed to find any class that implements Connector and which name matches Nope, "
        r"available connectors are: .*FileStreamSinkConnector",
    ):
        validate_connector(plugins, worker(), SINK | {"connector.class": "Nope"})


def test_connector_that_cannot_be_loaded_is_refused():
    """A connector whose import fails is refused with the reason, as an unknown one is."""
    lost = PluginInfo(PluginType.SINK, "lost.Sink", "lost:Sink", origin="somewhere")
    with pytest.raises(ConfigError, match="No module named 'lost'"):
        validate_connector(Plugins(extra=[lost]), worker(), SINK | {"connector.class": "lost.Sink"})


@pytest.mark.parametrize("version", ["0.0.1", "[5,6)"])
def test_wrong_connector_version_stops_further_checks(version, plugins):
    """A version that is not installed is wrong at both keys, and the plugin's keys are left out."""
    answer = validate_connector(plugins, worker(), SINK | {"connector.plugin.version": version})
    shown = version if version.startswith("[") else f"[{version},{version}]"
    text = (
        "Plugin org.apache.kafka.connect.file.FileStreamSinkConnector not found that matches the "
        f"version range {shown}, available versions: [{penstock_version()}]"
    )
    assert answer.errors == {"connector.class": [text], "connector.plugin.version": [text]}
    assert "file" not in [c.value.name for c in answer.configs]


def test_unreadable_version_range_is_refused(plugins):
    """A version range that is none is refused at once."""
    with pytest.raises(ConfigError, match=r"connector\.plugin\.version: Unbounded range: \[5,6"):
        validate_connector(plugins, worker(), SINK | {"connector.plugin.version": "[5,6"})


# ---- secrets --------------------------------------------------------------------------------


def test_secrets_are_hidden_in_values_and_errors(plugins):
    """A password is shown as [hidden], even where the plugin's own message repeats it."""
    props = {
        "connector.class": "VaultSinkConnector",
        "name": "v",
        "topics": "t",
        "password": "hunter2",
        "consumer.override.sasl.jaas.config": "user-and-hunter3",
        "consumer.override.my.secret": "hunter4",
    }
    answer = validate_connector(plugins, worker(), props)
    assert answer.errors["password"] == ["[hidden] was refused"]
    assert "hunter" not in json.dumps(answer.to_json())


def test_values_of_providers_are_shown_as_references(plugins, monkeypatch):
    """A looked-up value is used, but neither the value nor an error about it is ever shown."""
    monkeypatch.setenv("PENSTOCK_TEST_PIN", "swordfish")
    props = {
        "connector.class": "VaultSinkConnector",
        "name": "v",
        "topics": "t",
        "pin": "${env:PENSTOCK_TEST_PIN}",
        "tasks.max": "${env:PENSTOCK_TEST_PIN}",
    }
    answer = validate_connector(plugins, worker(), props)
    assert answer.errors["pin"] == [
        "Invalid value ${env:PENSTOCK_TEST_PIN} for configuration pin: Not a number of type INT"
    ]
    shown = {c.value.name: c.value.value for c in answer.configs}
    assert shown["pin"] == "${env:PENSTOCK_TEST_PIN}"
    assert "swordfish" not in json.dumps(answer.to_json())


def test_short_values_of_providers_are_hidden_where_they_are_named(plugins, monkeypatch):
    """A looked-up text too short to be searched for is still not the value in the message."""
    monkeypatch.setenv("PENSTOCK_TEST_PIN", "-7")
    answer = validate_connector(plugins, worker(), SINK | {"tasks.max": "${env:PENSTOCK_TEST_PIN}"})
    assert answer.errors["tasks.max"] == [
        (
            "Invalid value ${env:PENSTOCK_TEST_PIN} for configuration tasks.max: "
            "Value must be at least 1"
        )
    ]


def test_failure_of_a_plugin_does_not_tell_its_secret(plugins):
    """When a plugin's validation raises, the error says so without secrets, cause included."""
    props = {"connector.class": "FailingSinkConnector", "name": "x", "password": "hunter2"}
    with pytest.raises(ConnectError, match=r"no answer for \[hidden\]") as caught:
        validate_connector(plugins, worker(), props)
    assert caught.value.__cause__ is None


# ---- converters -----------------------------------------------------------------------------


def test_converter_settings_are_checked_below_its_key(plugins):
    """A converter named by the connector brings its keys; wrong ones are counted by key."""
    props = SINK | {
        "key.converter": "EnvelopeConverter",
        "key.converter.schemas.enable": "maybe",
        "key.converter.format": "C",
    }
    answer = validate_connector(plugins, worker(), props)
    assert answer.errors == {
        "key.converter.schemas.enable": [
            (
                "Invalid value maybe for configuration schemas.enable: "
                "Expected value to be either true or false"
            )
        ],
        "key.converter.format": [
            "Invalid value C for configuration format: String must be one of: A, B"
        ],
    }
    assert answer.error_count == 2
    assert answer.groups[-1] == "Schemas"
    shown = {c.value.name: c.value.value for c in answer.configs}
    assert shown["key.converter.converter.type"] == "key"
    assert shown["key.converter"] == "stand_ins.EnvelopeConverter"


def test_converter_settings_without_their_converter_do_not_count(plugins):
    """Settings below a converter that the connector does not name are nobody's."""
    answer = validate_connector(plugins, worker(), SINK | {"key.converter.schemas.enable": "maybe"})
    assert answer.error_count == 0


@pytest.mark.parametrize(
    ("version", "keys"),
    [("9.0", {"key.converter", "key.converter.plugin.version"})],
)
def test_wrong_converter_version_is_wrong_at_both_keys(version, keys, plugins):
    """A version of a converter that is not installed is named with the one that is."""
    props = SINK | {"key.converter": "EnvelopeConverter", "key.converter.plugin.version": version}
    answer = validate_connector(plugins, worker(), props)
    assert set(answer.errors) == keys
    assert "available versions: [1.0]" in answer.errors["key.converter"][0]


# ---- transforms -----------------------------------------------------------------------------


def test_transform_that_cannot_be_made_is_wrong(plugins):
    """A transform whose constructor fails is an error at its type."""
    props = SINK | {"transforms": "a", "transforms.a.type": "Choosy"}
    (error,) = validate_connector(plugins, worker(), props).errors["transforms.a.type"]
    assert error.startswith("Could not instantiate class: ")


def test_undeclared_predicate_is_wrong(plugins):
    """A transform that refers to a predicate nobody declares is refused before it fails a task."""
    props = SINK | {
        "transforms": "a",
        "transforms.a.type": "Mask",
        "transforms.a.fields": "f",
        "transforms.a.predicate": "p",
    }
    assert list(validate_connector(plugins, worker(), props).errors) == ["transforms.a.predicate"]


# ---- sinks and sources ----------------------------------------------------------------------


def test_consumer_group_of_the_workers_is_taken(plugins):
    """A sink may neither name the workers' group nor come to it by its own name."""
    conflict = "conflicts with Connect worker group connect-out"
    named = validate_connector(plugins, worker(**{"group.id": "connect-out"}), SINK)
    assert named.errors == {
        "name": [f"Consumer group for sink connector named out {conflict}"],
    }
    props = SINK | {"name": "x", "consumer.override.group.id": "connect-out"}
    policy = {"connector.client.config.override.policy": "All"}
    chosen = validate_connector(plugins, worker(**policy, **{"group.id": "connect-out"}), props)
    assert chosen.errors == {
        "consumer.override.group.id": [f"Consumer group connect-out {conflict}"]
    }
    assert chosen.error_count == 1


@pytest.mark.parametrize(
    ("settings", "denied"),
    [
        ({"policy": "All"}, []),
        ({"policy": "None"}, ["max.poll.records", "sasl.mechanism"]),
        ({"policy": "Principal"}, ["max.poll.records"]),
        ({"policy": "Allowlist"}, ["max.poll.records", "sasl.mechanism"]),
        ({"policy": "Allowlist", "allowlist": "max.poll.records"}, ["sasl.mechanism"]),
    ],
)
def test_override_policy_decides_what_a_connector_may_set(settings, denied, plugins):
    """Each policy lets exactly its own settings through."""
    keys = {f"connector.client.config.override.{key}": value for key, value in settings.items()}
    props = SINK | {
        "consumer.override.max.poll.records": "5",
        "consumer.override.sasl.mechanism": "PLAIN",
    }
    answer = validate_connector(plugins, worker(**keys), props)
    assert answer.errors == {
        f"consumer.override.{key}": [
            (
                f"The '{settings['policy']}' policy does not allow '{key}' to be overridden in the "
                "connector configuration."
            )
        ]
        for key in denied
    }


def test_wrong_typed_override_is_an_error_at_its_key(plugins):
    """An override that its client could not read is found before the task fails."""
    policy = {"connector.client.config.override.policy": "All"}
    props = SINK | {"consumer.override.session.timeout.ms": "soon"}
    answer = validate_connector(plugins, worker(**policy), props)
    assert list(answer.errors) == ["consumer.override.session.timeout.ms"]


def test_overrides_of_clients_that_are_not_used_do_not_count(plugins):
    """A sink has no producer unless it has a dead-letter queue."""
    props = SINK | {"producer.override.acks": "1"}
    assert validate_connector(plugins, worker(), props).error_count == 0
    props |= {"errors.deadletterqueue.topic.name": "d"}
    assert validate_connector(plugins, worker(), props).error_count == 1


def test_unknown_policy_is_named():
    """A policy that does not exist is an error of the worker, with those that do."""
    with pytest.raises(ConfigError, match="The policies are: All, Allowlist, None, Principal"):
        validate_connector(
            Plugins(), worker(**{"connector.client.config.override.policy": "Some"}), SINK
        )


@pytest.mark.parametrize(
    ("config", "errors"),
    [
        ({}, []),
        ({"file": None}, ["The connector does not support exactly-once semantics"]),
    ],
)
def test_exactly_once_is_asked_of_the_connector(config, errors, plugins):
    """With exactly-once required on a worker that has it, the connector has the last word."""
    props = {k: v for k, v in (SOURCE | config).items() if v is not None}
    props["exactly.once.support"] = "required"
    enabled = worker(**{"exactly.once.source.support": "enabled"})
    found = validate_connector(plugins, enabled, props).errors.get("exactly.once.support", [])
    assert [text.split(" with the")[0] for text in found] == errors


def test_topic_creation_is_checked_before_a_topic_is_missing(plugins):
    """Wrong topic creation settings are errors of the config, not of the first record."""
    props = SOURCE | {
        "topic.creation.groups": "big",
        "topic.creation.big.include": "a(",
        "topic.creation.default.partitions": "0",
    }
    answer = validate_connector(plugins, worker(), props)
    assert set(answer.errors) == {
        "topic.creation.big.include",
        "topic.creation.default.partitions",
        "topic.creation.default.replication.factor",
    }
    off = validate_connector(plugins, worker(**{"topic.creation.enable": "false"}), props)
    assert off.error_count == 0


def test_our_own_keys_are_checked_when_they_are_set(plugins):
    """Keys that only Penstock has show up when they are used, and are checked then."""
    answer = validate_connector(plugins, worker(), SINK | {"task.isolation": "cage"})
    assert answer.errors == {
        "task.isolation": [
            (
                "Invalid value cage for configuration task.isolation: "
                "String must be one of: process, thread"
            )
        ]
    }
    source = SOURCE | {"errors.deadletterqueue.topic.replication.factor": "many"}
    assert validate_connector(plugins, worker(), source).error_count == 1


# ---- the keys of a plugin -------------------------------------------------------------------


def test_keys_of_a_connector_come_before_the_framework_s(plugins):
    """The config listing of a connector has its own keys first, then everybody's."""
    names = [key.name for key in plugin_config_keys(plugins, "FileStreamSource")]
    assert names[:5] == ["file", "topic", "batch.size", "name", "connector.class"]
    assert names[-1] == "offsets.storage.topic"


def test_keys_of_other_plugins_are_their_own_only(plugins):
    """The config listing of a transform has no key of the framework."""
    keys = plugin_config_keys(plugins, "Mask")
    assert [key.name for key in keys] == ["fields", "replacement", "replace.null.with.default"]


def test_keys_of_what_is_not_there(plugins):
    """Unknown plugins, versions and types have the texts that clients know."""
    with pytest.raises(NotFoundError, match=r"^Unknown plugin Nope\.$"):
        plugin_config_keys(plugins, "Nope")
    with pytest.raises(ConfigError, match=r"^Invalid version specification: \[1$"):
        plugin_config_keys(plugins, "FileStreamSink", "[1")
    with pytest.raises(ConfigError, match=r"matches the version range \[9,9\], available versions"):
        plugin_config_keys(plugins, "FileStreamSink", "9")
    with pytest.raises(ConfigError, match=r"Invalid plugin class FileConfigProvider\. Valid types"):
        plugin_config_keys(plugins, "FileConfigProvider")
