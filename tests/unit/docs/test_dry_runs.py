"""docs/dry-runs.md shows what the command says."""

import re
from pathlib import Path

from typer.testing import CliRunner

from penstock.app import build_app

PAGE = (Path(__file__).parents[3] / "docs" / "dry-runs.md").read_text()


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_page_s_example_is_true(tmp_path):
    """The connector and the records of the page give the output of the page."""
    connector, records = tmp_path / "orders.json", tmp_path / "records.jsonl"
    connector.write_text(block("json"))
    records.write_text(block("jsonl"))
    arguments = ["transform", "-f", str(connector), str(records)]
    done = CliRunner().invoke(build_app(), arguments, catch_exceptions=False)
    assert done.exit_code == 1
    assert done.stdout == block("text")
