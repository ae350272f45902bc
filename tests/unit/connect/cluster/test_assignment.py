"""Incremental cooperative assignment: who gets what, who gives what up, and when."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.cluster.assignment import NO_WORK, Member, Memory, Work, assign
from connect.cluster.herder import TaskId

DELAY = 300.0


def work_of(**connectors: int) -> Work:
    """work_of(a=2) is connector a with tasks a-0 and a-1."""
    return Work(
        frozenset(connectors),
        frozenset(TaskId(c, n) for c, count in connectors.items() for n in range(count)),
    )


@dataclass
class Group:
    """Workers that do what they are told, and their leader."""

    configured: Work
    max_delay: float = DELAY
    now: float = 0.0
    memory: Memory = field(default_factory=Memory)
    members: dict[str, Member] = field(default_factory=dict)
    delay: float = 0.0
    moved: list[Work] = field(default_factory=list)  # what was revoked in each round

    def join(self, *names: str, url: str | None = None) -> "Group":
        for name in names:
            self.members[name] = Member(url or f"http://{name}")
        return self

    def vanish(self, name: str) -> "Group":
        del self.members[name]
        return self

    def leave(self, name: str) -> "Group":
        """As a worker that is shut down does: it has stopped its work and says so."""
        self.members[name] = Member(self.members[name].url, NO_WORK, leaving=True)
        return self

    def round(self) -> "Group":
        outcome, self.memory = assign(
            self.members, self.configured, self.memory, now=self.now, max_delay=self.max_delay
        )
        self.delay = outcome.delay
        revoked = NO_WORK
        for name, member in self.members.items():
            assert outcome.revoked[name] - member.running == NO_WORK, "revoked what is not there"
            revoked |= outcome.revoked[name]
            running = member.running - outcome.revoked[name] | outcome.assigned[name]
            self.members[name] = Member(member.url, running, member.leaving)
        self.moved.append(revoked)
        return self

    def settle(self, rounds: int = 8) -> "Group":
        """Rounds until nothing is revoked, as revoking makes workers rejoin."""
        for _ in range(rounds):
            self.round()
            if not self.moved[-1]:
                return self
        raise AssertionError(f"still moving after {rounds} rounds: {self.moved[-1]}")

    def running(self, name: str) -> Work:
        return self.members[name].running

    def unassigned(self) -> Work:
        missing = self.configured
        for member in self.members.values():
            missing -= member.running
        return missing

    def assert_complete_and_balanced(self) -> None:
        stays = [m for m in self.members.values() if not m.leaving]
        connectors = Counter(c for m in stays for c in m.running.connectors)
        tasks = Counter(t for m in stays for t in m.running.tasks)
        assert connectors == Counter(self.configured.connectors)
        assert tasks == Counter(self.configured.tasks)
        for counts in (
            [len(m.running.connectors) for m in stays],
            [len(m.running.tasks) for m in stays],
        ):
            assert max(counts) - min(counts) <= 1, counts


def test_first_worker_gets_everything():
    """Alone in the group, a worker runs all connectors and tasks."""
    group = Group(work_of(a=4, b=4)).join("w1").round()
    assert group.running("w1") == group.configured
    assert group.delay == 0


def test_joining_worker_takes_half_in_two_rounds():
    """What moves is revoked in one round and given in the next; what stays is not touched."""
    group = Group(work_of(a=4, b=4)).join("w1").round().join("w2").round()
    assert len(group.running("w1").tasks) == 4
    assert group.running("w2") == NO_WORK
    stayed = group.running("w1")
    group.round()
    assert group.running("w1") == stayed
    assert len(group.running("w2").tasks) == 4
    group.assert_complete_and_balanced()


def test_vanished_workers_tasks_wait_for_it():
    """When a worker vanishes, its work is kept for it until the delay is over, then shared."""
    group = Group(work_of(a=4, b=4)).join("w1").settle().join("w2").settle()
    lost = group.running("w2")
    group.vanish("w2").round()
    assert group.delay == DELAY
    assert group.unassigned() == lost
    group.now += DELAY / 2
    group.round()
    assert group.delay == DELAY / 2
    assert group.unassigned() == lost
    group.now += DELAY / 2
    group.round()
    assert group.delay == 0
    assert group.running("w1") == group.configured


def test_no_delay_reassigns_at_once():
    """With scheduled.rebalance.max.delay.ms=0 lost work moves in the very first round."""
    group = Group(work_of(a=4, b=4), max_delay=0).join("w1", "w2").settle()
    group.vanish("w2").round()
    assert group.running("w1") == group.configured


def test_bounced_worker_gets_its_work_back_at_once():
    """A worker that comes back under its URL has its work again without waiting for the delay."""
    group = Group(work_of(a=4, b=4)).join("w1", "w2").settle()
    had = group.running("w2")
    others = group.running("w1")
    group.vanish("w2").round()
    group.now += 5
    group.join("w2-again", url="http://w2").round()
    assert group.running("w2-again") == had
    assert group.running("w1") == others
    assert group.delay == 0


def test_replacement_worker_gets_lost_work_when_the_delay_ends():
    """An empty worker from elsewhere that joined in the delay takes the lost work as a whole."""
    group = Group(work_of(a=4, b=4)).join("w1", "w2").settle()
    had = group.running("w2")
    group.vanish("w2").round()
    group.now += 100
    group.join("w3").round()
    assert group.delay == DELAY - 100
    assert group.running("w3") == NO_WORK
    group.now += DELAY - 100
    group.round()
    assert group.running("w3") == had


def test_lost_work_is_shared_among_all_candidates():
    """Two empty workers that joined in the delay share the lost work."""
    group = Group(work_of(a=4, b=4)).join("w1", "w2").settle()
    group.vanish("w2").round()
    group.join("w3", "w4").round()
    group.now += DELAY
    group.round()
    assert len(group.running("w3").tasks) == len(group.running("w4").tasks) == 2


def test_candidate_that_vanishes_again_gets_nothing():
    """When the replacement is gone too, the others take the work at the end of the delay."""
    group = Group(work_of(a=4, b=4)).join("w1", "w2", "w3").settle()
    group.vanish("w2").round().join("w4").round().vanish("w4").round()
    group.now += DELAY
    group.settle().assert_complete_and_balanced()


def test_clean_leave_hands_over_at_once():
    """Work of a worker that says it is leaving moves in the same round, whatever the delay."""
    group = Group(work_of(a=4, b=4)).join("w1", "w2", "w3").settle()
    others = {name: group.running(name) for name in ("w1", "w3")}
    group.leave("w2").round()
    assert group.delay == 0
    assert group.unassigned() == NO_WORK
    assert group.running("w2") == NO_WORK
    for name, had in others.items():
        assert had - group.running(name) == NO_WORK, "a leave stops nothing elsewhere"
    group.vanish("w2").round()
    assert not group.moved[-1]
    group.assert_complete_and_balanced()


def test_leader_that_leaves_last_gives_nothing_away():
    """When the only worker leaves, its work is free for whoever comes."""
    group = Group(work_of(a=2)).join("w1").settle().leave("w1").round()
    assert group.running("w1") == NO_WORK
    group.vanish("w1").join("w2").round()
    assert group.running("w2") == group.configured


def test_work_is_not_revoked_while_a_delay_runs():
    """A worker that joins while work is away does not make the others give theirs up."""
    group = Group(work_of(a=8)).join("w1", "w2").settle()
    had = group.running("w1")
    group.vanish("w2").round().join("w3").round()
    assert group.running("w1") == had


def test_new_connector_disturbs_nobody():
    """A connector that is added is placed beside the others; nothing is revoked."""
    group = Group(work_of(a=4)).join("w1", "w2").settle()
    had = {name: group.running(name) for name in group.members}
    group.configured |= work_of(b=2)
    group.round()
    assert not group.moved[-1]
    for name in group.members:
        assert had[name] - group.running(name) == NO_WORK
    group.assert_complete_and_balanced()


def test_new_work_is_given_out_during_a_delay():
    """Creating a connector does not have to wait for a vanished worker."""
    group = Group(work_of(a=4)).join("w1", "w2").settle().vanish("w2").round()
    group.configured |= work_of(b=1)
    group.round()
    assert TaskId("b", 0) in group.running("w1").tasks


def test_deleted_connector_is_revoked():
    """What is no longer configured is revoked; the rest is balanced again."""
    group = Group(work_of(a=4, b=4)).join("w1", "w2").settle()
    group.configured = work_of(a=4)
    group.settle().assert_complete_and_balanced()


def test_connector_deleted_while_its_worker_is_away_is_forgotten():
    """Lost work that is deleted meanwhile is not given out when the delay ends."""
    group = Group(work_of(a=2, b=2)).join("w1", "w2").settle().vanish("w2").round()
    group.configured = work_of(a=2)
    group.now += DELAY
    group.settle().assert_complete_and_balanced()


def test_duplicates_are_revoked_everywhere():
    """A task that two workers claim to run is stopped on both and started once."""
    group = Group(work_of(a=2)).join("w1", "w2").settle()
    both = group.configured
    group.members = {name: Member(m.url, both) for name, m in group.members.items()}
    group.round()
    assert group.moved[-1] == both
    group.settle().assert_complete_and_balanced()


def test_member_that_missed_its_assignment_gets_it_again_at_once():
    """Work that its owner does not run although it is here is handed out without delay."""
    group = Group(work_of(a=4)).join("w1", "w2").settle()
    group.members["w2"] = Member("http://w2")
    group.round()
    assert group.delay == 0
    group.assert_complete_and_balanced()


def test_new_leader_takes_over_what_runs():
    """Without any memory nothing that runs is touched, and what does not run is placed."""
    group = Group(work_of(a=4, b=4)).join("w1", "w2", "w3").settle()
    had = {name: group.running(name) for name in ("w2", "w3")}
    group.memory = Memory()
    group.vanish("w1").round()
    assert group.delay == 0
    for name, before in had.items():
        assert before - group.running(name) == NO_WORK
    group.assert_complete_and_balanced()


def test_tasks_of_one_connector_are_spread():
    """Workers get different connectors' tasks, not all of one."""
    group = Group(work_of(a=3, b=3, c=3)).join("w1", "w2", "w3").settle()
    for name in group.members:
        assert Counter(t.connector for t in group.running(name).tasks) == {"a": 1, "b": 1, "c": 1}


