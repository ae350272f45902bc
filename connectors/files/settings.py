"""The files sink's config keys: those of the Confluent S3 sink, and where files go."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from connect import Config, ConfigDef, ConfigError, ConfigType, ConfigValue, Importance
from connect.config.validators import at_least, one_of_ignoring_case

_INT, _LONG, _LIST, _PASSWORD = (
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.LIST,
    ConfigType.PASSWORD,
)
_LOW, _MEDIUM = Importance.LOW, Importance.MEDIUM

FORMATS = ("parquet", "avro", "json", "csv")
PARTITIONERS = ("default", "field", "timebased", "daily", "hourly")
EXTRACTORS = ("wallclock", "record", "recordfield")


def short_name(value: str, known: tuple[str, ...], *endings: str) -> str | None:
    """The name that a class of the JVM's connector stands for: …ParquetFormat is parquet."""
    name = value.rpartition(".")[2].lower()
    for ending in endings:
        name = name.removesuffix(ending)
    return name if name in known else None


def _named(known: tuple[str, ...], *endings: str) -> Any:
    def check(key: str, value: Any) -> None:
        if value is not None and short_name(value, known, *endings) is None:
            raise ConfigError(key, value, f"is none of {', '.join(known)}")

    return check


FILES_CONFIG = (
    ConfigDef()
    .define(
        "files.url",
        default=None,
        doc="Where files go: a directory, or a URL that fsspec knows, such as `s3://bucket/path`, "
        "`gs://…` or `abfs://…`.",
        group="Place",
    )
    .define(
        "s3.bucket.name",
        default=None,
        doc="The S3 sink's way to say files.url=s3://bucket.",
        group="Place",
    )
    .define(
        "s3.region",
        default=None,
        doc="The region of the bucket.",
        importance=_MEDIUM,
        group="Place",
    )
    .define(
        "store.url",
        default=None,
        doc="The address of a service that speaks S3 and is not Amazon's.",
        importance=_LOW,
        group="Place",
    )
    .define(
        "aws.access.key.id",
        default=None,
        doc="The access key; without it, where AWS tools look for one.",
        importance=_MEDIUM,
        group="Place",
    )
    .define(
        "aws.secret.access.key",
        _PASSWORD,
        None,
        doc="The secret of the access key.",
        importance=_MEDIUM,
        group="Place",
    )
    .define(
        "topics.dir",
        default="topics",
        doc="The directory below it in which every topic has its own.",
        group="Place",
    )
    .define(
        "format.class",
        default="json",
        doc=f"The format: {', '.join(FORMATS)}, or a class of the S3 sink's.",
        validator=_named(FORMATS, "format"),
        group="Files",
    )
    .define(
        "compression.type",
        default=None,
        doc="The compression. For Parquet snappy (the default), gzip, zstd, lz4, none; for Avro "
        "deflate (the default), snappy, none; for JSON and CSV none (the default), gzip.",
        importance=_MEDIUM,
        group="Files",
    )
    .define(
        "flush.size",
        _INT,
        doc="How many records of one Kafka partition are written out together.",
        validator=at_least(1),
        group="Files",
    )
    .define(
        "rotate.interval.ms",
        _LONG,
        -1,
        doc="How far apart in time the records of one file may be, by the records' own time; -1: "
        "no limit.",
        validator=at_least(-1),
        group="Files",
    )
    .define(
        "rotate.schedule.interval.ms",
        _LONG,
        -1,
        doc="How long records may wait to be written, by the clock; -1: for ever. A file's "
        "records then depend on when they were read, so after a crash some can be there twice.",
        importance=_MEDIUM,
        validator=at_least(-1),
        group="Files",
    )
    .define(
        "file.delim",
        default="+",
        doc="What parts topic, partition and offset in a file's name.",
        importance=_LOW,
        group="Files",
    )
    .define(
        "filename.offset.zero.pad.width",
        _INT,
        10,
        doc="How many digits offsets have in a file's name.",
        importance=_LOW,
        validator=at_least(0),
        group="Files",
    )
    .define(
        "behavior.on.null.values",
        default="ignore",
        doc="What becomes of records without a value: `ignore`, or `fail`.",
        importance=_LOW,
        validator=one_of_ignoring_case("ignore", "fail"),
        group="Files",
    )
    .define(
        "partitioner.class",
        default="default",
        doc=f"What directories a topic has: {', '.join(PARTITIONERS)}, or a class of the S3 "
        "sink's. `default` is partition=N, `field` the values of fields.",
        validator=_named(PARTITIONERS, "partitioner"),
        group="Directories",
    )
    .define(
        "partition.field.name",
        _LIST,
        "",
        doc="The fields of the value, for `field`.",
        importance=_MEDIUM,
        group="Directories",
    )
    .define(
        "path.format",
        default="'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH",
        doc="The directories, for `timebased`, as a date pattern.",
        importance=_MEDIUM,
        group="Directories",
    )
    .define(
        "partition.duration.ms",
        _LONG,
        3_600_000,
        doc="The time that one of them spans, for `timebased`.",
        importance=_MEDIUM,
        validator=at_least(1),
        group="Directories",
    )
    .define(
        "timezone",
        default="UTC",
        doc="The zone of these directories.",
        importance=_MEDIUM,
        group="Directories",
    )
    .define(
        "timestamp.extractor",
        default="record",
        doc="A record's time: `record`, its timestamp in Kafka; `recordfield`, the field that "
        "timestamp.field names; `wallclock`, when it is read, which makes a repeated record land "
        "elsewhere.",
        importance=_MEDIUM,
        validator=_named(EXTRACTORS, "timestampextractor"),
        group="Directories",
    )
    .define(
        "timestamp.field",
        default="timestamp",
        doc="The field with a record's time: a timestamp, milliseconds, or a text in ISO 8601.",
        importance=_MEDIUM,
        group="Directories",
    )
    .define(
        "retry.backoff.ms",
        _LONG,
        5000,
        doc="How long to wait when a file could not be written.",
        importance=_LOW,
        validator=at_least(0),
        group="Files",
    )
)

_COMPRESSIONS = {
    "parquet": ("snappy", "gzip", "zstd", "lz4", "none"),
    "avro": ("deflate", "snappy", "none"),
    "json": ("none", "gzip"),
    "csv": ("none", "gzip"),
}


def compression(config: Config) -> str:
    format_name = short_name(config["format.class"], FORMATS, "format")
    assert format_name is not None
    given = config["compression.type"]
    return given.lower() if given else _COMPRESSIONS[format_name][0]


def zone_of(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            "timezone", name, "is no time zone: use a name such as UTC or Europe/Berlin"
        ) from error


def check_files(values: dict[str, ConfigValue]) -> None:
    """What single keys can't show."""
    if not values["files.url"].value and not values["s3.bucket.name"].value:
        values["files.url"].error("Say where files go: files.url, or s3.bucket.name")
    format_name = short_name(values["format.class"].value or "", FORMATS, "format")
    given = values["compression.type"].value
    if given and format_name and given.lower() not in _COMPRESSIONS[format_name]:
        values["compression.type"].error(
            f"{format_name} files can have {', '.join(_COMPRESSIONS[format_name])}"
        )
    partitioner = short_name(values["partitioner.class"].value or "", PARTITIONERS, "partitioner")
    if partitioner == "field" and not values["partition.field.name"].value:
        values["partition.field.name"].error("The field partitioner needs fields")
    try:
        zone_of(values["timezone"].value or "UTC")
    except ConfigError as error:
        values["timezone"].errors.append(str(error))
