"""The JDBC sink against a real PostgreSQL."""

import datetime as dt
import decimal
import uuid

import psycopg
import pytest

from connect import ConnectError, DataError, RetriableError, Schema, TopicPartition
from connect.testing import SinkHarness
from connectors.jdbc.sink import JdbcSinkConnector
from tests.support.waiting import wait_for

KEY = Schema.struct().field("id", Schema.INT64).build()
SMALL = Schema.struct().field("id", Schema.INT64).field("name", Schema.OPTIONAL_STRING).build()
AT = dt.datetime(2024, 7, 6, 5, 4, 3, 210000, tzinfo=dt.UTC)


def config(url, **more):
    return {
        "connection.url": "jdbc:" + url.replace("penstock@", "") + "?user=penstock",
        "auto.create": "true",
        **{k.replace("_", "."): str(v) for k, v in more.items()},
    }


def upserting(url, **more):
    return config(url, insert_mode="upsert", pk_mode="record_key", delete_enabled="true", **more)


def query(url, sql):
    with psycopg.connect(url) as db:
        return db.execute(sql).fetchall()


def execute(url, sql):
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(sql)


def end_connections(url):
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    assert query(url, f"SELECT pg_terminate_backend(pid) {others}") == [(True,)]
    # It is told to end, and may do some work before it hears of it.
    wait_for(lambda: not query(url, f"SELECT pid {others}"), "the connection to end")


def put_keyed(sink, pairs, schema=SMALL):
    for number, name in pairs:
        sink.record(
            None if name is None else {"id": number, "name": name},
            schema=None if name is None else schema, key={"id": number}, key_schema=KEY,
        )  # fmt: skip
    sink.deliver()


def test_every_type_arrives_as_it_was(database):
    """A table made from a schema has PostgreSQL's own types, and the values are equal."""
    schema = (
        Schema.struct()
        .field("i8", Schema.INT8)
        .field("i64", Schema.INT64)
        .field("f32", Schema.FLOAT32)
        .field("f64", Schema.FLOAT64)
        .field("yes", Schema.BOOLEAN)
        .field("text", Schema.STRING)
        .field("raw", Schema.BYTES)
        .field("money", Schema.decimal(4).build())
        .field("day", Schema.date().build())
        .field("clock", Schema.time().build())
        .field("at", Schema.timestamp().build())
        .field("tags", Schema.array(Schema.STRING).build())
        .field("days", Schema.array(Schema.INT32).build())
        .field("more", Schema.map(Schema.STRING, Schema.INT32).build())
        .field("none", Schema.OPTIONAL_STRING)
        .build()
    )
    value = {
        "i8": -128,
        "i64": 2**63 - 1,
        "f32": 0.1,
        "f64": 1e300,
        "yes": True,
        "text": 'tab\tline\nback\\slash "quoted" ünï \\N',
        "raw": b"\x00\xff\\",
        "money": decimal.Decimal("12345678901234567890.1234"),
        "day": dt.date(2024, 2, 29),
        "clock": dt.time(23, 59, 59, 999000),
        "at": AT,
        "tags": ["a,b", 'q"', "", "NULL", "{}"],
        "days": [1, 2],
        "more": {"x": 1},
        "none": None,
    }
    with SinkHarness(JdbcSinkConnector, config(database)) as sink:
        sink.put(value, schema=schema)
    assert sink.reported == []
    ((*found,),) = query(database, "SELECT * FROM test")
    assert dict(zip(value, found, strict=True)) == {**value, "at": AT.replace(tzinfo=None)}
    types = query(
        database,
        "SELECT string_agg(data_type, ',' ORDER BY ordinal_position) "
        "FROM information_schema.columns WHERE table_name = 'test'",
    )
    assert types[0][0].split(",") == [
        *("smallint", "bigint", "real", "double precision", "boolean", "text", "bytea", "numeric"),
        *("date", "time without time zone", "timestamp without time zone"),
        *("ARRAY", "ARRAY", "jsonb", "text"),
    ]


def test_upserts_and_deletes_keep_to_the_order_of_records(database):
    """Several changes of one key in a batch leave what the last of them says."""
    with SinkHarness(JdbcSinkConnector, upserting(database, batch_size=2)) as sink:
        put_keyed(sink, [(1, "a"), (2, "b"), (3, "c"), (1, None), (2, "b2"), (1, "a2"), (3, None)])
        put_keyed(sink, [(2, "b3"), (4, "d"), (4, None), (5, "e")])
    found = query(database, "SELECT id, name FROM test ORDER BY id")
    assert found == [(1, "a2"), (2, "b3"), (5, "e")]


