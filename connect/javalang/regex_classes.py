r"""Reads Java's character classes: sets in brackets, `\d` and the like, `\p{...}`."""

from dataclasses import dataclass

from connect.javalang import unicode_sets
from connect.javalang.codepoints import CodePoints
from connect.javalang.errors import JavaRegexError, UnsupportedRegexError
from connect.javalang.regex_scanner import JavaFlag, Scanner


@dataclass(slots=True)
class ClassReader(Scanner):
    """A scanner that reads sets of code points."""

    def _class(self) -> CodePoints:
        """Read a class after its opening bracket, the closing one included."""
        negative = self._peek() == "^"
        if negative:
            self._at += 1
        points = self._class_items()
        self._at += 1
        return ~points if negative else points

    def _class_items(self) -> CodePoints:
        """Read the members of a class and stop before its closing bracket."""
        points: CodePoints | None = None
        while True:
            if self._ended():
                self._error("Unclosed character class", len(self._chars) - 1)
            char = self._peek()
            if char == "]" and points is not None:
                return points
            if char == "[":
                self._at += 1
                found = self._class()
            elif char == "&" and self._chars[self._at + 1 : self._at + 2] == ["&"]:
                points = self._intersection(points)
                continue
            else:
                found = self._range()
            points = found if points is None else points | found

    def _intersection(self, left: CodePoints | None) -> CodePoints:
        """Read from `&&` up to the next `&` or the closing bracket."""
        self._at += 2
        right: CodePoints | None = None
        while not self._ended() and self._peek() not in ("]", "&"):
            if self._peek() == "[":
                self._at += 1
                found = self._class()
            else:
                found = self._class_items()
            right = found if right is None else right | found
        if right is None:
            if left is None:
                self._error("Bad class syntax", self._at - 1)
            return left
        return right if left is None else left & right

    def _range(self) -> CodePoints:
        if self._peek() == "\\":
            self._at += 1
            points = self._class_escape()
            if points is not None:
                return points
            first = self._escaped_member()
        else:
            first = self._plain_member()
        hyphen = self._at
        if self._peek() != "-":
            return self._with_case(CodePoints(((first, first),)))
        self._at += 1
        if self._peek() in ("]", "["):
            self._at = hyphen
            return self._with_case(CodePoints(((first, first),)))
        if self._peek() == "\\":
            self._at += 1
            if not self._raw() or self._raw() in "dDwWsShHvVpP":
                self._error("Illegal character range", self._at)
            last = self._escaped_member()
        elif self._ended():
            self._error("Illegal character range", self._at)
        else:
            last = self._plain_member()
        if last < first:
            self._error("Illegal character range", self._at - 1)
        return self._with_case(CodePoints(((first, last),)))

    def _plain_member(self) -> int:
        self._at += 1
        return ord(self._chars[self._at - 1])

    def _escaped_member(self) -> int:
        if not self._raw():
            self._error("Unclosed character class", len(self._chars))
        return self._single()

    def _with_case(self, points: CodePoints) -> CodePoints:
        if JavaFlag.CASE_INSENSITIVE not in self.flags:
            return points
        return unicode_sets.ignoring_case(points, unicode=JavaFlag.UNICODE_CASE in self.flags)

    def _class_escape(self) -> CodePoints | None:
        """Read an escape that stands for a set, or return None and read nothing."""
        char = self._raw()
        if char in ("p", "P"):
            self._at += 1
            points = self._property()
            return ~points if char == "P" else points
        unicode = JavaFlag.UNICODE_CHARACTER_CLASS in self.flags
        match char.lower():
            case "d":
                points = unicode_sets.unicode_digit() if unicode else unicode_sets.DIGIT
            case "w":
                points = unicode_sets.unicode_word() if unicode else unicode_sets.WORD
            case "s":
                points = unicode_sets.WHITE_SPACE if unicode else unicode_sets.SPACE
            case "h":
                points = unicode_sets.HORIZONTAL_SPACE
            case "v":
                points = unicode_sets.VERTICAL_SPACE
            case _:
                return None
        self._at += 1
        return ~points if char.isupper() else points

    def _property(self) -> CodePoints:
        name = self._raw() or "\0"
        if name == "{":
            start = self._at + 1
            if "}" not in self._chars[start:]:
                self._error("Unclosed character family", len(self._chars))
            self._at = self._chars.index("}", start)
            name = "".join(self._chars[start : self._at])
            if not name:
                self._error("Empty character family", self._at)
        try:
            points = unicode_sets.named_set(
                name,
                ignore_case=JavaFlag.CASE_INSENSITIVE in self.flags,
                unicode=JavaFlag.UNICODE_CHARACTER_CLASS in self.flags,
            )
        except unicode_sets.UnknownPropertyError as cause:
            raise JavaRegexError(str(cause), self.pattern, self._original(self._at)) from cause
        except unicode_sets.MissingTableError as cause:
            way_out = r"list the ranges themselves, as in [\x{370}-\x{3ff}]"
            raise UnsupportedRegexError(
                str(cause), self.pattern, self._original(self._at), way_out
            ) from cause
        self._at += 1
        return points
