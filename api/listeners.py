"""Listeners: `http://host:port` as sockets, before there is anything to serve on them.

They are bound first because the worker's identity is its advertised address, and port 0 gets its
number only by binding.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from connect.config.listeners import parse_listeners
from connect.errors import ConfigError

_BACKLOG = 2048
_EVERY_INTERFACE = ("", "0.0.0.0", "::")  # noqa: S104 - it is the user who asks for it


@dataclass(frozen=True, slots=True)
class OpenListener:
    """One address of `listeners` and the sockets it has become; no host means every interface."""

    scheme: str
    host: str
    port: int
    sockets: tuple[socket.socket, ...] = field(repr=False)

    @property
    def url(self) -> str:
        host = socket.gethostname() if self.host in _EVERY_INTERFACE else self.host
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"


def bind(key: str, values: Sequence[str]) -> list[OpenListener]:
    """Bind every address of a setting, or none. ConfigError names the key and what to do."""
    parsed = parse_listeners(key, values)
    bound: list[OpenListener] = []
    try:
        for value, (scheme, host, port) in zip(values, parsed, strict=True):
            sockets = _open(key, value, host, port)
            number = sockets[0].getsockname()[1]
            bound.append(OpenListener(scheme, host, number, tuple(sockets)))
    except BaseException:
        close(bound)
        raise
    return bound


def close(listeners: Sequence[OpenListener]) -> None:
    for listener in listeners:
        for each in listener.sockets:
            each.close()


def _open(key: str, value: str, host: str, port: int) -> list[socket.socket]:
    """One socket for each address the host has; `localhost` usually has two."""
    if not host:
        try:
            return [_on_every_interface(port)]
        except OSError as error:
            raise _refused(key, value, port, error) from error
    opened: list[socket.socket] = []
    try:
        for family, address in _addresses(host):
            number = opened[0].getsockname()[1] if opened else port
            try:
                opened.append(_listen(family, address, number))
            except OSError as error:
                # A host may have an address of a family that this machine has switched off.
                if opened and error.errno == errno.EADDRNOTAVAIL:
                    continue
                raise
    except OSError as error:
        for each in opened:
            each.close()
        raise _refused(key, value, port, error) from error
    return opened


def _on_every_interface(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(
                ("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
            )
        except OSError as error:
            if error.errno != errno.EAFNOSUPPORT:
                raise
    return socket.create_server(("", port), backlog=_BACKLOG)


def _addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _listen(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    return socket.create_server((address, port), family=family, backlog=_BACKLOG)


def _refused(key: str, value: str, port: int, error: OSError) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        reason = (
            f"port {port} is in use by another process: stop that, or choose another port "
            "(0 for any free one)"
        )
    elif error.errno == errno.EACCES:
        reason = f"port {port} needs more rights than this user has: choose one above 1023"
    elif isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        reason = "the host is not an address of this machine: leave it out for every interface"
    else:
        reason = f"can't listen there: {error.strerror or error}"
    return ConfigError(key, value, reason)
