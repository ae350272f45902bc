"""The pattern language of java.text.SimpleDateFormat and its English words."""

from dataclasses import dataclass

from connect.javalang.errors import DatePatternError

LETTERS = frozenset("GyMdkHmsSEDFwWahKzZYuXL")

ERAS = ("BC", "AD")
LONG_ERAS = ("Before Christ", "Anno Domini")
HALF_DAYS = ("AM", "PM")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
# From Sunday, Java's first day of the week.
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


@dataclass(frozen=True, slots=True)
class Field:
    """A run of one pattern letter. abuts is whether a number follows directly."""

    letter: str
    count: int
    abuts: bool = False

    @property
    def is_number(self) -> bool:
        return self.count <= 2 if self.letter in "ML" else self.letter not in "GEazZX"


def split(pattern: str) -> list[Field | str]:
    """Split into fields and the literal texts between them."""
    parts: list[Field | str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "'":
            text, at = _quoted(pattern, at)
            _append_text(parts, text)
        elif char.isascii() and char.isalpha():
            end = at
            while end < len(pattern) and pattern[end] == char:
                end += 1
            _append_field(parts, char, end - at)
            at = end
        else:
            _append_text(parts, char)
            at += 1
    return parts


def _quoted(pattern: str, start: int) -> tuple[str, int]:
    """The text of a quotation and where it ends. Two quotes are one, inside as outside."""
    if pattern.startswith("''", start):
        return "'", start + 2
    text = ""
    at = start + 1
    while True:
        end = pattern.find("'", at)
        if end < 0:
            raise DatePatternError("Unterminated quote")
        text += pattern[at:end]
        if not pattern.startswith("''", end):
            return text, end + 1
        text += "'"
        at = end + 2


def _append_text(parts: list[Field | str], text: str) -> None:
    last = parts[-1] if parts else None
    if isinstance(last, str):
        parts[-1] = last + text
    else:
        parts.append(text)


def _append_field(parts: list[Field | str], letter: str, count: int) -> None:
    if letter not in LETTERS:
        raise DatePatternError(f"Illegal pattern character '{letter}'")
    if letter == "X" and count > 3:
        raise DatePatternError(f"invalid ISO 8601 format: length={count}")
    field = Field(letter, count)
    if parts and isinstance(last := parts[-1], Field):
        parts[-1] = Field(last.letter, last.count, abuts=field.is_number)
    parts.append(field)
