"""ConfigDef: a config key is declared once, and everything else is made from that.

Parsing and its messages, the REST validate answer, the docs page and the command-line help all
come from the same `define` call. The texts of the errors are Kafka's, because clients show them.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from connect.config.secret import Secret
from connect.errors import ConfigError


class ConfigType(enum.Enum):
    """What a key's value is. A PASSWORD becomes a `Secret`, a LIST is split at commas."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105


class Importance(enum.Enum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(enum.Enum):
    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


# The default of a key that has none: leaving it out is an error.
REQUIRED: Final = _Required()

# Called with key and parsed value; raises ConfigError when the value will not do.
Validator = Callable[[str, Any], None]
# Called with key and all parsed values; says which values are sensible.
Recommender = Callable[[str, Mapping[str, Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One declared key."""

    name: str
    type: ConfigType
    default: Any
    doc: str
    importance: Importance
    validator: Validator | None
    group: str | None
    order_in_group: int
    width: Width
    display_name: str
    dependents: tuple[str, ...]
    recommender: Recommender | None

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@dataclass(slots=True)
class ConfigValue:
    """A key's value as validation found it."""

    name: str
    value: Any = None
    errors: list[str] = field(default_factory=list)
    recommended: list[Any] = field(default_factory=list)
    visible: bool = True

    def error(self, reason: str) -> None:
        """Add an error in Kafka's words: `Invalid value V for configuration K: reason`."""
        self.errors.append(str(ConfigError(self.name, self.value, reason)))


class Config(Mapping[str, Any]):
    """Parsed settings: declared keys typed and with their defaults, others as they were given.

    `raw` holds the strings as they came, secrets resolved.
    """

    __slots__ = ("_parsed", "raw")

    def __init__(self, raw: Mapping[str, str], parsed: Mapping[str, Any]) -> None:
        self.raw = dict(raw)
        self._parsed = {**raw, **parsed}

    def __getitem__(self, key: str) -> Any:
        return self._parsed[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed)

    def __len__(self) -> int:
        return len(self._parsed)

    def __repr__(self) -> str:
        # Raw strings may hold secrets, so names only.
        return f"Config({', '.join(sorted(self._parsed))})"


class ConfigDef:
    """The keys of a plugin.

    ConfigDef().define("file", doc="The file to read.").define("batch.size", INT, default=2000, …)
    """

    def __init__(self, keys: Iterable[ConfigKey] = ()) -> None:
        self.keys: dict[str, ConfigKey] = {k.name: k for k in keys}

    def define(
        self,
        name: str,
        type: ConfigType = ConfigType.STRING,
        default: Any = REQUIRED,
        *,
        doc: str,
        importance: Importance = Importance.HIGH,
        validator: Validator | None = None,
        group: str | None = None,
        order: int | None = None,
        width: Width = Width.NONE,
        display_name: str | None = None,
        dependents: Iterable[str] = (),
        recommender: Recommender | None = None,
    ) -> Self:
        """Declare a key. Without a default it must be given; a default of None means unset.

        The validator does not see an unset value. `order` is the place in the group, by default
        the next one.
        """
        if name in self.keys:
            raise ConfigError(f"Configuration {name} is defined twice.")
        if default is not REQUIRED and default is not None:
            default = parse_value(name, default, type)
            if validator is not None:
                validator(name, default)
        if order is None:
            order = 1 + sum(k.group == group for k in self.keys.values()) if group else -1
        self.keys[name] = ConfigKey(
            name, type, default, doc, importance, validator, group, order, width,
            display_name or name, tuple(dependents), recommender,
        )  # fmt: skip
        return self

    @property
    def groups(self) -> list[str]:
        """The groups in the order in which they first appear."""
        return list(dict.fromkeys(k.group for k in self.keys.values() if k.group is not None))

    def including(self, other: ConfigDef, prefix: str = "", group: str | None = None) -> ConfigDef:
        """A new definition with another's keys after these, under a prefix if there is one."""
        added = [
            replace(
                k,
                name=prefix + k.name,
                group=group or k.group,
                dependents=tuple(prefix + d for d in k.dependents),
            )
            for k in other.keys.values()
        ]
        return ConfigDef([*self.keys.values(), *(k for k in added if k.name not in self.keys)])

    def embedding(self, other: ConfigDef, prefix: str, group: str, first_order: int) -> ConfigDef:
        """A new definition with a plugin's keys as one group: the most important come first.

        This is how the keys of a transform show up among the connector's. Validators are called
        with the plugin's own name of the key, so their messages name it without the prefix.
        """
        added = [
            replace(
                k,
                name=prefix + k.name,
                group=group,
                order_in_group=first_order + place,
                dependents=tuple(prefix + d for d in k.dependents),
                validator=k.validator and _under_own_name(k.validator, k.name),
                recommender=k.recommender and _within(k.recommender, prefix),
            )
            for place, k in enumerate(other.by_importance())
        ]
        return ConfigDef([*self.keys.values(), *(k for k in added if k.name not in self.keys)])

    def by_importance(self) -> list[ConfigKey]:
        """The keys as a reader wants them: by group, then required, important, by name."""
        groups = {name: place for place, name in enumerate(self.groups)}
        return sorted(
            self.keys.values(),
            key=lambda k: (
                -1 if k.group is None else groups[k.group],
                k.order_in_group,
                not k.required,
                _IMPORTANCE[k.importance],
                k.name,
            ),
        )

    def parse(self, props: Mapping[str, str | None]) -> Config:
        """Typed settings, or ConfigError for the first key that is missing or wrong."""
        parsed = {}
        for name, key in self.keys.items():
            parsed[name] = value = _value_of(key, props)
            _check(key, value, props)
        return Config({k: v for k, v in props.items() if v is not None}, parsed)

    def validate(self, props: Mapping[str, str | None]) -> dict[str, ConfigValue]:
        """Every declared key with its parsed value and all that is wrong with it.

        A value that could not be parsed is None, and the validator sees that too, so one wrong
        value may have two messages. Kafka counts them the same way.
        """
        values = {name: ConfigValue(name) for name in self.keys}
        for name, key in self.keys.items():
            value = values[name]
            try:
                value.value = _value_of(key, props)
            except ConfigError as error:
                value.errors.append(str(error))
            try:
                _check(key, value.value, props)
            except ConfigError as error:
                value.errors.append(str(error))
            except Exception as error:  # noqa: BLE001
                # A validator that trips over the None of a missing value has nothing to add.
                if value.value is not None:
                    value.error(f"{type(error).__name__}: {error}")
        settled = {name: value.value for name, value in values.items()}
        for name, key in self.keys.items():
            if key.recommender is not None:
                values[name].recommended = list(key.recommender(name, settled))
        return values


_IMPORTANCE = {Importance.HIGH: 0, Importance.MEDIUM: 1, Importance.LOW: 2}


def _check(key: ConfigKey, value: Any, props: Mapping[str, str | None]) -> None:
    if key.validator is not None and (key.name in props or key.default is not None):
        key.validator(key.name, value)


def _value_of(key: ConfigKey, props: Mapping[str, str | None]) -> Any:
    if key.name in props:
        return parse_value(key.name, props[key.name], key.type)
    if key.required:
        raise ConfigError(
            f'Missing required configuration "{key.name}" which has no default value.'
        )
    return key.default


def _under_own_name(validator: Validator, name: str) -> Validator:
    return lambda _, value: validator(name, value)


def _within(recommender: Recommender, prefix: str) -> Recommender:
    def recommend(name: str, values: Mapping[str, Any]) -> Sequence[Any]:
        own = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
        return recommender(name.removeprefix(prefix), own)

    return recommend


_COMMA = re.compile(r"\s*,\s*")
_INT_LIMITS = {
    ConfigType.SHORT: 2**15,
    ConfigType.INT: 2**31,
    ConfigType.LONG: 2**63,
}


def parse_value(name: str, value: Any, type: ConfigType) -> Any:
    """A value of the declared type from a string, or from Python when it is a default."""
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else value
    match type:
        case ConfigType.BOOLEAN:
            if isinstance(text, bool):
                return text
            lowered = str(text).lower()
            if lowered not in ("true", "false"):
                raise ConfigError(name, value, "Expected value to be either true or false")
            return lowered == "true"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            limit = _INT_LIMITS[type]
            number = _integer(text)
            if number is None or not -limit <= number < limit:
                raise ConfigError(name, value, f"Not a number of type {type.value}")
            return number
        case ConfigType.DOUBLE:
            try:
                return float(text)
            except (TypeError, ValueError):
                raise ConfigError(name, value, "Not a number of type DOUBLE") from None
        case ConfigType.LIST:
            if isinstance(text, (list, tuple)):
                return list(text)
            return _COMMA.split(text) if text else []
        case ConfigType.PASSWORD:
            return text if isinstance(text, Secret) else Secret(text)
        case ConfigType.STRING | ConfigType.CLASS:
            return text


def _integer(text: Any) -> int | None:
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    # int() also takes "1_000" and " 5", which Java refuses.
    return int(text) if isinstance(text, str) and re.fullmatch(r"[+-]?\d+", text) else None


def show_value(value: Any, type: ConfigType) -> str | None:
    """A parsed value as REST answers show it; a secret as [hidden]."""
    if value is None or value is REQUIRED:
        return None
    match type:
        case ConfigType.BOOLEAN:
            return "true" if value else "false"
        case ConfigType.LIST:
            return ",".join(str(item) for item in value)
        case _:
            return str(value)
