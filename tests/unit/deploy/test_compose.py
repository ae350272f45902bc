"""docker-compose.yml can't be run where no Docker engine is; these tests read it as one would."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import jsonschema
import pytest
import typer
import yaml

from connect import Converter
from connect.config.worker import DISTRIBUTED_CONFIG, load_worker_config
from connect.javalang.properties import read_properties
from connect.plugins import Plugins, PluginType
from penstock.app import build_app

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((Path(__file__).parent / "compose.schema.json").read_text())
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
WORKERS = ["worker-1", "worker-2", "worker-3"]
SPARK = ["spark-master", "spark-worker-1", "spark-worker-2"]
PROPERTIES = ROOT / "deploy" / "worker.properties"
MOUNTED = "/etc/penstock/worker.properties"


def test_it_fits_the_compose_specification():
    """Every service says only what Compose knows, in the form that it wants."""
    jsonschema.validate(COMPOSE, SCHEMA, format_checker=jsonschema.FormatChecker())


@pytest.mark.parametrize(
    "change",
    [
        {"imgae": "x"},
        {"ports": ["eighty:80"]},
        {"depends_on": {"kafka": {"condition": "service_happy"}}},
        {"healthcheck": {"test": ["true"], "interval": "5s", "timeout": "5s", "retries": 1}},
        {"healthcheck": {"test": ["CMD", "x"], "interval": "5", "timeout": "5s", "retries": 1}},
        {"environment": {"A": 1}},
        {"volumes": ["data"]},
    ],
)
def test_the_schema_finds_mistakes(change):
    """A misspelt key, port, condition, health check, variable or volume does not pass."""
    spoilt = {**COMPOSE, "services": {"kafka": {**SERVICES["kafka"], **change}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(spoilt, SCHEMA, format_checker=jsonschema.FormatChecker())


def test_everything_is_there():
    """Kafka, registry, PostgreSQL, three workers, a Spark master with two workers; all checked."""
    assert set(SERVICES) == {"kafka", "registry", "postgres", *WORKERS, *SPARK}
    assert all("healthcheck" in service for service in SERVICES.values())


def test_what_is_waited_for_can_become_healthy():
    """depends_on names services that are there and have a health check."""
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in SERVICES, f"{name} waits for {other}"
            if how["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[other]


def test_images_have_versions():
    """Nobody gets another version by surprise."""
    for service in SERVICES.values():
        tag = service["image"].partition(":")[2]
        assert tag not in ("", "latest")
    assert SERVICES["kafka"]["image"] == "apache/kafka:4.3.1"


def test_ports_are_free_of_each_other_and_on_loopback():
    """No two services want the same port of this machine, and nobody else can reach them."""
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    outside = [port.rsplit(":", 1)[0] for port in published]
    assert len(set(outside)) == len(outside)
    assert all(port.startswith("127.0.0.1:") for port in outside)


def test_volumes_are_declared_or_in_the_repository():
    """A volume by name is declared below, a volume by path is a file of ours."""
    used = set()
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (ROOT / source).exists(), source
            else:
                used.add(source)
    assert used == set(COMPOSE["volumes"])


def dockerfile():
    return (ROOT / "Dockerfile").read_text()


def test_images_are_built_from_stages_that_are_there():
    """Each build target is a stage of the Dockerfile, and the same image is built the same way."""
    stages = re.findall(r"^FROM \S+ AS (\S+)$", dockerfile(), re.MULTILINE)
    builds = {}
    for service in SERVICES.values():
        if "build" in service:
            assert service["build"]["target"] in stages
            builds.setdefault(service["image"], []).append(service["build"])
    assert all(build == same[0] for same in builds.values() for build in same)


def test_the_dockerfile_copies_what_is_there_and_what_is_let_in():
    """Everything copied into the image exists and is not ignored, and no package is left out."""
    copied = set()
    for arguments in re.findall(r"^COPY (?!--from)(.+)$", dockerfile(), re.MULTILINE):
        copied.update(arguments.split()[:-1])
    let_in = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert copied == set(let_in)
    assert all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) <= copied


def commands():
    """Every penstock command that a container runs, as its words."""
    found = [service["command"] for service in SERVICES.values() if "command" in service]
    return [words for words in found if words[0] == "penstock"]


def test_workers_run_a_command_that_penstock_has():
    """The sub-command of each container exists, and takes what it is given."""
    assert len(commands()) == len(WORKERS)
    known = typer.main.get_command(build_app()).commands
    for _, command, *arguments in commands():
        assert command in known
        here = [str(PROPERTIES) if word == MOUNTED else word for word in arguments]
        known[command].make_context(command, here).close()


def test_the_settings_file_is_where_the_command_looks_for_it():
    """Each worker mounts worker.properties at the path it is told to read."""
    for name in WORKERS:
        assert SERVICES[name]["command"][-1] == MOUNTED
        assert f"./deploy/worker.properties:{MOUNTED}:ro" in SERVICES[name]["volumes"]


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setenv("HOSTNAME", "worker-1")
    return load_worker_config(
        read_properties(PROPERTIES),
        distributed=True,
        providers=lambda props: Plugins([]).providers(props),
    )


def test_the_settings_are_good(settings):
    """A worker accepts its settings, and knows its own name."""
    assert settings["rest.advertised.host.name"] == "worker-1"
    assert settings.exactly_once_sources


# Below these, the settings are those of somebody else: a converter, a provider.
OPEN = ("key.converter.", "value.converter.", "config.providers.")


def test_every_setting_exists():
    """No key is misspelt: each is a worker's own or below a prefix that takes more."""
    unknown = [
        key
        for key in read_properties(PROPERTIES)
        if key not in DISTRIBUTED_CONFIG.keys and not key.startswith(OPEN)
    ]
    assert unknown == []


def test_the_converters_exist(settings):
    """The converters that the settings name are installed."""
    for key in ("key.converter", "value.converter"):
        assert issubclass(Plugins([]).load(PluginType.CONVERTER, settings[key]), Converter)


def test_workers_and_registry_find_kafka(settings):
    """Containers come to the broker by the name and port that it tells them to come back to."""
    environment = SERVICES["kafka"]["environment"]
    advertised = dict(
        listener.split("://") for listener in environment["KAFKA_ADVERTISED_LISTENERS"].split(",")
    )
    assert settings["bootstrap.servers"] == [advertised["INSIDE"]]
    assert SERVICES["registry"]["environment"]["KAFKA_BOOTSTRAP_SERVERS"] == advertised["INSIDE"]
    published = advertised["OUTSIDE"].rpartition(":")[2]
    assert SERVICES["kafka"]["ports"] == [f"127.0.0.1:{published}:{published}"]


def test_published_rest_ports_lead_to_the_listener(settings):
    """The port inside is the one that the worker listens on and that its health check asks."""
    port = settings["listeners"][0].rpartition(":")[2]
    for name in WORKERS:
        (published,) = SERVICES[name]["ports"]
        assert published.endswith(f":{port}")
        assert f"localhost:{port}/health" in SERVICES[name]["healthcheck"]["test"][-1]
        assert SERVICES[name]["hostname"] == name


def test_docker_compose_agrees():
    """Where the Compose plugin is installed, it accepts the file too; that takes no engine."""
    docker = shutil.which("docker")
    asked = docker and subprocess.run(
        [docker, "compose", "version"], capture_output=True, check=False
    )
    if not asked or asked.returncode != 0:
        pytest.skip("docker compose is not installed")
    done = subprocess.run(
        [docker, "compose", "--file", str(ROOT / "docker-compose.yml"), "config", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
