"""A connector's pipeline over dead letters, in a child process with a time limit.

Nothing is written. The child runs whole batches; when one takes too long it is ended, and the
batch is done again letter by letter, so that only the letter which blocks is lost.
"""

from __future__ import annotations

import enum
import multiprocessing
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Self

import msgspec

from connect.errors import ConnectError, class_name_of
from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline
from connect.pipeline.samples import shown_bytes
from connect.plugins import Plugins
from connect.traces import format_trace
from dlq.fingerprint import fingerprint, reason, template
from dlq.reader import DeadLetter

# A child has this long to start and to build the pipeline, registry lookups included.
START_SECONDS = 60.0
_BATCH = 200
_END_SECONDS = 2.0


class Verdict(enum.StrEnum):
    """What a re-test says of a letter."""

    PASSES = "passes"
    DROPPED = "dropped"
    FAILS = "fails"
    BLOCKED = "blocked"
    UNTESTABLE = "untestable"


class Outcome(msgspec.Struct, frozen=True):
    """A letter's verdict, with the cause if it fails."""

    verdict: Verdict
    stage: str | None = None
    class_name: str | None = None
    exception: str | None = None
    message: str | None = None
    reason: str | None = None
    fingerprint: str | None = None


class Decoded(msgspec.Struct, frozen=True):
    """A letter's key and value as far as the converters get: the value, or why there is none."""

    key: Any = None
    key_error: str | None = None
    value: Any = None
    value_error: str | None = None


class ProbeSpec(msgspec.Struct, frozen=True):
    """What the child's pipeline is made from. Configs as written: the child looks up secrets."""

    connector: str
    config: dict[str, str]
    worker: dict[str, str]
    # Looked through once by whoever starts children, not by each child.
    plugins: Plugins = msgspec.field(default_factory=Plugins)

    def pipeline_spec(self) -> PipelineSpec:
        """With `${provider:…}` looked up. Call it where plugin code may run."""
        providers = self.plugins.providers(self.worker)
        try:
            resolved = providers.resolve(self.config).values
        finally:
            providers.close()
        config = {k: v for k, v in resolved.items() if v is not None}
        # A re-test asks what happens now; waiting for minutes is not an answer.
        config["errors.retry.timeout"] = "0"
        return PipelineSpec(self.connector, 0, config, self.worker, self.plugins)


def message_of(letter: DeadLetter, config: Mapping[str, str]) -> RawMessage:
    """The record as it was consumed when it failed.

    A letter without headers is taken as one of the connector's topic if it has only one, at the
    letter's own place.
    """
    cause = letter.cause
    topic = cause.topic
    if topic is None:
        topics = [t.strip() for t in config.get("topics", "").split(",") if t.strip()]
        topic = topics[0] if len(topics) == 1 else letter.topic
    known = cause.partition is not None and cause.offset is not None
    return RawMessage(
        topic,
        letter.value,
        letter.key,
        partition=cause.partition if known else letter.partition,  # type: ignore[arg-type]
        offset=cause.offset if known else letter.offset,  # type: ignore[arg-type]
        headers=letter.own_headers,
        timestamp=(0, -1) if letter.timestamp is None else (1, letter.timestamp),
    )


