"""Configs as users may see them: secrets are [hidden], and come back as what they were.

A client reads a config, changes a key and writes it all back. It never sees the secrets, and
writes [hidden] where they were; `unmask` puts the stored ones there again. References to a config
provider, `${file:…}`, are no secrets and stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from connect.config.configdef import ConfigType
from connect.config.secret import HIDDEN
from connect.errors import ConfigError

# Kafka's own pattern of a reference, ${provider:path:key} or ${provider:key}. A value is shown if
# it is made of these alone; text around them may be the other half of a secret.
_ONLY_REFERENCES = re.compile(r"(?:\s*\$\{[^}]+?:[^}]+?\}\s*)+")

# Keys nobody declares: those of connectors that aren't installed, of clients and of extensions.
# Names their users would not want to see on a screen, matched at the end of the key.
_SECRET_NAME = re.compile(
    r"(?:^|[._-])(?:"
    r"pass(?:word|phrase|wd)?|secret|token|credentials?|private[._-]?key|"
    r"api[._-]?key|access[._-]?key|secret[._-]?key|account[._-]?key|secret[._-]access[._-]key|"
    r"user[._-]info|sasl[._-]jaas[._-]config|ssl[._-]keystore[._-]key|authorization"
    r")$",
    re.IGNORECASE,
)


def secret_keys(keys: Collection[str], declared: Mapping[str, ConfigType]) -> frozenset[str]:
    """Which of a config's keys hold secrets: by their declared type, or else by their name."""
    return frozenset(
        key
        for key in keys
        if (
            declared[key] is ConfigType.PASSWORD
            if key in declared
            else _SECRET_NAME.search(key) is not None
        )
    )


def mask(config: Mapping[str, str], secret_keys: Collection[str]) -> dict[str, str]:
    """The config to show: secrets replaced by [hidden], everything else as it is."""
    return {
        key: HIDDEN if key in secret_keys and _is_secret(value) else value
        for key, value in config.items()
    }


def _is_secret(value: str) -> bool:
    return value != "" and _ONLY_REFERENCES.fullmatch(value) is None


def unmask(new: Mapping[str, str | None], stored: Mapping[str, str]) -> dict[str, str | None]:
    """The config that is meant: [hidden] stands for the stored value of its key.

    ConfigError when nothing is stored under that key, as when a masked config is used to create
    another connector: to store the mask as a password would fail later and far away.
    """
    meant = dict(new)
    for key, value in new.items():
        if value == HIDDEN:
            if key not in stored:
                raise ConfigError(
                    key,
                    HIDDEN,
                    f"{HIDDEN} stands for a stored secret, and none is stored under this key: "
                    "give the secret itself or a reference such as ${env:NAME}",
                )
            meant[key] = stored[key]
    return meant
