"""python -m tests.conformance.record: ask the oracle again and keep what it answers."""

from __future__ import annotations

import tempfile
from pathlib import Path

from penstock.stack import throwaway
from tests.conformance.catalogue import catalogue
from tests.conformance.frozen import FILE, freeze, worth_keeping
from tests.conformance.pair import oracle_side
from tests.conformance.sides import run_sides
from tests.oracle import echo, worker


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def main() -> None:
    scenarios = catalogue()
    with tempfile.TemporaryDirectory() as home, throwaway.kafka(say) as bootstrap:
        plugins = Path(home) / "plugins"
        plugins.mkdir()
        echo.build(worker.libraries(say), plugins)
        with oracle_side(bootstrap, Path(home), plugins, say) as side:
            [answers] = run_sides(bootstrap, scenarios, [side], say)
    kept = [pair for pair in zip(scenarios, answers, strict=True) if worth_keeping(pair[1])]
    freeze(kept)
    say(f"{sum(s.cases for s, _ in kept)} answers to {len(kept)} configs are in {FILE.name}")


if __name__ == "__main__":
    main()
