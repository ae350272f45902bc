"""Settings of workers that are not started."""

from connect.config.worker import WorkerConfig, load_worker_config

_JSON = "org.apache.kafka.connect.json.JsonConverter"


def distributed(**more: str) -> WorkerConfig:
    """Those of a worker of a cluster; dots in keys are written as __. No broker is there."""
    settings = {
        "bootstrap.servers": "127.0.0.1:1",
        "group.id": "g",
        "config.storage.topic": "c",
        "offset.storage.topic": "o",
        "status.storage.topic": "s",
        "key.converter": _JSON,
        "value.converter": _JSON,
    }
    more = {key.replace("__", "."): value for key, value in more.items()}
    return load_worker_config(settings | more, distributed=True)
