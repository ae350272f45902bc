from connect.testing import SourceHarness, SourceTaskSuite
from csv_source import CsvSourceConnector


def config(place):
    return {"file": str(place / "in.csv"), "topic": "rows"}


class TestCsvSource(SourceTaskSuite):
    connector = CsvSourceConnector

    def config(self, place):
        return config(place)

    def fill(self, place, count):
        rows = "".join(f"{n},name {n}\n" for n in range(count))
        (place / "in.csv").write_text("id,name\n" + rows)


def test_a_row_becomes_a_map(tmp_path):
    """Column names are keys, and the offset is the number of the row."""
    (tmp_path / "in.csv").write_text("id,name\n1,Ada\n")
    with SourceHarness(CsvSourceConnector, config(tmp_path)) as source:
        (record,) = source.poll(1)
    assert record.value == {"id": "1", "name": "Ada"}
    assert record.source_offset == {"row": 1}
