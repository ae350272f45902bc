"""`python -m bench [work …]`: do the works on both sides and tell how they compare."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import chart, processes, results, table
from bench.runs import Bench, CouldNotRunError, Row
from bench.sides import JVM_FLAGS, SideError
from bench.works import CHARTS, WORKS
from penstock.errors import UserError
from penstock.stack import throwaway
from penstock.stack.kafka import KafkaOptions


def main() -> None:
    wanted = _arguments()
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {text}", file=sys.stderr, flush=True)

    with (
        throwaway.kafka(say, KafkaOptions("1g", JVM_FLAGS)) as bootstrap,
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder,
    ):
        bench = Bench(
            bootstrap, processes.below_us("kafka.Kafka"), Path(folder), say,
            rounds=wanted.rounds, scale=wanted.scale,
        )  # fmt: skip
        try:
            rows = [row for name in wanted.works or WORKS for row in _done(bench, name)]
        finally:
            bench.close()
    if rows:
        print(table.text(rows))
    if not wanted.dry:
        results.append(rows)
        chart.draw(results.latest())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("works", nargs="*", metavar="work", help=", ".join(WORKS | CHARTS))
    parser.add_argument("--rounds", type=int, default=3, help="measured runs on each side")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of records")
    parser.add_argument("--dry", action="store_true", help="append nothing to bench/results")
    wanted = parser.parse_args()
    if unknown := [name for name in wanted.works if name not in WORKS | CHARTS]:
        parser.error(f"there is no work {unknown[0]!r}: choose from {', '.join(WORKS | CHARTS)}")
    return wanted


def _done(bench: Bench, name: str) -> Sequence[Row]:
    run, rows = (WORKS | CHARTS)[name]
    try:
        run(bench, *rows)
    except (CouldNotRunError, SideError, UserError) as why:
        bench.say(f"{name} could not run: {why}")
        for row in rows:
            if len(row.ours) < bench.rounds:
                row.theirs, row.ours = [], []
                row.reason = str(why).splitlines()[0]
    return rows


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Interrupted: nothing was appended to bench/results")
