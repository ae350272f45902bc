"""Headers: the named values that travel beside a record's key and value."""

from __future__ import annotations

from typing import Any, NamedTuple

from connect.data.schema import Schema


class Header(NamedTuple):
    """One header. A name may occur more than once in a record."""

    name: str
    value: Any = None
    schema: Schema | None = None


class Headers(tuple[Header, ...]):
    """A record's headers, in order. Never changes: `with_` and `without` give new ones."""

    __slots__ = ()

    def last(self, name: str) -> Header | None:
        """The newest header of that name, which is the one that counts where only one can."""
        for header in reversed(self):
            if header.name == name:
                return header
        return None

    def all(self, name: str) -> list[Header]:
        return [h for h in self if h.name == name]

    def with_(self, name: str, value: Any, schema: Schema | None = None) -> Headers:
        return Headers((*self, Header(name, value, schema)))

    def without(self, *names: str) -> Headers:
        return Headers(h for h in self if h.name not in names)


NO_HEADERS = Headers()
