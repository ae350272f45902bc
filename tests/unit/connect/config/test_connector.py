"""What a connector's config says about transforms, predicates and topics."""

import pytest

from connect import ConfigError
from connect.config.connector import (
    PredicateSpec,
    TransformSpec,
    connector_config_def,
    predicate_specs,
    transform_specs,
)
from connect.config.topic_creation import TopicGroup, topic_groups


def test_transforms_are_read_in_their_order():
    """Class, version, predicate, negation and own settings of each transform."""
    props = {
        "transforms": "b, a",
        "transforms.a.type": " A ",
        "transforms.b.type": "B",
        "transforms.b.plugin.version": "1",
        "transforms.b.predicate": "p",
        "transforms.b.negate": "TRUE",
        "transforms.b.field": "x",
        "transforms.bb.field": "not b's",
    }
    assert transform_specs(props) == [
        TransformSpec("b", "B", "1", "p", True, {"field": "x"}),
        TransformSpec("a", "A", None, None, False, {}),
    ]


def test_predicates_are_read():
    """Class and own settings of each predicate; what a transform would have is its own here."""
    props = {"predicates": "p", "predicates.p.type": "P", "predicates.p.negate": "x"}
    assert predicate_specs(props) == [PredicateSpec("p", "P", None, {"negate": "x"})]


def test_settings_are_not_printed():
    """The settings of a transform may hold secrets and are not part of its text."""
    spec = TransformSpec("a", "A", None, None, False, {"key": "hunter2"})
    assert "hunter2" not in repr(spec)


def test_missing_type_is_named():
    """A transform without a class is named by its key."""
    with pytest.raises(ConfigError, match=r'"transforms\.a\.type"'):
        transform_specs({"transforms": "a"})


def test_topic_groups_inherit_and_end_with_default():
    """Groups come as declared, the default last; numbers are inherited, the rest is the topic's."""
    props = {
        "topic.creation.groups": "compacted, default",
        "topic.creation.compacted.include": "a.*, b",
        "topic.creation.compacted.exclude": "ab",
        "topic.creation.compacted.cleanup.policy": "compact",
        "topic.creation.compacted.partitions": "5",
        "topic.creation.default.partitions": "-1",
        "topic.creation.default.replication.factor": "3",
        "topic.creation.default.include": "ignored",
    }
    assert topic_groups(props) == [
        TopicGroup("compacted", ("a.*", "b"), ("ab",), 5, 3, {"cleanup.policy": "compact"}),
        TopicGroup("default", (".*",), (), -1, 3, {}),
    ]


def test_no_topic_groups_without_their_keys():
    """A source that says nothing about topics creates none."""
    assert topic_groups({"name": "x", "topic": "t"}) == []


def test_default_group_needs_its_numbers():
    """Without the numbers of the default group there is no topic creation."""
    with pytest.raises(ConfigError, match=r'Missing required configuration "replication.factor"'):
        topic_groups({"topic.creation.default.partitions": "1"})


def test_own_keys_are_defined_when_they_are_used():
    """A config without Penstock's own keys has Kafka Connect's definition and no more."""
    assert len(connector_config_def(is_sink=True, props={}).keys) == 24
    assert len(connector_config_def(is_sink=False, props={}).keys) == 24
    used = {"task.isolation": "thread", "errors.deadletterqueue.topic.name": "d"}
    assert set(used) <= set(connector_config_def(is_sink=False, props=used).keys)
