"""What connector authors test with: harnesses that run a task in memory, and conformance suites.

    from connect.testing import SinkHarness, SinkTaskSuite, SourceHarness, SourceTaskSuite

A harness plays the worker's part: it makes the calls in the worker's order, keeps offsets, and can
crash and restart the task. A suite is a class of ready tests; inherit it, say how to make a config
and how to look at the other system, and your connector's manners are tested.
"""

from connect.testing.offsets import OffsetStore
from connect.testing.sink import SinkHarness
from connect.testing.source import SourceHarness
from connect.testing.suites import SinkTaskSuite, SourceTaskSuite

__all__ = ["OffsetStore", "SinkHarness", "SinkTaskSuite", "SourceHarness", "SourceTaskSuite"]
