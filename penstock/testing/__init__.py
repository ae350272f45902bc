"""What connector authors test with on a real Kafka; `connect.testing` is the same in memory.

    from penstock.testing import SinkOnKafkaSuite, SourceOnKafkaSuite

The fixtures `penstock_kafka` and `penstock_worker` are there by themselves: see pytest_plugin.py.
"""

from penstock.testing.suites import SinkOnKafkaSuite, SourceOnKafkaSuite
from penstock.testing.worker import RealWorker

__all__ = ["RealWorker", "SinkOnKafkaSuite", "SourceOnKafkaSuite"]
