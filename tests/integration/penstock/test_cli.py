import os
import subprocess
from importlib.metadata import version

from tests.support.fake_java import python_command


def run(*arguments, **environment):
    return subprocess.run(
        python_command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **environment},
    )


def test_version_is_the_distributions():
    """--version prints the installed version."""
    done = run("--version")
    assert done.stdout == f"penstock {version('penstock')}\n"
    assert done.returncode == 0


def test_help_lists_the_commands():
    """--help names the command and each group in it."""
    done = run("--help")
    assert "Usage: penstock" in done.stdout
    assert "stack" in done.stdout
    assert done.returncode == 0


def test_wrong_usage_exits_with_two():
    """An unknown command is a usage error."""
    done = run("stak")
    assert done.returncode == 2
    assert "stak" in done.stderr


def test_an_error_of_the_users_is_one_sentence(tmp_path):
    """What the user can put right goes to stderr without a traceback, with exit code 1."""
    done = run("stack", "up", PENSTOCK_STACK="podman", PENSTOCK_STACK_DIR=str(tmp_path / "s"))
    assert done.returncode == 1
    assert done.stderr.startswith("penstock: PENSTOCK_STACK is 'podman'")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_nothing_heavy_is_imported_to_show_help():
    """The command starts without Kafka, Spark, HTTP or the framework being loaded."""
    done = run("--version", PYTHONPROFILEIMPORTTIME="1")
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in loaded
    heavy = {"confluent_kafka", "pyspark", "httpx", "connect", "docker", "starlette"}
    assert not loaded & heavy


def test_status_without_a_stack_says_how_to_start_one(tmp_path):
    """Status of nothing exits with 1 and names the command that starts it."""
    done = run(
        "stack",
        "status",
        PENSTOCK_STACK_DIR=str(tmp_path / "s"),
        KAFKA_BOOTSTRAP="",
        SCHEMA_REGISTRY_URL="",
    )
    assert done.returncode == 1
    assert "run `penstock stack up`" in done.stdout
