"""Where a batch is written, and how each place comes to have it exactly once."""

from __future__ import annotations

import importlib
import logging
import uuid
from typing import Any
from urllib.parse import urlsplit

from connect import ConfigError, ConnectError
from connect.pipeline import PipelineSpec
from spark_sink.settings import FILE_FORMATS, Output

log = logging.getLogger(__name__)


def write(output: Output, rows: Any, query: str, batch: int, spec: PipelineSpec) -> None:
    """Write a batch so that writing it again, after a crash, changes nothing if that can be."""
    if output.format in FILE_FORMATS and output.mode != "complete":
        _write_files(output, rows, query, batch)
    elif output.format == "jdbc":
        from spark_sink.jdbc import write_jdbc  # noqa: PLC0415 - needs an extra

        write_jdbc(output, rows, query, batch)
    elif output.format == "kafka" and "kafka.bootstrap.servers" not in output.options:
        from spark_sink.kafka import write_kafka  # noqa: PLC0415 - opens connections

        write_kafka(output, rows, query, batch, spec)
    elif output.format == "memory":
        from spark_sink.memory import write_memory  # noqa: PLC0415 - needs the extra

        write_memory(output, rows, batch, spec.connector)
    elif output.format == "console":
        log.info("Batch %d:\n%s", batch, rows._show_string(20, False))
    elif output.format == "foreach":
        load_function("spark.output.function", output.function)(rows, batch)
    elif output.format == "iceberg" and output.mode != "complete":
        _write_iceberg(output, rows, query, batch)
    else:
        _write_table(output, rows, query, batch)


def load_function(key: str, name: str | None) -> Any:
    """A user's `module:function`."""
    module, _, function = (name or "").partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            key, name, f"can't be imported: {error}. It must be on the PYTHONPATH of the worker, "
            "and of executors when it has functions that run there"
        ) from error  # fmt: skip


def _write_files(output: Output, rows: Any, query: str, batch: int) -> None:
    """Each batch is a folder that appears whole, under its final name, by one rename.

    A batch that comes again finds its folder and is left out. A driver that was taken for dead
    and is not loses the race for the name, and what it wrote is dropped.
    """
    target = f"{output.path}/batch={query[:8]}-{batch:08d}"
    files = _Files.of(rows.sparkSession, target)
    if files is None:
        # Without such a rename the folder is written again, with the same rows.
        _writer(output, rows).mode("overwrite").format(output.format).save(target)
        return
    if files.exists(target):
        log.info("Batch %d was written before and is left out: %s", batch, target)
        return
    staging = f"{output.path}/_staging/{uuid.uuid4().hex}"
    try:
        _writer(output, rows).mode("overwrite").format(output.format).save(staging)
        files.publish(staging, target)
    finally:
        files.delete(staging)


def _write_table(output: Output, rows: Any, query: str, batch: int) -> None:
    writer = _writer(output, rows).format(output.format)
    writer = writer.mode("overwrite" if output.mode == "complete" else "append")
    if output.format == "delta":
        # Delta keeps the last version of each application and leaves out what it has.
        writer = writer.option("txnAppId", _application(output, query)).option("txnVersion", batch)
    if output.table:
        writer.saveAsTable(output.table)
    else:
        writer.save(output.path)


# What a snapshot of an Iceberg table tells of the batch that it came of.
_QUERY, _BATCH = "penstock.query", "penstock.batch"


def _write_iceberg(output: Output, rows: Any, query: str, batch: int) -> None:
    """The snapshot of a batch has its number; one whose number is there is left out.

    Expired snapshots are forgotten, but never the table's last, and a batch that comes again is
    the query's last.
    """
    spark, application = rows.sparkSession, _application(output, query)
    if spark.catalog.tableExists(output.table):
        written = (
            spark.table(f"{output.table}.snapshots")
            .where(f"summary['{_QUERY}'] = '{application}' AND summary['{_BATCH}'] = '{batch}'")
            .count()
        )
        if written:
            log.info("Batch %d was written before and is left out: %s", batch, output.table)
            return
    writer = _writer(output, rows).format("iceberg").mode("append")
    writer = writer.option(f"snapshot-property.{_QUERY}", application)
    writer.option(f"snapshot-property.{_BATCH}", batch).saveAsTable(output.table)


def _application(output: Output, query: str) -> str:
    return f"{query}/{output.name}" if output.name else query


def _writer(output: Output, rows: Any) -> Any:
    writer = rows.write.options(**output.options)
    return writer.partitionBy(*output.partition_by) if output.partition_by else writer


# File systems that rename a folder as a whole or not at all. Object stores copy it piece by piece,
# and a driver killed meanwhile leaves a part of it under the final name.
_ATOMIC = frozenset({"file", "hdfs", "viewfs"})


class _Files:
    """The file system of an output, by Hadoop's API, which the driver's JVM has."""

    def __init__(self, jvm: Any, configuration: Any, uri: str) -> None:
        self._path = jvm.org.apache.hadoop.fs.Path
        self._context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self._path(uri).toUri(), configuration
        )
        self._rename = jvm.org.apache.hadoop.fs.Options.Rename

    @classmethod
    def of(cls, session: Any, path: str) -> _Files | None:
        """None where nothing can be renamed at once: in object stores, and over Spark Connect."""
        jvm = getattr(session, "_jvm", None)
        if jvm is None:
            return None
        configuration = session._jsc.hadoopConfiguration()
        uri = path if urlsplit(path).scheme else configuration.get("fs.defaultFS")
        return cls(jvm, configuration, uri) if urlsplit(uri).scheme in _ATOMIC else None

    def exists(self, path: str) -> bool:
        return bool(self._context.util().exists(self._path(path)))

    def publish(self, source: str, target: str) -> None:
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - needs the extra

        try:
            self._context.rename(self._path(source), self._path(target), self._no_options())
        except Py4JJavaError as error:
            if "FileAlreadyExists" in error.java_exception.getClass().getName():
                raise ConnectError(
                    f"{target} was written by another driver at the same time. One connector has "
                    "one checkpoint and one output; restart the task to go on behind it."
                ) from error
            raise

    def _no_options(self) -> Any:
        from pyspark import SparkContext  # noqa: PLC0415 - needs the extra

        gateway = SparkContext._gateway
        assert gateway is not None
        return gateway.new_array(self._rename, 0)

    def delete(self, path: str) -> None:
        self._context.delete(self._path(path), True)
