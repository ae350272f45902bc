"""Kafka Connect's own basic authentication, by the name of its class and its JAAS file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from connect.errors import ConfigError
from connect.runtime.clients.jaas import parse_jaas

BASIC_AUTH = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
_MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
_OPTION = "java.security.auth.login.config"
_KEY = "rest.extension.classes"


def users_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The file that the JAAS file of -Djava.security.auth.login.config names. ConfigError if none.

    Where the JVM took the option, KAFKA_OPTS, it is looked for here.
    """
    given = re.search(rf"-D{re.escape(_OPTION)}=(\S+)", environment.get("KAFKA_OPTS", ""))
    if given is None:
        raise ConfigError(
            _KEY, BASIC_AUTH,
            f"it needs rest.auth.file, or a JAAS file by -D{_OPTION}=… in KAFKA_OPTS",
        )  # fmt: skip
    path = given[1].strip("\"'").removeprefix("file:")
    try:
        text = Path(path).read_text("utf-8")
    except OSError as error:
        raise ConfigError(_OPTION, path, f"can't be read: {error.strerror}") from error
    section = re.search(r"\bKafkaConnect\s*\{(.*?)\}\s*;", text, re.DOTALL)
    if section is None:
        raise ConfigError(_OPTION, path, "has no section KafkaConnect { … };")
    try:
        module = parse_jaas(section[1].strip())
    except ValueError as error:
        raise ConfigError(_OPTION, path, f"KafkaConnect {error}") from error
    if module.name != _MODULE or not module.options.get("file"):
        raise ConfigError(
            _OPTION, path,
            f'KafkaConnect is {module.name}; only {_MODULE} with file="…" is known here',
        )  # fmt: skip
    return Path(module.options["file"])
