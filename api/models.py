"""The shapes of requests and answers, for the OpenAPI documentation.

Requests are read by `api.bodies`, answers are built by `api.answers`; a test holds these models to
what they read and write.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

# msgspec tells the values of a Literal, and not that they are text.
TEXT = Meta(extra_json_schema={"type": "string"})

ConnectorType = Annotated[Literal["source", "sink", "unknown"], TEXT]
State = Annotated[
    Literal["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"], TEXT
]


class Error(Struct):
    error_code: Annotated[int, Meta(examples=[404])]
    message: Annotated[str, Meta(examples=["Connector orders not found"])]


class Worker(Struct):
    version: str
    commit: str
    kafka_cluster_id: str


class Health(Struct):
    status: Annotated[Literal["healthy", "starting", "unhealthy"], TEXT]
    message: str


class TaskRef(Struct):
    connector: str
    task: int


class Connector(Struct):
    name: Annotated[str, Meta(examples=["orders"])]
    config: dict[str, str]
    tasks: list[TaskRef]
    type: ConnectorType


class CreateConnector(Struct):
    name: Annotated[str, Meta(examples=["orders"])]
    config: Annotated[
        dict[str, str | int | float | bool | None],
        Meta(
            examples=[
                {"connector.class": "FileStreamSink", "topics": "orders", "file": "/tmp/orders"}  # noqa: S108
            ]
        ),
    ]
    initial_state: Annotated[Literal["RUNNING", "PAUSED", "STOPPED"], TEXT] | None = None


class ConnectorState(Struct):
    state: State
    worker_id: Annotated[str, Meta(examples=["127.0.0.1:8083"])]
    trace: str | None = None
    version: str | None = None


class TaskState(ConnectorState, kw_only=True):
    id: int


class ConnectorStatus(Struct):
    name: str
    connector: ConnectorState
    tasks: list[TaskState]
    type: ConnectorType


class ConnectorExpansion(Struct):
    info: Connector | None = None
    status: ConnectorStatus | None = None


class Task(Struct):
    id: TaskRef
    config: dict[str, str]


class Topics(Struct):
    topics: list[str]


class Offset(Struct):
    partition: Annotated[
        dict[str, Any] | None, Meta(examples=[{"kafka_topic": "orders", "kafka_partition": 0}])
    ]
    offset: Annotated[dict[str, Any] | None, Meta(examples=[{"kafka_offset": 42}])] = None


class Offsets(Struct):
    offsets: list[Offset]


class Message(Struct):
    message: str


class Plugin(Struct):
    class_: str = field(name="class")
    type: str
    version: str | None = None


class KeyDefinition(Struct):
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


class KeyValue(Struct):
    name: str
    value: str | None
    recommended_values: list[Any]
    errors: list[str]
    visible: bool


class ValidatedKey(Struct):
    definition: KeyDefinition | None
    value: KeyValue | None


class Validation(Struct):
    name: str
    error_count: int
    groups: list[str]
    configs: list[ValidatedKey]


class LoggerLevel(Struct):
    level: str | None
    last_modified: int | None


class SetLevel(Struct):
    level: Annotated[Literal["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"], TEXT]


class Sample(Struct):
    """A record to try a config with. For sinks as Kafka holds it: text, {"base64": …}, or JSON."""

    value: Any = None
    key: Any = None
    headers: dict[str, Any] | list[tuple[str, Any]] | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    valueSchema: dict[str, Any] | None = None  # noqa: N815
    keySchema: dict[str, Any] | None = None  # noqa: N815


class TransformRequest(Struct):
    config: dict[str, str | int | float | bool | None]
    records: list[Sample]


class TransformStep(Struct):
    """One of record, skipped and error says what happened. A record of null was dropped."""

    step: Annotated[str, Meta(examples=["value.converter", "transforms.mask"])]


class Transformed(Struct):
    steps: list[TransformStep]
    outcome: Annotated[Literal["passed", "dropped", "failed"], TEXT]
