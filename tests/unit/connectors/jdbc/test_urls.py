"""URLs of databases."""

import pytest

from connect import ConfigError
from connectors.jdbc.urls import database_url, shown


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("jdbc:postgresql://db:5433/shop", "postgresql+psycopg://db:5433/shop"),
        (
            "jdbc:postgresql://db/shop?user=me&password=a%26b&sslmode=require",
            "postgresql+psycopg://me:a%26b@db/shop?sslmode=require",
        ),
        ("jdbc:postgresql:shop", "postgresql+psycopg://localhost/shop"),
        (
            "jdbc:postgresql://db/shop?currentSchema=x&ssl=true&reWriteBatchedInserts=true",
            "postgresql+psycopg://db/shop?options=-csearch_path%3Dx&sslmode=verify-full",
        ),
        ("jdbc:mysql://db:3306/shop?useSSL=false", "mysql+pymysql://db:3306/shop"),
        ("jdbc:mariadb://db/shop", "mariadb+pymysql://db/shop"),
        ("jdbc:sqlite:/data/x.db", "sqlite:////data/x.db"),
        ("jdbc:sqlite:x.db", "sqlite:///x.db"),
        ("postgresql://me@db/shop", "postgresql+psycopg://me@db/shop"),
        ("sqlite:////data/x.db", "sqlite:////data/x.db"),
    ],
)
def test_urls_are_taken_as_jdbc_and_as_sqlalchemy_write_them(given, expected):
    """Both forms lead to the same place; a JVM driver's own parameters are left out."""
    assert database_url(given).render_as_string(hide_password=False) == expected


def test_user_and_password_beside_the_url_win():
    """The keys of the config stand above what the URL says."""
    url = database_url("jdbc:postgresql://old:old@db/shop", "new", "p@ss")
    assert (url.username, url.password) == ("new", "p@ss")


def test_password_is_never_shown():
    """What people see has stars; that goes for URLs that make no sense, too."""
    assert "secret" not in shown(database_url("postgresql://me:secret@db/shop"))
    for url in ("oracel://me:secret@db/x", "jdbc:post gres://me:secret@db:x/y", "::me:secret@db"):
        with pytest.raises(ConfigError) as raised:
            database_url(url)
        assert "secret" not in str(raised.value)
