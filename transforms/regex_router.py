"""RegexRouter: renames topics by a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from connect import Config, ConfigDef, DataError, Transformation
from connect.javalang.regex import ReplacementError, compile_java
from connect.records import R
from transforms.java_patterns import remember, valid_regex


class RegexRouter(Transformation[R], Generic[R]):
    """Sends records of topics whose whole name matches to the topic that the replacement makes."""

    config_def = (
        ConfigDef()
        .define(
            "regex",
            validator=valid_regex,
            doc="A regular expression, in Java's dialect. Topics whose whole name matches are "
            "renamed, others are left alone.",
        )
        .define(
            "replacement",
            doc="The new name. $1 stands for the first group of the match, ${name} for the one "
            "of that name.",
        )
    )

    def configure(self, config: Config) -> None:
        self._pattern = compile_java(config["regex"])
        self._replacement: str = config["replacement"]
        self._routes: dict[str, str] = {}

    def apply(self, record: R) -> R | None:
        topic = record.topic
        record.topic = self._routes.get(topic) or self._route(topic)
        return record

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        routes = self._routes
        for record in records:
            topic = record.topic
            record.topic = routes.get(topic) or self._route(topic)
        return [*records]

    def _route(self, topic: str) -> str:
        new = topic
        if self._pattern.matches(topic):
            try:
                new = self._pattern.replace_first(topic, self._replacement)
            except ReplacementError as error:
                raise DataError(
                    f"{error}: the replacement {self._replacement!r} does not fit the pattern "
                    f"{self._pattern.pattern!r}"
                ) from error
        return remember(self._routes, topic, new)
