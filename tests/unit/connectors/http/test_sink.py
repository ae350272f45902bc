"""The HTTP sink against a real HTTP server."""

import base64
import datetime as dt
import email.utils
import json
import time
from decimal import Decimal

import pytest

from connect import ConfigError, ConnectError, DataError, RetriableError, Schema
from connect.testing import SinkHarness, SinkTaskSuite
from connect.testing.running import checked_config
from connectors.http.sink import HttpSinkConnector
from tests.support.http_service import http_service


@pytest.fixture
def service():
    with http_service() as running:
        yield running


def sink(service, path="/in", *, with_reporter=True, **more):
    return SinkHarness(
        HttpSinkConnector,
        {
            "http.api.url": service.url + path,
            "retry.backoff.ms": "10",
            **{k.replace("_", "."): str(v) for k, v in more.items()},
        },
        with_reporter=with_reporter,
    )


class TestHttpSink(SinkTaskSuite):
    connector = HttpSinkConnector
    schema = None

    @pytest.fixture(autouse=True)
    def _service(self):
        with http_service() as self.service:
            yield

    def config(self, place):
        return {"http.api.url": self.service.url + "/in", "request.body.format": "string"}

    def written(self, place):
        return [asked.body.decode() for asked in self.service.asked]


def test_url_and_headers_are_filled_from_the_record(service):
    """References are replaced, encoded for where they stand."""
    with sink(
        service, "/${topic}/${key}?n=${order.id}", headers="X-Place:${partition}+${offset}"
    ) as s:
        s.record({"order": {"id": 7}}, key="a/b c?", key_schema=Schema.STRING)
        s.deliver()
    (asked,) = service.asked
    assert asked.path == "/test/a%2Fb%20c%3F?n=7"
    assert asked.headers["X-Place"] == "0+0"
    assert asked.headers["Content-Type"] == "application/json"
    assert json.loads(asked.body) == {"order": {"id": 7}}


def test_values_have_a_form_in_json(service):
    """Decimals, bytes and times inside a struct are written without loss."""
    with sink(service) as s:
        s.put({"d": Decimal("1.10"), "b": b"\xff", "t": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)})
    assert json.loads(service.asked[0].body) == {
        "d": "1.10",
        "b": base64.b64encode(b"\xff").decode(),
        "t": "2024-01-01T00:00:00Z",
    }


def test_batches_are_arrays_of_up_to_the_size(service):
    """Records with one address share a request; another address begins a new one."""
    with sink(service, "/${kind}", batch_max_size=3) as s:
        s.put(*[{"kind": kind, "n": n} for n, kind in enumerate("aaaaba")])
    assert [(a.path, [r["n"] for r in json.loads(a.body)]) for a in service.asked] == [
        ("/a", [0, 1, 2]),
        ("/a", [3]),
        ("/b", [4]),
        ("/a", [5]),
    ]


def test_batches_can_be_lines(service):
    """With prefix, suffix and separator a batch is whatever text is needed."""
    with sink(
        service, batch_max_size=9, batch_json_as_array="false", batch_prefix="<", batch_suffix=">"
    ) as s:
        s.put({"a": 1}, {"a": 2})
    assert service.asked[0].body == b'<{"a":1}\n{"a":2}>'


def test_unavailable_service_is_asked_again_with_longer_waits(service):
    """Each retry waits twice as long; what was answered before is not sent again."""
    service.answers = [200, 503, 503, 200, 200]
    waits = []
    with sink(service, retry_backoff_ms=100) as s:
        records = [s.record({"n": n}) for n in range(3)]
        for _ in range(2):
            with pytest.raises(RetriableError, match="HTTP 503"):
                s.task.put(records)
            waits.append(s.context.backoff_ms)
        s.task.put(records)
        s.positions = dict.fromkeys(s.positions, 3)
    assert waits == [100, 200]
    assert [json.loads(a.body)["n"] for a in service.asked] == [0, 1, 1, 1, 2]


@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_kept_to(service, as_date):
    """A 429 says how long to wait, in seconds or as a date."""
    text = email.utils.formatdate(time.time() + 20, usegmt=True) if as_date else "20"
    service.answers = [(429, {"Retry-After": text}, b"slow down")]
    with sink(service) as s:
        record = s.record({"n": 1})
        with pytest.raises(RetriableError, match="slow down"):
            s.task.put([record])
        assert s.context.backoff_ms == pytest.approx(20_000, abs=2000)
        s.deliver()
    assert len(service.asked) == 2


def test_a_storm_of_429_ends_with_the_task(service):
    """After max.retries in a row the task fails, and no record is dead-lettered for it."""
    service.decide = lambda _: 429
    s = sink(service, max_retries=2)
    s.start()
    with pytest.raises(ConnectError, match="Gave up after 2 retries"):
        s.put({"n": 1})
    s.task.stop()
    assert s.retries == 2
    assert s.reported == []


def test_refused_records_are_reported_with_the_answer(service):
    """A 400 is the record's fault: it is reported with what the service said, others go on."""
    service.decide = lambda asked: (400, {}, b"n must be even") if b"1" in asked.body else None
    with sink(service) as s:
        s.put({"n": 0}, {"n": 1}, {"n": 2})
    ((record, error),) = s.reported
    assert record.value == {"n": 1}
    assert "HTTP 400 Bad Request: n must be even" in str(error)
    assert len(service.asked) == 3


