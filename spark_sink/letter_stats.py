"""Statistics of dead letters on Spark: the groups and counts that the index would tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from connect.pipeline import PipelineSpec
from dlq.desk import Desk
from dlq.identity import Identities
from dlq.index import MINUTE_MS, MOST_GROUPS
from dlq.model import Group
from dlq.reader import TopicFacts
from dlq.selection import Selection, state_number
from dlq.state import decode
from spark_sink import register
from spark_sink.options import connector_options

_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_LETTERS = (
    "part INT, offset BIGINT, time BIGINT, connector STRING, stage STRING, exception STRING, "
    "source_topic STRING, reason STRING, sample STRING, fingerprint STRING"
)
_MARKS = "part INT, offset BIGINT, state INT, place BIGINT"
_GROUP = "connector, stage, exception, source_topic, fingerprint, reason"


def stats(
    spark: Any, desk: Desk, worker: Mapping[str, str], topic: str, selection: Selection
) -> list[Group]:
    """Groups of the letters that are meant, the largest first, at most as many as an index has."""
    register(spark)
    facts = desk.reader.topic(topic)
    letters = _read(spark, worker, topic).mapInArrow(_identified, _LETTERS)
    marks = _marks(spark, desk, worker, facts)
    where = _filled(*selection.where(letters="l", groups="l"))
    rows = spark.sql(
        f"""
        WITH last AS (
            SELECT part, offset, max_by(state, place) AS state FROM {{marks}} GROUP BY 1, 2
        ), l AS (
            SELECT a.*, coalesce(m.state, 0) AS state
            FROM {{letters}} a LEFT JOIN last m ON a.part = m.part AND a.offset = m.offset
        ), minutes AS (
            SELECT {_GROUP}, time DIV {MINUTE_MS} AS minute, count(*) AS n,
                   min(struct(part, offset, sample)) AS first
            FROM l WHERE {where} GROUP BY ALL
        )
        SELECT {_GROUP}, min(first).sample AS sample, sum(n) AS total,
               sort_array(collect_list(struct(minute, n))) AS over_time
        FROM minutes GROUP BY {_GROUP}
        ORDER BY total DESC, fingerprint LIMIT {selection.limit or MOST_GROUPS}
        """,  # noqa: S608 - put together from constant texts; values are quoted
        letters=letters,
        marks=marks,
    ).collect()
    return [_group(row) for row in rows]


def _filled(where: str, values: Sequence[Any]) -> str:
    """With the values in place of `?`: the SQL parser of an extension may know no parameters."""
    first, *others = where.split("?")
    return first + "".join(
        _literal(value) + text for value, text in zip(values, others, strict=True)
    )


def _literal(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    for special, written in (("\\", "\\\\"), ("'", "\\'"), ("{", "{{"), ("}", "}}")):
        value = value.replace(special, written)
    return f"'{value}'"


def _group(row: Any) -> Group:
    over_time = [(minute * MINUTE_MS, n) for minute, n in row.over_time]
    return Group(
        row.connector, row.stage, row.exception, row.source_topic, row.fingerprint, row.reason,
        row.sample, row.total, over_time[0][0], over_time[-1][0], over_time,
    )  # fmt: skip


def _read(spark: Any, worker: Mapping[str, str], topic: str) -> Any:
    """Places, times, keys, headers and values of a topic's committed records, as they are."""
    config = {
        "topics": topic,
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "header.converter": _BYTES,
        "consumer.override.isolation.level": "read_committed",
        "spark.schema": "value BINARY",
    }
    options = connector_options(PipelineSpec("dlq", 0, config, dict(worker)))
    records = spark.read.format("penstock").options(**options).load()
    return records.selectExpr(
        "_kafka.partition AS part", "_kafka.offset AS offset",
        "unix_millis(_kafka.timestamp) AS time", "_kafka.key AS key", "_kafka.headers AS headers",
        "value",
    )  # fmt: skip


def _identified(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415 - on the executor

    identities = Identities()
    for batch in batches:
        found = []
        for headers in batch.column("headers").to_pylist():
            identity, _ = identities.of([(h["key"], h["value"]) for h in headers or ()])
            found.append(identity)
        told = (
            [getattr(each, name) for each in found]
            for name in ("connector", "stage", "exception", "source_topic", "reason", "sample")
        )
        columns = [batch.column("part"), batch.column("offset"), batch.column("time")]
        columns += [pa.array(texts, pa.string()) for texts in told]
        columns.append(pa.array([each.fingerprint() for each in found], pa.string()))
        names = [column.split()[0] for column in _LETTERS.split(", ")]
        yield pa.RecordBatch.from_arrays(columns, names)


def _marks(spark: Any, desk: Desk, worker: Mapping[str, str], facts: TopicFacts) -> Any:
    """What was done with letters of a topic; the last of a letter has the highest place."""
    if desk.states.name not in desk.reader.admin.list_topics(timeout=30).topics:
        return spark.createDataFrame([], _MARKS)

    def marks(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415 - on the executor

        for batch in batches:
            rows: list[dict[str, int]] = []
            for record in batch.select(["offset", "key", "value"]).to_pylist():
                mark = decode(facts, record["key"], record["value"])
                if mark is not None:
                    state = state_number(mark.state)
                    rows.append(
                        {"part": mark.partition, "offset": mark.offset, "state": state,
                         "place": record["offset"]}
                    )  # fmt: skip
            fields = [("part", pa.int32()), ("offset", pa.int64()), ("state", pa.int32()),
                      ("place", pa.int64())]  # fmt: skip
            yield pa.RecordBatch.from_pylist(rows, schema=pa.schema(fields))

    return _read(spark, worker, desk.states.name).mapInArrow(marks, _MARKS)
