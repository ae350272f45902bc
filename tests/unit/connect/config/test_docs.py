"""The documentation that is made from definitions."""

from pathlib import Path

from connect import ConfigDef, ConfigType
from connect.config.docs import configuration_page, markdown_table
from connect.config.worker import DISTRIBUTED_CONFIG, OWN_WORKER_KEYS

PAGE = Path(__file__).parents[4] / "docs" / "configuration.md"


def test_page_is_up_to_date():
    """docs/configuration.md says what the definitions say."""
    assert PAGE.read_text(encoding="utf-8") == configuration_page(), (
        "make it anew: python -m connect.config.docs docs/configuration.md"
    )


def test_table_shows_what_is_declared():
    """Name, type, default and meaning of each key, in a table that no value can break."""
    definition = (
        ConfigDef()
        .define("must", doc="a|b")
        .define("n", ConfigType.INT, 3, doc="Count.")
        .define("list", ConfigType.LIST, "", doc="Items.")
        .define("unset", default=None, doc="Nothing.")
    )
    assert markdown_table(definition.keys.values(), {"n": "*Ours.*"}).splitlines()[2:] == [
        r"| `must` | string | **required** | a\|b |",
        "| `n` | int | `3` | Count. *Ours.* |",
        "| `list` | list | empty | Items. |",
        "| `unset` | string |  | Nothing. |",
    ]


def test_own_keys_are_keys():
    """Every key that is marked as ours is declared."""
    assert set(DISTRIBUTED_CONFIG.keys) >= OWN_WORKER_KEYS
