"""Fingerprints: the same for causes that differ only in the values they name."""

from __future__ import annotations

import functools
import re
from hashlib import blake2b

# A message may quote a whole record; what tells causes apart comes first.
_LONGEST = 1000

# Quoted text; an apostrophe within a word opens nothing. UUIDs. Then every word with a digit in
# it and what hangs on to it: numbers, offsets, dates, addresses, identifiers.
_VARYING = re.compile(
    r"""
      "(?:[^"\\]|\\.)*"
    | (?<!\w)'(?:[^'\\]|\\.)*'(?!\w)
    | `[^`]*`
    | \b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b
    | (?<!\w)[^\W\d]*\d(?:[\w.:@+/-]*\w)?
    """,
    re.VERBOSE,
)
_SPACES = re.compile(r"\s+")
_CAUSED_BY = b"Caused by: "
_SAME_DIGIT = bytes.maketrans(b"123456789", b"000000000")


def normalised(text: str) -> str:
    """The text with everything that varies from record to record replaced by `?`."""
    text = _VARYING.sub("?", text[:_LONGEST])
    # A quotation that was cut off, or never closed, varies to its end.
    for quote in ('"', "`"):
        if quote in text:
            text = text[: text.index(quote)] + "?"
    return _SPACES.sub(" ", text).strip()


def innermost(trace: bytes) -> bytes:
    """The first line of the last `Caused by` of a trace; empty if it has none."""
    at = trace.rfind(_CAUSED_BY)
    if at < 0:
        return b""
    start = at + len(_CAUSED_BY)
    end = trace.find(b"\n", start)
    return trace[start : end if end >= 0 else len(trace)].rstrip()


def template(message: bytes | None, trace: bytes | None) -> tuple[bytes, bytes]:
    """Message and innermost cause, with all digits alike: enough to find a known reason again."""
    said = message[:_LONGEST].translate(_SAME_DIGIT) if message else b""
    root = innermost(trace)[:_LONGEST].translate(_SAME_DIGIT) if trace else b""
    return said, root


@functools.lru_cache(maxsize=1000)
def reason(said: bytes, root: bytes) -> str:
    """What letters of a group have in common: message and innermost cause, normalised."""
    message = normalised(said.decode("utf-8", "replace"))
    caused = normalised(root.decode("utf-8", "replace"))
    # Many wrappers repeat what they wrap.
    if not caused or message.endswith(caused.partition(": ")[2] or caused):
        return message
    return f"{message} ← {caused}" if message else caused


def fingerprint(stage: str | None, exception: str | None, reason: str) -> str:
    """Twelve hexadecimal digits for a cause."""
    whole = f"{stage or ''}\0{exception or ''}\0{reason}"
    return blake2b(whole.encode(), digest_size=6).hexdigest()
