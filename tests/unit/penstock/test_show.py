import pytest
from rich.console import Console

from penstock import show
from penstock.errors import UserError


def text_of(renderable, width=200):
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(*renderable if isinstance(renderable, list) else [renderable], sep="\n")
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def status(name="a", state="RUNNING", task_state="RUNNING", **task):
    return {
        "name": name,
        "type": "sink",
        "connector": {"state": state, "worker_id": "w:1"},
        "tasks": [{"id": 0, "state": task_state, "worker_id": "w:1", **task}],
    }


def test_connectors_are_listed_by_name_with_the_states_of_their_tasks():
    """NAME, TYPE, STATE and TASKS, sorted; names that look like markup are shown as they are."""
    shown = text_of(
        show.connectors_table(
            {
                "b": {"status": status("b", state="FAILED")},
                "[red]a": {"status": status("[red]a", task_state="FAILED", id=1)},
            }
        )
    )

    assert shown == (
        "NAME     TYPE   STATE     TASKS\n"
        "[red]a   sink   RUNNING   1: FAILED\n"
        "b        sink   FAILED    0: RUNNING"
    )


def test_states_are_coloured():
    """Green runs, red failed, yellow is in between."""
    colours = [show.state(s).style for s in ("RUNNING", "FAILED", "PAUSED", "STOPPED")]

    assert colours == ["green", "red", "yellow", "yellow"]


def test_no_connectors_is_an_invitation():
    """An empty list says how to create the first one."""
    assert "penstock apply -f" in text_of(show.connectors_table({}))


def test_a_connectors_page_has_the_trace_of_a_failed_task():
    """Config sorted, tasks with worker and trace, topics."""
    info = {"name": "a", "type": "sink", "config": {"z": "1", "b": "2"}}
    failed = status(state="FAILED", task_state="FAILED", trace="ValueError: bad\n  at line 1\n")

    page = text_of(show.connector_page(info, failed, ["t2", "t1"], {0: {"task.class": "T"}}))

    assert page == (
        "Name: a\nType: sink\nState: FAILED\nWorker: w:1\nConfig:\n  b: 2\n  z: 1\n"
        "Tasks:\n  0: FAILED on w:1\n    ValueError: bad\n      at line 1\n    task.class: T\n"
        "Topics: t1, t2"
    )


def test_sink_offsets_are_a_table_by_topic_and_partition():
    """Partitions are in order of their numbers, not of their digits."""
    offsets = [
        {
            "partition": {"kafka_topic": "t", "kafka_partition": p},
            "offset": {"kafka_offset": p * 10},
        }
        for p in (10, 2)
    ]

    assert text_of(show.offsets_table(offsets)) == (
        "TOPIC   PARTITION   OFFSET\nt       2           20\nt       10          100"
    )


def test_source_offsets_are_shown_as_the_source_has_them():
    """Whatever a source stores is shown as JSON."""
    offsets = [{"partition": {"filename": "é"}, "offset": {"position": 3}}]

    assert text_of(show.offsets_table(offsets)) == (
        'PARTITION           OFFSET\n{"filename": "é"}   {"position": 3}'
    )


def test_differences_are_one_line_a_key_and_never_a_secret():
    """Added, removed and changed keys; a secret's value is not printed whatever happened to it."""
    old = {"same": "1", "gone": "1", "file": "a", "login": "[hidden]"}
    new = {"same": "1", "file": "b", "login": "s3cret", "db.password": "s3cret"}

    lines = text_of(show.differences(old, new))

    assert lines == (
        "  + db.password: [hidden]\n  ~ file: a → b\n  - gone\n  ~ login: [hidden], maybe changed"
    )


def test_problems_are_listed_by_key():
    """Each error of a validation is a line, also of keys nobody defined."""
    validation = {
        "configs": [
            {"value": {"name": "file", "errors": ["missing", "empty"]}},
            {"value": {"name": "topics", "errors": []}},
            {"value": None},
        ]
    }

    assert text_of(show.problems(validation)) == "  file: missing\n  file: empty"


def test_a_key_page_says_type_default_and_purpose():
    """What a plugin's author declared is what is shown."""
    key = {"name": "file", "type": "STRING", "required": False, "default_value": "",
           "documentation": "The file."}  # fmt: skip

    assert text_of(show.keys_page("Sink", [key])) == (
        'Plugin: Sink\n\nfile  STRING, default ""\n  The file.'
    )


def test_watching_survives_a_worker_that_is_away(capsys, monkeypatch):
    """An error is shown in place of the table; without a terminal only changes are printed."""
    answers = iter(["up", "up", UserError("No worker answers"), "up", KeyboardInterrupt()])

    def render():
        answer = next(answers)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    with pytest.raises(KeyboardInterrupt):
        show.watch(render, seconds=0)

    assert capsys.readouterr().out == "up\nNo worker answers\nup\n"
