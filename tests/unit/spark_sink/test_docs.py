"""docs/spark.md follows the code."""

from pathlib import Path

from connect.config.docs import markdown_table
from spark_sink.connector import CONFIG

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"


def test_the_table_of_settings_is_the_definitions():
    """Every key is on the page as it is declared."""
    assert markdown_table(CONFIG.keys.values()) in PAGE.read_text()
