"""How dead letters look on a terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from dlq.cause import trace_for_people
from dlq.desk import TopicSummary
from dlq.model import Group, Row
from dlq.probe import Outcome, Verdict
from dlq.replay import Progress
from dlq.selection import show_time
from penstock import show

_BARS = " ▁▂▃▄▅▆▇█"
_CHART_WIDTH = 40
_MINUTE_MS = 60_000
_REASON_WIDTH = 100
_VALUE_BYTES = 10_000


def summaries_table(summaries: Sequence[TopicSummary]) -> RenderableType:
    if not summaries:
        return Text(
            "No connector has a dead-letter topic: set errors.tolerance=all and "
            "errors.deadletterqueue.topic.name."
        )
    rows: list[tuple[str | Text, ...]] = []
    for each in summaries:
        users = ", ".join(each.connectors)
        if each.depth is None:
            rows.append((each.topic, users, "not created yet", "", "", "", "", ""))
            continue
        depth = each.depth
        rows.append(
            (
                each.topic,
                users,
                Text(str(depth.open), style="red" if depth.open else "green"),
                str(depth.replayed),
                str(depth.dismissed),
                str(depth.last_hour),
                ago(depth.oldest_ms),
                ago(depth.newest_ms),
            )
        )
    headers = ("TOPIC", "CONNECTORS", "OPEN", "REPLAYED", "DISMISSED", "LAST HOUR", "OLDEST")
    return show.table((*headers, "NEWEST"), rows)


def stats_page(groups: Sequence[Group]) -> RenderableType:
    if not groups:
        return Text("No letters.")
    begin = min(g.oldest_ms for g in groups)
    end = max(g.newest_ms for g in groups) + _MINUTE_MS
    lines: list[RenderableType] = []
    for group in groups:
        head = Text(f"{group.count:>8}  ", style="bold")
        head.append(group.fingerprint, style="cyan")
        head.append(f"  {group.stage or 'cause unknown'}", style="yellow")
        head.append(f"  {group.exception or ''}")
        lines.append(head)
        lines.append(
            Text(
                f"{'':10}{group.connector or 'no connector'} · from "
                f"{group.source_topic or 'an unknown topic'}"
            )
        )
        if group.reason:
            lines.append(Text(f"{'':10}{_cut(group.reason)}"))
        lines.append(Text(f"{'':10}{chart(group.over_time, begin, end)}", style="blue"))
    total = sum(g.count for g in groups)
    when = f"{show_time(begin)} to {show_time(end)} UTC"
    lines.append(Text(f"{total:>8}  letters in {len(groups)} groups, {when}"))
    return Lines(*lines)


def chart(over_time: Sequence[tuple[int, int]], begin: int, end: int) -> str:
    """Counts between two times as a line of bars; anything above nothing is seen."""
    width = max(1, min(_CHART_WIDTH, (end - begin) // _MINUTE_MS))
    counts = [0] * width
    for at, n in over_time:
        counts[min(width - 1, (at - begin) * width // max(1, end - begin))] += n
    highest = max(counts) or 1
    return "".join(_BARS[-(-n * (len(_BARS) - 1) // highest)] for n in counts)


def rows_table(topic: str, rows: Sequence[Row]) -> RenderableType:
    if not rows:
        return Text("No letters.")
    return show.table(
        ("LETTER", "TIME (UTC)", "STATE", "CONNECTOR", "STAGE", "FINGERPRINT", "REASON"),
        (
            (
                f"{topic}/{row.partition}/{row.offset}",
                show_time(row.time_ms),
                str(row.state) + (f" ({row.attempts} replays)" if row.attempts else ""),
                row.connector or "",
                row.stage or "",
                row.fingerprint,
                _cut(row.reason),
            )
            for row in rows
        ),
    )


def letter_page(document: Mapping[str, Any]) -> RenderableType:
    cause, state = document["cause"], document["state"]
    lines = [
        _field("Letter", document["letter"]),
        _field("State", _state(state)),
        _field("Time", show_time(document["time"])),
        _field("Origin", document["origin"]),
        _field("Replays", str(document["attempts"])),
        _field("Connector", f"{cause['connector'] or 'unknown'}, task {cause['task']}"),
        _field("Stage", f"{cause['stage'] or 'unknown'} ({cause['class'] or 'unknown class'})"),
    ]
    if cause["generations"] > 1:
        lines.append(_field("Died", f"{cause['generations']} times; this is the last"))
    lines.append(Text("Error:"))
    trace = cause["trace"]
    told = trace_for_people(trace) if trace else cause["message"] or "no headers tell it"
    lines += [Text(f"  {line}", style="red") for line in told.splitlines()]
    lines += _content("Key", document["key"])
    lines += _content("Value", document["value"])
    lines.append(Text("Headers:" if document["headers"] else "Headers: none"))
    lines += [Text(f"  {name}: {_flat(value)}") for name, value in document["headers"]]
    return Lines(*lines)


def _state(state: Mapping[str, Any]) -> str:
    told = [str(state["state"])]
    if state["by"]:
        told.append(f"by {state['by']}")
    if state["at"]:
        told.append(f"at {show_time(state['at'])}")
    if state["to"]:
        told.append(f"to {state['to']}")
    return " ".join(told) + (f": {state['note']}" if state["note"] else "")


def _content(name: str, part: Mapping[str, Any]) -> list[Text]:
    raw = _flat(part["raw"])
    cut = f"… ({len(raw)} characters)" if len(raw) > _VALUE_BYTES else ""
    lines = [_field(name, raw[:_VALUE_BYTES] + cut)]
    if part["error"]:
        lines.append(Text(f"  can't be decoded: {part['error']}", style="red"))
    elif part["decoded"] is not None:
        shown = json.dumps(part["decoded"], indent=2, ensure_ascii=False)[:_VALUE_BYTES]
        lines += [Text(f"  {line}") for line in shown.splitlines()]
    return lines


def outcomes_page(counts: Mapping[Outcome, int]) -> RenderableType:
    if not counts:
        return Text("No letters.")
    colours = {Verdict.PASSES: "green", Verdict.FAILS: "red", Verdict.BLOCKED: "red"}
    lines = []
    for outcome, n in counts.items():
        line = Text(f"{n:>8}  ", style="bold")
        line.append(str(outcome.verdict), style=colours.get(outcome.verdict, "yellow"))
        if outcome.stage:
            line.append(f"  {outcome.fingerprint}  {outcome.stage}  {outcome.exception}")
        lines.append(line)
        if outcome.reason:
            lines.append(Text(f"{'':10}{_cut(outcome.reason)}"))
    return Lines(*lines)


def replay_page(progress: Progress, *, dry_run: bool) -> RenderableType:
    verb = "would be replayed" if dry_run else "replayed"
    lines = [Text(f"{progress.replayed} of {progress.total} letters {verb} ({progress.id})")]
    lines += [Text(f"  {n:>8}  to {target}") for target, n in sorted(progress.targets.items())]
    lines += [
        Text(f"  {n:>8}  left open: {_cut(reason)}", style="yellow")
        for reason, n in sorted(progress.left_open.items(), key=lambda item: -item[1])
    ]
    if progress.stopped:
        lines.append(Text(f"Stopped: {progress.stopped}.", style="red"))
    return Lines(*lines)


def ago(ms: int | None) -> str:
    if ms is None:
        return ""
    seconds = max(0, time.time() - ms / 1000)
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return "now"


def _field(name: str, value: str) -> Text:
    return Text(f"{name}: {value}")


def _flat(value: Any) -> str:
    if value is None:
        return "null"
    return value if isinstance(value, str) else json.dumps(value)


def _cut(text: str) -> str:
    return text if len(text) <= _REASON_WIDTH else text[: _REASON_WIDTH - 1] + "…"
