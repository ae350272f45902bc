"""What makes letters one group: connector, stage, exception, source topic and reason."""

from __future__ import annotations

from collections.abc import Sequence

from dlq import letter as names
from dlq.cause import latest, number
from dlq.fingerprint import fingerprint, reason, template
from dlq.letter import RawHeader

_SAMPLE_BYTES = 2000


class Identity:
    """Of one group. Letters much alike share the object, so it is told apart by itself alone."""

    __slots__ = ("connector", "exception", "reason", "sample", "source_topic", "stage")

    def __init__(self, told: Sequence[bytes | None], why: str, said: bytes | None) -> None:
        """`told` are connector, stage, exception and source topic."""
        self.connector, self.stage, self.exception, self.source_topic = map(_text, told)
        self.reason = why
        self.sample = (said or b"")[:_SAMPLE_BYTES].decode("utf-8", "replace")

    @property
    def names(self) -> tuple[str | None, ...]:
        return (self.connector, self.stage, self.exception, self.source_topic)

    def fingerprint(self, why: str | None = None) -> str:
        return fingerprint(self.stage, self.exception, self.reason if why is None else why)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


class Identities:
    """Finds the group of letters by their headers. Keeps what it has found."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._known: dict[tuple[bytes | None, ...], Identity] = {}

    def of(self, headers: Sequence[RawHeader]) -> tuple[Identity, int]:
        """The identity, and how often the record was replayed before."""
        found = dict(headers)
        if len(found) < len(headers) and names.TOPIC in found:  # several generations, perhaps
            found.update(latest(headers))
        get = found.get
        connector, stage, exception = get(names.CONNECTOR), get(names.STAGE), get(names.EXCEPTION)
        source, message = get(names.TOPIC), get(names.MESSAGE)
        said, root = template(message, get(names.STACKTRACE))
        key = (connector, stage, exception, source, said, root)
        identity = self._known.get(key)
        if identity is None:
            if len(self._known) >= self._most:
                self._known.clear()
            why = reason(said, root)
            identity = Identity(key[:4], why, message)
            self._known[key] = identity
        replays = (number(found, names.ATTEMPT) or 0) if names.ATTEMPT in found else 0
        return identity, replays
