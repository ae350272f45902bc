"""Which settings of the Kafka clients a connector may set: `producer.override.*` and its like."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from connect.config.clients import client_settings
from connect.config.configdef import ConfigKey, ConfigValue, parse_value
from connect.config.connector import settings_below
from connect.config.worker import WorkerConfig
from connect.errors import ConfigError

_JVM_PACKAGE = "org.apache.kafka.connect.connector.policy."
_JVM_SUFFIX = "ConnectorClientConfigOverridePolicy"
_POLICIES = ("All", "Allowlist", "None", "Principal")
# Who the connector is to Kafka, and nothing else.
_PRINCIPAL = ("sasl.jaas.config", "sasl.mechanism", "security.protocol")


@dataclass(frozen=True, slots=True)
class OverridePolicy:
    """A policy by its name; `allowed` is None when everything is."""

    name: str
    allowed: Collection[str] | None

    @classmethod
    def of(cls, worker: WorkerConfig) -> OverridePolicy:
        """The worker's policy; ConfigError if there is none of that name."""
        key = "connector.client.config.override.policy"
        given: str = worker[key]
        name = given.removeprefix(_JVM_PACKAGE).removesuffix(_JVM_SUFFIX)
        if name not in _POLICIES:
            raise ConfigError(key, given, f"The policies are: {', '.join(_POLICIES)}")
        allowed: dict[str, Collection[str] | None] = {
            "All": None,
            "None": (),
            "Principal": _PRINCIPAL,
            "Allowlist": worker["connector.client.config.override.allowlist"],
        }
        return cls(name, allowed[name])

    def permits(self, setting: str) -> bool:
        return self.allowed is None or setting in self.allowed


def check_overrides(
    policy: OverridePolicy, client: str, props: Mapping[str, str]
) -> list[tuple[ConfigKey | None, ConfigValue]]:
    """The overrides of one client, with what is wrong with them. Unknown ones have no key."""
    known = client_settings(client).keys
    prefix = f"{client}.override."
    found: list[tuple[ConfigKey | None, ConfigValue]] = []
    for setting, text in settings_below(props, prefix).items():
        key = known.get(setting)
        value = ConfigValue(prefix + setting, text)
        if key is not None:
            key = replace(key, name=prefix + setting)
            try:
                value.value = parse_value(prefix + setting, text, key.type)
            except ConfigError as error:
                value.errors.append(str(error))
        if not policy.permits(setting):
            value.errors.append(
                f"The '{policy.name}' policy does not allow '{setting}' to be overridden in the "
                "connector configuration."
            )
        found.append((key, value))
    return found
