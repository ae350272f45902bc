"""The shapes of requests and answers, for the OpenAPI documentation.

Requests are read by `api.bodies`, answers are built by `api.answers`; a test holds these models to
what they read and write.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ConnectorType = Literal["source", "sink", "unknown"]
State = Literal["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"]


class Error(BaseModel):
    error_code: int = Field(examples=[404])
    message: str = Field(examples=["Connector orders not found"])


class Worker(BaseModel):
    version: str
    commit: str
    kafka_cluster_id: str


class Health(BaseModel):
    status: Literal["healthy", "starting", "unhealthy"]
    message: str


class TaskRef(BaseModel):
    connector: str
    task: int


class Connector(BaseModel):
    name: str = Field(examples=["orders"])
    config: dict[str, str]
    tasks: list[TaskRef]
    type: ConnectorType


class CreateConnector(BaseModel):
    name: str = Field(examples=["orders"])
    config: dict[str, str | int | float | bool | None] = Field(
        examples=[{"connector.class": "FileStreamSink", "topics": "orders", "file": "/tmp/orders"}]  # noqa: S108
    )
    initial_state: Literal["RUNNING", "PAUSED", "STOPPED"] | None = None


class ConnectorState(BaseModel):
    state: State
    worker_id: str = Field(examples=["127.0.0.1:8083"])
    trace: str | None = None
    version: str | None = None


class TaskState(ConnectorState):
    id: int


class ConnectorStatus(BaseModel):
    name: str
    connector: ConnectorState
    tasks: list[TaskState]
    type: ConnectorType


class ConnectorExpansion(BaseModel):
    info: Connector | None = None
    status: ConnectorStatus | None = None


class Task(BaseModel):
    id: TaskRef
    config: dict[str, str]


class Topics(BaseModel):
    topics: list[str]


class Offset(BaseModel):
    partition: dict[str, Any] | None = Field(
        examples=[{"kafka_topic": "orders", "kafka_partition": 0}]
    )
    offset: dict[str, Any] | None = Field(default=None, examples=[{"kafka_offset": 42}])


class Offsets(BaseModel):
    offsets: list[Offset]


class Message(BaseModel):
    message: str


class Plugin(BaseModel):
    model_config = {"populate_by_name": True}

    class_: str = Field(alias="class")
    type: str
    version: str | None = None


class KeyDefinition(BaseModel):
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


class KeyValue(BaseModel):
    name: str
    value: str | None
    recommended_values: list[Any]
    errors: list[str]
    visible: bool


class ValidatedKey(BaseModel):
    definition: KeyDefinition | None
    value: KeyValue | None


class Validation(BaseModel):
    name: str
    error_count: int
    groups: list[str]
    configs: list[ValidatedKey]


class LoggerLevel(BaseModel):
    level: str | None
    last_modified: int | None


class SetLevel(BaseModel):
    level: Literal["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"]


class Sample(BaseModel):
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


class TransformRequest(BaseModel):
    config: dict[str, str | int | float | bool | None]
    records: list[Sample]


class TransformStep(BaseModel):
    """One of record, skipped and error says what happened. A record of null was dropped."""

    model_config = ConfigDict(extra="allow")

    step: str = Field(examples=["value.converter", "transforms.mask"])


class Transformed(BaseModel):
    steps: list[TransformStep]
    outcome: Literal["passed", "dropped", "failed"]
