"""One standalone worker with the probe connectors, shared by the tests of this folder."""

from pathlib import Path

import pytest

from tests.support.worker import standalone

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"


@pytest.fixture(scope="module")
def worker(kafka, tmp_path_factory):
    folder = tmp_path_factory.mktemp("worker")
    with standalone(kafka, folder, plugin__path=PLUGINS, plugin__call__timeout__ms=4000) as running:
        yield running


@pytest.fixture
def connect(worker):
    """connect(name, config) creates a connector that is gone after the test."""
    created = []

    def create(name, config, **more):
        answer = worker.create(name, {k: str(v) for k, v in config.items()}, **more)
        created.append(name)
        return answer

    yield create
    for name in created:
        worker.rest.delete(f"/connectors/{name}")
