"""How connectors look on a terminal: tables, states in colour, differences between configs."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from connect.config.masking import secret_keys
from connect.config.secret import HIDDEN
from connect.errors import ConnectError
from penstock.errors import UserError

_COLOURS = {
    "RUNNING": "green",
    "PAUSED": "yellow",
    "STOPPED": "yellow",
    "UNASSIGNED": "yellow",
    "RESTARTING": "yellow",
    "FAILED": "red",
}

# Without a terminal there is no width; a cell that is cut or folded can't be read by a script.
_UNLIMITED = 100_000


def console() -> Console:
    screen = Console(highlight=False, markup=False)
    return (
        screen if screen.is_terminal else Console(highlight=False, markup=False, width=_UNLIMITED)
    )


def print_json(document: Any) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))


def state(text: str) -> Text:
    return Text(text, style=_COLOURS.get(text, ""))


def table(headers: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table without lines, as kubectl and kcctl show theirs."""
    shown = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for header in headers:
        shown.add_column(header, overflow="fold")
    for row in rows:
        shown.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return shown


def connectors_table(expanded: Mapping[str, Any]) -> RenderableType:
    """GET /connectors?expand=status as a table."""
    if not expanded:
        return Text("No connectors yet: create one with `penstock apply -f FILE`.")
    return table(
        ("NAME", "TYPE", "STATE", "TASKS"),
        (
            (name, status["type"], state(status["connector"]["state"]), _tasks(status["tasks"]))
            for name, status in sorted((n, e["status"]) for n, e in expanded.items())
        ),
    )


def _tasks(tasks: Sequence[Mapping[str, Any]]) -> Text:
    return Text(", ").join(Text(f"{t['id']}: ") + state(t["state"]) for t in tasks)


def offsets_table(offsets: Sequence[Mapping[str, Any]]) -> RenderableType:
    """GET …/offsets as a table: by topic and partition for a sink, else as the source has them."""
    if not offsets:
        return Text("No offsets are stored.")
    if all("kafka_topic" in (entry["partition"] or {}) for entry in offsets):
        rows = sorted(
            (p["kafka_topic"], int(p["kafka_partition"]), (o or {}).get("kafka_offset"))
            for p, o in ((entry["partition"], entry["offset"]) for entry in offsets)
        )
        return table(("TOPIC", "PARTITION", "OFFSET"), ((t, str(p), str(o)) for t, p, o in rows))
    return table(
        ("PARTITION", "OFFSET"),
        ((_compact(entry["partition"]), _compact(entry["offset"])) for entry in offsets),
    )


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def connector_page(
    info: Mapping[str, Any],
    status: Mapping[str, Any],
    topics: Sequence[str],
    task_configs: Mapping[int, Mapping[str, str]],
) -> RenderableType:
    """Everything about one connector. `task_configs` is empty unless asked for."""
    own = status["connector"]
    lines = [
        _field("Name", info["name"]),
        _field("Type", info["type"]),
        _field("State", state(own["state"])),
        _field("Worker", own.get("worker_id", "")),
    ]
    if version := own.get("version"):
        lines.append(_field("Version", version))
    lines += _trace(own, "")
    lines.append(Text("Config:"))
    lines += [_field(f"  {key}", value) for key, value in sorted(info["config"].items())]
    lines.append(Text("Tasks:") if status["tasks"] else _field("Tasks", "none"))
    for task in status["tasks"]:
        lines.append(_field(f"  {task['id']}", state(task["state"]) + f" on {task['worker_id']}"))
        lines += _trace(task, "    ")
        for key, value in sorted(task_configs.get(task["id"], {}).items()):
            lines.append(_field(f"    {key}", value))
    lines.append(_field("Topics", ", ".join(sorted(topics)) or "none"))
    return Group(*lines)


def _field(name: str, value: str | Text) -> Text:
    return Text(f"{name}: ").append_text(value if isinstance(value, Text) else Text(value))


def _trace(status: Mapping[str, Any], indent: str) -> list[Text]:
    trace = (status.get("trace") or "").rstrip()
    return [Text(indent + line, style="red") for line in trace.splitlines()]


def keys_page(name: str, keys: Sequence[Mapping[str, Any]]) -> RenderableType:
    """GET /connector-plugins/{p}/config: each key with its type, default and description."""
    lines = [_field("Plugin", name)]
    for key in keys:
        default = "required" if key["required"] else f"default {_shown_default(key)}"
        lines.append(Text())
        lines.append(Text(key["name"], style="bold") + Text(f"  {key['type']}, {default}"))
        lines.append(Text(f"  {key['documentation']}"))
    return Group(*lines)


def _shown_default(key: Mapping[str, Any]) -> str:
    default = key["default_value"]
    return "none" if default is None else default or '""'


def differences(old: Mapping[str, str], new: Mapping[str, str | None]) -> list[Text]:
    """What would change, a line for each key; secrets are never shown, changed or not."""
    secret = secret_keys({*old, *new}, {}) | {k for k, v in old.items() if v == HIDDEN}
    lines = []
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        shown = HIDDEN if key in secret else after
        if after is None:
            lines.append(Text(f"  - {key}", style="red"))
        elif before is None:
            lines.append(Text(f"  + {key}: {shown}", style="green"))
        elif key in secret:
            lines.append(Text(f"  ~ {key}: {HIDDEN}, maybe changed", style="yellow"))
        else:
            lines.append(Text(f"  ~ {key}: {before} → {shown}", style="yellow"))
    return lines


def problems(validation: Mapping[str, Any]) -> list[Text]:
    """The errors of a validation, a line for each."""
    return [
        Text(f"  {entry['value']['name']}: {error}", style="red")
        for entry in validation["configs"]
        if entry["value"] is not None
        for error in entry["value"]["errors"]
    ]


def watch(render: Callable[[], RenderableType], seconds: float) -> None:
    """Show and show again until Ctrl-C; without a terminal, print whenever something changed."""
    import time

    screen = console()
    if screen.is_terminal:
        with Live(_rendered(render), console=screen, auto_refresh=False) as live:
            while True:
                time.sleep(seconds)
                live.update(_rendered(render), refresh=True)
    before = ""
    while True:
        with screen.capture() as captured:
            screen.print(_rendered(render))
        if captured.get() != before:
            before = captured.get()
            print(before, end="", flush=True)
        time.sleep(seconds)


def watch_json(load: Callable[[], Any], seconds: float) -> None:
    """Print what there is, and again whenever it has changed, until Ctrl-C."""
    import time

    before: Any = None
    while True:
        with contextlib.suppress(UserError, ConnectError):
            found = load()
            if found != before:
                before = found
                print_json(found)
                sys.stdout.flush()
        time.sleep(seconds)


def _rendered(render: Callable[[], RenderableType]) -> RenderableType:
    """A worker or broker that restarts is away for a moment; watching goes on."""
    try:
        return render()
    except (UserError, ConnectError) as error:
        return Text(str(error), style="red")
