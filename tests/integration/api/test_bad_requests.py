"""Bad input over the wire: each has its status and the body of every error, nothing is created."""

import pytest

pytestmark = pytest.mark.stack

JSON = {"content-type": "application/json"}


def error(answer):
    body = answer.json()
    assert body["error_code"] == answer.status_code
    return answer.status_code, body["message"]


@pytest.fixture(autouse=True)
def nothing_is_created(worker):
    yield
    assert worker.call("GET", "/connectors").json() == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/connectors"),
        ("PUT", "/connectors/a/config"),
        ("PATCH", "/connectors/a/config"),
        ("PATCH", "/connectors/a/offsets"),
        ("PUT", "/connector-plugins/FileStreamSource/config/validate"),
        ("PUT", "/admin/loggers/x"),
    ],
)
def test_a_malformed_body_is_400_on_every_route_that_takes_one(worker, method, path):
    """Kafka Connect answers 500 with a Jackson trace; here the text says what is wrong."""
    for body in (b"", b"{bad", b"null", b"[]", b'"text"', b"\xff\xfe", b"[" * 50_000):
        answer = worker.http.request(method, path, content=body, headers=JSON)
        status, message = error(answer)
        assert status == 400, (body[:10], message)
        assert message.startswith("The body"), body[:10]


def test_a_create_request_without_config_is_400(worker):
    """Kafka Connect answers 500 with a NullPointerException."""
    status, message = error(worker.call("POST", "/connectors", {"name": "a"}))

    assert status == 400
    assert message.startswith('The field "config" is missing')


def test_a_config_value_that_is_null_is_a_validation_error(worker, source):
    """Kafka Connect stores it and fails later; here it is refused with Kafka's own words."""
    body = {"name": "a", "config": {**source, "some.key": None}}

    status, message = error(worker.call("POST", "/connectors", body))

    assert status == 400
    assert "Null value can not be supplied as the configuration value." in message


def test_an_invalid_config_lists_every_error(worker):
    """All at once, in Kafka Connect's words."""
    body = {"name": "a", "config": {"connector.class": "FileStreamSource", "tasks.max": "zero"}}

    status, message = error(worker.call("POST", "/connectors", body))

    assert status == 400
    assert message.startswith("Connector configuration is invalid and contains the following ")
    assert "\nInvalid value zero for configuration tasks.max: Not a number of type INT\n" in message
    assert '\nMissing required configuration "topic" which has no default value.\n' in message
    assert message.endswith(
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def test_an_unknown_connector_class_names_those_there_are(worker):
    """400 with the class asked for and the classes installed."""
    body = {"name": "a", "config": {"connector.class": "NoSuch"}}

    status, message = error(worker.call("POST", "/connectors", body))

    assert status == 400
    assert message.startswith(
        "Failed to find any class that implements Connector and which name matches NoSuch"
    )
    assert "FileStreamSink" in message


def test_a_config_without_a_class_says_so_and_shows_no_values(worker):
    """The text is Kafka Connect's, but the values, which may be secrets, are not in it."""
    body = {"name": "a", "config": {"db.password": "s3cret"}}

    status, message = error(worker.call("POST", "/connectors", body))

    assert status == 400
    assert "contains no connector type" in message
    assert "s3cret" not in message


def test_another_media_type_is_415(worker):
    """A form or plain text is not read as JSON."""
    answer = worker.http.post("/connectors", content=b"{}", headers={"content-type": "text/plain"})

    assert error(answer)[0] == 415


def test_a_config_of_ten_megabytes_is_taken_and_one_of_twenty_is_413(worker, source):
    """The limit is a setting; below it size does not matter."""
    large = {**source, "x": "y" * 10_000_000}
    answer = worker.call("POST", "/connectors", {"name": "big", "config": large})
    assert answer.status_code == 201
    assert len(worker.call("GET", "/connectors/big/config").json()["x"]) == 10_000_000
    worker.call("DELETE", "/connectors/big")

    huge = {**source, "x": "y" * 20_000_000}
    status, message = error(worker.call("POST", "/connectors", {"name": "big", "config": huge}))

    assert status == 413
    assert "rest.request.max.bytes" in message


def test_unknown_paths_and_methods_have_the_body_of_every_error(worker):
    """404 and 405 in Kafka Connect's words."""
    assert error(worker.call("GET", "/nope")) == (404, "HTTP 404 Not Found")
    assert error(worker.call("DELETE", "/connectors")) == (405, "HTTP 405 Method Not Allowed")
