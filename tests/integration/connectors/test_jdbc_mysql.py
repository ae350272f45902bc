"""The JDBC connectors against a real MariaDB or MySQL."""

import datetime as dt
import uuid
from decimal import Decimal

import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from connect import ConnectError, Schema
from connect.testing import SinkHarness, SourceHarness
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.source import JdbcSourceConnector
from connectors.jdbc.urls import database_url

KEY = Schema.struct().field("id", Schema.INT64).build()
ROW = (
    Schema.struct()
    .field("id", Schema.INT64)
    .field("name", Schema.OPTIONAL_STRING)
    .field("price", Schema.decimal(2).optional().build())
    .build()
)


class Table:
    """A table's name of the test's own, and SQL against its server."""

    def __init__(self, url):
        self.url = url
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self._engine = create_engine(database_url(url), poolclass=NullPool)

    def run(self, sql):
        with self._engine.begin() as db:
            done = db.exec_driver_sql(sql.replace("{t}", self.name))
            return [tuple(row) for row in done] if done.returns_rows else []

    def rows(self, columns="id, name"):
        return self.run(f"SELECT {columns} FROM {{t}} ORDER BY id")

    def sink(self, **more):
        return SinkHarness(JdbcSinkConnector, self._config(table_name_format=self.name, **more))

    def source(self, **more):
        named = {} if "query" in more else {"table_whitelist": self.name}
        settings = {"topic_prefix": "my-", "poll_interval_ms": 10, **named, **more}
        return SourceHarness(JdbcSourceConnector, self._config(**settings))

    def _config(self, **more):
        settings = {k.replace("_", "."): str(v) for k, v in more.items()}
        return {"connection.url": self.url, **settings}


@pytest.fixture
def table(mariadb):
    made = Table(mariadb)
    yield made
    made.run("DROP TABLE IF EXISTS {t}")


def row(number, name="x", price="1.50"):
    return {"id": number, "name": name, "price": Decimal(price)}


def test_every_mode_writes_what_it_says(table):
    """Upserts and deletes in their order, updates of what is there, plain inserts, a new column."""
    by_key = {"pk_mode": "record_key", "auto_create": "true", "auto_evolve": "true"}
    with table.sink(insert_mode="upsert", delete_enabled="true", **by_key) as sink:
        for number, name in [(1, "a"), (2, "b"), (1, "ü😀"), (2, None), (3, "d"), (2, "again")]:
            value = None if name is None else row(number, name)
            schema = None if name is None else ROW
            sink.record(value, schema=schema, key={"id": number}, key_schema=KEY)
        sink.deliver()
        wider = Schema.struct().field("id", Schema.INT64).field("more", Schema.OPTIONAL_INT32)
        sink.record({"id": 3, "more": 7}, schema=wider.build(), key={"id": 3}, key_schema=KEY)
        sink.deliver()
    assert table.rows("id, name, more") == [(1, "ü😀", None), (2, "again", None), (3, "d", 7)]
    with table.sink(insert_mode="update", pk_mode="record_key") as sink:
        for number in (1, 9):
            sink.record(row(number, "up"), schema=ROW, key={"id": number}, key_schema=KEY)
        sink.deliver()
    with table.sink() as sink:
        sink.put(row(10), row(11), schema=ROW)
    assert [r[0] for r in table.rows()] == [1, 2, 3, 10, 11]
    assert table.rows()[0] == (1, "up")


