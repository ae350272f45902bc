"""The index counts, chooses and forgets letters. Kafka's part is played by a list of messages."""

import pytest

from connect.pipeline import RawMessage
from dlq import letter as names
from dlq.index import Index
from dlq.model import Mark
from dlq.reader import Place, Span, TopicFacts
from dlq.selection import Selection, State

TOPIC = TopicFacts("dlq", "id-1", (0,))
HOUR = 3_600_000
BASE = 1_700_000_000_000


class Messages:
    """A topic of one partition in memory, read as Reader reads."""

    def __init__(self, messages, low=0):
        self.messages = messages
        self.low = low
        self.reads = 0

    def spans(self, topic):
        return [Span(0, self.low, len(self.messages))]

    def read(self, topic, spans):
        for span in spans:
            found = self.messages[span.start : span.end]
            self.reads += len(found)
            for i in range(0, len(found), 7):
                yield found[i : i + 7]


def letter(offset, stage="VALUE_CONVERTER", message="bad 1", connector="orders", time=None):
    return RawMessage(
        "dlq",
        b"v",
        offset=offset,
        headers=[
            (names.TOPIC, b"source"),
            (names.CONNECTOR, connector.encode()),
            (names.STAGE, stage.encode()),
            (names.EXCEPTION, b"a.b.DataException"),
            (names.MESSAGE, message.encode()),
        ],
        timestamp=(1, BASE + offset * 1000 if time is None else time),
    )


@pytest.fixture
def index(tmp_path):
    index = Index(tmp_path / "deep" / "index.sqlite")
    yield index
    index.close()


@pytest.fixture
def hundred():
    return Messages(
        [
            letter(n, ("VALUE_CONVERTER", "TASK_PUT")[n % 4 == 0], f"bad {n}", time=BASE + n * 6000)
            for n in range(100)
        ]
    )


def test_letters_are_grouped_and_counted_over_time(index, hundred):
    """Groups by cause, the largest first, with counts by the minute."""
    index.refresh(hundred, TOPIC)
    value, put = index.groups(Selection())
    assert (value.stage, value.count, put.stage, put.count) == (
        "VALUE_CONVERTER",
        75,
        "TASK_PUT",
        25,
    )
    assert value.reason == "bad ?"
    assert sum(n for _, n in value.over_time) == 75
    assert len(value.over_time) >= 10


def test_only_what_is_new_is_read(index, hundred):
    """A second look reads what came meanwhile and counts nothing twice."""
    index.refresh(hundred, TOPIC)
    hundred.messages += [letter(n) for n in range(100, 110)]
    index.refresh(hundred, TOPIC)
    assert hundred.reads == 110
    assert index.count(Selection()) == 110


def test_two_processes_may_build_one_index(index, hundred, tmp_path):
    """What another process has written meanwhile is not written again."""
    other = Index(tmp_path / "deep" / "index.sqlite")
    rows = index._rows(hundred.messages[:60])
    other.refresh(hundred, TOPIC)
    assert index._add(0, 0, rows) == 60
    assert index.count(Selection()) == 100
    other.close()


@pytest.mark.parametrize(
    ("selection", "count"),
    [
        (Selection(stage="task_put"), 25),
        (Selection(exception="DataException"), 100),
        (Selection(exception="a.b.DataException"), 100),
        (Selection(exception="Exception"), 0),
        (Selection(connector="orders", source_topic="source"), 100),
        (Selection(connector="other"), 0),
        (Selection(since_ms=BASE + 90 * 6000), 10),
        (Selection(until_ms=BASE + 90 * 6000, stage="TASK_PUT"), 23),
        (Selection(spans=(Span(0, 10, 15), Span(0, 20, 21))), 6),
        (Selection(states=(State.DISMISSED,)), 0),
        (Selection(limit=7), 7),
    ],
)
def test_letters_are_chosen(index, hundred, selection, count):
    """Every filter, alone and together, and the limit; the count agrees with the places."""
    index.refresh(hundred, TOPIC)
    assert index.count(selection) == count
    places = list(index.places(selection, page=3))
    assert len(places) == count
    assert places == sorted(places)
    assert len(index.newest(selection)) == count


def test_a_fingerprint_chooses_its_group(index, hundred):
    """Its beginning is enough; a wildcard is none."""
    index.refresh(hundred, TOPIC)
    group = index.groups(Selection())[0]
    assert index.count(Selection(fingerprint=group.fingerprint[:6])) == 75
    assert index.count(Selection(fingerprint="%")) == 0


def test_marks_move_letters_between_states(index, hundred):
    """Replayed and dismissed letters leave the default view, and come back when reopened."""
    index.refresh(hundred, TOPIC)
    index.mark([Mark(0, 1, State.DISMISSED, "ann", 5, "why"), Mark(0, 2, State.REPLAYED)], {0: 2})
    index.mark([Mark(0, 1, State.DISMISSED, "bob")], {0: 3})
    assert index.count(Selection()) == 98
    assert index.mark_of(Place(0, 1)).by == "bob"
    assert index.count(Selection(states=())) == 100
    depth = index.depth()
    assert (depth.open, depth.replayed, depth.dismissed) == (98, 1, 1)
    index.mark([Mark(0, 1, State.OPEN)], {0: 4})
    assert index.count(Selection()) == 99
    assert index.states_read() == {0: 4}


def test_a_mark_that_comes_before_its_letter_waits_for_it(index, hundred):
    """The state topic may be read further than the letters are."""
    index.mark([Mark(0, 42, State.DISMISSED)], {0: 1})
    index.refresh(hundred, TOPIC)
    assert index.count(Selection()) == 99


def test_a_new_state_topic_opens_all(index, hundred):
    """When the state topic is another one, only it counts."""
    index.refresh(hundred, TOPIC)
    index.mark([Mark(0, n, State.DISMISSED) for n in range(50)], {0: 50})
    index.forget_states()
    assert index.count(Selection()) == 100
    assert index.states_read() == {}


def test_expired_letters_are_forgotten(index, hundred):
    """What retention has removed is neither counted nor chosen."""
    index.refresh(hundred, TOPIC)
    hundred.low = 80
    index.refresh(hundred, TOPIC)
    assert index.count(Selection()) == 20
    assert next(index.places(Selection())) == Place(0, 80)


def test_causes_without_end_are_brought_together(index, monkeypatch):
    """Messages that no fingerprint can tame fill neither memory nor screen."""
    monkeypatch.setattr("dlq.index.MOST_GROUPS", 5)
    words = [f"{a}{b}" for a in "abcde" for b in "vwxyz"]
    index.refresh(Messages([letter(n, message=w) for n, w in enumerate(words)]), TOPIC)
    groups = index.groups(Selection())
    assert len(groups) == 6
    assert (groups[0].reason, groups[0].count) == ("(various)", 20)


def test_depth_tells_rate_and_age(index):
    """Letters of the last hour, the oldest and the newest open one."""
    now = BASE + 10 * HOUR
    index.refresh(Messages([letter(n, time=now - n * HOUR // 2) for n in range(10)]), TOPIC)
    depth = index.depth(now)
    assert depth.last_hour == 2
    assert now - depth.newest_ms < 60_000
    assert depth.oldest_ms // 60_000 == (now - 9 * HOUR // 2) // 60_000


def test_new_groups_are_told_once(index, hundred):
    """A group is new until somebody was told of it."""
    index.refresh(hundred, TOPIC)
    new = index.new_groups()
    assert {group.stage for _, group, _ in new} == {"VALUE_CONVERTER", "TASK_PUT"}
    index.told(number for number, _, _ in new)
    assert index.new_groups() == []
