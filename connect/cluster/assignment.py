"""Who runs what: one round of incremental cooperative assignment, as a pure function.

A leader calls `assign` in every rebalance with what the members say they run. Work that stays
where it is goes on running; only what has to move is touched, and it moves in two rounds: revoked
in one, given to another worker in the next, so that nothing ever runs twice.

The rules are Kafka Connect's, with these differences:
- A worker that says that it is leaving hands its work over at once.
- A worker that vanished and comes back under its old URL gets its work back at once.
- Among workers with the same load, the one with the fewest tasks of the same connector is chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from connect.cluster.herder import TaskId

# When one round after the other has to revoke, for instance because workers join one by one, the
# pause between them grows: 40 ms, 1.6 s, 64 s. Without it the group would do nothing else.
REVOKING_BACKOFF_SECONDS = 0.001
REVOKING_BACKOFF_BASE = 40


@dataclass(frozen=True, slots=True)
class Work:
    """Connector instances and tasks."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[TaskId] = frozenset()

    def __or__(self, other: Work) -> Work:
        return Work(self.connectors | other.connectors, self.tasks | other.tasks)

    def __and__(self, other: Work) -> Work:
        return Work(self.connectors & other.connectors, self.tasks & other.tasks)

    def __sub__(self, other: Work) -> Work:
        return Work(self.connectors - other.connectors, self.tasks - other.tasks)

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)


NO_WORK = Work()


@dataclass(frozen=True, slots=True)
class Member:
    """A worker as it introduces itself. One that is `leaving` gets no work any more."""

    url: str
    running: Work = NO_WORK
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """What changes for each member, and when (in seconds from now) all are to meet again."""

    assigned: Mapping[str, Work]
    revoked: Mapping[str, Work]
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    """What a leader remembers from round to round. A new leader begins with an empty one."""

    # What every member had after the last round, and where it was.
    members: Mapping[str, Member] = field(default_factory=dict)
    # Work of workers that vanished, by their URL; kept for them until `waits_until`.
    away: Mapping[str, Work] = field(default_factory=dict)
    waits_until: float | None = None
    # Members that came with nothing while work was away: probably those who vanished.
    candidates: frozenset[str] = frozenset()
    # How many revoking rounds there were in a row, and when the next may be.
    revoking_rounds: int = 0
    revokes_at: float | None = None


def assign(
    members: Mapping[str, Member],
    configured: Work,
    memory: Memory,
    *,
    now: float,
    max_delay: float,
) -> tuple[Round, Memory]:
    """One round: what each member gets and gives up, and what to remember for the next.

    `configured` is all work there is. `now` is in seconds of any clock that does not jump;
    `max_delay` is scheduled.rebalance.max.delay.ms in seconds.
    """
    running = _union(m.running for m in members.values())
    twice = _running_twice(members.values())
    revoked = {
        name: member.running
        if member.leaving
        else member.running - configured | member.running & twice
        for name, member in members.items()
    }
    kept = {name: member.running - revoked[name] for name, member in members.items()}
    staying = {name: kept[name] for name, member in members.items() if not member.leaving}
    assigned = dict.fromkeys(members, NO_WORK)

    away = _who_is_away(members, configured - running, memory)
    free = configured - running - _union(away.values())
    if not staying:
        # Everybody leaves. Whoever comes next finds all work free.
        return Round(assigned, revoked), Memory()

    if max_delay <= 0:
        free, away = free | _union(away.values()), {}
    returned = {m.url: name for name, m in members.items() if name not in memory.members}
    for url in [u for u in away if u in returned and returned[u] in staying]:
        assigned[returned[url]] |= away.pop(url)
    if away:
        idle = {n for n in staying if not staying[n] and not assigned[n]}
        until = now + max_delay if memory.waits_until is None else memory.waits_until
        memory = replace(memory, waits_until=until, candidates=memory.candidates | idle)
    if away and memory.waits_until is not None and now >= memory.waits_until:
        free |= _give_to_candidates(_union(away.values()), memory.candidates, staying, assigned)
        away = {}
    if not away:
        memory = replace(memory, waits_until=None, candidates=frozenset())

    delay = 0.0 if memory.waits_until is None else memory.waits_until - now
    if memory.waits_until is None:
        excess = _excess({n: staying[n] | assigned[n] for n in staying}, configured)
        memory, delay = _pace(memory, any(excess.values()), now, max_delay)
        if memory.revokes_at is None:
            for name, work in excess.items():
                revoked[name] |= work
                kept[name] -= work
                staying[name] -= work
    _spread(free, staying, assigned)
    after = {n: replace(m, running=kept[n] | assigned[n]) for n, m in members.items()}
    return Round(assigned, revoked, delay), replace(memory, members=after, away=away)


# ---- work whose worker is not there ----------------------------------------------------------


