"""REST extensions that can't be."""

import pytest

from api.extensions import Context, Extensions, Mounts
from api.security.kafka_extension import BASIC_AUTH
from connect import RestExtension
from connect.errors import ConfigError
from connect.plugins import Plugins, describe


class Broken(RestExtension):
    def register(self, context):
        raise RuntimeError("no licence")


class Twice(RestExtension):
    def register(self, context):
        context.mount("/x", None)
        context.mount("/x", None)


PLUGINS = Plugins(extra=[info for cls in (Broken, Twice) for info in describe(cls, "tests")])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Broken", "no licence"),
        ("Twice", "/x is served by another extension"),
        ("com.acme.JvmExtension", "RestExtension and which name matches com.acme.JvmExtension"),
    ],
)
def test_an_extension_that_fails_keeps_the_worker_from_starting(name, reason):
    """The error names the setting, the extension and the reason."""
    with pytest.raises(ConfigError, match=reason) as raised:
        Extensions([name], PLUGINS).register(None, {})
    assert "rest.extension.classes" in str(raised.value)


def test_kafkas_class_is_no_extension_to_load():
    """It is what rest.auth.file does."""
    assert Extensions([BASIC_AUTH], PLUGINS).register(None, {}).mounts == {}


@pytest.mark.parametrize("path", ["", "x", "/x/", "/"])
def test_a_path_begins_with_a_slash_and_does_not_end_with_one(path):
    """And it is not everything."""
    with pytest.raises(Exception, match="like /inventory"):
        Context(None, {}).mount(path, None)


def test_the_workers_own_paths_are_not_for_extensions():
    """Nobody replaces /connectors."""
    context = Context(None, {})
    context.mount("/connectors/mine", None)
    with pytest.raises(ConfigError, match="routes of its own"):
        Mounts(None, context, ["/connectors/{connector}"])
