"""The schema registry: asked once for each schema, its failures sorted into ours.

Out of reach, 408, 429, 5xx   RetriableError: nothing is lost, the record comes again
404, 409, 422                 DataError: this record's schema is unknown, incompatible or invalid
other 4xx                     ConnectError: credentials or address are wrong for every record
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from connect import Config, ConfigError, ConnectError, DataError, MissingExtraError, RetriableError
from converters.registry.config import CLIENT_PREFIX, REQUEST_HEADER_PREFIX
from converters.registry.tls import configure_tls

if TYPE_CHECKING:
    from collections.abc import Iterator

K = TypeVar("K")
V = TypeVar("V")

_RETRIABLE = frozenset({408, 429, 500, 502, 503, 504})
_BAD_RECORD = frozenset({404, 409, 422})


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one imports: under which name, and where it is registered."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry holds it. `id` is None where only the GUID is known."""

    id: int | None
    guid: str | None
    version: int | None
    type: str
    text: str
    references: tuple[Reference, ...] = ()


class LruCache(OrderedDict[K, V], Generic[K, V]):
    """The last `size` things, by when they were put in or asked for with `recall`."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def recall(self, key: K) -> V | None:
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value

    def keep(self, key: K, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._size:
            self.popitem(last=False)


class Registry:
    """The registry of one converter. One thread."""

    def __init__(self, config: Config, extra: str) -> None:
        self.shown_urls = ", ".join(_without_credentials(u) for u in config["schema.registry.url"])
        self._client = _client(config, extra, self.shown_urls)
        size = config["schemas.cache.config"]
        self._by_id: LruCache[int, RegisteredSchema] = LruCache(size)
        self._by_guid: LruCache[str, RegisteredSchema] = LruCache(size)
        self._by_version: LruCache[tuple[str, int], RegisteredSchema] = LruCache(size)
        self._written: LruCache[tuple[Any, ...], RegisteredSchema] = LruCache(size)
        self._latest: LruCache[str, tuple[float, RegisteredSchema]] = LruCache(size)
        ttl = config["latest.cache.ttl.sec"]
        self._latest_ttl: float = ttl if ttl >= 0 else float("inf")
        self._missing: LruCache[object, float] = LruCache(size)
        self._missing_ttl: float = config["missing.id.cache.ttl.sec"]
        self._normalize: bool = config["normalize.schemas"]

    # -- reading ----------------------------------------------------------------------------

    def by_id(self, schema_id: int) -> RegisteredSchema:
        """The schema with this id."""
        found = self._by_id.recall(schema_id)
        if found is None:
            with self._asking(f"for schema id {schema_id}", missing=schema_id):
                answer = self._client.get_schema(schema_id)
            found = _registered(answer, schema_id, None, None)
            self._by_id.keep(schema_id, found)
        return found

    def by_guid(self, guid: str) -> RegisteredSchema:
        """The schema with this GUID."""
        found = self._by_guid.recall(guid)
        if found is None:
            with self._asking(f"for schema GUID {guid}", missing=guid):
                answer = self._client.get_schema_by_guid(guid)
            found = _registered(answer, None, guid, None)
            self._by_guid.keep(guid, found)
        return found

    def by_version(self, subject: str, version: int) -> RegisteredSchema:
        """A version of a subject, deleted ones too: that is what references point to."""
        found = self._by_version.recall((subject, version))
        if found is None:
            with self._asking(f"for subject {subject} version {version}"):
                answer = self._client.get_version(subject, version, deleted=True)
            found = _registered(answer.schema, answer.schema_id, answer.guid, answer.version)
            self._by_version.keep((subject, version), found)
        return found

    def version_of(self, subject: str, schema: RegisteredSchema) -> int | None:
        """Which version of the subject this is; None when it is registered under another."""
        if schema.version is not None:
            return schema.version
        try:
            with self._asking(f"for the version in subject {subject} of schema id {schema.id}"):
                answer = self._client.lookup_schema(subject, _sent(schema), False, deleted=True)
        except DataError:
            return None
        version: int | None = answer.version
        return version

    def resolve(self, schema: RegisteredSchema) -> dict[str, RegisteredSchema]:
        """All that a schema refers to, by name, each after what it refers to itself."""
        resolved: dict[str, RegisteredSchema] = {}
        under_way: set[tuple[str, int]] = set()

        def visit(references: tuple[Reference, ...]) -> None:
            for reference in references:
                where = (reference.subject, reference.version)
                if reference.name in resolved or where in under_way:
                    continue
                under_way.add(where)
                target = self.by_version(*where)
                visit(target.references)
                resolved[reference.name] = target

        visit(schema.references)
        return resolved

    # -- writing ----------------------------------------------------------------------------

    def register(self, subject: str, type: str, text: str) -> RegisteredSchema:
        """The schema under the subject, registered if it is new there."""
        return self._write(
            "register", subject, type, text, lambda s: self._client.register_schema_full_response(
                subject, s, self._normalize
            ),
        )  # fmt: skip

    def lookup(self, subject: str, type: str, text: str) -> RegisteredSchema:
        """The schema under the subject, which must be registered there."""
        return self._write(
            "find", subject, type, text, lambda s: self._client.lookup_schema(
                subject, s, self._normalize
            ),
        )  # fmt: skip

    def latest(self, subject: str) -> RegisteredSchema:
        """The newest version of the subject, asked for again after latest.cache.ttl.sec."""
        kept = self._latest.recall(subject)
        now = time.monotonic()
        if kept is not None and now - kept[0] < self._latest_ttl:
            return kept[1]
        with self._asking(f"for the latest version of subject {subject}"):
            self._client.clear_latest_caches()  # the client's own never looks again
            answer = self._client.get_latest_version(subject)
        found = _registered(answer.schema, answer.schema_id, answer.guid, answer.version)
        self._latest.keep(subject, (now, found))
        return found

    def _write(
        self, verb: str, subject: str, type: str, text: str, send: Callable[[Any], Any]
    ) -> RegisteredSchema:
        key = (verb, subject, type, text)
        found = self._written.recall(key)
        if found is None:
            with self._asking(f"to {verb} a schema under subject {subject}"):
                answer = send(_sent(RegisteredSchema(None, None, None, type, text)))
            found = RegisteredSchema(answer.schema_id, answer.guid, answer.version, type, text)
            self._written.keep(key, found)
        return found

    # -- failures ---------------------------------------------------------------------------

    @contextmanager
    def _asking(self, what: str, *, missing: object = None) -> Iterator[None]:
        from confluent_kafka.schema_registry import SchemaRegistryError  # noqa: PLC0415
        from confluent_kafka.schema_registry.error import OAuthTokenError  # noqa: PLC0415

        if missing is not None:
            since = self._missing.get(missing)
            if since is not None and time.monotonic() - since < self._missing_ttl:
                known = what.removeprefix("for ")
                raise DataError(f"The schema registry {self.shown_urls} does not know {known}")
        where = f"The schema registry {self.shown_urls}, asked {what}"
        try:
            yield
        except SchemaRegistryError as error:
            status = error.http_status_code
            text = f"{where}, answered {status}: {error.error_message} (code {error.error_code})"
            if status in _RETRIABLE or status >= 500:
                raise RetriableError(text) from error
            if status not in _BAD_RECORD:
                raise ConnectError(f"{text}. Check its URL and credentials") from error
            if status == 404 and missing is not None:
                self._missing.keep(missing, time.monotonic())
            raise DataError(text) from error
        except OAuthTokenError as error:
            # Its text quotes the OAuth server's answer, which is not ours to show.
            raise RetriableError(
                f"{where}, was not reached: no token from the OAuth server (status "
                f"{error.status_code})"
            ) from None
        except (OSError, _transport_error()) as error:
            raise RetriableError(f"{where}, is out of reach: {_short(error)}") from error
        except ValueError as error:
            # A page of HTML instead of JSON: a proxy or load balancer speaks for the registry.
            raise RetriableError(f"{where}, did not answer in JSON: {_short(error)}") from error


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _sent(schema: RegisteredSchema) -> Any:
    from confluent_kafka.schema_registry import Schema, SchemaReference  # noqa: PLC0415

    references = [SchemaReference(r.name, r.subject, r.version) for r in schema.references]
    return Schema(schema.text, schema.type, references)


def _registered(
    schema: Any, schema_id: int | None, guid: str | None, version: int | None
) -> RegisteredSchema:
    _refuse_rules(schema)
    references = tuple(Reference(r.name, r.subject, r.version) for r in schema.references or ())
    return RegisteredSchema(
        schema_id, guid, version, schema.schema_type or "AVRO", schema.schema_str, references
    )


def _refuse_rules(schema: Any) -> None:
    """Rules encrypt fields, check and change values. To pass over them would corrupt data."""
    rules = getattr(schema, "rule_set", None)
    if rules is None:
        return
    kinds = (rules.domain_rules, rules.migration_rules, getattr(rules, "encoding_rules", None))
    named = [r.name for kind in kinds for r in kind or () if not r.disabled]
    if named:
        raise ConnectError(
            f"The schema has the rules {', '.join(map(str, named))}, which this converter does not "
            f"run. Disable them in the registry, or read the topic as bytes with ByteArrayConverter"
        )


# ---- the client -------------------------------------------------------------------------------

# As in Java, one registry in memory for each name behind mock://, for tests.
_mocks: dict[str, Any] = {}
_mocks_lock = threading.Lock()


def _client(config: Config, extra: str, shown_urls: str) -> Any:
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(extra, "a converter that uses a schema registry") from error
    urls: list[str] = config["schema.registry.url"]
    settings = _settings(config)
    if urls[0].startswith("mock://"):
        with _mocks_lock:
            if urls[0] not in _mocks:
                _mocks[urls[0]] = SchemaRegistryClient.new_client({"url": urls[0]})
            return _mocks[urls[0]]
    try:
        client = SchemaRegistryClient(settings)
    except (ValueError, TypeError) as error:
        raise ConfigError("schema.registry.url", shown_urls, str(error)) from error
    configure_tls(client._rest_client.verify, config)
    headers = {
        key.removeprefix(REQUEST_HEADER_PREFIX): value
        for key, value in config.raw.items()
        if key.startswith(REQUEST_HEADER_PREFIX)
    }
    client._rest_client.session.headers.update(headers)
    return client


def _settings(config: Config) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "url": ",".join(config["schema.registry.url"]),
        "max.retries": config["max.retries"],
        "retries.wait.ms": config["retries.wait.ms"],
        "retries.max.wait.ms": config["retries.max.wait.ms"],
        # connect, read, write, and waiting for a free connection
        "timeout": (
            config["http.connect.timeout.ms"] / 1000,
            *[config["http.read.timeout.ms"] / 1000] * 3,
        ),
    }
    if all(url.startswith("http://") for url in config["schema.registry.url"]):
        settings["ssl.ca.location"] = False  # reading all authorities takes a while and a megabyte
    if config["proxy.host"]:
        settings["proxy"] = f"http://{config['proxy.host']}:{config['proxy.port']}"
    source = config["basic.auth.credentials.source"]
    if source == "USER_INFO":
        user_info = config["basic.auth.user.info"]
        if user_info is None or ":" not in user_info.reveal():
            raise ConfigError("basic.auth.user.info", user_info, "must be name:password")
        settings["basic.auth.user.info"] = user_info.reveal()
    elif source == "SASL_INHERIT":
        settings["basic.auth.user.info"] = _jaas(config)
    settings.update(_bearer(config))
    return settings


def _jaas(config: Config) -> str:
    line = config["sasl.jaas.config"]
    found = {}
    if line is not None:
        found = dict(re.findall(r"(username|password)\s*=\s*\"?([^\s\";]+)", line.reveal()))
    if found.keys() != {"username", "password"}:
        raise ConfigError("sasl.jaas.config", line, "names no username and password")
    return f"{found['username']}:{found['password']}"


def _bearer(config: Config) -> dict[str, str]:
    source = config["bearer.auth.credentials.source"]
    if source is None and config["bearer.auth.token"] is None:
        return {}
    settings = {
        "bearer.auth.credentials.source": source or "STATIC_TOKEN",
        # The Python client insists on it, the Java one does not.
        "bearer.auth.logical.cluster": config["bearer.auth.logical.cluster"] or "",
    }
    for name in ("identity.pool.id", "issuer.endpoint.url", "client.id", "scope"):
        value = config[f"bearer.auth.{name}"]
        if value is not None:
            settings[f"bearer.auth.{name}"] = value
    for name in ("token", "client.secret"):
        secret = config[f"bearer.auth.{name}"]
        if secret is not None:
            settings[f"bearer.auth.{name}"] = secret.reveal()
    return settings


def _transport_error() -> type[Exception]:
    from confluent_kafka.schema_registry.common._httpx_compat import httpx  # noqa: PLC0415

    error: type[Exception] = httpx.TransportError
    return error


def without_client_prefix(props: Mapping[str, str]) -> dict[str, str]:
    """`schema.registry.basic.auth.user.info` is `basic.auth.user.info`, unless that is set too."""
    plain = dict(props)
    for key, value in props.items():
        short = key.removeprefix(CLIENT_PREFIX)
        if short != key and short.startswith(("basic.auth.", "bearer.auth.", "proxy.", "http.")):
            plain.setdefault(short, value)
    return plain


def _without_credentials(url: str) -> str:
    parts = urlsplit(url.strip())
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host).geturl()
