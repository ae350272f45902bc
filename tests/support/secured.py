"""A broker that lets in only who shows a certificate and a password."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.stack.process import free_port
from tests.support.broker import own_broker
from tests.support.keystores import KEY_PASSWORD, STORE_PASSWORD, certificate, new_key, trust
from tests.support.topics import admin_client

PASSWORD = "a'lice \\ s3cret; user=x"
LOGINS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class Addresses(NamedTuple):
    """Of one broker: without any security, and with all of it."""

    plain: str
    secure: str


def make_stores(folder: Path) -> Path:
    """Key and trust stores of a broker and its client, of every type Java knows."""
    new_key(folder / "broker.p12", "PKCS12", "broker")
    new_key(folder / "client.jks", "JKS", "client", KEY_PASSWORD)
    for name, store in (("broker", "broker.p12"), ("client", "client.jks")):
        (folder / f"{name}.pem").write_text(certificate(folder / store, name))
    trust(folder / "trusts-client.jks", "JKS", folder / "client.pem", "client")
    trust(folder / "trusts-broker.jks", "JKS", folder / "broker.pem", "broker")
    trust(folder / "trusts-broker.p12", "PKCS12", folder / "broker.pem", "broker")
    return folder


@contextmanager
def secured_broker(say: Callable[[str], None], stores: Path) -> Iterator[Addresses]:
    """A broker that knows alice and wants certificates."""
    plain, controller, secure = free_port(), free_port(), free_port()
    # Twice: a properties file and a JAAS line each take one away.
    quoted = PASSWORD.replace("\\", "\\" * 4)
    settings = {
        "listeners": f"CLIENT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},"
        f"SECURE://127.0.0.1:{secure}",
        "advertised.listeners": f"CLIENT://127.0.0.1:{plain},SECURE://localhost:{secure}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
        "sasl.enabled.mechanisms": ",".join(LOGINS),
        "listener.name.secure.plain.sasl.jaas.config": f"{LOGINS['PLAIN']} required "
        f'user_alice="{quoted}";',
        "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{LOGINS['SCRAM-SHA-512']} "
        "required;",
        "listener.name.secure.ssl.keystore.location": str(stores / "broker.p12"),
        "listener.name.secure.ssl.keystore.password": STORE_PASSWORD,
        "listener.name.secure.ssl.keystore.type": "PKCS12",
        "listener.name.secure.ssl.truststore.location": str(stores / "trusts-client.jks"),
        "listener.name.secure.ssl.truststore.password": STORE_PASSWORD,
        "listener.name.secure.ssl.client.auth": "required",
    }
    with own_broker(say, settings, plain) as broker:
        admin = admin_client(broker.address)
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        alice = UserScramCredentialUpsertion("alice", info, PASSWORD.encode())
        for done in admin.alter_user_scram_credentials([alice]).values():
            done.result(30)
        yield Addresses(broker.address, f"localhost:{secure}")


def security(stores: Path, mechanism: str, trusted: str) -> dict[str, object]:
    """The settings by which a client gets in."""
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas(mechanism, PASSWORD),
        "ssl.truststore.location": stores / trusted,
        "ssl.truststore.password": STORE_PASSWORD,
        "ssl.keystore.location": stores / "client.jks",
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.key.password": KEY_PASSWORD,
    }


def jaas(mechanism: str, password: str) -> str:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'{LOGINS[mechanism]} required username="alice" password="{quoted}";'


def everywhere(settings: Mapping[str, object]) -> dict[str, str]:
    """As people write it: for the worker and again for each kind of client."""
    prefixes = ("", "producer.", "consumer.", "admin.")
    # The file's own escapes come on top of those of the JAAS line.
    return {
        f"{prefix}{k}": str(v).replace("\\", "\\\\")
        for prefix in prefixes
        for k, v in settings.items()
    }
