"""Records, dead letters and messages, case by case, beside those of Apache Kafka Connect."""

import json

import pytest

from tests.conformance.catalogue import catalogue

# The first test waits for all of them: they run in batches on both workers.
pytestmark = [pytest.mark.stack, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("title", [scenario.title for scenario in catalogue()])
def test_both_give_the_same(title, outcomes):
    """The same config and the same bytes give the same, or what docs/differences.md says."""
    mistakes = [
        f"case {n}\n  theirs {json.dumps(theirs)}\n  ours   {json.dumps(ours)}"
        for n, (theirs, ours, judged) in enumerate(outcomes[title])
        if judged.by_mistake
    ]
    assert not mistakes, "\n".join(mistakes)


def test_all_parts_are_compared(outcomes):
    """At least 600 cases; every converter, transform and predicate of Kafka Connect is in one."""
    assert sum(len(cases) for cases in outcomes.values()) >= 600
    used = " ".join(value for s in catalogue() for value in s.config.values())
    for part in (
        *("JsonConverter", "StringConverter", "ByteArrayConverter", "BooleanConverter"),
        *("ShortConverter", "IntegerConverter", "LongConverter", "FloatConverter"),
        *("DoubleConverter", "SimpleHeaderConverter"),
        *(
            f"{name}${side}"
            for name in (
                "Cast", "ExtractField", "Flatten", "HeaderFrom", "HoistField", "InsertField",
                "MaskField", "ReplaceField", "SetSchemaMetadata", "TimestampConverter",
            )
            for side in ("Key", "Value")
        ),
        *("DropHeaders", "Filter", "InsertHeader", "RegexRouter", "TimestampRouter", "ValueToKey"),
        *("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches"),
    ):  # fmt: skip
        assert part in used, f"nothing is compared with {part}"
