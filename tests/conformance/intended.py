"""Where the two differ because we want it so: told to users in docs/differences.md, here to tests.

Each entry takes its difference out of a pair of outcomes. What is equal afterwards differs by
intent; what is not, by mistake. `told` is a piece of the docs' text: a test looks for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from connect.data.floats import float32
from tests.conformance.scenarios import Outcome, Scenario

Pair = tuple[Outcome, Outcome]


@dataclass(frozen=True)
class Intended:
    """A difference: its reason, where the docs tell it, and the pair without it."""

    reason: str
    told: str
    without: Callable[[Scenario, Outcome, Outcome], Pair]


@dataclass(frozen=True)
class Verdict:
    """Whether two outcomes are the same, and if not, what explains that."""

    equal: bool
    intended: tuple[Intended, ...]

    @property
    def by_mistake(self) -> bool:
        return not self.equal and not self.intended

    @property
    def word(self) -> str:
        """Under which it is counted."""
        return "equal" if self.equal else "mistake" if self.by_mistake else "intended"


def verdict(scenario: Scenario, theirs: Outcome, ours: Outcome) -> Verdict:
    if theirs == ours:
        return Verdict(equal=True, intended=())
    reasons = []
    for each in INTENDED:
        pair = each.without(scenario, theirs, ours)
        if pair != (theirs, ours):
            reasons.append(each)
            theirs, ours = pair
        if theirs == ours:
            return Verdict(equal=False, intended=tuple(reasons))
    return Verdict(equal=False, intended=())


# ---- parts of outcomes ---------------------------------------------------------------------


def _replaced(outcome: Any, change: Callable[[Any], Any]) -> Any:
    """The outcome with every part changed that `change` changes."""
    changed = change(outcome)
    if changed is not outcome:
        return changed
    if isinstance(outcome, dict):
        return {k: _replaced(v, change) for k, v in outcome.items()}
    if isinstance(outcome, list):
        return [_replaced(v, change) for v in outcome]
    return outcome


def _where_texts(same: Callable[[str, str], bool]) -> Callable[..., Pair]:
    """Texts that are the same but for this."""

    def aligned(theirs: Any, ours: Any) -> Any:
        """Ours, with their text at each place where the two are the same in this sense."""
        if isinstance(theirs, str) and isinstance(ours, str):
            return theirs if theirs != ours and same(theirs, ours) else ours
        if isinstance(theirs, dict) and isinstance(ours, dict):
            return {k: aligned(theirs[k], v) if k in theirs else v for k, v in ours.items()}
        if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
            return [aligned(one, other) for one, other in zip(theirs, ours, strict=True)]
        return ours

    def without(_scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
        return theirs, aligned(theirs, ours)

    return without


def _message(outcome: Outcome) -> str:
    return str(outcome.get("letter", {}).get("message"))


def _exception(outcome: Outcome) -> str:
    return str(outcome.get("letter", {}).get("exception")).rpartition(".")[2]


def _failing(their_text: str, our_text: str, theirs_raise: str = "") -> Callable[..., Pair]:
    """Dead letters of the same step, with these patterns in their messages."""
    their_pattern, our_pattern = re.compile(their_text), re.compile(our_text)

    def without(_scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
        if not (theirs.keys() == ours.keys() == {"letter"}):
            return theirs, ours
        as_told = their_pattern.search(_message(theirs)) and our_pattern.search(_message(ours))
        if not as_told or not _exception(theirs).endswith(theirs_raise):
            return theirs, ours
        said = {k: theirs["letter"][k] for k in ("exception", "message")}
        return theirs, {"letter": {**ours["letter"], **said}}

    return without


def _uses(scenario: Scenario, transform: str) -> bool:
    return any(f".{transform}$" in value or value.endswith(f".{transform}")
               for value in scenario.config.values())  # fmt: skip


def _succeeds_where(
    transform: str, their_text: str, as_it_should: Callable[[str | None], bool]
) -> Callable[..., Pair]:
    """Their transform fails with this text; ours goes on, and what follows is ours alone.

    A source says nothing of what it skips: there the key or value that ours has written must be
    as it should.
    """
    pattern = re.compile(their_text)

    def without(scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
        if not _uses(scenario, transform) or "refused" in ours:
            return theirs, ours
        written = ours.get("message", {})
        skipped = "none" in theirs and any(
            as_it_should(written[side]) for side in ("key", "value") if side in written
        )
        return (ours, ours) if skipped or pattern.search(_message(theirs)) else (theirs, ours)

    return without


def _is_null(written: str | None) -> bool:
    return written is None or written.endswith('"payload":null}')


def _is_no_struct(written: str | None) -> bool:
    return written is not None and '"schema":{"type":"struct"' not in written


# ---- the table -----------------------------------------------------------------------------


def _minus_zero(_scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    def positive(part: Any) -> Any:
        return {"float": "0.0"} if part == {"float": "-0.0"} else part

    return theirs, _replaced(ours, positive)


def _same_entries(theirs: str, ours: str) -> bool:
    """The same JSON, or the same text of a map, but for the order of a map's entries."""
    if sorted(theirs) != sorted(ours):
        return False
    try:
        one, other = (json.loads(t, parse_float=str, parse_int=str) for t in (theirs, ours))
    except ValueError:
        return "{" in theirs
    return bool(one == other)


