"""Roles by patterns of connector names, and which role a route needs."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from connect.cluster.herder import ForbiddenError

EVERY = "*"


class Role(enum.IntEnum):
    """Each includes those before it."""

    READ = 1
    OPERATE = 2
    ADMIN = 3

    def __str__(self) -> str:
        return self.name.lower()


Grants = Mapping[Role, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request. `grants` is None where nobody is asked for a name: all is allowed."""

    name: str | None = None
    address: str = "-"
    grants: Grants | None = field(default=None, repr=False)

    def may(self, role: Role, connector: str | None) -> bool:
        """None as connector means the worker with all its connectors."""
        if self.grants is None:
            return True
        patterns = self._patterns(role)
        if connector is None:
            return EVERY in patterns
        return any(fnmatchcase(connector, pattern) for pattern in patterns)

    def may_somewhere(self, role: Role) -> bool:
        return self.grants is None or bool(self._patterns(role))

    def _patterns(self, role: Role) -> list[str]:
        grants = self.grants or {}
        return [pattern for held in grants if held >= role for pattern in grants[held]]

    def require(self, role: Role, connector: str | None) -> None:
        """ForbiddenError that says who lacks what."""
        if not self.may(role, connector):
            raise self._lacks(role, "all connectors" if connector is None else connector)

    def require_somewhere(self, role: Role) -> None:
        if not self.may_somewhere(role):
            raise self._lacks(role, "any connector")

    def _lacks(self, role: Role, what: str) -> ForbiddenError:
        return ForbiddenError(f"User {self.name} needs the role {role} for {what}")


class Need(enum.Enum):
    """What is asked of a caller where it is not a role for the connector in the path."""

    NOTHING = "nothing more than to be known"  # the route shows what the caller may see
    ADMIN_SOMEWHERE = "admin for some connector"  # it runs a config that comes with the request


_CONNECTOR = "/connectors/{connector:segment}"
_TOPIC = "/dlq/{topic:segment}"
_PLUGIN = "/connector-plugins/{plugin:segment}"

# What is not here takes READ to GET and ADMIN for everything else: a new route is closed at first.
_NEEDS: Mapping[tuple[str, str], Role | Need] = {
    ("PUT", f"{_CONNECTOR}/pause"): Role.OPERATE,
    ("PUT", f"{_CONNECTOR}/resume"): Role.OPERATE,
    ("PUT", f"{_CONNECTOR}/stop"): Role.OPERATE,
    ("POST", f"{_CONNECTOR}/restart"): Role.OPERATE,
    ("POST", _CONNECTOR + "/tasks/{task:int}/restart"): Role.OPERATE,
    ("POST", f"{_TOPIC}/test"): Role.OPERATE,
    ("POST", f"{_TOPIC}/dismiss"): Role.OPERATE,
    ("POST", f"{_TOPIC}/reopen"): Role.OPERATE,
    ("DELETE", "/dlq/replays/{id:segment}"): Role.OPERATE,
    ("GET", "/"): Need.NOTHING,
    ("GET", "/health"): Need.NOTHING,
    ("GET", "/connectors"): Need.NOTHING,
    ("POST", "/connectors"): Need.NOTHING,  # the name is in the body
    ("GET", "/connector-plugins"): Need.NOTHING,
    ("GET", f"{_PLUGIN}/config"): Need.NOTHING,
    ("PUT", f"{_PLUGIN}/config/validate"): Need.ADMIN_SOMEWHERE,
    ("POST", f"{_PLUGIN}/transform"): Need.ADMIN_SOMEWHERE,
    ("GET", "/dlq"): Need.NOTHING,
    ("GET", "/dlq/replays"): Need.NOTHING,
    # Between workers: a signature is what counts.
    ("POST", f"{_CONNECTOR}/tasks"): Need.NOTHING,
    ("PUT", f"{_CONNECTOR}/fence"): Need.NOTHING,
}


def need(method: str, path: str) -> Role | Need:
    """What a request of a route, by the route's own path, takes."""
    return _NEEDS.get((method, path), Role.READ if method == "GET" else Role.ADMIN)
