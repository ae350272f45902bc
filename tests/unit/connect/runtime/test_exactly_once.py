"""The exactly-once loop, without Kafka."""

from connect.runtime.exactly_once import ExactlyOnceLoop


def test_what_another_thread_finds_while_a_producer_is_made_counts():
    """A topic that wants smaller batches is met just then: the new producer does not fit either."""
    loop = ExactlyOnceLoop.__new__(ExactlyOnceLoop)
    loop._most_bytes, loop._express_terms = 1_000_000, None

    def make_producer(most_bytes):
        loop._most_bytes = 5000
        loop._fit_producer()

    loop._make_producer = make_producer
    loop._open = False
    loop._start_producer()
    assert not loop._fits
