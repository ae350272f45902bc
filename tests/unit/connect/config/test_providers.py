"""Config providers and the references that they resolve."""

import pytest

from connect import ConfigError, ConfigProvider
from connect.config.providers import (
    DirectoryConfigProvider,
    EnvVarConfigProvider,
    FileConfigProvider,
    Providers,
    make_providers,
)


class Fixed(ConfigProvider):
    """Knows a few things, and says how often it was asked."""

    def __init__(self):
        self.values = {"k": "V", "k2": "${p:k}", "sp ace": "S", "": "E"}
        self.asked = []

    def get(self, path, keys=None):
        self.asked.append((path, sorted(keys)))
        return {key: self.values[key] for key in keys if key in self.values}

    def ttl_ms(self, path):
        return {"short": 5, "long": 50}.get(path)


@pytest.fixture
def fixed():
    return Fixed()


# What org.apache.kafka.common.config.ConfigTransformer of Kafka 4.3.1 made of the same texts.
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${p:k}", "V"),
        ("a${p:k}b${p:x:k2}c", "aVb${p:k}c"),
        ("${p:none}", "${p:none}"),
        ("${q:k}", "${q:k}"),
        ("${p:a:b:k}", "${p:a:b:k}"),
        ("${p:}", "E"),
        ("${p}", "${p}"),
        ("${p:k", "${p:k"),
        ("$${p:k}", "$V"),
        ("${p: k}", "${p: k}"),
        ("${ p:k}", "${ p:k}"),
        ("${p:x:sp ace}", "S"),
        ("${p:${p:k}}", "V}"),
        ("${p:x:${p:k}}", "${p:x:${p:k}}"),
        ("${p:/a b/c.properties:k}", "V"),
        ("${:k}", "${:k}"),
        ("${p::k}", "V"),
        ("${p:x\ny:k}", "V"),
        ("plain", "plain"),
    ],
)
def test_references_mean_what_they_mean_to_kafka(text, result, fixed):
    """Every form of a reference has the result that Kafka's own code has."""
    resolved = Providers({"p": fixed}).resolve({"key": text})
    assert resolved.values == {"key": result}
    assert resolved.references == ({} if result == text else {"key": text})


def test_each_path_is_read_once(fixed):
    """Several keys at one path are one lookup, and null values pass through."""
    resolved = Providers({"p": fixed}).resolve(
        {"a": "${p:x:k}", "b": "${p:x:k2}", "c": "${p:y:k}", "d": None}
    )
    assert fixed.asked == [("x", ["k", "k2"]), ("y", ["k"])]
    assert resolved.values["d"] is None


def test_shortest_time_counts(fixed):
    """Values are good for as long as the one that expires first."""
    assert Providers({"p": fixed}).resolve({"a": "${p:k}"}).ttl_ms is None
    both = {"a": "${p:short:k}", "b": "${p:long:k}"}
    assert Providers({"p": fixed}).resolve(both).ttl_ms == 5


def test_failing_provider_names_setting_and_reference_only():
    """The error of a lookup names the setting and the reference, not what the provider said."""

    class Failing(Fixed):
        def get(self, path, keys=None):
            raise RuntimeError("hunter2 is not a token")

    with pytest.raises(ConfigError) as caught:
        Providers({"p": Failing()}).resolve({"db.password": "${p:vault:k}"})
    assert str(caught.value).startswith("Invalid value ${p:vault:k} for configuration db.password:")
    assert "hunter2" not in str(caught.value)


# ---- files ----------------------------------------------------------------------------------


def make(cls, **settings):
    provider = cls()
    provider.configure({key.replace("_", "."): str(value) for key, value in settings.items()})
    return provider


def test_file_is_read_as_properties(tmp_path):
    """A key of a properties file is found; others and other paths give nothing."""
    file = tmp_path / "db.properties"
    file.write_text("user = scott\npassword=ti\\\n  ger\n")
    provider = make(FileConfigProvider)
    assert provider.get(str(file), ["password", "none"]) == {"password": "tiger"}
    assert provider.get(str(file)) == {"user": "scott", "password": "tiger"}
    assert provider.get("") == {}


def test_missing_file_is_named(tmp_path):
    """A file that can't be read is an error with its path."""
    with pytest.raises(ConfigError, match=r"Could not read properties from file .*none"):
        make(FileConfigProvider).get(str(tmp_path / "none.properties"), ["k"])


