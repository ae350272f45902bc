"""The rows as a table that people read."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.runs import Row

_HEAD = (
    "work", "against", "theirs", "Penstock", "ratio", "spread", "goal", "",
    "CPU s/M theirs", "ours", "MB theirs", "ours",
)  # fmt: skip


def text(rows: Sequence[Row]) -> str:
    lines = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]
    told = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
    told.insert(1, "  ".join("─" * w for w in widths))
    notes = [f"{row.work}: could not run: {row.reason}" for row in rows if row.reason]
    notes += [f"{row.work}: {row.bottleneck}" for row in rows if row.bottleneck]
    return "\n".join([*(line.rstrip() for line in told), "", *notes])


def _cells(row: Row) -> tuple[str, ...]:
    if row.reason:
        return (row.title, *("-",) * 5, str(row.goal), "could not run", *("-",) * 4)
    return (
        row.title,
        row.against,
        f"{number(median(s.value for s in row.theirs))} {row.unit}",
        f"{number(median(s.value for s in row.ours))} {row.unit}",
        f"{row.ratio:.2f}",
        f"{min(row.ratios):.2f}-{max(row.ratios):.2f}",
        str(row.goal),
        row.verdict,
        *(_middle([s.cpu for s in side]) for side in (row.theirs, row.ours)),
        *(_middle([s.memory for s in side]) for side in (row.theirs, row.ours)),
    )


def number(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:,.0f} k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _middle(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return number(median(known)) if known else "-"
