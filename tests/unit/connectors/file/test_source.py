import os
import stat
import sys

import pytest

from connect import ConfigError, ConnectError, ExactlyOnceSupport, Schema, SourceConnector
from connect.testing import SourceHarness, SourceTaskSuite
from connectors.file.source import FileStreamSourceConnector


class TestFileSourceConforms(SourceTaskSuite):
    connector = FileStreamSourceConnector

    def config(self, place):
        return {"file": str(place / "in.txt"), "topic": "lines", "batch.size": "7"}

    def fill(self, place, count):
        (place / "in.txt").write_text("".join(f"line {n} ä\r\n" for n in range(count)))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "in.txt"


@pytest.fixture
def source(path):
    harness = SourceHarness(FileStreamSourceConnector, {"file": str(path), "topic": "lines"})
    yield harness
    harness.stop()


def values(records):
    return [record.value for record in records]


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def connector(**config):
    built = FileStreamSourceConnector()
    built.config = FileStreamSourceConnector.config_def.parse({"topic": "t", **config})
    return built


def test_a_record_is_what_the_jvm_makes_of_a_line(source, path):
    """Topic, null key, STRING value, a timestamp, and file name and position as the offset."""
    path.write_bytes(b"first\nsecond\n")
    source.start()
    first, second = source.poll(2)
    assert first.topic == "lines"
    assert (first.partition, first.key_schema, first.key) == (None, None, None)
    assert (first.value_schema, first.value) == (Schema.STRING, "first")
    assert first.timestamp is not None
    assert first.source_partition == {"filename": str(path)}
    assert [first.source_offset, second.source_offset] == [{"position": 6}, {"position": 13}]


def test_batches_keep_to_batch_size(path):
    """No poll gives more than batch.size records, and all of them come."""
    path.write_text("x\n" * 25)
    config = {"file": str(path), "topic": "t", "batch.size": "10"}
    with SourceHarness(FileStreamSourceConnector, config) as source:
        assert [len(source.poll_once()) for _ in range(3)] == [10, 10, 5]


def test_waits_for_the_file_to_appear(source, path, caplog):
    """A file that is not there yet is waited for, with one warning, and read when it comes."""
    source.start()
    assert source.poll_once() == source.poll_once() == []
    path.write_text("here\n")
    assert values(source.poll(1)) == ["here"]
    assert [r.getMessage() for r in caplog.records if r.levelname == "WARNING"] == [
        f"{path} is not there yet: waiting for it."
    ]


def test_follows_growth_and_waits_for_the_end_of_a_line(source, path):
    """New lines are read as they come; half a line waits for its newline."""
    path.write_bytes(b"one\ntw")
    source.start()
    assert values(source.poll(1)) == ["one"]
    assert source.poll_once() == []
    append(path, b"o\nthree\n")
    assert values(source.poll(2)) == ["two", "three"]


def test_half_a_line_is_read_whole_after_a_restart(source, path):
    """The offset never points into a line, so a restart reads an unfinished one from its start."""
    path.write_bytes(b"one\ntw")
    source.start()
    source.poll(1)
    source.commit()
    source.crash()
    append(path, b"o\n")
    source.start()
    assert values(source.poll(1)) == ["two"]


def test_goes_on_behind_letters_of_several_bytes(source, path):
    """Positions count bytes, so a restart in a file of umlauts finds the right line."""
    path.write_text("ääääää\nööö\nüüü\n", encoding="utf-8")
    source.start()
    source.poll(3)
    source.commit(1)
    source.crash()
    source.start()
    assert values(source.poll(2)) == ["ööö", "üüü"]


def test_a_file_cut_short_is_read_from_its_start(source, path):
    """After truncation in place, what is written anew is read from position 0 on."""
    path.write_text("old line one\nold line two\n")
    source.start()
    source.poll(2)
    path.write_text("new\n")
    (record,) = source.poll(1)
    assert (record.value, record.source_offset) == ("new", {"position": 4})


def test_a_rotated_file_is_read_to_its_end_before_its_successor(source, path):
    """After rename and re-creation nothing of the old file is lost, not even a last half line."""
    path.write_text("a\n")
    source.start()
    source.poll(1)
    path.rename(path.with_suffix(".1"))
    append(path.with_suffix(".1"), b"late\nlast")
    path.write_text("b\n")
    records = source.poll(3)
    assert values(records) == ["late", "last", "b"]
    assert records[-1].source_offset == {"position": 2}


def test_a_removed_file_is_not_an_error(source, path):
    """Between removal and re-creation the task waits."""
    path.write_text("a\n")
    source.start()
    source.poll(1)
    path.unlink()
    assert source.poll_once() == []
    path.write_text("b\n")
    assert values(source.poll(1)) == ["b"]


def test_a_file_shorter_than_the_stored_position_is_read_from_its_start(source, path, caplog):
    """A file replaced while the task was down is noticed when it is shorter, and said so."""
    path.write_text("new\n")
    source.offsets.store({"filename": str(path)}, {"position": 1000})
    source.start()
    assert values(source.poll(1)) == ["new"]
    assert "less than the 1000 that were read before" in caplog.text


def test_an_empty_file_gives_nothing(source, path):
    """An empty file is simply one that has not grown yet."""
    path.touch()
    source.start()
    assert source.poll_once() == []


