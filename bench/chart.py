"""The newest result of each work as a picture: docs/performance.svg."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bench.table import number

FILE = Path(__file__).parents[1] / "docs" / "performance.svg"

_WIDTH, _LEFT, _RIGHT, _LINE, _TOP = 860, 330, 190, 30, 46
_MOST = 6.0  # times as good; beyond, the bar ends and its label tells
_MET, _MISSED, _GOAL = "#2a7f62", "#b5532a", "#333"


def draw(rows: Iterable[Mapping[str, Any]], file: Path = FILE) -> None:
    """A bar a work: how many times as good as the other side, with the goal as a mark.

    Where less is better (seconds, MB), as good means as little.
    """
    shown = [row for row in rows if row.get("ratio")]
    parts = [_text(10, 20, "Penstock against each work's other side: times as good", bold=True)]
    for place, row in enumerate(shown):
        parts += _bar(_TOP + place * _LINE, row)
    height = _TOP + len(shown) * _LINE + 10
    if shown:
        x = _x(1.0)
        parts.append(f'<path d="M{x} {_TOP - 8}V{height - 8}" stroke="#999"/>')
        parts.append(_text(x - 6, _TOP - 12, "1", size=11))
    file.write_text(_svg(height, parts))


def lines(
    title: str,
    x_label: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    file: Path,
    *,
    logarithmic: bool = False,
) -> None:
    """Curves over the xs side by side, from zero upwards, or logarithmic from a power of ten."""
    xs = sorted({x for points in series.values() for x, _ in points})
    ys = [y for points in series.values() for _, y in points]
    left, bottom, width, height = 80, 290, 600, 240
    marks: Sequence[float]
    if logarithmic:
        lowest, highest = floor(log10(min(ys))), ceil(log10(max(ys)))
        marks = [10.0**power for power in range(lowest, highest + 1)]
    else:
        top = 1.15 * max(ys)
        marks = [top * share for share in (0.25, 0.5, 0.75, 1.0)]

    def up(y: float) -> int:
        share = (log10(y) - lowest) / (highest - lowest) if logarithmic else y / top
        return round(bottom - height * share)

    def across(x: float) -> int:
        return round(left + width * xs.index(x) / max(1, len(xs) - 1))

    parts = [_text(10, 20, title, bold=True), _text(left, bottom + 40, x_label, size=12)]
    parts += [_text(across(x) - 12, bottom + 18, number(x), size=11) for x in xs]
    for mark in marks:
        parts.append(f'<path d="M{left} {up(mark)}H{left + width}" stroke="#ddd"/>')
        parts.append(_text(10, up(mark) + 4, number(mark), size=11))
    for colour, (name, points) in zip((_MET, _MISSED, "#335c9e"), series.items(), strict=False):
        path = " ".join(f"{across(x)},{up(y)}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        last, y = points[-1]
        parts.append(_text(across(last) + 6, up(y), name, size=12, colour=colour))
    file.write_text(_svg(bottom + 60, parts))


def _bar(y: int, row: Mapping[str, Any]) -> list[str]:
    word, limit = row["goal"].split()
    good, goal = float(row["ratio"]), float(limit)
    if word == "≤":
        good, goal = 1 / good, 1 / goal
    colour = _MET if row["met"] else _MISSED
    said = f"{good:.2f} times (goal {goal:.2g}{'' if row['met'] else ', missed'})"
    end = _x(min(good, _MOST))
    return [
        _text(10, y + 15, row["title"]),
        f'<rect x="{_LEFT}" y="{y + 2}" width="{end - _LEFT}" height="18" fill="{colour}"/>',
        f'<path d="M{_x(goal)} {y - 1}v24" stroke="{_GOAL}" stroke-width="2"/>',
        _text(max(end, _x(goal)) + 6, y + 15, said, size=12),
    ]


def _x(times: float) -> int:
    return _LEFT + round(times / _MOST * (_WIDTH - _LEFT - _RIGHT))


def _text(
    x: int, y: int, said: str, *, size: int = 13, bold: bool = False, colour: str = "#222"
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}"{weight}>{escape(said)}</text>'


def _svg(height: int, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )
