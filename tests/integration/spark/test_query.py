"""What the connector's queries do with a batch: outputs, dead letters, aggregates."""

import json
import uuid

import psycopg
import pyarrow.dataset as ds
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import StreamingQueryException

from connect.config.connector import framework_settings
from connect.pipeline import PipelineSpec
from spark_sink.connector import SparkSinkConnector
from spark_sink.letters import LetterBox
from spark_sink.outputs import write
from spark_sink.query import BatchWriter, Pipeline, Settings, start_queries
from spark_sink.session import in_sparks_words, started_too_slowly
from spark_sink.settings import Output
from spark_sink.starts import kept_start
from spark_sink.watch import Watch
from tests.support.topics import Out

received = []


def remember(rows, number):
    received.append((number, rows.collect()))


def break_down(rows, number):
    raise RuntimeError("no room")


def doubled(rows):
    return rows.selectExpr("2 * n AS n", "name")


@pytest.fixture
def settings(kafka, topic, tmp_path):
    """settings(**config) as a connector's task makes them."""

    def make(**more):
        config = {
            "name": f"query-{uuid.uuid4().hex[:8]}",
            "connector.class": "SparkSink",
            "topics": topic,
            "spark.schema": "n BIGINT, name STRING, at TIMESTAMP",
            "spark.trigger": "available-now",
            "spark.checkpoint.location": str(tmp_path / "checkpoint"),
            "spark.output.format": "parquet",
            "spark.output.path": str(tmp_path / "out"),
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            **{k.replace("__", "."): str(v) for k, v in more.items()},
        }
        parsed = SparkSinkConnector.config_def.parse(config)
        spec = PipelineSpec(config["name"], 0, config, {"bootstrap.servers": kafka})
        framework = framework_settings(config, is_sink=True)
        return Settings(
            spec,
            parsed,
            tuple(Output.parse(config, name) for name in parsed["spark.outputs"] or [""]),
            LetterBox.of(spec, framework),
            Watch.of(spec, framework),
            str(tmp_path / "checkpoint"),
            parsed["spark.starting.offsets"],
        )

    return make


@pytest.fixture
def run(spark):
    """run(settings) runs the queries over all there is."""

    def run(settings, attempts=5):
        try:
            for query in start_queries(spark, settings):
                query.awaitTermination()
        except StreamingQueryException as error:
            if not started_too_slowly(error) or attempts == 1:
                raise
            run(settings, attempts - 1)

    return run


def rows_in(folder):
    return ds.dataset(folder, partitioning="hive").to_table().to_pylist()


def test_without_tolerance_nothing_of_a_bad_batch_is_visible(
    settings, run, topic, produce, tmp_path
):
    """A poison record fails the query with its place, and the output has not even a folder."""
    produce(topic, ['{"n": 1}', "{broken"])
    with pytest.raises(StreamingQueryException, match=f"{topic}-0 offset 1"):
        run(settings())
    assert not list(tmp_path.glob("out/batch=*"))


