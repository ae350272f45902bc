"""TLS and SASL settings, for librdkafka and for kafka-python."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from connect.config.keystores import read_store
from connect.errors import ConfigError
from connect.runtime import clients
from connect.runtime.clients.settings import Settings
from tests.support.keystores import STORE_PASSWORD, certificate, new_key, trust

PLAIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{}";'
)
NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    new_key(folder / "key.p12", "PKCS12", "us")
    (folder / "cert.pem").write_text(certificate(folder / "key.p12", "us"))
    trust(folder / "trust.jks", "JKS", folder / "cert.pem", "them")
    return folder


def translated(values):
    return clients.librdkafka_settings(Settings("admin", values, {}))


def with_stores(stores):
    return {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(stores / "trust.jks"),
        "ssl.truststore.password": STORE_PASSWORD,
        "ssl.keystore.location": str(stores / "key.p12"),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.endpoint.identification.algorithm": "",
    }


def test_stores_become_pem_that_librdkafka_takes(stores):
    """JKS and PKCS12 stores reach librdkafka as PEM, and it makes a client of them."""
    found = translated(with_stores(stores))
    assert found.keys() == {
        "security.protocol", "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem",
        "ssl.endpoint.identification.algorithm",
    }  # fmt: skip
    assert found["ssl.endpoint.identification.algorithm"] == "none"
    clients.admin_client("a", {**NOWHERE, **with_stores(stores)}, {})


def test_stores_become_a_context_for_kafka_python(stores):
    """The same settings make an SSLContext with the authority and our own certificate."""
    found = clients.group_settings({**NOWHERE, **with_stores(stores)}, {})
    assert found.keys() == {"bootstrap_servers", "security_protocol", "ssl_context"}
    assert found["ssl_context"].cert_store_stats()["x509"] == 1
    assert not found["ssl_context"].check_hostname
    assert found["ssl_context"].verify_mode is ssl.CERT_REQUIRED


def test_inline_pem_is_taken(stores, tmp_path):
    """Certificates and keys may stand in the config itself, even on one line."""
    store = read_store(str(stores / "key.p12"), STORE_PASSWORD)
    values = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": (stores / "cert.pem").read_text().replace("\n", " "),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": store.key,
        "ssl.keystore.certificate.chain": store.chain,
    }
    found = translated(values)
    assert (found["ssl.key.pem"], found["ssl.certificate.pem"]) == (store.key, store.chain)
    assert found["ssl.ca.pem"] == store.chain
    both = tmp_path / "both.pem"
    both.write_text(store.key + store.chain)
    del values["ssl.keystore.key"], values["ssl.keystore.certificate.chain"]
    by_file = translated({**values, "ssl.keystore.location": str(both)})
    assert by_file == found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"ssl.truststore.location": "/nowhere"},
            "ssl.truststore.location: can't be read: No such",
        ),
        ({"ssl.truststore.password": "wr0ng"}, "trust.jks for configuration ssl.truststore.loc"),
        ({"ssl.keystore.password": "wr0ng"}, "ssl.keystore.location: can't be opened"),
        ({"ssl.truststore.certificates": "none"}, "[hidden] for configuration ssl.truststore.cert"),
        ({"ssl.keystore.key": "only"}, "ssl.keystore.certificate.chain: is missing"),
        ({"ssl.endpoint.identification.algorithm": "ldap"}, "must be https, or empty"),
    ],
)
def test_bad_store_is_an_error_at_its_key(stores, change, told):
    """Key, place and reason are told; passwords and certificates are not."""
    with pytest.raises(ConfigError) as raised:
        translated({**with_stores(stores), **change})
    assert told in str(raised.value)
    assert "wr0ng" not in str(raised.value)


def test_cipher_suites_have_openssls_names():
    """Java's names are turned into OpenSSL's; those of TLS 1.3 need not be named."""
    suites = (
        "TLS_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,"
        "TLS_RSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    )
    found = translated({"security.protocol": "SSL", "ssl.cipher.suites": suites})
    assert found["ssl.cipher.suites"] == (
        "ECDHE-RSA-AES256-GCM-SHA384:AES128-SHA:ECDHE-ECDSA-CHACHA20-POLY1305"
    )
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers(found["ssl.cipher.suites"])


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_jaas_line_logs_in_both_clients(mechanism):
    """Name and password of the JAAS line reach librdkafka and kafka-python."""
    worker = {
        **NOWHERE,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": PLAIN.format("p"),
    }
    found = translated(worker)
    assert (found["sasl.mechanism"], found["sasl.username"], found["sasl.password"]) == (
        mechanism, "u", "p",
    )  # fmt: skip
    clients.admin_client("a", worker, {})
    group = clients.group_settings(worker, {})
    assert (group["sasl_mechanism"], group["sasl_plain_username"]) == (mechanism, "u")
    assert group["sasl_plain_password"] == "p"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"sasl.mechanism": "PLAIN"}, "needs username and password for PLAIN"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": "x s3cret"}, "[hidden] for configuration"),
        ({"sasl.mechanism": "DIGEST-MD5"}, "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "sasl.oauthbearer.token.endpoint.url: is missing"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "http://x"},
            "client.credentials.client.id: is missing",
        ),
    ],
)
def test_login_that_cannot_work_is_an_error_at_its_key(values, told):
    """The key and the way out are told, the line is not."""
    with pytest.raises(ConfigError) as raised:
        translated({"security.protocol": "SASL_SSL", **values})
    assert told in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_kerberos_is_translated_and_its_absence_told():
    """Keytab and principal are librdkafka's; one built without Kerberos is an error at the key."""
    worker = {
        **NOWHERE,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required "
        'useKeyTab=true storeKey=true keyTab="/etc/k.keytab" principal="c@EXAMPLE.COM";',
    }
    found = translated(worker)
    assert found["sasl.kerberos.keytab"] == "/etc/k.keytab"
    assert found["sasl.kerberos.principal"] == "c@EXAMPLE.COM"
    assert found["sasl.kerberos.service.name"] == "kafka"
    try:
        clients.admin_client("a", worker, {})
    except ConfigError as error:
        assert "configuration sasl.mechanism" in str(error)  # noqa: PT017 - may be there as well
    assert clients.group_settings(worker, {})["sasl_kerberos_service_name"] == "kafka"


