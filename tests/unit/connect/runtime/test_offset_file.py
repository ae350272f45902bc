"""The standalone worker's offset file: ours, a JVM worker's, and one under fire."""

import base64
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from connect.errors import ConnectError
from connect.javalang.serialized import SerializedError, read_byte_map
from connect.runtime.offset_file import OffsetFile

ROOT = Path(__file__).parents[4]

# Written by FileOffsetBackingStore of Kafka Connect 4.3.1: three connectors, one tombstone.
FROM_JVM = base64.b64decode(
    """
rO0ABXNyABFqYXZhLnV0aWwuSGFzaE1hcAUH2sHDFmDRAwACRgAKbG9hZEZhY3RvckkACXRocmVzaG9sZHhwP0AA
AAAAABh3CAAAACAAAAAQdXIAAltCrPMX+AYIVOACAAB4cAAAABFbIm1hbnkiLHsicCI6MTB9XXVxAH4AAgAAAAl7
Im8iOjEwMH11cQB+AAIAAAAQWyJtYW55Iix7InAiOjZ9XXVxAH4AAgAAAAh7Im8iOjM2fXVxAH4AAgAAABBbIm1h
bnkiLHsicCI6Mn1ddXEAfgACAAAAB3sibyI6NH11cQB+AAIAAAAjWyJudW1iZXJzIix7InRhYmxlIjoidCIsInNo
YXJkIjozfV11cQB+AAIAAAAieyJuIjo5MDA3MTk5MjU0NzQwOTkzLCJndGlkIjpudWxsfXVxAH4AAgAAAChbImxp
bmVzIix7ImZpbGVuYW1lIjoiL3Zhci9sb2cvw6QubG9nIn1ddXEAfgACAAAADnsicG9zaXRpb24iOjB9dXEAfgAC
AAAAEFsibWFueSIseyJwIjo3fV11cQB+AAIAAAAIeyJvIjo0OX11cQB+AAIAAAAQWyJnb25lIix7IngiOjF9XXB1
cQB+AAIAAAAQWyJtYW55Iix7InAiOjB9XXVxAH4AAgAAAAd7Im8iOjB9dXEAfgACAAAAEVsibWFueSIseyJwIjox
MX1ddXEAfgACAAAACXsibyI6MTIxfXVxAH4AAgAAABBbIm1hbnkiLHsicCI6OH1ddXEAfgACAAAACHsibyI6NjR9
dXEAfgACAAAAEFsibWFueSIseyJwIjo5fV11cQB+AAIAAAAIeyJvIjo4MX11cQB+AAIAAAAQWyJtYW55Iix7InAi
OjN9XXVxAH4AAgAAAAd7Im8iOjl9dXEAfgACAAAAEFsibWFueSIseyJwIjoxfV11cQB+AAIAAAAHeyJvIjoxfXVx
AH4AAgAAACdbImxpbmVzIix7ImZpbGVuYW1lIjoiL3Zhci9sb2cvYS5sb2cifV11cQB+AAIAAAAReyJwb3NpdGlv
biI6NDcxMX11cQB+AAIAAAAQWyJtYW55Iix7InAiOjR9XXVxAH4AAgAAAAh7Im8iOjE2fXVxAH4AAgAAABBbIm1h
bnkiLHsicCI6NX1ddXEAfgACAAAACHsibyI6MjV9eA==
"""
)


def test_offsets_of_a_jvm_worker_are_taken_over(tmp_path):
    """Sources go on where a standalone worker on the JVM left off; tombstones stay gone."""
    path = tmp_path / "connect.offsets"
    path.write_bytes(FROM_JVM)
    offsets = OffsetFile(str(path))
    assert offsets.read(
        "lines", [{"filename": "/var/log/a.log"}, {"filename": "/var/log/ä.log"}]
    ) == [
        {"position": 4711},
        {"position": 0},
    ]
    # The order of a partition's fields does not matter.
    assert offsets.read("numbers", [{"shard": 3, "table": "t"}]) == [
        {"n": 9007199254740993, "gtid": None}
    ]
    assert offsets.all("gone") == []
    assert sorted((p["p"], o["o"]) for p, o in offsets.all("many")) == [
        (i, i * i) for i in range(12)
    ]


