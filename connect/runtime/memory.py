"""How Python and the C library keep memory, in processes that make records."""

from __future__ import annotations

import contextlib
import ctypes
import gc

_M_ARENA_MAX = -8


def tune_garbage_collection() -> None:
    """Make the cycle collector rare.

    A batch is some ten thousand dicts and records without cycles, which counting references frees
    anyway; at the default thresholds the collector walks them again and again, and took a third
    of a sink's time. What is loaded by now stays, so it need never be looked at.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def give_back() -> None:
    """Return to the system what was needed to start alone."""
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def use_few_arenas() -> None:
    """One pool of memory for the main thread, one for all others.

    glibc would give each thread one of its own, and an idle Kafka client has four threads. Call it
    before there are any.
    """
    with contextlib.suppress(AttributeError):  # another C library, which has no such pools
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
