"""Letters are tested in a child that may block, crash and print without harm."""

import pytest

from connect.errors import ConnectError
from connect.pipeline import RawMessage
from connect.plugins import Plugins
from dlq import letter as names
from dlq.edit import EditError, PatchEdit, TransformEdit, edit_config
from dlq.json_patch import JsonPatch
from dlq.probe import Probe, ProbeSpec, Verdict, grouped
from dlq.reader import letter_from
from dlq.retest import Retest

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
PLUGIN = """
import os, time
from connect import Converter, Schema, SchemaAndValue

class Moody(Converter):
    def to_connect(self, topic, data, headers=()):
        print("a plugin prints")
        if data == b"block":
            time.sleep(3600)
        if data == b"exit":
            os._exit(3)
        return SchemaAndValue(None, data)

    def from_connect(self, topic, schema, value, headers=None):
        return value
"""
CONFIG = {
    "topics": "orders",
    "key.converter": STRING,
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
}


def letter(value, offset=0, connector="orders", **headers):
    told = {names.TOPIC: "orders", names.PARTITION: "1", names.OFFSET: "7",
            names.CONNECTOR: connector, names.STAGE: "VALUE_CONVERTER"}  # fmt: skip
    found = [(k, v.encode()) for k, v in {**told, **headers}.items()]
    return letter_from(RawMessage("dlq", value, b"k", offset=offset, headers=found))


def test_verdicts():
    """Passed, failed with its cause, dropped by a transform."""
    config = {
        **CONFIG,
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.drop.predicate": "tomb",
        "predicates": "tomb",
        "predicates.tomb.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    }
    letters = [letter(b"{}"), letter(b"{broken 1"), letter(None, **{names.OFFSET: "8"})]
    with Probe(ProbeSpec("orders", config, {})) as probe:
        passed, failed, dropped = probe.test(letters)
    assert passed.verdict is Verdict.PASSES
    assert (failed.verdict, failed.stage) == (Verdict.FAILS, "VALUE_CONVERTER")
    assert failed.fingerprint
    assert dropped.verdict is Verdict.DROPPED
    assert list(grouped([passed, failed, failed]).values()) == [2, 1]


def test_one_letter_that_blocks_or_crashes_costs_only_itself(tmp_path, capfd):
    """The child is ended and the others are tested; what plugins print stays out of the way."""
    (tmp_path / "moody.py").write_text(PLUGIN)
    plugins = Plugins([str(tmp_path)])
    config = {**CONFIG, "value.converter": "moody.Moody"}
    letters = [letter(v, n) for n, v in enumerate([b"a", b"block", b"b", b"exit", b"c"])]
    with Probe(ProbeSpec("orders", config, {}, plugins), seconds=1.0) as probe:
        verdicts = [outcome.verdict for outcome in probe.test(letters)]
        decoded = probe.decode(letters[1])
    blocked = Verdict.BLOCKED
    assert verdicts == [Verdict.PASSES, blocked, Verdict.PASSES, blocked, Verdict.PASSES]
    assert "did not end within 1 s" in decoded.value_error
    assert "a plugin prints" not in capfd.readouterr().out


def test_letters_are_decoded_as_far_as_it_goes():
    """The key is shown though the value can't be, with the reason."""
    with Probe(ProbeSpec("orders", CONFIG, {})) as probe:
        decoded = probe.decode(letter(b"{broken"))
    assert (decoded.key, decoded.key_error) == ("k", None)
    assert decoded.value is None
    assert "DataException" in decoded.value_error


def test_a_pipeline_that_can_not_be_made_is_an_error_with_its_reason():
    """A config without a converter says so, and what it would need."""
    with (
        Probe(ProbeSpec("orders", {"topics": "t"}, {})) as probe,
        pytest.raises(ConnectError, match=r"orders.*key\.converter"),
    ):
        probe.test([letter(b"{}")])


def test_letters_of_sources_and_of_lost_connectors_are_untestable():
    """No bytes to test, or no config to test with."""
    with Retest({"orders": ProbeSpec("orders", CONFIG, {})}, only="orders") as retest:
        source, gone, headerless = retest.test(
            [
                letter(b"{}", **{names.SOURCE_PARTITION: "{}"}),
                letter(b"{}", connector="deleted"),
                letter_from(RawMessage("dlq", b"{}")),
            ]
        )
        assert (
            "'deleted' is not there" in retest.decode(letter(b"{}", connector="deleted")).key_error
        )
    assert source.verdict is Verdict.UNTESTABLE
    assert (gone.verdict, "'deleted' is not there" in gone.reason) == (Verdict.UNTESTABLE, True)
    assert headerless.verdict is Verdict.PASSES


def test_masked_secrets_are_not_taken_for_secrets():
    """A config as a worker shows it can't be tested where a converter needs its secret."""
    config = {**CONFIG, "value.converter.basic.auth.user.info": "[hidden]"}
    with (
        Retest({"orders": ProbeSpec("orders", config, {})}) as retest,
        pytest.raises(ConnectError, match="--config"),
    ):
        retest.test([letter(b"{}")])


def test_edit_by_patch():
    """The value is changed, the rest stays; a value that is no JSON can't be."""
    edit = PatchEdit(JsonPatch([{"op": "add", "path": "/b", "value": 2}]))
    changed = edit(letter(b'{"a": 123456789012345678901234567890}'))
    assert changed.value == b'{"a":123456789012345678901234567890,"b":2}'
    assert changed.key == b"k"
    with pytest.raises(EditError, match="no JSON"):
        edit(letter(b"<xml/>"))


def test_edit_by_transforms():
    """Read by the connector's converters, transformed, and written by them again."""
    wanted = {
        "transforms": "rename",
        "transforms.rename.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.rename.renames": "a:b",
    }
    own = {**CONFIG, "transforms": "fails", "transforms.fails.type": "nothing"}
    edit = TransformEdit(ProbeSpec("orders", edit_config(own, wanted), {}).pipeline_spec())
    changed = edit(letter(b'{"a": 1}'))
    assert (changed.key, changed.value) == (b"k", b'{"b":1}')
    with pytest.raises(EditError, match="VALUE_CONVERTER"):
        edit(letter(b"{broken"))
    with pytest.raises(EditError, match="names no transforms"):
        edit_config(own, {"name": "x"})
