"""The examples of the pages about plugins of one's own pass their own tests."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "docs" / "examples"


def copy_examples(folder):
    for file in EXAMPLES.glob("*.py"):
        shutil.copy(file, folder)


def run(*arguments, kafka, cwd):
    plugins = ["-p", "no:cacheprovider", "-p", "penstock.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *arguments],
        cwd=cwd,
        env={
            "PYTHONPATH": f"{ROOT}:{cwd}",
            "PATH": "/usr/bin:/bin",
            "KAFKA_BOOTSTRAP": kafka,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("test", sorted(EXAMPLES.glob("test_*.py")), ids=lambda path: path.stem)
def test_examples_pass_their_tests(test, kafka, tmp_path):
    """An example's tests are run as its reader would run them, beside a copy of the example."""
    copy_examples(tmp_path)
    assert "passed" in run(test.name, kafka=kafka, cwd=tmp_path)


@pytest.mark.parametrize("name", ["csv_source", "table_sink"])
def test_examples_pass_the_suites_on_kafka(name, kafka, tmp_path):
    """With the other suite in its place, as the page says, the same test is one on a real Kafka."""
    copy_examples(tmp_path)
    test = tmp_path / f"test_{name}.py"
    other = re.sub(r"\((\w+)TaskSuite\)", r"(\1OnKafkaSuite)", test.read_text())
    test.write_text(f"from penstock.testing import SinkOnKafkaSuite, SourceOnKafkaSuite\n{other}")
    assert "passed" in run("-k", "kafka and task", test.name, kafka=kafka, cwd=tmp_path)


@pytest.mark.parametrize("name", ["csv_source", "table_sink"])
def test_a_connector_is_about_twenty_lines(name):
    """Without imports, blank lines and its docstring, an example stays short."""
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    counted = [x for x in lines if x.strip() and not x.startswith(("import", "from", '"""'))]
    assert len(counted) <= 25
