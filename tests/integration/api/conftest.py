from contextlib import contextmanager
from urllib.parse import quote

import pytest

from tests.support import worker as workers
from tests.support.certificates import make_certificates
from tests.support.waiting import wait_for


class Rest:
    """A real standalone worker, seen through its REST API."""

    def __init__(self, running):
        self.url = running.url
        self.http = running.rest
        self._running = running

    @property
    def log(self):
        return self._running.log_text()

    def call(self, method, path, body=None, **more):
        return self.http.request(method, path, json=body, **more)

    def create(self, name, config, state="RUNNING"):
        body = {"name": name, "config": config, "initial_state": state}
        answer = self.call("POST", "/connectors", body)
        assert answer.status_code == 201, answer.text

    def wait_for_state(self, name, state, tasks=None):
        """Wait until the connector, and all its tasks if their number is given, are in a state."""

        def status():
            return self.call("GET", f"/connectors/{quote(name, safe='')}/status").json()

        def reached():
            found = status()
            states = [task["state"] for task in found["tasks"]]
            right = tasks is None or states == [state] * tasks
            return found if found["connector"]["state"] == state and right else None

        return wait_for(reached, lambda: f"{name} to be {state}; it is {status()}")

    def delete_all(self):
        for name in self.call("GET", "/connectors").json():
            self.call("DELETE", f"/connectors/{quote(name, safe='')}")


@pytest.fixture(scope="session")
def standalone(kafka):
    """standalone(folder, **settings) runs a worker; dots in keys are written as __."""

    @contextmanager
    def run(folder, **settings):
        with workers.standalone(kafka, folder, **settings) as running:
            yield Rest(running)

    return run


@pytest.fixture(scope="module")
def shared_worker(standalone, tmp_path_factory):
    with standalone(tmp_path_factory.mktemp("worker")) as rest:
        yield rest


@pytest.fixture
def worker(shared_worker):
    """A worker without connectors, shared by the tests of a module."""
    shared_worker.delete_all()
    return shared_worker


@pytest.fixture
def source(tmp_path):
    """The config of a file source, with a file and a topic of this test's own."""
    return {
        "connector.class": "FileStreamSource",
        "file": str(tmp_path / "in.txt"),
        "topic": f"lines-{tmp_path.name}",
    }


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """An authority, and a server and a client it has signed: ca.pem, server.pem, client.pem."""
    return make_certificates(tmp_path_factory.mktemp("tls"))
