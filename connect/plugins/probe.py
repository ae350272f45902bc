"""Looks at plugin code from the inside: imports it and says what it holds.

Runs in a process of its own, started by `discovery`. Whatever the code does while it is imported,
raise, print, block or exit, it does here.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from connect.plugins.info import PluginInfo, PluginType, describe
from connect.plugins.loading import import_plugin_module

# The entry point groups in which distributions announce plugins, and what may stand there.
GROUPS: dict[str, tuple[PluginType, ...]] = {
    "penstock.connectors": (PluginType.SINK, PluginType.SOURCE),
    "penstock.converters": (PluginType.CONVERTER, PluginType.HEADER_CONVERTER),
    "penstock.header_converters": (PluginType.HEADER_CONVERTER,),
    "penstock.transforms": (PluginType.TRANSFORMATION,),
    "penstock.predicates": (PluginType.PREDICATE,),
    "penstock.config_providers": (PluginType.CONFIG_PROVIDER,),
    "penstock.rest_extensions": (PluginType.REST_EXTENSION,),
}


@dataclass(frozen=True, slots=True)
class Announced:
    """An entry point: somebody says that there is a plugin."""

    group: str
    alias: str
    value: str
    distribution: str
    version: str


@dataclass(frozen=True, slots=True)
class Source:
    """What one process looks at: a file or folder, or what is installed in the environment.

    Announced plugins are taken at their word; modules are searched for plugin classes.
    """

    origin: str
    location: str | None
    announced: tuple[Announced, ...] = ()
    modules: tuple[str, ...] = ()


def main(request: dict[str, Any]) -> None:
    """Answer on the standard output, as JSON. Prints of the plugins go to the standard error."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    source = Source(
        request["origin"],
        request["location"],
        tuple(Announced(**a) for a in request["announced"]),
        tuple(request["modules"]),
    )
    with answer:
        json.dump([asdict(info) for info in examine(source)], answer)
        answer.flush()
        # A plugin may have left a thread behind that would keep this process alive.
        os._exit(0)


def examine(source: Source) -> Iterator[PluginInfo]:
    """What a source holds; what could not be loaded is among it, with its error."""
    for announced in source.announced:
        try:
            yield from _announced(announced, source)
        except BaseException as error:  # noqa: BLE001 - SystemExit is an error here too
            yield broken(source, announced.value, reason_of(error), announced)
    for module in source.modules:
        try:
            found = list(_in_module(module, source))
        except BaseException as error:  # noqa: BLE001
            yield broken(source, module, reason_of(error))
        else:
            yield from found


def broken(
    source: Source, python_name: str, reason: str, announced: Announced | None = None
) -> PluginInfo:
    """The entry of a plugin that can't be used."""
    types = GROUPS.get(announced.group, ()) if announced else ()
    return PluginInfo(
        types[0] if len(types) == 1 else None,
        python_name.replace(":", "."),
        python_name,
        announced.version if announced else None,
        (announced.alias,) if announced else (),
        _origin(source, announced),
        source.location,
        reason,
    )


def _announced(announced: Announced, source: Source) -> Iterator[PluginInfo]:
    module_name, _, class_name = announced.value.partition(":")
    cls: Any = import_plugin_module(module_name, source.location)
    for part in class_name.split("."):
        cls = getattr(cls, part)
    types = GROUPS[announced.group]
    origin = _origin(source, announced)
    infos = (
        list(describe(cls, origin, source.location, announced.version))
        if inspect.isclass(cls)
        else []
    )
    if not any(info.type in types for info in infos):
        wanted = " or ".join(dict.fromkeys(type_.base.__name__ for type_ in types))
        raise TypeError(f"it is announced in {announced.group} and no concrete {wanted}")
    for info in infos:
        # The announced name counts: a class may be defined elsewhere than it is exported.
        yield replace(
            info,
            name=announced.value.replace(":", "."),
            python_name=announced.value,
            aliases=tuple(dict.fromkeys((*info.aliases, announced.alias))),
        )


def _in_module(name: str, source: Source) -> Iterator[PluginInfo]:
    module = import_plugin_module(name, source.location)
    for attribute, cls in sorted(vars(module).items()):
        # What a module has imported is not its own; what a package's parts define is.
        own = inspect.isclass(cls) and f"{cls.__module__}.".startswith(f"{name}.")
        if own and attribute == cls.__name__ and not attribute.startswith("_"):
            for info in describe(cls, source.origin, source.location):
                yield replace(info, name=f"{name}.{attribute}", python_name=f"{name}:{attribute}")


def reason_of(error: BaseException) -> str:
    """An error in one line, with the line of the plugin that raised it."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    text = str(error).strip().split("\n")[0]
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if frame is None or isinstance(error, SyntaxError):
        return reason
    code = frame.tb_frame.f_code
    internal = code.co_filename.startswith("<frozen") or code.co_filename == __file__
    return reason if internal else f"{reason} ({code.co_filename}, line {frame.tb_lineno})"


def _origin(source: Source, announced: Announced | None) -> str:
    if announced is None:
        return source.origin
    package = f"{announced.distribution} {announced.version}"
    return package if source.location is None else f"{package} in {source.location}"
