"""The statements that a database gets, for those that unit tests can't ask."""

from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.dialects import mysql, oracle

from connect import Schema, UnsupportedError
from connectors.jdbc.dialects import dialect_of
from connectors.jdbc.shapes import Column, Shape, TableName

SHAPE = Shape(
    TableName("orders", "shop"),
    (Column("id", Schema.STRING),),
    (Column("n", Schema.OPTIONAL_INT32), Column("at", Schema.timestamp().optional().build())),
)


class Told:
    """Stands in for a connection and keeps what it is told."""

    def exec_driver_sql(self, sql, rows):
        self.sql, self.rows = sql, rows


def told(write, rows):
    connection = Told()
    write(connection, rows)()
    return connection.sql, connection.rows


@pytest.fixture
def mysql_dialect():
    return dialect_of(mysql.dialect(paramstyle="format"), ZoneInfo("UTC"))


def test_mysql_upserts_by_duplicate_key(mysql_dialect):
    """One form for MySQL and MariaDB, which the driver turns into a statement of many rows."""
    sql, rows = told(mysql_dialect.upsert(SHAPE), [("a", 1, None)])
    assert sql == (
        "INSERT INTO `shop`.`orders` (`id`, `n`, `at`) VALUES (%s, %s, %s) "
        "ON DUPLICATE KEY UPDATE `n` = VALUES(`n`), `at` = VALUES(`at`)"
    )
    assert rows == [("a", 1, None)]


def test_update_and_delete_find_rows_by_key(mysql_dialect):
    """An update's values go before the key's, a delete has the key alone."""
    assert told(mysql_dialect.update(SHAPE), [("a", 1, None)]) == (
        "UPDATE `shop`.`orders` SET `n` = %s, `at` = %s WHERE `id` = %s",
        [(1, None, "a")],
    )
    assert told(mysql_dialect.delete(SHAPE), [("a",)]) == (
        "DELETE FROM `shop`.`orders` WHERE `id` = %s",
        [("a",)],
    )


def test_mysql_keys_have_a_length(mysql_dialect):
    """No index goes over a text without end, so a key is a VARCHAR."""
    made = " ".join(mysql_dialect.create_table(SHAPE.table, SHAPE.keys, SHAPE.rest).split())
    assert made == (
        "CREATE TABLE `shop`.`orders` ( `id` VARCHAR(255) NOT NULL, `n` INT, `at` DATETIME(6), "
        "PRIMARY KEY(`id`) )"
    )


def test_other_databases_have_no_upsert():
    """What is not possible says so, and what is."""
    with pytest.raises(UnsupportedError, match="use insert or update"):
        dialect_of(oracle.dialect(), ZoneInfo("UTC")).upsert(SHAPE)
