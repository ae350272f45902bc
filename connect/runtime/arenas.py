"""How the C library keeps memory for threads."""

from __future__ import annotations

import contextlib
import ctypes

_M_ARENA_MAX = -8
_libc = ctypes.CDLL(None)


def use_few_arenas() -> None:
    """One pool of memory for the main thread, one for all others.

    glibc would give each thread one of its own, and an idle Kafka client has four threads. Call it
    before there are any.
    """
    with contextlib.suppress(AttributeError):  # another C library, which has no such pools
        _libc.mallopt(_M_ARENA_MAX, 2)
