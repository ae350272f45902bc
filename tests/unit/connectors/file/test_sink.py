import os
import resource
import stat
import sys
from pathlib import Path

import pytest

from connect import ConnectError, Schema, TopicPartition
from connect.testing import SinkHarness, SinkTaskSuite
from connectors.file.sink import FileStreamSinkConnector


class TestFileSinkConforms(SinkTaskSuite):
    connector = FileStreamSinkConnector

    def config(self, place):
        return {"file": str(place / "out.txt")}

    def written(self, place):
        return (place / "out.txt").read_text().splitlines()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.txt"


@pytest.fixture
def sink(path):
    harness = SinkHarness(FileStreamSinkConnector, {"file": str(path)})
    yield harness
    harness.stop()


def test_values_are_printed_as_java_prints_them(sink, path):
    """Structs, maps, lists, numbers, booleans and nulls look as in the JVM's file sink."""
    schema = (
        Schema.struct("S")
        .field("a", Schema.INT32)
        .field("gone", Schema.OPTIONAL_STRING)
        .field("b", Schema.FLOAT64)
        .build()
    )
    sink.start()
    sink.put({"a": 1, "gone": None, "b": 1e10}, schema=schema)
    sink.put({"b": 1, "a": [True, None, 2.5]}, "text", 12, None)
    assert path.read_text() == (
        "Struct{a=1,b=1.0E10}\n{a=[true, null, 2.5], b=1}\ntext\n12\nnull\n"
    )


def test_bytes_are_written_as_they_are(sink, path):
    """A value of bytes goes to the file unchanged, valid text or not."""
    sink.start()
    sink.put(b"\x00\xff", bytearray(b"b"), schema=Schema.BYTES)
    assert path.read_bytes() == b"\x00\xff\nb\n"


def test_text_is_utf8_and_half_characters_become_question_marks(sink, path):
    """What UTF-8 has no bytes for does not stop the batch."""
    sink.start()
    sink.put("ä€😀", "half \ud800")
    assert path.read_bytes() == "ä€😀\nhalf ?\n".encode()


def test_lines_are_visible_at_once(sink, path):
    """A reader of the file sees a batch as soon as put returns."""
    sink.start()
    sink.put("now")
    assert path.read_text() == "now\n"


def test_appends_to_what_is_there(sink, path):
    """An existing file is continued."""
    path.write_text("before\n")
    sink.start()
    sink.put("after")
    assert path.read_text() == "before\nafter\n"


def test_a_torn_last_line_is_ended_first(sink, path):
    """Half a line left by a full disk does not swallow the next record."""
    path.write_text("whole\nha")
    sink.start()
    sink.put("next")
    assert path.read_text() == "whole\nha\nnext\n"


def test_tasks_share_a_file(path):
    """Several tasks append to one file without writing over each other."""
    config = {"file": str(path)}
    with (
        SinkHarness(FileStreamSinkConnector, config, tasks_max=2, task=0) as one,
        SinkHarness(FileStreamSinkConnector, config, tasks_max=2, task=1) as two,
    ):
        one.put("a")
        two.put("b")
        one.put("c")
    assert path.read_text() == "a\nb\nc\n"


def test_flush_waits_for_the_disk(sink, monkeypatch):
    """What was put is synced before flush returns, and only when something was put."""
    synced = []
    sink.start()
    monkeypatch.setattr(os, "fsync", synced.append)
    sink.flush()
    assert synced == []
    sink.put("x")
    sink.flush()
    sink.flush()
    assert len(synced) == 1


def test_a_full_disk_fails_the_task_by_the_files_name(sink, path):
    """When the disk takes no more, the error names the file and its reason, offsets stay."""
    sink.start()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel refuses to grow the file beyond this, as it would on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(ConnectError, match=rf"Cannot write to file '{path}': File too large"):
            sink.put(*["x" * 99] * 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sink.positions[TopicPartition("test", 0)] == 0
    sink.crash()
    sink.start()
    assert path.read_text().splitlines()[-20:] == ["x" * 99] * 20


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_space_left_is_said():
    """ENOSPC is not swallowed, as the JVM's sink does."""
    sink = SinkHarness(FileStreamSinkConnector, {"file": "/dev/full"})
    sink.start()
    with pytest.raises(ConnectError, match="file '/dev/full': No space left on device"):
        sink.put("x")


def test_a_directory_is_refused(path):
    """A directory can't be written to: the task does not start."""
    path.mkdir()
    sink = SinkHarness(FileStreamSinkConnector, {"file": str(path)})
    with pytest.raises(
        ConnectError,
        match=rf"Couldn't find or create file '{path}' for FileStreamSinkTask: Is a directory",
    ):
        sink.start()


def test_a_missing_folder_is_refused(path):
    """Folders are not made up: the task does not start and says which file it was."""
    sink = SinkHarness(FileStreamSinkConnector, {"file": str(path / "deeper")})
    with pytest.raises(ConnectError, match="No such file or directory"):
        sink.start()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_without_permission_is_refused(path):
    """A read-only file: the task does not start."""
    path.touch()
    path.chmod(stat.S_IRUSR)
    sink = SinkHarness(FileStreamSinkConnector, {"file": str(path)})
    with pytest.raises(ConnectError, match="Permission denied"):
        sink.start()


def test_standard_output_without_a_file(capfd):
    """Without 'file' lines go to standard output, which stays open."""
    with SinkHarness(FileStreamSinkConnector, {}) as sink:
        sink.put("hello")
        sink.flush()
    sys.stdout.flush()
    assert capfd.readouterr().out == "hello\n"


def test_any_offsets_may_be_set():
    """The sink keeps no offsets of its own."""
    assert FileStreamSinkConnector().alter_offsets({TopicPartition("t", 0): 5}) is True
