"""Lists in transform configs: their checks, with Kafka's texts."""

from __future__ import annotations

from typing import Any

from connect import ConfigError


def no_empty_items(name: str, value: Any) -> None:
    """The list may be empty, its items may not."""
    if value is not None and "" in value:
        raise ConfigError(f"Configuration '{name}' values must not be empty.")


def some_items(name: str, value: Any) -> None:
    """At least one item, none of them empty."""
    if not value:
        raise ConfigError(
            f"Configuration '{name}' must not be empty. Valid values include: any non-empty value"
        )
    no_empty_items(name, value)


def rename_pairs(name: str, value: Any) -> None:
    """A list of `old:new`."""
    for item in value or ():
        if not _is_pair(item):
            shown = ", ".join(value)
            raise ConfigError(name, f"[{shown}]", f"Invalid rename mapping: {item}")


def _is_pair(item: str) -> bool:
    _, colon, new = item.partition(":")
    return bool(colon and new) and ":" not in new
