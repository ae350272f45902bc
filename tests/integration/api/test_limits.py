"""Time limits and TLS, each with a worker that is set up for it."""

import httpx
import pytest

from tests.support.certificates import trusting

pytestmark = pytest.mark.stack

SLOW = """
import time
from connect import ConfigDef, SinkConnector, SinkTask


class SlowTask(SinkTask):
    def put(self, records):
        pass


class SlowSinkConnector(SinkConnector):
    task_class = SlowTask
    config_def = ConfigDef()

    @classmethod
    def validate(cls, values):
        time.sleep(5)
"""


def test_a_plugin_that_blocks_holds_up_its_own_request_only(standalone, tmp_path):
    """The request that waits for it is answered when its time is up, others at once."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "slow.py").write_text(SLOW)
    settings = {"plugin.path": str(plugins), "rest.request.timeout.ms": "1000"}
    with standalone(tmp_path, **settings) as worker:
        slow = {"name": "slow", "config": {"connector.class": "SlowSink", "topics": "t"}}

        answer = worker.call("POST", "/connectors", slow)

        assert answer.status_code == 500
        assert answer.json()["message"].startswith("Request timed out")
        assert worker.call("GET", "/health").status_code == 200
        assert worker.call("GET", "/connectors").status_code == 200


def test_http_and_https_listeners_side_by_side_with_client_certificates(
    standalone, tmp_path, certificates
):
    """A client that is required to show a certificate gets in with one and not without."""
    settings = {
        "listeners": "http://127.0.0.1:0,https://127.0.0.1:0",
        "listeners.https.ssl.keystore.location": certificates / "server.pem",
        "listeners.https.ssl.keystore.type": "PEM",
        "listeners.https.ssl.truststore.location": certificates / "ca.pem",
        "listeners.https.ssl.truststore.type": "PEM",
        "listeners.https.ssl.client.auth": "required",
    }
    with standalone(tmp_path, **settings) as worker:
        assert worker.call("GET", "/").status_code == 200  # over http
        (line,) = [line for line in worker.log.splitlines() if "The REST API listens on" in line]
        https = next(word for word in line.split() if word.startswith("https://"))
        trusted = trusting(certificates / "ca.pem")
        with (
            httpx.Client(verify=trusted, trust_env=False) as nobody,
            pytest.raises(httpx.TransportError),
        ):
            nobody.get(https)
        trusted.load_cert_chain(certificates / "client.pem")
        with httpx.Client(verify=trusted, trust_env=False) as somebody:
            assert somebody.get(https).json()["version"] == "4.3.1"
