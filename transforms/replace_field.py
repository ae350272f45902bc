"""ReplaceField: drops, keeps or renames fields."""

from __future__ import annotations

from typing import Generic

from connect import Config, ConfigDef, ConfigType, Importance, Schema
from connect.records import R
from transforms.field_path import define_field_syntax, parse_field_path
from transforms.key_or_value import KeyOrValue, OnKey, OnValue, Plan, define_null_replacement
from transforms.lists import no_empty_items, rename_pairs
from transforms.selection import Selection


class ReplaceField(KeyOrValue[R], Generic[R]):
    config_def = define_field_syntax(
        define_null_replacement(
            ConfigDef()
            .define(
                "exclude",
                ConfigType.LIST,
                default=[],
                validator=no_empty_items,
                importance=Importance.MEDIUM,
                doc="Fields to drop. They are dropped even if they are to be included as well.",
            )
            .define(
                "include",
                ConfigType.LIST,
                default=[],
                validator=no_empty_items,
                importance=Importance.MEDIUM,
                doc="Fields to keep. If there are any, all others are dropped.",
            )
            .define(
                "renames",
                ConfigType.LIST,
                default=[],
                validator=rename_pairs,
                importance=Importance.MEDIUM,
                doc="New names for fields, as old:new. A nested field stays where it is: "
                "address.city:town makes address.town.",
            )
        )
    )

    def configure(self, config: Config) -> None:
        select = Selection("field replacement", replace_nulls=config["replace.null.with.default"])
        for text in config["exclude"]:
            select.exclude(parse_field_path(text, config))
        for text in config["renames"]:
            old, _, new = text.partition(":")
            select.rename(parse_field_path(old, config), new)
        select.include([parse_field_path(text, config) for text in config["include"]])
        self._selection = select

    def plan(self, schema: Schema | None) -> Plan:
        return self._selection.plan(schema)


class ReplaceFieldKey(OnKey[R], ReplaceField[R]):
    """Drops, keeps or renames fields of the key."""


class ReplaceFieldValue(OnValue[R], ReplaceField[R]):
    """Drops, keeps or renames fields of the value."""
