"""InsertHeader: adds a header with a fixed value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from connect import Config, ConfigDef, ConfigError, Header, Headers, Importance, Transformation
from connect.data.values import parse_string
from connect.records import R


def _not_null(name: str, value: Any) -> None:
    if value is None:
        raise ConfigError(name, None, "entry must be non null")


class InsertHeader(Transformation[R], Generic[R]):
    """Adds a header to every record, after others of the same name."""

    config_def = (
        ConfigDef()
        .define("header", validator=_not_null, importance=Importance.HIGH, doc="The header's name.")
        .define(
            "value.literal",
            validator=_not_null,
            importance=Importance.HIGH,
            doc="The header's value. Its type is inferred: 12 is a number, true a boolean, "
            "2019-08-23 a date, [1, 2] a list; what looks like nothing else is text.",
        )
    )

    def configure(self, config: Config) -> None:
        schema, value = parse_string(config["value.literal"])
        self._header = Header(config["header"], value, schema)

    def apply(self, record: R) -> R | None:
        record.headers = Headers((*record.headers, self._header))
        return record

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        header = self._header
        alone = Headers((header,))
        for record in records:
            headers = record.headers
            record.headers = Headers((*headers, header)) if headers else alone
        return [*records]
