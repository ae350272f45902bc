"""Statistics of dead letters on Spark are those of the index."""

import sys
from contextlib import nullcontext

import msgspec
import pytest

from dlq import letter as names
from dlq.desk import Desk
from dlq.reader import Span
from dlq.selection import Selection, State
from penstock.cli import main
from penstock.dlq_access import Access
from spark_sink.letter_stats import stats
from tests.support.topics import Out

pytestmark = pytest.mark.slow


def dead(n):
    """The n-th letter: two causes, and every tenth without headers; a minute apart."""
    stage, said = (("TASK_PUT", f"no {n}"), ("VALUE_CONVERTER", f"bad token 'x{n}'"))[n % 2]
    told = {
        names.TOPIC: f"source-{n % 3}",
        names.CONNECTOR: "orders",
        names.STAGE: stage,
        names.EXCEPTION: "a.b.DataException",
        names.MESSAGE: said,
        names.STACKTRACE: f"a.b.DataException: {said}\nCaused by: x.Y: line {n}\n\tat z",
    }
    headers = [] if n % 10 == 0 else [(k, v.encode()) for k, v in told.items()]
    return Out(
        b"%d" % n, headers=headers, timestamp=1_700_000_000_000 + n * 60_000, partition=n % 2
    )


@pytest.fixture
def desk(kafka, make_topic, tmp_path):
    state = make_topic("state", config={"cleanup.policy": "compact"})
    return Desk({"bootstrap.servers": kafka}, folder=tmp_path, state_topic=state)


def test_groups_and_counts_are_those_of_the_index(spark, desk, kafka, make_topic, produce):
    """For every filter and state; dismissed and reopened letters are regarded."""
    letters = make_topic("dlq", 2)
    produce(letters, [dead(n) for n in range(200)])
    desk.mark(letters, Selection(stage="TASK_PUT", limit=20), State.DISMISSED, "ann")
    desk.mark(letters, Selection(states=(State.DISMISSED,), limit=5), State.OPEN, "bob")
    filtered = Selection(
        states=(),
        stage="task_put",
        exception="DataException",
        connector="orders",
        since_ms=1_700_003_000_000,
        until_ms=1_700_009_000_000,
        spans=(Span(0, 3, 70),),
    )
    for selection in (Selection(), Selection(states=(State.DISMISSED,)), filtered):
        here = desk.stats(letters, selection)
        there = stats(spark, desk, {"bootstrap.servers": kafka}, letters, selection)
        assert len(here) > 1
        assert told(there) == told(here)


def told(groups):
    """All but the sample: which letter of a group it is of is left open."""
    documents = [msgspec.to_builtins(group) for group in groups]
    return sorted([{**each, "sample": ""} for each in documents], key=str)


def test_the_command_counts_on_spark(spark, desk, kafka, make_topic, produce, monkeypatch, capsys):
    """`stats --spark` prints the same page, and the first letters need no index."""
    letters = make_topic("dlq", 2)
    produce(letters, [dead(n) for n in range(50)])
    monkeypatch.setattr(Access, "spark", lambda *_: nullcontext(spark))
    printed = []
    for more in ([], ["--spark"]):
        words = ["dlq", "stats", letters, "--bootstrap", kafka, "--state-topic", desk.states.name]
        monkeypatch.setattr(sys, "argv", ["penstock", *words, *more])
        with pytest.raises(SystemExit):
            main()
        printed.append(capsys.readouterr().out)
    assert "50  letters in" in printed[0]
    assert sorted(printed[0].splitlines()) == sorted(printed[1].splitlines())


def test_without_the_extra_the_command_says_which_one_is_missing(kafka, monkeypatch, capsys):
    """One sentence with the way out."""
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    words = ["dlq", "stats", "some", "--spark", "--bootstrap", kafka]
    monkeypatch.setattr(sys, "argv", ["penstock", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert (
        "--spark needs the extra 'spark': pip install 'penstock[spark]'" in capsys.readouterr().err
    )
