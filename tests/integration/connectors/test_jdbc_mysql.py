"""The JDBC connectors against a real MySQL or MariaDB, where MYSQL_URL names one."""

import os
import uuid

import pytest
from sqlalchemy import create_engine, text

from connect import Schema
from connect.testing import SinkHarness, SourceHarness
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.source import JdbcSourceConnector
from connectors.jdbc.urls import database_url

KEY = Schema.struct().field("id", Schema.INT64).build()
ROW = Schema.struct().field("id", Schema.INT64).field("name", Schema.OPTIONAL_STRING).build()


@pytest.fixture
def table():
    """A table's name of the test's own, gone afterwards, and the server's URL."""
    url = os.environ.get("MYSQL_URL")
    if not url:
        pytest.skip("MYSQL_URL names no MySQL or MariaDB server, such as mysql://root@host/test")
    name = f"t_{uuid.uuid4().hex[:8]}"
    yield url, name
    with create_engine(database_url(url)).begin() as db:
        db.execute(text(f"DROP TABLE IF EXISTS {name}"))


def test_rows_go_in_and_come_out(table):
    """Upserts and deletes leave the last state, and the source reads it."""
    url, name = table
    settings = {
        "connection.url": url, "table.name.format": name, "insert.mode": "upsert",
        "pk.mode": "record_key", "delete.enabled": "true", "auto.create": "true",
    }  # fmt: skip
    with SinkHarness(JdbcSinkConnector, settings) as sink:
        for number, text_ in [(1, "a"), (2, "b"), (1, "c"), (2, None), (3, "d")]:
            value = None if text_ is None else {"id": number, "name": text_}
            schema = None if text_ is None else ROW
            sink.record(value, schema=schema, key={"id": number}, key_schema=KEY)
        sink.deliver()
    assert sink.reported == []
    settings = {
        "connection.url": url, "table.whitelist": name, "mode": "incrementing",
        "incrementing.column.name": "id", "topic.prefix": "my-",
    }  # fmt: skip
    with SourceHarness(JdbcSourceConnector, settings) as source:
        records = source.poll(2)
    assert [record.value for record in records] == [{"id": 1, "name": "c"}, {"id": 3, "name": "d"}]