def test_rows_the_server_refuses_are_reported_with_its_message(database):
    """A value out of range, a zero byte, a broken check: three reports, all other rows written."""
    execute(database, "CREATE TABLE test (id smallint PRIMARY KEY, name text CHECK (name <> 'no'))")
    with SinkHarness(JdbcSinkConnector, upserting(database)) as sink:
        pairs = [(number, "fine") for number in range(200)]
        pairs[50], pairs[120], pairs[199] = (99999, "x"), (120, "zero \0"), (199, "no")
        put_keyed(sink, pairs)
    assert [r.key["id"] for r, _ in sink.reported] == [99999, 120, 199]
    messages = [str(error) for _, error in sink.reported]
    assert 'value "99999" is out of range for type smallint' in messages[0]
    assert "0x00" in messages[1]
    assert 'violates check constraint "test_name_check"' in messages[2]
    assert query(database, "SELECT count(*) FROM test") == [(197,)]


def test_texts_of_every_kind_arrive_or_are_reported(database):
    """What COPY escapes comes out as it was; what PostgreSQL has no form for is named alone."""
    texts = ["tab\there", "back\\slash", "line\r\nend", "\\N", "\\.", "", "ünï😀", None]
    with SinkHarness(JdbcSinkConnector, upserting(database)) as sink:
        for number, text in enumerate([*texts, "nul \0", "half \ud83d"]):
            value = {"id": number, "name": text}
            sink.record(value, schema=SMALL, key={"id": number}, key_schema=KEY)
        sink.deliver()
    assert [record.value["id"] for record, _ in sink.reported] == [len(texts), len(texts) + 1]
    assert query(database, "SELECT name FROM test ORDER BY id") == [(text,) for text in texts]


def test_values_are_read_as_the_columns_own_type(database):
    """Texts fit columns of dates, numbers, uuids and JSON, so plain JSON records do."""
    execute(
        database,
        "CREATE TABLE test (id uuid PRIMARY KEY, day date, at timestamptz, n int, doc jsonb)",
    )
    value = {
        "id": "6b8f2c1e-9a51-4c52-8f6a-2f1f6a5b7c3d",
        "day": "2024-02-29",
        "at": "2024-07-06T05:04:03.21+02:00",
        "n": "7",
        "doc": {"a": [1, None]},
    }
    settings = config(database, insert_mode="upsert", pk_mode="record_value", pk_fields="id")
    with SinkHarness(JdbcSinkConnector, settings) as sink:
        sink.put(value)
        sink.put({**value, "n": None})
    assert sink.reported == []
    ((_, day, at, n, doc),) = query(database, "SELECT * FROM test")
    assert (day, n, doc) == (dt.date(2024, 2, 29), None, {"a": [1, None]})
    assert at == AT - dt.timedelta(hours=2)


def test_timestamps_are_in_the_zone_of_the_config(database):
    """Columns without a zone show the wall clock of db.timezone, those with one the moment."""
    schema = (
        Schema.struct()
        .field("local", Schema.timestamp().build())
        .field("moment", Schema.timestamp().build())
        .build()
    )
    execute(database, "CREATE TABLE test (local timestamp, moment timestamptz)")
    with SinkHarness(JdbcSinkConnector, config(database, db_timezone="Europe/Berlin")) as sink:
        sink.put({"local": AT, "moment": AT}, schema=schema)
    ((local, moment),) = query(database, "SELECT * FROM test")
    assert local == AT.replace(tzinfo=None) + dt.timedelta(hours=2)
    assert moment == AT


def test_lost_connection_is_retried_without_loss(database):
    """A connection that the server ends is made anew, and the batch written once."""
    with SinkHarness(JdbcSinkConnector, upserting(database, retry_backoff_ms=10)) as sink:
        put_keyed(sink, [(1, "a")])
        end_connections(database)
        put_keyed(sink, [(2, "b")])
    assert sink.retries == 1
    assert query(database, "SELECT id FROM test ORDER BY id") == [(1,), (2,)]


