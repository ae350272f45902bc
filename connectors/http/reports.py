"""What a service answered, as records of Kafka topics."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import httpx
from confluent_kafka import KafkaError, KafkaException, Producer

from connect import Config, ConfigError, ConnectError, SinkRecord
from connect.config.connector import settings_below
from connectors.json_text import to_json

log = logging.getLogger(__name__)

_FLUSH_SECONDS = 60.0


class Reports:
    """Writes one report for each record that was sent. Safe only after `settle`."""

    def __init__(self, config: Config, settings: dict[str, str]) -> None:
        """`settings` are the task's as they are, for `reporter.producer.*`."""
        self._results: str = config["reporter.result.topic.name"]
        self._errors: str = config["reporter.error.topic.name"]
        self._failed: tuple[str, KafkaError] | None = None
        self._producer: Producer | None = None
        if self._results or self._errors:
            own = settings_below(settings, "reporter.producer.")
            servers = config["reporter.bootstrap.servers"]
            try:
                self._producer = Producer(
                    {"bootstrap.servers": servers, "enable.idempotence": True, **own}, logger=log
                )
            except KafkaException as error:
                raise ConfigError(
                    "reporter.producer.*", ", ".join(own), f"is refused: {error.args[0].str()}"
                ) from error

    def answered(self, records: Sequence[SinkRecord], url: str, response: httpx.Response) -> None:
        """The service took these."""
        self._write(self._results, records, response.text, _facts(url, response))

    def refused(
        self,
        records: Sequence[SinkRecord],
        error: Exception,
        url: str = "",
        response: httpx.Response | None = None,
    ) -> None:
        """The service, or the config, will not have these."""
        facts = {"error_message": str(error)}
        if response is not None:
            facts |= {**_facts(url, response), "response_content": response.text}
        self._write(self._errors, records, str(error), facts)

    def settle(self) -> None:
        """Wait until all reports are safe. ConnectError if one is not."""
        if self._producer is None:
            return
        left = self._producer.flush(_FLUSH_SECONDS)
        if left or self._failed is not None:
            topic, why = self._failed or ("", None)
            self._failed = None
            told = f"to topic '{topic}': {why.str()}" if why else "as Kafka does not answer"
            raise ConnectError(
                f"Reports could not be written {told}. See reporter.bootstrap.servers, and create "
                "the topics where brokers do not do so themselves"
            )

    def _write(
        self, topic: str, records: Sequence[SinkRecord], text: str, more: dict[str, str]
    ) -> None:
        if self._producer is None or not topic:
            return
        for record in records:
            headers = {
                "input_record_topic": record.original_topic,
                "input_record_partition": str(record.original_partition),
                "input_record_offset": str(record.offset),
                **more,
            }
            if record.timestamp is not None:
                headers["input_record_timestamp"] = str(record.timestamp)
            while True:
                try:
                    self._producer.produce(
                        topic,
                        text.encode("utf-8", "replace"),
                        _key(record.key),
                        headers=[(name, value.encode()) for name, value in headers.items()],
                        on_delivery=self._delivered,
                    )
                except BufferError:
                    self._producer.poll(0.1)
                else:
                    break
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._failed = (message.topic(), error)


def _facts(url: str, response: httpx.Response) -> dict[str, str]:
    """Under the names that the Confluent connector gives its headers."""
    return {
        "url": url,
        "status_code": str(response.status_code),
        "reason_phrase": response.reason_phrase,
    }


def _key(key: Any) -> bytes | None:
    if key is None or isinstance(key, bytes):
        return key
    return key.encode("utf-8", "replace") if isinstance(key, str) else to_json(key)
