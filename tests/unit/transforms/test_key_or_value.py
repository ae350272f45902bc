"""Plans: one for each schema, however many records and however many equal schemas there are."""

from __future__ import annotations

from connect import Schema
from tests.unit.transforms.records import configured, sink
from transforms.hoist_field import HoistFieldValue
from transforms.insert_field import InsertFieldValue
from transforms.key_or_value import MAX_PLANS, PlanCache


def test_equal_schemas_get_one_new_schema():
    """A plugin that builds a schema for each record does not break the caches behind."""
    insert = configured(InsertFieldValue, topic_field="topic")
    schemas = [Schema.struct("S").field("a", Schema.INT32).build() for _ in range(3)]
    results = insert.apply_batch([sink({"a": 1}, schema) for schema in schemas])
    assert len({id(record.value_schema) for record in results}) == 1


def test_schemas_may_change_within_a_batch():
    """Each record is done by its own schema, in whatever order they come."""
    hoist = configured(HoistFieldValue, field="h")
    kinds = [Schema.INT32, None, Schema.STRING, Schema.INT32, None]
    results = hoist.apply_batch([sink(1, schema) for schema in kinds])
    assert [
        record.value_schema and record.value_schema.field("h").schema for record in results
    ] == kinds


def test_the_cache_stays_small():
    """Schemas without end do not fill the memory, and an old one is still done right."""
    made = []
    cache = PlanCache(lambda schema: made.append(schema) or schema)
    first = Schema.struct("0").build()
    for number in range(3 * MAX_PLANS):
        schema = first if number == 0 else Schema.struct(str(number)).build()
        assert cache.plan_for(schema) is schema
    assert len(cache._by_id) <= MAX_PLANS
    assert len(cache._by_schema) <= MAX_PLANS
    assert cache.plan_for(first) is first
