"""The `arg.properties` of a type in a generator's schema: what its data should look like."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from connect import ConnectError

_DEFAULT_LENGTH = (8, 16)


class GeneratorError(ConnectError):
    """A schema that no data can be made from; says where in it and why."""


class Iteration(NamedTuple):
    """Numbers that go on from record to record: from `initial` by `step`.

    With a `span` they begin again at `start` when they have come that far.
    """

    initial: float
    step: float
    start: float
    span: float | None

    def values(self, first: int, count: int) -> list[float]:
        initial, step, start, span = self
        numbers = range(first, first + count)
        if span is None:
            return [initial + i * step for i in numbers]
        return [start + (initial - start + i * step) % span for i in numbers]


class Arguments:
    """The properties, each taken once. What is left in the end is a mistake, and `done` says so."""

    def __init__(self, properties: Any, where: str) -> None:
        if properties is not None and not isinstance(properties, dict):
            raise GeneratorError(f"{where}: arg.properties must be an object")
        self._left: dict[str, Any] = dict(properties or {})
        self.where = where

    def take(self, name: str, kind: type | tuple[type, ...]) -> Any:
        value = self._left.pop(name, None)
        if value is not None and not isinstance(value, kind):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            names = " or ".join(k.__name__ for k in kinds)
            raise self._error(name, f"must be {names}, found {value!r}")
        return value

    def options(self) -> list[Any] | None:
        """What to choose from, in place of everything else; in the schema or in a JSON file."""
        given = self.take("options", (list, dict))
        if given is None:
            return None
        self._left.clear()
        options = self._options_of_file(given) if isinstance(given, dict) else given
        if not isinstance(options, list) or not options:
            raise self._error("options", f"must be a list with something in it, found {given!r}")
        return options

    def _options_of_file(self, given: Mapping[str, Any]) -> Any:
        file, encoding = given.get("file"), given.get("encoding")
        if not isinstance(file, str) or encoding != "json":
            raise self._error("options", 'by file must be {"file": …, "encoding": "json"}')
        try:
            return json.loads(Path(file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise self._error("options", f"could not be read from {file}: {error}") from error

    def range(self, low: float, high: float) -> tuple[float, float]:
        """From min up to, but without, max."""
        given = self.take("range", dict)
        if given is None:
            return low, high
        low, high = given.get("min", low), given.get("max", high)
        if not _are_numbers(low, high) or not low < high:
            raise self._error("range", f"must have a min below its max, found {given!r}")
        return low, high

    def length(self) -> tuple[int, int]:
        """From min up to, but without, max."""
        given = self.take("length", (int, dict))
        if given is None:
            return _DEFAULT_LENGTH
        if isinstance(given, dict):
            low = given.get("min", 0)
            high = given.get("max", _DEFAULT_LENGTH[1])
        else:
            low, high = given, given + 1
        if not isinstance(low, int) or not isinstance(high, int) or not 0 <= low < high:
            raise self._error("length", f"must be a number or a min below a max, found {given!r}")
        return low, high

    def iteration(self, *, whole: bool = False) -> Iteration | None:
        """Counting from record to record; with `whole`, in whole numbers only."""
        given = self.take("iteration", dict)
        if given is None:
            return None
        start, restart = given.get("start"), given.get("restart")
        if start is None:
            raise self._error("iteration", "needs a start")
        try:
            step = given.get("step", -1 if restart is not None and restart < start else 1)
        except TypeError:
            step = None
        initial = given.get("initial", start)
        numbers = (start, step, initial, *([] if restart is None else [restart]))
        if not _are_numbers(*numbers) or (whole and not all(isinstance(n, int) for n in numbers)):
            kind = "whole numbers" if whole else "numbers"
            raise self._error("iteration", f"must be of {kind}, found {given!r}")
        if restart is None:
            return Iteration(initial, step, start, None)
        if step == 0 or restart == start or (step > 0) != (restart > start):
            raise self._error("iteration", f"never gets from its start to its restart: {given!r}")
        return Iteration(initial, step, start, restart - start)

    def done(self) -> None:
        if self._left:
            names = ", ".join(sorted(self._left))
            raise GeneratorError(f"{self.where}: arg.properties has {names}, unknown for this type")

    def _error(self, name: str, text: str) -> GeneratorError:
        return GeneratorError(f"{self.where}: {name} {text}")


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
