"""Rows kept in Spark's memory, to look at while trying out."""

from __future__ import annotations

import logging
import re
from typing import Any

from spark_sink.settings import Output

log = logging.getLogger(__name__)

# For trying out: a query that is left running must not fill the driver.
ROWS = 10_000
# By view: the newest batches by their numbers, as Arrow tables.
_kept: dict[str, dict[int, Any]] = {}


def write_memory(output: Output, rows: Any, batch: int, connector: str) -> None:
    """Add a batch to the view `global_temp.<name>` and show all of it in the log.

    Every session of the same Spark can ask a global view: other outputs' functions, and over
    Spark Connect every client of the server.
    """
    import pyarrow as pa  # noqa: PLC0415 - needs the extra

    name = re.sub(r"\W", "_", output.table or "_".join(filter(None, (connector, output.name))))
    batches = _kept.setdefault(name, {})
    if output.mode == "complete":
        batches.clear()
    batches[batch] = rows.limit(ROWS).toArrow()
    while len(batches) > 1 and sum(map(len, batches.values())) > ROWS:
        del batches[min(batches)]
    everything = pa.concat_tables(batches.values())
    view = rows.sparkSession.createDataFrame(everything, rows.schema)
    view.createOrReplaceGlobalTempView(name)
    shown = view._show_string(20, False)
    log.info("global_temp.%s after batch %d, %d rows:\n%s", name, batch, len(everything), shown)
