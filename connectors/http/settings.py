"""The HTTP sink's config keys: Confluent's names where it has them."""

from __future__ import annotations

import re
from typing import Any

from connect import ConfigDef, ConfigError, ConfigType, ConfigValue, Importance
from connect.config.validators import at_least, one_of_ignoring_case

_INT, _LONG, _DOUBLE, _BOOLEAN, _PASSWORD = (
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.BOOLEAN,
    ConfigType.PASSWORD,
)
_LOW, _MEDIUM = Importance.LOW, Importance.MEDIUM
_RANGE = re.compile(r"(\d{3})?(-)?(\d{3})?")


def status_codes(name: str, value: str) -> list[range]:
    """`429,500-` as ranges: single codes, `a-b`, and open ends."""
    ranges = []
    for part in filter(None, (piece.strip() for piece in value.split(","))):
        match = _RANGE.fullmatch(part)
        if match is None or not (match[1] or match[3]):
            raise ConfigError(
                name, value, f"'{part}' is neither a status code nor a range such as 500-599"
            )
        low = int(match[1] or 100)
        high = int(match[3] or 599) if match[2] else low
        ranges.append(range(low, high + 1))
    return ranges


def _codes(name: str, value: Any) -> None:
    if value is not None:
        status_codes(name, value)


def _http_url(name: str, value: Any) -> None:
    if value and not value.startswith(("http://", "https://")):
        raise ConfigError(name, value, "must begin with http:// or https://")