class Probe:
    """Tests and decodes letters with one connector's pipeline. A context manager."""

    def __init__(self, spec: ProbeSpec, *, seconds: float = 5.0) -> None:
        self._spec = spec
        self._seconds = seconds
        self._process: multiprocessing.process.BaseProcess | None = None
        self._line: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def test(self, letters: Sequence[DeadLetter]) -> list[Outcome]:
        """A verdict for each letter, in their order. ConnectError if the pipeline can't be made."""
        outcomes = [Outcome(Verdict.UNTESTABLE)] * len(letters)
        testable = [i for i, letter in enumerate(letters) if not letter.cause.of_source]
        for start in range(0, len(testable), _BATCH):
            some = testable[start : start + _BATCH]
            messages = [message_of(letters[i], self._spec.config) for i in some]
            for i, outcome in zip(some, self._test(messages), strict=True):
                outcomes[i] = outcome
        return outcomes

    def _test(self, messages: list[RawMessage]) -> Iterator[Outcome]:
        answer = self._ask("test", messages)
        if answer is not None:
            yield from answer
            return
        for message in messages:
            alone = self._ask("test", [message])
            yield alone[0] if alone is not None else self._blocked()

    def _blocked(self) -> Outcome:
        said = f"did not end within {self._seconds:g} s"
        return Outcome(
            Verdict.BLOCKED,
            message=said,
            reason=said,
            fingerprint=fingerprint("BLOCKED", None, said),
        )

    def decode(self, letter: DeadLetter) -> Decoded:
        """Key and value, each as far as its converter gets."""
        answer: Decoded | None = self._ask("decode", message_of(letter, self._spec.config))
        if answer is None:
            said = f"The converter did not end within {self._seconds:g} s."
            return Decoded(key_error=said, value_error=said)
        return answer

    def _ask(self, what: str, payload: Any) -> Any:
        """The child's answer; None if it took too long or the child ended over it."""
        line = self._started()
        try:
            line.send((what, payload))
            if line.poll(self._seconds):
                return line.recv()
        except (EOFError, OSError):
            pass  # a converter has ended the interpreter: this is a letter that can't pass
        self._end()
        return None

    def _started(self) -> Connection:
        if self._line is not None:
            return self._line
        self._spec.plugins.discover()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._line, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._spec), name="penstock-dlq-probe", daemon=True
        )
        self._process.start()
        theirs.close()
        try:
            ready = self._line.recv() if self._line.poll(START_SECONDS) else "it took too long"
        except (EOFError, OSError):
            ready = "its process ended"
        if ready is not None:
            self._end()
            raise ConnectError(
                f"The pipeline of connector '{self._spec.connector}' can't be made: {ready}"
            )
        return self._line

    def _end(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._process is not None:
            self._process.join(0 if self._process.is_alive() else _END_SECONDS)
            self._process.kill()
            self._process.join()
            self._process = None


# ---- in the child ----------------------------------------------------------------------------


def _serve(line: Connection, spec: ProbeSpec) -> None:
    # What a plugin prints must not end up in the command's output.
    os.dup2(2, 1)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        made = spec.pipeline_spec()
        pipeline = SinkPipeline(made, made.retry())
    except Exception as error:  # noqa: BLE001 - told to the parent
        line.send(f"{class_name_of(error)}: {error}")
        return
    line.send(None)
    while True:
        try:
            what, payload = line.recv()
        except EOFError:
            return
        line.send(outcomes(pipeline, payload) if what == "test" else _decode(pipeline, payload))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def outcomes(pipeline: SinkPipeline, messages: Sequence[RawMessage]) -> list[Outcome]:
    """What a pipeline does with each message."""
    records, failures = pipeline.run(messages)
    through = {(r.original_topic, r.original_partition, r.offset) for r in records}
    failed = {id(failure.record): failure for failure in failures}
    found = []
    for message in messages:
        failure = failed.get(id(message))
        if failure is not None:
            said, trace = str(failure.error), format_trace(failure.error)
            why = reason(
                *template(said.encode("utf-8", "replace"), trace.encode("utf-8", "replace"))
            )
            exception = class_name_of(failure.error)
            found.append(
                Outcome(
                    Verdict.FAILS,
                    str(failure.stage),
                    failure.class_name,
                    exception,
                    said,
                    why,
                    fingerprint(str(failure.stage), exception, why),
                )
            )
        elif (message.topic(), message.partition(), message.offset()) in through:
            found.append(Outcome(Verdict.PASSES))
        else:
            found.append(Outcome(Verdict.DROPPED))
    return found


def _decode(pipeline: SinkPipeline, message: RawMessage) -> Decoded:
    parts = pipeline.parts
    key, key_error = _read(parts.key.converter, message, message.key())
    value, value_error = _read(parts.value.converter, message, message.value())
    return Decoded(key, key_error, value, value_error)


def _read(converter: Any, message: RawMessage, data: bytes | None) -> tuple[Any, str | None]:
    try:
        return plain(
            converter.to_connect(message.topic(), data, message.headers() or ()).value
        ), None
    except Exception as error:  # noqa: BLE001 - shown in place of the value
        return None, f"{class_name_of(error)}: {error}"


def plain(value: Any) -> Any:
    """A value as JSON can show it."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return shown_bytes(bytes(value))
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    return str(value)


def grouped(outcomes: Iterable[Outcome]) -> dict[Outcome, int]:
    """How many letters have which outcome; those that fail by fingerprint, most first."""
    counts: dict[tuple[Any, ...], int] = {}
    first: dict[tuple[Any, ...], Outcome] = {}
    for outcome in outcomes:
        key = (outcome.verdict, outcome.stage, outcome.exception, outcome.fingerprint)
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key, outcome)
    return {first[key]: n for key, n in sorted(counts.items(), key=lambda item: -item[1])}
