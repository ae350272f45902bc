r"""The named character sets of java.util.regex: `\p{...}`, `\w` and friends, and letter case.

Sets that need the whole of Unicode are worked out on first use and kept.
"""

import functools
import unicodedata
from collections import defaultdict
from collections.abc import Callable

from connect.javalang.codepoints import ALL, MAX_CODE_POINT, CodePoints
from connect.javalang.unicode_tables import (
    BLOCKS,
    IDEOGRAPHIC,
    OTHER_ALPHABETIC,
    SCRIPT_CODES,
    SCRIPTS,
)

DIGIT = CodePoints.hex("30-39")
WORD = CodePoints.hex("30-39 41-5a 5f 61-7a")
SPACE = CodePoints.hex("9-d 20")
HORIZONTAL_SPACE = CodePoints.hex("9 20 a0 1680 180e 2000-200a 202f 205f 3000")
VERTICAL_SPACE = CodePoints.hex("a-d 85 2028-2029")
LINE_TERMINATOR = CodePoints.hex("a d 85 2028-2029")
WHITE_SPACE = CodePoints.hex("9-d 20 85 a0 1680 2000-200a 2028-2029 202f 205f 3000")

_ASCII_CLASSES = {
    "ASCII": CodePoints.hex("0-7f"),
    "Lower": CodePoints.hex("61-7a"),
    "Upper": CodePoints.hex("41-5a"),
    "Alpha": CodePoints.hex("41-5a 61-7a"),
    "Digit": DIGIT,
    "Alnum": CodePoints.hex("30-39 41-5a 61-7a"),
    "Punct": CodePoints.hex("21-2f 3a-40 5b-60 7b-7e"),
    "Graph": CodePoints.hex("21-7e"),
    "Print": CodePoints.hex("20-7e"),
    "Blank": CodePoints.hex("9 20"),
    "Cntrl": CodePoints.hex("0-1f 7f"),
    "XDigit": CodePoints.hex("30-39 41-46 61-66"),
    "Space": SPACE,
}
_CATEGORIES = {
    "L": "Lu Ll Lt Lm Lo",
    "M": "Mn Me Mc",
    "N": "Nd Nl No",
    "Z": "Zs Zl Zp",
    "C": "Cc Cf Co Cs Cn",
    "P": "Pd Ps Pe Pc Po Pi Pf",
    "S": "Sm Sc Sk So",
    "LC": "Lu Ll Lt",
    "LD": "Lu Ll Lt Lm Lo Nd",
}


@functools.cache
def _categories() -> dict[str, CodePoints]:
    ranges: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    start, current = 0, unicodedata.category("\0")
    for code in range(1, MAX_CODE_POINT + 1):
        category = unicodedata.category(chr(code))
        if category != current:
            ranges[current].append((start, code - 1))
            start, current = code, category
    ranges[current].append((start, MAX_CODE_POINT))
    return {name: CodePoints(tuple(found)) for name, found in ranges.items()}


def _category_names() -> set[str]:
    return {*_CATEGORIES, *_categories()}


@functools.cache
def category(names: str) -> CodePoints:
    """The code points of the general categories named, separated by blanks."""
    found = CodePoints(())
    for name in names.split():
        found |= _categories()[name]
    return found


@functools.cache
def _lowercase() -> CodePoints:
    return CodePoints.where(str.islower)


@functools.cache
def _uppercase() -> CodePoints:
    return CodePoints.where(str.isupper)


@functools.cache
def _alphabetic() -> CodePoints:
    return category("Lu Ll Lt Lm Lo Nl") | CodePoints.hex(OTHER_ALPHABETIC)


@functools.cache
def unicode_word() -> CodePoints:
    r"""What `\w` means under (?U)."""
    return _alphabetic() | category("Mn Me Mc Nd Pc") | CodePoints.hex("200c-200d")


def unicode_digit() -> CodePoints:
    r"""What `\d` means under (?U)."""
    return category("Nd")


def _graph() -> CodePoints:
    return ~(category("Zs Zl Zp Cc Cs Cn"))


def _blank() -> CodePoints:
    return category("Zs") | CodePoints.chars("\t")


_PLANES = range(0, MAX_CODE_POINT + 1, 0x10000)

