"""Requests that both workers are sent, one after the other, and what of the answers is compared."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Each side puts its own name behind it: they share a broker, and so would share a group.
NAME = "conformance-rest"
TOPIC = "conformance-answers"


@dataclass(frozen=True)
class Request:
    """One request.

    It is sent again until a status shows the state that `settles` names, or until `status` is the
    answer's: a group may have members for a while after its tasks were stopped.
    """

    title: str
    method: str
    path: str
    body: Any = None
    settles: str | None = None
    status: int | None = None

    @property
    def content(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


@dataclass(frozen=True)
class IntendedAnswer:
    """An answer that differs because we want it so."""

    title: str
    status: int
    reason: str
    told: str


def config(file: str, **more: str) -> dict[str, str]:
    """A sink that both have."""
    return {
        "connector.class": "EchoSink",
        "topics": TOPIC,
        "tasks.max": "1",
        "file": file,
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def requests(file: str) -> list[Request]:
    """All requests, in their order."""
    plain = config(file)
    at = f"/connectors/{NAME}"
    return [
        *_about_nothing(),
        *_refused(plain),
        Request("create", "PUT", f"{at}/config", plain),
        Request("put the same again", "PUT", f"{at}/config", plain),
        Request("create what is there", "POST", "/connectors", {"name": NAME, "config": plain}),
        Request("running", "GET", f"{at}/status", settles="RUNNING"),
        Request("list", "GET", "/connectors"),
        Request("list with info", "GET", "/connectors?expand=info"),
        Request("list with status", "GET", "/connectors?expand=status"),
        Request("list with both", "GET", "/connectors?expand=status&expand=info"),
        Request("list with nonsense", "GET", "/connectors?expand=nonsense"),
        Request("info", "GET", at),
        Request("config", "GET", f"{at}/config"),
        Request("tasks", "GET", f"{at}/tasks"),
        Request("task status", "GET", f"{at}/tasks/0/status"),
        Request("status of no task", "GET", f"{at}/tasks/7/status"),
        Request("status of a task without number", "GET", f"{at}/tasks/x/status"),
        Request("topics", "GET", f"{at}/topics"),
        Request("reset topics", "PUT", f"{at}/topics/reset"),
        Request("alter offsets of a running one", "PATCH", f"{at}/offsets", _offsets(5)),
        Request("reset offsets of a running one", "DELETE", f"{at}/offsets"),
        Request("patch", "PATCH", f"{at}/config", {"tasks.max": "2", "file": file}),
        Request("patch away", "PATCH", f"{at}/config", {"tasks.max": None}),
        Request("patch to nonsense", "PATCH", f"{at}/config", {"tasks.max": "many"}),
        Request("restart failed ones", "POST", f"{at}/restart?includeTasks=true&onlyFailed=true"),
        Request("restart with nonsense", "POST", f"{at}/restart?includeTasks=maybe"),
        Request("pause", "PUT", f"{at}/pause"),
        Request("paused", "GET", f"{at}/status", settles="PAUSED"),
        Request("resume", "PUT", f"{at}/resume"),
        Request("resumed", "GET", f"{at}/status", settles="RUNNING"),
        Request("stop", "PUT", f"{at}/stop"),
        Request("stopped", "GET", f"{at}/status", settles="STOPPED"),
        Request("tasks of a stopped one", "GET", f"{at}/tasks"),
        Request("alter offsets", "PATCH", f"{at}/offsets", _offsets(0), status=200),
        Request("offsets", "GET", f"{at}/offsets"),
        Request("alter offsets without offsets", "PATCH", f"{at}/offsets", {}),
        Request("alter no offsets", "PATCH", f"{at}/offsets", {"offsets": []}),
        Request("alter offsets without partition", "PATCH", f"{at}/offsets",
                {"offsets": [{"offset": {"kafka_offset": 1}}]}),
        Request("alter offsets of a wrong kind", "PATCH", f"{at}/offsets", _offsets("x")),
        Request("reset offsets", "DELETE", f"{at}/offsets", status=200),
        Request("offsets after reset", "GET", f"{at}/offsets"),
        Request("delete", "DELETE", at),
        Request("delete again", "DELETE", at),
        Request("create paused", "POST", "/connectors",
                {"name": NAME, "config": plain, "initial_state": "PAUSED"}),
        Request("created paused", "GET", f"{at}/status", settles="PAUSED"),
        Request("delete paused", "DELETE", at),
        Request("list in the end", "GET", "/connectors"),
        *_plugins(plain),
        *_loggers(),
    ]  # fmt: skip


def _offsets(offset: Any) -> dict[str, Any]:
    partition = {"kafka_topic": TOPIC, "kafka_partition": 0}
    return {"offsets": [{"partition": partition, "offset": {"kafka_offset": offset}}]}


def _about_nothing() -> list[Request]:
    """Every route, for a connector that is not there."""
    gets = ("", "/status", "/config", "/tasks", "/topics", "/offsets", "/tasks/0/status")
    none = "/connectors/none"
    return [
        *(Request(f"no connector: GET {end}", "GET", none + end) for end in gets),
        *(Request(f"no connector: {verb}", "PUT", f"{none}/{verb}")
          for verb in ("pause", "resume", "stop")),
        Request("no connector: restart", "POST", f"{none}/restart"),
        Request("no connector: restart with tasks", "POST", f"{none}/restart?includeTasks=true"),
        Request("no connector: restart a task", "POST", f"{none}/tasks/0/restart"),
        Request("no connector: delete", "DELETE", none),
        Request("no connector: patch", "PATCH", f"{none}/config", {"a": "b"}),
        Request("no connector: reset topics", "PUT", f"{none}/topics/reset"),
        Request("no connector: alter offsets", "PATCH", f"{none}/offsets", _offsets(1)),
        Request("no connector: reset offsets", "DELETE", f"{none}/offsets"),
        Request("no such path", "GET", "/nothing"),
        Request("no such method", "DELETE", "/connectors"),
        Request("worker", "GET", "/"),
        Request("health", "GET", "/health"),
    ]  # fmt: skip


def _refused(plain: Mapping[str, str]) -> list[Request]:
    """Configs that are not taken."""

    def create(title: str, body: Any) -> Request:
        return Request(f"create {title}", "POST", "/connectors", body)

    without = {k: v for k, v in plain.items() if k != "file"}
    both = {**plain, "topics.regex": "x.*"}
    none = {k: v for k, v in plain.items() if k != "topics"}
    dlq = {**plain, "errors.deadletterqueue.topic.name": TOPIC}
    smt = {**plain, "transforms": "t"}
    wrong = {**smt, "transforms.t.type": "org.apache.kafka.connect.transforms.HoistField$Value"}
    return [
        create("without config", {"name": NAME}),
        create("with nothing", {}),
        create("with a list", []),
        create("with broken JSON", b"{"),
        create("with an empty name", {"name": "", "config": plain}),
        create("with another name in the config", {"name": NAME, "config": {**plain, "name": "x"}}),
        create("in no known state", {"name": NAME, "config": plain, "initial_state": "ASLEEP"}),
        create("with an unknown key", {"name": NAME, "config": plain, "more": 1}),
        create("without class", {"name": NAME, "config": {"topics": "t"}}),
        create("of an unknown class", {"name": NAME, "config": {"connector.class": "Nothing"}}),
        create("without a required key", {"name": NAME, "config": without}),
        create("with topics and a pattern", {"name": NAME, "config": both}),
        create("without topics", {"name": NAME, "config": none}),
        create("that reads its dead letters", {"name": NAME, "config": dlq}),
        create("with a transform without type", {"name": NAME, "config": smt}),
        create("with a transform without its key", {"name": NAME, "config": wrong}),
        create("with one transform twice", {"name": NAME, "config": {**smt, "transforms": "t,t"}}),
        create("with no tasks", {"name": NAME, "config": {**plain, "tasks.max": "0"}}),
        create("with a bad converter", {"name": NAME, "config": {**plain, "key.converter": "No"}}),
        create("with bad tolerance", {"name": NAME, "config": {**plain, "errors.tolerance": "x"}}),
        Request("put a list", "PUT", f"/connectors/{NAME}/config", []),
        Request("put with another name", "PUT", f"/connectors/{NAME}/config",
                {**plain, "name": "x"}),
    ]  # fmt: skip


def _plugins(plain: Mapping[str, str]) -> list[Request]:
    at = "/connector-plugins"
    return [
        Request("config of a plugin", "GET", f"{at}/EchoSink/config"),
        Request("config of no plugin", "GET", f"{at}/Nothing/config"),
        Request("validate without class", "PUT", f"{at}/EchoSink/config/validate", {"a": "b"}),
        Request("validate another class", "PUT", f"{at}/EchoSink/config/validate",
                {**plain, "connector.class": "FileStreamSource"}),
    ]  # fmt: skip


def _loggers() -> list[Request]:
    at = "/admin/loggers"
    return [
        Request("no logger", "GET", f"{at}/never.heard.of"),
        Request("level without level", "PUT", f"{at}/root", {}),
        Request("nonsense level", "PUT", f"{at}/root", {"level": "LOUD"}),
    ]


# ---- comparing -----------------------------------------------------------------------------

# What each worker has of its own.
_OWN = (
    "worker_id", "version", "commit", "kafka_cluster_id", "trace", "documentation", "task.class",
)  # fmt: skip


def comparable(body: Any, names: Mapping[str, str]) -> Any:
    """An answer without what must differ; `names` are replaced in texts."""
    if isinstance(body, dict):
        return {
            comparable(k, names): "…" if k in _OWN else comparable(v, names)
            for k, v in body.items()
        }
    if isinstance(body, list):
        return [comparable(item, names) for item in body]
    if isinstance(body, str):
        for name, word in names.items():
            body = body.replace(name, word)
        return re.sub(r"available (plugins|connectors) are: .*", "…", body, flags=re.DOTALL)
    return body


_CLIENT = ("it is the client's mistake", "It is the client's mistake")
_MISSING = ("what is not there is not found", "A connector that is not there")
_LATER = ("tasks come later, as in a cluster", "as a distributed worker does")

INTENDED_ANSWERS = (
    IntendedAnswer("create without config", 400, *_CLIENT),
    IntendedAnswer("create with nothing", 400, *_CLIENT),
    IntendedAnswer("create with a list", 400, *_CLIENT),
    IntendedAnswer("create with broken JSON", 400, *_CLIENT),
    IntendedAnswer("create in no known state", 400, *_CLIENT),
    IntendedAnswer("create with an unknown key", 400, *_CLIENT),
    IntendedAnswer("put a list", 400, *_CLIENT),
    IntendedAnswer("validate without class", 400, *_CLIENT),
    IntendedAnswer("restart with nonsense", 400, "a typo is no false", "`includeTasks=maybe`"),
    IntendedAnswer("create without class", 400, "values may be secrets", "contains no connector"),
    IntendedAnswer("no connector: stop", 404, *_MISSING),
    IntendedAnswer("no connector: restart", 404, *_MISSING),
    IntendedAnswer("no connector: restart a task", 404, *_MISSING),
    IntendedAnswer("create", 201, *_LATER),
    IntendedAnswer("patch", 200, *_LATER),
    IntendedAnswer("patch away", 200, *_LATER),
)
