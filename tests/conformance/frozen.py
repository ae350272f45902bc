"""The oracle's answers, kept: what `make test` compares with where no oracle runs.

Compressed; one JSON value a line: first the parts that occur again and again (schemas, messages),
then the scenarios, which refer to parts by {"#": number}.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.scenarios import Outcome, Scenario, from_json

FILE = Path(__file__).with_name("frozen.jsonl.gz")
_REFERENCE = "#"
# Shorter ones are not worth a reference.
_WORTH = 40


def freeze(answers: Iterable[tuple[Scenario, Sequence[Outcome]]], file: Path = FILE) -> None:
    """Write scenarios with their outcomes."""
    parts: dict[str, int] = {}

    def shared(part: Any, depth: int) -> Any:
        if isinstance(part, dict):
            part = {k: shared(v, depth + 1) for k, v in part.items()}
        elif isinstance(part, list):
            part = [shared(v, depth + 1) for v in part]
        else:
            return part
        text = json.dumps(part)
        if depth == 0 or len(text) < _WORTH:
            return part
        return {_REFERENCE: parts.setdefault(text, len(parts))}

    lines = [
        shared({**scenario.to_json(), "outcomes": list(outcomes)}, 0)
        for scenario, outcomes in answers
    ]
    written = [*parts, *(json.dumps(each) for each in lines)]
    text = "".join(f"{each}\n" for each in [str(len(parts)), *written])
    # Without a time in it, the same answers make the same file.
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def thaw(file: Path = FILE) -> list[tuple[Scenario, list[Outcome]]]:
    """What was frozen."""
    count, *lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    parts: list[Any] = []

    def whole(part: Any) -> Any:
        if isinstance(part, dict):
            if part.keys() == {_REFERENCE}:
                return parts[part[_REFERENCE]]
            return {k: whole(v) for k, v in part.items()}
        return [whole(v) for v in part] if isinstance(part, list) else part

    # A part refers to earlier ones only.
    for text in lines[: int(count)]:
        parts.append(whole(json.loads(text)))  # noqa: PERF401
    found = [whole(json.loads(text)) for text in lines[int(count) :]]
    return [(from_json(each), each["outcomes"]) for each in found]


def worth_keeping(outcomes: Sequence[Outcome]) -> bool:
    """Whether a pipeline alone can answer: not where creating the connector failed."""
    return not any("refused" in each or "failed" in each for each in outcomes)
