"""Rates, averages and maxima over the last half minute."""

import pytest

from connect.runtime.measures import WINDOW_SECONDS, Window


def counted(n, **more):
    return {
        "sink_read": 100.0 * n, "sink_sent": 90.0 * n, "sink_batches": 3.0 * n,
        "sink_put_seconds": 0.6 * n, "sink_commits": 1.0 * n, "sink_commit_failures": 0.0,
        "sink_commit_seconds": 0.05 * n, "sink_active": 10.0 * n, **more,
    }  # fmt: skip


def test_rates_and_averages_follow_from_the_counters():
    """Samples a second apart: 100 records a second in three puts of 200 ms each."""
    window = Window(now=999.0)
    window.derived(counted(1), paused=False, now=1000.0)
    found = window.derived(counted(2), paused=False, now=1001.0)
    assert found["sink_read_rate"] == 100
    assert found["sink_sent_rate"] == 90
    assert found["sink_put_ms_avg"] == pytest.approx(200)
    assert found["sink_batch_avg"] == 30
    assert found["sink_commit_ms_avg"] == pytest.approx(50)
    assert found["sink_active_avg"] == 15
    assert found["sink_active_max"] == 20
    assert (found["sink_commit_success"], found["sink_commit_failure"]) == (1, 0)


def test_old_samples_are_forgotten():
    """A task that stands still shows a rate of 0 after the window, and its maxima are gone."""
    window = Window(now=-1.0)
    for second in range(10):
        window.derived(counted(second, sink_put_seconds_max=5.0), paused=False, now=second)
    still = [
        window.derived(counted(9, sink_put_seconds_max=0.0), paused=False, now=10.0 + second)
        for second in range(int(WINDOW_SECONDS) + 2)
    ]
    assert still[0]["sink_read_rate"] > 0
    assert still[0]["sink_put_seconds_max"] == 5.0
    assert still[-1]["sink_read_rate"] == 0
    assert still[-1]["sink_put_seconds_max"] == 0
    assert still[-1] == still[-2], "an idle task has nothing new to say"


def test_failed_commits_have_their_share():
    """One of four attempts failed."""
    window = Window(now=-1.0)
    window.derived(counted(0), paused=False, now=0.0)
    found = window.derived(counted(3, sink_commit_failures=1.0), paused=False, now=1.0)
    assert (found["sink_commit_success"], found["sink_commit_failure"]) == (0.75, 0.25)


def test_first_sample_is_measured_from_the_start():
    """A burst that is over before the first sample shows in it."""
    found = Window(now=10.0).derived(counted(5), paused=False, now=12.0)
    assert found["sink_read_rate"] == 250
    assert found["sink_put_ms_avg"] == pytest.approx(200)
    assert found["running_ratio"] == 1


def test_nothing_is_divided_by_nothing():
    """No time has passed and nothing was counted: zeros."""
    found = Window(now=10.0).derived(counted(0), paused=False, now=10.0)
    assert found["sink_read_rate"] == found["sink_put_ms_avg"] == 0


def test_pause_has_its_share():
    """A task paused for one of four seconds."""
    window = Window(now=0.0)
    window.derived({}, paused=False, now=3.0)
    found = window.derived({}, paused=True, now=4.0)
    assert (found["pause_ratio"], found["running_ratio"]) == (0.25, 0.75)


def test_source_has_no_sink_values():
    """Only what a task counts is derived."""
    found = Window().derived({"source_polled": 1.0, "source_batches": 1.0}, paused=False)
    assert [key for key in found if key.startswith("sink")] == []
    assert "source_batch_avg" in found


def test_least_of_the_window_is_shown_and_nothing_is_zero():
    """The smallest transaction of the last half minute; 0 when there was none."""
    window = Window(now=0.0)
    none = float("inf")
    assert window.derived({"size_min": none}, paused=False, now=1.0)["size_min"] == 0
    assert window.derived({"size_min": 7}, paused=False, now=2.0)["size_min"] == 7
    assert window.derived({"size_min": none}, paused=False, now=3.0)["size_min"] == 7
    assert window.derived({"size_min": 3}, paused=False, now=4.0)["size_min"] == 3
