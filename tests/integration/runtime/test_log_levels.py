"""Log levels that are set while tasks run reach the tasks, by logger and by connector."""

import pytest

from tests.support.waiting import wait_for

FLOWING = {"connector.class": "NumbersSource", "count": 100_000_000, "batch": 1, "pause.ms": 20}


@pytest.fixture(params=["process", "thread"])
def pair(request, worker, connect, make_topic):
    """The names of two sources that flow all the while, apart or as threads of one process."""
    names = [f"{which}-{request.param}" for which in ("loud", "quiet")]
    for name in names:
        connect(name, {**FLOWING, "topic": make_topic(), "task.isolation": request.param})
        worker.wait_running(name)
    yield names
    set_level(worker, "root", "INFO")


def set_level(worker, logger, level):
    answer = worker.rest.put(f"/admin/loggers/{logger}", json={"level": level})
    assert answer.status_code == 200, answer.text
    return answer.json()


def progress(worker, name):
    offsets = worker.rest.get(f"/connectors/{name}/offsets").json()["offsets"]
    return offsets[0]["offset"]["n"] if offsets else 0


def debug_lines(text, name):
    return [line for line in text.splitlines() if f"DEBUG [{name}|task-0] poll() gave" in line]


def wait_loud(worker, name):
    seen = len(worker.log_text())
    wait_for(lambda: debug_lines(worker.log_text()[seen:], name), f"{name} to tell more", 60)


def wait_quiet(worker, name):
    """Until it has flowed on for a while and told nothing of it."""
    seen, at = len(worker.log_text()), progress(worker, name)

    def quiet():
        nonlocal seen, at
        if debug_lines(worker.log_text()[seen:], name):
            seen, at = len(worker.log_text()), progress(worker, name)
        return progress(worker, name) > at

    wait_for(quiet, f"{name} to tell less", 60)


def test_level_of_a_connector_reaches_its_task_alone(worker, pair):
    """connector.NAME makes this connector's task tell more, at once, and its neighbour not."""
    loud, quiet = pair
    assert set_level(worker, f"connector.{loud}", "DEBUG") == [f"connector.{loud}"]
    wait_loud(worker, loud)
    wait_quiet(worker, quiet)
    assert worker.rest.get("/admin/loggers").json()[f"connector.{loud}"]["level"] == "DEBUG"
    # A task that starts later has the level from its first line on.
    assert worker.rest.post(f"/connectors/{loud}/tasks/0/restart").status_code == 204
    wait_loud(worker, loud)
    set_level(worker, f"connector.{loud}", "INFO")
    wait_quiet(worker, loud)


def test_level_of_a_logger_reaches_all_tasks(worker, pair):
    """An ordinary logger's level is in force in all tasks; the root's is above a connector's."""
    set_level(worker, f"connector.{pair[0]}", "DEBUG")
    wait_loud(worker, pair[0])
    set_level(worker, "root", "WARN")
    wait_quiet(worker, pair[0])
    assert f"connector.{pair[0]}" not in worker.rest.get("/admin/loggers").json()
    set_level(worker, "connect.runtime.source", "DEBUG")
    for name in pair:
        wait_loud(worker, name)
    set_level(worker, "connect.runtime.source", "INFO")
    for name in pair:
        wait_quiet(worker, name)


def test_java_levels_do_no_harm_to_tasks(worker, pair):
    """OFF, ALL, TRACE and FATAL, which Python does not know, are understood by tasks too."""
    for level in ("OFF", "FATAL", "ALL", "TRACE"):
        set_level(worker, f"connector.{pair[0]}", level)
    wait_loud(worker, pair[0])


def test_level_of_an_unknown_connector_is_refused(worker):
    """A misspelt name would do nothing, silently."""
    answer = worker.rest.put("/admin/loggers/connector.nobody", json={"level": "DEBUG"})
    assert answer.status_code == 404
    assert "Connector nobody not found" in answer.json()["message"]
