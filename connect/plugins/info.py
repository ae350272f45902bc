"""What is known about a plugin before anybody loads it."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from connect.plugin import (
    ConfigProvider,
    Converter,
    HeaderConverter,
    Plugin,
    Predicate,
    SinkConnector,
    SourceConnector,
    Transformation,
)
from connect.rest import RestExtension


class PluginType(enum.StrEnum):
    """What a plugin is, in the words of the REST API and in the order of its listing."""

    SINK = "sink"
    SOURCE = "source"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    CONFIG_PROVIDER = "config_provider"
    REST_EXTENSION = "rest_extension"

    @property
    def base(self) -> type[Plugin]:
        """The class of the plugin API that plugins of this type extend."""
        return _BASES[self]

    @property
    def interface(self) -> str:
        """Its name in messages."""
        connector = self in (PluginType.SINK, PluginType.SOURCE)
        return "Connector" if connector else self.base.__name__


_BASES: dict[PluginType, type[Plugin]] = {
    PluginType.SINK: SinkConnector,
    PluginType.SOURCE: SourceConnector,
    PluginType.TRANSFORMATION: Transformation,
    PluginType.PREDICATE: Predicate,
    PluginType.CONVERTER: Converter,
    PluginType.HEADER_CONVERTER: HeaderConverter,
    PluginType.CONFIG_PROVIDER: ConfigProvider,
    PluginType.REST_EXTENSION: RestExtension,
}

CONNECTOR_TYPES = (PluginType.SINK, PluginType.SOURCE)


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """A plugin that is installed, or that should be and is broken.

    name         as clients see it: the JVM's class name where it has one, else `module.Class`
    python_name  `module:Class`, or what there is of it when the plugin is broken
    type         None when a broken plugin does not tell
    aliases      other names under which it is found
    origin       where it comes from, for people: built in, a distribution, a file or folder
    location     the file or folder to load it from; None if it can simply be imported
    error        why it can't be used, None if it can
    """

    type: PluginType | None
    name: str
    python_name: str
    version: str | None = None
    aliases: tuple[str, ...] = ()
    origin: str = "built in"
    location: str | None = None
    error: str | None = None

    def answers_to(self, name: str) -> bool:
        dotted = self.python_name.replace(":", ".")
        return name in (self.name, self.python_name, dotted) or name in self.aliases


def aliases_of(class_name: str, type: PluginType) -> list[str]:
    """The short names of a class: its simple name, and that without what its type says anyway.

    `FileStreamSinkConnector` is `FileStreamSink` too. One of two variants in a class keeps both
    words, `MaskField$Key`, since `Key` alone would not say which.
    """
    simple = class_name.replace(":", ".").rpartition(".")[2]
    # A header converter is mostly a converter too, and called so.
    suffixes = [type.interface, "Converter" if type is PluginType.HEADER_CONVERTER else ""]
    short = [simple.removesuffix(suffix) for suffix in suffixes]
    return list(dict.fromkeys(name for name in (simple, *short) if name))


def describe(
    cls: type, origin: str, location: str | None = None, version: str | None = None
) -> Iterator[PluginInfo]:
    """One entry for each type that the class is a plugin of; none if it is no plugin."""
    for type_ in PluginType:
        if issubclass(cls, type_.base) and not inspect.isabstract(cls):
            name = f"{cls.__module__}.{cls.__qualname__}"
            yield PluginInfo(
                type_,
                name,
                f"{cls.__module__}:{cls.__qualname__}",
                cls.version or version,
                tuple(aliases_of(name, type_)),
                origin,
                location,
            )
