"""JSON by columns: objects of one shape, read and written without a dict for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from connect import DataError, Schema, SerializationError
from connect.data.columns import Columns, Uniform, is_constant
from connect.data.framed import Framed
from converters import _jackson
from converters._compiling import UNUSUAL, NotPlainError, RowReader
from converters._json_writing import Book, compile_writer, encode_plain

BROKEN = "Converting byte[] to Kafka Connect data failed due to serialization error: "
# Of a batch, so many are looked at for the order of their keys.
_LOOKED_AT = 16
# Types that msgspec tells apart from all others. Where a float is expected it takes an int for one.
_TOLD = {str, int, bool}

_decode: Callable[[bytes | None], Any] = msgspec.json.Decoder().decode  # type: ignore[assignment]


class Shape:
    """Objects with the same keys: read without a dict for each, straight to columns.

    Values are expected to be of the types that were seen first, so that nobody has to look at each
    of them again. A field that holds others, such as nulls, is taken for anything from then on.
    """

    def __init__(self, kinds: dict[str, Any]) -> None:
        self._kinds = kinds
        self._rows = RowReader(kinds, strict=True)
        self._loosened = False

    @classmethod
    def of(cls, data: Sequence[bytes | None]) -> Shape | None:
        """The shape of these, judged by a few; None if the first is no object with keys."""
        first = _object(data[0])
        if not first:
            return None
        kinds = {key: type(v) if type(v) in _TOLD else Any for key, v in first.items()}
        for item in _some(data):
            kinds = _shared(kinds, _object(item) or {})
        return cls(kinds)

    def read(self, data: Sequence[bytes | None]) -> tuple[Columns, dict[int, Exception]] | None:
        """The columns, and why the others can't be read; None if one has another shape.

        Rows don't tell in which order their keys came, so a few are looked at for that.
        """
        if not all(map(self._has_order, _some(data))):
            return None
        rows: list[Any] = []
        failed: dict[int, Exception] = {}
        left = iter(data)
        while True:
            try:
                rows.extend(map(self._rows.decode, left))  # keeps those before one that raises
            except TypeError:
                return None  # a null
            except UNUSUAL as found:
                place = len(rows) + len(failed)
                error = _error_of(data[place], str(found))
                if error is None:
                    return self._read_loosely(data, place)
                failed[place] = error
            else:
                break
        if not rows:
            return None
        return self._columns(rows), failed

    def _columns(self, rows: list[Any]) -> Columns:
        columns = zip(self._kinds.items(), self._rows.columns(rows), strict=True)
        return Columns(
            None,
            {
                key: column if kind is Any else Uniform(column, kind)
                for (key, kind), column in columns
            },
        )

    def _read_loosely(
        self, data: Sequence[bytes | None], place: int
    ) -> tuple[Columns, dict[int, Exception]] | None:
        """Again, if the one at this place differs in nothing but types."""
        other = _object(data[place])
        if other is None or [*other] != [*self._kinds]:
            return None
        kinds = _shared(self._kinds, other)
        if kinds == self._kinds:
            return None
        # One field after the other would take long, so the second time all are taken for anything.
        self._kinds = dict.fromkeys(kinds, Any) if self._loosened else kinds
        self._rows = RowReader(self._kinds, strict=True)
        self._loosened = True
        return self.read(data)

    def _has_order(self, item: bytes | None) -> bool:
        try:
            value = _decode(item)
        except (TypeError, *UNUSUAL):
            return True  # it will be found out
        return isinstance(value, dict) and [*value] == [*self._kinds]


def _shared(kinds: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The types, with anything in place of those that this object's values don't have."""
    return {
        k: Any if k in other and type(other[k]) is not kind else kind for k, kind in kinds.items()
    }


def _some(data: Sequence[bytes | None]) -> Sequence[bytes | None]:
    return data[:: len(data) // _LOOKED_AT + 1]


def _object(item: bytes | None) -> dict[str, Any] | None:
    """What it is, if it is an object."""
    try:
        value = _decode(item)
    except (TypeError, *UNUSUAL):
        return None
    return value if isinstance(value, dict) else None


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
            if is_constant(values):
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
