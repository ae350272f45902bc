"""Predicates: which records a transform applies to."""

from __future__ import annotations

from typing import Generic

from connect import Config, ConfigDef, Importance, Predicate
from connect.config.validators import all_of, non_empty
from connect.javalang.regex import compile_java
from connect.records import R
from transforms.java_patterns import remember, valid_regex


class HasHeaderKey(Predicate[R], Generic[R]):
    """Picks records that have a header of a given name."""

    config_def = ConfigDef().define(
        "name", validator=non_empty, importance=Importance.MEDIUM, doc="The header's name."
    )

    def configure(self, config: Config) -> None:
        self._name: str = config["name"]

    def test(self, record: R) -> bool:
        name = self._name
        return any(header.name == name for header in record.headers)


class RecordIsTombstone(Predicate[R], Generic[R]):
    """Picks records whose value is null."""

    def test(self, record: R) -> bool:
        return record.value is None


class TopicNameMatches(Predicate[R], Generic[R]):
    """Picks records of topics whose whole name matches a pattern."""

    config_def = ConfigDef().define(
        "pattern",
        validator=all_of(non_empty, valid_regex),
        importance=Importance.MEDIUM,
        doc="A regular expression, in Java's dialect, that the whole name of the topic matches.",
    )

    def configure(self, config: Config) -> None:
        self._matches = compile_java(config["pattern"]).matches
        self._answers: dict[str, bool] = {}

    def test(self, record: R) -> bool:
        topic = record.topic
        answer = self._answers.get(topic)
        if answer is None:
            answer = remember(self._answers, topic, self._matches(topic))
        return answer
