"""Validators for ConfigDef keys, with Kafka's texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from connect.config.configdef import Validator
from connect.errors import ConfigError


def at_least(low: float) -> Validator:
    def check(name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(name, None, "Value must be non-null")
        if value < low:
            raise ConfigError(name, value, f"Value must be at least {low}")

    return check


def between(low: float, high: float) -> Validator:
    def check(name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(name, None, "Value must be non-null")
        if value < low:
            raise ConfigError(name, value, f"Value must be at least {low}")
        if value > high:
            raise ConfigError(name, value, f"Value must be no more than {high}")

    return check


def one_of(*allowed: str | None) -> Validator:
    def check(name: str, value: Any) -> None:
        if value not in allowed:
            shown = ", ".join("null" if a is None else a for a in allowed)
            raise ConfigError(name, value, f"String must be one of: {shown}")

    return check


def one_of_ignoring_case(*allowed: str) -> Validator:
    folded = {a.upper() for a in allowed}

    def check(name: str, value: Any) -> None:
        if value is None or value.upper() not in folded:
            shown = ", ".join(a.upper() for a in allowed)
            raise ConfigError(name, value, f"String must be one of (case insensitive): {shown}")

    return check


def non_empty(name: str, value: Any) -> None:
    if value is not None and value == "":
        raise ConfigError(name, value, "String must be non-empty")


def topic_name(name: str, value: Any) -> None:
    """What Kafka takes for the name of a topic, or nothing."""
    non_empty(name, value)
    if value is not None and (
        not re.fullmatch(r"[\w.-]{1,249}", value, re.ASCII) or value in {".", ".."}
    ):
        raise ConfigError(
            name, value, "A topic's name is 1 to 249 letters, digits, dots, dashes or underscores"
        )


def list_of_values(
    *, empty: bool = True, null: bool = False, duplicates: bool = False
) -> Validator:
    """A list whose items are not empty. The texts differ from all others; they are Kafka's."""

    def check(name: str, value: Any) -> None:
        if value is None:
            if not null:
                raise ConfigError(f"Configuration '{name}' values must not be null.")
            return
        if not value and not empty:
            raise ConfigError(
                f"Configuration '{name}' must not be empty. "
                "Valid values include: any non-empty value"
            )
        if not duplicates and len(set(value)) < len(value):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
        if "" in value:
            raise ConfigError(f"Configuration '{name}' values must not be empty.")

    return check


def unique_aliases(name: str, value: Any) -> None:
    """The names a user gives to his transforms, predicates and topic groups."""
    if value is None:
        raise ConfigError(name, None, "entry must be non null")
    if len(set(value)) < len(value):
        raise ConfigError(name, value, "Duplicate alias provided.")


def java_regex(name: str, value: Any) -> None:
    """A regular expression as Java writes them, or nothing."""
    if not value:
        return
    from connect.javalang.regex import compile_java  # noqa: PLC0415 - few configs have a regex

    try:
        compile_java(value)
    except ValueError as error:
        raise ConfigError(name, value, f"Invalid regex: {error}") from error


def non_empty_list(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(name, value if value is None else [], "Empty list")


def printable(name: str, value: Any) -> None:
    """Not empty and without control characters: what names of connectors must be."""
    if value is None:
        return
    if value == "":
        raise ConfigError(name, value, "String may not be empty")
    control = [ord(c) for c in value if ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F]
    if control:
        codes = ", ".join(map(str, control))
        raise ConfigError(
            name,
            value,
            "String may not contain control sequences but had the following ASCII chars: " + codes,
        )


def partition_count(name: str, value: Any) -> None:
    if value is not None and value < 1 and value != -1:
        raise ConfigError(
            name,
            value,
            "Number of partitions must be positive, or -1 to use the broker's default",
        )


def replication_factor(name: str, value: Any) -> None:
    if value is not None and value < 1 and value != -1:
        raise ConfigError(
            name,
            value,
            "Replication factor must be positive and not larger than the number of brokers "
            "in the Kafka cluster, or -1 to use the broker's default",
        )


def all_of(*validators: Validator) -> Validator:
    def check(name: str, value: Any) -> None:
        for validator in validators:
            validator(name, value)

    return check


def satisfies(condition: Callable[[Any], bool], reason: str) -> Validator:
    """A validator from a condition; None always passes."""

    def check(name: str, value: Any) -> None:
        if value is not None and not condition(value):
            raise ConfigError(name, value, reason)

    return check
