"""Groups of topics that a source's tasks create: `topic.creation.*`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect.config.configdef import ConfigDef, ConfigType, Importance, Width
from connect.config.connector import TOPIC_CREATION, aliases, settings_below
from connect.config.validators import (
    all_of,
    java_regex,
    list_of_values,
    partition_count,
    replication_factor,
)

_TOPIC_PREFIX = "topic.creation."
DEFAULT_GROUP = "default"


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """How topics that a source writes to are created. -1 leaves a number to the broker."""

    name: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    partitions: int
    replication_factor: int
    settings: dict[str, str]


def uses_topic_creation(props: Mapping[str, Any]) -> bool:
    return any(key.startswith(_TOPIC_PREFIX) for key in props)


def topic_group_def(name: str) -> ConfigDef:
    """The keys of a topic creation group, without `topic.creation.<name>.`."""
    is_default = name == DEFAULT_GROUP
    numbers: dict[str, Any] = {} if is_default else {"default": None}
    patterns = all_of(list_of_values(duplicates=True), _regexes)
    inherit = "" if is_default else " Not set: as in the group `default`."
    return (
        ConfigDef()
        .define(
            "include", ConfigType.LIST, ".*" if is_default else "",
            doc="Regular expressions; a topic belongs to the group if one matches its name.",
            importance=Importance.LOW, validator=patterns, group=name, width=Width.LONG,
            display_name=f"Inclusion Topic Pattern for {name}",
        )
        .define(
            "exclude", ConfigType.LIST, "",
            doc="Regular expressions of topics that do not belong to the group after all.",
            importance=Importance.LOW, validator=patterns, group=name, width=Width.LONG,
            display_name=f"Exclusion Topic Pattern for {name}",
        )
        .define(
            "replication.factor", ConfigType.SHORT, **numbers,
            doc=f"How many copies Kafka keeps; -1 for the broker's default.{inherit}",
            importance=Importance.LOW, validator=replication_factor, group=name, width=Width.LONG,
            display_name=f"Replication Factor for Topics in {name}",
        )
        .define(
            "partitions", ConfigType.INT, **numbers,
            doc=f"The number of partitions; -1 for the broker's default.{inherit}",
            importance=Importance.LOW, validator=partition_count, group=name, width=Width.LONG,
            display_name=f"Partition Count for Topics in {name}",
        )
    )  # fmt: skip


def with_topic_groups(definition: ConfigDef, props: Mapping[str, str | None]) -> ConfigDef:
    """A source's definition with the keys of its topic creation groups, if it has any."""
    if uses_topic_creation(props):
        for name in _topic_group_names(props):
            definition = definition.embedding(
                topic_group_def(name), f"{_TOPIC_PREFIX}{name}.", f"{TOPIC_CREATION}: {name}", 1
            )
    return definition


def topic_groups(props: Mapping[str, str]) -> list[TopicGroup]:
    """The groups of a valid source config; the first that a topic belongs to counts."""
    if not uses_topic_creation(props):
        return []
    settings = {n: settings_below(props, f"{_TOPIC_PREFIX}{n}.") for n in _topic_group_names(props)}
    default = topic_group_def(DEFAULT_GROUP).parse(settings[DEFAULT_GROUP])
    groups = []
    for name, own in settings.items():
        parsed = topic_group_def(name).parse(own)
        partitions, copies = (
            default[key] if parsed[key] is None else parsed[key]
            for key in ("partitions", "replication.factor")
        )
        include, exclude = tuple(parsed["include"]), tuple(parsed["exclude"])
        if name == DEFAULT_GROUP:
            # It takes whatever is left, so what it includes or excludes is not asked.
            include, exclude = (".*",), ()
        rest = {k: v for k, v in own.items() if k not in topic_group_def(name).keys}
        groups.append(TopicGroup(name, include, exclude, partitions, copies, rest))
    return groups


def _topic_group_names(props: Mapping[str, str | None]) -> list[str]:
    names = [n for n in aliases(props, f"{_TOPIC_PREFIX}groups") if n != DEFAULT_GROUP]
    return [*names, DEFAULT_GROUP]


def _regexes(name: str, value: Any) -> None:
    for pattern in value or ():
        java_regex(name, pattern)
