"""The files' formats: records of one schema as the bytes of a file."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from connect import DataError, MissingExtraError, Schema, SinkRecord, Type
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from connectors.json_text import to_json


class Format(Protocol):
    # Whether a value can break the schema that it comes with.
    typed: bool

    @property
    def extension(self) -> str: ...

    def check(self, record: SinkRecord) -> None:
        """Raise DataError if this record can't be in such a file."""

    def encode(self, schema: Schema | None, values: Sequence[Any]) -> bytes:
        """A whole file. DataError if a value does not fit the schema."""


def make_format(name: str, compression: str) -> Format:
    match name:
        case "parquet":
            return ParquetFormat(compression)
        case "avro":
            return AvroFormat(compression)
        case "csv":
            return CsvFormat(compression)
    return JsonFormat(compression)


def _need_struct(record: SinkRecord, name: str) -> None:
    schema = record.value_schema
    if schema is None or schema.type is not Type.STRUCT:
        raise DataError(
            f"{name} files hold structs with a schema, such as Avro's or JSON's with "
            "schemas.enable=true; this value has none"
        )


def _formless(schema: Schema, name: str, error: Exception) -> DataError:
    return DataError(f"The schema {schema!r} has no form in {name}: {error}")


def _unfit(schema: Schema, error: Exception) -> DataError:
    return DataError(f"A value does not fit its own schema {schema!r}: {error}")


def _zipped(data: bytes, compression: str) -> bytes:
    # Without the time of day in it, so that the same records make the same file.
    return gzip.compress(data, mtime=0) if compression == "gzip" else data


class JsonFormat:
    """One JSON text a line. Anything goes."""

    typed = False

    def __init__(self, compression: str) -> None:
        self._compression = compression
        self.extension = ".json.gz" if compression == "gzip" else ".json"

    def check(self, record: SinkRecord) -> None:
        pass

    def encode(self, schema: Schema | None, values: Sequence[Any]) -> bytes:  # noqa: ARG002
        return _zipped(b"\n".join([*map(to_json, values), b""]), self._compression)


class CsvFormat:
    """A line of names, then one a record. What is nested is JSON."""

    typed = False

    def __init__(self, compression: str) -> None:
        self._compression = compression
        self.extension = ".csv.gz" if compression == "gzip" else ".csv"

    def check(self, record: SinkRecord) -> None:
        if not isinstance(record.value, dict):
            raise DataError("CSV files hold structs and maps; this value is neither")

    def encode(self, schema: Schema | None, values: Sequence[Any]) -> bytes:
        if schema is not None and schema.type is Type.STRUCT:
            names = [field.name for field in schema.fields]
        else:
            names = list(dict.fromkeys(str(name) for value in values for name in value))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_cell(value.get(name)) for name in names] for value in values)
        return _zipped(text.getvalue().encode(), self._compression)


