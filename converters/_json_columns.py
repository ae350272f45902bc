"""JSON by columns: objects of one shape, read and written without a dict for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from connect import DataError, Schema, SerializationError
from connect.data.columns import Columns, by_columns
from connect.data.framed import Framed
from converters import _jackson
from converters._compiling import UNUSUAL, NotPlainError
from converters._json_writing import Book, compile_writer, encode_plain

BROKEN = "Converting byte[] to Kafka Connect data failed due to serialization error: "
# Of a batch, so many are looked at for the order of their keys.
_LOOKED_AT = 16

_decode: Callable[[bytes | None], Any] = msgspec.json.Decoder().decode  # type: ignore[assignment]


class Shape:
    """Objects with the same keys: read without a dict for each, straight to columns."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys
        names = [f"f{i}" for i in range(len(keys))]
        row = msgspec.defstruct(
            "Row",
            [(name, Any) for name in names],
            rename=dict(zip(names, keys, strict=True)),
            forbid_unknown_fields=True,
            gc=False,  # JSON has no cycles
        )
        self._decode: Callable[[bytes | None], Any] = msgspec.json.Decoder(row).decode  # type: ignore[assignment]

    @classmethod
    def of(cls, item: bytes | None) -> Shape | None:
        """The shape of this one; None if it is no object with keys."""
        try:
            value = None if item is None else _decode(item)
        except UNUSUAL:
            return None
        return cls([*value]) if isinstance(value, dict) and value else None

    def read(self, data: Sequence[bytes | None]) -> tuple[Columns, dict[int, Exception]] | None:
        """The columns, and why the others can't be read; None if one has another shape.

        Rows don't tell in which order their keys came, so a few are looked at for that.
        """
        if not all(map(self._has_order, data[:: len(data) // _LOOKED_AT + 1])):
            return None
        rows: list[Any] = []
        failed: dict[int, Exception] = {}
        left = iter(data)
        while True:
            try:
                rows.extend(map(self._decode, left))  # keeps those before one that raises
            except TypeError:
                return None  # a null
            except UNUSUAL as found:
                place = len(rows) + len(failed)
                error = _error_of(data[place], str(found))
                if error is None:
                    return None  # another shape
                failed[place] = error
            else:
                break
        if not rows:
            return None
        columns = by_columns(map(msgspec.structs.astuple, rows), len(self._keys))
        return Columns(None, dict(zip(self._keys, columns, strict=True))), failed

    def _has_order(self, item: bytes | None) -> bool:
        try:
            value = _decode(item)
        except (TypeError, *UNUSUAL):
            return True  # it will be found out
        return isinstance(value, dict) and [*value] == self._keys


def _error_of(data: bytes | None, said: str) -> DataError | None:
    """Why it can't be read; None if it can. It has no frames: the fault is in the data."""
    reason = None if data is None else _jackson.fault(data, said)
    if reason is None:
        return None
    error = DataError(BROKEN + reason)
    error.__cause__ = SerializationError(reason)
    return error


class ColumnWriter:
    """Writes columns of one schema, or without one.

    The text around the fields is made once, with all fields in it that are the same everywhere.
    """

    def __init__(self, schema: Schema | None, book: Book, prefix: bytes, suffix: bytes) -> None:
        self._prefix, self._suffix = prefix, suffix
        self._writers = schema and {
            field.name: compile_writer(field.schema, book).many for field in schema.fields
        }

    def write(self, fields: Mapping[str, Sequence[Any]]) -> Sequence[bytes]:
        """Raises one of UNUSUAL, DataError or TypeError to pass."""
        writers = self._writers or dict.fromkeys(fields, encode_plain)
        if writers.keys() != fields.keys():
            raise NotPlainError
        count = 0
        varying: list[list[bytes]] = []
        around = [self._prefix + b"{"]  # the text before, between and behind what varies
        comma = b""
        for name, write in writers.items():
            values = fields[name]
            count = len(values)
            around[-1] += comma + _jackson.dump(name) + b":"
            comma = b","
            if values[0] is values[-1] and values.count(values[0]) == count:
                around[-1] += write(values[:1])[0]
            else:
                varying.append(write(values))
                around.append(b"")
        around[-1] += b"}" + self._suffix
        if not varying:
            return around * count
        if len(varying) == 1:
            return Framed(around[0], varying[0], around[1])
        template = b"%b".join(text.replace(b"%", b"%%") for text in around)
        return [*map(template.__mod__, zip(*varying, strict=True))]
