"""Where the database is: JDBC's URLs and SQLAlchemy's, both as SQLAlchemy's."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from connect import ConfigError, ConfigValue

log = logging.getLogger(__name__)

KEY = "connection.url"

# The driver that is used when a URL names only the database.
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
    "sqlite": "sqlite",
}

# Parameters of the JVM's drivers that have the same meaning under another name here.
_POSTGRES = {
    "sslmode": "sslmode",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslrootcert": "sslrootcert",
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "options": "options",
    "targetServerType": "target_session_attrs",
    "application_name": "application_name",
    "connect_timeout": "connect_timeout",
    "target_session_attrs": "target_session_attrs",
}
_MYSQL = {"connectTimeout": "connect_timeout", "characterEncoding": "charset", "charset": "charset"}


def check_url(url: ConfigValue) -> None:
    """For a connector's validation: what is wrong with the URL, beside its key."""
    if url.value and not url.errors:
        try:
            database_url(url.value)
        except ConfigError as error:
            url.errors.append(str(error))


def database_url(text: str, user: str | None = None, password: str | None = None) -> URL:
    """The URL of an engine. User and password given beside the URL win over those inside.

    ConfigError, without the password, when the text is no URL of a database we can reach.
    """
    jdbc = text.startswith("jdbc:")
    try:
        url = _from_jdbc(text[5:]) if jdbc else make_url(text)
    except (ArgumentError, ValueError) as error:
        raise ConfigError(
            KEY, _without_password(text), "is neither a JDBC URL, such as "
            "jdbc:postgresql://host:5432/db, nor one of SQLAlchemy, such as postgresql://host/db",
        ) from (None if isinstance(error, ArgumentError) else error)  # fmt: skip
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    if user is not None:
        url = url.set(username=user)
    if password is not None:
        url = url.set(password=password)
    try:
        url.get_dialect()
    except NoSuchModuleError as error:
        raise ConfigError(
            KEY, shown(url), f"there is no SQLAlchemy dialect for '{url.drivername}': install the "
            "package that brings it, or use postgresql, mysql, mariadb or sqlite",
        ) from error  # fmt: skip
    return url


def shown(url: URL) -> str:
    """The URL for people: without its password."""
    return url.render_as_string(hide_password=True)


def _without_password(text: str) -> str:
    head, at, tail = text.rpartition("@")
    scheme, slashes, _ = head.partition("://")
    if not at:
        return text.partition("?")[0]
    return f"{scheme if slashes else ''}{slashes}***@{tail}"


def _from_jdbc(text: str) -> URL:
    """What stands behind `jdbc:`."""
    kind, _, rest = text.partition(":")
    if kind == "sqlite":
        path = rest.removeprefix("//") if rest.startswith("///") else rest
        return URL.create("sqlite", database=path.partition("?")[0] or None)
    place, _, query = rest.partition("?")
    params = dict(parse_qsl(query, keep_blank_values=True))
    if kind in ("postgresql", "postgres") and not place.startswith("//"):
        place = f"//localhost/{quote(place)}"
    url = make_url(f"{kind}:{place}")
    user, password = params.pop("user", None), params.pop("password", None)
    if user is not None:
        url = url.set(username=user)
    if password is not None:
        url = url.set(password=password)
    if kind in ("postgresql", "postgres"):
        return url.set(query=_postgres_query(params))
    if kind in ("mysql", "mariadb"):
        return url.set(query=_known(params, _MYSQL))
    return url.set(query=params)


def _postgres_query(params: dict[str, str]) -> dict[str, str]:
    schema = params.pop("currentSchema", None)
    ssl = params.pop("ssl", "false")
    query = _known(params, _POSTGRES)
    if ssl in ("", "true") and "sslmode" not in query:
        query["sslmode"] = "verify-full"
    if schema:
        query["options"] = f"{query.get('options', '')} -csearch_path={schema}".strip()
    return query


def _known(params: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(set(params) - set(names))
    if unknown:
        log.warning(
            "Parameters of %s that mean something to a JVM driver only are left out: %s",
            KEY,
            ", ".join(unknown),
        )
    return {names[key]: value for key, value in params.items() if key in names}
