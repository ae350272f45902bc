"""How Python and the C library keep memory, in processes that make records."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Collection, Iterator
from types import CodeType
from typing import Any

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_KEPT_BYTES = 8 * 1024 * 1024
# Since 3.14 a flag tells, beside the count, that an object is not counted. References taken before
# it was set are still given up one by one, so the count has some to spare.
_FLAGS_AT, _NOT_COUNTED = 6, 1
_SPARE = 1 << 29
# Sizes of gaps: in the C library's memory, and in Python's for small objects. That has pools, each
# for one size and with a head; another one is begun when all of that size are full.
_GAPS = (*range(64 * 1024, 1024, -1024), *range(1024, 0, -16))
_SMALL_GAPS = range(16, 512 + 16, 16)
_POOL, _POOL_HEAD = 16 * 1024, 48
_FILLED_BYTES = 64 * 1024  # of each size, at most: should a Python have other pools, that is all
_AT_ONCE = 1000  # of all objects; what looking at more needs would stay with the process
_PARTS_OF_CODE = (
    "co_consts", "co_names", "co_name", "co_qualname", "co_filename",
    "co_linetable", "co_exceptiontable",
)  # fmt: skip


def tune_garbage_collection() -> None:
    """Make the cycle collector rare.

    A batch is some ten thousand dicts and records without cycles, which counting references frees
    anyway; at the default thresholds the collector walks them again and again, and took a third
    of a sink's time. What is loaded by now stays, so it need never be looked at.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def share() -> None:
    """Leave what is loaded by now as it is, so that processes forked from this one share it.

    A page of memory that is written to is shared no more, and Python writes to an object whenever
    it is looked at: so does the cycle collector, which is told to leave them alone, and so does the
    count of references. Python 3.12 and later have objects that live for ever and are not counted;
    None is one. Here everything becomes one, and a task has half as much memory of its own.

    What a process makes is written to as well. So nothing is left free among what is shared.
    """
    gc.collect()
    if stays_shared():
        count = _count(None).value | _SPARE
        flag = _flags(None).value & _NOT_COUNTED
        for each in _everything():
            _count(each).value = count
            if flag:
                _flags(each).value |= flag
    _fill_gaps()
    gc.freeze()


def stays_shared() -> bool:
    """Whether an object can be told not to be counted, as in Python 3.12 and later."""
    if sys.implementation.name != "cpython":
        return False
    thing = object()
    counts = _count(thing).value, _count(None).value
    references = [thing, None]
    counted = _count(thing).value, _count(None).value
    del references
    return counted == (counts[0] + 1, counts[1])


def _count(thing: object) -> ctypes.c_uint32:
    """The count of its references, or what says that there is none."""
    return ctypes.c_uint32.from_address(id(thing))


def _flags(thing: object) -> ctypes.c_uint16:
    """Flags of Python 3.14 and later; zero before."""
    return ctypes.c_uint16.from_address(id(thing) + _FLAGS_AT)


def _everything() -> Iterator[Any]:
    """All objects that others refer to, many of them more than once."""
    known = gc.get_objects()
    for start in range(0, len(known), _AT_ONCE):
        found: Collection[Any] = known[start : start + _AT_ONCE]
        while found:
            yield from found
            held = gc.get_referents(*found)
            for each in found:
                if isinstance(each, CodeType):  # of which the collector knows nothing
                    held += [getattr(each, part) for part in _PARTS_OF_CODE]
            found = {id(each): each for each in held if not gc.is_tracked(each)}.values()


def _fill_gaps() -> None:
    """Take what is free between the things in memory, for good.

    Importing leaves gaps, compiling many. A process that is forked would fill them with what it
    makes, a few bytes on each of hundreds of pages. Now that lies together, on pages of its own.
    """
    with contextlib.suppress(AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.malloc.restype = libc.sbrk.restype = ctypes.c_size_t
        libc.free.argtypes = [ctypes.c_size_t]
        libc.malloc_trim(0)
        end = libc.sbrk(0)
        for size in _GAPS:
            while 0 < (taken := libc.malloc(size)) < end:
                pass
            libc.free(taken)
    with contextlib.suppress(AttributeError):  # another Python
        take = ctypes.PyDLL(None).PyObject_Malloc
        take.restype = ctypes.c_size_t
        for size in _SMALL_GAPS:
            for _ in range(_FILLED_BYTES // size):
                if take(size) % _POOL == _POOL_HEAD:
                    break


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
