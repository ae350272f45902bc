"""Which rows are new: the WHERE clauses of incremental queries, and the offsets they go by.

    incrementing            id > ? ORDER BY id
    timestamp               ts > ? AND ts < ? ORDER BY ts
    timestamp+incrementing  ts < ? AND ((ts = ? AND id > ?) OR ts > ?) ORDER BY ts, id

The upper bound of ts is the database's clock, less a delay. Of several timestamp columns the first
that is not null counts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from connect import ConnectError

INCREMENTING = "incrementing"
TIMESTAMP = "timestamp"
TIMESTAMP_NANOS = "timestamp_nanos"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading goes on: behind this number and this moment. None: from the start."""

    number: int | None = None
    moment: dt.datetime | None = None

    def offset(self) -> dict[str, int]:
        """As the Confluent connector stores it: milliseconds, and nanoseconds of the second."""
        stored: dict[str, int] = {}
        if self.number is not None:
            stored[INCREMENTING] = self.number
        if self.moment is not None:
            micros = (self.moment - _EPOCH) // dt.timedelta(microseconds=1)
            stored[TIMESTAMP] = micros // 1000
            stored[TIMESTAMP_NANOS] = self.moment.microsecond * 1000
        return stored

    @classmethod
    def of(cls, stored: dict[str, Any] | None) -> Position:
        if not stored:
            return cls()
        check_offset(stored)
        millis, nanos = stored.get(TIMESTAMP), stored.get(TIMESTAMP_NANOS)
        moment = None
        if millis is not None:
            moment = _EPOCH + dt.timedelta(milliseconds=millis)
            if nanos is not None:
                moment = moment.replace(microsecond=nanos // 1000)
        return cls(stored.get(INCREMENTING), moment)


def check_offset(stored: dict[str, Any]) -> None:
    """Raise unless an offset is one that a task could have stored."""
    for key, value in stored.items():
        if key not in (INCREMENTING, TIMESTAMP, TIMESTAMP_NANOS):
            raise ConnectError(
                f"Offset key '{key}' is unknown: there are {INCREMENTING}, {TIMESTAMP} and "
                f"{TIMESTAMP_NANOS}"
            )
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise ConnectError(f"Offset '{key}' must be a whole number, not {value!r}")
    nanos = stored.get(TIMESTAMP_NANOS)
    if nanos is not None and not 0 <= nanos < 1_000_000_000:
        raise ConnectError(
            f"Offset '{TIMESTAMP_NANOS}' must be the nanoseconds of a second, not {nanos}"
        )


@dataclass(frozen=True, slots=True)
class Criteria:
    """The clauses for one table. Expressions are SQL, already quoted."""

    number: str | None
    moment: str | None
    mark: str
    bind: Callable[[dt.datetime], Any]  # a moment as the column's own type

    def clause(self, begin: Position, end: dt.datetime | None) -> tuple[str, list[Any]]:
        """WHERE and ORDER BY for rows behind `begin` and, by timestamp, before `end`."""
        conditions, values = self._conditions(begin, end)
        order = ", ".join(f"{e} ASC" for e in (self.moment, self.number) if e is not None)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"{where} ORDER BY {order}", values

    def _conditions(self, begin: Position, end: dt.datetime | None) -> tuple[list[str], list[Any]]:
        number, moment, mark = self.number, self.moment, self.mark
        if moment is None:
            # Without a bound the first query reads numbers below zero, too.
            if begin.number is None:
                return [], []
            return [f"{number} > {mark}"], [begin.number]
        assert end is not None
        conditions, values = [f"{moment} < {mark}"], [self.bind(end)]
        if begin.moment is None:
            return conditions, values
        since = self.bind(begin.moment)
        if number is None or begin.number is None:
            # Of rows at that very moment, none was read where numbers would tell.
            conditions.append(f"{moment} {'>' if number is None else '>='} {mark}")
            values.append(since)
        else:
            conditions.append(f"(({moment} = {mark} AND {number} > {mark}) OR {moment} > {mark})")
            values += [since, begin.number, since]
        return conditions, values


def coalesced(columns: Sequence[str]) -> str:
    return columns[0] if len(columns) == 1 else f"COALESCE({','.join(columns)})"
