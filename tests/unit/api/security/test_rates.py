"""Limits on how many requests a client sends."""

import pytest

from api.security.rates import Rates


def test_a_burst_is_let_in_and_then_so_many_a_second():
    """Each client for itself; what it waits is what it is told to wait."""
    now = 100.0
    rates = Rates(2, 3, clock=lambda: now)

    assert [rates.wait("a") for _ in range(3)] == [0, 0, 0]
    assert rates.wait("a") == 0.5
    assert rates.wait("b") == 0
    now += 0.5
    assert rates.wait("a") == 0
    assert rates.wait("a") == pytest.approx(0.5)
    now += 1000
    assert [rates.wait("a") == 0 for _ in range(4)] == [True, True, True, False]


def test_clients_are_forgotten_when_there_are_too_many():
    """Many addresses don't fill the memory."""
    rates = Rates(1, 1)
    for n in range(10_500):
        rates.wait(str(n))
    assert len(rates._buckets) == 10_000
