"""What can be wrong with a Java-flavoured text.

ValueError
├── JavaRegexError            java.util.regex would refuse the pattern too
├── UnsupportedRegexError     Java knows the construct, Python's re cannot express it
├── ReplacementError          a replacement text refers to a group that is not there
├── DatePatternError          SimpleDateFormat would refuse the pattern too
├── UnparseableDateError      the text does not match the date pattern
├── JavaNumberFormatError     Java's valueOf would refuse the text too
└── PropertiesError           a properties file cannot be read
"""


class JavaRegexError(ValueError):
    """A pattern that Java refuses. The text is what PatternSyntaxException would say."""

    def __init__(self, description: str, pattern: str, index: int = -1) -> None:
        self.description = description
        self.pattern = pattern
        self.index = index
        text = description
        if index >= 0:
            text += f" near index {index}"
        text += "\n" + pattern
        if 0 <= index < len(pattern):
            text += "\n" + " " * index + "^"
        super().__init__(text)


class UnsupportedRegexError(ValueError):
    """A pattern that is right in Java and out of reach here."""

    def __init__(self, construct: str, pattern: str, index: int, way_out: str) -> None:
        self.construct = construct
        self.pattern = pattern
        self.index = index
        super().__init__(
            f"{construct} at index {index} of the regex '{pattern}' is not supported: {way_out}"
        )


class ReplacementError(ValueError):
    """A replacement such as `$9` for a pattern with one group, in Java's words."""


class DatePatternError(ValueError):
    """A date pattern that Java refuses, in Java's words."""


class UnparseableDateError(ValueError):
    """A text that a date pattern does not match. offset is where matching stopped."""

    def __init__(self, text: str, offset: int) -> None:
        self.text = text
        self.offset = offset
        super().__init__(f'Unparseable date: "{text}"')


class JavaNumberFormatError(ValueError):
    """A text that is no number to Java, in the words of NumberFormatException."""


class PropertiesError(ValueError):
    """A properties file that cannot be read. The text names the file and, if any, the line."""
