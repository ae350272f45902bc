"""PythonTransform: the user's own expressions and functions, and what happens when they fail."""

from __future__ import annotations

import datetime as dt
import signal
import sys
import threading
import time

import pytest

from connect import ConfigError, DataError, Header, Headers, RetriableError, Schema
from tests.unit.transforms.records import configured, sink
from transforms.python import PythonTransform

SAMPLES = "tests.unit.transforms.samples"
ORDER = Schema.struct("Order").field("id", Schema.INT64).field("n", Schema.OPTIONAL_INT32).build()


def python(**settings):
    return configured(PythonTransform, **settings)


def test_filter_drops_what_is_not_true():
    """Only records for which the filter is true go on."""
    results = python(filter="value['n'] > 1").apply_batch([sink({"n": n}) for n in (1, 2, 3)])
    assert [r and r.value["n"] for r in results] == [None, 2, 3]


def test_expressions_set_the_parts_they_are_named_after():
    """Value, key, topic, partition and timestamp can be set, all from the record as it came."""
    record = sink({"a": 1}, key="k", headers=Headers([Header("h", "x")]))
    record = python(
        value="{**value, 'key': key, 'h': headers['h'], 'o': offset}",
        key="value['a']",
        topic="f'{topic}-{partition}'",
        partition="partition + 1",
        timestamp="timestamp - 123",
    ).apply(record)
    assert record.value == {"a": 1, "key": "k", "h": "x", "o": 42}
    assert (record.key, record.topic, record.partition) == (1, "t-3", 4)
    assert record.timestamp == 1588888888000


def test_expressions_may_import_nest_and_run_over_lines():
    """Imported modules, comprehensions that use the value, and line breaks all work."""
    many = python(value="[re.sub('a', 'b', x)\n for x in value\n if x in value]", imports="re")
    assert many.apply(sink(["aa", "c"])).value == ["bb", "c"]
    assert python(value="1 +\n 1").apply(sink(0)).value == 2


def test_a_kept_schema_must_fit():
    """By default the schema stays, and a value that does not fit it is an error."""
    fits = python(value="{**value, 'n': 5}").apply(sink({"id": 1}, ORDER))
    assert (fits.value, fits.value_schema) == ({"id": 1, "n": 5}, ORDER)
    with pytest.raises(DataError, match=r"does not fit its schema.*x is not a valid field name"):
        python(value="{**value, 'x': 5}").apply(sink({"id": 1, "n": None}, ORDER))


def test_a_schema_can_be_inferred_or_dropped():
    """infer makes a schema of the new value, the same for equal shapes; none leaves it out."""
    infer = python(value="{'a': value['id'], 'd': [1.5]}", value_schema="infer")
    one, two = infer.apply_batch([sink({"id": 1}, ORDER), sink({"id": 2})])
    assert one.value_schema is two.value_schema
    assert one.value_schema.field("a").schema is Schema.OPTIONAL_INT64
    assert one.value_schema.field("d").schema.value_schema is Schema.OPTIONAL_FLOAT64
    when = python(value="dt.date(2024, 1, 1)", imports="datetime", value_schema="infer")
    with pytest.raises(DataError, match="name 'dt' is not defined"):
        when.apply(sink(1))
    when = python(value="datetime.date(2024, 1, 1)", imports="datetime", value_schema="infer")
    assert when.apply(sink(1)).value == dt.date(2024, 1, 1)
    assert python(value="1", value_schema="none").apply(sink({"id": 1}, ORDER)).value_schema is None


def test_an_expression_that_fails_names_itself_and_the_line():
    """The error has the key, the expression, the line and the cause."""
    with pytest.raises(DataError) as error:
        python(value="[1,\n value['b']]").apply(sink({"a": 1}))
    assert "The value expression" in str(error.value)
    assert "failed in line 2: KeyError: 'b'" in str(error.value)
    assert isinstance(error.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"value": "1 +"}, "Invalid value 1 + for configuration value: invalid syntax in line 1"),
        ({}, "Nothing to run"),
        ({"value": "1", "function": "a:b"}, "can't be combined with the expression value"),
        ({"function": "nocolon"}, "name it as module:callable"),
        ({"function": "no_such_module_x:f"}, "can't be imported: ModuleNotFoundError"),
        ({"function": f"{SAMPLES}:missing"}, "can't be imported: AttributeError"),
        ({"function": f"{SAMPLES}:not_callable"}, "is no callable but int"),
        ({"value": "1", "imports": "no_such_module_x"}, "can't be imported"),
        ({"value": "1", "timeout.ms": "-1"}, "Value must be at least 0"),
    ],
)
def test_bad_configs_are_refused(settings, text):
    """What can't run is refused before the first record, with the reason."""
    with pytest.raises(ConfigError) as error:
        python(**settings)
    assert text in str(error.value)


def test_a_function_changes_and_drops_records():
    """A function gets the record and returns it, or None to drop it."""
    shout = python(function=f"{SAMPLES}:shout")
    results = shout.apply_batch([sink("a"), sink(None), sink("b")])
    assert [r and r.value for r in results] == ["A", None, "B"]


def test_a_function_that_fails_says_where():
    """The error names function, file and line and keeps its cause; our own errors go through."""
    with pytest.raises(DataError) as error:
        python(function=f"{SAMPLES}:divide").apply(sink(0))
    assert f"The function {SAMPLES}:divide failed in " in str(error.value)
    assert "samples.py, line" in str(error.value)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    with pytest.raises(RetriableError, match="the service is away"):
        python(function=f"{SAMPLES}:unavailable").apply(sink(0))
    with pytest.raises(DataError, match="must return a record or None, not str"):
        python(function=f"{SAMPLES}:wrong_result").apply(sink(0))


def test_the_time_limit_interrupts_code_that_swallows_exceptions():
    """A record that takes too long is an error after the limit, even if the code won't stop."""
    started = time.monotonic()
    with pytest.raises(DataError, match=r"took longer than timeout\.ms=100 for a record"):
        python(function=f"{SAMPLES}:stubborn", **{"timeout.ms": "100"}).apply(sink("slow"))
    assert time.monotonic() - started < 5


def test_the_time_limit_is_for_each_record_not_for_the_batch():
    """Many records that together take longer than the limit are fine."""
    quick = python(value="time.sleep(0.02) or 1", imports="time", **{"timeout.ms": "100"})
    assert all(r.value == 1 for r in quick.apply_batch([sink() for _ in range(10)]))


def test_the_time_limit_holds_in_other_threads_too():
    """Where signals don't reach, the code is interrupted between two of its instructions."""
    errors = []

    def run():
        transform = python(value="[x for x in iter(int, 1)]", **{"timeout.ms": "100"})
        try:
            transform.apply(sink())
        except DataError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert "took longer than timeout.ms=100" in errors[0]
    # Nothing is left for the interpreter to look for: what is profiled would never end.
    seen = []
    sys.setprofile(lambda *event: seen.append(event))
    sorted(range(3), key=lambda n: -n)
    sys.setprofile(None)
    assert seen


def test_others_alarms_are_left_as_they_were():
    """A handler and a timer that were there before are there again, with the time they had."""

    def handler(*_):
        pass

    old = signal.signal(signal.SIGALRM, handler)
    before = signal.setitimer(signal.ITIMER_REAL, 100)
    try:
        python(value="1").apply(sink())
        assert signal.getsignal(signal.SIGALRM) is handler
        assert 90 < signal.getitimer(signal.ITIMER_REAL)[0] <= 100
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
        signal.signal(signal.SIGALRM, old)