_FLOAT = re.compile(r"-?\d+\.\d+(?:E-?\d+)?")


def _same_digits(theirs: str, ours: str) -> bool:
    """Texts with the same floats, theirs with more digits than are needed."""
    if _FLOAT.sub("", theirs) != _FLOAT.sub("", ours) or _FLOAT.sub("", theirs) == theirs:
        return False
    numbers = zip(_FLOAT.findall(theirs), _FLOAT.findall(ours), strict=True)
    return all(
        float(one) == float(other) or float32(float(one)) == float32(float(other))
        for one, other in numbers
    )


def _digits_and_order(theirs: str, ours: str) -> bool:
    """Both at once: the entries of a map in another order, and other digits."""
    shown = [sorted(_FLOAT.sub("", text)) for text in (theirs, ours)]
    numbers = [sorted(map(float, _FLOAT.findall(text))) for text in (theirs, ours)]
    return shown[0] == shown[1] and numbers[0] == numbers[1] and "{" in theirs


def _objects_printed(theirs: str, ours: str) -> bool:
    return bool(re.search(r"\[B@[0-9a-f]+", theirs)) and not re.search(r"\[B@[0-9a-f]+", ours)


def _dates_printed(theirs: str, ours: str) -> bool:
    time = r"\d\d:\d\d:\d\d\.\d{3}Z"
    if not re.fullmatch(time, theirs):
        return False
    return ours.endswith(f"T{theirs}") or (
        theirs == "00:00:00.000Z" and bool(re.fullmatch(r"\d{4}-\d\d-\d\d", ours))
    )