def test_jvm_file_is_kept_when_ours_takes_its_place(tmp_path):
    """The way back stays open: the JVM's file lies beside ours, untouched."""
    path = tmp_path / "connect.offsets"
    path.write_bytes(FROM_JVM)
    OffsetFile(str(path)).write("lines", [({"filename": "/var/log/a.log"}, {"position": 5000})])
    assert (tmp_path / "connect.offsets.jvm").read_bytes() == FROM_JVM
    again = OffsetFile(str(path))
    assert again.read("lines", [{"filename": "/var/log/a.log"}]) == [{"position": 5000}]
    assert again.read("lines", [{"filename": "/var/log/ä.log"}]) == [{"position": 0}]
    again.write("lines", [({"filename": "/var/log/a.log"}, {"position": 6000})])
    assert (tmp_path / "connect.offsets.jvm").read_bytes() == FROM_JVM


@pytest.mark.parametrize("length", [4, 5, 60, 200, len(FROM_JVM) - 1])
def test_damaged_jvm_file_is_refused(tmp_path, length):
    """Half a file is an error that names file and way out, never half of the offsets."""
    path = tmp_path / "connect.offsets"
    path.write_bytes(FROM_JVM[:length])
    with pytest.raises(ConnectError, match=r"connect\.offsets is not an offset file.*Move it away"):
        OffsetFile(str(path))


def test_no_byte_of_a_jvm_file_can_crash_the_reader():
    """Whatever a byte is changed to, the answer is a map or a SerializedError."""
    for at in range(160):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(FROM_JVM)
            damaged[at] ^= flip
            try:
                read_byte_map(bytes(damaged))
            except SerializedError:
                continue


@pytest.mark.parametrize("content", [b"[1]", b'{"a": 1}', b"\x00\x01", b'{"a": [[1, 2]]}'])
def test_foreign_file_is_refused(tmp_path, content):
    """The error names the file and says what to do."""
    path = tmp_path / "offsets.json"
    path.write_bytes(content)
    with pytest.raises(ConnectError, match="is not an offset file"):
        OffsetFile(str(path))


def test_none_removes_an_offset(tmp_path):
    """As after a reset, on disk too."""
    path = str(tmp_path / "offsets.json")
    OffsetFile(path).write("c", [({"a": 1}, {"o": 1}), ({"a": 2}, {"o": 2})])
    OffsetFile(path).write("c", [({"a": 1}, None)])
    assert OffsetFile(path).all("c") == [({"a": 2}, {"o": 2})]


def test_disk_trouble_is_told(tmp_path):
    """A file that can't be written is named, with the reason."""
    offsets = OffsetFile(str(tmp_path / "missing" / "offsets.json"))
    with pytest.raises(ConnectError, match="can't be written: No such file"):
        offsets.write("c", [({"a": 1}, {"o": 1})])


def test_tasks_may_write_at_the_same_time(tmp_path):
    """Writes of many connectors at once are all in the file in the end."""
    path = str(tmp_path / "offsets.json")
    offsets = OffsetFile(path)

    def write(connector):
        for n in range(20):
            offsets.write(connector, [({"p": 0}, {"n": n})])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, "abcdefgh"))
    assert [OffsetFile(path).all(name) for name in "abcdefgh"] == [[({"p": 0}, {"n": 19})]] * 8


WRITER = """
import sys
from connect.runtime.offset_file import OffsetFile
offsets = OffsetFile(sys.argv[1])
n = offsets.read("c", [{"p": 0}])[0]["n"]
while True:
    n += 1
    offsets.write("c", [({"p": p}, {"n": n, "pad": "x" * 2000}) for p in range(50)])
    print(n, flush=True)
"""


def test_file_always_loads_after_kill_9_in_mid_write(tmp_path):
    """Ten writers killed at any moment: the file loads, whole, and not older than told."""
    path = tmp_path / "offsets.json"
    partitions = [{"p": p} for p in range(50)]
    OffsetFile(str(path)).write("c", [(p, {"n": 0}) for p in partitions])
    for turn in range(10):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        told = 0
        for _ in range(3 + turn):
            told = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        told = max([told, *map(int, writer.stdout.read().split())])
        writer.wait()
        writer.stdout.close()
        found = {offset["n"] for offset in OffsetFile(str(path)).read("c", partitions)}
        assert len(found) == 1, "all partitions were written together"
        assert found.pop() >= told