# Names are in capitals, as Java ignores their case after `Is`.
_BINARY: dict[str, Callable[[], CodePoints]] = {
    "ALPHABETIC": _alphabetic,
    "LETTER": lambda: category("Lu Ll Lt Lm Lo"),
    "IDEOGRAPHIC": lambda: CodePoints.hex(IDEOGRAPHIC),
    "LOWERCASE": _lowercase,
    "UPPERCASE": _uppercase,
    "TITLECASE": lambda: category("Lt"),
    "WHITE_SPACE": lambda: WHITE_SPACE,
    "WHITESPACE": lambda: WHITE_SPACE,
    "CONTROL": lambda: category("Cc"),
    "PUNCTUATION": lambda: category(_CATEGORIES["P"]),
    "HEX_DIGIT": lambda: (
        category("Nd") | CodePoints.hex("30-39 41-46 61-66 ff10-ff19 ff21-ff26 ff41-ff46")
    ),
    "ASSIGNED": lambda: ~category("Cn"),
    "NONCHARACTER_CODE_POINT": lambda: CodePoints.of(
        [(0xFDD0, 0xFDEF), *((plane + 0xFFFE, plane + 0xFFFF) for plane in _PLANES)]
    ),
    "DIGIT": unicode_digit,
    "ALNUM": lambda: _alphabetic() | category("Nd"),
    "BLANK": _blank,
    "GRAPH": _graph,
    "PRINT": lambda: (_graph() | category("Zs")) - category("Cc"),
    "WORD": unicode_word,
    "JOIN_CONTROL": lambda: CodePoints.hex("200c-200d"),
}
_BINARY["HEXDIGIT"] = _BINARY["HEX_DIGIT"]
_BINARY["JOINCONTROL"] = _BINARY["JOIN_CONTROL"]
_BINARY["NONCHARACTERCODEPOINT"] = _BINARY["NONCHARACTER_CODE_POINT"]

# What the POSIX names turn into after `Is` and under (?U).
_POSIX_AS_BINARY = {
    "ALPHA": "ALPHABETIC",
    "LOWER": "LOWERCASE",
    "UPPER": "UPPERCASE",
    "SPACE": "WHITE_SPACE",
    "PUNCT": "PUNCTUATION",
    "XDIGIT": "HEX_DIGIT",
    "CNTRL": "CONTROL",
    "ALNUM": "ALNUM",
    "DIGIT": "DIGIT",
    "BLANK": "BLANK",
    "GRAPH": "GRAPH",
    "PRINT": "PRINT",
}


def _identifier_ignorable() -> CodePoints:
    return CodePoints.hex("0-8 e-1b 7f-9f") | category("Cf")


_JAVA_METHODS: dict[str, Callable[[], CodePoints]] = {
    "LowerCase": _lowercase,
    "UpperCase": _uppercase,
    "Alphabetic": _alphabetic,
    "Ideographic": lambda: CodePoints.hex(IDEOGRAPHIC),
    "TitleCase": lambda: category("Lt"),
    "Digit": unicode_digit,
    "Defined": lambda: ~category("Cn"),
    "Letter": lambda: category(_CATEGORIES["L"]),
    "LetterOrDigit": lambda: category(_CATEGORIES["LD"]),
    "SpaceChar": lambda: category(_CATEGORIES["Z"]),
    "Whitespace": lambda: (
        category("Zs Zl Zp") - CodePoints.hex("a0 2007 202f") | CodePoints.hex("9-d 1c-1f")
    ),
    "ISOControl": lambda: CodePoints.hex("0-1f 7f-9f"),
    "Mirrored": lambda: CodePoints.where(lambda char: unicodedata.mirrored(char) == 1),
    "JavaIdentifierStart": lambda: category("Lu Ll Lt Lm Lo Nl Sc Pc"),
    "JavaIdentifierPart": lambda: (
        category("Lu Ll Lt Lm Lo Nl Sc Pc Nd Mc Mn") | _identifier_ignorable()
    ),
    "IdentifierIgnorable": _identifier_ignorable,
}


class UnknownPropertyError(LookupError):
    """Java does not know the property either. The text is Java's."""


class MissingTableError(LookupError):
    """A script or block Java may know and we carry no table for. The text names it."""


