"""errors.log.* and errors.guard.* in Spark: what a worker's task does with failures, on a batch."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from connect import ConnectError
from connect.pipeline import PipelineSpec

log = logging.getLogger(__name__)


@dataclass
class Watch:
    """Looks at the failures of one query. Plain data: it may travel to a Spark Connect server."""

    task: str
    log_errors: bool
    with_records: bool
    limit: int | None
    window: int
    # What came before this batch and still counts: records without a failure since, and failures.
    _records: int = field(default=0, init=False)
    _failed: int = field(default=0, init=False)

    @classmethod
    def of(cls, spec: PipelineSpec, settings: Mapping[str, Any]) -> Watch:
        return cls(
            f"{spec.connector}-{spec.task}",
            settings["errors.log.enable"],
            settings["errors.log.include.messages"],
            settings["errors.guard.max"],
            settings["errors.guard.window"],
        )

    def guard(self, rows: Any) -> None:
        """Raise if too many of a batch's records failed, before anything of it is visible.

        Failures are taken as spread evenly over their batch. Batches smaller than the window are
        counted together until they fill it.
        """
        if self.limit is None:
            return
        records, failed = rows.selectExpr("count(*)", "count(_error)").first()
        self._records += records
        self._failed += failed
        share = min(1.0, self.window / max(1, self._records))
        if self._failed * share > self.limit:
            raise ConnectError(
                f"More than {self.limit} of the last {self.window} records failed "
                f"(errors.guard.max, errors.guard.window): {self._failed} of {self._records}. "
                "Nothing of this batch was written. Mend the cause and restart the task: it goes "
                "on from the last batch that was."
            )
        if self._records >= self.window:
            self._records = self._failed = 0

    def logged(self, rows: Iterable[Any]) -> Iterator[Any]:
        """The rows as they are, each told in the log if that is wanted."""
        for row in rows:
            if self.log_errors:
                place, error = row["_kafka"], row["_error"]
                where = (
                    f", where consumed record is {{topic='{place['topic']}', "
                    f"partition={place['partition']}, offset={place['offset']}}}"
                )
                log.error(
                    "Error encountered in task %s. Executing stage '%s' with class '%s'%s. %s",
                    self.task,
                    error["stage"],
                    error["class"],
                    where if self.with_records else "",
                    error["stacktrace"],
                )
            yield row
