"""The whole validation of a connector's config, as REST answers it.

It runs plugin code: `validate_connector` belongs into a child process with a deadline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from connect.config.configdef import ConfigDef, ConfigKey, ConfigValue
from connect.config.connector import connector_config_def, settings_below
from connect.config.topic_creation import uses_topic_creation, with_topic_groups
from connect.config.worker import WorkerConfig
from connect.errors import ConfigError, ConnectError, NotFoundError
from connect.plugin import Connector, ExactlyOnceSupport, SourceConnector
from connect.plugins.answers import (
    ConfigInfo,
    ConfigInfos,
    Disclosure,
    KeyInfo,
    key_infos,
    secrets_in,
)
from connect.plugins.classes import (
    ClassKey,
    check_classes,
    resolve_class,
    transform_keys,
    with_transform_keys,
)
from connect.plugins.info import CONNECTOR_TYPES, PluginInfo, PluginType
from connect.plugins.overrides import OverridePolicy, check_overrides
from connect.plugins.probe import reason_of
from connect.plugins.registry import Plugins, load_plugin
from connect.plugins.versions import VersionRange

_CONVERTERS = {
    "key.converter": PluginType.CONVERTER,
    "value.converter": PluginType.CONVERTER,
    "header.converter": PluginType.HEADER_CONVERTER,
}

_NULL = "Null value can not be supplied as the configuration value."


def validate_connector(
    plugins: Plugins, worker: WorkerConfig, props: Mapping[str, str | None]
) -> ConfigInfos:
    """Everything that is wrong with a config, and the definition of every key that it has.

    ConfigError when there is nothing to answer about: no connector class, one that is unknown or
    can't be loaded, a reference that can't be looked up. Shows references, not what is behind
    them, and no secrets.
    """
    providers = plugins.providers(worker.raw)
    try:
        resolved = providers.resolve(props)
    finally:
        providers.close()
    found = resolved.values
    class_name = (found.get("connector.class") or "").strip()
    if not class_name:
        raise ConfigError(
            f"Connector config {{{', '.join(found)}}} contains no connector type: "
            "set connector.class"
        )
    disclosure = Disclosure(found, resolved.references)
    shown_name = props.get("connector.class") or class_name
    try:
        candidates = plugins.candidates(CONNECTOR_TYPES, class_name)
        info = plugins.find(CONNECTOR_TYPES, class_name)
    except NotFoundError as error:
        # The name may come from a provider, like every other value.
        raise ConfigError(disclosure.message(str(error))) from None
    version = found.get("connector.plugin.version")
    try:
        VersionRange.parse(version)
    except ValueError as error:
        raise ConfigError("connector.plugin.version", version, str(error)) from error
    try:
        info = plugins.find(CONNECTOR_TYPES, class_name, version)
    except ConfigError as error:
        return _wrong_version(shown_name, info, found, str(error), disclosure)
    try:
        validation = _Validation(plugins, worker, info, found, disclosure)
    except ConnectError as error:
        raise ConfigError(str(error)) from error
    validation.check([i.version for i in candidates if i.version])
    return validation.answer(shown_name)


def plugin_config_keys(plugins: Plugins, name: str, version: str | None = None) -> list[KeyInfo]:
    """The keys of a plugin for `GET /connector-plugins/{name}/config`; a connector's own first.

    NotFoundError for an unknown plugin, ConfigError for a wrong version or type.
    """
    try:
        VersionRange.parse(version)
    except ValueError as error:
        raise ConfigError(f"Invalid version specification: {version}") from error
    try:
        info = plugins.find(None, name, version)
    except NotFoundError as error:
        raise NotFoundError(f"Unknown plugin {name}.") from error
    if info.type in (PluginType.CONFIG_PROVIDER, PluginType.REST_EXTENSION):
        raise ConfigError(
            f"Invalid plugin class {name}. Valid types are sink, source, converter, "
            "header_converter, transformation, predicate."
        )
    definition: ConfigDef = load_plugin(info).config_def
    if info.type in CONNECTOR_TYPES:
        is_sink = info.type is PluginType.SINK
        everybody_s = connector_config_def(is_sink=is_sink, props={})
        everybody_s = _with_default(everybody_s, "connector.plugin.version", info.version)
        definition = definition.including(everybody_s)
    return key_infos(definition)


def _wrong_version(
    name: str,
    info: PluginInfo,
    props: Mapping[str, str | None],
    error: str,
    disclosure: Disclosure,
) -> ConfigInfos:
    """The answer when the connector itself can't be had: no more than the framework's keys."""
    definition = connector_config_def(is_sink=info.type is PluginType.SINK, props={})
    definition = _with_default(definition, "connector.plugin.version", info.version)
    values = definition.validate(props)
    values["connector.plugin.version"].recommended = [info.version]
    for key in ("connector.class", "connector.plugin.version"):
        values[key].errors.append(error)
    configs = [
        ConfigInfo(KeyInfo.of(key), disclosure.value_info(values[key.name], key.type))
        for key in definition.keys.values()
    ]
    count = sum(len(value.errors) for value in values.values())
    return ConfigInfos(name, count, definition.groups, configs)


class _Validation:
    """One validation on its way: the values found so far, in the order of the answer."""

    def __init__(
        self,
        plugins: Plugins,
        worker: WorkerConfig,
        info: PluginInfo,
        props: Mapping[str, str | None],
        disclosure: Disclosure,
    ) -> None:
        self._plugins = plugins
        self._worker = worker
        self._info = info
        self._props = props
        self._given = {key: text for key, text in props.items() if text is not None}
        self._disclosure = disclosure
        self._is_sink = info.type is PluginType.SINK
        self._connector: type[Connector] = load_plugin(info)
        self._keys: dict[str, ConfigKey] = {}
        self._values: dict[str, ConfigValue] = {}
        self._groups: dict[str, None] = {}
        # What converters and client overrides add: counted by key, not by message.
        self._parts: list[tuple[ConfigKey | None, ConfigValue]] = []

    def check(self, versions: list[str]) -> None:
        converters = self._check_framework_keys(versions)
        self._check_connector()
        self._check_overrides()
        for key in ("header.converter", "key.converter", "value.converter"):
            self._check_converter_settings(converters[key])

    def answer(self, name: str) -> ConfigInfos:
        parts = [value for _, value in self._parts]
        for secret in secrets_in([*self._values.values(), *parts]):
            self._disclosure.hide(secret)
        undeclared = [(None, v) for n, v in self._values.items() if n not in self._keys]
        declared = [(key, self._values[name]) for name, key in self._keys.items()]
        configs = [
            ConfigInfo(
                KeyInfo.of(key) if key else None,
                self._disclosure.value_info(value, key.type if key else None),
            )
            for key, value in [*undeclared, *declared, *self._parts]
        ]
        count = sum(len(value.errors) for value in self._values.values())
        count += sum(bool(value.errors) for value in parts)
        return ConfigInfos(name, count, list(self._groups), configs)

    # ---- the framework's keys ----

    def _check_framework_keys(self, versions: list[str]) -> dict[str, ClassKey]:
        props = self._props
        converters = {
            key: resolve_class(self._plugins, type_, key, f"{key}.plugin.version", props)
            for key, type_ in _CONVERTERS.items()
        }
        transforms = transform_keys(self._plugins, props)
        definition = connector_config_def(is_sink=self._is_sink, props=props)
        definition = _with_default(definition, "connector.plugin.version", self._info.version)
        for key, converter in converters.items():
            definition = self._with_converter_defaults(definition, key, converter)
        definition = with_transform_keys(definition, transforms)
        if not self._is_sink and self._worker["topic.creation.enable"]:
            definition = with_topic_groups(definition, props)
        values = definition.validate(props)
        values["connector.plugin.version"].recommended = list(versions)
        check_classes(self._plugins, [*converters.values(), *transforms], values, props)
        self._default_converter_values(converters, values)
        if self._is_sink:
            self._check_sink(values)
        else:
            self._check_source(values)
        for key, text in props.items():
            if text is None:
                values.setdefault(key, ConfigValue(key)).errors.append(_NULL)
        self._add(definition, values)
        return converters

    def _with_converter_defaults(
        self, definition: ConfigDef, key: str, converter: ClassKey
    ) -> ConfigDef:
        default = self._worker_converter(key)
        definition = _with_default(definition, key, default.name if default else None)
        effective = converter.info if converter.given is not None else default
        return _with_default(
            definition, f"{key}.plugin.version", effective.version if effective else None
        )

    def _worker_converter(self, key: str) -> PluginInfo | None:
        try:
            return self._plugins.find(_CONVERTERS[key], self._worker[key])
        except ConnectError:
            return None

    def _default_converter_values(
        self, converters: Mapping[str, ClassKey], values: Mapping[str, ConfigValue]
    ) -> None:
        for key, converter in converters.items():
            version = values[f"{key}.plugin.version"]
            if converter.given is None:
                default = self._worker_converter(key)
                version.recommended = [default.version] if default and default.version else []
            # There is no version to choose of a class that is not there.
            version.visible = bool(version.recommended) or converter.shown is not None

    def _check_sink(self, values: dict[str, ConfigValue]) -> None:
        topics, regex = values["topics"], values["topics.regex"]
        if topics.value and regex.value:
            both = "topics and topics.regex are mutually exclusive options, but both are set."
            topics.errors.append(both)
            regex.errors.append(both)
        if not (self._props.get("topics") or "").strip() and not regex.value:
            neither = "Must configure one of topics or topics.regex"
            topics.errors.append(neither)
            regex.errors.append(neither)
        dead_letters = (values["errors.deadletterqueue.topic.name"].value or "").strip()
        if dead_letters and topics.value and dead_letters in topics.value:
            topics.errors.append(
                f"The DLQ topic '{dead_letters}' may not be included in the list of topics "
                f"('topics=[{', '.join(topics.value)}]') consumed by the connector"
            )
        if dead_letters and regex.value and not regex.errors:
            from connect.javalang.regex import compile_java  # noqa: PLC0415 - few have a regex

            if compile_java(regex.value).matches(dead_letters):
                regex.errors.append(
                    f"The DLQ topic '{dead_letters}' may not be matched by the regex for the "
                    f"topics ('topics.regex={regex.value}') consumed by the connector"
                )
        self._check_consumer_group(values)

    def _check_consumer_group(self, values: dict[str, ConfigValue]) -> None:
        worker_group = self._worker.group_id
        if worker_group is None:
            return
        key = "consumer.override.group.id"
        if key in self._given:
            if self._given[key] == worker_group:
                values[key] = ConfigValue(key, worker_group)
                values[key].errors.append(
                    f"Consumer group {worker_group} conflicts with Connect worker group "
                    f"{worker_group}"
                )
        elif f"connect-{values['name'].value}" == worker_group:
            values["name"].errors.append(
                f"Consumer group for sink connector named {values['name'].value} conflicts with "
                f"Connect worker group {worker_group}"
            )

    def _check_source(self, values: Mapping[str, ConfigValue]) -> None:
        support, boundary = values["exactly.once.support"], values["transaction.boundary"]
        if str(support.value).lower() == "required" and not support.errors:
            if not self._worker.exactly_once_sources:
                support.errors.append(
                    "This worker does not have exactly-once source support enabled."
                )
            self._ask_source(support, _exactly_once_error)
        if str(boundary.value).lower() == "connector" and not boundary.errors:
            self._ask_source(boundary, _boundary_error)

    def _ask_source(self, value: ConfigValue, question: Any) -> None:
        try:
            connector = self._connector()
            assert isinstance(connector, SourceConnector)
            connector.config = self._connector.config_def.parse(self._given)
            error = question(connector)
        except Exception as failure:  # noqa: BLE001 - a plugin may raise anything
            reason = str(failure) or reason_of(failure)
            error = f"An unexpected error occurred during validation: {reason}"
        if error:
            value.errors.append(error)

    # ---- the plugins' keys ----

    def _check_connector(self) -> None:
        definition = self._connector.config_def
        values = definition.validate(self._props)
        try:
            self._connector.validate(values)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            for secret in secrets_in(values.values()):
                self._disclosure.hide(secret)
            text = f"{self._info.name} failed to validate its configuration: {reason_of(error)}"
            # Without its cause, whose text nobody has cleared of secrets.
            raise ConnectError(self._disclosure.message(text)) from None
        self._add(definition, values)

    def _check_overrides(self) -> None:
        policy = OverridePolicy.of(self._worker)
        has_dead_letters = bool(self._given.get("errors.deadletterqueue.topic.name", "").strip())
        used = {
            "producer": not self._is_sink or has_dead_letters,
            "consumer": self._is_sink,
            "admin": has_dead_letters
            or (
                not self._is_sink
                and self._worker["topic.creation.enable"]
                and uses_topic_creation(self._given)
            ),
        }
        for client, is_used in used.items():
            if is_used:
                self._parts += check_overrides(policy, client, self._given)

    def _check_converter_settings(self, converter: ClassKey) -> None:
        """A converter's own keys, if the connector names the converter; else they don't count."""
        definition = getattr(converter.cls, "config_def", None)
        if converter.cls is None or definition is None:
            return
        prefix = f"{converter.key}."
        settings: dict[str, str | None] = {
            "converter.type": converter.key.removesuffix(".converter"),
            **settings_below(self._given, prefix),
        }
        values = definition.validate(settings)
        for name, key in definition.keys.items():
            value = values[name]
            self._parts.append(
                (replace(key, name=prefix + name), replace(value, name=prefix + name))
            )
        self._groups |= dict.fromkeys(definition.groups)

    def _add(self, definition: ConfigDef, values: Mapping[str, ConfigValue]) -> None:
        self._keys |= definition.keys
        self._values |= values
        self._groups |= dict.fromkeys(definition.groups)


def _with_default(definition: ConfigDef, name: str, default: str | None) -> ConfigDef:
    keys = dict(definition.keys)
    keys[name] = replace(keys[name], default=default)
    return ConfigDef(keys.values())


def _exactly_once_error(connector: SourceConnector) -> str | None:
    answer = connector.exactly_once_support()
    if answer is None:
        return (
            "The connector does not implement the API required for preflight validation of "
            "exactly-once source support. Please consult the documentation for the connector to "
            "determine whether it supports exactly-once semantics, and then consider "
            'reconfiguring the connector to use the value "requested" for this property (which '
            "will disable this preflight check and allow the connector to be created)."
        )
    if answer is ExactlyOnceSupport.UNSUPPORTED:
        return (
            "The connector does not support exactly-once semantics with the provided configuration."
        )
    return None


def _boundary_error(connector: SourceConnector) -> str | None:
    if connector.can_define_transaction_boundaries():
        return None
    return (
        "The connector does not support connector-defined transaction boundaries with the given "
        "configuration. Please reconfigure it to use a different transaction boundary definition."
    )
