"""Reads request bodies and says exactly what is wrong with them.

Kafka Connect answers a malformed body with 500 and a Jackson trace; here it is always 400, with
the place in the body or the key that does not fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request

from connect.cluster.herder import BadRequestError, TargetState

_INITIAL_STATES = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
_CREATE_FIELDS = ("name", "config", "initial_state")
_OFFSET_FIELDS = ("partition", "offset")

# Reading on before a refusal lets a client that is still sending see the answer instead of a
# broken connection. A client that sends many times the limit may meet the latter.
_DRAIN_FACTOR = 4

StringMap = dict[str, str | None]
S = TypeVar("S", bound=msgspec.Struct)
OffsetPair = tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class CreateRequest:
    name: str
    config: StringMap
    state: TargetState | None


async def read_body(request: Request, limit: int) -> bytes:
    """The body, if it is said to be JSON and not larger than the limit."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type and media_type != "application/json" and not media_type.endswith("+json"):
        raise HTTPException(415, f"send the body as application/json, not {media_type}")
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        elif size > limit * _DRAIN_FACTOR:
            break
    if size > limit:
        raise HTTPException(
            413, f"the body is larger than {limit} bytes, see rest.request.max.bytes"
        )
    return b"".join(chunks)


def parse_create(body: bytes) -> CreateRequest:
    """The body of POST /connectors."""
    fields = _object(_loads_keeping_numbers(body), "The body")
    config = fields.get("config")
    for unknown in fields:
        if unknown not in _CREATE_FIELDS:
            raise BadRequestError(
                f'Unrecognized field "{unknown}": a connector is created from "name", "config" and '
                '"initial_state", and its settings go into "config"'
            )
    if config is None:
        raise BadRequestError(
            'The field "config" is missing: {"name": …, "config": {"connector.class": …}}'
        )
    settings = _settings(_object(config, "config"), "config.")
    given = _text(fields.get("name"), "name")
    name = (settings.get("name") if given is None else given) or ""
    return CreateRequest(
        name=name.strip(),
        config=with_name(settings, name.strip()),
        state=_initial_state(_text(fields.get("initial_state"), "initial_state")),
    )


def parse_config(body: bytes) -> StringMap:
    """A flat map of settings: the body of PUT and PATCH …/config, and of validate."""
    return _settings(_object(_loads_keeping_numbers(body), "The body"), "")


def parse_transform(body: bytes) -> tuple[StringMap, list[dict[str, Any]]]:
    """The body of POST …/transform: a config, and records to try it with."""
    fields = _object(_loads(body), "The body")
    _no_others(fields, ("config", "records"), "")
    # Numbers in records are numbers; those in a config are text, as they were written.
    written = _object(_loads_keeping_numbers(body), "The body")
    config = _settings(_object(written.get("config"), "config"), "config.")
    records = fields.get("records")
    if not isinstance(records, list):
        raise BadRequestError(f"records: expected an array but got {_kind(records)}")
    return config, [_object(each, f"records[{n}]") for n, each in enumerate(records)]


def with_name(config: StringMap, name: str) -> StringMap:
    """The config with the connector's name in it; BadRequestError if it has another one."""
    given = config.get("name")
    if given is None:
        return {**config, "name": name}
    if given.strip() != name:
        raise BadRequestError(
            f"Connector name configuration ({given}) doesn't match connector name in the URL "
            f"({name})"
        )
    return config


def parse_offsets(body: bytes) -> list[OffsetPair]:
    """The body of PATCH …/offsets."""
    fields = _object(_loads(body), "The body")
    _no_others(fields, ("offsets",), "")
    entries = fields.get("offsets")
    if not entries:
        raise BadRequestError(
            "Partitions / offsets need to be provided for an alter offsets request"
        )
    if not isinstance(entries, list):
        raise BadRequestError(f"offsets: expected an array but got {_kind(entries)}")
    return [_offset_pair(entry, f"offsets[{i}]") for i, entry in enumerate(entries)]


def parse_level(body: bytes) -> str:
    """The body of PUT /admin/loggers/{logger}."""
    level = _text(_object(_loads(body), "The body").get("level"), "level")
    if level is None:
        raise BadRequestError("Desired 'level' parameter was not specified in request.")
    return level


def parse_shape(body: bytes, shape: type[S]) -> S:
    """A body of a declared shape; no body is an empty object."""
    given = _loads(body or b"{}")
    try:
        return msgspec.convert(given, shape, strict=False)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        field = place.removeprefix(".").removesuffix("`")
        if field.endswith("[...]"):  # a map of texts: the first value that is none
            field = field.removesuffix("[...]")
            field += "." + next(k for k, v in given[field].items() if not isinstance(v, str))
        raise BadRequestError(f"{field or 'body'}: {problem}") from error


class _NumberText(str):
    """A JSON number as it was written: config values are text, and 1.50 is not 1.5."""

    __slots__ = ()


def _loads(body: bytes) -> Any:
    return _parse(body, parse_int=int, parse_float=float)


def _loads_keeping_numbers(body: bytes) -> Any:
    return _parse(body, parse_int=_NumberText, parse_float=_NumberText)


def _parse(body: bytes, parse_int: Callable[[str], Any], parse_float: Callable[[str], Any]) -> Any:
    if not body.strip():
        raise BadRequestError("The body is empty: a JSON object is expected")
    try:
        text = body.decode("utf-8-sig")
        return json.loads(
            text, parse_int=parse_int, parse_float=parse_float, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise BadRequestError(f"The body is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise BadRequestError(
            f"The body is not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except RecursionError as error:
        raise BadRequestError("The body is nested too deeply") from error
    except ValueError as error:  # an integer of thousands of digits
        raise BadRequestError(f"The body is not valid JSON: {error}") from error


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRequestError(f"{what}: expected an object but got {_kind(value)}")
    return value


def _settings(values: Mapping[str, Any], path: str) -> StringMap:
    return {key: _text(value, path + key) for key, value in values.items()}


def _text(value: Any, path: str) -> str | None:
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        raise BadRequestError(
            f"{path}: expected a string but got {_kind(value)}; configs are flat, so write nested "
            "keys with dots and lists with commas"
        )
    return str(value)


def _initial_state(text: str | None) -> TargetState | None:
    if text is None:
        return None
    try:
        return _INITIAL_STATES[text.upper()]
    except KeyError:
        raise BadRequestError(
            f"initial_state: {text} is not one of {', '.join(_INITIAL_STATES)}"
        ) from None


def _offset_pair(entry: Any, path: str) -> OffsetPair:
    fields = _object(entry, path)
    _no_others(fields, _OFFSET_FIELDS, path + ".")
    partition, offset = (
        None if fields.get(key) is None else _object(fields[key], f"{path}.{key}")
        for key in _OFFSET_FIELDS
    )
    return partition, offset


def _no_others(fields: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    for name in fields:
        if name not in known:
            expected = " and ".join(f'"{k}"' for k in known)
            raise BadRequestError(f'Unrecognized field "{path}{name}": expected {expected}')


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (_NumberText, int, float)):
        return "a number"
    return "a string"
