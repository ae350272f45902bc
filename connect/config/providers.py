"""Config providers: what stands behind `${provider:path:key}` in a config.

A reference is looked up when a worker or connector starts. What is stored and shown stays the
reference; `Resolved.references` says which values must never be shown.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from connect.config.configdef import ConfigDef, ConfigType, Importance
from connect.config.validators import java_regex
from connect.errors import ConfigError
from connect.plugin import ConfigProvider

_log = logging.getLogger(__name__)

# `${provider:key}` or `${provider:path:key}`. A path may hold anything but a colon, a key anything
# but the closing brace. What a lookup returns is not searched again.
_REFERENCE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}", re.DOTALL)


class Reference(NamedTuple):
    provider: str
    path: str
    key: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings with their references looked up."""

    values: dict[str, str | None]
    # The values that hold something from a provider, as they were written: `${file:/x:password}`.
    references: dict[str, str] = field(default_factory=dict)
    # The shortest time for which all looked-up values are good, None when for ever.
    ttl_ms: int | None = None


class Providers:
    """The providers of a worker, by the names that its config gives them."""

    def __init__(self, providers: Mapping[str, ConfigProvider] | None = None) -> None:
        self._providers = dict(providers or {})

    def resolve(self, props: Mapping[str, str | None]) -> Resolved:
        """Look up every reference. Unknown providers and keys leave the reference as it is.

        A provider that fails is a ConfigError on the setting that refers to it. The error shows
        the reference, never a looked-up value.
        """
        found: dict[tuple[str, str], Mapping[str, str]] = {}
        ttls: list[int] = []
        # Each path is read once, whatever the number of keys that are taken from it.
        for (provider, path), (keys, setting, text) in self._wanted(props).items():
            try:
                found[provider, path] = self._providers[provider].get(path, keys)
                ttl = self._providers[provider].ttl_ms(path)
            except Exception as error:
                reason = str(error) if isinstance(error, ConfigError) else _summary(error)
                raise ConfigError(
                    setting, text, f"the config provider '{provider}' failed: {reason}"
                ) from error
            if ttl is not None and ttl >= 0:
                ttls.append(ttl)

        def look_up(match: re.Match[str]) -> str:
            values = found.get((match[1], match[3] or ""), {})
            return values.get(match[4], match[0])

        resolved = {
            setting: text and _REFERENCE.sub(look_up, text) for setting, text in props.items()
        }
        references = {
            setting: text for setting, text in props.items() if text and resolved[setting] != text
        }
        return Resolved(resolved, references, min(ttls, default=None))

    def close(self) -> None:
        for provider in self._providers.values():
            provider.close()

    def _wanted(
        self, props: Mapping[str, str | None]
    ) -> dict[tuple[str, str], tuple[set[str], str, str]]:
        """The keys to look up at each provider and path, with the first setting that needs it."""
        wanted: dict[tuple[str, str], tuple[set[str], str, str]] = {}
        for setting, text in props.items():
            for provider, path, key in references_in(text or ""):
                if provider in self._providers:
                    keys, _, _ = wanted.setdefault((provider, path), (set(), setting, text or ""))
                    keys.add(key)
        return wanted


def references_in(text: str) -> list[Reference]:
    """The references in a value, in their order."""
    return [Reference(m[1], m[3] or "", m[4]) for m in _REFERENCE.finditer(text)]


def make_providers(
    worker_props: Mapping[str, str], load: Callable[[str], type[ConfigProvider]]
) -> Providers:
    """The providers that a worker's `config.providers` names, configured.

    `load` turns the class name of `config.providers.<name>.class` into the class.
    """
    providers = {}
    names = [n.strip() for n in worker_props.get("config.providers", "").split(",") if n.strip()]
    for name in names:
        prefix = f"config.providers.{name}."
        class_name = worker_props.get(prefix + "class")
        if not class_name:
            raise ConfigError(
                f'Missing required configuration "{prefix}class": it names the class of the '
                f"provider '{name}' of config.providers."
            )
        provider = load(class_name.strip())()
        parameters = prefix + "param."
        provider.configure(
            {
                k.removeprefix(parameters): v
                for k, v in worker_props.items()
                if k.startswith(parameters)
            }
        )
        providers[name] = provider
    return Providers(providers)


