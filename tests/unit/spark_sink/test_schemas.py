"""Connect's schemas as Spark's columns."""

import pytest
from pyspark.sql import types as spark

from connect import ConfigError, ConnectError, Schema, SchemaBuilder, Type
from connect.data.schema import DECIMAL
from spark_sink.registry import example
from spark_sink.schemas import columns_of, merged, row_ddl, row_type


def struct(**fields):
    return spark.StructType([spark.StructField(name, kind) for name, kind in fields.items()])


def test_every_connect_type_has_a_column():
    """Primitive, logical and nested types become what docs/spark.md says."""
    inner = Schema.struct().field("a", Schema.FLOAT32).build()
    schema = (
        Schema.struct()
        .field("i8", Schema.INT8)
        .field("i16", Schema.INT16)
        .field("i32", Schema.INT32)
        .field("i64", Schema.INT64)
        .field("f32", Schema.FLOAT32)
        .field("f64", Schema.FLOAT64)
        .field("b", Schema.BOOLEAN)
        .field("s", Schema.STRING)
        .field("y", Schema.BYTES)
        .field("d", SchemaBuilder(Type.BYTES).name(DECIMAL).parameter("scale", "2").build())
        .field("list", Schema.array(inner).build())
        .field("map", Schema.map(Schema.STRING, Schema.OPTIONAL_INT64).build())
        .build()
    )
    assert columns_of(schema).simpleString() == (
        "struct<i8:tinyint,i16:smallint,i32:int,i64:bigint,f32:float,f64:double,b:boolean,"
        "s:string,y:binary,d:decimal(38,2),list:array<struct<a:float>>,map:map<string,bigint>>"
    )
    schema.validate(example(schema))


def test_a_bare_value_is_the_column_value():
    """A value that is no struct has one column, `value`."""
    assert columns_of(Schema.STRING).simpleString() == "struct<value:string>"


def test_schemas_are_merged_by_name_and_widened():
    """Fields of any version are columns; numbers get the wider type, others must agree."""
    one = struct(a=spark.IntegerType(), b=spark.StringType())
    two = struct(a=spark.LongType(), c=struct(x=spark.FloatType()))
    three = struct(c=struct(x=spark.DoubleType(), y=spark.NullType()))
    assert merged([one, two, three]).simpleString() == (
        "struct<a:bigint,b:string,c:struct<x:double,y:void>>"
    )
    with pytest.raises(ConnectError, match="Field b is string in some records and int in others"):
        merged([one, struct(b=spark.IntegerType())])


def test_columns_take_nulls_and_names_do_not_clash():
    """NOT NULL and a field called `_kafka` are refused with the way out."""
    with pytest.raises(ConfigError, match="NOT NULL"):
        row_ddl("id BIGINT NOT NULL")
    assert row_ddl("id BIGINT").startswith("id BIGINT, _kafka struct<topic:string,")
    with pytest.raises(ConnectError, match="ReplaceField"):
        row_type(struct(_kafka=spark.StringType()))
