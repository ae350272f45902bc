"""Python's cycle collector, in processes that make records."""

from __future__ import annotations

import gc


def tune_garbage_collection() -> None:
    """Make the cycle collector rare.

    A batch is some ten thousand dicts and records without cycles, which counting references frees
    anyway; at the default thresholds the collector walks them again and again, and took a third
    of a sink's time. What is loaded by now stays, so it need never be looked at.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
