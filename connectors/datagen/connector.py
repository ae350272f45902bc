"""The Datagen connector: as many generating tasks as tasks.max allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from connect import (
    ConfigDef,
    ConfigValue,
    ConnectError,
    ExactlyOnceSupport,
    SourceConnector,
)
from connectors.datagen.generator import generator
from connectors.datagen.settings import CONFIG_DEF, SCHEMA_KEYS, schema_text
from connectors.datagen.task import ITERATION, TASK_ID, DatagenTask


class DatagenConnector(SourceConnector):
    """Makes up records. Each task makes its own, so tasks.max multiplies what comes out."""

    task_class = DatagenTask
    config_def: ClassVar[ConfigDef] = CONFIG_DEF

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self.config.raw, TASK_ID: str(number)} for number in range(max_tasks)]

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]) -> None:
        sources = [values[key] for key in SCHEMA_KEYS]
        given = [source for source in sources if source.value or source.errors]
        if len(given) != 1:
            for source in given or sources:
                source.errors.append(f"Must set exactly one of {', '.join(SCHEMA_KEYS)}")
        elif not given[0].errors:
            _check_key_field(values)

    def exactly_once_support(self) -> ExactlyOnceSupport:
        """Each record's offset is all it takes to go on behind it."""
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        for partition, offset in offsets:
            if offset is None:
                continue
            if partition is None or not _is_count(partition.get(TASK_ID)):
                raise ConnectError(
                    f"Partition objects should contain the key '{TASK_ID}' with a task's number, "
                    f"found {partition!r}"
                )
            if not _is_count(offset.get(ITERATION)):
                raise ConnectError(
                    f"Offset objects should either be null or contain the key '{ITERATION}' with a "
                    f"non-negative number of records, found {offset!r}"
                )
        return True


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_key_field(values: Mapping[str, ConfigValue]) -> None:
    key = values["schema.keyfield"]
    schema = generator(schema_text({name: value.value for name, value in values.items()})).schema
    if key.value and schema.field(key.value) is None:
        key.errors.append(
            "The schema does not contain the field provided in 'schema.keyfield': it has "
            + ", ".join(field.name for field in schema.fields)
        )