def test_joining_worker_gets_a_mixture():
    """The tasks a full worker gives up are of those connectors that crowd it."""
    group = Group(work_of(a=4, b=2)).join("w1").settle().join("w2").settle()
    for name in group.members:
        assert Counter(t.connector for t in group.running(name).tasks) == {"a": 2, "b": 1}


def test_revoking_rounds_are_paced():
    """When the round after a revoking one would have to revoke again, it waits a moment first."""
    group = Group(work_of(a=12)).join("w1").settle().join("w2").round()
    assert group.moved[-1]
    group.join("w3", "w4", "w5").round()
    assert not group.moved[-1]
    assert group.delay == pytest.approx(0.04)
    group.now += 0.05
    group.round()
    assert group.moved[-1]
    group.settle().assert_complete_and_balanced()


changes = st.lists(
    st.one_of(
        st.tuples(st.just("join"), st.integers(0, 5)),
        st.tuples(st.just("vanish"), st.integers(0, 5)),
        st.tuples(st.just("leave"), st.integers(0, 5)),
        st.tuples(st.just("configure"), st.integers(0, 4), st.integers(0, 7)),
        st.tuples(st.just("delete"), st.integers(0, 4)),
        st.tuples(st.just("round"), st.floats(0, 400)),
        st.tuples(st.just("forget")),
    ),
    max_size=25,
)


