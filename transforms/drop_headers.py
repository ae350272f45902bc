"""DropHeaders: removes headers by name."""

from __future__ import annotations

from typing import Generic

from connect import Config, ConfigDef, ConfigType, Headers, Importance, Transformation
from connect.records import R
from transforms.lists import some_items


class DropHeaders(Transformation[R], Generic[R]):
    """Removes all headers of the given names."""

    config_def = ConfigDef().define(
        "headers",
        ConfigType.LIST,
        validator=some_items,
        importance=Importance.HIGH,
        doc="The names of the headers to remove.",
    )

    def configure(self, config: Config) -> None:
        self._names = frozenset(config["headers"])

    def apply(self, record: R) -> R | None:
        headers = record.headers
        if headers:
            names = self._names
            record.headers = Headers([h for h in headers if h.name not in names])
        return record
