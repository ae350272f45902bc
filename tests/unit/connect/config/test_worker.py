"""The settings of workers."""

import pickle

import pytest

from connect import ConfigError
from connect.config.listeners import HeaderRule, Listener, parse_header_rules, parse_listeners
from connect.config.worker import load_worker_config
from connect.plugins import Plugins

JSON = "org.apache.kafka.connect.json.JsonConverter"
STANDALONE = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": JSON,
    "value.converter": JSON,
    "offset.storage.file.filename": "offsets",
}
DISTRIBUTED = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": JSON,
    "value.converter": JSON,
    "group.id": "g",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}


def distributed(**settings):
    props = DISTRIBUTED | {key.replace("__", "."): value for key, value in settings.items()}
    return load_worker_config(props, distributed=True)


def test_defaults_are_kafka_connect_s():
    """A worker that sets only what it must has the defaults of Kafka Connect."""
    worker = load_worker_config(STANDALONE, distributed=False)
    assert worker["listeners"] == ["http://:8083"]
    assert worker["offset.flush.interval.ms"] == 60000
    assert worker["header.converter"].endswith("SimpleHeaderConverter")
    assert worker["task.isolation"] == "process"
    assert worker["plugin.path"] is None
    assert (worker.group_id, worker.exactly_once_sources) == (None, False)
    clustered = distributed()
    assert clustered["offset.storage.partitions"] == 25
    assert clustered["scheduled.rebalance.max.delay.ms"] == 300000
    assert clustered.group_id == "g"


@pytest.mark.parametrize("key", ["bootstrap.servers", "key.converter", "group.id"])
def test_missing_keys_are_named(key):
    """What a distributed worker can't do without is named."""
    props = {k: v for k, v in DISTRIBUTED.items() if k != key}
    with pytest.raises(ConfigError, match=f'Missing required configuration "{key}"'):
        load_worker_config(props, distributed=True)


# The texts are those of Kafka Connect 4.3.1 for the same settings.
@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("bootstrap.servers", "", "Configuration 'bootstrap.servers' must not be empty"),
        ("bootstrap.servers", "h:1,", "Configuration 'bootstrap.servers' values must not be empty"),
        ("client.dns.lookup", "", None),
        ("listeners", "", "Invalid value for listeners, at least one URL is expected"),
        ("offset.storage.partitions", "0", "Number of partitions must be positive, or -1"),
        ("config.storage.replication.factor", "-2", "Replication factor must be positive and not"),
        ("connect.protocol", "x", "Invalid Connect protocol compatibility"),
        ("connect.protocol", "EAGER", None),
        ("inter.worker.signature.algorithm", "x", "the algorithm is not supported by this"),
        ("inter.worker.verification.algorithms", "", "At least one signature verification"),
        (
            "inter.worker.verification.algorithms",
            "HmacSHA1",
            "Signature algorithm must be present in inter.worker.verification.algorithms list",
        ),
        (
            "exactly.once.source.support",
            "x",
            r"one of \(case insensitive\): DISABLED, ENABLED, PREPARING",
        ),
        ("plugin.discovery", "x", "ONLY_SCAN, SERVICE_LOAD, HYBRID_WARN, HYBRID_FAIL"),
        ("plugin.discovery", "Service_Load", None),
        ("plugin.path", "", "Configuration 'plugin.path' must not be empty"),
        ("metrics.recording.level", "X", "String must be one of: INFO, DEBUG"),
        ("metrics.num.samples", "0", "Value must be at least 1"),
        ("security.protocol", "X", "SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT"),
        ("ssl.client.auth", "x", "String must be one of: required, requested, none"),
        ("scheduled.rebalance.max.delay.ms", "-1", "Value must be at least 0"),
        ("session.timeout.ms", "a", "Not a number of type INT"),
        ("response.http.headers.config", "foo", "Invalid format of header config 'foo'"),
        ("response.http.headers.config", "set a", "header name and header value pair 'a'"),
        (
            "response.http.headers.config",
            "zap a:b",
            r"action: 'zap'. Expected one of \[set, add, setDate, addDate\]",
        ),
        ("group.id", "", "String must be non-empty"),
        ("task.isolation", "cage", "String must be one of: process, thread"),
        ("admin.listeners", "", None),
        ("admin.listeners", "ftp://x", "Listeners are URLs with http or https"),
    ],
)
def test_wrong_settings_are_refused(key, value, text):
    """A setting that can't be is refused in Kafka's words; one that can be is taken."""
    if text is None and key != "client.dns.lookup":
        distributed(**{key: value})
    elif text is not None:
        with pytest.raises(ConfigError, match=text):
            distributed(**{key: value})


def test_references_are_looked_up_except_for_the_plugin_path(tmp_path):
    """A worker's own secrets come from its providers; where plugins are is taken as written."""
    (tmp_path / "secret").write_text("tiger")
    reference = f"${{dir:{tmp_path}:secret}}"
    props = STANDALONE | {
        "config.providers": "dir",
        "config.providers.dir.class": "DirectoryConfigProvider",
        "ssl.key.password": reference,
        "plugin.path": reference,
    }
    worker = load_worker_config(props, distributed=False, providers=Plugins().providers)
    assert worker["ssl.key.password"].reveal() == "tiger"
    assert worker["plugin.path"] == [reference]
    assert worker.written["ssl.key.password"] == reference
    assert "tiger" not in repr(worker)


def test_settings_below_a_prefix():
    """What is below a prefix comes without it, and the whole travels between processes."""
    worker = pickle.loads(pickle.dumps(distributed(**{"producer.acks": "1"})))
    assert worker.settings_below("producer.") == {"acks": "1"}


def test_exactly_once_needs_enabled():
    """Preparing is not yet enabled."""
    assert not distributed(**{"exactly.once.source.support": "preparing"}).exactly_once_sources
    assert distributed(**{"exactly.once.source.support": "ENABLED"}).exactly_once_sources


def test_listeners_are_urls():
    """Protocol, host and port of each listener; no host means every interface."""
    assert parse_listeners("listeners", ["HTTP://:8083", "https://[::1]:9", "http://h"]) == [
        Listener("http", "", 8083),
        Listener("https", "::1", 9),
        Listener("http", "h", 8083),
    ]
    with pytest.raises(ConfigError, match=r"Invalid value http://h:x for configuration listeners"):
        parse_listeners("listeners", ["http://h:x"])


def test_header_rules():
    """Rules are separated by commas; one that holds a comma is in quotes."""
    text = 'set X-Frame-Options:DENY, "add Cache-Control:no-cache, no-store"'
    assert parse_header_rules(text) == [
        HeaderRule("set", "X-Frame-Options", "DENY"),
        HeaderRule("add", "Cache-Control", "no-cache, no-store"),
    ]
    assert parse_header_rules(" ") == []
