"""One test over many cases must fail as surely as many tests would."""

import pytest

from tests.support.cases import every


def test_all_cases_are_run_and_each_failure_is_told():
    """A case that fails hides none behind it; those that pass are not told."""
    seen = []

    @every([(1, 0), (2, 1), (3, 0), (4, 4)])
    def divides(a, b):
        seen.append(a)
        with pytest.raises(ZeroDivisionError):
            a / b
        assert a != 3

    with pytest.raises(pytest.fail.Exception) as failure:
        divides()
    told = str(failure.value)
    assert seen == [1, 2, 3, 4]
    assert told.startswith("3 of 4 cases fail\n\n(2, 1)\nFailed: DID NOT RAISE")
    assert "(3, 0)\nAssertionError: assert 3 != 3" in told
    assert "(4, 4)\nFailed: DID NOT RAISE" in told


def test_no_cases_are_a_mistake():
    """A file of vectors that turned out empty is no success."""
    with pytest.raises(AssertionError):
        every([])
