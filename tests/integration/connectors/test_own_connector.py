"""The pages about plugins of one's own, followed step by step in a real worker."""

import json
import re
import shutil
from pathlib import Path

from connect.javalang.properties import read_properties
from tests.support.topics import consume_all
from tests.support.waiting import wait_for
from tests.support.worker import read_lines, standalone

DOCS = Path(__file__).parents[3] / "docs"


def shown(name, page="writing-a-connector.md"):
    """What the page shows as the file of that name."""
    page = (DOCS / page).read_text()
    return re.search(rf"<!-- use: {re.escape(name)} -->\n```\w+\n(.*?)```", page, re.DOTALL)[1]


def test_the_page_leads_to_a_running_connector(kafka, topic, tmp_path):
    """With the page's files, the page's connector runs and its rows are in Kafka."""
    (tmp_path / "plugins").mkdir()
    shutil.copy(DOCS / "examples" / "csv_source.py", tmp_path / "plugins")
    (tmp_path / "in.csv").write_text("id,name\n1,Ada\n2,Grace\n")
    (tmp_path / "page.properties").write_text(shown("worker.properties"))
    settings = read_properties(tmp_path / "page.properties")
    del settings["bootstrap.servers"]  # the test's own broker
    connector = json.loads(shown("csv.json"))
    connector["config"]["topic"] = topic
    (tmp_path / "csv.json").write_text(json.dumps(connector))
    with standalone(
        kafka,
        tmp_path,
        [tmp_path / "csv.json"],
        **{key.replace(".", "__"): value for key, value in settings.items()},
    ) as worker:
        worker.wait_running("csv")
        plugins = {p["class"]: p for p in worker.rest.get("/connector-plugins").json()}
        assert plugins["csv_source.CsvSourceConnector"]["version"] == "1.0"
        rows = [json.loads(message.value()) for message in consume_all(kafka, topic, 2)]
    assert rows == [{"id": "1", "name": "Ada"}, {"id": "2", "name": "Grace"}]


def test_plugins_that_are_no_connectors_run_in_a_worker(kafka, topic, produce, tmp_path):
    """With the page's configs, its converter, transform, predicate and provider do their work."""
    page = "writing-plugins.md"
    (tmp_path / "plugins").mkdir()
    shutil.copy(DOCS / "examples" / "own_plugins.py", tmp_path / "plugins")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "file").write_text("people.txt")
    (tmp_path / "page.properties").write_text(shown("worker.properties", page))
    settings = read_properties(tmp_path / "page.properties")
    connector = json.loads(shown("people.json", page))
    connector["config"]["topics"] = topic
    (tmp_path / "people.json").write_text(json.dumps(connector))
    produce(topic, [b"7,Ada", b"8,Grace"])
    with standalone(
        kafka,
        tmp_path,
        [tmp_path / "people.json"],
        **{key.replace(".", "__"): value for key, value in settings.items()},
    ):
        out = tmp_path / "people.txt"
        wait_for(lambda: len(read_lines(out)) == 2, lambda: f"two lines; {read_lines(out)}", 60)
    assert read_lines(out) == ["Struct{id=7,name=Ada}", "Struct{id=8,name=GRACE}"]
