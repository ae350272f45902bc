"""The keys that all registry converters take, named as the Confluent converters name them."""

from __future__ import annotations

from typing import Any, Final

from connect import ConfigDef, ConfigError, ConfigType, Importance
from connect.config.validators import at_least, non_empty_list, one_of
from converters._config import converter_config

_BOOLEAN = ConfigType.BOOLEAN
_INT = ConfigType.INT
_PASSWORD = ConfigType.PASSWORD
_LOW = Importance.LOW
_MEDIUM = Importance.MEDIUM

# The registry's keys are also understood with this in front, as the Java client takes them.
CLIENT_PREFIX: Final = "schema.registry."
# Each `request.header.X` becomes the HTTP header X of every request.
REQUEST_HEADER_PREFIX: Final = "request.header."

_STRATEGY = "io.confluent.kafka.serializers.subject."
TOPIC_NAME: Final = _STRATEGY + "TopicNameStrategy"
RECORD_NAME: Final = _STRATEGY + "RecordNameStrategy"
TOPIC_RECORD_NAME: Final = _STRATEGY + "TopicRecordNameStrategy"

_FRAMING = "io.confluent.kafka.serializers.schema.id."
PREFIX_WRITER: Final = _FRAMING + "PrefixSchemaIdSerializer"
HEADER_WRITER: Final = _FRAMING + "HeaderSchemaIdSerializer"
PREFIX_READER: Final = _FRAMING + "PrefixSchemaIdDeserializer"
DUAL_READER: Final = _FRAMING + "DualSchemaIdDeserializer"


def _class_of(*names: str) -> Any:
    """A validator for keys that name one of a few Java classes, in full or by the last part."""
    known = {name.rpartition(".")[2] for name in names}

    def check(key: str, value: Any) -> None:
        if value is None or value.rpartition(".")[2] not in known:
            raise ConfigError(key, value, f"must be one of {', '.join(sorted(known))}")

    return check


def _connection() -> ConfigDef:
    return (
        ConfigDef()
        .define(
            "schema.registry.url",
            ConfigType.LIST,
            validator=non_empty_list,
            doc="Where the schema registry is. With more than one URL, separated by commas, the "
            "next is asked when one does not answer.",
            group="Registry",
        )
        .define(
            "max.retries",
            _INT,
            3,
            validator=at_least(0),
            importance=_LOW,
            doc="How often a request is repeated at one URL before the next is tried, when the "
            "registry is out of reach or answers 408, 429 or 5xx.",
            group="Registry",
        )
        .define(
            "retries.wait.ms",
            _INT,
            1000,
            validator=at_least(0),
            importance=_LOW,
            doc="The longest wait before the first repetition; it doubles each time.",
            group="Registry",
        )
        .define(
            "retries.max.wait.ms",
            _INT,
            20000,
            validator=at_least(0),
            importance=_LOW,
            doc="The longest wait before any repetition.",
            group="Registry",
        )
        .define(
            "http.connect.timeout.ms",
            _INT,
            60000,
            validator=at_least(1),
            importance=_LOW,
            doc="How long to wait for a connection to the registry.",
            group="Registry",
        )
        .define(
            "http.read.timeout.ms",
            _INT,
            60000,
            validator=at_least(1),
            importance=_LOW,
            doc="How long to wait for the registry's answer.",
            group="Registry",
        )
        .define(
            "proxy.host",
            default="",
            importance=_LOW,
            doc="The HTTP proxy through which the registry is reached.",
            group="Registry",
        )
        .define(
            "proxy.port",
            _INT,
            -1,
            importance=_LOW,
            doc="The proxy's port.",
            group="Registry",
        )
        .define(
            "missing.id.cache.ttl.sec",
            _INT,
            5,
            validator=at_least(0),
            importance=_LOW,
            doc="How long a schema that the registry does not know, refuses or that can't be read "
            "is not asked for again, so that a run of bad records is no run of requests.",
            group="Registry",
        )
        .define(
            "latest.cache.ttl.sec",
            _INT,
            -1,
            importance=_LOW,
            doc="After how many seconds use.latest.version looks for a newer version; -1 is never.",
            group="Registry",
        )
        .define(
            "schemas.cache.config",
            _INT,
            1000,
            validator=at_least(1),
            importance=_LOW,
            doc="How many converted schemas are kept.",
            group="Registry",
        )
    )


