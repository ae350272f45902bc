"""Subjects: under which name a schema is registered."""

from __future__ import annotations

from collections.abc import Callable

from connect import DataError

# From topic and the schema's own name to the subject.
SubjectNameStrategy = Callable[[str, str | None], str]


def subject_name_strategy(class_name: str, *, is_key: bool) -> SubjectNameStrategy:
    """The strategy of a Confluent class name."""
    ending = "-key" if is_key else "-value"

    def by_topic(topic: str, _record: str | None) -> str:
        return topic + ending

    def by_record(_topic: str, record: str | None) -> str:
        if record is None:
            raise DataError(
                "RecordNameStrategy needs a named record, but the schema has no name: use "
                "TopicNameStrategy, or name it with the transform SetSchemaMetadata"
            )
        return record

    def by_topic_and_record(topic: str, record: str | None) -> str:
        return f"{topic}-{by_record(topic, record)}"

    return {
        "TopicNameStrategy": by_topic,
        "RecordNameStrategy": by_record,
        "TopicRecordNameStrategy": by_topic_and_record,
    }[class_name.rpartition(".")[2]]
