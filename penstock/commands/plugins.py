"""`penstock plugins`: what is installed here, without asking a worker."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.options import Output, OutputOption

if TYPE_CHECKING:
    from connect.plugins import PluginInfo


def register(root: typer.Typer) -> None:
    root.command("plugins")(plugins)


def plugins(
    plugin_path: Annotated[
        list[Path] | None,
        typer.Option(
            "--plugin-path",
            help="A folder with plugins, as in a worker's plugin.path. May be given several times.",
        ),
    ] = None,
    worker: Annotated[
        Path | None,
        typer.Option("--worker", help="Take plugin.path from this worker.properties."),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "-t",
            "--type",
            help="Only these: sink, source, transformation, predicate, converter, "
            "header_converter, config_provider, rest_extension. May be given several times, or "
            "with commas.",
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """List the plugins that are installed here, those that can't be loaded with the reason."""
    from connect.plugins import Plugins
    from penstock import show

    folders = [*map(str, plugin_path or ()), *_plugin_path_of(worker)]
    wanted = {each.strip() for text in types or () for each in text.split(",")}
    _require_known(wanted)
    found = [
        info
        for info in Plugins(folders).list(broken=True)
        if not wanted or info.type is None or info.type in wanted
    ]
    if output is Output.JSON:
        show.print_json([{**asdict(info), "aliases": list(info.aliases)} for info in found])
    else:
        show.console().print(show.table(_HEADERS, map(_row, found)))


_HEADERS = ("TYPE", "CLASS", "VERSION", "ALIASES", "ORIGIN", "ERROR")


def _row(info: "PluginInfo") -> tuple[str, ...]:
    return (
        info.type or "?",
        info.name,
        info.version or "",
        ", ".join(info.aliases),
        info.origin,
        info.error or "",
    )


def _plugin_path_of(worker: Path | None) -> list[str]:
    if worker is None:
        return []
    from connect.javalang.properties import read_properties
    from penstock.errors import UserError

    try:
        folders = read_properties(worker).get("plugin.path", "")
    except ValueError as error:
        raise UserError(str(error)) from error
    return [folder.strip() for folder in folders.split(",") if folder.strip()]


def _require_known(types: set[str]) -> None:
    from connect.plugins import PluginType
    from penstock.errors import UserError

    if unknown := types.difference(PluginType):
        raise UserError(
            f"There is no plugin type {', '.join(sorted(unknown))}; the types are: "
            f"{', '.join(PluginType)}"
        )
