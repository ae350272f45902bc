"""Plugins that do not come with Penstock: files, packages, folders with their dependencies."""

import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from connect.plugins import CONNECTOR_TYPES, Plugins, PluginType
from connect.plugins.discovery import discover
from tests.support.processes import alive
from tests.support.waiting import wait_for

SINK = """
    from connect import SinkConnector, SinkTask

    class {name}Task(SinkTask):
        def start(self, config): ...
        def put(self, records): ...

    class {name}(SinkConnector):
        task_class = {name}Task
        version = {version!r}
"""


def write(path: Path, text: str, **names) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).format(**names) if names else textwrap.dedent(text))
    return path


def install(folder: Path, name: str, version: str, group: str, points: dict[str, str]) -> None:
    """What `pip install --target folder` leaves behind, as far as it matters here."""
    info = folder / f"{name}-{version}.dist-info"
    write(info / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "".join(f"{alias} = {value}\n" for alias, value in points.items())
    write(info / "entry_points.txt", f"[{group}]\n{lines}")
    files = [*folder.rglob("*.py"), info / "METADATA", info / "entry_points.txt"]
    write(info / "RECORD", "".join(f"{p.relative_to(folder)},,\n" for p in files))


def by_name(infos):
    return {info.name: info for info in infos}


def test_file_is_a_plugin(tmp_path):
    """A plain Python file on plugin.path brings the plugins that it defines, with their version."""
    file = write(tmp_path / "my_sink.py", SINK, name="MySinkConnector", version="2.1")
    (info,) = discover([str(tmp_path)])
    assert (info.type, info.name, info.version) == (
        PluginType.SINK,
        "my_sink.MySinkConnector",
        "2.1",
    )
    assert info.aliases == ("MySinkConnector", "MySink")
    assert (info.origin, info.error) == (str(file), None)


def test_discovery_leaves_no_trace_in_this_process(tmp_path):
    """Finding a plugin neither imports it here nor changes where modules are looked for."""
    write(tmp_path / "penstock_test_traceless.py", SINK, name="A", version=None)
    before = list(sys.path)
    assert discover([str(tmp_path)])
    assert "penstock_test_traceless" not in sys.modules
    assert sys.path == before


def test_package_is_a_plugin_by_what_it_exports(tmp_path):
    """A package's plugins are those it exports, under the name by which it exports them."""
    write(tmp_path / "pack" / "impl.py", SINK, name="PackSink", version=None)
    write(tmp_path / "pack" / "__init__.py", "from pack.impl import PackSink\n")
    (info,) = discover([str(tmp_path)])
    assert info.name == "pack.PackSink"


def test_folder_brings_its_own_dependencies(tmp_path):
    """A folder made by pip is visible as a whole, and what it announces is a plugin."""
    folder = tmp_path / "vendor"
    write(folder / "vendored_dependency.py", "VERSION = '9.9'\n")
    write(
        folder / "vendored_sink.py",
        SINK + "\n    from vendored_dependency import VERSION\n    {name}.version = VERSION\n",
        name="VendoredSink", version=None,
    )  # fmt: skip
    install(
        folder, "vendored", "1.4", "penstock.connectors", {"vend": "vendored_sink:VendoredSink"}
    )
    (info,) = discover([str(tmp_path)])
    assert (info.name, info.version) == ("vendored_sink.VendoredSink", "9.9")
    assert "vend" in info.aliases
    assert info.origin == f"vendored 1.4 in {folder}"


def test_version_of_the_distribution_stands_in(tmp_path):
    """A plugin that does not say its version has the one of its distribution."""
    folder = tmp_path / "vendor"
    write(folder / "quiet_sink.py", SINK, name="QuietSink", version=None)
    install(folder, "quiet", "1.4", "penstock.connectors", {"quiet": "quiet_sink:QuietSink"})
    assert [info.version for info in discover([str(tmp_path)])] == ["1.4"]


def test_wheel_in_a_folder_is_found(tmp_path):
    """A wheel that lies in a folder of plugin.path needs no unpacking."""
    write(tmp_path / "built" / "wheeled.py", SINK, name="WheeledSink", version=None)
    install(tmp_path / "built", "wheeled", "3", "penstock.connectors", {"w": "wheeled:WheeledSink"})
    folder = tmp_path / "plugins" / "wheeled"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "wheeled-3-py3-none-any.whl", "w") as wheel:
        for file in (tmp_path / "built").rglob("*.*"):
            if file.is_file():
                wheel.write(file, file.relative_to(tmp_path / "built"))
    assert list(by_name(discover([str(tmp_path / "plugins")]))) == ["wheeled.WheeledSink"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("import does_not_exist", "ModuleNotFoundError: No module named 'does_not_exist'"),
        ("x = (", "SyntaxError: '(' was never closed"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
        ("import os; os._exit(7)", "ended with code 7"),
        ("import os; os.kill(os.getpid(), 11)", "ended with code -11"),
        ("import time; time.sleep(600)", "not imported within 2 seconds"),
    ],
)
def test_broken_plugin_is_listed_and_harms_no_other(code, reason, tmp_path):
    """Whatever a plugin does while it is imported, it is listed with it and its neighbour works."""
    write(tmp_path / "broken.py", code)
    write(tmp_path / "good.py", SINK, name="GoodSink", version=None)
    found = by_name(discover([str(tmp_path)], deadline=2))
    assert reason in found["broken"].error
    assert found["good.GoodSink"].error is None


