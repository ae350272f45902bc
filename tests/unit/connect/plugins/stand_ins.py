"""Plugins for tests, loaded the way any plugin file is."""

from connect import (
    ConfigDef,
    ConfigType,
    ConfigValue,
    Converter,
    ExactlyOnceSupport,
    HeaderConverter,
    Importance,
    Predicate,
    SchemaAndValue,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceTask,
    Transformation,
)
from connect.config.validators import all_of, java_regex, list_of_values, non_empty, one_of


class FileSinkTask(SinkTask):
    def start(self, config):
        pass

    def put(self, records):
        pass


class FileSourceTask(SourceTask):
    def start(self, config):
        pass

    def poll(self):
        return None


class FileSinkConnector(SinkConnector):
    task_class = FileSinkTask
    config_def = ConfigDef().define("file", default=None, doc="Where to write.")


class FileSourceConnector(SourceConnector):
    task_class = FileSourceTask
    config_def = (
        ConfigDef()
        .define("file", default=None, doc="What to read.")
        .define("topic", validator=non_empty, doc="Where it goes.")
        .define("batch.size", ConfigType.INT, 2000, importance=Importance.LOW, doc="How much.")
    )

    def exactly_once_support(self):
        return (
            ExactlyOnceSupport.SUPPORTED if self.config["file"] else ExactlyOnceSupport.UNSUPPORTED
        )


class VaultSinkConnector(SinkConnector):
    """Has a secret, and says it in its errors."""

    task_class = FileSinkTask
    config_def = (
        ConfigDef()
        .define("password", ConfigType.PASSWORD, None, doc="The secret.")
        .define("pin", ConfigType.INT, 0, doc="A number that may come from a provider.")
    )

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]):
        secret = values["password"].value
        if secret is not None:
            values["password"].errors.append(f"{secret.reveal()} was refused")


class FailingSinkConnector(SinkConnector):
    """Fails while it validates, with the secret in the text."""

    task_class = FileSinkTask
    config_def = ConfigDef().define("password", ConfigType.PASSWORD, None, doc="The secret.")

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]):
        raise RuntimeError(f"no answer for {values['password'].value.reveal()}")


class Mask(Transformation):
    config_def = (
        ConfigDef()
        .define("fields", ConfigType.LIST, doc="What to mask.", validator=list_of_values())
        .define("replacement", default=None, importance=Importance.LOW, doc="By what.")
        .define(
            "replace.null.with.default",
            ConfigType.BOOLEAN,
            True,
            importance=Importance.MEDIUM,
            doc="Whether a null becomes the default.",
        )
    )

    def apply(self, record):
        return record


class Route(Transformation):
    config_def = (
        ConfigDef()
        .define("regex", doc="What to match.", validator=all_of(java_regex))
        .define("replacement", doc="What becomes of it.")
    )

    def apply(self, record):
        return record


class Choosy(Transformation):
    """Can't be made without an argument."""

    def __init__(self, argument):
        self.argument = argument

    def apply(self, record):
        return record


class Named(Predicate):
    config_def = ConfigDef().define(
        "pattern", doc="A topic.", importance=Importance.MEDIUM, validator=java_regex
    )

    def test(self, record):
        return True


class EnvelopeConverter(Converter, HeaderConverter):
    config_def = (
        ConfigDef()
        .define("converter.type", doc="What for.", validator=one_of("key", "value", "header"))
        .define("schemas.enable", ConfigType.BOOLEAN, True, doc="With schema.", group="Schemas")
        .define("format", default="A", doc="Which.", validator=one_of("A", "B"))
    )

    def configure(self, config, **_):
        pass

    def to_connect(self, topic, data, headers=()):
        return SchemaAndValue(None, data)

    def from_connect(self, topic, schema, value, headers=None):
        return value

    def to_connect_header(self, topic, name, data):
        return SchemaAndValue(None, data)

    def from_connect_header(self, topic, name, schema, value):
        return value
