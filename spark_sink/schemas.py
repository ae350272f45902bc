"""Connect's schemas as Spark's types, and the columns every row has."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import types as spark

from connect import ConfigError, ConnectError, Schema, Type
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP

KAFKA = "_kafka"
ERROR = "_error"
VALUE = "value"

_PRIMITIVE: dict[Type, spark.DataType] = {
    Type.INT8: spark.ByteType(),
    Type.INT16: spark.ShortType(),
    Type.INT32: spark.IntegerType(),
    Type.INT64: spark.LongType(),
    Type.FLOAT32: spark.FloatType(),
    Type.FLOAT64: spark.DoubleType(),
    Type.BOOLEAN: spark.BooleanType(),
    Type.STRING: spark.StringType(),
    Type.BYTES: spark.BinaryType(),
}

_LOGICAL: dict[str, spark.DataType] = {
    DATE: spark.DateType(),
    # Milliseconds of the day, as Connect itself stores it: few formats have a time without date.
    TIME: spark.IntegerType(),
    TIMESTAMP: spark.TimestampType(),
}

# Connect's Decimal has a scale and no precision; Avro's precision comes along as a parameter.
_PRECISION = "connect.decimal.precision"
_MAX_PRECISION = 38

KAFKA_TYPE = spark.StructType(
    [
        spark.StructField("topic", spark.StringType()),
        spark.StructField("partition", spark.IntegerType()),
        spark.StructField("offset", spark.LongType()),
        spark.StructField("timestamp", spark.TimestampType()),
        spark.StructField("timestampType", spark.IntegerType()),
        spark.StructField("key", spark.BinaryType()),
        spark.StructField(
            "headers",
            spark.ArrayType(
                spark.StructType(
                    [
                        spark.StructField("key", spark.StringType()),
                        spark.StructField("value", spark.BinaryType()),
                    ]
                )
            ),
        ),
    ]
)

ERROR_TYPE = spark.StructType(
    [
        *(
            spark.StructField(name, spark.StringType())
            for name in ("stage", "class", "exception", "message", "stacktrace")
        ),
        spark.StructField("value", spark.BinaryType()),
    ]
)


_NOT_NULL = re.compile(r"\bNOT\s+NULL\b", re.IGNORECASE)


def row_type(columns: spark.StructType) -> spark.StructType:
    """The value's columns, all nullable, with `_kafka` and `_error` behind them."""
    taken = [name for name in columns.fieldNames() if name.lower() in (KAFKA, ERROR)]
    if taken:
        raise ConnectError(
            f"The value has a field {taken[0]}, and the data source a column of that name. Rename "
            "the field with the transform ReplaceField."
        )
    return spark.StructType(
        [
            *(spark.StructField(f.name, _nullable(f.dataType)) for f in columns.fields),
            spark.StructField(KAFKA, KAFKA_TYPE),
            spark.StructField(ERROR, ERROR_TYPE),
        ]
    )


def row_ddl(ddl: str) -> str:
    """The same for columns given as DDL, which only Spark can parse."""
    if _NOT_NULL.search(ddl):
        raise ConfigError(
            "spark.schema", ddl, "has a NOT NULL column: tombstones and records that failed are "
            "rows of nulls, so every column must take them"
        )  # fmt: skip
    behind = ", ".join(
        f"{name} {kind.simpleString()}" for name, kind in ((KAFKA, KAFKA_TYPE), (ERROR, ERROR_TYPE))
    )
    return f"{ddl.strip().rstrip(',')}, {behind}"


def columns_of(schema: Schema) -> spark.StructType:
    """The columns for values of a schema: a struct's fields, or the one column `value`."""
    found = spark_type(schema)
    if isinstance(found, spark.StructType):
        return found
    return spark.StructType([spark.StructField(VALUE, found)])


def spark_type(schema: Schema, inside: tuple[Schema, ...] = ()) -> spark.DataType:
    """The Spark type that holds every value of a Connect schema."""
    if schema.name == DECIMAL:
        precision = int(schema.parameters.get(_PRECISION, _MAX_PRECISION))
        return spark.DecimalType(min(precision, _MAX_PRECISION), schema.scale)
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.type.is_primitive:
        return _PRIMITIVE[schema.type]
    if any(schema is outer for outer in inside):
        raise ConnectError(
            f"The schema {schema.name or schema.type.name} contains itself, which no Spark type "
            "can. Name the columns you want in spark.schema, to the depth you want."
        )
    inside = (*inside, schema)
    if schema.type is Type.STRUCT:
        return spark.StructType(
            [spark.StructField(f.name, spark_type(f.schema, inside)) for f in schema.fields]
        )
    assert schema.value_schema is not None
    items = spark_type(schema.value_schema, inside)
    if schema.type is Type.ARRAY:
        return spark.ArrayType(items)
    assert schema.key_schema is not None
    return spark.MapType(spark_type(schema.key_schema, inside), items)


def merged(found: Iterable[spark.StructType]) -> spark.StructType:
    """All columns of several schemas, in the order in which they appear.

    Numbers are widened; ConnectError names a column whose types have nothing in common.
    """
    columns: dict[str, spark.DataType] = {}
    for schema in found:
        for field in schema.fields:
            known = columns.setdefault(field.name, field.dataType)
            columns[field.name] = _wider(field.name, known, field.dataType)
    return spark.StructType([spark.StructField(n, t) for n, t in columns.items()])


_WIDTH = ("tinyint", "smallint", "int", "bigint", "float", "double")


def _wider(name: str, one: spark.DataType, other: spark.DataType) -> spark.DataType:
    if one == other or isinstance(other, spark.NullType):
        return one
    if isinstance(one, spark.NullType):
        return other
    if isinstance(one, spark.StructType) and isinstance(other, spark.StructType):
        return merged([one, other])
    if isinstance(one, spark.ArrayType) and isinstance(other, spark.ArrayType):
        return spark.ArrayType(_wider(name, one.elementType, other.elementType))
    names = one.simpleString(), other.simpleString()
    if all(n in _WIDTH for n in names):
        wider = one if _WIDTH.index(names[0]) > _WIDTH.index(names[1]) else other
        # A float holds no int exactly, a double all but the largest.
        return spark.DoubleType() if "float" in names else wider
    raise ConnectError(
        f"Field {name} is {names[0]} in some records and {names[1]} in others. Say in spark.schema "
        "which it is to be; records that do not fit then fail one by one."
    )


def _nullable(type: spark.DataType) -> spark.DataType:
    if isinstance(type, spark.StructType):
        return spark.StructType(
            [spark.StructField(f.name, _nullable(f.dataType)) for f in type.fields]
        )
    if isinstance(type, spark.ArrayType):
        return spark.ArrayType(_nullable(type.elementType))
    if isinstance(type, spark.MapType):
        return spark.MapType(_nullable(type.keyType), _nullable(type.valueType))
    return type