def test_broken_one_of_several_is_told_from_the_others(tmp_path):
    """A folder with one plugin that ends the process still brings its other plugins."""
    folder = tmp_path / "several"
    write(folder / "fine.py", SINK, name="FineSink", version=None)
    write(folder / "deadly.py", "import os; os._exit(3)")
    found = by_name(discover([str(tmp_path)]))
    assert found["fine.FineSink"].error is None
    assert "ended with code 3" in found["deadly"].error


def test_output_and_leftovers_of_a_plugin_do_no_harm(tmp_path):
    """A plugin that prints, and leaves a thread and a process behind, is found without waiting."""
    code = """
        import os, subprocess, sys, threading, time
        print("hello"); os.write(1, b"noise")
        threading.Thread(target=time.sleep, args=(600,)).start()
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open(os.path.join(os.path.dirname(__file__), "pid"), "w").write(str(child.pid))
    """
    write(
        tmp_path / "noisy.py",
        textwrap.dedent(code) + textwrap.dedent(SINK).format(name="N", version=None),
    )
    (info,) = discover([str(tmp_path)], deadline=20)
    assert info.name == "noisy.N"
    pid = int((tmp_path / "pid").read_text())
    wait_for(lambda: not alive(pid), "the end of the plugin's own child")


def test_what_is_announced_wrongly_is_broken(tmp_path):
    """An entry point whose class is not what its group promises says so."""
    folder = tmp_path / "wrong"
    write(folder / "mistaken.py", SINK, name="MistakenSink", version=None)
    install(folder, "mistaken", "1", "penstock.transforms", {"m": "mistaken:MistakenSink"})
    (info,) = discover([str(tmp_path)])
    assert info.type is PluginType.TRANSFORMATION
    assert "announced in penstock.transforms and no concrete Transformation" in info.error


def test_name_of_an_installed_module_is_refused(tmp_path):
    """A file that would hide an installed module is not loaded, and told to be renamed."""
    write(tmp_path / "json.py", SINK, name="JsonSink", version=None)
    (info,) = discover([str(tmp_path)])
    assert "a module of that name is installed already" in info.error


def test_paths_without_plugins(tmp_path, caplog):
    """A path that does not exist is warned of; folders of other things hold no plugins."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "x.jar").touch()
    assert discover([str(tmp_path), str(tmp_path / "missing")]) == []
    assert "missing, which does not exist" in caplog.text


def test_loading_makes_only_that_plugin_visible(tmp_path):
    """A loaded plugin sees its own folder; the neighbour's modules stay out of sight."""
    write(tmp_path / "penstock_test_mine.py", SINK, name="MineSink", version=None)
    write(tmp_path / "penstock_test_other.py", "")
    plugins = Plugins([str(tmp_path)])
    try:
        cls = plugins.load(CONNECTOR_TYPES, "MineSink")
        assert cls.__module__ == "penstock_test_mine"
        with pytest.raises(ImportError):
            __import__("penstock_test_other")
    finally:
        sys.modules.pop("penstock_test_mine", None)


def test_two_versions_live_side_by_side(tmp_path):
    """Of two folders with the same class the newest is meant, unless a version is asked for."""
    for version in ("1.9", "1.10"):
        folder = tmp_path / f"v{version}"
        write(folder / "twice.py", SINK, name="TwiceSink", version=version)
        install(folder, "twice", version, "penstock.connectors", {"twice": "twice:TwiceSink"})
    plugins = Plugins([str(tmp_path)])
    assert plugins.find(CONNECTOR_TYPES, "twice").version == "1.10"
    old = plugins.find(CONNECTOR_TYPES, "twice", "[1,1.10)")
    assert (old.version, Path(old.location).name) == ("1.9", "v1.9")


def test_environment_announces_plugins(tmp_path, monkeypatch):
    """A distribution on Python's own path is found by its entry points, with its origin."""
    write(tmp_path / "penstock_test_env.py", SINK, name="EnvSink", version=None)
    points = {"env-sink": "penstock_test_env:EnvSink", "gone": "penstock_test_env:Gone"}
    install(tmp_path, "penstock-test-env", "0.3", "penstock.connectors", points)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {i.python_name: i for i in discover([]) if "penstock_test_env" in i.python_name}
    assert found["penstock_test_env:EnvSink"].origin == "penstock-test-env 0.3"
    assert found["penstock_test_env:EnvSink"].location is None
    assert "AttributeError" in found["penstock_test_env:Gone"].error


def test_discovery_survives_a_foreign_working_directory(tmp_path, monkeypatch):
    """Relative entries of plugin.path count from where the worker was started."""
    write(tmp_path / "plugins" / "relative.py", SINK, name="RelativeSink", version=None)
    monkeypatch.chdir(tmp_path)
    (info,) = discover(["plugins"])
    assert info.location == str(tmp_path / "plugins" / "relative.py")


def test_threads_may_load_one_plugin_at_the_same_time(tmp_path):
    """None of them gets a module that another has only begun to fill."""
    code = "import time\nfrom connect import SourceConnector\ntime.sleep(0.2)\n"
    (tmp_path / "slow_to_load.py").write_text(code + "class Slow(SourceConnector): pass\n")
    script = (
        "import sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from connect.plugins.loading import import_plugin_module\n"
        "with ThreadPoolExecutor(4) as threads:\n"
        "    found = threads.map(import_plugin_module, ['slow_to_load'] * 4, sys.argv[1:] * 4)\n"
        "    print([module.Slow.__name__ for module in found])\n"
    )
    place = str(tmp_path / "slow_to_load.py")
    done = subprocess.run(
        [sys.executable, "-c", script, place], capture_output=True, text=True, check=False
    )
    assert done.stdout == "['Slow', 'Slow', 'Slow', 'Slow']\n", done.stderr
