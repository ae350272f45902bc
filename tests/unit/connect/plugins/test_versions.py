"""Versions and their ranges."""

import pytest

from connect.plugins.versions import Version, VersionRange


def test_versions_sort():
    """Numbers count as numbers, pre-releases come before, and trailing zeros are nothing."""
    texts = [
        "1.0.dev3", "1.0-alpha", "1.0-beta2", "1.0-rc1", "1.0-rc2", "1.0-SNAPSHOT", "1.0", "1.0.1",
        "1.9", "1.10", "2",
    ]  # fmt: skip
    assert sorted(texts, key=Version) == texts
    assert Version("2") == Version("2.0.0") == Version("2.Final")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (None, ["1", "99"], []),
        ("latest", ["1", "99"], []),
        ("1.2", ["1.2", "1.2.0"], ["1.2.1", "1.1"]),
        ("[1.2]", ["1.2"], ["1.3"]),
        ("[1,2)", ["1", "1.99"], ["2", "0.9"]),
        ("(1,2]", ["1.1", "2"], ["1", "2.1"]),
        ("[1.5,)", ["1.5", "99"], ["1.4"]),
        ("(,1.0]", ["0.1", "1.0"], ["1.1"]),
        ("[1,2),[3,4)", ["1.5", "3"], ["2", "2.5", "4"]),
    ],
)
def test_ranges_hold_what_maven_s_hold(text, inside, outside):
    """A bare version is exact; brackets include, parentheses exclude; sets can be listed."""
    wanted = VersionRange.parse(text)
    assert all(version in wanted for version in inside)
    assert not any(version in wanted for version in outside)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[5,6", "Unbounded range: [5,6"),
        ("(1)", "Single version must be surrounded by []: (1)"),
        ("[2,1]", "Range defies version ordering: [2,1]"),
        ("[1,1]", "Range cannot have identical boundaries: [1,1]"),
        ("[1,3],[2,4]", "Ranges overlap: [1,3],[2,4]"),
        ("1,2", "Only fully-qualified sets allowed in multiple set scenario: 1,2"),
        ("[1,2],3", "Only fully-qualified sets allowed in multiple set scenario: [1,2],3"),
    ],
)
def test_wrong_ranges_say_what_is_wrong(text, reason):
    """A range that is none is refused in Maven's words."""
    with pytest.raises(ValueError) as caught:
        VersionRange.parse(text)
    assert str(caught.value) == reason


def test_unknown_version_only_fits_any():
    """A plugin without a version is what `latest` means, and fits no range."""
    assert None in VersionRange.parse("latest")
    assert None not in VersionRange.parse("[1,)")
