from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

from connect import ConfigError, ConnectError, DataError, RetriableError, Schema
from converters.avro import AvroConverter
from tests.support.keystores import KEY_PASSWORD, STORE_PASSWORD, keytool, trust
from tests.support.stub_registry import StubRegistry, stub_registry
from tests.support.waiting import wait_for

RECORD = Schema.struct("R").field("a", Schema.INT32).build()
DATA = b"\0\0\0\0\x07\x0a"
NO_RETRIES = {"max.retries": "0"}
FOUND = (200, {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'})


@pytest.fixture
def stub():
    with stub_registry() as made:
        yield made


def converter(stub: StubRegistry | str, **config: str) -> AvroConverter:
    made = AvroConverter()
    url = stub if isinstance(stub, str) else stub.url
    settings = {"schema.registry.url": url, **NO_RETRIES}
    settings.update({k.replace("_", "."): v for k, v in config.items()})
    made.configure(settings, is_key=False)
    return made


# ---- failures -------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 507])
def test_registry_in_trouble_is_retriable_in_both_directions(stub, status):
    """5xx and their like say nothing about the record, which must come again."""
    stub.otherwise = (status, {"error_code": 50001, "message": "Error in the backend"})
    made = converter(stub)
    with pytest.raises(RetriableError, match=f"{status}: Error in the backend"):
        made.to_connect("t", DATA)
    with pytest.raises(RetriableError, match="subject t-value"):
        made.from_connect_batch("t", [RECORD], [{"a": 1}], [[]])


def test_registry_that_is_down_is_retriable_and_recovers(stub):
    """A record that could not be read for want of the registry is read once it answers."""
    stub.otherwise = (503, b"<html>maintenance</html>")
    made = converter(stub)
    with pytest.raises(RetriableError):
        made.to_connect("t", DATA)
    stub.answers["GET /schemas/ids/7"] = FOUND
    stub.otherwise = (404, {"error_code": 40401, "message": "no subject"})
    assert made.to_connect("t", DATA).value == {"a": 5}


def test_nobody_listening_is_retriable_and_names_the_url():
    """A refused connection is a registry out of reach."""
    with pytest.raises(RetriableError, match=r"http://127\.0\.0\.1:1\b.*out of reach"):
        converter("http://127.0.0.1:1").to_connect("t", DATA)


@pytest.mark.parametrize("status", [401, 403, 405])
def test_refused_credentials_fail_without_showing_them(stub, status):
    """4xx other than not found fails every record alike: not a DataError, and no secret in it."""
    stub.otherwise = (status, {"error_code": 40101, "message": "Unauthorized"})
    made = converter(stub.url.replace("//", "//ann:s3cret@"))
    with pytest.raises(ConnectError, match=f"{status}: Unauthorized") as caught:
        made.to_connect("t", DATA)
    assert type(caught.value) is ConnectError
    assert stub.url in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(("status", "code"), [(409, 409), (422, 42201)])
def test_incompatible_or_invalid_schema_is_a_data_error(stub, status, code):
    """A schema that the registry refuses makes bad records, which may be dead-lettered."""
    stub.otherwise = (status, {"error_code": code, "message": "Schema being registered is bad"})
    with pytest.raises(DataError, match=f"{status}: Schema being registered is bad"):
        converter(stub).from_connect("t", RECORD, {"a": 1})


def test_page_instead_of_json_is_retriable(stub):
    """A proxy's page with status 200 is no answer of the registry."""
    stub.otherwise = (200, b"<html>log in please</html>")
    with pytest.raises(RetriableError, match="did not answer in JSON"):
        converter(stub).to_connect("t", DATA)


# ---- caches ---------------------------------------------------------------------------------


def test_registry_is_asked_once_for_a_schema(stub):
    """However many records come, one request fetches a schema and one its version."""
    stub.answers["GET /schemas/ids/7"] = FOUND
    stub.answers["POST /subjects/t-value"] = (
        200,
        {"subject": "t-value", "id": 7, "version": 4, **FOUND[1]},
    )
    made = converter(stub)
    for _ in range(3):
        schemas, values = made.to_connect_batch("t", [DATA] * 10, [()] * 10)
        assert values == [{"a": 5}] * 10
    assert schemas[0].version == 4
    assert len(stub.asked()) == 2


def test_registry_is_asked_once_to_register(stub):
    """Equal schemas are registered once, whichever way records come."""
    stub.answers["POST /subjects/t-value/versions"] = (200, {"id": 9})
    made = converter(stub)
    for _ in range(3):
        schema = Schema.struct("R").field("a", Schema.INT32).build()
        assert made.from_connect_batch("t", [schema], [{"a": 5}], [[]]) == [b"\0\0\0\0\x09\x0a"]
    assert len(stub.asked()) == 1


@pytest.mark.parametrize("normalize", ["true", "false"])
def test_registry_normalizes_schemas_when_told_to(stub, normalize):
    """normalize.schemas goes along when a schema is registered or looked up."""
    stub.answers["POST /subjects/t-value/versions"] = (200, {"id": 9})
    found = {"subject": "t-value", "id": 9, "version": 1, **FOUND[1]}
    stub.answers["POST /subjects/t-value"] = (200, found)
    for register in ("true", "false"):
        settings = {"normalize_schemas": normalize, "auto_register_schemas": register}
        converter(stub, **settings).from_connect("t", RECORD, {"a": 5})
    [registered, looked_up] = stub.asked("POST")
    assert f"normalize={normalize}" in registered.lower()
    assert f"normalize={normalize}" in looked_up.lower()


def test_unknown_id_is_asked_for_again_after_a_while(stub):
    """A missing schema is not asked for with every record, nor is its absence kept for ever."""
    made = converter(stub, missing_id_cache_ttl_sec="1")
    for _ in range(5):
        with pytest.raises(DataError, match="schema id 7"):
            made.to_connect("t", DATA)
    assert len(stub.asked("GET /schemas/ids/7")) == 1
    stub.answers["GET /schemas/ids/7"] = FOUND
    found = wait_for(lambda: unless_bad(made.to_connect, "t", DATA), "the schema to be found", 10)
    assert found.value == {"a": 5}


def test_refused_schema_is_not_sent_with_every_record(stub):
    """An incompatible schema costs one request, not one a record, and is tried again later."""
    stub.otherwise = (409, {"error_code": 409, "message": "incompatible"})
    made = converter(stub, missing_id_cache_ttl_sec="1")
    for _ in range(5):
        with pytest.raises(DataError, match="409: incompatible"):
            made.from_connect("t", RECORD, {"a": 1})
    assert len(stub.asked()) == 1
    stub.answers["POST /subjects/t-value/versions"] = (200, {"id": 9})
    written = wait_for(
        lambda: unless_bad(made.from_connect, "t", RECORD, {"a": 1}), "the schema to be taken", 10
    )
    assert written[4] == 9


def unless_bad(convert, *arguments):
    """What it gives; None as long as it is a DataError."""
    try:
        return convert(*arguments)
    except DataError:
        return None


def test_newer_version_is_found_after_the_ttl(stub):
    """With latest.cache.ttl.sec a running converter moves on to the subject's newest version."""
    latest = {"subject": "t-value", "version": 1, "id": 1, **FOUND[1]}
    stub.answers["GET /subjects/t-value/versions/latest"] = (200, latest)
    made = converter(
        stub, auto_register_schemas="false", use_latest_version="true", latest_cache_ttl_sec="1"
    )
    assert made.from_connect("t", RECORD, {"a": 1})[4] == 1
    stub.answers["GET /subjects/t-value/versions/latest"] = (200, {**latest, "id": 2, "version": 2})
    wait_for(
        lambda: made.from_connect("t", RECORD, {"a": 1})[4] == 2, "version 2 to be written with", 10
    )


# ---- several URLs, credentials, headers -----------------------------------------------------


def test_next_url_is_asked_when_one_does_not_answer(stub):
    """With several URLs a dead registry or one that answers 500 is passed over."""
    stub.answers["GET /schemas/ids/7"] = FOUND
    with stub_registry() as broken:
        broken.otherwise = (500, {"error_code": 500, "message": "broken"})
        made = converter(f"http://127.0.0.1:1,{broken.url},{stub.url}")
        assert made.to_connect("t", DATA).value == {"a": 5}
        assert broken.asked()


def _authorization(stub: StubRegistry) -> str:
    return stub.requests[0][1].get("Authorization", "")


def _basic(pair: str) -> str:
    return "Basic " + base64.b64encode(pair.encode()).decode()


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        (
            {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "ann:pa:ss"},
            _basic("ann:pa:ss"),
        ),
        (
            {
                "schema.registry.basic.auth.credentials.source": "USER_INFO",
                "schema.registry.basic.auth.user.info": "ann:pass",
            },
            _basic("ann:pass"),
        ),
        (
            {
                "basic.auth.credentials.source": "SASL_INHERIT",
                "sasl.jaas.config": 'x.PlainLoginModule required username="bob" password="pw";',
            },
            _basic("bob:pw"),
        ),
        ({"bearer.auth.token": "tok"}, "Bearer tok"),
        (
            {
                "bearer.auth.credentials.source": "STATIC_TOKEN",
                "bearer.auth.token": "tok",
                "bearer.auth.logical.cluster": "lsrc-1",
            },
            "Bearer tok",
        ),
        ({"request.header.Authorization": "Custom abc"}, "Custom abc"),
    ],
)
def test_credentials_are_sent(stub, config, sent):
    """Each way to name credentials ends in the header that the registry expects."""
    stub.answers["GET /schemas/ids/7"] = FOUND
    made = AvroConverter()
    made.configure({"schema.registry.url": stub.url, **NO_RETRIES, **config}, is_key=False)
    made.to_connect("t", DATA)
    assert _authorization(stub) == sent


