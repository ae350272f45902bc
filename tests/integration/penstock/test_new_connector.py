"""`penstock new connector`."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from connect.plugins import Plugins, PluginType
from connect.testing.running import checked_config
from tests.support.fake_java import python_command

ROOT = Path(__file__).parents[3]
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "penstock.pytest_plugin"]


def run(*arguments, cwd):
    return subprocess.run(
        python_command("new", "connector", *arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_new_connector_passes_its_own_tests_and_is_found(kind, kafka, tmp_path):
    """Untouched, the package's tests pass, a worker finds it, and its example config is valid."""
    # Another name for each kind, because both are loaded into this process.
    word = {"source": "orders", "sink": "bills"}[kind]
    done = run(f"acme-{word}", "--kind", kind, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    package = tmp_path / f"acme-{word}"
    assert str(Path(f"acme-{word}", f"acme_{word}", "connector.py")) in done.stdout

    tests = subprocess.run(
        [sys.executable, *PYTEST],
        cwd=package,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "KAFKA_BOOTSTRAP": kafka},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert tests.returncode == 0, tests.stdout + tests.stderr
    assert "passed" in tests.stdout
    assert "skipped" not in tests.stdout

    name = f"Acme{word.capitalize()}{kind.capitalize()}Connector"
    plugins = Plugins([str(package)])
    found = [info for info in plugins.list() if info.name.endswith(name)]
    assert [(info.type, info.version) for info in found] == [(PluginType(kind), "0.1.0")]
    example = json.loads((package / f"acme-{word}.json").read_text())
    checked_config(plugins.load(PluginType(kind), found[0].name), example["config"])


def test_new_connectors_install_into_a_fresh_environment(kafka, tmp_path):
    """Untouched, they install beside Penstock, `penstock plugins` lists them, and their conformance
    suites pass there, with the fixtures that Penstock gives to pytest.
    """
    made = {"orders": "source", "bills": "sink"}
    for name, kind in made.items():
        assert run(name, "-k", kind, cwd=tmp_path).returncode == 0
    environment = tmp_path / ".venv"
    _called("uv", "venv", "--offline", "--python", sys.executable, environment)
    _install(environment, ROOT, *(tmp_path / name for name in made))
    # What Penstock and pytest depend on is taken from where this test runs.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    clean["KAFKA_BOOTSTRAP"] = kafka

    def called(*command, cwd=tmp_path):
        return _called(*command, cwd=cwd, env=clean)

    where = "import penstock; print(penstock.__file__)"
    assert str(site) in called(environment / "bin/python", "-c", where)
    listed = called(environment / "bin/penstock", "plugins")
    for name, kind in made.items():
        assert f"{name.capitalize()}{kind.capitalize()}Connector" in listed
        tests = [environment / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        told = called(*tests, cwd=tmp_path / name)
        assert "passed" in told
        assert "skipped" not in told


def _install(environment, *projects):
    """By uv: offline if its cache has the build backend, which `make setup` leaves there."""
    install = ["uv", "pip", "install", "--no-deps", "--python", environment / "bin/python"]
    try:
        _called(*install, "--offline", *projects)
    except AssertionError:
        try:
            _called(*install, *projects)
        except AssertionError as error:
            pytest.skip(f"the build backend can't be had: {error}")


def _called(*command, **more):
    tool = Path(sys.executable).parent / str(command[0])
    done = subprocess.run(
        [str(tool if tool.exists() else command[0]), *map(str, command[1:])],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        **more,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_new_connector_keeps_to_the_style(kind, tmp_path):
    """What it makes is typed and formatted."""
    assert run("acme-orders", "-k", kind, "-d", str(tmp_path), cwd=tmp_path).returncode == 0
    for command in (
        [sys.executable, "-m", "ruff", "format", "--check", "--line-length", "100", "."],
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "acme_orders"],
    ):
        done = subprocess.run(
            command,
            cwd=tmp_path / "acme-orders",
            env={**os.environ, "MYPYPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_is_overwritten(tmp_path):
    """A directory that is there is left alone, with one sentence."""
    (tmp_path / "mine").mkdir()
    done = run("mine", "-k", "sink", cwd=tmp_path)
    assert done.returncode == 1
    assert "mine is there already" in done.stderr
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize("name", ["../up", "9lives", "a b", "a--b", ""])
def test_names_that_python_or_pip_would_refuse_are_refused(name, tmp_path):
    """The message says what a name looks like."""
    done = run(name, "-k", "source", cwd=tmp_path)
    assert done.returncode == 1
    assert "such as acme-orders" in done.stderr
    assert list(tmp_path.iterdir()) == []
