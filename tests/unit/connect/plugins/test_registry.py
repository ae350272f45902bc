"""Plugins by their names."""

import pickle
import subprocess
import sys

import pytest

from connect.errors import ConfigError, ConnectError, NotFoundError
from connect.plugins import CONNECTOR_TYPES, PluginInfo, Plugins, PluginType
from connect.plugins.builtin import builtin_plugins, penstock_version
from connect.plugins.info import aliases_of

SINK_CLASS = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@pytest.fixture
def plugins():
    return Plugins()


@pytest.mark.parametrize(
    "name",
    [
        SINK_CLASS,
        "FileStreamSinkConnector",
        "FileStreamSink",
        "connectors.file.sink.FileStreamSinkConnector",
        "connectors.file.sink:FileStreamSinkConnector",
    ],
)
def test_connector_is_found_under_all_its_names(name, plugins):
    """The JVM's class name, the short ones and our own mean the same connector."""
    info = plugins.find(CONNECTOR_TYPES, name)
    assert (info.name, info.type) == (SINK_CLASS, PluginType.SINK)
    assert info.version == penstock_version()


@pytest.mark.parametrize(
    ("type_", "name", "python_name"),
    [
        ("converter", "JsonConverter", "converters.json:JsonConverter"),
        ("converter", "Json", "converters.json:JsonConverter"),
        ("header_converter", "Json", "converters.json:JsonConverter"),
        ("header_converter", "Simple", "converters.simple_header:SimpleHeaderConverter"),
        (
            "converter",
            "io.apicurio.registry.utils.converter.AvroConverter",
            "converters.avro:AvroConverter",
        ),
        ("converter", "io.confluent.connect.avro.AvroConverter", "converters.avro:AvroConverter"),
        (
            "transformation",
            "org.apache.kafka.connect.transforms.MaskField$Value",
            "transforms.mask_field:MaskFieldValue",
        ),
        ("transformation", "MaskField$Value", "transforms.mask_field:MaskFieldValue"),
        (
            "transformation",
            "io.debezium.transforms.ExtractNewRecordState",
            "transforms.extract_new_record_state:ExtractNewRecordState",
        ),
        ("predicate", "RecordIsTombstone", "transforms.predicates:RecordIsTombstone"),
        (
            "config_provider",
            "org.apache.kafka.common.config.provider.FileConfigProvider",
            "connect.config.providers:FileConfigProvider",
        ),
    ],
)
def test_other_plugins_are_found_by_type_and_name(type_, name, python_name, plugins):
    """Class names of Apache, Confluent, Debezium and Apicurio, and aliases, lead to ours."""
    assert plugins.find(PluginType(type_), name).python_name == python_name


def test_every_builtin_has_one_meaning():
    """No two built-in plugins of a type answer to the same name."""
    seen = {}
    for info in builtin_plugins():
        for name in {info.name, info.python_name, *info.aliases}:
            assert seen.setdefault((info.type, name), info) is info


def test_builtins_of_the_table_exist(plugins):
    """Every class that the table promises can be loaded and is what the table says."""
    for info in builtin_plugins():
        cls = plugins.load(info.type, info.name)
        assert issubclass(cls, info.type.base), info


def test_type_must_fit(plugins):
    """A name of another type's plugin is not found."""
    with pytest.raises(
        NotFoundError,
        match=r"Failed to find any class that implements Converter and which name matches "
        r"FileStreamSink, available plugins are: .*ByteArrayConverter",
    ):
        plugins.find(PluginType.CONVERTER, "FileStreamSink")


def test_ambiguous_alias_is_refused():
    """An alias of two classes is refused with both; their full names still work."""
    twins = [
        PluginInfo(PluginType.SINK, f"{p}.TwinSink", f"{p}:TwinSink", aliases=("TwinSink",))
        for p in ("a", "b")
    ]
    plugins = Plugins(extra=twins)
    with pytest.raises(
        ConfigError,
        match=r"More than one connector matches alias TwinSink. Please use full package and class "
        r"name instead. Classes found: a.TwinSink, b.TwinSink",
    ):
        plugins.find(CONNECTOR_TYPES, "TwinSink")
    assert plugins.find(CONNECTOR_TYPES, "b.TwinSink").python_name == "b:TwinSink"