OAUTH = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
}
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required {};"


@pytest.mark.parametrize(
    "credentials",
    [
        {"sasl.jaas.config": BEARER.format('clientId="me" clientSecret="s" scope="all"')},
        {
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": "s",
            "sasl.oauthbearer.scope": "all",
        },
    ],
)
def test_oauth_client_credentials(credentials):
    """Kafka 4's keys and the older JAAS options mean the same to librdkafka."""
    found = translated({**OAUTH, **credentials})
    assert found == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "all",
    }


def test_oauth_with_assertions():
    """Kafka's JWT bearer retriever is librdkafka's grant type of that name."""
    retriever = "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"
    found = translated(
        {
            **OAUTH,
            "sasl.oauthbearer.jwt.retriever.class": retriever,
            "sasl.oauthbearer.assertion.private.key.file": "/k.pem",
            "sasl.oauthbearer.assertion.claim.iss": "us",
        }
    )
    assert found["sasl.oauthbearer.grant.type"].endswith("jwt-bearer")
    assert found["sasl.oauthbearer.assertion.private.key.file"] == "/k.pem"
    assert found["sasl.oauthbearer.assertion.claim.iss"] == "us"


def test_unsecured_token_of_test_clusters():
    """The unsecured tokens of Kafka's own examples work too."""
    line = BEARER.format('unsecuredLoginStringClaim_sub="alice"')
    found = translated(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": line,
        }
    )
    assert found["sasl.oauthbearer.config"] == "principal=alice"


def test_token_for_worker_groups_is_fetched_once_and_kept():
    """kafka-python gets a token from the endpoint, and the same one while it lives."""
    asked = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            asked.append((self.headers["authorization"], body))
            answer = json.dumps({"access_token": f"t{len(asked)}", "expires_in": 100}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = BEARER.format('clientId="me" clientSecret="s" scope="all" extension_pool="p1"')
        worker = {
            **NOWHERE,
            **OAUTH,
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{server.server_port}/",
            "sasl.jaas.config": line,
        }
        provider = clients.group_settings(worker, {})["sasl_oauth_token_provider"]
        assert [provider.token(), provider.token()] == ["t1", "t1"]
        assert provider.extensions() == {"pool": "p1"}
        server.shutdown()
    assert asked == [("Basic bWU6cw==", "grant_type=client_credentials&scope=all")]
