"""Key and trust stores made by Java's own keytool."""

import subprocess
from pathlib import Path

STORE_PASSWORD = "store-secret"
KEY_PASSWORD = "key-secret"


def keytool(*args: str | Path) -> str:
    done = subprocess.run(
        ["keytool", "-J-XX:TieredStopAtLevel=1", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def new_key(store: Path, type: str, name: str, key_password: str | None = None) -> None:
    """A store with a new key pair, and a certificate that is good for this machine."""
    own = ["-keypass", key_password] if key_password else []
    keytool(
        "-genkeypair", "-alias", name, "-keyalg", "EC", "-groupname", "secp256r1",
        "-dname", f"CN={name}", "-ext", "san=dns:localhost,ip:127.0.0.1", "-validity", "2",
        "-keystore", store, "-storetype", type, "-storepass", STORE_PASSWORD, *own,
    )  # fmt: skip


def certificate(store: Path, name: str) -> str:
    """A certificate of a store, in PEM."""
    return keytool(
        "-exportcert", "-rfc", "-alias", name, "-keystore", store, "-storepass", STORE_PASSWORD
    )


def trust(store: Path, type: str, pem: Path, name: str) -> None:
    """Put a certificate into a trust store."""
    keytool(
        "-importcert", "-noprompt", "-alias", name, "-file", pem,
        "-keystore", store, "-storetype", type, "-storepass", STORE_PASSWORD,
    )  # fmt: skip