def test_broken_plugins_are_told_when_a_name_is_not_found(tmp_path):
    """Who looks for a plugin that is there but broken learns why it is."""
    (tmp_path / "half.py").write_text("raise RuntimeError('no licence')")
    plugins = Plugins([str(tmp_path)])
    with pytest.raises(NotFoundError, match=r"could not be loaded: half of .*no licence"):
        plugins.find(CONNECTOR_TYPES, "HalfSink")
    assert [info.name for info in plugins.list(broken=True) if info.error] == ["half"]
    assert "half" not in [info.name for info in plugins.list()]


def test_plugin_that_cannot_be_loaded_names_itself():
    """Loading a plugin whose module is gone names the plugin, its origin and the reason."""
    lost = PluginInfo(PluginType.SINK, "lost.Sink", "lost:Sink", origin="somewhere")
    with pytest.raises(ConnectError, match=r"lost\.Sink \(somewhere\) could not be loaded: Module"):
        Plugins(extra=[lost]).load(CONNECTOR_TYPES, "lost.Sink")


def test_list_has_the_order_of_rest(plugins):
    """Sinks come first, then sources, transforms, predicates, converters; each by name."""
    infos = plugins.list()
    types = list(dict.fromkeys(info.type for info in infos))
    # No extension of the REST API is built in.
    assert types == [t for t in PluginType if t is not PluginType.REST_EXTENSION]
    for type_ in types:
        names = [info.name for info in infos if info.type is type_]
        assert names == sorted(names)


def test_what_was_found_travels_to_other_processes(tmp_path):
    """A pickled registry knows what it has found, without looking again."""
    (tmp_path / "mine.py").write_text(
        "from connect import Predicate\n"
        "class Mine(Predicate):\n    def test(self, record): return True\n"
    )
    plugins = Plugins([str(tmp_path)])
    assert plugins.find(PluginType.PREDICATE, "Mine")
    (tmp_path / "mine.py").unlink()
    assert (
        pickle.loads(pickle.dumps(plugins)).find(PluginType.PREDICATE, "Mine").name == "mine.Mine"
    )


def test_nothing_is_imported_to_find_a_builtin():
    """Finding and listing built-ins imports no plugin: a worker starts at once."""
    code = (
        "import sys; from connect.plugins import *; p = Plugins(); "
        "p.find(CONNECTOR_TYPES, 'FileStreamSink'); p.list(); "
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('connectors', 'converters', 'transforms', 'confluent_kafka', 'pyspark')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("type_", "name", "aliases"),
    [
        ("sink", "a.b.FileStreamSinkConnector", ["FileStreamSinkConnector", "FileStreamSink"]),
        ("sink", "a.Connector", ["Connector"]),
        ("transformation", "a.UpTransformation", ["UpTransformation", "Up"]),
        ("predicate", "a.IsOldPredicate", ["IsOldPredicate", "IsOld"]),
        ("converter", "m:JsonConverter", ["JsonConverter", "Json"]),
    ],
)
def test_aliases_leave_out_what_the_type_says(type_, name, aliases):
    """The short names of a class are its simple name and that without the type's word."""
    assert aliases_of(name, PluginType(type_)) == aliases


def test_python_in_configs_can_be_switched_off():
    """By python.transform.enable=false PythonTransform is not found, and the error says why."""
    settings = {"plugin.path": "", "python.transform.enable": "False"}
    off = Plugins.of_worker(settings)
    for name in ("PythonTransform", "transforms.python.PythonTransform"):
        with pytest.raises(NotFoundError, match=r"switched off by python\.transform\.enable=false"):
            off.find(PluginType.TRANSFORMATION, name)
    assert "transforms.python.PythonTransform" not in [info.name for info in off.list()]
    assert Plugins.of_worker({}).find(PluginType.TRANSFORMATION, "PythonTransform").error is None
