"""The pytest plugin, as pytest runs see it that have nothing to do with Kafka."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
ONE_TEST = """
def test_worker(penstock_worker):
    pass
"""


def run(*words, cwd, **environment):
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "HOME": os.environ["HOME"], **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_it_costs_nothing_until_it_is_used(tmp_path):
    """Loading it imports nothing but pytest and itself: no Kafka, and none of our rooms."""
    code = (
        "import pytest, sys; before = set(sys.modules); import penstock.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = run("-c", code, cwd=tmp_path)
    assert done.stdout.split() == ["penstock", "penstock.pytest_plugin"], done.stderr


def test_without_java_tests_are_skipped_and_told_why(tmp_path):
    """Where there is neither Java nor a broker that is named, the reason says what is missing."""
    (tmp_path / "test_one.py").write_text(ONE_TEST)
    plugin = ("-p", "penstock.pytest_plugin", "-p", "no:cacheprovider")
    done = run("-m", "pytest", "-rs", *plugin, "test_one.py", cwd=tmp_path, PATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped" in done.stdout
    assert "Java is missing: install a Java runtime" in done.stdout