def _security() -> ConfigDef:
    tls = "schema.registry.ssl."
    store_type = one_of("PEM", "PKCS12", "JKS")
    return (
        ConfigDef()
        .define(
            "basic.auth.credentials.source",
            default="URL",
            validator=one_of("URL", "USER_INFO", "SASL_INHERIT"),
            importance=_MEDIUM,
            doc="Where name and password for the registry are: in its URL, in "
            "basic.auth.user.info, or in sasl.jaas.config.",
            group="Security",
        )
        .define(
            "basic.auth.user.info",
            _PASSWORD,
            None,
            importance=_MEDIUM,
            doc="name:password, for basic.auth.credentials.source=USER_INFO.",
            group="Security",
        )
        .define(
            "sasl.jaas.config",
            _PASSWORD,
            None,
            importance=_LOW,
            doc="A JAAS line with username and password, for "
            "basic.auth.credentials.source=SASL_INHERIT.",
            group="Security",
        )
        .define(
            "bearer.auth.credentials.source",
            default=None,
            validator=one_of(None, "STATIC_TOKEN", "OAUTHBEARER", "OAUTHBEARER_AZURE_IMDS"),
            importance=_MEDIUM,
            doc="Where a bearer token comes from: bearer.auth.token, or an OAuth server. Without "
            "it, a token that is set is used.",
            group="Security",
        )
        .define(
            "bearer.auth.token",
            _PASSWORD,
            None,
            importance=_MEDIUM,
            doc="The bearer token, for STATIC_TOKEN.",
            group="Security",
        )
        .define(
            "bearer.auth.issuer.endpoint.url",
            default=None,
            importance=_MEDIUM,
            doc="The OAuth server's token endpoint, for OAUTHBEARER.",
            group="Security",
        )
        .define(
            "bearer.auth.client.id",
            default=None,
            importance=_MEDIUM,
            doc="The client id at the OAuth server.",
            group="Security",
        )
        .define(
            "bearer.auth.client.secret",
            _PASSWORD,
            None,
            importance=_MEDIUM,
            doc="The client's secret at the OAuth server.",
            group="Security",
        )
        .define(
            "bearer.auth.scope",
            default=None,
            importance=_MEDIUM,
            doc="The scope to ask the OAuth server for.",
            group="Security",
        )
        .define(
            "bearer.auth.logical.cluster",
            default=None,
            importance=_MEDIUM,
            doc="The registry's logical cluster, sent with each request.",
            group="Security",
        )
        .define(
            "bearer.auth.identity.pool.id",
            default=None,
            importance=_MEDIUM,
            doc="The identity pool, sent with each request.",
            group="Security",
        )
        .define(
            tls + "truststore.location",
            default=None,
            importance=_MEDIUM,
            doc="The file with the certificates by which the registry's own is judged. Without it, "
            "those of the system are taken.",
            group="Security",
        )
        .define(
            tls + "truststore.type",
            default="JKS",
            validator=store_type,
            importance=_MEDIUM,
            doc="JKS, PKCS12 or PEM. Without effect: the file's first bytes tell which it is.",
            group="Security",
        )
        .define(
            tls + "truststore.password",
            _PASSWORD,
            None,
            importance=_MEDIUM,
            doc="The truststore's password.",
            group="Security",
        )
        .define(
            tls + "truststore.certificates",
            default=None,
            importance=_MEDIUM,
            doc="The trusted certificates themselves, as PEM text.",
            group="Security",
        )
        .define(
            tls + "keystore.location",
            default=None,
            importance=_MEDIUM,
            doc="The file with this client's certificate and private key.",
            group="Security",
        )
        .define(
            tls + "keystore.type",
            default="JKS",
            validator=store_type,
            importance=_MEDIUM,
            doc="JKS, PKCS12 or PEM; without effect, as the truststore's.",
            group="Security",
        )
        .define(
            tls + "keystore.password",
            _PASSWORD,
            None,
            importance=_MEDIUM,
            doc="The keystore's password.",
            group="Security",
        )
        .define(
            tls + "key.password",
            _PASSWORD,
            None,
            importance=_MEDIUM,
            doc="The private key's password, if it has one of its own.",
            group="Security",
        )
        .define(
            tls + "keystore.certificate.chain",
            default=None,
            importance=_MEDIUM,
            doc="This client's certificate chain itself, as PEM text.",
            group="Security",
        )
        .define(
            tls + "keystore.key",
            _PASSWORD,
            None,
            importance=_MEDIUM,
            doc="This client's private key itself, as PEM text.",
            group="Security",
        )
        .define(
            tls + "endpoint.identification.algorithm",
            default="https",
            importance=_LOW,
            doc="Empty: the registry's certificate need not carry its host name.",
            group="Security",
        )
    )


