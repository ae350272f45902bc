"""The oracle itself: that it runs, and that its echo sink tells all there is about a record."""

import json

import httpx
import pytest

from tests.oracle import echo, worker
from tests.support.topics import Out
from tests.support.waiting import wait_for

pytestmark = pytest.mark.stack

JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.fixture
def echo_lines(oracle, tmp_path):
    """echo_lines(topic, n, config) runs an echo sink over the topic and gives its first n lines."""
    names = []

    def run(topic, n, config):
        name = f"echo-{topic}"
        names.append(name)
        file = tmp_path / f"{name}.jsonl"
        base = {"connector.class": echo.CLASS, "topics": topic, "file": str(file)}
        url = f"{oracle.url}/connectors/{name}/config"
        created = httpx.put(url, json={**base, **config}, timeout=60)
        assert created.status_code == 201, created.text

        def lines():
            text = file.read_text() if file.exists() else ""
            return text.splitlines() if text.count("\n") >= n else None

        found = wait_for(lines, f"{n} lines of {name}; see {oracle.log}", timeout=60)
        return [json.loads(line) for line in found]

    yield run
    for name in names:
        httpx.delete(f"{oracle.url}/connectors/{name}", timeout=60)


def test_the_oracle_has_the_parts_we_compare_with(oracle):
    """It is the version we follow, with file connectors, mirror maker and the echo sink."""
    assert httpx.get(oracle.url).json()["version"] == "4.3.1"
    plugins = {p["class"] for p in httpx.get(f"{oracle.url}/connector-plugins").json()}
    assert {
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        echo.CLASS,
    } <= plugins


def test_the_echo_shows_schemas_and_types(make_topic, produce, echo_lines):
    """Each field's type, name, version, default and parameters are visible, and each value."""
    topic = make_topic("echo")
    decimal = {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2"},
    }
    when = {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
    fields = [
        {"field": "id", "type": "int32", "optional": False, "doc": "who"},
        {"field": "ratio", "type": "float", "optional": True, "default": 0.5},
        {"field": "price", **decimal, "optional": False},
        {"field": "when", **when, "optional": False},
        {"field": "raw", "type": "bytes", "optional": True},
        {"field": "tags", "type": "array", "items": {"type": "string"}, "optional": False},
        {
            "field": "sums",
            "type": "map",
            "keys": {"type": "string"},
            "values": {"type": "double"},
            "optional": False,
        },
    ]
    payload = {
        "id": 7,
        "ratio": 1.5,
        "price": "BNI=",  # 1234 with scale 2
        "when": 1000,
        "raw": None,
        "tags": ["a", "ü\n"],
        "sums": {"b": 2.0, "a": 1.25},
    }
    schema = {"type": "struct", "name": "Order", "version": 3, "fields": fields}
    value = json.dumps({"schema": schema, "payload": payload})
    produce(topic, [Out(value, key=json.dumps("k"), headers=[("h", b"1")], timestamp=123456)])

    (line,) = echo_lines(topic, 1, {"key.converter": JSON, "key.converter.schemas.enable": "false"})

    assert (line["topic"], line["partition"], line["offset"]) == (topic, 0, 0)
    assert (line["timestamp"], line["timestampType"]) == (123456, "CreateTime")
    assert (line["key"], line["keySchema"]) == ("k", None)
    assert line["headers"] == [{"key": "h", "schema": plain("INT8"), "value": 1}]
    assert line["value"] == {
        "struct": {
            "id": 7,
            "ratio": {"float32": "1.5"},
            "price": {"decimal": "12.34"},
            "when": {"epochMillis": 1000},
            "raw": None,
            "tags": ["a", "ü\n"],
            "sums": {"map": [["a", {"float64": "1.25"}], ["b", {"float64": "2.0"}]]},
        }
    }
    schema = line["valueSchema"]
    assert {key: schema[key] for key in ("type", "name", "version")} == {
        "type": "STRUCT",
        "name": "Order",
        "version": 3,
    }
    by_name = {entry["name"]: entry["schema"] for entry in schema["fields"]}
    assert by_name["id"] == plain("INT32", doc="who")
    assert by_name["ratio"] == plain("FLOAT32", optional=True, default={"float32": "0.5"})
    assert by_name["price"] == plain(
        "BYTES", name=decimal["name"], version=1, parameters={"scale": "2"}
    )
    assert by_name["tags"] == {**plain("ARRAY"), "valueSchema": plain("STRING")}
    assert by_name["sums"]["keySchema"] == plain("STRING")


def test_the_echo_shows_what_has_no_schema(make_topic, produce, echo_lines):
    """Schemaless values, tombstones and bytes are told apart."""
    topic = make_topic("echo")
    produce(topic, [json.dumps({"a": [1, 2.5, None, True]}), None])
    lines = echo_lines(
        topic, 2, {"value.converter": JSON, "value.converter.schemas.enable": "false"}
    )
    assert [line["value"] for line in lines] == [
        {"map": [["a", [1, {"float64": "2.5"}, None, True]]]},
        None,
    ]
    raw = {"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}
    other = make_topic("echo-bytes")
    produce(other, [b"\x00\xff"])
    (line,) = echo_lines(other, 1, raw)
    assert line["value"] == {"bytes": "AP8="}
    assert line["valueSchema"] == plain("BYTES", optional=True)


def test_the_oracle_runs_standalone(kafka, say):
    """A standalone worker of the JVM answers as well."""
    with worker.standalone(kafka, say) as running:
        assert httpx.get(f"{running.url}/connectors").json() == []


def plain(kind, **differences):
    """A schema of this type with nothing else said about it."""
    nothing = dict.fromkeys(("name", "version", "doc", "parameters", "default"))
    return {"type": kind, "optional": False, **nothing, **differences}
