"""Java's regular expressions in transform configs."""

from __future__ import annotations

from typing import Any, TypeVar

from connect import ConfigError
from connect.javalang.regex import JavaRegexError, UnsupportedRegexError, compile_java

T = TypeVar("T")

# Answers are kept for so many topics. Routing by content can make up topics without end.
MAX_ANSWERS = 10_000


def valid_regex(name: str, value: Any) -> None:
    """A pattern that Java accepts and that can be run here."""
    if value is None:
        return
    try:
        compile_java(value)
    except (JavaRegexError, UnsupportedRegexError) as error:
        raise ConfigError(name, value, f"Invalid regex: {error}") from error


def remember(answers: dict[str, T], topic: str, answer: T) -> T:
    """Keep the answer for a topic, so that the pattern runs once a topic and not once a record."""
    if len(answers) >= MAX_ANSWERS:
        answers.clear()
    answers[topic] = answer
    return answer