HTTP_CONFIG = (
    ConfigDef()
    .define(
        "http.api.url",
        doc="Where to send records. `${topic}`, `${key}`, `${partition}`, `${offset}` and fields "
        "of the value, `${order.id}`, are put in, encoded as a URL needs it.",
        validator=_http_url,
        group="Request",
    )
    .define(
        "request.method",
        default="POST",
        doc="POST, PUT, PATCH or DELETE.",
        validator=one_of_ignoring_case("POST", "PUT", "PATCH", "DELETE"),
        group="Request",
    )
    .define(
        "request.body.format",
        default="json",
        doc="`json` sends values as JSON, `string` texts as they are and other values as JSON.",
        importance=_MEDIUM,
        validator=one_of_ignoring_case("json", "string"),
        group="Request",
    )
    .define(
        "headers",
        default="",
        doc="Headers of every request, `Name:value`, parted by header.separator. Values take the "
        "same references as the URL.",
        importance=_MEDIUM,
        group="Request",
    )
    .define(
        "header.separator",
        default="|",
        doc="What parts the headers.",
        importance=_LOW,
        group="Request",
    )
    .define(
        "batch.max.size",
        _INT,
        1,
        doc="How many records one request carries, at most. Records whose URL or headers differ "
        "go into requests of their own.",
        importance=_MEDIUM,
        validator=at_least(1),
        group="Batches",
    )
    .define(
        "batch.json.as.array",
        _BOOLEAN,
        True,
        doc="Whether a request with batch.max.size above 1 carries a JSON array. Otherwise the "
        "values stand between batch.prefix and batch.suffix, parted by batch.separator.",
        importance=_LOW,
        group="Batches",
    )
    .define(
        "batch.prefix",
        default="",
        doc="What a batch begins with.",
        importance=_LOW,
        group="Batches",
    )
    .define(
        "batch.suffix",
        default="",
        doc="What a batch ends with.",
        importance=_LOW,
        group="Batches",
    )
    .define(
        "batch.separator",
        default="\\n",
        doc="What stands between the records of a batch; \\n is a new line.",
        importance=_LOW,
        group="Batches",
    )
    .define(
        "behavior.on.null.values",
        default="ignore",
        doc="What a record without a value does: `ignore`, `delete` sends a DELETE to its URL, "
        "`fail`.",
        importance=_LOW,
        validator=one_of_ignoring_case("ignore", "delete", "fail"),
        group="Errors",
    )
    .define(
        "behavior.on.error",
        default="fail",
        doc="What happens to records that the service refuses where no dead-letter topic is set: "
        "`fail` the task, or `log` and go on, or `ignore`.",
        importance=_LOW,
        validator=one_of_ignoring_case("fail", "log", "ignore"),
        group="Errors",
    )
    .define(
        "max.retries",
        _INT,
        10,
        doc="How often a request is tried again, with a longer wait each time.",
        importance=_MEDIUM,
        validator=at_least(0),
        group="Errors",
    )
    .define(
        "retry.backoff.ms",
        _INT,
        3000,
        doc="The first of these waits. A Retry-After of the service stands above it.",
        importance=_MEDIUM,
        validator=at_least(0),
        group="Errors",
    )
    .define(
        "retry.backoff.max.ms",
        _INT,
        60_000,
        doc="The longest of these waits.",
        importance=_LOW,
        validator=at_least(0),
        group="Errors",
    )
    .define(
        "retry.on.status.codes",
        default="408,425,429,500-",
        doc="The answers after which a request is tried again: codes and ranges.",
        importance=_MEDIUM,
        validator=_codes,
        group="Errors",
    )
    .define(
        "rate.limit.per.second",
        _DOUBLE,
        0,
        doc="How many requests a second a task sends, at most; 0 is no limit.",
        importance=_MEDIUM,
        validator=at_least(0),
        group="Connection",
    )
    .define(
        "http.connect.timeout.ms",
        _LONG,
        30_000,
        doc="How long connecting may take.",
        importance=_LOW,
        validator=at_least(1),
        group="Connection",
    )
    .define(
        "http.request.timeout.ms",
        _LONG,
        30_000,
        doc="How long the service may take to answer.",
        importance=_LOW,
        validator=at_least(1),
        group="Connection",
    )
    .define(
        "http.proxy.url",
        default=None,
        doc="A proxy to go through.",
        importance=_LOW,
        group="Connection",
    )
    .define(
        "ssl.ca.location",
        default=None,
        doc="A file with the certificates to trust, in place of the system's.",
        importance=_LOW,
        group="Connection",
    )
    .define(
        "ssl.certificate.location",
        default=None,
        doc="A file with the client's certificate and key.",
        importance=_LOW,
        group="Connection",
    )
    .define(
        "auth.type",
        default="none",
        doc="How to say who is asking: `none`, `basic`, `bearer` or `oauth2` (client credentials).",
        validator=one_of_ignoring_case("none", "basic", "bearer", "oauth2"),
        group="Authentication",
    )
    .define(
        "connection.user",
        default=None,
        doc="The user, for `basic`.",
        importance=_MEDIUM,
        group="Authentication",
    )
    .define(
        "connection.password",
        _PASSWORD,
        None,
        doc="The password, for `basic`.",
        importance=_MEDIUM,
        group="Authentication",
    )
    .define(
        "bearer.token",
        _PASSWORD,
        None,
        doc="The token, for `bearer`.",
        importance=_MEDIUM,
        group="Authentication",
    )
    .define(
        "oauth2.token.url",
        default=None,
        doc="Where tokens are had, for `oauth2`.",
        importance=_MEDIUM,
        validator=_http_url,
        group="Authentication",
    )
    .define(
        "oauth2.client.id",
        default=None,
        doc="The client's name there.",
        importance=_MEDIUM,
        group="Authentication",
    )
    .define(
        "oauth2.client.secret",
        _PASSWORD,
        None,
        doc="The client's secret there.",
        importance=_MEDIUM,
        group="Authentication",
    )
    .define(
        "oauth2.client.scope",
        default=None,
        doc="The scope to ask for.",
        importance=_LOW,
        group="Authentication",
    )
    .define(
        "oauth2.client.auth.mode",
        default="header",
        doc="Whether client and secret go into the `header` of the token request or its `body`.",
        importance=_LOW,
        validator=one_of_ignoring_case("header", "body"),
        group="Authentication",
    )
    .define(
        "reporter.result.topic.name",
        default="",
        doc="A topic that gets the service's answer for every record it took.",
        importance=_LOW,
        group="Reports",
    )
    .define(
        "reporter.error.topic.name",
        default="",
        doc="A topic that gets the reason for every record that was refused.",
        importance=_LOW,
        group="Reports",
    )
    .define(
        "reporter.bootstrap.servers",
        default="",
        doc="The Kafka of these topics. Further settings of librdkafka's producer, such as "
        "security.protocol, go below `reporter.producer.`.",
        importance=_LOW,
        group="Reports",
    )
)

_NEEDED = {
    "basic": ("connection.user", "connection.password"),
    "bearer": ("bearer.token",),
    "oauth2": ("oauth2.token.url", "oauth2.client.id", "oauth2.client.secret"),
}


def check_http(values: dict[str, ConfigValue]) -> None:
    """What single keys can't show."""
    kind = (values["auth.type"].value or "none").lower()
    for key in _NEEDED.get(kind, ()):
        if not values[key].value:
            values[key].error(f"auth.type={kind} needs it")
    reports = (
        values["reporter.result.topic.name"].value or values["reporter.error.topic.name"].value
    )
    if reports and not values["reporter.bootstrap.servers"].value:
        values["reporter.bootstrap.servers"].error(f"Topic {reports} needs it")
    separator = values["header.separator"].value or "|"
    for header in filter(None, (values["headers"].value or "").split(separator)):
        if ":" not in header:
            values["headers"].error(f"'{header}' is no header: write Name:value")
    if len(values["batch.prefix"].value or "") and values["batch.json.as.array"].value:
        values["batch.prefix"].error("A JSON array has its own: set batch.json.as.array=false")
