"""Real servers for the tests, one of each for a run, started when the first test asks for it."""

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import psycopg
import pytest
from hypothesis import settings

from penstock.stack import throwaway
from penstock.stack.mariadb import MariaDbMissingError
from penstock.stack.postgres import PostgresMissingError
from tests.support import topics as kafka_topics

# The same cases in every run: a test that fails once fails always. HYPOTHESIS_PROFILE=search looks
# for new ones, for as long as one likes.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A shell that runs the tests in the background has Ctrl-C ignored, in all that they start as well.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Tells the person at the terminal what takes so long, past pytest's capturing."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", end="", flush=True)  # noqa: T201

    return say


@pytest.fixture(scope="session")
def kafka(say) -> Iterator[str]:
    """The bootstrap address of a real broker: KAFKA_BOOTSTRAP's, or one of our own."""
    with throwaway.kafka(say) as bootstrap:
        yield bootstrap


@pytest.fixture(scope="session")
def registry(say) -> Iterator[str]:
    """The URL of a real schema registry: SCHEMA_REGISTRY_URL's, or one of our own."""
    with throwaway.registry(say) as url:
        yield url


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server, whose role may do everything."""
    with ExitStack() as running:
        try:
            url = running.enter_context(throwaway.postgres())
        except PostgresMissingError as missing:
            pytest.skip(str(missing))
        yield url


@pytest.fixture
def database(postgres) -> Iterator[str]:
    """The URL of an empty PostgreSQL database of the test's own."""
    name = f"test_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield postgres.rpartition("/")[0] + f"/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    """The URL of a real MariaDB or MySQL server: MYSQL_URL's, or one of our own."""
    with ExitStack() as running:
        try:
            url = running.enter_context(throwaway.mariadb())
        except MariaDbMissingError as missing:
            pytest.skip(str(missing))
        yield url


@pytest.fixture
def make_topic(kafka) -> Iterator[Callable[..., str]]:
    """make_topic(name_hint="topic", partitions=1, config=None) creates a topic for this test."""
    topics = kafka_topics.Topics(kafka)
    yield topics.create
    topics.delete_all()


@pytest.fixture
def topic(make_topic) -> str:
    """A topic with one partition for this test."""
    return make_topic()


@pytest.fixture
def produce(kafka):
    """produce(topic, records) writes values, or `Out` records, and waits until they are safe."""
    return partial(kafka_topics.produce, kafka)


@pytest.fixture
def consume_all(kafka):
    """consume_all(topic, n=0, timeout=30) gives everything in the topic once it is at least n."""
    return partial(kafka_topics.consume_all, kafka)
