"""The echo sink for the oracle: a connector that writes each record it is given as one JSON line.
Beside it the replay source, which emits the records that such lines describe.

    {"topic": "t", "partition": 0, "offset": 0, "timestamp": 1, "timestampType": "CreateTime",
     "keySchema": S, "key": V, "valueSchema": S, "value": V,
     "headers": [{"key": "h", "schema": S, "value": V}]}

S is null or {"type": "STRUCT", "optional": false, "name", "version", "doc", "parameters",
"default": V} and, by type, "fields": [{"name", "schema": S}], "keySchema", "valueSchema".

V is JSON where JSON can't be misread (null, true, "text", whole numbers, [list]), else one of
{"float32": "1.5"}, {"float64": "1.5"} (read as a double to compare), {"bytes": base64},
{"decimal": "12.30"}, {"epochMillis": n} for Java's Date, {"struct": {name: V}} without defaults
filled in, {"map": [[V, V], …]} sorted by key, {"java": "class: text"} for anything else.

The connector's class is `penstock.oracle.EchoSinkConnector`; its only own key is `file`. That of
the source is `penstock.oracle.ReplaySourceConnector`; its keys are `file` and `topic`. It emits the
file once, in one batch, and creates a file of the same name with `.done` behind it when the worker
has done with the batch. Topic, partition and offset of a line are not looked at.

Twins of both, in Python, are in `plugins/echo_twins.py`; what a line means is in `rendering.py`.
"""

import shutil
import subprocess
from pathlib import Path

CLASS = "penstock.oracle.EchoSinkConnector"
REPLAY_CLASS = "penstock.oracle.ReplaySourceConnector"

_SOURCES = Path(__file__).parent / "java"


class CompilerMissingError(Exception):
    """There is no javac; a Java runtime alone can't build the echo sink."""


def build(jars: Path, plugins: Path) -> None:
    """Compile the echo sink against the oracle's jars into a folder below plugins."""
    compiler = shutil.which("javac")
    if compiler is None:
        raise CompilerMissingError(
            "javac is not on the PATH: install a JDK to compare record by record"
        )
    target = plugins / "echo"
    services = target / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "org.apache.kafka.connect.sink.SinkConnector").write_text(f"{CLASS}\n")
    (services / "org.apache.kafka.connect.source.SourceConnector").write_text(f"{REPLAY_CLASS}\n")
    sources = [str(source) for source in sorted(_SOURCES.rglob("*.java"))]
    flags = ["--release", "17", "-cp", f"{jars}/*", "-d", str(target)]
    done = subprocess.run(
        [compiler, *flags, *sources],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"the echo sink does not compile:\n{done.stdout}{done.stderr}"
