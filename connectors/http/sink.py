"""The HTTP sink: each record, or a batch of them, becomes a request."""

from __future__ import annotations

import email.utils
import functools
import logging
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import ClassVar, NoReturn

import httpx

from connect import (
    Config,
    ConfigDef,
    ConfigValue,
    ConnectError,
    DataError,
    RetriableError,
    SinkConnector,
    SinkRecord,
    SinkTask,
    TopicPartition,
)
from connect.javalang.trust import as_java_trusts
from connectors.http.auth import authentication
from connectors.http.reports import Reports
from connectors.http.requests import Address, RequestMaker
from connectors.http.settings import HTTP_CONFIG, check_http, status_codes

log = logging.getLogger(__name__)

# How much of an answer is told in an error.
_SHOWN = 500


class _Request:
    """Records on their way in one request."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.records: list[SinkRecord] = []
        self.bodies: list[bytes] = []


class HttpSinkTask(SinkTask):
    """Sends the records of a batch in order. At-least-once: a request may be repeated.

    When an answer asks for patience, put ends with RetriableError, and the next one goes on behind
    the requests that were answered.
    """

    def start(self, config: Config) -> None:
        self._config = config
        self._maker = RequestMaker(config)
        self._size: int = config["batch.max.size"]
        self._nulls: str = config["behavior.on.null.values"].lower()
        self._on_error: str = config["behavior.on.error"].lower()
        self._retried = status_codes("retry.on.status.codes", config["retry.on.status.codes"])
        self._retries_left: int = config["max.retries"]
        rate = config["rate.limit.per.second"]
        self._pause: float = 1 / rate if rate else 0.0
        self._next_request = 0.0
        # Of the batch under way, the records that need not be sent again.
        self._settled: set[tuple[str, int, int]] = set()
        self._reports = Reports(config, dict(self.context.config))
        self._client = httpx.Client(
            auth=authentication(config),
            timeout=httpx.Timeout(
                config["http.request.timeout.ms"] / 1000,
                connect=config["http.connect.timeout.ms"] / 1000,
            ),
            proxy=config["http.proxy.url"] or None,
            verify=_trust(config),
        )

    def put(self, records: list[SinkRecord]) -> None:
        for request in self._requests(records):
            self._send(request)
            self._settled.update(map(_place, request.records))
            self._retries_left = self._config["max.retries"]
        self._settled.clear()

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:  # noqa: ARG002
        self._reports.settle()

    def stop(self) -> None:
        client = getattr(self, "_client", None)
        if client is not None:
            client.close()

    def _requests(self, records: list[SinkRecord]) -> Iterator[_Request]:
        """Neighbours with the same address, up to batch.max.size of them, go together."""
        request: _Request | None = None
        for record in records:
            if _place(record) in self._settled:
                continue
            try:
                if record.value is None and self._nulls != "delete":
                    if self._nulls == "fail":
                        raise DataError("The record has no value and behavior.on.null.values=fail")  # noqa: TRY301
                    continue
                address, body = self._maker.address(record), self._maker.body(record)
            except DataError as error:
                self._refused([record], error)
                self._settled.add(_place(record))
                continue
            alone = self._size == 1 or record.value is None
            full = request is not None and len(request.records) >= self._size
            if request is not None and (alone or full or request.address != address):
                yield request
                request = None
            if request is None:
                request = _Request(address)
            request.records.append(record)
            request.bodies.append(body)
        if request is not None:
            yield request

    def _send(self, request: _Request) -> None:
        wait = self._next_request - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        self._next_request = time.monotonic() + self._pause
        address = request.address
        try:
            response = self._client.request(
                address.method,
                address.url,
                headers=list(address.headers),
                content=None if address.method == "DELETE" else self._maker.content(request.bodies),
            )
        except (httpx.InvalidURL, httpx.LocalProtocolError) as error:
            # A key with a blank at its end, say, can't be a header's value.
            told = DataError(f"{address.url} can't be asked with this record: {error}")
            self._refused(request.records, told)
            return
        except httpx.TransportError as error:
            # Some of httpx's errors have no text of their own.
            self._try_later(f"{address.url}: {error or type(error).__name__}", None, error)
        if response.is_success:
            self._reports.answered(request.records, address.url, response)
            return
        text = (
            f"{address.method} {address.url} was answered with HTTP {response.status_code} "
            f"{response.reason_phrase}: {response.text[:_SHOWN]}"
        ).rstrip(": ")
        if any(response.status_code in codes for codes in self._retried):
            self._try_later(text, _retry_after(response), None)
        if response.status_code in (401, 403, 407):
            # Nobody's record is to blame, and every record would meet the same.
            raise ConnectError(f"{text}. Check auth.type={self._config['auth.type']} and its keys")
        self._refused(request.records, DataError(text), address.url, response)

    def _try_later(self, text: str, wait: float | None, cause: Exception | None) -> NoReturn:
        limit = self._config["max.retries"]
        if self._retries_left <= 0:
            raise ConnectError(f"Gave up after {limit} retries (max.retries). {text}") from cause
        if wait is None:
            tries = limit - self._retries_left
            wait = self._config["retry.backoff.ms"] / 1000 * 2 ** min(tries, 30)
        wait = min(wait, self._config["retry.backoff.max.ms"] / 1000)
        self._retries_left -= 1
        self.context.timeout(int(wait * 1000))
        raise RetriableError(text) from cause

    def _refused(
        self,
        records: list[SinkRecord],
        error: DataError,
        url: str = "",
        response: httpx.Response | None = None,
    ) -> None:
        """These records will never be taken: report them, or do as behavior.on.error says."""
        self._reports.refused(records, error, url, response)
        reporter = self.context.errant_record_reporter
        if reporter is not None:
            for record in records:
                reporter.report(record, error)
        elif self._on_error == "fail":
            raise error
        elif self._on_error == "log":
            log.error("%d records are skipped: %s", len(records), error)


def _place(record: SinkRecord) -> tuple[str, int, int]:
    return record.original_topic, record.original_partition, record.offset


def _retry_after(response: httpx.Response) -> float | None:
    """The wait that the service asks for, in seconds: it names a number or a date."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdigit():
        return float(text)
    try:
        then = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, then.timestamp() - time.time())


@functools.cache
def _everybodys_trust() -> ssl.SSLContext:
    """Reading all authorities takes a while and a megabyte: once for all tasks of a process."""
    return httpx.create_ssl_context()


def _trust(config: Config) -> ssl.SSLContext:
    if not config["ssl.ca.location"] and not config["ssl.certificate.location"]:
        return _everybodys_trust()
    try:
        trusted = config["ssl.ca.location"] or None
        context = as_java_trusts(ssl.create_default_context(cafile=trusted))
        if config["ssl.certificate.location"]:
            context.load_cert_chain(config["ssl.certificate.location"])
    except (OSError, ssl.SSLError) as error:
        raise ConnectError(
            "The certificates of ssl.ca.location or ssl.certificate.location can't be read: "
            f"{error}"
        ) from error
    return context


class HttpSinkConnector(SinkConnector):
    """Sends records to an HTTP service."""

    task_class = HttpSinkTask
    config_def: ClassVar[ConfigDef] = HTTP_CONFIG

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]) -> None:
        check_http(values)

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> bool:  # noqa: ARG002
        """Kafka's offsets are all there is, so any change will do."""
        return True
