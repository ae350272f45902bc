"""TimestampConverter: moments as text, numbers, Date, Time or Timestamp, one into the other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Generic

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    ConnectError,
    DataError,
    Importance,
    Schema,
    Type,
)
from connect.config.validators import one_of
from connect.data.logical import (
    date_from_days,
    date_to_days,
    datetime_from_millis,
    datetime_to_millis,
    time_from_millis,
    time_to_millis,
)
from connect.data.schema import DATE, TIME, TIMESTAMP
from connect.javalang.dateformat import DatePatternError, SimpleDateFormat, UnparseableDateError
from connect.records import R
from transforms.field_path import as_tree, define_field_syntax, parse_field_path
from transforms.key_or_value import (
    KeyOrValue,
    OnKey,
    OnValue,
    Plan,
    define_null_replacement,
)
from transforms.requirements import java_class
from transforms.struct_edit import EditTree, edit_map, edit_struct

PURPOSE = "converting timestamp formats"

DAY_MS = 86_400_000

# How many of a unit are a millisecond, or how many milliseconds are one.
_PER_MILLISECOND = {"nanoseconds": 1_000_000, "microseconds": 1_000, "milliseconds": 1}
_LONG = 2**63


def _valid_format(name: str, pattern: str | None) -> None:
    try:
        SimpleDateFormat(pattern or "")
    except DatePatternError as error:
        raise ConfigError(
            name,
            pattern,
            "TimestampConverter requires a SimpleDateFormat-compatible pattern for string "
            f"timestamps: {error}",
        ) from error


class TimestampConverter(KeyOrValue[R], Generic[R]):
    passes_null = False
    config_def = define_field_syntax(
        define_null_replacement(
            ConfigDef()
            .define(
                "field",
                default="",
                doc="The field that holds the timestamp; empty if the whole key or value is one.",
            )
            .define(
                "target.type",
                validator=one_of("string", "unix", "Date", "Time", "Timestamp"),
                doc="What the timestamp becomes: string, unix (a number), Date, Time or Timestamp.",
            )
            .define(
                "format",
                default="",
                validator=_valid_format,
                importance=Importance.MEDIUM,
                doc="The pattern of timestamps that are text, in the notation of Java's "
                "SimpleDateFormat, for reading as well as for writing. Times are UTC.",
            )
            .define(
                "unix.precision",
                default="milliseconds",
                validator=one_of("nanoseconds", "microseconds", "milliseconds", "seconds"),
                importance=Importance.LOW,
                doc="What numbers count since 1970: seconds, milliseconds, microseconds or "
                "nanoseconds. What is below a millisecond is lost.",
            )
        )
    )

    def configure(self, config: Config) -> None:
        self._replace_nulls: bool = config["replace.null.with.default"]
        self._target: str = config["target.type"]
        self._precision: str = config["unix.precision"]
        pattern: str = config["format"]
        if self._target == "string" and not pattern:
            raise ConfigError(
                "TimestampConverter requires format option to be specified when using string "
                "timestamps"
            )
        self._format = SimpleDateFormat(pattern) if pattern else None
        self._edits: EditTree | None = None
        if config["field"]:
            path = parse_field_path(config["field"], config)
            self._edits = as_tree("field", [(path, self._edit)])
        self._write = self._writer()

    def plan(self, schema: Schema | None) -> Plan:
        if self._edits is None:
            return self._edit(schema)
        if schema is None:
            convert = edit_map(self._edits, PURPOSE).convert
            return Plan(None, lambda value: None if value is None else convert(value))
        new_schema, convert, _ = edit_struct(
            schema, self._edits, PURPOSE, replace_nulls=self._replace_nulls, keep_flags=True
        )
        return Plan(new_schema, lambda value: None if value is None else convert(value))

    def _edit(self, schema: Schema | None) -> Plan:
        """What happens to the timestamp itself."""
        write = self._write
        if schema is None:
            return Plan(None, lambda value: None if value is None else write(self._millis(value)))
        read = self._reader(schema)
        new_schema = _TARGETS[self._target]
        if schema.optional:
            new_schema = new_schema.as_optional()
        if read is None:
            return Plan(new_schema, _refuser(schema))
        return Plan(new_schema, lambda value: None if value is None else write(read(value)))

    # -- reading ----------------------------------------------------------------------------

    def _reader(self, schema: Schema) -> Callable[[Any], int] | None:
        """From a value of this schema to milliseconds since the epoch; None if it is no time."""
        match schema.name, schema.type:
            case (name, Type.INT64) if name == TIMESTAMP:
                return datetime_to_millis
            case (name, Type.INT32) if name == DATE:
                return lambda value: date_to_days(value) * DAY_MS
            case (name, Type.INT32) if name == TIME:
                return time_to_millis
            case (_, Type.STRING):
                return self._parse
            case (_, Type.INT64):
                return self._from_unix
        return None

    def _millis(self, value: Any) -> int:
        """The same for a value without a schema."""
        if isinstance(value, str):
            return self._parse(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self._from_unix(value)
        if isinstance(value, dt.datetime):
            return datetime_to_millis(value)
        if isinstance(value, dt.date):
            return date_to_days(value) * DAY_MS
        if isinstance(value, dt.time):
            return time_to_millis(value)
        raise DataError(
            f"TimestampConverter does not support class {java_class(value)} objects as timestamps"
        )

    def _parse(self, text: str) -> int:
        if self._format is None:
            raise DataError(
                f"Could not parse timestamp: value ({text}) is text and no format is set. "
                "Say with the key format how it is written"
            )
        try:
            return self._format.parse(text)
        except UnparseableDateError as error:
            raise DataError(
                f"Could not parse timestamp: value ({text}) does not match pattern "
                f"({self._format.pattern})"
            ) from error

    def _from_unix(self, number: int) -> int:
        if self._precision == "seconds":
            # Too large a number stops at the end of Java's long.
            return max(-_LONG, min(number * 1000, _LONG - 1))
        divisor = _PER_MILLISECOND[self._precision]
        return number if divisor == 1 else _towards_zero(number, divisor)

    # -- writing ----------------------------------------------------------------------------

    def _writer(self) -> Callable[[int], Any]:
        """From milliseconds since the epoch to what is asked for."""
        if self._target == "string":
            assert self._format is not None
            return self._format.format
        if self._target == "unix":
            return self._to_unix
        return _WRITERS[self._target]

    def _to_unix(self, millis: int) -> int:
        if self._precision == "seconds":
            return _towards_zero(millis, 1000)
        number = millis * _PER_MILLISECOND[self._precision]
        return max(-_LONG, min(number, _LONG - 1))


def _refuser(schema: Schema) -> Callable[[Any], Any]:
    """Fails for whatever value; a struct that is null as a whole never gets so far."""

    def refuse(_value: Any) -> Any:
        raise ConnectError(f"Schema {schema} does not correspond to a known timestamp type format")

    return refuse


def _towards_zero(number: int, divisor: int) -> int:
    return number // divisor if number >= 0 else -(-number // divisor)


_TARGETS = {
    "string": Schema.STRING,
    "unix": Schema.INT64,
    "Date": Schema.date().build(),
    "Time": Schema.time().build(),
    "Timestamp": Schema.timestamp().build(),
}
_WRITERS: dict[str, Callable[[int], Any]] = {
    "Date": lambda millis: date_from_days(millis // DAY_MS),
    "Time": lambda millis: time_from_millis(millis % DAY_MS),
    "Timestamp": datetime_from_millis,
}


class TimestampConverterKey(OnKey[R], TimestampConverter[R]):
    """Converts the key or a field of it."""


class TimestampConverterValue(OnValue[R], TimestampConverter[R]):
    """Converts the value or a field of it."""
