"""The OpenAPI document of operations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec

from api.models import Error
from api.routing import Answer, Operation

_ALWAYS = {
    400: Answer(Error, "The request can't be met as it stands"),
    401: Answer(Error, "No user is known by what came with it"),
    403: Answer(Error, "The user lacks the role, which is named"),
    500: Answer(Error, "The worker failed, or did not answer in time"),
}
_PATH_PARAMETER = re.compile(r"{(\w+):(\w+)}")


def openapi(operations: Iterable[Operation]) -> dict[str, Any]:
    """The document of those that have a summary."""
    paths: dict[str, Any] = {}
    named: dict[str, Any] = {}
    for operation in operations:
        if operation.summary:
            path = _PATH_PARAMETER.sub(r"{\1}", operation.path)
            paths.setdefault(path, {})[operation.method.lower()] = _shown(operation, path, named)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "summary": "Kafka Connect's REST API.",
            "version": version("penstock"),
        },
        "paths": paths,
        "components": {"schemas": named},
    }


def _shown(operation: Operation, path: str, named: dict[str, Any]) -> dict[str, Any]:
    unique = re.sub(r"\W", "_", f"{operation.handler.__name__}{path}_{operation.method.lower()}")
    answers = {**_ALWAYS, **operation.answers}
    shown: dict[str, Any] = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": unique,
        "responses": {
            str(status): {
                "description": answer.description or HTTPStatus(status).phrase,
                **_content(answer.type, answer.media_type, named),
            }
            for status, answer in sorted(answers.items())
        },
    }
    if parameters := [*_path_parameters(operation), *_query_parameters(operation)]:
        shown["parameters"] = parameters
    if operation.body is not None:
        shown["requestBody"] = {
            "required": True,
            **_content(operation.body, "application/json", named),
        }
    return shown


def _content(type_: Any, media_type: str, named: dict[str, Any]) -> dict[str, Any]:
    return {} if type_ is None else {"content": {media_type: {"schema": _schema(type_, named)}}}


def _schema(type_: Any, named: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; those it refers to by their names are added to `named`."""
    [schema], more = msgspec.json.schema_components(
        [type_], ref_template="#/components/schemas/{name}"
    )
    named |= more
    return schema


def _path_parameters(operation: Operation) -> Iterator[dict[str, Any]]:
    for name, convertor in _PATH_PARAMETER.findall(operation.path):
        schema = {"type": "integer" if convertor == "int" else "string"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(operation: Operation) -> Iterator[dict[str, Any]]:
    if operation.query is None:
        return
    own: dict[str, Any] = {}
    _schema(operation.query, own)
    shape = own[operation.query.__name__]
    for name, schema in shape["properties"].items():
        # The documentation of a parameter has its place beside the schema.
        about = {"description": schema["description"]} if "description" in schema else {}
        required = name in shape["required"]
        yield {"name": name, "in": "query", "required": required, "schema": schema, **about}
