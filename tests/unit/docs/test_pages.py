"""What the docs show is what there is: files, config keys, configs."""

import importlib
import json
import re
from pathlib import Path

import pytest

from connect.config.docs import markdown_table
from connect.plugins import Plugins, PluginType
from connect.testing.running import checked_config
from connectors.datagen.generator import generator
from connectors.datagen.settings import quickstarts

DOCS = Path(__file__).parents[3] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def tables_of_keys():
    """Every `<!-- keys: module:Connector -->` in the docs, with the table behind it."""
    for page in PAGES:
        for name, table in re.findall(r"<!-- keys: (\S+) -->\n((?:\|.*\n)+)", page.read_text()):
            yield pytest.param(name, table, id=name)


@pytest.mark.parametrize("page", [p for p in PAGES if "<!-- file:" in p.read_text()], ids=str)
def test_shown_files_are_the_files(page):
    """Code on a page that stands for a file is that file, letter for letter."""
    shown = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert shown
    for name, text in shown:
        assert text == (page.parent / name).read_text(), f"{page.name} shows another {name}"


@pytest.mark.parametrize(("name", "table"), [*tables_of_keys()])
def test_tables_of_keys_are_complete(name, table):
    """A connector's page has each key with its type, default and doc, and no other."""
    module, _, attribute = name.partition(":")
    definition = getattr(importlib.import_module(module), attribute).config_def
    assert table.strip() == markdown_table(definition.keys.values()).strip()


def example_configs():
    for page in sorted((DOCS / "connectors").glob("*.md")):
        for text in re.findall(r"```json\n(.*?)```", page.read_text(), re.DOTALL):
            example = json.loads(text)
            if "config" in example:
                yield pytest.param(example, id=example["name"])


@pytest.mark.parametrize("example", [*example_configs()])
def test_example_configs_are_valid(example):
    """Every example of a connector's page passes the connector's own validation."""
    assert set(example) == {"name", "config"}
    config = example["config"]
    plugins = Plugins([])
    types = (PluginType.SOURCE, PluginType.SINK)
    checked_config(plugins.load(types, config["connector.class"]), config)
    assert plugins.load(PluginType.CONVERTER, config["value.converter"])


def test_datagens_page_lists_its_quickstarts():
    """The page names every quickstart that comes with Datagen."""
    page = (DOCS / "connectors" / "datagen.md").read_text()
    listed = re.search(r"Quickstarts: (.*?)\n\n", page, re.DOTALL)[1]
    assert re.findall(r"`(\w+)`", listed) == list(quickstarts())


def test_datagens_own_schema_example_makes_data():
    """The schema on the page is one that data can be made from."""
    page = (DOCS / "connectors" / "datagen.md").read_text()
    (text,) = re.findall(r"```json\n(\{\s+\"type\": \"record\".*?)```", page, re.DOTALL)
    assert len(generator(text).schema.fields) == 5


def named_tests():
    for page in PAGES:
        for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text()):
            yield pytest.param(path, name, id=name)


@pytest.mark.parametrize(("path", "name"), [*named_tests()])
def test_tests_that_pages_name_exist(path, name):
    """A promise that points to a test points to one that is there."""
    file = DOCS.parent / path
    assert file.exists(), f"{path} is not there"
    assert f"def {name}(" in file.read_text()