def test_sql_function_and_several_outputs(settings, run, topic, produce, tmp_path):
    """The function comes first, then the SQL; both outputs get all rows, one in folders."""
    produce(topic, [json.dumps({"n": n, "name": "xy"[n % 2]}) for n in range(4)])
    received.clear()
    run(
        settings(
            spark__pipeline__function=f"{__name__}:doubled",
            spark__pipeline__sql="SELECT n + 1 AS n, name FROM records WHERE n > 0",
            spark__outputs="files,mine",
            spark__output__files__format="json",
            spark__output__files__path=tmp_path / "json",
            spark__output__files__partition__by="name",
            spark__output__mine__format="foreach",
            spark__output__mine__function=f"{__name__}:remember",
        )
    )
    [(number, rows)] = received
    assert number == 0
    assert sorted((row.n, row.name) for row in rows) == [(3, "y"), (5, "x"), (7, "y")]
    files = list(tmp_path.glob("json/batch=*/name=y/*.json"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert sorted(line["n"] for line in lines) == [3, 7]


def test_outputs_from_one_query(
    settings, run, spark, topic, make_topic, produce, consume_all, tmp_path, caplog
):
    """ORC, CSV, JSON, a topic, the console and memory each get all rows, the topic once."""
    target = make_topic("out")
    produce(topic, ['{"n": 1, "name": "a"}', '{"n": 2, "name": "b"}'])
    caplog.set_level("INFO", "spark_sink")
    made = settings(
        spark__pipeline__sql="SELECT CAST(n AS STRING) AS key, n, name FROM records",
        spark__max__offsets__per__trigger=1,
        spark__outputs="orc,csv,json,kafka,console,memory",
        spark__output__orc__format="orc",
        spark__output__orc__path=tmp_path / "orc",
        spark__output__csv__format="csv",
        spark__output__csv__path=tmp_path / "csv",
        spark__output__csv__option__header="true",
        spark__output__json__format="json",
        spark__output__json__path=tmp_path / "json",
        spark__output__kafka__format="kafka",
        spark__output__kafka__option__topic=target,
        spark__output__console__format="console",
        spark__output__memory__format="memory",
        spark__output__memory__table="numbers",
    )
    run(made)
    assert sorted(r.n for r in spark.read.orc(str(tmp_path / "orc")).collect()) == [1, 2]
    read = spark.read.option("header", "true").csv(str(tmp_path / "csv"))
    assert sorted(row.name for row in read.collect()) == ["a", "b"]
    again = spark.createDataFrame([("9", 9, "z")], "key STRING, n INT, name STRING")
    writer = BatchWriter(made, Pipeline(None, None))
    write(made.outputs[3], again, writer.query_id(spark), 0, made.spec)
    letters = consume_all(target, 2)
    assert sorted((m.key(), json.loads(m.value())) for m in letters) == [
        (b"1", {"n": 1, "name": "a"}),
        (b"2", {"n": 2, "name": "b"}),
    ]
    assert "Batch 1:\n+---+---+----+\n|key|n  |name|" in caplog.text
    assert "global_temp.numbers after batch 1, 2 rows:" in caplog.text
    assert sorted(r.n for r in spark.sql("SELECT n FROM global_temp.numbers").collect()) == [1, 2]


def test_a_new_checkpoint_begins_anew_in_a_process_that_goes_on(
    settings, spark, make_topic, consume_all
):
    """Batch 0 of another query is another batch, and one to another topic goes there."""
    first, second = make_topic("out"), make_topic("out")
    rows = spark.createDataFrame([(1,)], "n INT")
    made = settings(spark__output__format="kafka", spark__output__option__topic=first)
    for query in ("one", "one", "two"):
        write(made.outputs[0], rows, query, 0, made.spec)
    assert len(consume_all(first, 2)) == 2
    config = {**made.spec.config, "spark.output.option.topic": second}
    moved = Output.parse(config, "")
    write(moved, rows, "two", 1, made.spec)
    assert len(consume_all(second, 1)) == 1


def test_a_format_without_its_jar_names_the_package(settings, run, topic, produce, tmp_path):
    """Nothing is written, and the error says what to put into spark.packages."""
    produce(topic, ['{"n": 1}'])
    with pytest.raises(StreamingQueryException) as raised:
        run(settings(spark__output__format="iceberg", spark__output__table="lake.numbers"))
    assert "iceberg-spark-runtime" in in_sparks_words(raised.value)


def test_the_guard_stops_a_query_before_the_batch_is_visible(
    settings, run, topic, produce, tmp_path, caplog
):
    """Too many failures among the last records fail the query; what it tolerates is logged."""
    produce(topic, ['{"n": 1}', "{broken", '{"n": 2}'])
    guard = {"errors.tolerance": "all", "errors.log.enable": "true", "errors.guard.max": "1"}
    run(settings(**guard))
    assert "Executing stage 'VALUE_CONVERTER'" in caplog.text
    written = len(list(tmp_path.glob("out/batch=*")))
    produce(topic, ["{broken", "{broken", '{"n": 3}'])
    with pytest.raises(StreamingQueryException, match=r"More than 1 of the last 1000"):
        run(settings(**guard))
    assert len(list(tmp_path.glob("out/batch=*"))) == written == 1


def test_windows_over_the_stream_and_dead_letters_beside_it(
    settings, run, topic, make_topic, produce, consume_all
):
    """An aggregate by window is kept over batches and written complete; poison is dead-lettered."""
    letters = make_topic("dlq")
    moments = ["2026-01-01T00:00:10Z", "2026-01-01T00:00:50Z", "2026-01-01T00:01:10Z"]
    produce(
        topic,
        [Out(json.dumps({"n": n, "at": moments[n % 3]})) for n in range(30)]
        + [Out("{broken", b"bad", [("h", b"1")], timestamp=5000)],
    )
    received.clear()
    run(
        settings(
            spark__max__offsets__per__trigger=10,
            spark__watermark__column="at",
            spark__pipeline__sql=(
                "SELECT window.start AS start, count(*) AS n FROM "
                "(SELECT window(at, '1 minute') AS window FROM records) GROUP BY window"
            ),
            spark__output__format="foreach",
            spark__output__function=f"{__name__}:remember",
            spark__output__mode="complete",
            errors__tolerance="all",
            errors__deadletterqueue__topic__name=letters,
            errors__deadletterqueue__context__headers__enable="true",
        )
    )
    assert len(received) > 1
    last = received[-1][1]
    assert sorted((row.start.minute, row.n) for row in last) == [(0, 20), (1, 10)]
    [letter] = consume_all(letters, 1)
    assert (letter.key(), letter.value(), letter.timestamp()[1]) == (b"bad", b"{broken", 5000)
    headers = dict(letter.headers())
    assert headers["h"] == b"1"
    assert headers["__connect.errors.offset"] == b"30"


def test_a_batch_that_comes_again_changes_nothing(
    settings, run, spark, topic, make_topic, produce, consume_all, database, tmp_path
):
    """Files, database and dead letters hold a batch once, however often its writer is called."""
    letters = make_topic("dlq")
    produce(topic, ['{"n": 1}', '{"n": 2}', "{broken"])
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("CREATE TABLE numbers (n BIGINT PRIMARY KEY)")
        made = settings(
            spark__pipeline__sql="SELECT n FROM records",
            spark__outputs="files,db",
            spark__output__files__format="parquet",
            spark__output__files__path=tmp_path / "out",
            spark__output__db__format="jdbc",
            spark__output__db__table="numbers",
            spark__output__db__option__url=database,
            errors__tolerance="all",
            errors__deadletterqueue__topic__name=letters,
        )
        run(made)
        again = BatchWriter(made, Pipeline(None, "SELECT n FROM records"))
        everything = (
            spark.read.format("penstock")
            .options(**{k: v for k, v in made.spec.config.items() if k != "name"})
            .option("bootstrap.servers", made.spec.worker["bootstrap.servers"])
            .load()
        )
        again(everything, 0)
        assert sorted(db.execute("SELECT n FROM numbers").fetchall()) == [(1,), (2,)]
    assert sorted(row["n"] for row in rows_in(tmp_path / "out")) == [1, 2]
    assert [m.value() for m in consume_all(letters, 1)] == [b"{broken"]
    assert not list(tmp_path.glob("out/_staging/*"))


def test_a_first_batch_that_failed_comes_again_as_it_was(settings, run, spark, topic, produce):
    """From `latest` comes what came since the first start, and nothing of what was there before."""
    produce(topic, [json.dumps({"n": n}) for n in range(100)])
    more = {"name": "first", "spark.starting.offsets": "latest", "spark.output.format": "foreach"}
    failing = settings(**more, spark__output__function=f"{__name__}:break_down")
    kept_start(spark, failing.spec, failing.starting, failing.checkpoint, "records")
    produce(topic, [json.dumps({"n": n}) for n in range(100, 103)])
    with pytest.raises(StreamingQueryException, match="no room"):
        run(failing)
    produce(topic, [json.dumps({"n": n}) for n in range(103, 108)])
    received.clear()
    run(settings(**more, spark__output__function=f"{__name__}:remember"))
    assert [sorted(row.n for row in rows) for _, rows in received] == [
        [100, 101, 102],
        [103, 104, 105, 106, 107],
    ]


def test_dead_letters_begin_where_the_records_began(
    settings, run, kafka, topic, make_topic, produce, consume_all
):
    """However far the group has moved with the records, letters that failed at first come."""
    letters = make_topic("dlq")
    produce(topic, ['{"n": 1}', "{broken"])
    more = {
        "name": f"both-{topic}",
        "spark.pipeline.sql": "SELECT count(*) AS n FROM records",
        "spark.output.format": "foreach",
        "spark.output.function": f"{__name__}:remember",
        "spark.output.mode": "complete",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
    }
    with pytest.raises(StreamingQueryException, match="More than 0 of the last"):
        run(settings(**more, errors__guard__max=0))
    admin = AdminClient({"bootstrap.servers": kafka})
    moved = ConsumerGroupTopicPartitions(f"connect-both-{topic}", [TopicPartition(topic, 0, 2)])
    for done in admin.alter_consumer_group_offsets([moved]).values():
        done.result(30)
    run(settings(**more))
    assert [m.value() for m in consume_all(letters, 1)] == [b"{broken"]


def test_letters_that_are_wanted_later_settle_where_they_begin(
    settings, run, spark, topic, produce
):
    """They do not go back to where the records' query once began."""
    produce(topic, ['{"n": 1}', '{"n": 2}'])
    made = settings(spark__starting__offsets="earliest")
    run(made)

    def start(name):
        return json.loads(kept_start(spark, made.spec, "latest", made.checkpoint, name))

    assert (start("records"), start("letters")) == ({topic: {"0": 0}}, {topic: {"0": 2}})


def test_a_folder_left_half_written_is_written_anew_where_renames_copy(
    settings, spark, tmp_path, monkeypatch
):
    """On storage that does not rename at once, a folder that is there may lack rows."""
    monkeypatch.setattr("spark_sink.outputs._ATOMIC", frozenset())
    made = settings()
    rows = spark.createDataFrame([(n,) for n in range(10)], "n INT").repartition(2)
    write(made.outputs[0], rows, "query", 0, made.spec)
    first, *_ = tmp_path.glob("out/batch=*/*.parquet")
    first.unlink()
    write(made.outputs[0], rows, "query", 0, made.spec)
    assert sorted(row["n"] for row in rows_in(tmp_path / "out")) == [*range(10)]


def test_a_complete_result_replaces_what_the_table_had(settings, spark, database):
    """Each batch is the whole result; one that comes again changes nothing."""
    made = settings(
        spark__output__format="jdbc",
        spark__output__table="sums",
        spark__output__mode="complete",
        spark__output__option__url=database,
    )
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("CREATE TABLE sums (n BIGINT PRIMARY KEY, total BIGINT)")
        for batch, result in [(0, [(1, 5)]), (1, [(1, 7), (2, 9)]), (1, [(1, 7), (2, 9)])]:
            rows = spark.createDataFrame(result, "n BIGINT, total BIGINT")
            write(made.outputs[0], rows, "query", batch, made.spec)
            assert sorted(db.execute("SELECT * FROM sums").fetchall()) == result
