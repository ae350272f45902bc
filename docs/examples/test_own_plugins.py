import pytest

from connect import DataError, SinkRecord
from own_plugins import CsvLineConverter, FolderProvider, IsLong, Upper


@pytest.fixture
def converter():
    made = CsvLineConverter()
    made.configure({"columns": "id,name"}, is_key=False)
    return made


def test_lines_become_structs_and_lines_again(converter):
    schema, value = converter.to_connect("t", b"7,Ada")
    assert value == {"id": "7", "name": "Ada"}
    assert converter.from_connect("t", schema, value) == b"7,Ada"


def test_lines_that_do_not_fit_are_refused(converter):
    with pytest.raises(DataError, match="1 cells, not 2"):
        converter.to_connect("t", b"7")


def test_fields_are_changed_where_the_predicate_says_so():
    change, is_long = Upper(), IsLong()
    change.configure(Upper.config_def.parse({"field": "name"}))
    is_long.configure(IsLong.config_def.parse({"field": "name", "than": "3"}))
    record = SinkRecord("t", 0, None, None, None, {"name": "Grace"})
    assert is_long.test(record)
    assert change.apply(record).value == {"name": "GRACE"}


def test_secrets_are_read_from_files(tmp_path):
    (tmp_path / "password").write_text("sesame\n")
    assert FolderProvider().get(str(tmp_path), ["password", "other"]) == {"password": "sesame"}
