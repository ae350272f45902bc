"""Why a letter is dead, as its headers tell. Forgives what is missing, foreign or malformed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from dlq import letter as names
from dlq.letter import RawHeader

Found = Mapping[str, bytes | None]


class Cause(msgspec.Struct, frozen=True):
    """The last generation of error headers. Everything may be unknown."""

    connector: str | None = None
    task: int | None = None
    stage: str | None = None
    class_name: str | None = None
    exception: str | None = None
    message: str | None = None
    trace: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    # Set when the record failed on its way into Kafka.
    source_partition: str | None = None
    source_offset: str | None = None
    # How often it was dead-lettered, by the headers of earlier times that it carries.
    generations: int = 0

    @property
    def of_source(self) -> bool:
        return self.source_partition is not None or self.source_offset is not None


def cause_of(headers: Iterable[RawHeader]) -> Cause:
    """What the headers tell; of several generations the last."""
    headers = list(headers)
    found = dict(headers)  # the last of a name wins
    generations = max(
        sum(name == marker for name, _ in headers) for marker in (names.TOPIC, names.STAGE)
    )
    own = latest(headers) if generations > 1 else found
    return Cause(
        connector=text(own, names.CONNECTOR),
        task=number(own, names.TASK),
        stage=text(own, names.STAGE),
        class_name=text(own, names.CLASS),
        exception=text(own, names.EXCEPTION),
        message=text(own, names.MESSAGE),
        trace=text(own, names.STACKTRACE),
        topic=text(own, names.TOPIC),
        partition=number(own, names.PARTITION),
        offset=number(own, names.OFFSET),
        source_partition=text(own, names.SOURCE_PARTITION),
        source_offset=text(own, names.SOURCE_OFFSET),
        generations=generations,
    )


def latest(headers: Iterable[RawHeader]) -> dict[str, bytes | None]:
    """The error headers of the last generation alone.

    A generation begins with the topic's header. Were the last of each name taken one by one, a
    source's letter that a sink dead-letters again would look like both.
    """
    found: dict[str, bytes | None] = {}
    for name, value in headers:
        if name == names.TOPIC:
            found = {}
        if name.startswith(names.PREFIX):
            found[name] = value
    return found


def text(headers: Found, name: str) -> str | None:
    value = headers.get(name)
    return value.decode("utf-8", "replace") if value is not None else None


def number(headers: Found, name: str) -> int | None:
    value = headers.get(name)
    if value is None or len(value) > 20:
        return None
    try:
        return int(value)
    except ValueError:
        return None


def attempts(headers: Iterable[RawHeader]) -> int:
    """How often the record was replayed before it became this letter."""
    return max(number(dict(headers), names.ATTEMPT) or 0, 0)


_FRAMEWORK = re.compile(
    r"\s+at (?:org\.apache\.kafka\.|java\.|javax\.|jdk\.|sun\.|connect\.|dlq\.)"
)


def trace_for_people(trace: str) -> str:
    """A trace with the innermost cause first: that is where the user's part is.

    Frames of the framework and the JVM behind those of others are folded into a count.
    """
    blocks: list[list[str]] = [[]]
    for line in trace.rstrip().splitlines():
        if line.startswith("Caused by: "):
            blocks.append([])
        blocks[-1].append(line)
    blocks = [block for block in blocks if block]
    shown: list[str] = []
    for i, block in enumerate(reversed(blocks)):
        head = block[0].removeprefix("Caused by: ")
        shown.append(head if i == 0 else f"Led to: {head}")
        shown += _folded(block[1:])
    return "\n".join(shown)


def _folded(lines: list[str]) -> list[str]:
    kept: list[str] = []
    hidden = 0
    for line in lines:
        if _FRAMEWORK.match(line) and kept:
            hidden += 1
        else:
            kept.append(line)
    if hidden:
        kept.append(f"\t… {hidden} more of the framework")
    return kept
