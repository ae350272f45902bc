"""How Python and the C library keep memory, in processes that make records."""

from __future__ import annotations

import contextlib
import ctypes
import gc

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_KEPT_BYTES = 8 * 1024 * 1024


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


def tune_allocation() -> None:
    """How the C library keeps memory. Call it before there are threads.

    One pool for the main thread, one for all others: glibc would give each thread one of its own,
    and an idle Kafka client has four threads. And what a batch has left stays for the next one, up
    to a limit: taken from the system anew, a page at a time, it was a quarter of a source's time.
    """
    with contextlib.suppress(AttributeError):  # another C library, which has no such pools
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 2)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
