"""`penstock transform`."""

import json

import pytest
from typer.testing import CliRunner

from penstock.app import build_app
from penstock.errors import UserError

CONFIG = {
    "connector.class": "FileStreamSink",
    "topics": "orders",
    "key.converter": "StringConverter",
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false",
    "transforms": "id",
    "transforms.id.type": "ExtractField$Value",
    "transforms.id.field": "id",
}


@pytest.fixture
def run(tmp_path):
    """run(records, *arguments, config=CONFIG) tries a connector's file on lines of records."""

    def run(records, *arguments, config=CONFIG):
        file = tmp_path / "connector.json"
        file.write_text(json.dumps(config))
        lines = "".join(f"{record}\n" for record in records)
        return CliRunner().invoke(
            build_app(),
            ["transform", "-f", str(file), *arguments],
            input=lines,
            catch_exceptions=False,
        )

    return run


def test_each_step_says_what_it_changed(run):
    """The text names step and class, and shows the parts that are new."""
    done = run(['{"value": {"id": 7}, "key": "k"}'])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "record 0: passed",
        "  key.converter  StringConverter",
        '    topic: "orders"',
        "    partition: 0",
        '    key: "k"',
        "      string?",
        "  value.converter  JsonConverter",
        '    value: {"id": 7}',
        "  transforms.id  ExtractField$Value",
        "    value: 7",
    ]


def test_a_failure_is_shown_and_told_by_the_exit_code(run):
    """The record that fails shows its error; others are shown all the same."""
    done = run(['{"value": "text"}', '{"value": {"id": 1}}'])
    assert done.exit_code == 1
    assert "record 0: failed" in done.stdout
    assert "org.apache.kafka.connect.errors.DataException" in done.stdout
    assert "record 1: passed" in done.stdout


def test_raw_lines_are_values(run):
    """With --raw a line is what lies in Kafka."""
    done = run(['{"id": 7}'], "--raw", "-o", "json")
    [result] = json.loads(done.stdout)
    assert result["steps"][-1]["record"]["value"] == 7


def test_converters_come_from_the_worker(run, tmp_path):
    """A config without converters takes those of --worker, and says so where there is none."""
    config = {k: v for k, v in CONFIG.items() if "converter" not in k}
    with pytest.raises(UserError, match="--worker"):
        run(['{"value": "x"}'], config=config)
    worker = tmp_path / "worker.properties"
    worker.write_text(
        "key.converter=StringConverter\nvalue.converter=JsonConverter\n"
        "value.converter.schemas.enable=false\n"
    )
    done = run(['{"value": {"id": 3}}'], "--worker", str(worker), "-o", "json", config=config)
    assert json.loads(done.stdout)[0]["steps"][-1]["record"]["value"] == 3


def test_a_secret_reference_stays_a_reference(run, tmp_path):
    """What stands behind ${file:…} works in the pipeline and is not shown."""
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("who=somebody-secret\n")
    worker = tmp_path / "worker.properties"
    worker.write_text(
        "config.providers=file\n"
        "config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
    )
    reference = f"${{file:{secrets}:who}}"
    config = {
        **CONFIG,
        "transforms.id.type": "InsertField$Value",
        "transforms.id.static.field": "by",
        "transforms.id.static.value": reference,
    }
    done = run(['{"value": {}}'], "--worker", str(worker), "-o", "json", config=config)
    assert "somebody-secret" not in done.stdout
    assert json.loads(done.stdout)[0]["steps"][-1]["record"]["value"] == {"by": reference}


def test_a_line_that_is_no_json_is_named(run):
    """The error has line and column, and tells of --raw."""
    with pytest.raises(UserError, match=r"Line 2 is not JSON at column 1.*--raw"):
        run(['{"value": 1}', "nope"])
