"""Documentation made from definitions: what a key is declared as is what the docs say.

`python -m connect.config.docs FILE` writes docs/configuration.md; a test fails when it is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from connect.config.configdef import ConfigDef, ConfigKey, show_value
from connect.config.connector import OWN_KEYS, SINK_CONFIG, SOURCE_CONFIG
from connect.config.providers import (
    DirectoryConfigProvider,
    EnvVarConfigProvider,
    FileConfigProvider,
)
from connect.config.topic_creation import topic_group_def
from connect.config.worker import (
    AS_IN_CLIENTS,
    DISTRIBUTED_CONFIG,
    OWN_WORKER_KEYS,
    STANDALONE_CONFIG,
)


def markdown_table(keys: Iterable[ConfigKey], notes: Mapping[str, str] | None = None) -> str:
    """The keys as a table: name, type, default, meaning. `notes` go after the meaning."""
    rows = ["| key | type | default | |", "|---|---|---|---|"]
    for key in keys:
        note = (notes or {}).get(key.name, "")
        rows.append(
            f"| `{key.name}` | {key.type.value.lower()} | {_default(key)} "
            f"| {_cell(key.doc)}{note and ' ' + note} |"
        )
    return "\n".join(rows) + "\n"


def _default(key: ConfigKey) -> str:
    if key.required:
        return "**required**"
    shown = show_value(key.default, key.type)
    if shown is None:
        return ""
    return f"`{shown}`" if shown else "empty"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _documented(definition: ConfigDef, but: Iterable[str] = ()) -> list[ConfigKey]:
    left_out = set(but)
    return [
        key
        for key in definition.keys.values()
        if key.name not in left_out and key.doc != AS_IN_CLIENTS
    ]


def configuration_page() -> str:
    """The page of all settings of workers and connectors."""
    base = [n for n in STANDALONE_CONFIG.keys if n in DISTRIBUTED_CONFIG.keys]
    both = [n for n in SINK_CONFIG.keys if n in SOURCE_CONFIG.keys]
    clients = [n for n, key in DISTRIBUTED_CONFIG.keys.items() if key.doc == AS_IN_CLIENTS]
    ours = dict.fromkeys(OWN_WORKER_KEYS, "*Penstock's own.*")
    return f"""\
<!-- Made from the definitions: python -m connect.config.docs docs/configuration.md -->
# Configuration

Keys, types and defaults are those of Kafka Connect 4.3.1, so existing files and requests work as
they are. What only Penstock has is marked.

- [Workers](#workers): `worker.properties`
- [Connectors](#connectors): what is sent to `/connectors`
- [Secrets](#secrets): references to files, folders and variables

## Workers

{markdown_table(_documented(ConfigDef(STANDALONE_CONFIG.keys[n] for n in base)), ours)}
Settings for the Kafka clients of connectors go below `producer.`, `consumer.` and `admin.`, those
of an HTTPS listener below `listeners.https.` or `admin.listeners.https.`.

### Standalone workers also have

{markdown_table(_documented(STANDALONE_CONFIG, base))}
### Distributed workers also have

{markdown_table(_documented(DISTRIBUTED_CONFIG, base))}
### As in Kafka's clients

{_wrapped(clients)}

## Connectors

{markdown_table(_documented(ConfigDef(SINK_CONFIG.keys[n] for n in both)))}
Keys of the connector itself come beside these. Kafka client settings of one connector go below
`producer.override.`, `consumer.override.` and `admin.override.`, as far as the worker's
`connector.client.config.override.policy` allows.

### Sinks also have

{markdown_table(_documented(SINK_CONFIG, both))}
### Sources also have

{markdown_table(_documented(SOURCE_CONFIG, both))}
### What only Penstock has

{markdown_table(_documented(OWN_KEYS))}
Sources may have the `errors.deadletterqueue.` keys of sinks, too: records that a transform or
converter refuses then go there.

### Topics that sources create

A source with any key below `topic.creation.` creates the topics that it needs. The first group
whose patterns match decides, `default` is the last. Below `topic.creation.<group>.`:

{markdown_table(topic_group_def("default").keys.values())}
`partitions` and `replication.factor` are required for `default` only; other groups inherit them.
Every other key below a group is a setting of the topic, such as `cleanup.policy`.

## Secrets

`${{name:path:key}}` in a value stands for something that is looked up when it is needed. What is
stored and shown is the reference. Unknown names and keys are left as they are. In
`errors.restart.*` nothing is looked up.

```properties
config.providers=file,dir,env
config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.dir.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
config.providers.env.param.allowlist.pattern=DB_.*
```

| reference | stands for |
|---|---|
| `${{file:/etc/secrets/db.properties:password}}` | the key `password` of a properties file |
| `${{dir:/etc/secrets:password}}` | the text of the file `/etc/secrets/password` |
| `${{env:DB_PASSWORD}}` | an environment variable of the worker |

Settings of the providers, below `config.providers.<name>.param.`:

{_providers()}"""


def _providers() -> str:
    classes = (FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider)
    keys = {
        f"{cls.__name__} {name}": (cls.__name__, key)
        for cls in classes
        for name, key in cls.config_def.keys.items()
    }
    rows = ["| class | key | default | |", "|---|---|---|---|"]
    rows += [
        f"| `{cls}` | `{key.name}` | {_default(key)} | {_cell(key.doc)} |"
        for cls, key in keys.values()
    ]
    return "\n".join(rows) + "\n"


def _wrapped(names: Iterable[str]) -> str:
    """Names as a paragraph; lines of a page stay readable."""
    lines, line = [], ""
    for name in names:
        if len(line) + len(name) + 4 > 100:
            lines.append(line.rstrip())
            line = ""
        line += f"`{name}`, "
    return "\n".join([*lines, line.rstrip()]).removesuffix(",")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(configuration_page(), encoding="utf-8")
