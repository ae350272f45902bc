"""The plugin API of Penstock: everything a connector, converter or transform needs.

    from connect import ConfigDef, SinkConnector, SinkTask

What is named here is public and stays; everything else may change. docs/writing-a-connector.md
is the way in.
"""

from connect.config.configdef import (
    REQUIRED,
    Config,
    ConfigDef,
    ConfigType,
    ConfigValue,
    Importance,
    Width,
)
from connect.config.secret import Secret
from connect.data.columns import Columns
from connect.data.headers import Header, Headers
from connect.data.schema import Field, Schema, SchemaAndValue, SchemaBuilder, Type
from connect.errors import (
    AlreadyExistsError,
    ConfigError,
    ConnectError,
    DataError,
    MissingExtraError,
    NotFoundError,
    RetriableError,
    SchemaBuildError,
    SchemaProjectionError,
    SerializationError,
    UnsupportedError,
    WorkerStateError,
)
from connect.plugin import (
    ConfigProvider,
    Connector,
    ConnectorContext,
    Converter,
    ErrantRecordReporter,
    ExactlyOnceSupport,
    ExternalSinkTask,
    HeaderConverter,
    Predicate,
    SinkConnector,
    SinkTask,
    SinkTaskContext,
    SourceConnector,
    SourceTask,
    SourceTaskContext,
    Task,
    TopicPartition,
    TransactionContext,
    Transformation,
)
from connect.records import Record, SinkBatch, SinkRecord, SourceBatch, SourceRecord, TimestampType
from connect.rest import ClusterState, RestContext, RestExtension

__all__ = [
    "REQUIRED",
    "AlreadyExistsError",
    "ClusterState",
    "Columns",
    "Config",
    "ConfigDef",
    "ConfigError",
    "ConfigProvider",
    "ConfigType",
    "ConfigValue",
    "ConnectError",
    "Connector",
    "ConnectorContext",
    "Converter",
    "DataError",
    "ErrantRecordReporter",
    "ExactlyOnceSupport",
    "ExternalSinkTask",
    "Field",
    "Header",
    "HeaderConverter",
    "Headers",
    "Importance",
    "MissingExtraError",
    "NotFoundError",
    "Predicate",
    "Record",
    "RestContext",
    "RestExtension",
    "RetriableError",
    "Schema",
    "SchemaAndValue",
    "SchemaBuildError",
    "SchemaBuilder",
    "SchemaProjectionError",
    "Secret",
    "SerializationError",
    "SinkBatch",
    "SinkConnector",
    "SinkRecord",
    "SinkTask",
    "SinkTaskContext",
    "SourceBatch",
    "SourceConnector",
    "SourceRecord",
    "SourceTask",
    "SourceTaskContext",
    "Task",
    "TimestampType",
    "TopicPartition",
    "TransactionContext",
    "Transformation",
    "Type",
    "UnsupportedError",
    "Width",
    "WorkerStateError",
]
