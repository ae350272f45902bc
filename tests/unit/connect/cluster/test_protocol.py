"""The group protocol's bytes, against those that Kafka Connect 4.3.1 wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.cluster.assignment import Work
from connect.cluster.herder import TaskId
from connect.cluster.protocol import (
    COMPATIBLE,
    CONFIG_MISMATCH,
    SESSIONED,
    Assignment,
    MemberState,
    ProtocolError,
    decode_assignment,
    decode_member,
    encode_assignment,
    encode_member,
)

FULL = Assignment(
    "leader-1",
    "http://h:8083/",
    42,
    Work(frozenset("ab"), frozenset([TaskId("a", 0), TaskId("a", 1), TaskId("c", 2)])),
    Work(frozenset("x"), frozenset([TaskId("y", 3)])),
    1500,
)
FULL_BYTES = (
    "000000086c65616465722d31000e687474703a2f2f683a383038332f000000000000002a"
    "0000000300016100000003ffffffff000000000000000100016200000001ffffffff"
    "00016300000001000000020000000200017800000001ffffffff0001790000000100000003000005dc"
)
# What the JVM's serializer wrote for these very values.
ASSIGNMENTS = [
    pytest.param(FULL, SESSIONED, "0002" + FULL_BYTES, id="sessioned"),
    pytest.param(FULL, COMPATIBLE, "0001" + FULL_BYTES, id="compatible"),
    pytest.param(
        Assignment("leader-1", "http://h:8083/", 42, Work(frozenset("a"))),
        COMPATIBLE,
        "0001000000086c65616465722d31000e687474703a2f2f683a383038332f000000000000002a"
        "0000000100016100000001ffffffff0000000000000000",
        id="one connector",
    ),
    pytest.param(
        Assignment("leader-1", "http://h:8083/", 42, error=CONFIG_MISMATCH),
        SESSIONED,
        "0002000100086c65616465722d31000e687474703a2f2f683a383038332f000000000000002a"
        "000000000000000000000000",
        id="mismatch",
    ),
]
MEMBERS = [
    pytest.param(
        MemberState("http://w:1/", 7, FULL),
        SESSIONED,
        "0002000b687474703a2f2f773a312f0000000000000007000000710002" + FULL_BYTES,
        id="sessioned",
    ),
    pytest.param(
        MemberState("http://w:1/", 7),
        COMPATIBLE,
        "0001000b687474703a2f2f773a312f0000000000000007ffffffff",
        id="with nothing",
    ),
]


@pytest.mark.parametrize(("assignment", "protocol", "data"), ASSIGNMENTS)
def test_assignment_is_written_as_the_jvm_does(assignment, protocol, data):
    """An assignment's bytes are the JVM's."""
    assert encode_assignment(assignment, protocol).hex() == data


@pytest.mark.parametrize(("assignment", "protocol", "data"), ASSIGNMENTS)
def test_assignment_of_the_jvm_is_read(assignment, protocol, data):
    """The JVM's bytes give the assignment it meant."""
    assert decode_assignment(bytes.fromhex(data)) == assignment


@pytest.mark.parametrize(("state", "protocol", "data"), MEMBERS)
def test_member_is_written_as_the_jvm_does(state, protocol, data):
    """A member's metadata are the JVM's."""
    assert encode_member(state, protocol).hex() == data


@pytest.mark.parametrize(("state", "protocol", "data"), MEMBERS)
def test_member_of_the_jvm_is_read(state, protocol, data):
    """The JVM's metadata give the member it meant."""
    assert decode_member(bytes.fromhex(data)) == state


def test_leaving_member_says_so_after_everything_the_jvm_reads():
    """The mark of a leaving worker comes at the end, where JVM workers don't look."""
    staying = encode_member(MemberState("http://w:1/", 7, FULL), SESSIONED)
    leaving = encode_member(MemberState("http://w:1/", 7, FULL, leaving=True), SESSIONED)
    assert leaving.startswith(staying)
    assert decode_member(leaving).leaving
    assert not decode_member(staying).leaving


def test_fields_of_later_versions_are_skipped():
    """What a later version adds at the end does no harm."""
    data = bytes.fromhex("0003" + FULL_BYTES) + b"more"
    assert decode_assignment(data) == FULL


def test_eager_worker_is_named():
    """Metadata of the old eager protocol are refused with the setting to change."""
    with pytest.raises(ProtocolError, match=r"connect\.protocol=eager"):
        decode_member(bytes.fromhex("0000000b687474703a2f2f773a312f0000000000000007"))


@given(st.integers(0, 60))
def test_cut_off_bytes_are_refused(length):
    """Half a message is an error, never half an assignment."""
    with pytest.raises(ProtocolError):
        decode_assignment(bytes.fromhex("0002" + FULL_BYTES)[:length])


names = st.text(max_size=20)
works = st.builds(
    Work,
    st.frozensets(names, max_size=3),
    st.frozensets(st.builds(TaskId, names, st.integers(0, 2**31 - 1)), max_size=5),
)
assignments = st.builds(
    Assignment, names, names, st.integers(-1, 2**62), works, works, st.integers(0, 2**31 - 1)
)


@given(
    st.builds(MemberState, names, st.integers(-1, 2**62), st.none() | assignments, st.booleans())
)
def test_members_survive_the_way(state):
    """Whatever a member says of itself arrives as it was said."""
    assert decode_member(encode_member(state, SESSIONED)) == state
