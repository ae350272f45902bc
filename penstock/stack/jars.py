"""Fetches Java software by name, once, into a cache.

The work is done by Ivy, which comes with PySpark; its `ibiblio` resolver knows where Maven's
central repository is. A bundle is complete when its directory is there: it is filled under another
name and renamed, so an interrupted download never looks like a finished one.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import select
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from penstock.errors import UserError
from penstock.stack.java import find_java
from penstock.stack.process import tail

# How often a long download says how far it is.
_PROGRESS_SECONDS = 5

Say = Callable[[str], None]


@dataclass(frozen=True)
class Artefact:
    """One thing in a Maven repository, with what it depends on unless it is `alone`."""

    organisation: str
    name: str
    version: str
    alone: bool = False
    type: str = "jar"
    classifier: str = ""

    @property
    def file_name(self) -> str:
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.type}"


@dataclass(frozen=True)
class Bundle:
    """Artefacts that are fetched together into one directory. `title` is what the user reads."""

    name: str
    title: str
    artefacts: tuple[Artefact, ...]

    @property
    def directory_name(self) -> str:
        """Changes with the contents, so that a new version never meets the files of an old one."""
        contents = json.dumps([asdict(artefact) for artefact in self.artefacts]).encode()
        return f"{self.name}-{hashlib.sha256(contents).hexdigest()[:12]}"


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    if own := environment.get("PENSTOCK_CACHE"):
        return Path(own).absolute()
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "penstock"


def retrieve(bundle: Bundle, say: Say, environment: Mapping[str, str] = os.environ) -> Path:
    """The directory with the bundle's files; fetched if this machine does not have them yet."""
    cache = cache_directory(environment)
    target = cache / bundle.directory_name
    if target.is_dir():
        return target
    _require_writable(cache)
    with _only_one(cache / "download.lock", say):
        if not target.is_dir():
            _fetch(bundle, target, cache, say, environment)
    return target


def _require_writable(cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise UserError(
            f"The download cache {cache} cannot be created ({cause.strerror}): set "
            "PENSTOCK_CACHE to a directory you may write to."
        ) from cause


@contextmanager
def _only_one(lock: Path, say: Say) -> Iterator[None]:
    """Ivy's cache is not safe for two at a time, and nobody wants to fetch a thing twice."""
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process is downloading; waiting for it.")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _fetch(
    bundle: Bundle, target: Path, cache: Path, say: Say, environment: Mapping[str, str]
) -> None:
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a download that was interrupted
    partial.mkdir()
    (partial / "ivysettings.xml").write_text(_settings(cache, environment))
    (partial / "ivy.xml").write_text(_module(bundle))
    log = cache / f"{bundle.name}.log"
    say(f"Downloading {bundle.title}, once, to {target}")
    command = [
        find_java(environment).command,
        *_proxy_flags(environment),
        *("-jar", str(_ivy_jar())),
        *("-settings", str(partial / "ivysettings.xml"), "-ivy", str(partial / "ivy.xml")),
        *("-retrieve", f"{partial}/[artifact]-[revision](-[classifier]).[ext]"),
    ]
    code = _run_with_progress(command, log, cache / "ivy", say, environment)
    missing = [a.file_name for a in bundle.artefacts if not (partial / a.file_name).exists()]
    if code != 0 or missing:
        raise UserError(_failure(bundle, log))
    for artefact in bundle.artefacts:
        if artefact.type == "tar.gz":
            _unpack(partial / artefact.file_name, cache / "ivy")
    partial.rename(target)
    log.unlink()


def _ivy_jar() -> Path:
    spark = importlib.util.find_spec("pyspark")
    if spark is not None and spark.origin is not None:
        for jar in (Path(spark.origin).parent / "jars").glob("ivy-*.jar"):
            return jar
    raise UserError(
        "The local stack fetches its parts with the Ivy that PySpark brings along, and PySpark is "
        "not installed: pip install 'penstock[spark]', or set KAFKA_BOOTSTRAP to your Kafka."
    )


def _settings(cache: Path, environment: Mapping[str, str]) -> str:
    mirror = environment.get("PENSTOCK_MAVEN_URL")
    root = f" root={quoteattr(mirror)}" if mirror else ""
    return (
        '<ivysettings>\n  <settings defaultResolver="maven"/>\n'
        f"  <caches defaultCacheDir={quoteattr(str(cache / 'ivy'))}/>\n"
        f'  <resolvers><ibiblio name="maven" m2compatible="true"{root}/></resolvers>\n'
        "</ivysettings>\n"
    )


