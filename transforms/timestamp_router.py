"""TimestampRouter: puts the record's time into the name of its topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from connect import Config, ConfigDef, ConfigError, DataError, Transformation
from connect.javalang.dateformat import DatePatternError, SimpleDateFormat
from connect.records import R

# A pattern that has none of the first letters gives the same text for the milliseconds that
# follow them. Letters in quotes count as well: that costs a little time and does no harm.
_GRAINS = (("S", 1), ("s", 1_000), ("m", 60_000), ("HhKka", 3_600_000), ("", 86_400_000))
MAX_TOPICS = 10_000


def _valid_format(name: str, pattern: str | None) -> None:
    try:
        SimpleDateFormat(pattern or "")
    except DatePatternError as error:
        raise ConfigError(name, pattern, str(error)) from error


class TimestampRouter(Transformation[R], Generic[R]):
    """Renames topics by the record's timestamp."""

    config_def = (
        ConfigDef()
        .define(
            "topic.format",
            default="${topic}-${timestamp}",
            doc="The topic's new name, where ${topic} stands for the old one and ${timestamp} "
            "for the record's time.",
        )
        .define(
            "timestamp.format",
            default="yyyyMMdd",
            validator=_valid_format,
            doc="How the time is written, in the notation of Java's SimpleDateFormat, in UTC.",
        )
    )

    def configure(self, config: Config) -> None:
        self._topic_format: str = config["topic.format"]
        pattern: str = config["timestamp.format"]
        self._format = SimpleDateFormat(pattern)
        self._grain = next(
            grain for letters, grain in _GRAINS if not letters or set(letters) & set(pattern)
        )
        self._topics: dict[tuple[str, int], str] = {}

    def apply(self, record: R) -> R | None:
        self.apply_batch((record,))
        return record

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        topics, grain = self._topics, self._grain
        for record in records:
            topic, timestamp = record.topic, record.timestamp
            if timestamp is None:
                raise DataError(
                    f"Timestamp missing on record: {type(record).__name__} of topic {topic}, "
                    f"partition {record.partition}"
                )
            record.topic = topics.get((topic, timestamp // grain)) or self._route(topic, timestamp)
        return [*records]

    def _route(self, topic: str, timestamp: int) -> str:
        if len(self._topics) >= MAX_TOPICS:
            self._topics.clear()
        new = self._topic_format.replace("${topic}", topic)
        new = new.replace("${timestamp}", self._format.format(timestamp))
        self._topics[topic, timestamp // self._grain] = new
        return new
