"""Records to files: Parquet, Avro, JSON lines and CSV, on disks and in object stores."""

from connect import MissingExtraError

try:
    import fsspec  # noqa: F401
    import pyarrow as pa  # noqa: F401
except ImportError as error:
    raise MissingExtraError("files", "the files sink") from error