def _cell(value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    text = to_json(value).decode()
    return text[1:-1] if text.startswith('"') else text


class ParquetFormat:
    typed = True

    def __init__(self, compression: str) -> None:
        self._compression = compression
        suffix = "" if compression == "none" else f".{compression}"
        self.extension = f"{suffix}.parquet"
        self._schemas: dict[int, tuple[Schema, pa.Schema]] = {}

    def check(self, record: SinkRecord) -> None:
        _need_struct(record, "Parquet")

    def encode(self, schema: Schema | None, values: Sequence[Any]) -> bytes:
        assert schema is not None
        known = self._schemas.get(id(schema))
        if known is None:
            try:
                known = (schema, arrow_schema(schema))
            except (pa.ArrowException, KeyError, ValueError, RecursionError) as error:
                raise _formless(schema, "Parquet", error) from error
            self._schemas[id(schema)] = known
        out = io.BytesIO()
        try:
            table = pa.Table.from_pylist(values, schema=known[1])
            pq.write_table(table, out, compression=self._compression)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise _unfit(schema, error) from error
        return out.getvalue()


def arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([_arrow_field(field.name, field.schema) for field in schema.fields])


def _arrow_field(name: str, schema: Schema) -> pa.Field:
    return pa.field(name, _arrow_type(schema), nullable=schema.optional)


_ARROW = {
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}


def _arrow_type(schema: Schema) -> pa.DataType:
    match schema.name:
        case name if name == DECIMAL:
            return pa.decimal128(38, schema.scale)
        case name if name == DATE:
            return pa.date32()
        case name if name == TIME:
            return pa.time32("ms")
        case name if name == TIMESTAMP:
            return pa.timestamp("ms", tz="UTC")
    match schema.type:
        case Type.STRUCT:
            return pa.struct([_arrow_field(f.name, f.schema) for f in schema.fields])
        case Type.ARRAY if schema.value_schema is not None:
            return pa.list_(_arrow_field("element", schema.value_schema))
        case Type.MAP if schema.value_schema is not None and schema.key_schema is not None:
            return pa.map_(
                _arrow_type(schema.key_schema), _arrow_field("value", schema.value_schema)
            )
    return _ARROW[schema.type]


class AvroFormat:
    """Avro's container files."""

    typed = True

    def __init__(self, compression: str) -> None:
        try:
            import fastavro  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("avro", "the files sink's Avro format") from error
        self._fastavro = fastavro
        self._parse_error = fastavro.schema.SchemaParseException
        self._codec = "null" if compression == "none" else compression
        self.extension = ".avro"
        self._schemas: dict[int, tuple[Schema, Any]] = {}

    def check(self, record: SinkRecord) -> None:
        _need_struct(record, "Avro")

    def encode(self, schema: Schema | None, values: Sequence[Any]) -> bytes:
        assert schema is not None
        known = self._schemas.get(id(schema))
        if known is None:
            try:
                known = (schema, self._fastavro.parse_schema(_avro(schema, _Names())))
            except (self._parse_error, KeyError, ValueError, RecursionError) as error:
                raise _formless(schema, "Avro", error) from error
            self._schemas[id(schema)] = known
        out = io.BytesIO()
        # A marker of its own for each file would make the same records another file.
        marker = b"penstock-16bytes"
        try:
            self._fastavro.writer(out, known[1], values, codec=self._codec, sync_marker=marker)
        except (TypeError, ValueError, OverflowError, AttributeError, KeyError) as error:
            raise _unfit(schema, error) from error
        return out.getvalue()


class _Names:
    """The records' full names: each is defined once, and belongs to one kind of struct alone."""

    def __init__(self) -> None:
        self._count = 0
        self._defined: dict[str, Schema] = {}

    def of(self, schema: Schema, namespace: str) -> tuple[str, bool]:
        """A struct's name, and whether it is defined already."""
        self._count += 1
        wanted = schema.name or ("ConnectDefault" if self._count == 1 else f"Record{self._count}")
        if namespace and "." not in wanted:
            wanted = f"{namespace}.{wanted}"  # which is what Avro takes it for
        name, number = wanted, 1
        while (known := self._defined.get(name)) is not None:
            if schema.name and known.fields == schema.fields:
                return name, True
            number += 1
            name = f"{wanted}{number}"
        self._defined[name] = schema
        return name, False


_AVRO = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32), "int"),
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}


def _avro(schema: Schema, names: _Names, namespace: str = "") -> Any:
    made = _avro_required(schema, names, namespace)
    return ["null", made] if schema.optional else made


def _avro_required(schema: Schema, names: _Names, namespace: str) -> Any:
    match schema.name:
        case name if name == DECIMAL:
            return {"type": "bytes", "logicalType": "decimal", "precision": 64,
                    "scale": schema.scale}  # fmt: skip
        case name if name == DATE:
            return {"type": "int", "logicalType": "date"}
        case name if name == TIME:
            return {"type": "int", "logicalType": "time-millis"}
        case name if name == TIMESTAMP:
            return {"type": "long", "logicalType": "timestamp-millis"}
    match schema.type:
        case Type.STRUCT:
            name, is_defined = names.of(schema, namespace)
            if is_defined:
                return name
            inside = name.rpartition(".")[0]
            fields = [
                {"name": f.name, "type": _avro(f.schema, names, inside)} for f in schema.fields
            ]
            return {"type": "record", "name": name, "fields": fields}
        case Type.ARRAY if schema.value_schema is not None:
            return {"type": "array", "items": _avro(schema.value_schema, names, namespace)}
        case Type.MAP if schema.value_schema is not None:
            return {"type": "map", "values": _avro(schema.value_schema, names, namespace)}
    return _AVRO[schema.type]