def test_token_comes_from_an_oauth_server(stub):
    """OAUTHBEARER fetches a token with the client's credentials; its failure is retriable."""
    stub.answers["GET /schemas/ids/7"] = FOUND
    stub.answers["POST /token"] = (
        200,
        {"access_token": "issued", "token_type": "Bearer", "expires_in": 3600},
    )
    config = {
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": f"{stub.url}/token",
        "bearer.auth.client.id": "me",
        "bearer.auth.client.secret": "s3cret",
        "bearer.auth.scope": "all",
        "schema.registry.url": stub.url,
        **NO_RETRIES,
    }
    made = AvroConverter()
    made.configure(config, is_key=False)
    made.to_connect("t", DATA)
    request = next(headers for path, headers in stub.requests if path.startswith("GET"))
    assert request["Authorization"] == "Bearer issued"
    stub.answers["POST /token"] = (400, {"error": "invalid_client", "hint": "s3cret"})
    other = AvroConverter()
    other.configure(config, is_key=False)
    with pytest.raises(RetriableError, match="no token from the OAuth server") as caught:
        other.to_connect("t", DATA)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({}, "schema.registry.url"),
        ({"schema.registry.url": "ftp://x"}, "schema.registry.url"),
        (
            {"schema.registry.url": "http://x", "basic.auth.credentials.source": "USER_INFO"},
            "basic.auth.user.info",
        ),
        (
            {
                "schema.registry.url": "http://x",
                "value.subject.name.strategy": "com.acme.MyStrategy",
            },
            "value.subject.name.strategy",
        ),
        (
            {"schema.registry.url": "https://x", "schema.registry.ssl.truststore.location": "/nix"},
            "schema.registry.ssl.truststore.location",
        ),
        (
            {
                "schema.registry.url": "https://x",
                "schema.registry.ssl.keystore.location": "/nix",
                "schema.registry.ssl.keystore.type": "JKS",
            },
            "schema.registry.ssl.keystore.location",
        ),
    ],
)
def test_wrong_settings_name_their_key(config, key):
    """A setting that can't work is refused when the converter is configured."""
    with pytest.raises(ConfigError, match=key):
        AvroConverter().configure(config, is_key=False)


