"""The shapes in which configs and what is wrong with them are answered over REST."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from connect.config.configdef import ConfigDef, ConfigKey, ConfigType, ConfigValue, show_value
from connect.config.masking import secret_keys
from connect.config.secret import HIDDEN, Secret, scrub


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """The definition of a key."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    order_in_group: int
    width: str
    display_name: str
    dependents: list[str]

    @classmethod
    def of(cls, key: ConfigKey) -> KeyInfo:
        return cls(
            key.name,
            key.type.value,
            key.required,
            None if key.required else show_value(key.default, key.type),
            key.importance.value,
            key.doc,
            key.group,
            key.order_in_group,
            key.width.value,
            key.display_name,
            list(key.dependents),
        )


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """The value of a key, and what is wrong with it."""

    name: str
    value: str | None
    recommended_values: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True


@dataclass(frozen=True, slots=True)
class ConfigInfo:
    """A key with its value. There is no definition for what nobody declares."""

    definition: KeyInfo | None
    value: ValueInfo


@dataclass(frozen=True, slots=True)
class ConfigInfos:
    """The answer of a validation."""

    name: str
    error_count: int
    groups: list[str]
    configs: list[ConfigInfo]

    def to_json(self) -> dict[str, Any]:
        """The body of the REST answer."""
        return asdict(self)

    @property
    def errors(self) -> dict[str, list[str]]:
        """The messages by key, keys without any left out."""
        found: dict[str, list[str]] = {}
        for config in self.configs:
            if config.value.errors:
                found.setdefault(config.value.name, []).extend(config.value.errors)
        return found

    def failure(self) -> str | None:
        """The text with which an invalid config is refused, None if it is valid."""
        if not self.error_count:
            return None
        messages = [message for config in self.configs for message in config.value.errors]
        head = f"Connector configuration is invalid and contains the following {self.error_count}"
        tail = "You can also find the above list of errors at the endpoint"
        where = "`/connector-plugins/{connectorType}/config/validate`"
        return "\n".join([f"{head} error(s):", *messages, f"{tail} {where}"])


def key_infos(definition: ConfigDef) -> list[KeyInfo]:
    """All keys of a definition, as REST lists them."""
    return [KeyInfo.of(key) for key in definition.keys.values()]


class Disclosure:
    """What of a config may be shown: references instead of what they stand for, no secrets."""

    def __init__(self, props: Mapping[str, str | None], references: Mapping[str, str]) -> None:
        self._references = references
        self._shown_as = {props[key] or "": text for key, text in references.items()}

    def hide(self, secret: str) -> None:
        """Never show this text, wherever it may turn up."""
        self._shown_as.setdefault(secret, HIDDEN)

    def value_info(self, value: ConfigValue, type: ConfigType | None) -> ValueInfo:
        reference = self._references.get(value.name)
        shown = reference
        if reference is None:
            shown = show_value(value.value, type or ConfigType.STRING)
            if type is None and shown and secret_keys([value.name], {}):
                shown = HIDDEN
        return ValueInfo(
            value.name,
            shown,
            [str(item) for item in value.recommended],
            [self._error(text, value, reference) for text in value.errors],
            value.visible,
        )

    def message(self, text: str) -> str:
        """A message without what must not be shown."""
        return scrub(text, self._shown_as)

    def _error(self, text: str, value: ConfigValue, reference: str | None) -> str:
        if reference is not None and value.value is not None:
            # Even a text too short to be replaced everywhere is replaced where it is named.
            named = f"Invalid value {value.value} for"
            text = text.replace(named, f"Invalid value {reference} for")
        return self.message(text)


def secrets_in(values: Iterable[ConfigValue]) -> list[str]:
    """The texts of all secret values."""
    return [v.value.reveal() for v in values if isinstance(v.value, Secret)]
