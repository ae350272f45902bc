"""The Apicurio schema registry, speaking the Confluent API, with its schemas in memory."""

from pathlib import Path

from penstock.stack.docker import Image
from penstock.stack.jars import Artefact, Bundle
from penstock.stack.java import Java
from penstock.stack.process import Launch, Service

VERSION = "2.6.13.Final"
TITLE = f"Apicurio registry {VERSION}"
USUAL_PORT = 8081
# Where Apicurio serves the API that Confluent's clients speak.
API = "/apis/ccompat/v7"

BUNDLE = Bundle(
    "registry",
    f"{TITLE} (142 MB)",
    (
        Artefact(
            "io.apicurio",
            "apicurio-registry-app",
            VERSION,
            alone=True,
            type="tar.gz",
            classifier="all",
        ),
    ),
)


def service(port: int) -> Service:
    address = f"http://127.0.0.1:{port}{API}"
    return Service(TITLE, address, lambda: answers(address))


def prepare(directory: Path, java: Java, jars: Path, port: int) -> Launch:
    directory.mkdir(parents=True, exist_ok=True)
    temporary = directory / "tmp"
    temporary.mkdir(exist_ok=True)
    return Launch(
        service(port),
        command=[
            java.command,
            "-Xmx384m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-Dquarkus.http.host=127.0.0.1",
            f"-Dquarkus.http.port={port}",
            f"-Djava.io.tmpdir={temporary}",
            *("-jar", str(jars / f"apicurio-registry-app-{VERSION}-runner.jar")),
        ],
        log=directory / "registry.log",
    )


def image() -> Image:
    return Image(f"apicurio/apicurio-registry-mem:{VERSION}", 8080, {})


def answers(url: str) -> bool:
    """Whether a schema registry lists its subjects there."""
    import httpx

    try:
        # Not through a proxy of the environment: the loopback address is nobody's business.
        return httpx.get(f"{url.rstrip('/')}/subjects", timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False
