"""The OpenAPI document of all routes."""

import json
import re

import pytest

from api.openapi import openapi
from api.routes import connectors, dlq, internal, loggers, offsets, plugins, root

MODULES = (root, connectors, internal, offsets, plugins, dlq, loggers)
OPERATIONS = [operation for module in MODULES for operation in module.routes.operations]


@pytest.fixture(scope="module")
def document():
    return openapi(OPERATIONS)


def test_every_operation_is_there_but_those_between_workers(document):
    """By the path as a client writes it, with a tag and an id of its own."""
    shown = [each for path in document["paths"].values() for each in path.values()]
    assert len(shown) == len(OPERATIONS) - len(internal.routes.operations)
    assert len({each["operationId"] for each in shown}) == len(shown)
    assert all(each["summary"] and each["tags"] for each in shown)
    assert "post" not in document["paths"]["/connectors/{connector}/tasks"]


def test_every_operation_has_an_answer_when_all_is_well_and_the_errors_of_all(document):
    """Each error has the shape of every error."""
    for path, operations in document["paths"].items():
        for operation in operations.values():
            answers = operation["responses"]
            assert any(status.startswith("2") for status in answers), path
            assert {"400", "401", "403", "500"} <= set(answers)
            assert all(answer["description"] for answer in answers.values())
            assert answers["400"]["content"]["application/json"]["schema"] == {
                "$ref": "#/components/schemas/Error"
            }


def test_parameters_of_paths_and_queries_are_described(document):
    """Path parameters are required, queries have a default and say what they are for."""
    restart = document["paths"]["/connectors/{connector}/tasks/{task}/restart"]["post"]
    assert restart["parameters"] == [
        {"name": "connector", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "task", "in": "path", "required": True, "schema": {"type": "integer"}},
    ]
    _, tasks, _ = document["paths"]["/connectors/{connector}/restart"]["post"]["parameters"]
    assert (tasks["name"], tasks["in"], tasks["required"]) == ("includeTasks", "query", False)
    assert tasks["description"] == "Its tasks too"
    assert (tasks["schema"]["type"], tasks["schema"]["default"]) == ("boolean", False)


def test_what_is_referred_to_is_there(document):
    """Every reference has a schema, and every schema is referred to."""
    references = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document))
    assert set(references) == set(document["components"]["schemas"])


def test_bodies_examples_and_bounds_are_described(document):
    """What a client needs to write one."""
    create = document["paths"]["/connectors"]["post"]["requestBody"]
    assert create["required"]
    assert create["content"]["application/json"]["schema"]["$ref"].endswith("/CreateConnector")
    schemas = document["components"]["schemas"]
    assert schemas["CreateConnector"]["properties"]["name"]["examples"] == ["orders"]
    assert schemas["ReplayRequest"]["properties"]["max_attempts"]["minimum"] == 1
    assert schemas["Select"]["additionalProperties"] is False
    assert "class" in schemas["Plugin"]["properties"]
