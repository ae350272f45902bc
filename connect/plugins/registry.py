"""The plugins of a worker: found by name, loaded where they are needed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from connect.config.providers import Providers, make_providers
from connect.errors import ConfigError, ConnectError, NotFoundError
from connect.plugins.builtin import builtin_plugins
from connect.plugins.discovery import discover
from connect.plugins.info import CONNECTOR_TYPES, PluginInfo, PluginType
from connect.plugins.loading import import_plugin_module
from connect.plugins.probe import reason_of
from connect.plugins.versions import Version, VersionRange

_PYTHON_TRANSFORM = "transforms.python:PythonTransform"
_PYTHON_SWITCH = "python.transform.enable"

Types = PluginType | Sequence[PluginType]


class Plugins:
    """All that is installed. Imports nothing until `load`; pickles with what it has found.

    Names are the JVM's class names, ours (`module.Class` or `module:Class`) and aliases. Where a
    built-in and another plugin have the same name, the built-in is meant. The built-ins are known
    at once. The rest is looked for, in child processes, when it is first needed: for a list, or
    for a name that no built-in has.
    """

    def __init__(
        self, plugin_path: Iterable[str] | None = None, extra: Iterable[PluginInfo] = ()
    ) -> None:
        """`extra` are plugins known by other means, such as `describe(MyConnector, "tests")`."""
        self._plugin_path = tuple(plugin_path or ())
        self._known = (*builtin_plugins(), *extra)
        self._discovered: tuple[PluginInfo, ...] | None = None
        self._discovering = threading.Lock()

    @classmethod
    def of_worker(cls, settings: Mapping[str, str]) -> Plugins:
        """Those that a worker with these settings has."""
        folders = [p.strip() for p in settings.get("plugin.path", "").split(",") if p.strip()]
        plugins = cls(folders)
        if settings.get(_PYTHON_SWITCH, "true").strip().lower() == "false":
            plugins._known = tuple(map(_without_python, plugins._known))
        return plugins

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in vars(self).items() if k != "_discovering"}
        if self._known == builtin_plugins():
            del state["_known"]  # every process knows them
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = {"_known": builtin_plugins()}
        vars(self).update(known | state, _discovering=threading.Lock())

    def discover(self) -> None:
        """Look for what is not built in, once. Blocks while plugins are imported elsewhere.

        Do it, in a thread, before this object is sent to other processes: each would look for
        itself otherwise.
        """
        self._others()

    def list(self, types: Types | None = None, *, broken: bool = False) -> Sequence[PluginInfo]:
        """What is installed, by type and name; on demand with the plugins that can't be used."""
        order = tuple(PluginType)
        return sorted(
            (
                info
                for info in (*self._known, *self._others())
                if _is_of(info, types) and (broken or info.error is None)
            ),
            key=lambda info: (order.index(info.type) if info.type else len(order), info.name),
        )

    def find(self, types: Types | None, name: str, version: str | None = None) -> PluginInfo:
        """The plugin of that name, of any of the types; the newest whose version will do.

        NotFoundError if there is none, ConfigError if an alias means several or no version fits.
        """
        candidates = self.candidates(types, name)
        if not candidates:
            raise NotFoundError(self._not_found(types, name))
        names = sorted({info.name for info in candidates})
        if len(names) > 1:
            kind = "connector" if _is_connector(types) else "plugin"
            raise ConfigError(
                f"More than one {kind} matches alias {name}. Please use full package and class "
                f"name instead. Classes found: {', '.join(names)}"
            )
        return _newest(candidates, version)

    def candidates(self, types: Types | None, name: str) -> Sequence[PluginInfo]:
        """Every usable plugin that answers to a name, all versions of it; a full name wins."""
        found = _named(self._known, types, name) or _named(self._others(), types, name)
        return [info for info in found if name not in info.aliases] or found

    def load(self, types: Types | None, name: str, version: str | None = None) -> type[Any]:
        """The class itself, imported. Call it in the process that is going to run the plugin."""
        return load_plugin(self.find(types, name, version))

    def providers(self, worker_props: Mapping[str, str]) -> Providers:
        """The config providers that a worker's settings name, configured."""
        return make_providers(
            worker_props, lambda name: self.load(PluginType.CONFIG_PROVIDER, name)
        )

    def _others(self) -> tuple[PluginInfo, ...]:
        with self._discovering:
            if self._discovered is None:
                self._discovered = tuple(discover(self._plugin_path))
            return self._discovered

    def _not_found(self, types: Types | None, name: str) -> str:
        interface = _interface(types)
        kind = "connectors" if _is_connector(types) else "plugins"
        available = ", ".join(dict.fromkeys(info.name for info in self.list(types)))
        text = (
            f"Failed to find any class that implements {interface} and which name matches {name}, "
            f"available {kind} are: {available}"
        )
        unusable = [
            i
            for i in (*self._known, *self._others())
            if i.error and (not i.type or _is_of(i, types))
        ]
        if unusable:
            reasons = "; ".join(f"{info.name} of {info.origin}: {info.error}" for info in unusable)
            text += f". These could not be loaded: {reasons}"
        return text


def _without_python(info: PluginInfo) -> PluginInfo:
    """The plugin, unless it runs code out of a config: that is one that can't be used."""
    if info.python_name != _PYTHON_TRANSFORM:
        return info
    return replace(info, error=f"it is switched off by {_PYTHON_SWITCH}=false on the worker")


def load_plugin(info: PluginInfo) -> type[Any]:
    """The class of a plugin, imported from where it is. ConnectError if that fails."""
    module_name, _, class_name = info.python_name.partition(":")
    try:
        found: Any = import_plugin_module(module_name, info.location)
        for part in class_name.split("."):
            found = getattr(found, part)
    except ConnectError:
        raise
    except Exception as error:
        raise ConnectError(
            f"The plugin {info.name} ({info.origin}) could not be loaded: {reason_of(error)}"
        ) from error
    assert isinstance(found, type)
    return found


def _newest(candidates: Sequence[PluginInfo], version: str | None) -> PluginInfo:
    try:
        wanted = VersionRange.parse(version)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    newest_first = sorted(candidates, key=lambda i: Version(i.version or ""), reverse=True)
    for info in newest_first:
        if info.version in wanted:
            return info
    available = ", ".join(info.version or "undefined" for info in reversed(newest_first))
    raise ConfigError(
        f"Plugin {newest_first[0].name} not found that matches the version range {wanted}, "
        f"available versions: [{available}]"
    )


def _named(infos: Iterable[PluginInfo], types: Types | None, name: str) -> Sequence[PluginInfo]:
    return [i for i in infos if i.error is None and _is_of(i, types) and i.answers_to(name)]


def _is_of(info: PluginInfo, types: Types | None) -> bool:
    if types is None:
        return True
    return info.type == types if isinstance(types, PluginType) else info.type in types


def _is_connector(types: Types | None) -> bool:
    return types is not None and (types in CONNECTOR_TYPES or tuple(types) == CONNECTOR_TYPES)


def _interface(types: Types | None) -> str:
    if types is None:
        return "a plugin"
    return (types if isinstance(types, PluginType) else types[0]).interface
