"""Where in a topic's directory a record goes, and the record's time."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from connect import Config, ConfigError, ConnectError, DataError, SinkRecord
from connect.data.logical import datetime_from_millis, datetime_to_millis
from connect.javalang.dateformat import DatePatternError, SimpleDateFormat
from connectors.files.settings import EXTRACTORS, PARTITIONERS, short_name, zone_of

Directory = Callable[[SinkRecord], str]
Clock = Callable[[SinkRecord], int]

_QUOTED = re.compile(r"('(?:[^']|'')*')")
_DAY_MS = 86_400_000


def record_clock(config: Config) -> Clock:
    """A record's time in milliseconds, as timestamp.extractor says."""
    match short_name(config["timestamp.extractor"], EXTRACTORS, "timestampextractor"):
        case "wallclock":
            return lambda _: time.time_ns() // 1_000_000
        case "recordfield":
            name = config["timestamp.field"]
            return lambda record: _millis(field_of(record, name), name)
    return _of_kafka


def _of_kafka(record: SinkRecord) -> int:
    if record.timestamp is None:
        raise DataError("The record has no timestamp: use timestamp.extractor=recordfield")
    return record.timestamp


def field_of(record: SinkRecord, path: str) -> Any:
    """A field of the value, also of a struct inside of it: `a.b`."""
    value = record.value
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        raise DataError(f"The record has no field {path}")
    return value


def _millis(value: Any, name: str) -> int:
    try:
        match value:
            case dt.datetime():
                return datetime_to_millis(value)
            case dt.date():
                return datetime_to_millis(dt.datetime.combine(value, dt.time(), dt.UTC))
            case bool():
                pass
            case int():
                return value
            case str():
                moment = dt.datetime.fromisoformat(value)
                zoned = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
                return datetime_to_millis(zoned)
    except ValueError as error:
        raise DataError(f"The field {name} has no time in it: {error}") from error
    raise DataError(f"The field {name} has no time in it: {value!r}")


def directory(config: Config, clock: Clock) -> Directory:
    """The part of the path between a topic's directory and the file."""
    match short_name(config["partitioner.class"], PARTITIONERS, "partitioner"):
        case "field":
            names: list[str] = config["partition.field.name"]
            return lambda record: "/".join(
                f"{name}={_safe(field_of(record, name))}" for name in names
            )
        case "timebased":
            return _by_time(config["path.format"], config["partition.duration.ms"], config, clock)
        case "daily":
            return _by_time("'year'=YYYY/'month'=MM/'day'=dd", _DAY_MS, config, clock)
        case "hourly":
            return _by_time("'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", 3_600_000, config, clock)
    return lambda record: f"partition={record.original_partition}"


def _safe(value: Any) -> str:
    if isinstance(value, (dict, list, bytes, float)):
        raise DataError(f"A {type(value).__name__} can't name a directory")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    # A value must not climb to another directory, nor make one of its own.
    return quote(text, safe=" !#$&'()+,-.:;=@[]^_`{}~") if text not in ("", ".", "..") else "%"


def _by_time(pattern: str, duration: int, config: Config, clock: Clock) -> Directory:
    zone: ZoneInfo = zone_of(config["timezone"])
    try:
        written = SimpleDateFormat(_as_java(pattern))
    except DatePatternError as error:
        raise ConfigError("path.format", pattern, str(error)) from error

    def name(record: SinkRecord) -> str:
        millis = clock(record)
        local = millis + _shift(millis, zone)
        return written.format(local - local % duration)

    return name


def _as_java(pattern: str) -> str:
    """The S3 sink's patterns are Joda's, whose Y is the year; SimpleDateFormat's is of weeks."""
    parts = _QUOTED.split(pattern)
    return "".join(
        part if part.startswith("'") else part.replace("Y", "y").replace("x", "y") for part in parts
    )


def _shift(millis: int, zone: ZoneInfo) -> int:
    offset = datetime_from_millis(millis).astimezone(zone).utcoffset()
    if offset is None:
        raise ConnectError(f"The zone {zone.key} has no offset")
    return offset // dt.timedelta(milliseconds=1)
