"""The OpenAPI document, and its operations as one page, which loads nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from api.answers import JsonResponse
from api.openapi import openapi
from api.routing import Operation

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
summary { cursor: pointer; padding: .3rem 0 }
details { border-bottom: 1px solid #8884 }
b { display: inline-block; min-width: 4.5rem }
code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { background: #8882; padding: .7rem; overflow: auto }
td { padding: .1rem 1rem .1rem 0; vertical-align: top }
:root { color-scheme: light dark }
"""
_METHODS = ("get", "post", "put", "patch", "delete")


def docs_routes(operations: Sequence[Operation]) -> list[Route]:
    """/openapi.json and /docs, for everybody whom the gate lets in."""

    @cache
    def document() -> dict[str, Any]:
        return openapi(operations)

    async def for_machines(_request: Request) -> Response:
        return JsonResponse(document())

    async def for_people(_request: Request) -> Response:
        return HTMLResponse(
            docs_page(document()),
            headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"},
        )

    return [Route("/openapi.json", for_machines), Route("/docs", for_people)]


def docs_page(document: Mapping[str, Any]) -> str:
    """The page of an OpenAPI document."""
    info = document["info"]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>"
        f"<h1>{title}</h1><p>{escape(info.get('summary', ''))} "
        "The same for machines: <a href=openapi.json>openapi.json</a></p>"
        f"{''.join(_sections(document))}</html>"
    )


def _sections(document: Mapping[str, Any]) -> Iterator[str]:
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method in _METHODS:
            if method in operations:
                operation = operations[method]
                shown = _operation(document, method, path, operation)
                by_tag.setdefault((operation.get("tags") or ["other"])[0], []).append(shown)
    for tag, listed in by_tag.items():
        yield f"<h2>{escape(tag.capitalize())}</h2>{''.join(listed)}"


def _operation(
    document: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]
) -> str:
    head = f"<b>{method.upper()}</b> <code>{escape(path)}</code>"
    parts = [f"<details><summary>{head} {escape(operation.get('summary', ''))}</summary>"]
    if parameters := operation.get("parameters"):
        rows = (
            f"<tr><td><code>{escape(p['name'])}</code><td>{escape(p['in'])}"
            f"<td>{escape(p.get('description', ''))}"
            for p in parameters
        )
        parts.append(f"<table>{''.join(rows)}</table>")
    if body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        parts.append(f"<p>Body:</p><pre>{escape(_schema(document, schema))}</pre>")
    for status, response in sorted(operation.get("responses", {}).items()):
        parts.append(f"<p>{escape(status)} {escape(response.get('description', ''))}</p>")
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if schema and status.startswith("2"):
            parts.append(f"<pre>{escape(_schema(document, schema))}</pre>")
    return "".join(parts) + "</details>"


def _schema(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    shared = document.get("components", {}).get("schemas", {})
    shape = _shape({**shared, **schema.get("$defs", {})}, schema, ())
    return json.dumps(shape, indent=2, ensure_ascii=False)


def _shape(named: Mapping[str, Any], schema: Mapping[str, Any], seen: tuple[str, ...]) -> Any:
    """A schema as a value would look: types in the place of values."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        if name in seen or name not in named:
            return name
        return _shape(named, named[name], (*seen, name))
    if options := schema.get("anyOf"):
        return _shape(named, options[0], seen)
    if properties := schema.get("properties"):
        return {key: _shape(named, value, seen) for key, value in properties.items()}
    if "items" in schema:
        return [_shape(named, schema["items"], seen)]
    if isinstance(more := schema.get("additionalProperties"), dict) and more:
        return {"…": _shape(named, more, seen)}
    kind = schema.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else kind
