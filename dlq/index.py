"""The index of one dead-letter topic: a file that remembers what was read and how far.

It is a cache. Letters are counted by group (connector, stage, exception, source topic,
fingerprint), state and minute, so that statistics need not look at single letters; and each letter
has a row of a few numbers, so that letters can be chosen. Keys and values are not kept.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dlq.identity import Identities, Identity
from dlq.model import Depth, Group, Mark, Row
from dlq.reader import Place, Reader, Span, TopicFacts
from dlq.selection import Selection, State, state_number, state_of

MINUTE_MS = 60_000
# Beyond so many, causes that can't be told apart by their fingerprints would fill the memory.
MOST_GROUPS = 10_000
_CACHED_GROUPS = 20_000
# Letters written in one transaction: a kill loses no more work than this.
_COMMIT_LETTERS = 20_000
_BUSY_SECONDS = 60.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS progress (part INTEGER PRIMARY KEY, next INTEGER, low INTEGER);
CREATE TABLE IF NOT EXISTS groups (
    id INTEGER PRIMARY KEY, connector TEXT, stage TEXT, exception TEXT, source_topic TEXT,
    fingerprint TEXT, reason TEXT, sample TEXT, part INTEGER, offset INTEGER, alerted INTEGER);
CREATE TABLE IF NOT EXISTS letters (
    part INTEGER, offset INTEGER, time INTEGER, grp INTEGER, state INTEGER, attempts INTEGER,
    PRIMARY KEY (part, offset)) WITHOUT ROWID;
DROP INDEX IF EXISTS letters_by_group;
CREATE TABLE IF NOT EXISTS counts (
    grp INTEGER, state INTEGER, minute INTEGER, n INTEGER,
    PRIMARY KEY (grp, state, minute)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS marks (
    part INTEGER, offset INTEGER, state INTEGER, by TEXT, at INTEGER, note TEXT, replay TEXT,
    target TEXT, PRIMARY KEY (part, offset)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state_progress (part INTEGER PRIMARY KEY, next INTEGER);
"""
_VERSION = 2


def index_file(folder: Path, cluster: str, topic: TopicFacts) -> Path:
    plain = re.sub(r"[^\w.-]", "_", f"{cluster}+{topic.name}+{topic.id}")
    return folder / "dlq" / f"{plain}.sqlite"


