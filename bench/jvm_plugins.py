"""Connectors for the JVM's worker that Kafka does not bring: one that counts, and Debezium's."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from penstock.errors import UserError
from penstock.stack import jars
from tests.oracle import worker as oracle

COUNTING = "CountingSink"  # by its short name, as both sides know it
_COUNTING_CLASS = "penstock.bench.CountingSinkConnector"
DEBEZIUM = "3.4.0.Final"

_JAVA = Path(__file__).parent / "java"
_BUNDLE = jars.Bundle(
    "debezium-jdbc",
    f"Debezium's JDBC sink {DEBEZIUM} (120 MB)",
    (jars.Artefact("io.debezium", "debezium-connector-jdbc", DEBEZIUM),),
)
# The worker has the first two itself; the rest are drivers of other databases.
_LEFT_OUT = ("jackson-", "slf4j-", "ojdbc", "mssql-", "mysql-", "mariadb-")


def counting(folder: Path, say: Callable[[str], None]) -> None:
    """Compile the counting sink into the folder."""
    compiler = shutil.which("javac")
    if compiler is None:
        raise UserError("javac is not on the PATH: install a JDK for the JVM's counting sink")
    services = folder / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "org.apache.kafka.connect.sink.SinkConnector").write_text(f"{_COUNTING_CLASS}\n")
    flags = ["--release", "17", "-cp", f"{oracle.libraries(say)}/*", "-d", str(folder)]
    sources = [str(source) for source in _JAVA.rglob("*.java")]
    subprocess.run([compiler, *flags, *sources], check=True)


def debezium(folder: Path, say: Callable[[str], None]) -> None:
    """Put Debezium's JDBC sink into the folder."""
    files = jars.retrieve(_BUNDLE, say)
    folder.mkdir(parents=True)
    for jar in files.glob("*.jar"):
        if not jar.name.startswith(_LEFT_OUT):
            shutil.copy(jar, folder)