@pytest.mark.parametrize(("behaviour", "sent"), [("fail", 1), ("log", 2), ("ignore", 2)])
def test_without_a_reporter_the_config_decides(service, behaviour, sent):
    """behavior.on.error: fail the task, or go on."""
    service.answers = [400]
    s = sink(service, with_reporter=False, behavior_on_error=behaviour)
    s.start()
    if behaviour == "fail":
        with pytest.raises(DataError, match="HTTP 400"):
            s.put({"n": 0}, {"n": 1})
    else:
        s.put({"n": 0}, {"n": 1})
    s.task.stop()
    assert len(service.asked) == sent


def test_missing_reference_is_the_records_fault(service):
    """A record without the field that the URL needs is reported."""
    with sink(service, "/${id}") as s:
        s.put({"id": 1}, {"other": 2})
    ((_, error),) = s.reported
    assert str(error) == "The record has nothing for ${id}"


def test_header_that_http_has_no_form_for_is_the_records_fault(service):
    """A blank at the end of a key is not asked again and again: this record is refused."""
    with sink(service, headers="X-Key:${key}") as s:
        for key in ("good", "bad "):
            s.record({"n": 1}, key=key, key_schema=Schema.STRING)
        s.deliver()
    assert s.retries == 0
    ((record, error),) = s.reported
    assert record.key == "bad "
    assert isinstance(error, DataError)
    assert len(service.asked) == 1


@pytest.mark.parametrize(("behaviour", "methods"), [("ignore", []), ("delete", ["DELETE"])])
def test_records_without_a_value(service, behaviour, methods):
    """They are left out, or delete what their URL names."""
    with sink(service, "/${key}", behavior_on_null_values=behaviour) as s:
        s.record(None, key="k", key_schema=Schema.STRING)
        s.deliver()
    assert [a.method for a in service.asked] == methods


def test_basic_and_bearer(service):
    """User and password, or a token, go into the header."""
    with sink(service, auth_type="basic", connection_user="me", connection_password="pass") as s:
        s.put({})
    with sink(service, auth_type="bearer", bearer_token="t0ken") as s:
        s.put({})
    assert [a.headers["Authorization"] for a in service.asked] == [
        "Basic " + base64.b64encode(b"me:pass").decode(),
        "Bearer t0ken",
    ]


@pytest.mark.parametrize("mode", ["header", "body"])
def test_oauth2_token_is_kept_and_renewed_after_a_401(service, mode):
    """One token serves many requests; when it is refused a new one is asked for, once."""
    tokens = iter(["one", "two"])

    def decide(asked):
        if asked.path == "/token":
            answer = {"access_token": next(tokens), "expires_in": 3600}
            return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()
        refused = asked.headers["Authorization"] == "Bearer one" and len(service.at("/in")) > 2
        return 401 if refused else 200

    service.decide = decide
    with sink(
        service, auth_type="oauth2", oauth2_token_url=service.url + "/token",
        oauth2_client_id="me", oauth2_client_secret="hush", oauth2_client_scope="write",
        oauth2_client_auth_mode=mode,
    ) as s:  # fmt: skip
        s.put({"n": 0}, {"n": 1}, {"n": 2})
    used = [a.headers["Authorization"] for a in service.at("/in")]
    assert used == ["Bearer one", "Bearer one", "Bearer one", "Bearer two"]
    asked = service.at("/token")[0]
    assert b"grant_type=client_credentials" in asked.body
    assert (b"client_secret=hush" in asked.body) == (mode == "body")
    assert ("Authorization" in asked.headers) == (mode == "header")


def test_wrong_credentials_fail_the_task_and_stay_hidden(service):
    """A 401 is nobody's record's fault; the message names the keys and not the password."""
    service.decide = lambda _: 401
    s = sink(service, auth_type="basic", connection_user="me", connection_password="sesame")
    s.start()
    with pytest.raises(ConnectError, match=r"HTTP 401 .*auth\.type=basic") as refused:
        s.put({"n": 1})
    s.task.stop()
    assert "sesame" not in str(refused.value)
    assert s.reported == []


def test_rate_is_limited(service):
    """No more requests a second than the config allows."""
    with sink(service, rate_limit_per_second=50) as s:
        begin = time.monotonic()
        s.put(*[{"n": n} for n in range(11)])
        assert time.monotonic() - begin >= 0.2


def test_service_that_is_not_there_is_tried_again():
    """A refused connection asks for patience."""
    s = SinkHarness(HttpSinkConnector, {"http.api.url": "http://127.0.0.1:1/", "max.retries": "1",
                                        "retry.backoff.ms": "1"})  # fmt: skip
    s.start()
    with pytest.raises(ConnectError, match="Gave up after 1 retries"):
        s.put({"n": 1})
    s.task.stop()
    assert s.retries == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"http.api.url": "ftp://x"}, "must begin with http"),
        ({"auth.type": "oauth2"}, "auth.type=oauth2 needs it"),
        ({"retry.on.status.codes": "5xx"}, "'5xx' is neither a status code nor a range"),
        ({"headers": "nonsense"}, "'nonsense' is no header: write Name:value"),
    ],
)
def test_configs_that_do_not_fit_are_refused(settings, message):
    """The error names the key and the way out."""
    with pytest.raises(ConfigError, match=message):
        checked_config(HttpSinkConnector, {"http.api.url": "http://x", "topics": "t", **settings})