def _schemas() -> ConfigDef:
    config = (
        ConfigDef()
        .define(
            "auto.register.schemas",
            _BOOLEAN,
            default=True,
            importance=_MEDIUM,
            doc="Whether to register a record's schema that the registry does not have yet.",
            group="Schemas",
        )
        .define(
            "use.schema.id",
            _INT,
            -1,
            importance=_LOW,
            doc="Write with the schema of this id. Needs auto.register.schemas=false.",
            group="Schemas",
        )
        .define(
            "id.compatibility.strict",
            _BOOLEAN,
            default=True,
            importance=_LOW,
            doc="Whether use.schema.id demands that the schema can take every record: no field "
            "missing without a default, none of another type. Otherwise only values that do not "
            "fit fail.",
            group="Schemas",
        )
        .define(
            "use.latest.version",
            _BOOLEAN,
            default=False,
            importance=_LOW,
            doc="Write with the newest schema of the subject instead of the record's own. Needs "
            "auto.register.schemas=false.",
            group="Schemas",
        )
        .define(
            "latest.compatibility.strict",
            _BOOLEAN,
            default=True,
            importance=_LOW,
            doc="The same demand as id.compatibility.strict, for use.latest.version.",
            group="Schemas",
        )
        .define(
            "normalize.schemas",
            _BOOLEAN,
            default=False,
            importance=_MEDIUM,
            doc="Whether the registry may reorder what has no order before it compares schemas.",
            group="Schemas",
        )
    )
    for side in ("key", "value"):
        config = (
            config.define(
                f"{side}.subject.name.strategy",
                ConfigType.CLASS,
                TOPIC_NAME,
                validator=_class_of(TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME),
                importance=_MEDIUM,
                doc=f"The subject of {side} schemas: TopicNameStrategy, RecordNameStrategy or "
                "TopicRecordNameStrategy.",
                group="Schemas",
            )
            .define(
                f"{side}.schema.id.serializer",
                ConfigType.CLASS,
                PREFIX_WRITER,
                validator=_class_of(PREFIX_WRITER, HEADER_WRITER),
                importance=_MEDIUM,
                doc=f"Where a {side}'s schema is named: PrefixSchemaIdSerializer puts its id "
                "before the payload, HeaderSchemaIdSerializer its GUID into a header.",
                group="Schemas",
            )
            .define(
                f"{side}.schema.id.deserializer",
                ConfigType.CLASS,
                DUAL_READER,
                validator=_class_of(DUAL_READER, PREFIX_READER),
                importance=_MEDIUM,
                doc=f"Where to look for a {side}'s schema: DualSchemaIdDeserializer in the header "
                "first and then before the payload, PrefixSchemaIdDeserializer only there.",
                group="Schemas",
            )
        )
    return config


REGISTRY_CONFIG: Final = (
    converter_config().including(_connection()).including(_security()).including(_schemas())
)