def _who_is_away(members: Mapping[str, Member], missing: Work, memory: Memory) -> dict[str, Work]:
    """The work nobody runs because its worker vanished, by the worker's URL.

    What a member had and does not run although it is here is not away: it did not hear of its
    assignment, or it is leaving. That work is free at once.
    """
    away = {url: work & missing for url, work in memory.away.items()}
    for name, member in memory.members.items():
        if name not in members:
            away[member.url] = away.get(member.url, NO_WORK) | member.running & missing
    return {url: work for url, work in away.items() if work}


def _give_to_candidates(
    work: Work,
    candidates: frozenset[str],
    staying: Mapping[str, Work],
    assigned: dict[str, Work],
) -> Work:
    """Share work among the candidates that are (still) here; what is left if there are none."""
    here = {name: staying[name] for name in sorted(candidates & staying.keys())}
    if not here:
        return work
    _spread(work, here, assigned)
    return NO_WORK


# ---- balance ---------------------------------------------------------------------------------


def _excess(loads: Mapping[str, Work], configured: Work) -> dict[str, Work]:
    """What each worker has beyond its share, connectors and tasks each by themselves."""
    connectors = {n: w.connectors for n, w in loads.items()}
    over_connectors = _over_share({n: len(c) for n, c in connectors.items()}, configured.connectors)
    over_tasks = _over_share({n: len(w.tasks) for n, w in loads.items()}, configured.tasks)
    return {
        name: Work(
            frozenset(sorted(work.connectors)[len(work.connectors) - over_connectors[name] :]),
            _most_crowded(work.tasks, over_tasks[name]),
        )
        for name, work in loads.items()
    }


def _over_share(counts: Mapping[str, int], configured: frozenset[object]) -> dict[str, int]:
    """By how many each worker exceeds its share; the fullest may have one more if it must be."""
    share, extra = divmod(len(configured), len(counts))
    over = {}
    for name in sorted(counts, key=lambda n: (-counts[n], n)):
        allowed = share
        if counts[name] > share and extra:
            allowed, extra = share + 1, extra - 1
        over[name] = max(0, counts[name] - allowed)
    return over


def _most_crowded(tasks: frozenset[TaskId], number: int) -> frozenset[TaskId]:
    """Tasks to give away: those of connectors that have most of their tasks here."""
    left, chosen = set(tasks), set()
    for _ in range(number):
        crowd = Counter(task.connector for task in left)
        task = max(left, key=lambda t: (crowd[t.connector], t))
        left.remove(task)
        chosen.add(task)
    return frozenset(chosen)


def _pace(
    memory: Memory, needs_revoking: bool, now: float, max_delay: float
) -> tuple[Memory, float]:
    """Whether a round may revoke (`revokes_at` is None), or how long that has to wait."""
    if not needs_revoking:
        return replace(memory, revoking_rounds=0, revokes_at=None), 0.0
    if memory.revoking_rounds == 0 or max_delay <= 0:
        return replace(memory, revoking_rounds=1, revokes_at=None), 0.0
    if memory.revokes_at is None:
        pause = REVOKING_BACKOFF_SECONDS * REVOKING_BACKOFF_BASE**memory.revoking_rounds
        pause = min(pause, max_delay)
        return replace(memory, revokes_at=now + pause), pause
    if now < memory.revokes_at:
        return memory, memory.revokes_at - now
    rounds = memory.revoking_rounds + 1
    return replace(memory, revoking_rounds=rounds, revokes_at=None), 0.0


def _spread(work: Work, workers: Mapping[str, Work], assigned: dict[str, Work]) -> None:
    """Give work to the least loaded, and one connector's tasks to different workers."""
    connectors = {n: len((w | assigned[n]).connectors) for n, w in workers.items()}
    for connector in sorted(work.connectors):
        name = min(connectors, key=lambda n: (connectors[n], n))
        connectors[name] += 1
        assigned[name] |= Work(connectors=frozenset([connector]))
    tasks = {n: Counter(t.connector for t in (w | assigned[n]).tasks) for n, w in workers.items()}
    totals = {n: crowd.total() for n, crowd in tasks.items()}
    for task in sorted(work.tasks):
        of = task.connector
        name = min(totals, key=lambda n: (totals[n], tasks[n][of], n))
        totals[name] += 1
        tasks[name][of] += 1
        assigned[name] |= Work(tasks=frozenset([task]))


# ---- sets ------------------------------------------------------------------------------------


def _union(works: Iterable[Work]) -> Work:
    all_works = list(works)
    return Work(
        frozenset().union(*(w.connectors for w in all_works)),
        frozenset().union(*(w.tasks for w in all_works)),
    )


def _running_twice(members: Iterable[Member]) -> Work:
    running = [member.running for member in members]
    connectors = Counter(c for work in running for c in work.connectors)
    tasks = Counter(t for work in running for t in work.tasks)
    return Work(
        frozenset(c for c, n in connectors.items() if n > 1),
        frozenset(t for t, n in tasks.items() if n > 1),
    )