def test_malformed_file_is_named_without_its_contents(tmp_path):
    """A file that is no properties file is an error that does not quote its values."""
    file = tmp_path / "bad.properties"
    file.write_text("password=hunter2\\u12\n")
    with pytest.raises(ConfigError, match=r"bad\.properties") as caught:
        make(FileConfigProvider).get(str(file), ["password"])
    assert "hunter2" not in str(caught.value)


def test_directory_has_a_file_for_each_key(tmp_path):
    """A file's whole text is the value; folders are no keys."""
    (tmp_path / "password").write_text("tiger\n")
    (tmp_path / "sub").mkdir()
    provider = make(DirectoryConfigProvider)
    assert provider.get(str(tmp_path)) == {"password": "tiger\n"}
    assert provider.get(str(tmp_path), ["password", "sub", "../x"]) == {"password": "tiger\n"}
    assert provider.get(str(tmp_path / "none"), ["password"]) == {}


@pytest.mark.parametrize("cls", [FileConfigProvider, DirectoryConfigProvider])
def test_allowed_paths_are_the_limit(cls, tmp_path, caplog):
    """Neither dots nor links lead out of the allowed paths; the reference stays as it is."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "k").write_text("k=v")
    (inside / "link").symlink_to(outside)
    (inside / "linked").symlink_to(outside / "k")
    provider = make(cls, allowed_paths=inside)
    suffix = "/k" if cls is FileConfigProvider else ""
    assert provider.get(f"{inside}{suffix}", ["k"])
    for path in (outside, inside / "link", inside / ".." / "out"):
        assert provider.get(f"{path}{suffix}", ["k"]) == {}
    assert provider.get(f"{inside}/linked" if suffix else str(inside), ["linked"]) == {}
    assert "not within allowed.paths" in caplog.text


@pytest.mark.parametrize(
    ("path", "reason"), [("relative", "is not absolute"), ("/no/such/folder", "does not exist")]
)
def test_wrong_allowed_paths_are_refused(path, reason):
    """An allowed path must be absolute and there, or a typing mistake would open or close all."""
    with pytest.raises(ConfigError, match=f"allowed.paths: Path {path} {reason}"):
        make(FileConfigProvider, allowed_paths=path)


# ---- environment ----------------------------------------------------------------------------


def test_environment_is_limited_by_a_pattern():
    """Only variables whose whole name matches the pattern can be read."""
    provider = EnvVarConfigProvider({"DB_USER": "scott", "XDB_USER": "x", "HOME": "/"})
    provider.configure({"allowlist.pattern": "DB_.*"})
    assert provider.get("", ["DB_USER", "XDB_USER", "HOME"]) == {"DB_USER": "scott"}


def test_environment_has_no_paths():
    """A path makes no sense for variables and is refused, not ignored."""
    provider = make(EnvVarConfigProvider)
    with pytest.raises(ConfigError, match="Path is not supported for EnvVarConfigProvider"):
        provider.get("x", ["HOME"])


def test_wrong_pattern_is_refused():
    """A pattern that is no regular expression is named."""
    with pytest.raises(ConfigError, match=r"allowlist\.pattern: Invalid regex: Unclosed group"):
        make(EnvVarConfigProvider, allowlist_pattern="(")


# ---- a worker's providers -------------------------------------------------------------------


def test_worker_names_its_providers(tmp_path):
    """Providers have the names and settings that the worker's config gives them."""
    (tmp_path / "a").write_text("1")
    props = {
        "config.providers": "one, two",
        "config.providers.one.class": "D",
        "config.providers.one.param.allowed.paths": str(tmp_path),
        "config.providers.two.class": "D",
    }
    providers = make_providers(props, {"D": DirectoryConfigProvider}.__getitem__)
    reference = f"{{}}:{tmp_path}:a"
    resolved = providers.resolve(
        {n: f"${{{reference.format(n)}}}" for n in ("one", "two", "three")}
    )
    assert resolved.values == {"one": "1", "two": "1", "three": f"${{three:{tmp_path}:a}}"}


def test_provider_without_a_class_is_named():
    """A provider that is listed and not described is an error that names the missing key."""
    with pytest.raises(ConfigError, match=r'"config\.providers\.vault\.class"'):
        make_providers({"config.providers": "vault"}, lambda _: Fixed)
