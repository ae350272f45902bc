"""The validate answer, whole, beside that of Apache Kafka Connect."""

import json
from pathlib import Path

import httpx
import pytest

from connect.config.worker import load_worker_config
from connect.plugins import Plugins
from connect.plugins.builtin import penstock_version
from connect.plugins.validation import plugin_config_keys, validate_connector

pytestmark = pytest.mark.stack

CASES = json.loads(
    (Path(__file__).parents[1] / "unit/connect/plugins/validate_answers.json").read_text()
)
JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.fixture(scope="module")
def worker(oracle):
    """Settings of ours like those of the oracle."""
    props = {
        "bootstrap.servers": "localhost:9092",
        "key.converter": JSON,
        "value.converter": JSON,
        "group.id": oracle.group,
        **{f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")},
    }
    return load_worker_config(props, distributed=True)


def as_if_ours(document):
    """The same with our version instead of the oracle's."""
    return json.loads(json.dumps(document).replace("4.3.1", penstock_version()))


def comparable(answer):
    """An answer without what must differ: the words of the docs, and what else is installed."""
    for config in answer["configs"]:
        if config["definition"]:
            del config["definition"]["documentation"]
        del config["value"]["recommended_values"]
    return answer


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_answer_is_the_oracle_s(case, oracle, worker):
    """Every key with definition, value and errors, in the same order, for each kind of config."""
    config = case["config"]
    plugin = config["connector.class"].rpartition(".")[2]
    url = f"{oracle.url}/connector-plugins/{plugin}/config/validate"
    theirs = httpx.put(url, json=config, timeout=60)
    assert theirs.status_code == 200, theirs.text
    asked = {k: v if v is None else str(v) for k, v in as_if_ours(config).items()}
    ours = validate_connector(Plugins(), worker, asked).to_json()
    assert comparable(ours) == as_if_ours(comparable(theirs.json()))


@pytest.mark.parametrize(
    "plugin",
    [
        "FileStreamSinkConnector",
        "FileStreamSourceConnector",
        "StringConverter",
        "SimpleHeaderConverter",
        "org.apache.kafka.connect.transforms.RegexRouter",
        "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value",
        "org.apache.kafka.connect.transforms.TimestampRouter",
        "TopicNameMatches",
        "HasHeaderKey",
    ],
)
def test_keys_of_a_plugin_are_the_oracle_s(plugin, oracle):
    """The config listing of a plugin has the same keys, declared alike, in the same order."""
    url = f"{oracle.url}/connector-plugins/{plugin}/config"
    theirs = as_if_ours(httpx.get(url, timeout=60).json())
    ours = [
        {name: getattr(key, name) for name in key.__slots__}
        for key in plugin_config_keys(Plugins(), plugin)
    ]
    for key in (*theirs, *ours):
        del key["documentation"]
    assert ours == theirs
