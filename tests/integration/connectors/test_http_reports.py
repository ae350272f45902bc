"""What a service answered is reported to Kafka topics."""

from http import HTTPStatus

import pytest

from connect import ConfigError, ConnectError, Schema
from connect.testing import SinkHarness
from connect.testing.running import checked_config
from connectors.http.sink import HttpSinkConnector
from tests.support.http_service import http_service


def reporting(url, bootstrap, results, errors, **more):
    settings = {
        "http.api.url": url,
        "reporter.bootstrap.servers": bootstrap,
        "reporter.result.topic.name": results,
        "reporter.error.topic.name": errors,
        **more,
    }
    return SinkHarness(HttpSinkConnector, settings)


def test_answers_and_refusals_are_reported(kafka, make_topic, consume_all):
    """Each record that was taken with the answer, each that was refused with the reason."""
    results, errors = make_topic("results"), make_topic("errors")
    with http_service() as service:
        service.answers = [(200, {}, b"thanks"), (422, {}, b"no such item")]
        with reporting(service.url + "/in", kafka, results, errors) as sink:
            sink.record({"n": 0}, key="k", key_schema=Schema.STRING, timestamp=1234)
            sink.record({"n": 1})
            sink.deliver()
            sink.flush()
            (taken,) = consume_all(results, 1)
            (refused,) = consume_all(errors, 1)
        assert len(sink.reported) == 1
    assert (taken.key(), taken.value()) == (b"k", b"thanks")
    assert dict(taken.headers()) == {
        "input_record_topic": b"test",
        "input_record_partition": b"0",
        "input_record_offset": b"0",
        "input_record_timestamp": b"1234",
        "url": f"{service.url}/in".encode(),
        "status_code": b"200",
        "reason_phrase": b"OK",
    }
    phrase = HTTPStatus(422).phrase.encode()  # Python's service has changed its mind about it
    assert b"HTTP 422 %b: no such item" % phrase in refused.value()
    told = dict(refused.headers())
    assert told.pop("error_message") == refused.value()
    assert told == {
        "input_record_topic": b"test",
        "input_record_partition": b"0",
        "input_record_offset": b"1",
        "url": f"{service.url}/in".encode(),
        "status_code": b"422",
        "reason_phrase": phrase,
        "response_content": b"no such item",
    }


def test_reports_that_can_not_be_written_fail_the_task():
    """Offsets are not committed without them; the error names the key."""
    more = {"reporter.producer.message.timeout.ms": "300"}
    with http_service() as service:
        sink = reporting(service.url + "/in", "127.0.0.1:1", "results", "", **more)
        sink.start()
        sink.put({"n": 0})
        with pytest.raises(ConnectError, match=r"'results': .*reporter\.bootstrap\.servers"):
            sink.flush()
        sink.task.stop()


def test_report_topics_need_a_kafka():
    """The error names the missing key."""
    with pytest.raises(ConfigError, match=r"reporter\.bootstrap\.servers.*Topic x needs it"):
        checked_config(
            HttpSinkConnector,
            {"http.api.url": "http://x", "topics": "t", "reporter.error.topic.name": "x"},
        )
