"""A letter as JSON, for commands and the REST API alike."""

from __future__ import annotations

from typing import Any

from dlq.masking import Mask
from dlq.model import Mark
from dlq.probe import Decoded
from dlq.reader import DeadLetter


def letter_document(letter: DeadLetter, mark: Mark, decoded: Decoded, mask: Mask) -> dict[str, Any]:
    """A letter as JSON; the REST API answers the same."""
    cause = letter.cause
    return {
        "letter": letter.name,
        "time": letter.timestamp,
        "state": {
            "state": mark.state, "by": mark.by, "at": mark.at, "note": mark.note,
            "replay": mark.replay, "to": mark.target,
        },
        "origin": letter.origin,
        "attempts": letter.attempts,
        "cause": {
            "connector": cause.connector, "task": cause.task, "stage": cause.stage,
            "class": cause.class_name, "exception": cause.exception,
            "message": mask.text(cause.message), "trace": mask.trace(cause.trace),
            "topic": cause.topic, "partition": cause.partition, "offset": cause.offset,
            "source_partition": cause.source_partition, "source_offset": cause.source_offset,
            "generations": cause.generations,
        },
        "key": {"raw": mask.raw(letter.key), "decoded": mask.value(decoded.key),
                "error": mask.text(decoded.key_error)},
        "value": {"raw": mask.raw(letter.value), "decoded": mask.value(decoded.value),
                  "error": mask.text(decoded.value_error)},
        "headers": [[name, mask.raw(value)] for name, value in letter.own_headers],
    }  # fmt: skip
