"""The worker's own routes: root, health, metrics, plugins, loggers, documentation, listeners."""

import msgspec
import pytest

from api import models

pytestmark = pytest.mark.stack


def error(answer):
    body = answer.json()
    assert body["error_code"] == answer.status_code
    return answer.status_code, body["message"]


def test_the_root_names_versions_and_cluster(worker):
    """Clients gate features on the version of Kafka Connect that is spoken."""
    info = worker.call("GET", "/").json()

    assert set(info) == {"version", "commit", "kafka_cluster_id"}
    assert info["version"] == "4.3.1"
    assert info["kafka_cluster_id"]


def test_health_is_200_when_requests_can_be_taken(worker):
    """The text is Kafka Connect's."""
    answer = worker.call("GET", "/health")

    assert (answer.status_code, answer.json()) == (
        200,
        {
            "status": "healthy",
            "message": "Worker has completed startup and is ready to handle requests.",
        },
    )


def test_metrics_are_for_prometheus(worker):
    """Text in the exposition format, under its own media type."""
    answer = worker.call("GET", "/metrics")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_plugins_are_listed_connectors_first(worker):
    """Connectors alone unless all are asked for."""
    connectors = worker.call("GET", "/connector-plugins").json()
    everything = worker.call("GET", "/connector-plugins?connectorsOnly=false").json()

    assert {p["type"] for p in connectors} == {"source", "sink"}
    assert everything[: len(connectors)] == connectors
    assert {"transformation", "predicate", "converter", "header_converter"} <= {
        p["type"] for p in everything
    }


def test_the_keys_of_a_plugin_have_the_documented_shape(worker):
    """Each key as Kafka Connect shows it; the plugin's own come first."""
    keys = worker.call("GET", "/connector-plugins/FileStreamSink/config").json()

    msgspec.convert(keys, list[models.KeyDefinition])
    assert keys[0]["name"] == "file"
    assert {"name", "connector.class", "tasks.max", "topics"} <= {key["name"] for key in keys}
    assert error(worker.call("GET", "/connector-plugins/Nope/config")) == (
        404,
        "Unknown plugin Nope.",
    )


def test_validation_answers_200_with_every_key_and_its_errors(worker):
    """Errors are in the answer, not in its status."""
    config = {"connector.class": "FileStreamSource", "name": "a", "tasks.max": 0}

    answer = worker.call("PUT", "/connector-plugins/FileStreamSource/config/validate", config)

    assert answer.status_code == 200
    found = msgspec.convert(answer.json(), models.Validation)
    errors = {c.value.name: c.value.errors for c in found.configs if c.value and c.value.errors}
    assert errors == {
        "tasks.max": ["Invalid value 0 for configuration tasks.max: Value must be at least 1"],
        "topic": ['Missing required configuration "topic" which has no default value.'],
    }
    assert found.error_count == 2


def test_validation_for_another_plugin_is_refused(worker):
    """The class in the config and the one in the URL must be the same, short or long."""
    config = {"connector.class": "FileStreamSink"}

    answer = worker.call("PUT", "/connector-plugins/FileStreamSource/config/validate", config)

    assert error(answer) == (
        400,
        "Included connector type FileStreamSink does not match request type FileStreamSource",
    )
    long_name = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    same = worker.call("PUT", f"/connector-plugins/{long_name}/config/validate", config)
    assert same.status_code == 200


def test_log_levels_can_be_read_and_changed(worker):
    """worker scope lists what changed, cluster scope answers 204, a wrong level is 404."""
    path = "/admin/loggers/some.logger"

    changed = worker.call("PUT", path, {"level": "debug"})

    assert (changed.status_code, changed.json()) == (200, ["some.logger"])
    level = worker.call("GET", path).json()
    assert level["level"] == "DEBUG"
    assert isinstance(level["last_modified"], int)
    loggers = worker.call("GET", "/admin/loggers").json()
    assert "root" in loggers
    assert loggers["some.logger"] == level
    assert list(loggers) == sorted(loggers)
    assert worker.call("PUT", path + "?scope=cluster", {"level": "INFO"}).status_code == 204
    assert error(worker.call("PUT", path, {"level": "huh"})) == (404, "invalid log level 'huh'.")
    assert error(worker.call("PUT", path, {}))[0] == 400
    assert error(worker.call("GET", "/admin/loggers/never.heard.of")) == (
        404,
        "Logger never.heard.of not found.",
    )


def test_the_documentation_describes_every_route(worker):
    """OpenAPI has a summary for each operation, and the page that shows it is there."""
    document = worker.call("GET", "/openapi.json").json()

    operations = [op for path in document["paths"].values() for op in path.values()]
    assert len(operations) > 25
    assert all(operation.get("summary") for operation in operations)
    assert "/connectors/{connector}/tasks/{task}/restart" in document["paths"]
    assert worker.call("GET", "/docs").status_code == 200


def test_requests_are_in_the_log(worker):
    """One line each, but none for probes that succeed."""
    worker.call("GET", "/connectors?marker=1")
    worker.call("GET", "/health?marker=2")

    assert '"GET /connectors?marker=1 HTTP/1.1" 200' in worker.log
    assert "marker=2" not in worker.log


def test_admin_routes_can_have_a_listener_of_their_own(standalone, tmp_path):
    """With admin.listeners set they are there and nowhere else; headers and CORS are as set."""
    settings = {
        "admin.listeners": "http://127.0.0.1:0",
        "access.control.allow.origin": "http://example.com",
        "access.control.allow.methods": "GET,PUT",
        "response.http.headers.config": "set X-Frame-Options: DENY",
    }
    with standalone(tmp_path, **settings) as worker:
        assert worker.call("GET", "/admin/loggers").status_code == 404
        answer = worker.call("GET", "/connectors", headers={"origin": "http://example.com"})
        assert answer.headers["access-control-allow-origin"] == "http://example.com"
        assert answer.headers["x-frame-options"] == "DENY"
        (admin,) = [line.split()[-2] for line in worker.log.splitlines() if "admin routes" in line]
        assert worker.http.get(f"{admin}/admin/loggers").status_code == 200
        assert worker.http.get(f"{admin}/connectors").status_code == 404


def test_a_worker_with_an_empty_admin_listener_has_no_admin_routes(standalone, tmp_path):
    """admin.listeners= switches them off."""
    with standalone(tmp_path, **{"admin.listeners": ""}) as worker:
        assert worker.call("GET", "/admin/loggers").status_code == 404
        assert worker.call("GET", "/connectors").status_code == 200
