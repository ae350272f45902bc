"""Runs scenarios on a live worker, be it the JVM's or ours, and tells what came out."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from dlq import letter
from tests.conformance.scenarios import (
    FIRST_TIME,
    Outcome,
    Scenario,
    SinkScenario,
    SourceScenario,
    as_bytes,
)
from tests.oracle.rendering import canonical
from tests.support.topics import Out, admin_client, consume_all, produce
from tests.support.waiting import wait_for

# More at once would only wait for each other on a small machine.
AT_ONCE = 12
SECONDS = 90


class Side:
    """One of the two workers."""

    def __init__(self, name: str, url: str, bootstrap: str, folder: Path) -> None:
        self.name = name
        self._rest = httpx.Client(base_url=url, timeout=90, trust_env=False)
        self._bootstrap = bootstrap
        self._admin = admin_client(bootstrap)
        self._folder = folder
        run = uuid.uuid4().hex[:6]
        self._names = (f"{run}-{number:03}-{name}" for number in itertools.count())
        # Converters that both have under names of their own: what scenarios call them, and the
        # settings on this side, the class under "".
        self.converters: dict[str, dict[str, str]] = {}

    def close(self) -> None:
        self._rest.close()

    def request(self, method: str, path: str, content: bytes | None = None) -> httpx.Response:
        """One request, as it is."""
        headers = {"Content-Type": "application/json"} if content is not None else {}
        return self._rest.request(method, path, content=content, headers=headers)

    def run(self, scenarios: Sequence[Scenario]) -> list[list[Outcome]]:
        """The outcomes of some scenarios, which run at the same time. Input topics are there."""
        running = [_Running(next(self._names), scenario) for scenario in scenarios]
        for each in running:
            each.file = self._folder / f"{each.name}.jsonl"
            self._create(each)

        def waiting() -> list[_Running]:
            return [each for each in running if not each.over and each.outcomes is None]

        def done() -> bool:
            states = self._rest.get("/connectors?expand=status").json()
            for each in waiting():
                self._look(each, states[each.name]["status"])
            return not waiting()

        wait_for(
            done, lambda: f"{self.name}: {[each.scenario.title for each in waiting()]}", SECONDS
        )
        for each in running:
            if not each.refused:
                self._rest.delete(f"/connectors/{each.name}").raise_for_status()
        found = [each.outcomes or self._collect(each) for each in running]
        delete_topics(self._admin, [t for each in running for t in each.topics])
        return found

    def _create(self, each: _Running) -> None:
        scenario = each.scenario
        if isinstance(scenario, SinkScenario):
            letters = f"{each.name}-letters"
            each.topics = [letters]
            create_topics(self._admin, [letters])
            config = scenario.connector(letters) | {
                "consumer.override.metadata.max.age.ms": "1000",
            }
        else:
            output = f"{each.name}-out"
            each.topics = [output]
            create_topics(self._admin, [output])
            each.file.write_text(
                "".join(json.dumps(record) + "\n" for record in scenario.records), "utf-8"
            )
            config = scenario.connector() | {"topic": output}
        config = self._in_own_words(config) | {"file": str(each.file), "name": each.name}
        answer = self._rest.put(f"/connectors/{each.name}/config", json=config)
        if answer.status_code != 201:
            each.refused = True
            text = answer.json()["message"].replace(each.name, "NAME")
            refused = {"refused": {"status": answer.status_code, "message": text}}
            each.outcomes = [refused] * scenario.cases

    def _in_own_words(self, config: dict[str, str]) -> dict[str, str]:
        named = {k: self.converters[v] for k, v in config.items() if v in self.converters}
        for key, settings in named.items():
            config |= {f"{key}.{name}".removesuffix("."): v for name, v in settings.items()}
        return config

    def _look(self, each: _Running, status: dict[str, Any]) -> None:
        """Whether it is done, and what became of it if it failed."""
        states = [status["connector"], *status["tasks"]]
        failed = [state["trace"] for state in states if state["state"] == "FAILED"]
        if failed:
            each.outcomes = [{"failed": _cause(failed[0])}] * each.scenario.cases
        elif isinstance(each.scenario, SourceScenario):
            each.over = each.file.with_name(each.file.name + ".done").exists()
        else:
            each.over = self._committed(each) >= each.scenario.cases

    def _committed(self, each: _Running) -> int:
        group = f"connect-{each.name}"
        try:
            [found] = self._admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)]
            ).values()
            places = found.result(10).topic_partitions
        except KafkaException:
            return -1
        return max((place.offset for place in places), default=-1)

    def _collect(self, each: _Running) -> list[Outcome]:
        if isinstance(each.scenario, SourceScenario):
            return self._written(each)
        return self._given(each, each.scenario)

    def _given(self, each: _Running, scenario: SinkScenario) -> list[Outcome]:
        outcomes: list[Outcome] = [{"none": True}] * scenario.cases
        if each.file.exists():
            for text in each.file.read_text("utf-8").split("\n"):
                if text:
                    found = json.loads(text)
                    outcomes[found["offset"]] = {"record": canonical(found)}
        for message in consume_all(self._bootstrap, each.topics[0]):
            headers = list(message.headers() or ())
            own = [h for h in headers if not h[0].startswith(letter.PREFIX)]
            told = {n: v for n, v in headers if n.startswith(letter.PREFIX)}
            offset = int(told[letter.OFFSET])
            sent = scenario.messages[offset]
            same = _same_message(message, own, sent)
            names = {own[""]: word for word, own in self.converters.items()}
            names[each.name] = "NAME"
            outcomes[offset] = letter_outcome(told, names, as_sent=same)
        return outcomes

    def _written(self, each: _Running) -> list[Outcome]:
        outcomes: list[Outcome] = [{"none": True}] * each.scenario.cases
        for message in consume_all(self._bootstrap, each.topics[0]):
            place = message.timestamp()[1] - FIRST_TIME
            # The topic, where a transform puts it into the record, is each side's own.
            key, value = (
                data and data.replace(each.topics[0].encode(), each.scenario.topic.encode())
                for data in (message.key(), message.value())
            )
            outcomes[place] = message_outcome(key, value, message.headers() or ())
        return outcomes


class _Running:
    """A connector on its way."""

    def __init__(self, name: str, scenario: Scenario) -> None:
        self.name = name
        self.scenario = scenario
        self.file = Path()
        self.topics: list[str] = []
        self.refused = False
        self.over = False
        self.outcomes: list[Outcome] | None = None


def run_sides(
    bootstrap: str,
    scenarios: Sequence[Scenario],
    sides: Sequence[Side],
    say: Callable[[str], None],
) -> list[list[list[Outcome]]]:
    """By side and scenario, the outcomes of all. The sides work at the same time."""
    admin = admin_client(bootstrap)
    results: list[list[list[Outcome]]] = [[] for _ in sides]
    with ThreadPoolExecutor(len(sides)) as pool:
        for start in range(0, len(scenarios), AT_ONCE):
            batch = scenarios[start : start + AT_ONCE]
            inputs = [s for s in batch if isinstance(s, SinkScenario)]
            topics = [s.topic for s in inputs]
            delete_topics(admin, topics)
            create_topics(admin, topics)
            for scenario in inputs:
                produce(bootstrap, scenario.topic, scenario.messages)
            running = [pool.submit(side.run, batch) for side in sides]
            for result, found in zip(results, running, strict=True):
                result.extend(found.result())
            delete_topics(admin, topics)
            done = scenarios[: start + AT_ONCE]
            cases = sum(s.cases for s in done)
            say(f"{len(done)} of {len(scenarios)} configs, {cases} cases")
    return results


# ---- outcomes ------------------------------------------------------------------------------


def letter_outcome(
    told: dict[str, bytes | None], names: dict[str, str], *, as_sent: bool
) -> Outcome:
    """A dead letter by its headers. `names` are words that differ from side to side."""

    def text(key: str) -> str | None:
        found = told.get(key)
        if found is None:
            return None
        said = found.decode()
        for name, word in names.items():
            said = said.replace(name, word)
        return said

    missing = {
        letter.TOPIC, letter.PARTITION, letter.OFFSET, letter.CONNECTOR, letter.TASK, letter.STAGE,
        letter.CLASS, letter.EXCEPTION, letter.MESSAGE, letter.STACKTRACE,
    } ^ told.keys()  # fmt: skip
    return {
        "letter": {
            "stage": text(letter.STAGE),
            "class": text(letter.CLASS),
            "exception": text(letter.EXCEPTION),
            "message": text(letter.MESSAGE),
            "place": [text(letter.TOPIC), text(letter.PARTITION), text(letter.TASK)],
            "as_sent": as_sent,
            "odd_headers": sorted(missing),
        }
    }


def message_outcome(
    key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]
) -> Outcome:
    """What a source wrote, byte by byte; as text, where it is."""

    def shown(data: bytes | None) -> Any:
        if data is None:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            return {"hex": data.hex()}

    return {
        "message": {
            "key": shown(key),
            "value": shown(value),
            "headers": [[name, shown(data)] for name, data in headers],
        }
    }


def _same_message(message: Any, own: list[tuple[str, bytes | None]], sent: Out) -> bool:
    return (message.key(), message.value(), own, message.timestamp()[1]) == (
        as_bytes(sent.key),
        as_bytes(sent.value),
        list(sent.headers or ()),
        sent.timestamp,
    )


def _cause(trace: str) -> str:
    """The innermost cause's line: what stands around it is each side's own."""
    lines = [text.removeprefix("Caused by: ") for text in trace.splitlines()]
    causes = [
        plain
        for plain, text in zip(lines, trace.splitlines(), strict=True)
        if text and (text.startswith("Caused by: ") or not text[0].isspace())
    ]
    return causes[-1]


# ---- topics --------------------------------------------------------------------------------


# Records of 2020 are older than a broker keeps any, unless told so: it would take them away
# whenever it looks, every five minutes.
_KEPT = {"retention.ms": "-1"}


def create_topics(admin: AdminClient, names: Sequence[str]) -> None:
    wanted = list(names)

    def created() -> bool:
        futures = admin.create_topics(
            [NewTopic(n, 1, replication_factor=1, config=_KEPT) for n in wanted]
        )
        for name, done in futures.items():
            error = done.exception(30)
            # One that was just deleted may still be on its way out.
            if isinstance(error, KafkaException) and (
                error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
            ):
                continue
            if error:
                raise error
            wanted.remove(name)
        return not wanted

    if wanted:
        wait_for(created, lambda: f"topics that are still there: {wanted}")


def delete_topics(admin: AdminClient, names: Sequence[str]) -> None:
    if not names:
        return
    for done in admin.delete_topics(list(names)).values():
        error = done.exception(30)
        if isinstance(error, KafkaException) and (
            error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART
        ):
            raise error
