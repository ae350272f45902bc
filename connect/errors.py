"""Everything that can go wrong, as one tree.

ConnectError                    a task, connector or the framework failed; not retriable
├── RetriableError              try the same again later
├── DataError                   a record does not fit: its bytes, its schema, a field
│   ├── SchemaBuildError        a schema was put together wrongly
│   └── SchemaProjectionError   a value can't be moved to another schema
├── SerializationError          bytes could not be read or written by a format's library
├── ConfigError                 a config key is missing or wrong; names key, value and reason
├── NotFoundError               no such connector, task, plugin or topic
├── AlreadyExistsError          the name is taken
├── UnsupportedError            this plugin does not offer what was asked of it
├── WorkerStateError            called at a time when it can't be done (before start, after stop)
└── MissingExtraError           an optional dependency is not installed; names the extra

`java_name` is what the Kafka Connect of the JVM calls the same failure. It goes into the
dead-letter headers, so that filters written for those go on working.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

_CONNECT = "org.apache.kafka.connect.errors."


class ConnectError(Exception):
    """A failure that trying again will not mend."""

    java_name: ClassVar[str] = _CONNECT + "ConnectException"


class RetriableError(ConnectError):
    """A failure that may be gone at the next attempt: a timeout, a lost connection."""

    java_name = _CONNECT + "RetriableException"


class DataError(ConnectError):
    """A record is not what it should be. With errors.tolerance=all it becomes a dead letter."""

    java_name = _CONNECT + "DataException"


class SchemaBuildError(DataError):
    java_name = _CONNECT + "SchemaBuilderException"


class SchemaProjectionError(DataError):
    java_name = _CONNECT + "SchemaProjectorException"


class SerializationError(ConnectError):
    java_name = "org.apache.kafka.common.errors.SerializationException"


class ConfigError(ConnectError):
    """A key of a config is missing or wrong.

    With a key, the text is Kafka's: `Invalid value V for configuration K: reason`. Never pass a
    secret as value: pass the `Secret`, which prints as [hidden].
    """

    java_name = "org.apache.kafka.common.config.ConfigException"

    def __init__(self, key_or_message: str, value: Any = None, reason: str | None = None) -> None:
        self.key = key_or_message if reason is not None else None
        self.value = value
        self.reason = reason
        if reason is None:
            super().__init__(key_or_message)
        else:
            super().__init__(
                f"Invalid value {_shown(value)} for configuration {key_or_message}: {reason}"
            )

    def __reduce__(self) -> tuple[type[ConfigError], tuple[Any, ...]]:
        if self.reason is None:
            return type(self), (str(self),)
        return type(self), (self.key, self.value, self.reason)


def _shown(value: Any) -> str:
    """A value as Kafka's messages write it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value)


class NotFoundError(ConnectError):
    java_name = _CONNECT + "NotFoundException"


class AlreadyExistsError(ConnectError):
    java_name = _CONNECT + "AlreadyExistsException"


class UnsupportedError(ConnectError):
    java_name = "java.lang.UnsupportedOperationException"


class WorkerStateError(ConnectError):
    java_name = _CONNECT + "IllegalWorkerStateException"


class MissingExtraError(ConnectError):
    """An optional dependency is needed and not installed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        self.extra = extra
        self.needed_for = needed_for
        super().__init__(f"{needed_for} needs the extra '{extra}': pip install 'penstock[{extra}]'")

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.extra, self.needed_for)


def may_blame_record(error: BaseException) -> bool:
    """Whether what put() raised may be the fault of a record in its batch.

    Who raises a ConnectError has the choice of DataError: any other says that no record is to
    blame. Errors of Python and of libraries say nothing.
    """
    return isinstance(error, (DataError, SerializationError)) or not isinstance(error, ConnectError)


def class_name_of(error: BaseException) -> str:
    """The name under which an error is reported: the JVM's for ours, Python's own for others.

    A class outside of this module has a JVM name if it says so itself; it inherits none.
    """
    return _name_of(type(error))  # type: ignore[arg-type] # classes can be hashed


@lru_cache(1024)
def _name_of(kind: type[BaseException]) -> str:
    java_name = getattr(kind, "java_name", None)
    if java_name is not None and (kind.__module__ == __name__ or "java_name" in vars(kind)):
        return str(java_name)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
