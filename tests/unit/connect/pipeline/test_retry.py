"""Retries: the contract's waits, and who is tried again at all."""

import pytest

from connect import DataError, RetriableError
from connect.pipeline import ErrorCounts, Interrupted, Retry, failures


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self, monkeypatch) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        monkeypatch.setattr(failures.time, "monotonic", lambda: self.now)

    def wait(self, seconds: float) -> bool:
        self.waits.append(round(seconds * 1000))
        self.now += seconds
        return False


def failing(error):
    def step():
        raise error

    return step


def test_waits_double_and_end_at_the_deadline(monkeypatch):
    """With a timeout of 6 s the waits are 300, 600, 1200, 2400 and the 1500 ms that are left."""
    clock = Clock(monkeypatch)
    retry = Retry(6000, 60_000, clock.wait, ErrorCounts())
    with pytest.raises(RetriableError):
        retry.call(failing(RetriableError("away")))
    assert clock.waits == [300, 600, 1200, 2400, 1500]


def test_wait_above_the_maximum_is_random_below_it(monkeypatch):
    """errors.retry.delay.max.ms is never exceeded."""
    clock = Clock(monkeypatch)
    retry = Retry(30_000, 1000, clock.wait, ErrorCounts())
    with pytest.raises(RetriableError):
        retry.call(failing(RetriableError("away")))
    assert clock.waits[:2] == [300, 600]
    assert max(clock.waits) <= 1000


def test_only_retriable_errors_are_tried_again(monkeypatch):
    """Bad data stays bad."""
    clock = Clock(monkeypatch)
    counts = ErrorCounts()
    with pytest.raises(DataError):
        Retry(-1, 1000, clock.wait, counts).call(failing(DataError("bad")))
    assert clock.waits == []
    assert (counts.failures, counts.retries) == (1, 0)


def test_stop_ends_the_waiting():
    """A task that is to stop waits for nothing, and nobody takes that for a record's failure."""
    retry = Retry(-1, 60_000, lambda _: True, ErrorCounts())
    with pytest.raises(Interrupted) as stopped:
        retry.call(failing(RetriableError("away")))
    assert not isinstance(stopped.value, Exception)


def test_infinite_retry_goes_on_until_it_works(monkeypatch):
    """errors.retry.timeout=-1 has no deadline."""
    clock = Clock(monkeypatch)
    left = [RetriableError("away")] * 50

    def step():
        if left:
            raise left.pop()
        return "done"

    assert Retry(-1, 1000, clock.wait, ErrorCounts()).call(step) == "done"
    assert len(clock.waits) == 50
