"""The compiled record pipeline. Knows no Kafka and no Spark; a worker and Spark both run it."""

from connect.pipeline.assembly import PipelineSpec
from connect.pipeline.failures import ErrorCounts, Failure, Interrupted, RawMessage, Retry, Stage
from connect.pipeline.sink import SinkPipeline
from connect.pipeline.source import Outgoing, SourcePipeline
from connect.pipeline.trace import dry_run

__all__ = [
    "ErrorCounts",
    "Failure",
    "Interrupted",
    "Outgoing",
    "PipelineSpec",
    "RawMessage",
    "Retry",
    "SinkPipeline",
    "SourcePipeline",
    "Stage",
    "dry_run",
]
