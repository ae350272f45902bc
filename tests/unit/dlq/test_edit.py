"""What an edit can't change is told, and ends nothing."""

import pytest

from connect.pipeline import RawMessage
from dlq.edit import EditError, PatchEdit
from dlq.json_patch import JsonPatch
from dlq.reader import letter_from


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"{}", r"The patch does not fit\. Operation 0 \(replace /a\): there is no 'a'"),
        (rb'{"a": 1, "b": "\ud800"}', r"The patched value can't be written as JSON\."),
        (b"<secret/>", r"The value is no JSON that a patch can be applied to\."),
        (b"\xff\xfe\xfd", r"The value is no JSON that a patch can be applied to\."),
        (b"[" * 100_000, r"The value is no JSON that a patch can be applied to\."),
    ],
    ids=["does not fit", "half a character", "no JSON", "no text", "deep"],
)
def test_a_value_that_can_not_be_patched(value, reason):
    """One kind of error, whose text says nothing of the value: it counts many letters."""
    edit = PatchEdit(JsonPatch([{"op": "replace", "path": "/a", "value": 2}]))
    with pytest.raises(EditError, match=rf"^{reason}$"):
        edit(letter_from(RawMessage("dlq", value)))
