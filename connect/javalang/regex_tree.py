"""A regular expression as a tree, and the tree as source for Python's re."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from connect.javalang.codepoints import CodePoints
from connect.javalang.errors import UnsupportedRegexError

# A look-behind of varying length is written out once for each length. Past this many the
# pattern would cost more to match than its author can have meant.
MAX_LOOK_BEHIND_VARIANTS = 128


@dataclass(frozen=True, slots=True)
class Chars:
    """One code point out of a set."""

    points: CodePoints


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition on the place, already in Python's words."""

    source: str


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    branches: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Capture:
    name: str | None
    body: "Node"


@dataclass(frozen=True, slots=True)
class Atomic:
    body: "Node"


@dataclass(frozen=True, slots=True)
class Look:
    """A look-ahead or look-behind. index is its place in the pattern."""

    behind: bool
    negative: bool
    body: "Node"
    index: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """most is None without a limit; mode is "" (greedy), "?" (reluctant) or "+" (possessive)."""

    body: "Node"
    least: int
    most: int | None
    mode: str


@dataclass(frozen=True, slots=True)
class BackReference:
    """flags are those of Python's re under which the texts are compared."""

    number: int
    flags: str
    closed: bool
    index: int


@dataclass(frozen=True, slots=True)
class LineBreak:
    r"""`\R`: a CR LF pair or one vertical white space."""

    pair: Sequence
    single: Chars


Node = (
    Chars
    | Assertion
    | Sequence
    | Choice
    | Capture
    | Atomic
    | Look
    | Repeat
    | BackReference
    | LineBreak
)

_T = TypeVar("_T")

EMPTY = Sequence(())
_NEVER = "(?!)"


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes a tree as Python regex source."""

    pattern: str
    group_count: int

    def source(self, node: Node) -> str:
        match node:
            case Chars(points):
                return points.source()
            case Assertion(text):
                return text
            case Sequence(items):
                return "".join(self.source(item) for item in items)
            case Choice(branches):
                return "(?:" + "|".join(self.source(branch) for branch in branches) + ")"
            case Capture(None, body):
                return f"({self.source(body)})"
            case Capture(name, body):
                return f"(?P<{name}>{self.source(body)})"
            case Atomic(body):
                return f"(?>{self.source(body)})"
            case Look():
                return self._look(node)
            case Repeat():
                return self._repeat(node)
            case BackReference():
                return self._back_reference(node)
            case LineBreak(pair, single):
                return self.source(Choice((pair, single)))

    def _repeat(self, node: Repeat) -> str:
        match node.body:
            case Chars(points):
                body = points.source()
            case LineBreak(pair, single):
                # Java does not go back into a repeated line break.
                body = self.source(Atomic(Choice((pair, single))))
            case _:
                body = f"(?:{self.source(node.body)})"
        match (node.least, node.most):
            case (0, None):
                count = "*"
            case (1, None):
                count = "+"
            case (0, 1):
                count = "?"
            case (least, None):
                count = f"{{{least},}}"
            case (least, most):
                count = f"{{{least},{most}}}"
        return body + count + node.mode

    def _back_reference(self, node: BackReference) -> str:
        if node.number > self.group_count:
            return _NEVER  # Java takes it for a group that never takes part
        if not node.closed:
            raise UnsupportedRegexError(
                f"the back reference to group {node.number} before the group has ended",
                self.pattern,
                node.index,
                "refer to a group that is closed further left",
            )
        return f"(?{node.flags}:\\{node.number})"

    def _look(self, node: Look) -> str:
        if not node.behind:
            return f"(?{'!' if node.negative else '='}{self.source(node.body)})"
        sign = "(?<!" if node.negative else "(?<="
        variants = self._variants(_without_slack(node.body), node.index)
        looks = [f"{sign}{self.source(variant)})" for variant in variants]
        if node.negative or len(looks) == 1:
            return "".join(looks)
        return "(?:" + "|".join(looks) + ")"

    def _variants(self, node: Node, index: int) -> list[Node]:
        """Trees of fixed length that together match what the node matches."""
        match node:
            case Chars() | Assertion() | Look():
                return [node]
            case Sequence(items):
                parts = [self._variants(item, index) for item in items]
                return [Sequence(row) for row in self._limited(itertools.product(*parts), index)]
            case Choice(branches):
                found = (self._variants(branch, index) for branch in branches)
                return self._limited(itertools.chain.from_iterable(found), index)
            case LineBreak(pair, single):
                return [pair, single]
            case Capture(name, body):
                return [Capture(name, self._only_variant(body, index))]
            case Atomic(body):
                return [Atomic(self._only_variant(body, index))]
            case Repeat(body, least, most, mode) if most is not None:
                inner = self._variants(body, index)
                if len(inner) == 1 and (least == most or not (mode == "+" or _captures(body))):
                    counts = range(least, most + 1)
                    return self._limited((Repeat(inner[0], n, n, "") for n in counts), index)
                if mode != "+" and not _captures(body):
                    rows = (itertools.product(inner, repeat=n) for n in range(least, most + 1))
                    flat = itertools.chain.from_iterable(rows)
                    return [Sequence(row) for row in self._limited(flat, index)]
            case _:
                pass
        raise self._unsupported(index)

    def _only_variant(self, body: Node, index: int) -> Node:
        variants = self._variants(body, index)
        if len(variants) != 1:
            raise self._unsupported(index)
        return variants[0]

    def _limited(self, found: Iterable[_T], index: int) -> list[_T]:
        some = list(itertools.islice(found, MAX_LOOK_BEHIND_VARIANTS + 1))
        if len(some) > MAX_LOOK_BEHIND_VARIANTS:
            raise self._unsupported(index)
        return some

    def _unsupported(self, index: int) -> UnsupportedRegexError:
        return UnsupportedRegexError(
            "a look-behind of varying length",
            self.pattern,
            index,
            "look behind for a text of known length, or match the text before in a group and "
            "put it back with $1",
        )


def _without_slack(node: Node) -> Node:
    """Shorten what a look-behind begins with: to look back for `a+b` is to look for `ab`."""
    match node:
        case Choice(branches):
            return Choice(tuple(_without_slack(branch) for branch in branches))
        case Sequence((first, *rest)):
            short = _without_slack(first)
            if short == EMPTY:
                return _without_slack(Sequence(tuple(rest)))
            return Sequence((short, *rest))
        case Repeat(body, least, _, mode) if mode != "+" and not _captures(body):
            if least == 0:
                return EMPTY
            return _without_slack(body) if least == 1 else Repeat(body, least, least, "")
        case _:
            return node


def _captures(node: Node) -> bool:
    match node:
        case Capture():
            return True
        case Sequence(items):
            return any(_captures(item) for item in items)
        case Choice(branches):
            return any(_captures(branch) for branch in branches)
        case Atomic(body) | Repeat(body, _, _, _) | Look(_, _, body, _):
            return _captures(body)
        case _:
            return False
