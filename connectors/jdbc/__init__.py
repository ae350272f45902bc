"""Tables of SQL databases, as source and as sink.

urls.py       JDBC and SQLAlchemy URLs
database.py   connections, and which errors pass by themselves
dialects.py   what differs between databases: types, upserts, how rows are written
sink*.py, rows.py, tables.py             records into tables
source*.py, criteria.py, columns.py      tables into records
"""

from connect import MissingExtraError

try:
    import sqlalchemy  # noqa: F401
except ImportError as error:
    raise MissingExtraError("jdbc", "a JDBC connector") from error