_ALLOWED_PATHS = ConfigDef().define(
    "allowed.paths",
    ConfigType.LIST,
    None,
    doc="The folders and files from which values may be read, absolute. Not set: all of them.",
)


class FileConfigProvider(ConfigProvider):
    """`${file:/etc/secrets/db.properties:password}`: a key of a properties file."""

    config_def = _ALLOWED_PATHS

    def configure(self, config: Mapping[str, str]) -> None:
        self._allowed = _allowed_paths(config)

    def get(self, path: str, keys: Iterable[str] | None = None) -> Mapping[str, str]:
        from connect.javalang.properties import read_properties  # noqa: PLC0415 - seldom needed

        if not path or not _is_allowed(path, self._allowed):
            return {}
        try:
            values = read_properties(path)
        except ValueError as error:
            raise ConfigError(f"Could not read properties from file {path}: {error}") from error
        return _only(values, keys)


class DirectoryConfigProvider(ConfigProvider):
    """`${dir:/etc/secrets:password}`: a file of a folder, as Kubernetes mounts secrets."""

    config_def = _ALLOWED_PATHS

    def configure(self, config: Mapping[str, str]) -> None:
        self._allowed = _allowed_paths(config)

    def get(self, path: str, keys: Iterable[str] | None = None) -> Mapping[str, str]:
        if not path or not _is_allowed(path, self._allowed):
            return {}
        folder = Path(path)
        if not folder.is_dir():
            return {}
        try:
            names = [entry.name for entry in folder.iterdir() if entry.is_file()]
        except OSError as error:
            raise ConfigError(f"Could not list directory {path}") from error
        wanted = names if keys is None else set(keys).intersection(names)
        values = {}
        for name in wanted:
            # A link in the folder must not lead out of what is allowed.
            if not _is_allowed(str(folder / name), self._allowed):
                continue
            try:
                values[name] = (folder / name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(
                    f"Could not read file {folder / name} for property {name}"
                ) from error
        return values


class EnvVarConfigProvider(ConfigProvider):
    """`${env:DB_PASSWORD}`: an environment variable of the worker."""

    config_def = ConfigDef().define(
        "allowlist.pattern",
        default=".*",
        importance=Importance.LOW,
        doc="A regular expression; only variables whose whole name matches it can be read.",
    )

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    def configure(self, config: Mapping[str, str]) -> None:
        from connect.javalang.regex import compile_java  # noqa: PLC0415 - seldom needed

        pattern = self.config_def.parse(config)["allowlist.pattern"]
        java_regex("allowlist.pattern", pattern)
        self._pattern = compile_java(pattern)

    def get(self, path: str, keys: Iterable[str] | None = None) -> Mapping[str, str]:
        if path:
            raise ConfigError(
                f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'"
            )
        matching = {k: v for k, v in self._environment.items() if self._pattern.matches(k)}
        return _only(matching, keys)


def _only(values: Mapping[str, str], keys: Iterable[str] | None) -> Mapping[str, str]:
    return values if keys is None else {k: values[k] for k in keys if k in values}


def _allowed_paths(config: Mapping[str, str]) -> Sequence[Path] | None:
    names = _ALLOWED_PATHS.parse(config)["allowed.paths"]
    if not names:
        return None
    for name in names:
        if not Path(name).is_absolute():
            raise ConfigError("allowed.paths", name, f"Path {name} is not absolute")
        if not Path(name).exists():
            raise ConfigError("allowed.paths", name, f"Path {name} does not exist")
    return [Path(name).resolve() for name in names]


def _is_allowed(path: str, allowed: Sequence[Path] | None) -> bool:
    """Compared after links and `..` are resolved, so neither leads out of the allowed paths."""
    if allowed is None:
        return True
    real = Path(path).resolve()
    if any(real == base or base in real.parents for base in allowed):
        return True
    _log.warning("%s is not within allowed.paths: references to it are left as they are.", path)
    return False


def _summary(error: Exception) -> str:
    """A foreign provider's error text is not ours to trust: it may quote what was looked up."""
    return f"{type(error).__name__}; the worker's log has the details"