def play(group: Group, steps: list[tuple]) -> None:
    counts: dict[str, int] = {}
    for step in steps:
        match step:
            case ("join", n) if f"w{n}" not in group.members:
                group.join(f"w{n}")
            case ("vanish", n) if f"w{n}" in group.members:
                group.vanish(f"w{n}")
            case ("leave", n) if f"w{n}" in group.members:
                group.leave(f"w{n}")
            case ("configure", connector, tasks):
                counts[f"c{connector}"] = tasks
            case ("delete", connector):
                counts.pop(f"c{connector}", None)
            case ("round", seconds) if group.members:
                group.now += seconds
                group.configured = work_of(**counts)
                group.round()
                assert_nothing_runs_twice(group)
            case ("forget",):
                group.memory = Memory()
    group.configured = work_of(**counts)
    for name in [n for n, m in group.members.items() if m.leaving]:
        group.vanish(name)


def assert_nothing_runs_twice(group: Group) -> None:
    tasks = Counter(t for m in group.members.values() for t in m.running.tasks)
    connectors = Counter(c for m in group.members.values() for c in m.running.connectors)
    assert max(tasks.values(), default=0) <= 1
    assert max(connectors.values(), default=0) <= 1


@settings(max_examples=100, deadline=None)
@given(changes, st.sampled_from([0.0, DELAY]))
def test_whatever_happens_the_group_ends_complete_and_balanced(steps, max_delay):
    """After any history, a few rounds run every task exactly once, shared within one; then no
    further round moves anything."""
    group = Group(NO_WORK, max_delay=max_delay)
    play(group, steps)
    group.join("last")
    for _ in range(12):
        group.round()
        group.now += max(group.delay, 0.001)
    group.assert_complete_and_balanced()
    before = dict(group.members)
    group.round()
    assert group.members == before
    assert group.delay == 0


@settings(max_examples=100, deadline=None)
@given(changes)
def test_no_round_moves_more_than_balance_needs(steps):
    """From a settled group, a joining worker costs the others exactly its share."""
    group = Group(NO_WORK, max_delay=0)
    play(group, steps)
    group.join("last").settle(12)
    workers = len(group.members)
    had = {name: m.running for name, m in group.members.items()}
    group.join("new").settle(12)
    for kind in ("connectors", "tasks"):
        gained = len(getattr(group.running("new"), kind))
        given_up = sum(
            len(getattr(had[name], kind) - getattr(group.running(name), kind)) for name in had
        )
        assert given_up == gained
        assert gained <= len(getattr(group.configured, kind)) // (workers + 1) + 1
