"""The plugins that come with Penstock, as a table, so that listing them imports none of them."""

from __future__ import annotations

import functools
from importlib import metadata

from connect.plugins.info import PluginInfo, PluginType, aliases_of

_APACHE = "org.apache.kafka.connect."
_CONFLUENT = "io.confluent."
_APICURIO = "io.apicurio.registry.utils.converter."

# Ours, then the classes of the JVM's world that existing configs name. The first of those is
# shown to clients.
_CONNECTORS = {
    PluginType.SOURCE: {
        "connectors.file.source:FileStreamSourceConnector": [
            _APACHE + "file.FileStreamSourceConnector"
        ],
        "connectors.datagen:DatagenConnector": [
            _CONFLUENT + "kafka.connect.datagen.DatagenConnector"
        ],
        "connectors.jdbc.source:JdbcSourceConnector": [
            _CONFLUENT + "connect.jdbc.JdbcSourceConnector",
            "io.aiven.connect.jdbc.JdbcSourceConnector",
        ],
    },
    PluginType.SINK: {
        "connectors.file.sink:FileStreamSinkConnector": [_APACHE + "file.FileStreamSinkConnector"],
        "connectors.http.sink:HttpSinkConnector": [
            _CONFLUENT + "connect.http.HttpSinkConnector",
            "io.aiven.kafka.connect.http.HttpSinkConnector",
        ],
        "connectors.files.sink:FilesSinkConnector": [
            _CONFLUENT + "connect.s3.S3SinkConnector",
        ],
        "connectors.jdbc.sink:JdbcSinkConnector": [
            _CONFLUENT + "connect.jdbc.JdbcSinkConnector",
            "io.debezium.connector.jdbc.JdbcSinkConnector",
            "io.aiven.connect.jdbc.JdbcSinkConnector",
        ],
        "spark_sink.connector:SparkSinkConnector": [],
    },
}

# Each of these also converts headers, as in the JVM.
_CONVERTERS = {
    "converters.json:JsonConverter": [_APACHE + "json.JsonConverter"],
    "converters.string:StringConverter": [_APACHE + "storage.StringConverter"],
    "converters.byte_array:ByteArrayConverter": [_APACHE + "converters.ByteArrayConverter"],
    "converters.boolean:BooleanConverter": [_APACHE + "converters.BooleanConverter"],
    "converters.numbers:ShortConverter": [_APACHE + "converters.ShortConverter"],
    "converters.numbers:IntegerConverter": [_APACHE + "converters.IntegerConverter"],
    "converters.numbers:LongConverter": [_APACHE + "converters.LongConverter"],
    "converters.numbers:FloatConverter": [_APACHE + "converters.FloatConverter"],
    "converters.numbers:DoubleConverter": [_APACHE + "converters.DoubleConverter"],
}

_REGISTRY_CONVERTERS = {
    "converters.avro:AvroConverter": [
        _CONFLUENT + "connect.avro.AvroConverter",
        _APICURIO + "AvroConverter",
    ],
    "converters.protobuf:ProtobufConverter": [
        _CONFLUENT + "connect.protobuf.ProtobufConverter",
        _APICURIO + "ProtobufConverter",
    ],
    "converters.json_schema:JsonSchemaConverter": [
        _CONFLUENT + "connect.json.JsonSchemaConverter",
        _APICURIO + "ExtJsonConverter",
    ],
}

_HEADER_CONVERTERS = {
    "converters.simple_header:SimpleHeaderConverter": [_APACHE + "storage.SimpleHeaderConverter"]
}

# Transforms that work on the key or the value have a class for either, `CastKey`, `CastValue`.
_KEY_OR_VALUE = {
    "cast": "Cast",
    "extract_field": "ExtractField",
    "flatten": "Flatten",
    "header_from": "HeaderFrom",
    "hoist_field": "HoistField",
    "insert_field": "InsertField",
    "mask_field": "MaskField",
    "replace_field": "ReplaceField",
    "set_schema_metadata": "SetSchemaMetadata",
    "timestamp_converter": "TimestampConverter",
}

_TRANSFORMS = {
    f"transforms.{module}:{simple}{side}": [f"{_APACHE}transforms.{simple}${side}"]
    for module, simple in _KEY_OR_VALUE.items()
    for side in ("Key", "Value")
} | {
    "transforms.drop_headers:DropHeaders": [_APACHE + "transforms.DropHeaders"],
    "transforms.filter:Filter": [_APACHE + "transforms.Filter"],
    "transforms.insert_header:InsertHeader": [_APACHE + "transforms.InsertHeader"],
    "transforms.regex_router:RegexRouter": [_APACHE + "transforms.RegexRouter"],
    "transforms.timestamp_router:TimestampRouter": [_APACHE + "transforms.TimestampRouter"],
    "transforms.value_to_key:ValueToKey": [_APACHE + "transforms.ValueToKey"],
    "transforms.extract_new_record_state:ExtractNewRecordState": [
        "io.debezium.transforms.ExtractNewRecordState"
    ],
    "transforms.event_router:EventRouter": ["io.debezium.transforms.outbox.EventRouter"],
    "transforms.filter_by_field:FilterByFieldKey": [],
    "transforms.filter_by_field:FilterByFieldValue": [],
    "transforms.python:PythonTransform": [],
}

_PREDICATES = {
    f"transforms.predicates:{name}": [f"{_APACHE}transforms.predicates.{name}"]
    for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
}

_CONFIG_PROVIDERS = {
    f"connect.config.providers:{name}": [f"org.apache.kafka.common.config.provider.{name}"]
    for name in ("FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider")
}

_TABLES: dict[PluginType, dict[str, list[str]]] = {
    **_CONNECTORS,
    PluginType.CONVERTER: _CONVERTERS | _REGISTRY_CONVERTERS,
    PluginType.HEADER_CONVERTER: _CONVERTERS | _HEADER_CONVERTERS,
    PluginType.TRANSFORMATION: _TRANSFORMS,
    PluginType.PREDICATE: _PREDICATES,
    PluginType.CONFIG_PROVIDER: _CONFIG_PROVIDERS,
}


@functools.cache
def builtin_plugins() -> tuple[PluginInfo, ...]:
    """Every built-in plugin. They all have the version of Penstock."""
    return tuple(
        _info(type_, ours, theirs)
        for type_, table in _TABLES.items()
        for ours, theirs in table.items()
    )


def _info(type_: PluginType, python_name: str, names: list[str]) -> PluginInfo:
    shown = names[0] if names else python_name.replace(":", ".")
    aliases = [a for name in [*names, python_name] for a in aliases_of(name, type_)]
    return PluginInfo(
        type_,
        shown,
        python_name,
        penstock_version(),
        tuple(dict.fromkeys([*names[1:], *aliases])),
    )


@functools.cache
def penstock_version() -> str | None:
    """Penstock's own version, None when it runs from a source tree that was never installed."""
    try:
        return metadata.version("penstock")
    except metadata.PackageNotFoundError:
        return None