@pytest.mark.parametrize("with_reporter", [True, False])
def test_login_refused_while_running_blames_no_record(postgres, database, with_reporter):
    """A role that may log in no longer fails the task, not with a DataError; nothing is lost."""
    role = f"leaves_{uuid.uuid4().hex[:8]}"
    execute(postgres, f"CREATE ROLE {role} SUPERUSER LOGIN")
    settings = upserting(database, connection_user=role, errors_tolerance="all")
    settings["connection.url"] = settings["connection.url"].partition("?")[0]
    sink = SinkHarness(JdbcSinkConnector, settings, with_reporter=with_reporter)
    try:
        with sink:
            put_keyed(sink, [(1, "a")])
            sink.flush()
            execute(postgres, f"ALTER ROLE {role} NOLOGIN")
            end_connections(database)
            with pytest.raises(ConnectError, match="is not permitted to log in") as refused:
                put_keyed(sink, [(2, "b")])
            assert not isinstance(refused.value, DataError | RetriableError)
            execute(postgres, f"ALTER ROLE {role} LOGIN")
            sink.deliver()
        assert sink.reported == []
        assert query(database, "SELECT id FROM test ORDER BY id") == [(1,), (2,)]
    finally:
        execute(database, f"DROP OWNED BY {role}")
        execute(postgres, f"DROP ROLE {role}")


@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_connection_lost_in_the_middle_of_a_batch(database, mode):
    """The server ends it at the third row: all rows are there once, and no record is blamed."""
    execute(
        database,
        """CREATE TABLE test (id bigint PRIMARY KEY, name text);
        CREATE SEQUENCE rows_seen;
        CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('rows_seen') = 3 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
            RETURN NEW; END $$;
        CREATE TRIGGER hang_up BEFORE INSERT ON test FOR EACH ROW EXECUTE FUNCTION hang_up()""",
    )
    more = {"insert_mode": mode, "pk_mode": "record_key", "retry_backoff_ms": 10}
    with SinkHarness(JdbcSinkConnector, config(database, **more)) as sink:
        put_keyed(sink, [(n, "x") for n in range(10)])
    assert sink.reported == []
    assert query(database, "SELECT id FROM test ORDER BY id") == [(n,) for n in range(10)]
    # A sequence counts what was rolled back, too: the batch came a second time, whole.
    assert query(database, "SELECT last_value >= 13 FROM rows_seen") == [(True,)]


def test_failed_batch_leaves_nothing_behind(database):
    """Without a reporter the batch is rolled back as a whole and the server's message is kept."""
    execute(database, "CREATE TABLE test (id bigint PRIMARY KEY, name text)")
    sink = SinkHarness(JdbcSinkConnector, config(database), with_reporter=False)
    sink.start()
    sink.put({"id": 1}, {"id": 2}, {"id": 1}, schema=SMALL)
    assert sink.flush() == {TopicPartition("test", 0): 0}
    with pytest.raises(ConnectError, match="duplicate key value violates unique constraint"):
        sink.deliver()
    sink.task.stop()
    assert query(database, "SELECT * FROM test") == []


class Busy:
    """A table that takes no rows for the time being, and says so."""

    def __init__(self, url):
        self._url = url
        execute(
            url,
            """CREATE TABLE test (id bigint PRIMARY KEY, name text);
            CREATE TABLE busy (yes int);
            CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF EXISTS (SELECT FROM busy) THEN
                    RAISE EXCEPTION 'not now' USING ERRCODE = 'serialization_failure'; END IF;
                RETURN NEW; END $$;
            CREATE TRIGGER wait BEFORE INSERT ON test FOR EACH ROW EXECUTE FUNCTION wait()""",
        )

    def __enter__(self):
        execute(self._url, "INSERT INTO busy VALUES (1)")

    def __exit__(self, *_):
        execute(self._url, "DELETE FROM busy")


def test_row_refused_in_the_background_is_reported_with_the_next_batch(database):
    """While the server works on one batch the next comes; the guilty record is found even so."""
    execute(database, "CREATE TABLE test (id bigint PRIMARY KEY, name text CHECK (name <> 'no'))")
    with SinkHarness(JdbcSinkConnector, upserting(database)) as sink:
        put_keyed(sink, [(1, "a"), (2, "no"), (3, "c")])
        put_keyed(sink, [(4, "d")])
        assert [record.key["id"] for record, _ in sink.reported] == [2]
    assert query(database, "SELECT id FROM test ORDER BY id") == [(1,), (3,), (4,)]
    assert len(sink.reported) == 1


def test_offsets_of_a_batch_that_was_not_written_are_not_committed(database):
    """They are when it is written, which put() without records does as well."""
    busy, place = Busy(database), TopicPartition("test", 0)
    with SinkHarness(JdbcSinkConnector, upserting(database, retry_backoff_ms=10)) as sink:
        put_keyed(sink, [(1, "a"), (2, "b")])
        assert sink.flush() == {place: 2}
        with busy:
            put_keyed(sink, [(3, "c"), (4, "d")])
            assert sink.flush() == {place: 2}
            with pytest.raises(RetriableError, match="not now"):
                sink.task.put([])
        sink.task.put([])
        assert sink.flush() == {place: 4}
    assert (len(query(database, "SELECT * FROM test")), sink.reported) == (4, [])