# ---- TLS ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, as PEM and as PKCS12."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = serialization.BestAvailableEncryption(b"changeit")
    (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, secret)
    (folder / "both.pem").write_bytes(private + certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(private)
    (folder / "both.p12").write_bytes(
        pkcs12.serialize_key_and_certificates(b"me", key, certificate, None, secret)
    )
    return folder


@pytest.fixture
def tls_stub(certificates):
    """A registry that wants a certificate of its clients too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "both.pem", password="changeit")
    context.load_verify_locations(certificates / "cert.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with stub_registry(context) as made:
        made.answers["GET /schemas/ids/7"] = FOUND
        yield made


@pytest.fixture(scope="module")
def jks(certificates: Path) -> dict[str, str]:
    """The same key and certificate in Java's own format, with a password of the key's own."""
    pair, trusted = certificates / "both.jks", certificates / "trusted.jks"
    keytool(
        "-importkeystore", "-srckeystore", certificates / "both.p12", "-srcstoretype", "PKCS12",
        "-srcstorepass", "changeit", "-destkeystore", pair, "-deststoretype", "JKS",
        "-deststorepass", STORE_PASSWORD, "-srcalias", "me", "-destkeypass", KEY_PASSWORD,
    )  # fmt: skip
    trust(trusted, "JKS", certificates / "cert.pem", "registry")
    return {
        "truststore.location": str(trusted),
        "truststore.password": STORE_PASSWORD,
        "keystore.location": str(pair),
        "keystore.password": STORE_PASSWORD,
        "key.password": KEY_PASSWORD,
    }


@pytest.mark.parametrize("how", ["pem", "pkcs12", "text", "jks"])
def test_tls_with_a_certificate_of_ones_own(tls_stub, certificates, jks, how):
    """Truststore and keystore work as PEM files, PKCS12 files, JKS files and PEM text."""
    prefix = "schema.registry.ssl."
    config = {
        "pem": {
            "truststore.location": str(certificates / "cert.pem"),
            "keystore.location": str(certificates / "both.pem"),
            "key.password": "changeit",
        },
        "pkcs12": {
            "truststore.type": "PKCS12",
            "truststore.location": str(certificates / "both.p12"),
            "truststore.password": "changeit",
            "keystore.type": "PKCS12",
            "keystore.location": str(certificates / "both.p12"),
            "keystore.password": "changeit",
        },
        "text": {
            "truststore.certificates": (certificates / "cert.pem").read_text(),
            "keystore.certificate.chain": (certificates / "cert.pem").read_text(),
            "keystore.key": (certificates / "key.pem").read_text(),
            "key.password": "changeit",
        },
        "jks": jks,
    }[how]
    made = AvroConverter()
    made.configure(
        {
            "schema.registry.url": tls_stub.url,
            **NO_RETRIES,
            **{prefix + k: v for k, v in config.items()},
        },
        is_key=False,
    )
    assert made.to_connect("t", DATA).value == {"a": 5}


def test_untrusted_certificate_is_not_accepted(tls_stub):
    """Without the registry's certificate in the truststore nothing is sent to it."""
    with pytest.raises(RetriableError, match="CERTIFICATE_VERIFY_FAILED"):
        converter(tls_stub).to_connect("t", DATA)
    assert not tls_stub.requests


def test_wrong_store_password_is_refused_without_showing_it(certificates):
    """A store that the password does not open names the key, not the password."""
    with pytest.raises(ConfigError, match=r"truststore\.location") as caught:
        AvroConverter().configure(
            {
                "schema.registry.url": "https://127.0.0.1:1",
                "schema.registry.ssl.truststore.location": str(certificates / "both.p12"),
                "schema.registry.ssl.truststore.type": "PKCS12",
                "schema.registry.ssl.truststore.password": "wr0ng",
            },
            is_key=False,
        )
    assert "wr0ng" not in str(caught.value)