def named_set(name: str, *, ignore_case: bool, unicode: bool) -> CodePoints:
    r"""The set of `\p{name}`. unicode is Java's UNICODE_CHARACTER_CLASS, the flag (?U)."""
    key, equals, value = name.partition("=")
    if equals:
        return _keyed(key.lower(), value, ignore_case=ignore_case)
    if name.startswith("In"):
        return _block(name[2:])
    if name.startswith("Is"):
        short = name[2:]
        binary = _binary(short.upper(), ignore_case=ignore_case)
        found = binary or _category_or_ascii(short, ignore_case=ignore_case)
        return found or _script(short, name)
    found = None
    if unicode and name in _ASCII_CLASSES and name.upper() in _POSIX_AS_BINARY:
        found = _binary(name.upper(), ignore_case=ignore_case)
    found = found or _category_or_ascii(name, ignore_case=ignore_case)
    if found is None and name.startswith("java"):
        found = _java_method(name[4:], ignore_case=ignore_case)
    if found is None:
        raise UnknownPropertyError(f"Unknown character property name {{{name}}}")
    return found


def _keyed(key: str, value: str, *, ignore_case: bool) -> CodePoints:
    if key in ("sc", "script"):
        return _script(value, value)
    if key in ("blk", "block"):
        return _block(value)
    found = None
    if key in ("gc", "general_category"):
        found = _category_or_ascii(value, ignore_case=ignore_case)
    if found is None:
        raise UnknownPropertyError(f"Unknown Unicode property {{name=<{key}>, value=<{value}>}}")
    return found


def _binary(name: str, *, ignore_case: bool) -> CodePoints | None:
    name = _POSIX_AS_BINARY.get(name, name)
    if ignore_case and name in ("LOWERCASE", "UPPERCASE", "TITLECASE"):
        return _lowercase() | _uppercase() | category("Lt")
    return _BINARY[name]() if name in _BINARY else None


def _category_or_ascii(name: str, *, ignore_case: bool) -> CodePoints | None:
    if name in ("all", "ALL"):
        return ALL
    if name == "L1":
        return CodePoints.hex("0-ff")
    if name in _ASCII_CLASSES:
        return _ASCII_CLASSES["Alpha" if ignore_case and name in ("Lower", "Upper") else name]
    if ignore_case and name in ("Lu", "Ll", "Lt"):
        name = "LC"
    return category(_CATEGORIES.get(name, name)) if name in _category_names() else None


def _java_method(name: str, *, ignore_case: bool) -> CodePoints | None:
    if ignore_case and name in ("LowerCase", "UpperCase", "TitleCase"):
        return _lowercase() | _uppercase() | category("Lt")
    return _JAVA_METHODS[name]() if name in _JAVA_METHODS else None


def _script(name: str, spelled: str) -> CodePoints:
    key = SCRIPT_CODES.get(name.upper(), name.upper())
    if key not in SCRIPTS:
        raise MissingTableError(f"the Unicode script or property '{spelled}'")
    return CodePoints.hex(SCRIPTS[key])


def _block(name: str) -> CodePoints:
    key = name.upper().replace(" ", "").replace("_", "").replace("-", "")
    if key not in BLOCKS:
        raise MissingTableError(f"the Unicode block '{name}'")
    return CodePoints.hex(BLOCKS[key])


@functools.cache
def _case_partners() -> dict[int, tuple[int, ...]]:
    """The letters that Java's UNICODE_CASE takes for one another, by each of them."""
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for code in range(MAX_CODE_POINT + 1):
        folded = _simple_lower(_simple_upper(code))
        # Java takes ß for caseless, as it has no single capital, and so not for an ẞ.
        if _simple_upper(folded) != folded:
            alike[folded].append(code)
    groups = (sorted({folded, *codes}) for folded, codes in alike.items())
    return {code: tuple(group) for group in groups for code in group}


def _simple_upper(code: int) -> int:
    char = chr(code)
    upper = char.upper()
    # A letter that grows in capitals (ß) has no simple upper case, except by way of its title.
    if len(upper) > 1:
        upper = char.title()
    return ord(upper) if len(upper) == 1 else code


def _simple_lower(code: int) -> int:
    # Java lowers İ to i. Python keeps the dot as a second character.
    return ord(chr(code).lower()[0])


def ignoring_case(points: CodePoints, *, unicode: bool) -> CodePoints:
    """The set with the other cases of its letters: of ASCII letters only, unless unicode."""
    if unicode:
        partners = _case_partners()
        extra = [other for code, group in partners.items() if code in points for other in group]
        return points | CodePoints.of((code, code) for code in extra)
    upper = points & _ASCII_CLASSES["Upper"]
    lower = points & _ASCII_CLASSES["Lower"]
    return (
        points
        | CodePoints.of((low + 32, high + 32) for low, high in upper.ranges)
        | CodePoints.of((low - 32, high - 32) for low, high in lower.ranges)
    )
