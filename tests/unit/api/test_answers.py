import msgspec
import orjson

from api import models
from api.answers import JsonResponse, connector_info, connector_status, task_status
from connect.cluster.herder import (
    ConnectorInfo,
    ConnectorStatus,
    ConnectorType,
    State,
    Status,
    TaskId,
)


def test_connector_info_has_the_shape_of_kafka_connect():
    """Name, config, tasks and type, with tasks as connector and number."""
    info = ConnectorInfo("a", {"name": "a"}, [TaskId("a", 0)], ConnectorType.SINK)

    shown = connector_info(info)

    assert shown == {
        "name": "a",
        "config": {"name": "a"},
        "tasks": [{"connector": "a", "task": 0}],
        "type": "sink",
    }
    msgspec.convert(shown, models.Connector)


def test_status_lists_tasks_in_order_and_leaves_out_what_is_not_known():
    """Trace and version are there only when they say something; tasks are sorted by number."""
    fine = Status(State.RUNNING, "w:1")
    failed = Status(State.FAILED, "w:1", trace="ValueError", version="2.0")
    status = ConnectorStatus("a", fine, {10: fine, 2: failed}, ConnectorType.SOURCE)

    shown = connector_status(status)

    assert shown["connector"] == {"state": "RUNNING", "worker_id": "w:1"}
    assert shown["tasks"] == [
        {"id": 2, "state": "FAILED", "worker_id": "w:1", "trace": "ValueError", "version": "2.0"},
        {"id": 10, "state": "RUNNING", "worker_id": "w:1"},
    ]
    msgspec.convert(shown, models.ConnectorStatus)


def test_what_goes_beyond_kafka_connect_is_beside_it():
    """Restart counts and the like are further fields of a status."""
    status = Status(State.RUNNING, "w:1", extra={"restarts": 3})

    assert task_status(0, status) == {
        "id": 0,
        "state": "RUNNING",
        "worker_id": "w:1",
        "restarts": 3,
    }


def test_numbers_of_any_size_can_be_answered():
    """A source may store offsets beyond 64 bits."""
    huge = {"offset": 2**70, "name": "é"}

    assert JsonResponse(huge).body == '{"offset":1180591620717411303424,"name":"é"}'.encode()
    assert orjson.loads(JsonResponse({"a": 1}).body) == {"a": 1}
