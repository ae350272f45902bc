from connectors.datagen.pace import FullSpeed, RandomPauses, Steady


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self):
        self.now = 100.0
        self.longest_sleep = 0.0

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.longest_sleep = max(self.longest_sleep, seconds)
        self.now += seconds


def records_in(pace, time, seconds, most=1000):
    end = time.now + seconds
    count = 0
    while time.now < end:
        count += pace.next(most)
    return count


def test_full_speed_gives_as_many_as_are_wanted():
    """Without a limit every batch is full."""
    assert FullSpeed().next(1000) == 1000


def test_steady_keeps_its_rate():
    """Over ten seconds, ten times the rate, whether it is fast or slow."""
    for rate in (0.5, 10, 12_345):
        time = Time()
        got = records_in(Steady(rate, time.clock, time.sleep), time, 10)
        assert abs(got - 10 * rate) <= max(1, rate / 100)


def test_steady_does_not_make_up_for_a_pause():
    """After an hour in which nobody asked there is one second's worth, not an hour's."""
    time = Time()
    pace = Steady(100, time.clock, time.sleep)
    time.now += 3600
    assert pace.next(1_000_000) == 100


def test_random_pauses_average_half_the_longest():
    """Pauses are spread evenly between nothing and the longest."""
    time = Time()
    got = records_in(RandomPauses(0.02, time.clock, time.sleep), time, 100)
    assert 9_000 < got < 11_000


def test_random_pauses_do_not_make_up_for_a_pause():
    """After an hour there is no flood."""
    time = Time()
    pace = RandomPauses(0.5, time.clock, time.sleep)
    time.now += 3600
    assert pace.next(1000) < 50


def test_nobody_waits_long():
    """A poll comes back soon even when the next record is far away."""
    time = Time()
    assert Steady(0.001, time.clock, time.sleep).next(10) == 0
    RandomPauses(1000.0, time.clock, time.sleep).next(10)
    assert time.longest_sleep <= 0.5