def test_a_directory_is_refused_by_name(source, path):
    """A directory fails the task and says what to name instead."""
    path.mkdir()
    source.start()
    with pytest.raises(ConnectError, match=rf"Cannot read file '{path}': it is a directory"):
        source.poll_once()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused_by_name(source, path):
    """A file without read permission fails the task, with the file's name and the reason."""
    path.touch()
    path.chmod(stat.S_IWUSR)
    source.start()
    with pytest.raises(ConnectError, match=rf"Cannot open file '{path}': Permission denied"):
        source.poll_once()


def test_a_path_through_a_file_is_refused(path):
    """A path that can never be there fails the task instead of waiting for ever."""
    path.touch()
    config = {"file": str(path / "deeper"), "topic": "t"}
    with (
        SourceHarness(FileStreamSourceConnector, config) as source,
        pytest.raises(ConnectError, match=r"Cannot open file .*: Not a directory"),
    ):
        source.poll_once()


@pytest.mark.parametrize("position", ["12", 1.5, True, -1])
def test_a_stored_position_that_is_none_fails_the_task(source, path, position):
    """An offset of the wrong type is not guessed at."""
    path.touch()
    source.offsets.store({"filename": str(path)}, {"position": position})
    source.start()
    with pytest.raises(ConnectError, match="Offset position is the incorrect type"):
        source.poll_once()


def test_a_named_pipe_does_not_hold_the_task(source, path):
    """A pipe nobody writes to yet does not block poll, and what is written is read."""
    os.mkfifo(path)
    source.start()
    assert source.poll_once() == []
    writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        assert source.poll_once() == []
        os.write(writer, b"through\n")
        assert values(source.poll(1)) == ["through"]
    finally:
        os.close(writer)


@pytest.fixture
def stdin(monkeypatch):
    read, write = os.pipe()
    with os.fdopen(read) as reading, os.fdopen(write, "wb", buffering=0) as writing:
        monkeypatch.setattr(sys, "stdin", reading)
        yield writing


def test_standard_input_is_read_without_a_file(stdin):
    """Without 'file' lines come from standard input, without a position, and its last one too."""
    with SourceHarness(FileStreamSourceConnector, {"topic": "t"}) as source:
        stdin.write(b"a\nb")
        (record,) = source.poll(1)
        assert record.value == "a"
        assert record.source_partition == {"filename": None}
        assert record.source_offset == {"position": None}
        stdin.close()
        assert values(source.poll(1)) == ["b"]
        assert source.poll_once() == []


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({}, 'Missing required configuration "topic" which has no default value.'),
        ({"topic": ""}, "Invalid value  for configuration topic: String must be non-empty"),
        ({"topic": "a,b"}, "Invalid value a,b for configuration topic: Lines go to one topic"),
        ({"topic": "t", "batch.size": "many"}, "configuration batch.size: Not a number of type"),
        ({"topic": "t", "batch.size": "0"}, "batch.size: Value must be at least 1"),
    ],
)
def test_wrong_configs_are_refused(config, error):
    """Each wrong key is named with its value and the reason."""
    with pytest.raises(ConfigError) as raised:
        SourceHarness(FileStreamSourceConnector, config).start()
    assert error in str(raised.value)


def test_exactly_once_is_supported_for_files_only():
    """A file can be read again from an offset, standard input can't."""
    assert connector(file="x").exactly_once_support() is ExactlyOnceSupport.SUPPORTED
    assert connector().exactly_once_support() is ExactlyOnceSupport.UNSUPPORTED
    assert connector(file="").exactly_once_support() is ExactlyOnceSupport.UNSUPPORTED


def test_one_task_whatever_tasks_max_says():
    """A file is read by one task."""
    assert len(connector(file="x").task_configs(5)) == 1


PARTITION = {"filename": "x"}


@pytest.mark.parametrize(
    ("offsets", "error"),
    [
        ([(PARTITION, {})], "Offset objects should either be null or contain the key 'position'"),
        (
            [(PARTITION, {"position": "10"})],
            "The value for the 'position' key in the offset is expected to be a Long value",
        ),
        (
            [(PARTITION, {"position": True})],
            "The value for the 'position' key in the offset is expected to be a Long value",
        ),
        (
            [(PARTITION, {"position": -1})],
            "The value for the 'position' key in the offset should be a non-negative value",
        ),
        ([(None, {"position": 1})], "Partition objects cannot be null"),
        (
            [({"file": "x"}, {"position": 1})],
            "Partition objects should contain the key 'filename'",
        ),
    ],
)
def test_offsets_that_make_no_sense_are_refused_in_the_jvms_words(offsets, error):
    """Each check of the contract, with its text."""
    with pytest.raises(ConnectError) as raised:
        connector(file="x").alter_offsets(offsets)
    assert str(raised.value) == error


def test_offsets_of_standard_input_can_not_be_changed():
    """Standard input has no offsets to change."""
    with pytest.raises(ConnectError, match="Offsets cannot be modified if the 'file'"):
        connector().alter_offsets([(PARTITION, {"position": 1})])


def test_good_offsets_and_any_reset_are_accepted():
    """A position for any file, and a reset of anything, even of rubbish."""
    built: SourceConnector = connector(file="x")
    assert built.alter_offsets([({"filename": "y"}, {"position": 0}), ({"junk": 1}, None)])