class Index:
    """One topic's index. Several processes may use one file; one thread uses an object."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Loaded when letters are first looked at: most workers never are asked for them.
        import sqlite3  # noqa: PLC0415

        self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        # A cache: what a power cut takes is read again.
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA cache_size = -32000")
        if self._db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            with self._writing():
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {_VERSION}")
        self._groups: dict[Identity, int] = {}
        self._by_identity: dict[tuple[str | None, ...], int] = {}
        self._identities = Identities()

    def close(self) -> None:
        self._db.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            # Groups made in this transaction are gone with it.
            self._groups.clear()
            self._by_identity.clear()
            raise
        self._db.execute("COMMIT")

    # -- building ---------------------------------------------------------------------------

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever read."""
        return self._db.execute("SELECT 1 FROM progress LIMIT 1").fetchone() is None

    def refresh(
        self,
        reader: Reader,
        topic: TopicFacts,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Read what is new, forget what Kafka has dropped. `progress(done, all)` is told."""
        for span in reader.spans(topic):
            known = dict(self._db.execute("SELECT part, next FROM progress").fetchall())
            self._forget_below(span.partition, span.start)
            start = max(span.start, known.get(span.partition, 0))
            done = start
            pending: list[Any] = []
            for batch in reader.read(topic.name, [span._replace(start=start)]):
                pending += self._rows(batch)
                if len(pending) >= _COMMIT_LETTERS:
                    done = self._add(span.partition, done, pending)
                    pending = []
                    if progress is not None:
                        progress(done - start, span.end - start)
            self._add(span.partition, done, pending)

    def _rows(self, batch: Sequence[Any]) -> list[tuple[int, int, Identity, int]]:
        """What is kept of each message. The group is found when it is written."""
        rows = []
        of = self._identities.of
        for message in batch:
            identity, attempts = of(message.headers() or ())
            kind, timestamp = message.timestamp()
            rows.append((message.offset(), timestamp if kind else 0, identity, attempts))
        return rows

    def _add(self, partition: int, start: int, rows: list[tuple[int, int, Identity, int]]) -> int:
        """Write letters that were read from `start` on; what another process wrote is left."""
        if not rows:
            return start
        end: int = rows[-1][0] + 1
        with self._writing():
            have = self._db.execute(
                "SELECT next FROM progress WHERE part = ?", (partition,)
            ).fetchone()
            if have is not None and have[0] > start:
                rows = [row for row in rows if row[0] >= have[0]]
            marks = dict(
                self._db.execute(
                    "SELECT offset, state FROM marks WHERE part = ? AND offset >= ? AND offset < ?",
                    (partition, start, end),
                ).fetchall()
            )
            counts: Counter[tuple[int, int, int]] = Counter()
            letters = []
            for offset, ms, identity, attempts in rows:
                group = self._groups.get(identity)
                if group is None:
                    group = self._group(identity, partition, offset)
                state = marks.get(offset, 0)
                counts[group, state, ms // MINUTE_MS] += 1
                letters.append((partition, offset, ms, group, state, attempts))
            self._db.executemany("INSERT OR REPLACE INTO letters VALUES (?,?,?,?,?,?)", letters)
            self._count(counts)
            self._db.execute(
                "INSERT INTO progress VALUES (?,?,0) ON CONFLICT (part) "
                "DO UPDATE SET next = max(next, excluded.next)",
                (partition, end),
            )
        return end

    def _group(self, identity: Identity, partition: int, offset: int) -> int:
        if not self._by_identity:
            self._by_identity = {
                tuple(row[1:]): row[0]
                for row in self._db.execute(
                    "SELECT id, connector, stage, exception, source_topic, reason FROM groups"
                )
            }
        key = (*identity.names, identity.reason)
        if key not in self._by_identity and len(self._by_identity) >= MOST_GROUPS:
            key = (*identity.names, "(various)")
        group: int | None = self._by_identity.get(key)
        if group is None:
            cursor = self._db.execute(
                "INSERT INTO groups (connector, stage, exception, source_topic, fingerprint, "
                "reason, sample, part, offset, alerted) VALUES (?,?,?,?,?,?,?,?,?,0)",
                (*identity.names, identity.fingerprint(key[-1]), key[-1], identity.sample,
                 partition, offset),
            )  # fmt: skip
            assert cursor.lastrowid is not None
            group = self._by_identity[key] = cursor.lastrowid
        if len(self._groups) >= _CACHED_GROUPS:
            self._groups.clear()
        self._groups[identity] = group
        return group

    def _count(self, counts: Counter[tuple[int, int, int]]) -> None:
        self._db.executemany(
            "INSERT INTO counts VALUES (?,?,?,?) ON CONFLICT (grp, state, minute) "
            "DO UPDATE SET n = n + excluded.n",
            ((*key, n) for key, n in counts.items()),
        )

    def _forget_below(self, partition: int, low: int) -> None:
        """Letters that retention has removed from the topic are counted no more."""
        gone = "part = ? AND offset < ?"
        first = f"SELECT 1 FROM letters WHERE {gone} LIMIT 1"
        if self._db.execute(first, (partition, low)).fetchone() is None:
            return
        with self._writing():
            counts = Counter(
                {
                    (group, state, minute): -n
                    for group, state, minute, n in self._db.execute(
                        f"SELECT grp, state, time / {MINUTE_MS}, count(*) FROM letters "
                        f"WHERE {gone} GROUP BY 1, 2, 3",
                        (partition, low),
                    )
                }
            )
            self._count(counts)
            self._db.execute("DELETE FROM counts WHERE n <= 0")
            self._db.execute(f"DELETE FROM letters WHERE {gone}", (partition, low))
            self._db.execute(f"DELETE FROM marks WHERE {gone}", (partition, low))

    # -- states -----------------------------------------------------------------------------

    def states_read(self) -> dict[int, int]:
        """How far the state topic was read, by partition."""
        return dict(self._db.execute("SELECT part, next FROM state_progress").fetchall())

    def mark(self, marks: Iterable[Mark], read: dict[int, int]) -> None:
        """Take over marks of the state topic, in their order, and how far it is read now."""
        with self._writing():
            counts: Counter[tuple[int, int, int]] = Counter()
            for mark in marks:
                place, state = (mark.partition, mark.offset), state_number(mark.state)
                found = self._db.execute(
                    "SELECT grp, state, time FROM letters WHERE part = ? AND offset = ?", place
                ).fetchone()
                if found is not None and found[1] != state:
                    counts[found[0], found[1], found[2] // MINUTE_MS] -= 1
                    counts[found[0], state, found[2] // MINUTE_MS] += 1
                    self._db.execute(
                        "UPDATE letters SET state = ? WHERE part = ? AND offset = ?",
                        (state, *place),
                    )
                self._db.execute(
                    "INSERT OR REPLACE INTO marks VALUES (?,?,?,?,?,?,?,?)",
                    (*place, state, mark.by, mark.at, mark.note, mark.replay, mark.target),
                )
            self._count(counts)
            self._db.execute("DELETE FROM counts WHERE n <= 0")
            self._db.executemany("INSERT OR REPLACE INTO state_progress VALUES (?,?)", read.items())

    def forget_states(self) -> None:
        """The state topic is another one now: every letter is open until it says otherwise."""
        with self._writing():
            self._db.execute("DELETE FROM marks")
            self._db.execute("DELETE FROM state_progress")
            self._db.execute("UPDATE letters SET state = 0 WHERE state != 0")
            self._db.execute("DELETE FROM counts")
            self._db.execute(
                f"INSERT INTO counts SELECT grp, 0, time / {MINUTE_MS}, count(*) FROM letters "
                "GROUP BY 1, 3"
            )

    def fact(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def set_fact(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?,?)", (name, value))

    def mark_of(self, place: Place) -> Mark:
        """The last thing done with a letter; open if there is none."""
        row = self._db.execute(
            "SELECT state, by, at, note, replay, target FROM marks WHERE part = ? AND offset = ?",
            place,
        ).fetchone()
        if row is None:
            return Mark(*place, State.OPEN)
        return Mark(*place, state_of(row[0]), *row[1:])

    # -- asking -----------------------------------------------------------------------------

    def groups(self, selection: Selection) -> list[Group]:
        """Groups of the letters that are meant, the largest first."""
        where, values = selection.where()
        if selection.by_group_alone:
            rows = self._db.execute(
                "SELECT l.grp, l.minute, sum(l.n) FROM counts l JOIN groups g ON g.id = l.grp "
                f"WHERE {where} GROUP BY 1, 2 ORDER BY 1, 2",
                values,
            )
        else:
            rows = self._db.execute(
                f"SELECT l.grp, l.time / {MINUTE_MS}, count(*) FROM letters l "
                f"JOIN groups g ON g.id = l.grp WHERE {where} GROUP BY 1, 2 ORDER BY 1, 2",
                values,
            )
        times: dict[int, list[tuple[int, int]]] = {}
        for group, minute, n in rows:
            times.setdefault(group, []).append((minute * MINUTE_MS, n))
        found = [self._group_row(group, over_time) for group, over_time in times.items()]
        found.sort(key=lambda group: (-group.count, group.fingerprint))
        return found[: selection.limit]

    def _group_row(self, group: int, over_time: list[tuple[int, int]]) -> Group:
        row: list[Any] = self._db.execute(
            "SELECT connector, stage, exception, source_topic, fingerprint, reason, sample "
            "FROM groups WHERE id = ?",
            (group,),
        ).fetchone()
        total = sum(n for _, n in over_time)
        return Group(*[*row, total, over_time[0][0], over_time[-1][0], over_time])

    def count(self, selection: Selection) -> int:
        """How many letters are meant, the limit regarded."""
        where, values = selection.where()
        table, what = (
            ("counts", "sum(l.n)") if selection.by_group_alone else ("letters", "count(*)")
        )
        n: int = self._db.execute(
            f"SELECT coalesce({what}, 0) FROM {table} l JOIN groups g ON g.id = l.grp "
            f"WHERE {where}",
            values,
        ).fetchone()[0]
        return n if selection.limit is None else min(n, selection.limit)

    def places(self, selection: Selection, page: int = 10_000) -> Iterator[Place]:
        """The places of all letters that are meant, in order.

        Page by page, so that the index may change under it and memory stays small.
        """
        where, values = selection.where()
        after = Place(-1, -1)
        left = selection.limit
        while left is None or left > 0:
            size = page if left is None else min(page, left)
            rows = self._db.execute(
                "SELECT l.part, l.offset FROM letters l JOIN groups g ON g.id = l.grp "
                f"WHERE {where} AND (l.part, l.offset) > (?, ?) ORDER BY 1, 2 LIMIT ?",
                (*values, *after, size),
            ).fetchall()
            for row in rows:
                yield Place(*row)
            if len(rows) < size:
                return
            after = Place(*rows[-1])
            left = None if left is None else left - len(rows)

    def newest(self, selection: Selection, *, after: int = 0) -> list[Row]:
        """Letters that are meant, the newest first, at most `limit`, leaving out `after`."""
        where, values = selection.where()
        rows = self._db.execute(
            "SELECT l.part, l.offset, l.time, l.state, l.attempts, g.connector, g.stage, "
            "g.exception, g.source_topic, g.fingerprint, g.reason FROM letters l "
            f"JOIN groups g ON g.id = l.grp WHERE {where} "
            "ORDER BY l.time DESC, l.part DESC, l.offset DESC LIMIT ? OFFSET ?",
            (*values, -1 if selection.limit is None else selection.limit, after),
        )
        return [
            Row(partition, offset, ms, state_of(state), *rest)
            for partition, offset, ms, state, *rest in rows
        ]

    def depth(self, now_ms: int | None = None) -> Depth:
        now = now_ms if now_ms is not None else time.time_ns() // 1_000_000
        by_state = dict(self._db.execute("SELECT state, sum(n) FROM counts GROUP BY 1").fetchall())
        oldest, newest = self._db.execute(
            "SELECT min(minute), max(minute) FROM counts WHERE state = 0"
        ).fetchone()
        lately = self._db.execute(
            "SELECT coalesce(sum(n), 0) FROM counts WHERE minute > ?", (now // MINUTE_MS - 60,)
        ).fetchone()[0]
        return Depth(
            by_state.get(0, 0),
            by_state.get(1, 0),
            by_state.get(2, 0),
            None if oldest is None else oldest * MINUTE_MS,
            None if newest is None else newest * MINUTE_MS,
            lately,
        )

    # -- alerts -----------------------------------------------------------------------------

    def totals(self) -> list[tuple[str | None, str | None, str | None, int, int]]:
        """(connector, stage, exception, open, all) of every cause."""
        return self._db.execute(
            "SELECT g.connector, g.stage, g.exception, "
            "sum(CASE WHEN c.state = 0 THEN c.n ELSE 0 END), sum(c.n) "
            "FROM counts c JOIN groups g ON g.id = c.grp GROUP BY 1, 2, 3"
        ).fetchall()

    def new_groups(self) -> list[tuple[int, Group, Place]]:
        """Groups nobody was told of yet, with their first letters."""
        rows = self._db.execute("SELECT id, part, offset FROM groups WHERE alerted = 0").fetchall()
        found = []
        for group, partition, offset in rows:
            times = self._db.execute(
                "SELECT minute, sum(n) FROM counts WHERE grp = ? GROUP BY 1 ORDER BY 1", (group,)
            ).fetchall()
            if times:
                over_time = [(minute * MINUTE_MS, n) for minute, n in times]
                found.append((group, self._group_row(group, over_time), Place(partition, offset)))
        return found

    def told(self, groups: Iterable[int]) -> None:
        self._db.executemany("UPDATE groups SET alerted = 1 WHERE id = ?", ((g,) for g in groups))

    def known(self, span: Span) -> int:
        """How many letters of a span are in the index."""
        n: int = self._db.execute(
            "SELECT count(*) FROM letters WHERE part = ? AND offset >= ? AND offset < ?", span
        ).fetchone()[0]
        return n