def _module(bundle: Bundle) -> str:
    lines = []
    for artefact in bundle.artefacts:
        attributes = {
            "org": artefact.organisation,
            "name": artefact.name,
            "rev": artefact.version,
            "conf": "default->default",
            "transitive": str(not artefact.alone).lower(),
        }
        file = {"name": artefact.name, "type": artefact.type, "ext": artefact.type}
        if artefact.classifier:
            file["m:classifier"] = artefact.classifier
        lines.append(
            f"    <dependency {_attributes(attributes)}>\n"
            f"      <artifact {_attributes(file)}/>\n    </dependency>"
        )
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">\n'
        f'  <info organisation="penstock" module={quoteattr(bundle.name)}/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        "  <dependencies>\n" + "\n".join(lines) + "\n  </dependencies>\n</ivy-module>\n"
    )


def _attributes(pairs: Mapping[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in pairs.items())


def _proxy_flags(environment: Mapping[str, str]) -> list[str]:
    """Java does not read the variables that pip and curl obey, so hand them over."""
    flags = []
    for scheme in ("http", "https"):
        name = f"{scheme}_proxy"
        proxy = urlsplit(environment.get(name) or environment.get(name.upper()) or "")
        if proxy.hostname:
            flags += [
                f"-D{scheme}.proxyHost={proxy.hostname}",
                f"-D{scheme}.proxyPort={proxy.port or 80}",
            ]
    exempt = environment.get("no_proxy") or environment.get("NO_PROXY")
    if flags and exempt:
        flags.append("-Dhttp.nonProxyHosts=" + "|".join(_java_host_patterns(exempt)))
    return flags


def _java_host_patterns(no_proxy: str) -> Iterator[str]:
    for host in no_proxy.split(","):
        if name := host.strip():
            yield f"*{name}" if name.startswith(".") else name


def _run_with_progress(
    command: list[str], log: Path, ivy_cache: Path, say: Say, environment: Mapping[str, str]
) -> int:
    with (
        log.open("wb") as record,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
        ) as ivy,
    ):
        assert ivy.stdout is not None
        found = 0
        downloading = False

        def tick() -> None:
            if downloading:
                say(f"  … {_megabytes(ivy_cache)} MB so far")
            else:
                say(f"  … looking up what belongs to it: {found} parts so far")

        try:
            for line in _lines(ivy.stdout, tick):
                record.write(line)
                found += line.startswith(b"\tfound ")
                downloading = downloading or line.startswith(b"downloading ")
                if got := re.search(rb"\[SUCCESSFUL \] .*!(\S+?)(?:\(\w+\))? \(", line):
                    say(f"  {got[1].decode()}")
        except BaseException:
            ivy.kill()
            raise
    return ivy.returncode


def _lines(output: IO[bytes], tick: Callable[[], None]) -> Iterator[bytes]:
    """Lines as they come. Ivy draws dots on one line while it loads a file, so tick meanwhile."""
    pending = b""
    spoke = time.monotonic()
    while True:
        select.select([output], [], [], _PROGRESS_SECONDS)
        if time.monotonic() - spoke > _PROGRESS_SECONDS:
            tick()
            spoke = time.monotonic()
        chunk = os.read(output.fileno(), 65536)
        *complete, pending = (pending + chunk).split(b"\n")
        for line in complete:
            yield line + b"\n"
        if not chunk:
            yield pending
            return


def _megabytes(directory: Path) -> int:
    total = 0
    for file in directory.rglob("*"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:  # Ivy has just renamed it
            continue
    return total // 1_000_000


def _unpack(archive: Path, ivy_cache: Path) -> None:
    with tarfile.open(archive) as tar:
        # Python before 3.11.4 has no filters; either way Ivy has verified the checksum.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(archive.parent)  # noqa: S202
    # Nobody needs the archive again, and it is larger than all else in the cache.
    archive.unlink()
    for copy in ivy_cache.rglob("*.tar.gz"):
        copy.unlink()


def _failure(bundle: Bundle, log: Path) -> str:
    text = log.read_text(errors="replace")
    unreachable = re.search(
        r"Server access error at url .* \((?:[\w.]+\.)?(\w+(?:: [^)]*)?)\)", text
    )
    if unreachable:
        return (
            f"{bundle.title} could not be downloaded ({unreachable[1]}): check the network; "
            "behind a proxy set HTTPS_PROXY, for a mirror of Maven's central repository set "
            f"PENSTOCK_MAVEN_URL, for a Kafka of your own set KAFKA_BOOTSTRAP. The log is {log}."
        )
    return f"{bundle.title} could not be downloaded. The end of the log {log}:\n{tail(log)}"
