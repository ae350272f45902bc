"""Keys of a connector's config that name a plugin, and the keys that this plugin brings along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect.config.configdef import ConfigDef, ConfigType, ConfigValue, Importance, Width
from connect.config.connector import PREDICATES, TRANSFORMS, aliases
from connect.errors import ConfigError, ConnectError
from connect.plugins.info import PluginInfo, PluginType
from connect.plugins.registry import Plugins, load_plugin

Props = Mapping[str, str | None]

_CONDITION = (
    ConfigDef()
    .define(
        "predicate",
        default=None,
        importance=Importance.MEDIUM,
        doc="The name of the predicate that decides which records the transform is applied to.",
    )
    .define(
        "negate",
        ConfigType.BOOLEAN,
        False,
        importance=Importance.MEDIUM,
        doc="Apply the transform to the records for which the predicate does not hold.",
    )
)


@dataclass(slots=True)
class ClassKey:
    """A key such as `key.converter` or `transforms.mask.type`, and the plugin that it names.

    `info` and `cls` are None when there is no such plugin, `errors` say why. `version_errors` is
    what is wrong with the version that was asked for.
    """

    key: str
    version_key: str
    plugin_type: PluginType
    given: str | None
    info: PluginInfo | None = None
    cls: type[Any] | None = None
    versions: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    version_errors: tuple[str, ...] = ()

    @property
    def shown(self) -> str | None:
        """The value of the key in an answer: the full name of the class."""
        if self.info is not None:
            return self.info.name
        # A class that is there but will not do is shown, one that is not there is not.
        return self.given if self.versions or self._is_other_plugin else None

    @property
    def _is_other_plugin(self) -> bool:
        return any(not e.startswith("Invalid value") for e in self.errors)


def resolve_class(
    plugins: Plugins, type: PluginType, key: str, version_key: str, props: Props
) -> ClassKey:
    """Find, load and try the plugin that a key names. Nothing is raised: see `errors`."""
    given = (props.get(key) or "").strip() or None
    found = ClassKey(key, version_key, type, given)
    if given is None:
        return found
    candidates = plugins.candidates(type, given)
    if not candidates:
        found.errors = (_why_not(plugins, type, key, given),)
        return found
    found.versions = tuple(dict.fromkeys(i.version for i in candidates if i.version))
    try:
        info = plugins.find(type, given, props.get(version_key))
    except ConfigError as error:
        found.info = candidates[0]
        found.errors = found.version_errors = (str(error),)
        return found
    found.info = info
    try:
        cls = load_plugin(info)
        cls()
    except ConnectError as error:
        found.errors = (str(error),)
    except Exception as error:  # noqa: BLE001 - a plugin's constructor may raise anything
        found.errors = (f"Could not instantiate class: {error}",)
    else:
        found.cls = cls
    return found


def _why_not(plugins: Plugins, type: PluginType, key: str, given: str) -> str:
    variants = [info.name for info in plugins.list(type) if info.name.startswith(f"{given}$")]
    if variants:
        return f"This class is abstract and cannot be created. Did you mean {', '.join(variants)}?"
    if plugins.candidates(None, given):
        return f"Class class {given} does not implement the {type.interface} interface"
    text = str(ConfigError(key, given, f"Class {given} could not be found."))
    for info in plugins.list(broken=True):
        if info.error and (given.startswith(info.name) or info.answers_to(given)):
            text += f" The plugin {info.name} of {info.origin} could not be loaded: {info.error}"
    return text


def transform_keys(plugins: Plugins, props: Props) -> list[ClassKey]:
    """The transforms and predicates of a config, as far as they can be found."""
    return [
        resolve_class(
            plugins, type_, f"{kind}.{alias}.type", f"{kind}.{alias}.plugin.version", props
        )
        for kind, type_ in (
            ("transforms", PluginType.TRANSFORMATION),
            ("predicates", PluginType.PREDICATE),
        )
        for alias in aliases(props, kind)
    ]


def with_transform_keys(definition: ConfigDef, found: list[ClassKey]) -> ConfigDef:
    """A connector's definition with the keys of its transforms and predicates."""
    for plugin in found:
        alias = plugin.key.split(".", 1)[1].removesuffix(".type")
        is_transform = plugin.plugin_type is PluginType.TRANSFORMATION
        what, group = ("Transformation", TRANSFORMS) if is_transform else ("Predicate", PREDICATES)
        group = f"{group}: {alias}"
        definition = definition.including(
            ConfigDef()
            .define(
                plugin.key, ConfigType.CLASS, doc=f"The class of the {what.lower()} '{alias}'.",
                group=group, order=0, width=Width.LONG, display_name=f"{what} type for {alias}",
            )
            .define(
                plugin.version_key, default=plugin.info and plugin.info.version,
                doc=f"The version of the {what.lower()} '{alias}'.",
                group=group, order=1, width=Width.LONG, display_name=f"{what} version for {alias}",
            )
        )  # fmt: skip
        if plugin.cls is not None:
            own: ConfigDef = plugin.cls.config_def
            if is_transform:
                own = own.including(_CONDITION)
            definition = definition.embedding(own, plugin.key.removesuffix("type"), group, 2)
    return definition


def check_classes(
    plugins: Plugins, found: list[ClassKey], values: Mapping[str, ConfigValue], props: Props
) -> None:
    """Write what was found about plugins into the values of their keys."""
    for plugin in found:
        value, version = values[plugin.key], values[plugin.version_key]
        names = dict.fromkeys(info.name for info in plugins.list(plugin.plugin_type))
        value.recommended = sorted(names)
        version.recommended = list(plugin.versions)
        if plugin.given is not None:
            value.value = plugin.shown
            value.errors.extend(plugin.errors)
            version.errors.extend(plugin.version_errors)
    for alias in aliases(props, "transforms"):
        prefix = f"transforms.{alias}."
        predicate = props.get(f"{prefix}predicate")
        if predicate is None:
            if f"{prefix}negate" in props:
                values[f"{prefix}type"].errors.append(
                    f"Config '{prefix}negate' was provided but there is no config "
                    f"'{prefix}predicate' defining a predicate to be negated."
                )
        elif f"{prefix}predicate" in values and predicate not in aliases(props, "predicates"):
            declared = ", ".join(aliases(props, "predicates")) or "none"
            values[f"{prefix}predicate"].error(
                f"No predicate of that name is declared. `predicates` lists: {declared}"
            )
