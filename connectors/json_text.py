"""Values as JSON, for systems that know no schema: what JSON has no form for becomes a text."""

from __future__ import annotations

import base64
import decimal
from typing import Any

import orjson

from connect import DataError


def to_json(value: Any) -> bytes:
    """Times in ISO 8601, decimals with all their digits, bytes as base64."""
    try:
        return orjson.dumps(
            value, default=_plain, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z
        )
    except TypeError as error:
        raise DataError(f"The value can't be written as JSON: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no form in JSON")
