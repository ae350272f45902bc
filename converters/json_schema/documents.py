"""JSON Schema documents: parsed, their references found, values validated against them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from connect import DataError


class Document:
    """A schema with what it refers to. `resolve` follows a $ref from where it stands."""

    def __init__(self, text: str, references: Mapping[str, str]) -> None:
        from referencing import Registry, Resource  # noqa: PLC0415
        from referencing.jsonschema import DRAFT7  # noqa: PLC0415

        self.root = _parse(text)
        named = {name: _parse(other) for name, other in references.items()}
        registry: Any = Registry().with_resources(
            (name, Resource.from_contents(contents, default_specification=DRAFT7))
            for name, contents in named.items()
        )
        resource = Resource.from_contents(self.root, default_specification=DRAFT7)
        self.registry = registry.with_resource("", resource).with_resource(
            resource.id() or "", resource
        )
        self.resolver = self.registry.resolver_with_root(resource)

    def validator(self) -> Callable[[Any], None]:
        """A function that raises DataError for a value that the schema does not allow."""
        from jsonschema.exceptions import SchemaError, best_match  # noqa: PLC0415
        from jsonschema.validators import Draft7Validator, validator_for  # noqa: PLC0415

        kind: Any = validator_for(self.root, default=Draft7Validator)
        try:
            kind.check_schema(self.root)
        except SchemaError as error:
            raise DataError(f"The JSON Schema is not valid: {error.message}") from error
        checking = kind(self.root, registry=self.registry)

        def validate(value: Any) -> None:
            error = best_match(checking.iter_errors(value))
            if error is not None:
                raise DataError(f"{error.json_path} is not valid: {_short(error.message)}")

        return validate


def resolve(resolver: Any, reference: str) -> tuple[Any, Any]:
    """The schema behind a $ref, and the resolver for what stands in it."""
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    try:
        found = resolver.lookup(reference)
    except Unresolvable as error:
        raise DataError(f"The JSON Schema refers to {reference}, which nothing defines") from error
    return found.contents, found.resolver


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"The JSON Schema is no JSON: {error}") from error


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "..."
