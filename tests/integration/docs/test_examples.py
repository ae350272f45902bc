"""The examples of the pages about plugins of one's own pass their own tests."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "docs" / "examples"


@pytest.mark.parametrize("test", sorted(EXAMPLES.glob("test_*.py")), ids=lambda path: path.stem)
def test_examples_pass_their_tests(test, tmp_path):
    """An example's tests are run as its reader would run them, beside a copy of the example."""
    subject = test.with_name(test.name.removeprefix("test_"))
    for file in (test, subject):
        (tmp_path / file.name).write_text(file.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test.name],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.parametrize("name", ["csv_source", "table_sink"])
def test_a_connector_is_about_twenty_lines(name):
    """Without imports, blank lines and its docstring, an example stays short."""
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    counted = [x for x in lines if x.strip() and not x.startswith(("import", "from", '"""'))]
    assert len(counted) <= 25
