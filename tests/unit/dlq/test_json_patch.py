"""JSON Patch does what RFC 6902 says; most cases are from its appendix."""

import pytest

from dlq.json_patch import JsonPatch, PatchError


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": 1}], {"foo": "bar", "baz": 1}),
        ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": [2]}], {"a": [1, [2]]}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
        ({"a": [1, 2, 3]}, [{"op": "remove", "path": "/a/1"}], {"a": [1, 3]}),
        ({"a": 1}, [{"op": "replace", "path": "/a", "value": None}], {"a": None}),
        ({"a": {"x": 1}, "b": {}}, [{"op": "move", "from": "/a/x", "path": "/b/y"}],
         {"a": {}, "b": {"y": 1}}),
        ({"a": [1, 2, 3]}, [{"op": "move", "from": "/a/0", "path": "/a/2"}], {"a": [2, 3, 1]}),
        ({"a": {"x": 1}}, [{"op": "copy", "from": "/a", "path": "/b"}],
         {"a": {"x": 1}, "b": {"x": 1}}),
        ({"a/b": 1, "m~n": 2}, [{"op": "test", "path": "/a~1b", "value": 1},
                                {"op": "remove", "path": "/m~0n"}], {"a/b": 1}),
        ({"": 5}, [{"op": "replace", "path": "/", "value": 6}], {"": 6}),
        ([1], [{"op": "replace", "path": "", "value": {"new": True}}], {"new": True}),
        ({"n": 2**70}, [{"op": "copy", "from": "/n", "path": "/m"}], {"n": 2**70, "m": 2**70}),
    ],
)  # fmt: skip
def test_operations(document, patch, result):
    """Each operation changes what it names and nothing else."""
    before = repr(document)
    assert JsonPatch(patch).apply(document) == result
    assert repr(document) == before


@pytest.mark.parametrize(
    ("document", "patch", "said"),
    [
        ({}, [{"op": "remove", "path": "/a"}], "Operation 0 (remove /a): there is no 'a'"),
        ({}, [{"op": "replace", "path": "/a", "value": 1}], "there is no 'a'"),
        ({"a": [1]}, [{"op": "add", "path": "/a/5", "value": 1}], "no place 5"),
        ({"a": [1]}, [{"op": "remove", "path": "/a/01"}], "no position"),
        ({"a": 1}, [{"op": "add", "path": "/a/b", "value": 1}], "neither object nor list"),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": True}], "another one"),
        ({"a": [1, {}]}, [{"op": "test", "path": "/a", "value": [1, {"b": 2}]}], "another one"),
        ({"a": {}}, [{"op": "move", "from": "/a", "path": "/a/b"}], "into itself"),
    ],
)
def test_what_does_not_fit_is_explained(document, patch, said):
    """The error names the operation and the reason."""
    with pytest.raises(PatchError) as error:
        JsonPatch(patch).apply(document)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "is a list"),
        ("[", "not JSON"),
        ('[{"op": "destroy", "path": "/a"}]', "no op of"),
        ("[3]", "no op of"),
        ('[{"op": "add", "path": "/a"}]', "has no value"),
        ('[{"op": "remove", "path": "a"}]', "beginning with /"),
    ],
)
def test_malformed_patches_are_refused_before_anything_is_done(text, said):
    """A patch is checked as a whole."""
    with pytest.raises(PatchError) as error:
        JsonPatch.parse(text)
    assert said in str(error.value)
