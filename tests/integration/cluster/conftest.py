"""Three workers of one cluster, shared by the tests that leave them alive."""

from pathlib import Path

import pytest

from tests.support.cluster import cluster

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"


@pytest.fixture(scope="module")
def three(kafka, tmp_path_factory):
    """A cluster of three workers with the probe connectors and a provider of secrets in files."""
    settings = {
        "plugin__path": PLUGINS,
        "config__providers": "file",
        "config__providers__file__class": "FileConfigProvider",
    }
    with cluster(kafka, tmp_path_factory.mktemp("cluster"), 3, **settings) as running:
        yield running


@pytest.fixture
def new_cluster(kafka, tmp_path):
    """new_cluster(n, **settings) is a context manager: a cluster of the test's own."""

    def make(n, **settings):
        return cluster(kafka, tmp_path, n, plugin__path=PLUGINS, **settings)

    return make


@pytest.fixture
def connect(three):
    """connect(name, config) creates a connector on the shared cluster, gone after the test."""
    created = []

    def create(name, config, worker=None, **more):
        answer = (worker or three.any).create(name, {k: str(v) for k, v in config.items()}, **more)
        created.append(name)
        return answer

    yield create
    for name in created:
        three.any.rest.delete(f"/connectors/{name}")