def _any_number(scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    converters = [v for k, v in scenario.config.items() if k.endswith(".converter")]
    numeric = any(
        c.rpartition(".")[2] in _NUMBER_CONVERTERS for c in converters
    )  # fmt: skip
    return (ours, ours) if numeric and "none" in theirs and "message" in ours else (theirs, ours)


_NUMBER_CONVERTERS = {f"{n}Converter" for n in ("Short", "Integer", "Long", "Float", "Double")}


def _whole_header(_scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    """A header of theirs that is the beginning of ours."""
    if "record" not in theirs or "record" not in ours:
        return theirs, ours
    pairs = list(zip(theirs["record"]["headers"], ours["record"]["headers"], strict=False))
    for one, other in pairs:
        text = other.get("value")
        begins = isinstance(text, str) and re.match(r"[^,:\[\]{}]+[,:\[\]{}]", text.strip())
        if begins and one != other and one["key"] == other["key"]:
            said = {"schema": one.get("schema"), "value": one.get("value")}
            headers = [{**h, **said} if h == other else h for h in ours["record"]["headers"]]
            ours = {"record": {**ours["record"], "headers": headers}}
    return theirs, ours


def _beyond_long(_scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    def wrapped(part: Any) -> Any:
        if isinstance(part, int) and not isinstance(part, bool) and not -(2**63) <= part < 2**63:
            low = part & (2**64 - 1)
            return low - 2**64 if low >> 63 else low
        return part

    return theirs, _replaced(ours, wrapped)


def _masked_scale(scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    def unscaled(part: Any) -> Any:
        zero = isinstance(part, dict) and re.fullmatch(r"0\.0+", str(part.get("decimal")))
        return {"decimal": "0"} if zero else part

    return (theirs, _replaced(ours, unscaled)) if _uses(scenario, "MaskField") else (theirs, ours)


def _far_years(_scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    said = _message(ours)
    return (ours, ours) if "outside the years 1 to 9999" in said else (theirs, ours)


def _refused_early(_scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    """They find out at the first record, or when the task starts; we before it is created."""
    told = ours.get("failed") or ours.get("refused", {}).get("message")
    if not told:
        return theirs, ours
    theirs_said = theirs.get("failed") or _message(theirs)
    cause = theirs_said.rpartition(": ")[2]
    return (ours, ours) if cause and cause in told else (theirs, ours)


def _spec_printed(theirs: str, ours: str) -> bool:
    return "InsertField$InsertionSpec@" in theirs and "No value specified for static field" in ours


def _with_reason(theirs: str, ours: str) -> bool:
    return theirs.endswith(" serialization error: ") and ours.startswith(theirs)


def _uses_avro(scenario: Scenario) -> bool:
    return "Avro" in scenario.config.values()


def _avro_letter(scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    """The same letter, with a DataException instead of what Java's libraries raise."""
    letters = theirs.keys() == ours.keys() == {"letter"}
    if not (letters and _uses_avro(scenario) and _exception(ours) == "DataException"):
        return theirs, ours
    said = {k: theirs["letter"][k] for k in ("exception", "message")}
    return theirs, {"letter": {**ours["letter"], **said}}


def _subject_version(scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
    if not (_uses_avro(scenario) and "record" in theirs and "record" in ours):
        return theirs, ours
    record = dict(ours["record"])
    for part in ("keySchema", "valueSchema"):
        if "version" in record.get(part, {}) and "version" not in theirs["record"].get(part, {}):
            record[part] = {k: v for k, v in record[part].items() if k != "version"}
    return theirs, {"record": record}


def _avro_bytes(same: Callable[[bytes, bytes], bool]) -> Callable[..., Pair]:
    """Messages of the same schema whose payloads are the same in this sense."""

    def data(shown: Any) -> bytes:
        return bytes.fromhex(shown["hex"]) if isinstance(shown, dict) else str(shown).encode()

    def without(scenario: Scenario, theirs: Outcome, ours: Outcome) -> Pair:
        if not (_uses_avro(scenario) and "message" in theirs and "message" in ours):
            return theirs, ours
        message = dict(ours["message"])
        for part in ("key", "value"):
            one, other = data(theirs["message"][part]), data(message[part])
            if one != other and one[:5] == other[:5] and same(one[5:], other[5:]):
                message[part] = theirs["message"][part]
        return theirs, {"message": message}

    return without


def _own_lists(theirs: str, ours: str) -> bool:
    """Lists of the plugins there are, which are each side's own."""
    mark = "available plugins are: "
    return mark in theirs and theirs.partition(mark)[0] == ours.partition(mark)[0]


INTENDED = (
    Intended("the reason is told", "what is wrong, and where", _where_texts(_with_reason)),
    Intended("a number's sign is kept", "`-0.0`", _minus_zero),
    Intended("digits as Java 19 and later write them", "Java 19", _where_texts(_same_digits)),
    Intended("maps keep their order", "order of a map's entries", _where_texts(_same_entries)),
    Intended("maps keep their order", "order of a map's entries", _where_texts(_digits_and_order)),
    Intended("an address is no text", "address of a Java object", _where_texts(_objects_printed)),
    Intended("an address is no text", "address of a Java object", _where_texts(_spec_printed)),
    Intended("dates before 1970 are dates", "before 1970-01-02", _where_texts(_dates_printed)),
    Intended("a number that fits is written", "Any number that fits", _any_number),
    Intended("a header's text is not cut off", "`1,2`", _whole_header),
    Intended("numbers beyond 64 bits keep their value", "beyond 64 bits", _beyond_long),
    Intended("the mask has the field's scale", "The mask has the field's scale", _masked_scale),
    Intended("Python's dates", "Years 1 to 9999", _far_years),
    Intended(
        "a null has nothing to mask", "It lets nulls through",
        _succeeds_where("MaskField", r"\[mask fields\], found: null", _is_null),
    ),
    Intended(
        "a null is no time", "a null whose schema is no struct",
        _succeeds_where("TimestampConverter", "Cannot list fields on non-struct type", _is_null),
    ),
    Intended(
        "any schema can be named", "can name structs only",
        _succeeds_where(
            "SetSchemaMetadata", "Cannot list fields on non-struct type", _is_no_struct
        ),
    ),
    Intended(
        "a text that helps", "`Cannot list fields on non-struct type`",
        _failing("Cannot list fields on non-struct type", r"\[cast types\], found:"),
    ),
    Intended(
        "a text that helps", "has a NullPointerException for a field",
        _failing("Cannot invoke", "Field does not exist", "NullPointerException"),
    ),
    Intended(
        "a text that helps", "for text without a `format`",
        _failing("Cannot invoke", "no format is set", "NullPointerException"),
    ),
    Intended(
        "a text that helps", "`RegexRouter` says `No group 2`",
        _failing("No group|capturing group", "the replacement '.*' does not fit the pattern"),
    ),
    Intended(
        "Python's numbers have no width", "numbers without a schema have no width",
        _failing(r"found: java\.lang\.(Float|Integer|Short|Byte)",
                 r"found: java\.lang\.(Double|Long)"),
    ),
    Intended("bad data is a DataException", "a record that can't be read", _avro_letter),
    Intended("the version is the subject's", "version in its subject", _subject_version),
    Intended(
        "bytes alone have no length", "bytes alone",
        _avro_bytes(lambda theirs, ours: theirs == bytes([2 * len(ours)]) + ours),
    ),
    Intended(
        "maps keep their order", "order of a map's entries",
        _avro_bytes(lambda theirs, ours: sorted(theirs) == sorted(ours)),
    ),
    Intended("a config that can't work is not taken", "refused by validation", _refused_early),
    Intended("each has its own plugins", "classes that are installed", _where_texts(_own_lists)),
)  # fmt: skip
