"""pytest's way to a real Kafka and a real worker, by two fixtures: there wherever Penstock is.

Every pytest run loads this file, so nothing of weight is imported before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.testing import RealWorker


@pytest.fixture(scope="session")
def penstock_kafka(pytestconfig: pytest.Config) -> Iterator[str]:
    """The address of a real broker: KAFKA_BOOTSTRAP's, or one for this run, which takes Java."""
    from penstock.errors import UserError
    from penstock.stack import throwaway
    from penstock.stack.process import ServerDiedError

    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", end="", flush=True)

    with ExitStack() as running:
        try:
            bootstrap = running.enter_context(throwaway.kafka(say))
        except ServerDiedError:
            raise
        except UserError as missing:
            pytest.skip(str(missing))
        yield bootstrap


@pytest.fixture(scope="class")
def penstock_worker(
    penstock_kafka: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealWorker]:
    """A real worker, one a class of tests, with every connector that the tests have imported."""
    from penstock.testing import RealWorker

    with RealWorker(penstock_kafka, tmp_path_factory.mktemp("worker")) as worker:
        yield worker