def test_every_type_goes_in_and_comes_out(table):
    """What the sink has written the source reads, with nothing lost."""
    at = dt.datetime(2024, 7, 6, 5, 4, 3, 210000, tzinfo=dt.UTC)
    values = {
        "id": (Schema.INT64, 9007199254740993),
        "tiny": (Schema.INT8, -7),
        "small": (Schema.INT16, -700),
        "i": (Schema.INT32, 70000),
        "r": (Schema.FLOAT32, 0.5),
        "d": (Schema.FLOAT64, 1e300),
        "money": (Schema.decimal(4).build(), Decimal("12345678901234567890.1234")),
        "yes": (Schema.BOOLEAN, True),
        "text": (Schema.STRING, "ünï" * 50_000),
        "raw": (Schema.BYTES, b"\x00\xff"),
        "day": (Schema.date().build(), dt.date(2024, 2, 29)),
        "clock": (Schema.time().build(), dt.time(23, 59, 59, 999000)),
        "at": (Schema.timestamp().build(), at),
    }
    builder = Schema.struct()
    for name, (schema, _) in values.items():
        builder.field(name, schema)
    written = {name: value for name, (_, value) in values.items()}
    with table.sink(auto_create="true", pk_mode="record_value", pk_fields="id") as sink:
        sink.put(written, schema=builder.build())
    assert sink.reported == []
    with table.source(mode="incrementing", incrementing_column_name="id") as source:
        (record,) = source.poll(1)
    # MySQL's BOOLEAN is a TINYINT(1).
    assert record.value == {**written, "yes": 1}
    types = {field.name: field.schema.type for field in record.value_schema.fields}
    assert all(
        types[name] is schema.type
        for name, (schema, _) in values.items()
        if name not in {"yes", "r"}
    )


def test_only_the_guilty_rows_are_reported(table):
    """With the server's own words; the others are written."""
    table.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, name VARCHAR(3), price DECIMAL(5,2))")
    with table.sink() as sink:
        sink.put(row(1), row(2, "too long"), row(3), row(3), row(4, price="123456.00"), schema=ROW)
    told = [(r.value["id"], str(error)) for r, error in sink.reported]
    assert [number for number, _ in told] == [2, 3, 4]
    assert "Data too long for column 'name'" in told[0][1]
    assert "Duplicate entry '3'" in told[1][1]
    assert "Out of range value for column 'price'" in told[2][1]
    assert [r[0] for r in table.rows()] == [1, 3]


def test_lost_connection_is_made_anew(table):
    """Killed by the server between batches: the batch is tried again, no record is blamed."""
    with table.sink(auto_create="true", retry_backoff_ms=10) as sink:
        sink.put(row(1), schema=ROW)
        sink.flush()
        own = sink.task._database.connection().exec_driver_sql("SELECT connection_id()").scalar()
        sink.task._database.connection().rollback()
        table.run(f"KILL {own}")
        sink.put(row(2), schema=ROW)
        sink.flush()
        again = sink.task._database.connection().exec_driver_sql("SELECT connection_id()").scalar()
    assert again != own
    assert sink.reported == []
    assert [r[0] for r in table.rows()] == [1, 2]


def test_wrong_password_is_told_without_it(table):
    """The server's reason, at once, and not the password."""
    sink = table.sink(connection_password="sesame", connection_attempts=3)
    with pytest.raises(ConnectError, match="Access denied for user") as refused:
        sink.start()
    assert "sesame" not in str(refused.value)


def test_source_reads_what_is_new_in_every_mode(table):
    """Bulk reads all again; the others go on behind the last row, after a restart as well."""
    table.run(
        "CREATE TABLE {t} (id BIGINT AUTO_INCREMENT PRIMARY KEY, name TEXT, "
        "changed DATETIME(6) NOT NULL DEFAULT '2024-01-01 00:00:00.000001')"
    )
    table.run("INSERT INTO {t} (name) VALUES ('a'), ('b'), ('c')")
    with table.source(mode="bulk") as source:
        assert [r.value["name"] for r in source.poll(6)] == list("abcabc")
    moments = {"timestamp_column_name": "changed", "db_timezone": "UTC"}
    for mode, more in (
        ("incrementing", {}),  # the column that counts is found
        ("timestamp", moments),
        ("timestamp+incrementing", {**moments, "incrementing_column_name": "id"}),
    ):
        table.run("DELETE FROM {t} WHERE id > 3")
        source = table.source(mode=mode, batch_max_rows=2, **more)
        with source:
            assert [r.value["name"] for r in source.poll(3)] == list("abc"), mode
            source.commit()
        table.run("INSERT INTO {t} (name, changed) VALUES ('d', '2024-01-01 00:00:00.000002')")
        with source:
            assert [r.value["name"] for r in source.poll(1)] == ["d"], mode
    query = f"SELECT id, upper(name) AS big FROM {table.name}"
    with table.source(mode="incrementing", incrementing_column_name="id", query=query) as source:
        assert [r.value["big"] for r in source.poll(4)] == list("ABCD")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
