"""Workers that know each other by the session key."""

import asyncio

import pytest

from connect.cluster.config_log import ClusterConfig
from connect.cluster.signing import new_session_key
from connect.cluster.trust import Trust

CONFIG = {
    "inter.worker.signature.algorithm": "HmacSHA256",
    "inter.worker.verification.algorithms": ["HmacSHA256"],
}


@pytest.fixture
def topic():
    """The config topic as a worker has read it; without a key at first."""
    return [ClusterConfig()]


@pytest.fixture
def trust(topic):
    return Trust(CONFIG, lambda: topic[0])


def test_what_is_passed_on_before_there_is_a_key_waits_for_it(trust, topic):
    """Both for signing and for checking: neither worker need be the first to read it."""

    async def begin():
        signing = asyncio.create_task(trust.vouch(b"what"))
        await asyncio.sleep(0)
        assert not signing.done()
        topic[0] = ClusterConfig(session_key=new_session_key("HmacSHA256"))
        signature = await signing
        known, topic[0] = topic[0], ClusterConfig()
        checking = asyncio.create_task(trust.vouched(b"what", signature))
        await asyncio.sleep(0)
        assert not checking.done()
        topic[0] = known
        return await checking, await trust.vouched(b"something else", signature)

    assert asyncio.run(begin()) == (True, False)


def test_nothing_is_waited_for_beside_workers_that_know_no_keys(trust):
    """As in a cluster with an old worker in it."""
    trust.sessioned = False

    async def ask():
        async with asyncio.timeout(1):
            return await trust.vouch(b"what"), await trust.vouched(b"what", "HmacSHA256:x")

    assert asyncio.run(ask()) == (None, False)


def test_a_key_that_does_not_come_is_not_waited_for_for_ever(trust, monkeypatch):
    """The request goes on without."""
    monkeypatch.setattr("connect.cluster.trust._KEY_SECONDS", 0.1)
    assert asyncio.run(trust.vouch(b"what")) is None
