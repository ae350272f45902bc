"""Every transform and predicate, with configs picked by hand, over every kind of record."""

from __future__ import annotations

from tests.conformance.converter_cases import DECIMAL, STRUCT, S
from tests.conformance.samples import samples
from tests.conformance.scenarios import (
    SinkScenario,
    SourceScenario,
    line,
    smt,
    timed,
    transforms,
)

_LOGICAL = "org.apache.kafka.connect.data."
_PREDICATE = "org.apache.kafka.connect.transforms.predicates."

CHAINS = {
    # Cast
    "cast fields": [smt("Cast$Value", spec="id:string,small:int64,ratio:float64,ok:int8")],
    "cast to text": [
        smt("Cast$Value",
            spec="price:string,when:string,day:string,tod:string,raw:string,exact:string")
    ],
    "cast narrow": [smt("Cast$Value", spec="id:int8,total:int16,exact:float32,count:boolean")],
    "cast text": [smt("Cast$Value", spec="text:int32,name:boolean")],
    "cast text to float": [smt("Cast$Value", spec="text:float64")],
    "cast logical to number": [
        smt("Cast$Value", spec="when:int64,day:int32,tod:int32,price:float64")
    ],
    "cast defaults": [
        smt("Cast$Value", spec="total:string,note:string", replace_null_with_default="false")
    ],
    "cast missing": [smt("Cast$Value", spec="nowhere:int32")],
    "cast whole to text": [smt("Cast$Value", spec="string")],
    "cast whole to int64": [smt("Cast$Value", spec="int64")],
    "cast whole to boolean": [smt("Cast$Value", spec="boolean")],
    "cast struct field": [smt("Cast$Value", spec="address:string")],
    "cast key": [smt("Cast$Key", spec="id:int64,region:string")],
    "cast whole key": [smt("Cast$Key", spec="string")],
    # DropHeaders, InsertHeader, HeaderFrom
    "drop headers": [smt("DropHeaders", headers="app,n,none")],
    "insert header text": [smt("InsertHeader", header="app", value_literal="late")],
    "insert header number": [smt("InsertHeader", header="n", value_literal="32768")],
    "insert header list": [smt("InsertHeader", header="l", value_literal="[1, 2, 300]")],
    "insert header map": [smt("InsertHeader", header="m", value_literal='{"a": 1.5}')],
    "insert header time": [
        smt("InsertHeader", header="t", value_literal="2020-01-02T03:04:05.006Z")
    ],
    "insert header null": [smt("InsertHeader", header="z", value_literal="null")],
    "insert then drop": [
        smt("InsertHeader", header="x", value_literal="1"),
        smt("DropHeaders", headers="x"),
    ],
    "header from copy": [
        smt("HeaderFrom$Value", fields="id,name", headers="hid,hname", operation="copy")
    ],
    "header from move": [
        smt("HeaderFrom$Value", fields="id,price,note", headers="a,b,c", operation="move")
    ],
    "header from default as null": [
        smt("HeaderFrom$Value", fields="note,total", headers="a,b", operation="move",
            replace_null_with_default="false")
    ],
    "header from key": [smt("HeaderFrom$Key", fields="id", headers="kid", operation="copy")],
    # ExtractField
    "extract field": [smt("ExtractField$Value", field="name")],
    "extract struct": [smt("ExtractField$Value", field="address")],
    "extract logical": [smt("ExtractField$Value", field="price")],
    "extract default": [smt("ExtractField$Value", field="note")],
    "extract null for default": [
        smt("ExtractField$Value", field="note", replace_null_with_default="false")
    ],
    "extract nested": [
        smt("ExtractField$Value", field="address.geo.lat", field_syntax_version="V2")
    ],
    "extract dotted name": [smt("ExtractField$Value", field="address.geo.lat")],
    "extract quoted": [
        smt("ExtractField$Value", field="`address`.street", field_syntax_version="V2")
    ],
    "extract badly quoted": [
        smt("ExtractField$Value", field="`address.street", field_syntax_version="V2")
    ],
    "extract key": [smt("ExtractField$Key", field="id")],
    # Flatten
    "flatten": [smt("Flatten$Value")],
    "flatten with underscores": [smt("Flatten$Value", delimiter="_")],
    "flatten key": [smt("Flatten$Key")],
    "hoist and flatten": [smt("HoistField$Value", field="all"), smt("Flatten$Value")],
    # HoistField
    "hoist": [smt("HoistField$Value", field="wrapped")],
    "hoist key": [smt("HoistField$Key", field="k")],
    # InsertField
    "insert static": [smt("InsertField$Value", static_field="from", static_value="shop")],
    "insert all": [
        smt("InsertField$Value", topic_field="t", partition_field="p!", offset_field="o?",
            timestamp_field="ts", static_field="s!", static_value="v")
    ],
    "insert over a field": [smt("InsertField$Value", static_field="name", static_value="Bob")],
    "insert nothing": [smt("InsertField$Value")],
    "insert half": [smt("InsertField$Value", static_field="s")],
    "insert key": [smt("InsertField$Key", static_field="s", static_value="v", timestamp_field="w")],
    # MaskField
    "mask fields": [smt("MaskField$Value", fields="id,name,ratio,exact,ok,when,day,tod,raw")],
    "mask lists": [smt("MaskField$Value", fields="tags")],
    "mask struct": [smt("MaskField$Value", fields="address")],
    "mask decimal": [smt("MaskField$Value", fields="price")],
    "mask with text": [smt("MaskField$Value", fields="name,text", replacement="***")],
    "mask with number": [smt("MaskField$Value", fields="id,total,exact,name", replacement="17")],
    "mask with wrong text": [smt("MaskField$Value", fields="id", replacement="x")],
    "mask boolean with text": [smt("MaskField$Value", fields="ok", replacement="x")],
    "mask default": [smt("MaskField$Value", fields="note", replace_null_with_default="false")],
    "mask empty": [smt("MaskField$Value", fields="")],
    "mask key": [smt("MaskField$Key", fields="region")],
    # RegexRouter, TimestampRouter
    "route all": [smt("RegexRouter", regex=".*", replacement="all")],
    "route with groups": [smt("RegexRouter", regex="(conf)(.*)-(\\w+)", replacement="$3.$1")],
    "route named": [smt("RegexRouter", regex="(?<a>[a-z]+)-.*", replacement="x-${a}")],
    "route no match": [smt("RegexRouter", regex="nothing", replacement="x")],
    "route to unknown group": [smt("RegexRouter", regex=".*", replacement="$2")],
    "route escaped": [smt("RegexRouter", regex=".*", replacement="a\\$b")],
    "route bad regex": [smt("RegexRouter", regex="(", replacement="x")],
    "route by time": [smt("TimestampRouter")],
    "route by hour": [
        smt("TimestampRouter", topic_format="${timestamp}-${topic}-${topic}",
            timestamp_format="yyyy-MM-dd'T'HH")
    ],
    "route by bad time": [smt("TimestampRouter", timestamp_format="bad")],
    # ReplaceField
    "replace exclude": [smt("ReplaceField$Value", exclude="id,address,nowhere")],
    "replace include": [smt("ReplaceField$Value", include="id,name,note,address")],
    "replace rename": [smt("ReplaceField$Value", renames="id:key,name:who,price:cost")],
    "replace all three": [
        smt("ReplaceField$Value", include="id,name", exclude="name", renames="id:i")
    ],
    "replace nothing left": [smt("ReplaceField$Value", include="nowhere")],
    "replace null for default": [
        smt("ReplaceField$Value", include="note,total,id", replace_null_with_default="false")
    ],
    "replace bad rename": [smt("ReplaceField$Value", renames="id")],
    "replace key": [smt("ReplaceField$Key", exclude="region")],
    # SetSchemaMetadata
    "name schema": [smt("SetSchemaMetadata$Value", schema_name="New")],
    "version schema": [smt("SetSchemaMetadata$Value", schema_version="9")],
    "name and version": [
        smt("SetSchemaMetadata$Value", schema_name="New", schema_version="9")
    ],
    "bad schema version": [smt("SetSchemaMetadata$Value", schema_version="x")],
    "name key schema": [smt("SetSchemaMetadata$Key", schema_name="K")],
    # TimestampConverter
    "time to text": [
        smt("TimestampConverter$Value", field="when", target_type="string",
            format="yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
    ],
    "time to unix": [smt("TimestampConverter$Value", field="when", target_type="unix")],
    "time to seconds": [
        smt("TimestampConverter$Value", field="when", target_type="unix", unix_precision="seconds")
    ],
    "time to date": [smt("TimestampConverter$Value", field="when", target_type="Date")],
    "time to time": [smt("TimestampConverter$Value", field="when", target_type="Time")],
    "date to timestamp": [smt("TimestampConverter$Value", field="day", target_type="Timestamp")],
    "text to time": [
        smt("TimestampConverter$Value", field="text", target_type="Timestamp",
            format="yyyy-MM-dd HH:mm:ss")
    ],
    "number to time": [
        smt("TimestampConverter$Value", field="id", target_type="Timestamp",
            unix_precision="microseconds")
    ],
    "whole to time": [
        smt("TimestampConverter$Value", target_type="Timestamp", format="yyyy-MM-dd")
    ],
    "whole to text": [
        smt("TimestampConverter$Value", target_type="string", format="EEE, d MMM yyyy HH:mm:ss Z")
    ],
    "time of a boolean": [smt("TimestampConverter$Value", field="ok", target_type="Timestamp")],
    "time without format": [smt("TimestampConverter$Value", field="when", target_type="string")],
    "time to nonsense": [smt("TimestampConverter$Value", field="when", target_type="soon")],
    "time of key": [
        smt("TimestampConverter$Key", field="when", target_type="string", format="yyyyMMdd")
    ],
    # ValueToKey
    "value to key": [smt("ValueToKey", fields="id,name")],
    "value to key of missing": [smt("ValueToKey", fields="id,nowhere")],
    "value to key, extracted": [
        smt("ValueToKey", fields="id"),
        smt("ExtractField$Key", field="id"),
    ],
    "value to key null for default": [
        smt("ValueToKey", fields="note,total", replace_null_with_default="false")
    ],
    "value to key nothing": [smt("ValueToKey", fields="")],
    # Filter, and what fails in mid-chain
    "filter all": [smt("Filter")],
    "several": [
        smt("ValueToKey", fields="id"),
        smt("ExtractField$Key", field="id"),
        smt("InsertField$Value", timestamp_field="at", topic_field="topic"),
        smt("ReplaceField$Value", exclude="raw,tags"),
        smt("MaskField$Value", fields="name"),
        smt("Cast$Value", spec="id:string"),
        smt("RegexRouter", regex="conformance-(.*)", replacement="$1"),
    ],
    "unknown transform": [smt("Nothing")],
    "unknown setting": [smt("HoistField$Value", field="f", nonsense="1")],
    "missing setting": [smt("HoistField$Value")],
}  # fmt: skip

_FILTER = {"type": "org.apache.kafka.connect.transforms.Filter"}
_HOIST = {"type": "org.apache.kafka.connect.transforms.HoistField$Value", "field": "chosen"}


def _guarded(step, **more):
    return {**step, "predicate": "p", **more}


GUARDED = {
    "tombstones": (_guarded(_FILTER), {"type": _PREDICATE + "RecordIsTombstone"}),
    "no tombstones": (
        _guarded(_FILTER, negate="true"),
        {"type": _PREDICATE + "RecordIsTombstone"},
    ),
    "header": (_guarded(_FILTER), {"type": _PREDICATE + "HasHeaderKey", "name": "app"}),
    "no header": (
        _guarded(_HOIST, negate="true"),
        {"type": _PREDICATE + "HasHeaderKey", "name": "trace"},
    ),
    "topic": (
        _guarded(_HOIST),
        {"type": _PREDICATE + "TopicNameMatches", "pattern": "conformance-.*"},
    ),
    "part of a topic": (
        _guarded(_HOIST),
        {"type": _PREDICATE + "TopicNameMatches", "pattern": "conformance"},
    ),
    "possessive": (
        _guarded(_HOIST),
        {"type": _PREDICATE + "TopicNameMatches", "pattern": "[a-z-]++"},
    ),
    "bad pattern": (_guarded(_HOIST), {"type": _PREDICATE + "TopicNameMatches", "pattern": "["}),
    "no name": (_guarded(_HOIST), {"type": _PREDICATE + "HasHeaderKey"}),
    "unknown predicate": (_guarded(_HOIST), {"type": _PREDICATE + "Nothing"}),
}


def _emitted():
    """Records for sources: as varied as those for sinks, plus what JSON can't carry."""
    schemaless = {"map": [["id", 1], ["name", "x"], ["when", 1577934245678], ["d", {"map": []}]]}
    number = S("INT64", optional=True)
    timestamp = S("INT64", name=_LOGICAL + "Timestamp", version=1, optional=True)
    fields = {"id": S("INT32"), "name": S("STRING", optional=True), "when": timestamp}
    fields |= {"price": DECIMAL, "pair": STRUCT}
    whole = S("STRUCT", fields=[{"name": n, "schema": s} for n, s in fields.items()])
    full = {
        "id": 1, "name": "x", "when": {"epochMillis": 1577934245678}, "price": {"decimal": "1.50"},
        "pair": {"struct": {"a": None, "b": "y"}},
    }  # fmt: skip
    return [
        line({"struct": full}, whole, key={"struct": full}, key_schema=whole),
        line(schemaless, key=schemaless),
        line(None, key="k", key_schema=S("STRING")),
        line("text", S("STRING"), headers=[{"key": "app", "schema": number, "value": 5}]),
        line(5, number),
        line(None, number),
    ]


SOURCE_CHAINS = (
    "cast fields", "cast key", "drop headers", "insert header list", "header from copy",
    "extract nested", "flatten", "hoist", "insert static", "insert all", "insert key",
    "mask with text", "mask key", "replace rename", "name schema", "time to text", "time of key",
    "value to key", "filter all", "header from key",
)  # fmt: skip


def scenarios():
    for title, steps in CHAINS.items():
        yield SinkScenario(f"transform: {title}", transforms(*steps), samples())
    for title, (step, predicate) in GUARDED.items():
        yield SinkScenario(f"predicate: {title}", transforms(step, p=predicate), samples())
    for title in SOURCE_CHAINS:
        yield SourceScenario(
            f"source transform: {title}", transforms(*CHAINS[title]), timed(_emitted())
        )
    for title in ("tombstones", "header", "no tombstones"):
        step, predicate = GUARDED[title]
        yield SourceScenario(
            f"source predicate: {title}", transforms(step, p=predicate), timed(_emitted())
        )
