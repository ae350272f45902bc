"""Dry runs over REST."""

import pytest

pytestmark = pytest.mark.stack

CONFIG = {
    "topics": "orders",
    "key.converter": "StringConverter",
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": False,
    "transforms": "mask",
    "transforms.mask.type": "MaskField$Value",
    "transforms.mask.fields": "card",
}
PATH = "/connector-plugins/FileStreamSink/transform"


def test_a_config_is_tried_without_creating_it(worker):
    """Each record comes back with its steps, and no connector is there afterwards."""
    records = [{"value": {"id": 1, "card": "4111"}}, {"value": "{"}]
    answer = worker.call("POST", PATH, {"config": CONFIG, "records": records})
    assert answer.status_code == 200, answer.text
    good, bad = answer.json()
    assert good["outcome"] == "passed"
    assert good["steps"][-1]["record"]["value"] == {"id": 1, "card": ""}
    assert bad["outcome"] == "failed"
    assert bad["steps"][-1]["step"] == "value.converter"
    assert worker.call("GET", "/connectors").json() == []


def test_a_config_that_makes_no_pipeline_is_a_bad_request(worker):
    """A wrong setting is told with its key; so is a body without records."""
    wrong = {**CONFIG, "transforms.mask.fields": ""}
    answer = worker.call("POST", PATH, {"config": wrong, "records": []})
    assert answer.status_code == 400
    assert "fields" in answer.json()["message"]
    answer = worker.call("POST", PATH, {"config": CONFIG})
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "records: expected an array but got null",
    )
