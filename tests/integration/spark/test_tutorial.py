"""docs/spark-tutorial.md does what it says: its code is run from top to bottom."""

import re

import pytest

from tests.support.spark_cluster import JAVA, ROOT
from tests.support.waiting import wait_for
from tests.support.worker import standalone

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "spark-tutorial.md"
# What the page says of a reader's machine, and what the connector needs to be quick on two cores.
SMALL = {
    "spark.master": "local[2]",
    "spark.conf.spark.driver.memory": "1g",
    "spark.conf.spark.driver.extraJavaOptions": JAVA,
    "spark.conf.spark.sql.shuffle.partitions": "2",
}


@pytest.fixture
def blocks(kafka, registry, make_topic, tmp_path):
    """The page's code, with servers and folders of the test's own in place of the reader's."""
    topic = make_topic("payments")
    letters = make_topic("payments-dlq")
    with standalone(kafka, tmp_path, task__shutdown__graceful__timeout__ms=20_000) as worker:
        text = PAGE.read_text()
        for said, meant in {
            "http://localhost:8081/apis/ccompat/v7": registry,
            "http://localhost:8083": worker.url,
            "localhost:9092": kafka,
            "/data": str(tmp_path),
            '"payments-dlq"': f'"{letters}"',
            '"topics": "payments"': f'"topics": "{topic}"',
            # The topic, and the connector that is called like it.
            '"payments", ': f'"{topic}", ',
        }.items():
            assert said in text, said
            text = text.replace(said, meant)
        yield worker, topic, letters, re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.stack
@pytest.mark.timeout(600)
def test_the_page_runs(delta, spark, blocks, consume_all, tmp_path):
    """Payments become sums in Delta and a dead letter, by the connector and by plain PySpark."""
    worker, name, letters, (produce, create, table, letter, lines, compare) = blocks
    names = {"spark": spark}
    run(produce, names, tmp_path)
    create = create.replace('"connector.class"', f'**{SMALL!r},\n    "connector.class"', 1)
    run(create, names, tmp_path)

    def written():
        status = worker.status(name)
        assert not any("trace" in task for task in status["tasks"]), status
        return list(tmp_path.glob("payments/_delta_log/*.json"))

    wait_for(written, lambda: f"the table; {worker.status(name)}", 240)
    consume_all(letters, 1, timeout=60)
    for block in (table, letter, lines, compare):
        run(block, names, tmp_path)


def run(block, names, folder):
    """From a file, so that what fails is shown with its line."""
    file = folder / "block.py"
    file.write_text(block)
    exec(compile(block, str(file), "exec"), names)