def test_what_was_not_written_of_lost_partitions_never_is(database):
    """Another task has them now, and may have written something newer."""
    busy, mine = Busy(database), TopicPartition("test", 1)
    with SinkHarness(JdbcSinkConnector, upserting(database, retry_backoff_ms=10)) as sink:
        sink.open(mine)
        with busy:
            for number, partition in [(1, 0), (2, 1), (3, 0), (4, 1)]:
                sink.record(
                    {"id": number, "name": "x"}, schema=SMALL, key={"id": number}, key_schema=KEY,
                    partition=partition,
                )  # fmt: skip
            sink.deliver()
            sink.close(TopicPartition("test", 0))
        sink.task.put([])
        assert sink.flush() == {mine: 2}
    assert query(database, "SELECT id FROM test ORDER BY id") == [(2,), (4,)]


def test_max_retries_ends_in_an_error(database):
    """The server's reason is in it, and nothing was written."""
    busy = Busy(database)
    sink = SinkHarness(JdbcSinkConnector, upserting(database, max_retries=2, retry_backoff_ms=1))
    sink.start()
    with busy:
        put_keyed(sink, [(1, "a")])
        with pytest.raises(ConnectError, match=r"after 2 retries \(max.retries\).*not now"):
            sink.deliver()
    sink.task.stop()
    assert query(database, "SELECT * FROM test") == []


def test_tasks_may_create_and_extend_a_table_at_once(database):
    """Two tasks that meet a new schema both go on, whoever makes the column."""
    bigger = SMALL.to_builder().field("more", Schema.OPTIONAL_INT32).build()
    first, second = (
        SinkHarness(JdbcSinkConnector, upserting(database, auto_evolve="true")) for _ in range(2)
    )
    with first, second:
        put_keyed(first, [(1, "a")])
        put_keyed(second, [(2, "b")])
        put_keyed(first, [(3, "c")], bigger)
        put_keyed(second, [(4, "d")], bigger)
        put_keyed(first, [(5, "e")])
    assert first.reported == second.reported == []
    assert query(database, "SELECT id, more FROM test ORDER BY id") == [
        (n, None) for n in range(1, 6)
    ]


def test_names_are_quoted_and_schemas_are_found(database):
    """Odd names of tables and columns do no harm, and topic parts before a dot name a schema."""
    execute(database, 'CREATE SCHEMA "my shop"')
    odd = Schema.struct().field('a "b" %s {c};--', Schema.STRING).field("Id", Schema.INT32).build()
    settings = config(
        database, table_name_format="my shop.${topic}", insert_mode="upsert",
        pk_mode="record_value", pk_fields="Id",
    )  # fmt: skip
    with SinkHarness(JdbcSinkConnector, settings) as sink:
        sink.put({'a "b" %s {c};--': "x", "Id": 1}, schema=odd)
    assert sink.reported == []
    assert query(database, 'SELECT * FROM "my shop".test') in ([("x", 1)], [(1, "x")])


def test_refused_login_fails_with_the_servers_reason_and_without_the_password(database):
    """The task's error names database and reason; the password is nowhere in it."""
    settings = config(database, connection_user="nobody_here", connection_password="sesame")
    with pytest.raises(ConnectError) as refused:
        SinkHarness(JdbcSinkConnector, settings).start()
    text = str(refused.value)
    assert 'role "nobody_here" does not exist' in text
    assert "sesame" not in text
    assert not isinstance(refused.value, RetriableError)


@pytest.mark.parametrize("quoting", ["always", "never"])
def test_null_without_a_schema_clears_a_column_that_was_added_meanwhile(database, quoting):
    """While the batch before is under way, and whatever case the column's name has."""
    settings = upserting(database, auto_evolve="true", quote_sql_identifiers=quoting)
    quote = '"' if quoting == "always" else ""
    with SinkHarness(JdbcSinkConnector, settings) as sink:
        for name in (None, "x", None):
            for number in (1, 2):
                value = {"id": number, "Name": name}
                sink.record(value, key={"id": number}, key_schema=KEY)
                sink.deliver()
            if name is not None:
                sink.flush()
                found = query(database, f"SELECT {quote}Name{quote} FROM test")
                assert found == [("x",), ("x",)]
    assert query(database, f"SELECT {quote}Name{quote} FROM test") == [(None,), (None,)]