@pytest.mark.parametrize("as_query", [False, True], ids=["table", "query"])
def test_rows_are_read_once_by_the_clock_of_any_zone(table, zone, as_query):
    """DATETIMEs are wall clocks of db.timezone: no row is overlooked and none comes again."""
    table.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, changed DATETIME(6) NOT NULL)")
    table.run("INSERT INTO {t} VALUES (1, '2024-07-01 08:00:00'), (2, '2024-07-01 08:01:00')")
    what = {"query": f"SELECT * FROM {table.name}"} if as_query else {}
    moments = {"timestamp_column_name": "changed", "db_timezone": zone}
    with table.source(mode="timestamp", **moments, **what) as source:
        seen = source.poll(2)
        table.run("INSERT INTO {t} VALUES (3, '2024-07-01 08:02:00')")
        seen += source.poll(1)
    assert [record.value["id"] for record in seen] == [1, 2, 3]


def test_querys_columns_have_types_without_a_row(table):
    """A first result that is empty, or null, leaves numbers numbers and bytes bytes."""
    table.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, price DECIMAL(10,2), raw BLOB, at DATETIME(6))"
    )
    query = f"SELECT * FROM {table.name}"
    source = table.source(mode="incrementing", incrementing_column_name="id", query=query)
    with source:
        assert source.poll_once() == []
        table.run("INSERT INTO {t} (id) VALUES (1)")
        (nulls,) = source.poll(1)
        table.run("INSERT INTO {t} VALUES (2, 1.5, x'ff', '2024-01-01 00:00:00')")
        (record,) = source.poll(1)
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert record.value == {"id": 2, "price": Decimal("1.50"), "raw": b"\xff", "at": at}
    assert nulls.value_schema.field("price") == record.value_schema.field("price")
    assert nulls.value_schema.field("at") == record.value_schema.field("at")


@pytest.mark.filterwarnings("ignore:Did not recognize type")
@pytest.mark.parametrize("as_query", [False, True], ids=["table", "query"])
def test_bits_and_unsigned_numbers_are_read_as_they_are(table, as_query):
    """One bit is a boolean, more are a number or bytes; nothing is cut off or mangled."""
    table.run(
        "CREATE TABLE {t} (id BIGINT PRIMARY KEY, one BIT(1), some BIT(12), full BIT(64), "
        "small SMALLINT UNSIGNED, place POINT)"
    )
    table.run("INSERT INTO {t} VALUES (1, 1, 4000, ~0, 65535, ST_GeomFromText('POINT(1 2)'))")
    what = {"query": f"SELECT * FROM {table.name}"} if as_query else {}
    with table.source(mode="incrementing", incrementing_column_name="id", **what) as source:
        (record,) = source.poll(1)
    values = dict(record.value)
    assert len(values.pop("place")) == 25  # the number of its system, and the well-known binary
    assert values == {"id": 1, "one": True, "some": 4000, "full": b"\xff" * 8, "small": 65535}
    types = {field.name: field.schema.type.value for field in record.value_schema.fields}
    assert types == {
        "id": "int64",
        "one": "boolean",
        "some": "int64",
        "full": "bytes",
        "small": "int64" if as_query else "int32",
        "place": "bytes",
    }
