"""The inside of a task's process: set up, run the loop, report, clean up."""

from __future__ import annotations

import ctypes
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from connect.config.connector import framework_settings
from connect.errors import ConnectError
from connect.pipeline import ErrorCounts, PipelineSpec, SinkPipeline, SourcePipeline
from connect.plugin import Connector, ExternalSinkTask, Partition, SinkTask, SourceTask
from connect.plugins import PluginInfo, Plugins
from connect.plugins.registry import load_plugin
from connect.runtime import clients
from connect.runtime.control import Control
from connect.runtime.exactly_once import ExactlyOnceLoop, SourceOffsets, TransactionRequests
from connect.runtime.external import ExternalContext, supervise
from connect.runtime.fork_server import name_process
from connect.runtime.group_commit import GroupCommitLoop, wants_to_hear
from connect.runtime.limits import Limits, resident_bytes
from connect.runtime.log import set_process_context, set_up_logging
from connect.runtime.measures import Window, sink_gauges
from connect.runtime.memory import tune_garbage_collection
from connect.runtime.offset_topics import own_offsets_topic
from connect.runtime.sink import SinkLoop
from connect.runtime.sink_context import SinkContext
from connect.runtime.source import SourceContext, SourceLoop
from connect.runtime.spec import (
    Failed,
    Kind,
    Left,
    Member,
    Metrics,
    Paused,
    Resumed,
    Started,
    TaskSpec,
    TopicsUsed,
)
from connect.runtime.tolerance import Tolerance
from connect.runtime.topics import SourceTopics
from connect.traces import format_trace
from dlq.reporter import DeadLetters, ensure_topic

log = logging.getLogger(__name__)

METRICS_SECONDS = 1.0
# Just less than librdkafka waits for an answer when it leaves a group.
LEAVE_SECONDS = 4.5
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def isolate() -> None:
    """Make this process one that dies with its parent and leaves signals to the worker.

    A service manager may send SIGTERM to all processes of a service. A task then goes on until the
    worker tells it to stop, which it does in good order.
    """
    # A session of its own: what a plugin starts can be ended together with it.
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)  # not ignored: what a plugin runs would inherit
    if sys.platform == "linux":
        # Even a task stuck in C code, which can't see the closed line, goes with its worker.
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # What a plugin prints belongs to the log, not to the worker's standard output.
    os.dup2(2, 1)


def run_task(line: Connection, spec: TaskSpec) -> None:
    """Run one task until it is told to stop. The process's main function."""
    name_process(str(spec))
    isolate()
    set_up_logging(spec.worker_config, spec.log_levels)
    set_process_context(f"[{spec.connector}|task-{spec.task}] ", spec.connector)
    control = Control(line, paused=spec.paused)
    tune_garbage_collection()
    run_host(spec, control, limited=True)


def run_host(
    spec: TaskSpec, control: Control, *, limited: bool, metrics_seconds: float = METRICS_SECONDS
) -> None:
    """Run one task in this thread and tell the worker if it fails."""
    host = None
    try:
        host = Host(spec, control, limited=limited, metrics_seconds=metrics_seconds)
        host.run()
    except BaseException as raised:  # whatever it was, the worker must learn it
        error = raised if host is None else host.limits.explain(raised)
        log.error("Task failed: %s", error, exc_info=error)  # noqa: TRY400 - one level up
        control.tell(Failed(format_trace(error)))


def resolve(
    plugins: Plugins, worker: Mapping[str, str], *configs: Mapping[str, str]
) -> list[dict[str, str]]:
    """Configs with `${provider:…}` looked up by the worker's providers."""
    providers = plugins.providers(worker)
    try:
        return [
            {k: v for k, v in providers.resolve(config).values.items() if v is not None}
            for config in configs
        ]
    finally:
        providers.close()


def find_connector(plugins: Plugins, kind: Kind, config: Mapping[str, str]) -> PluginInfo:
    """The connector class that a config names."""
    return plugins.find(
        kind.plugin_type, config["connector.class"], config.get("connector.plugin.version")
    )


class Host:
    """One task with everything around it: its loop, pipeline, clients and limits."""

    def __init__(
        self, spec: TaskSpec, control: Control, *, limited: bool, metrics_seconds: float
    ) -> None:
        self._spec = spec
        self._control = control
        self._connector_config, self._config = resolve(
            spec.plugins, spec.worker_config, spec.connector_config, spec.task_config
        )
        self._worker = spec.worker_config
        self._settings = framework_settings(self._connector_config, is_sink=spec.kind is Kind.SINK)
        # A thread can't be ended, and its memory is not its own.
        self.limits = Limits(
            self._limit("task.memory.max") if limited else None,
            self._limit("task.call.timeout.ms") if limited else None,
            lambda reason: control.tell(Failed(reason)),
        )
        self._metrics_seconds = metrics_seconds
        self._counts = ErrorCounts()
        self._pipeline_spec = PipelineSpec(
            spec.connector, spec.task, self._connector_config, self._worker, spec.plugins
        )

    def run(self) -> None:
        info = find_connector(self._spec.plugins, self._spec.kind, self._connector_config)
        connector: type[Connector] = load_plugin(info)
        version = info.version
        task = connector.task_class()
        config = connector.config_def.parse(self._config)
        if isinstance(task, SinkTask):
            self._run_sink(task, config, version)
        elif isinstance(task, SourceTask):
            self._run_source(task, config, version)
        elif isinstance(task, ExternalSinkTask):
            self._run_external(task, config, version)
        else:
            raise ConnectError(
                f"{type(task).__qualname__}, the task_class of {connector.__qualname__}, "
                "extends neither SourceTask, SinkTask nor ExternalSinkTask"
            )

    # -- sink -------------------------------------------------------------------------------

    def _run_sink(self, task: SinkTask, config: Any, version: str | None) -> None:
        name, number = self._spec.connector, self._spec.task
        tolerance = self._tolerance()
        pipeline = SinkPipeline(
            self._pipeline_spec, self._pipeline_spec.retry(self._control.wait, self._counts)
        )
        context = SinkContext(self._config)
        task.context = context
        group = clients.sink_group(name, self._worker, self._connector_config)
        consumer = clients.sink_consumer(name, number, self._worker, self._connector_config)
        loop = SinkLoop(
            name=str(self._spec),
            task=task,
            context=context,
            consumer=consumer,
            pipeline=pipeline,
            tolerance=tolerance,
            control=self._control,
            config=self._connector_config,
            commit_before_put=self._settings["delivery.guarantee"] == "at_most_once",
            commit_interval=self._seconds("offset.flush.interval.ms", 60_000),
            batch=clients.batch_limit(self._worker, self._connector_config),
            cooperative=clients.rebalances_cooperatively(self._worker, self._connector_config),
            on_state=self._show_paused,
            on_topics=self._show_topics,
            on_member=partial(self._show_member, group),
        )
        try:
            task.start(config)
            self.limits.watch(lambda: loop.busy_since)
            self._begin(version, tolerance.letters, lambda: _sink_metrics(loop, pipeline))
            loop.run()
            loop.finish()
        except BaseException:
            _quietly(loop.close_after_failure)
            raise
        finally:
            _quietly(task.stop)
            _quietly(pipeline.close)
            _quietly(tolerance.close)
            _quietly(partial(self._leave, consumer))

    def _leave(self, consumer: Consumer) -> None:
        began = time.monotonic()
        consumer.close()
        # A group that is just meeting answers nothing else: librdkafka gives up, and the worker
        # has to take the member out.
        if time.monotonic() - began < LEAVE_SECONDS:
            self._control.tell(Left())

    def _tolerance(self) -> Tolerance:
        return Tolerance(str(self._spec), self._settings, self._counts, self._dead_letters())

    def _dead_letters(self) -> DeadLetters | None:
        config, settings = self._connector_config, self._settings
        topic = settings["errors.deadletterqueue.topic.name"].strip()
        if not topic:
            return None
        name, number = self._spec.connector, self._spec.task
        ensure_topic(
            self._admin(), topic, settings["errors.deadletterqueue.topic.replication.factor"]
        )
        return DeadLetters(
            partial(clients.dlq_producer, name, number, self._worker, config),
            topic,
            name,
            number,
            with_headers=settings["errors.deadletterqueue.context.headers.enable"],
        )

    def _admin(self) -> AdminClient:
        client = f"connector-adminclient-{self._spec}"
        return clients.admin_client(client, self._worker, self._connector_config)

    # -- external sink ----------------------------------------------------------------------

    def _run_external(self, task: ExternalSinkTask, config: Any, version: str | None) -> None:
        task.context = ExternalContext(self._pipeline_spec)
        try:
            task.start(config)
            if not self._control.paused:
                task.resume()
            self._begin(version, None, lambda: dict(task.metrics()))
            supervise(task, self._control, self._show_paused)
        finally:
            _quietly(task.stop)

    # -- source -----------------------------------------------------------------------------

    def _run_source(self, task: SourceTask, config: Any, version: str | None) -> None:
        store = _WorkerOffsets(self._control, self._spec)
        context = SourceContext(self._config, store)
        task.context = context
        creates = self._worker.get("topic.creation.enable", "true").strip().lower() == "true"
        with ExitStack() as made:
            tolerance = self._tolerance()
            made.callback(_quietly, tolerance.close)
            pipeline = SourcePipeline(
                self._pipeline_spec, self._pipeline_spec.retry(self._control.wait, self._counts)
            )
            made.callback(_quietly, pipeline.close)
            loop = self._source_loop(
                context,
                task=task,
                pipeline=pipeline,
                tolerance=tolerance,
                control=self._control,
                store=store,
                topics=SourceTopics(self._connector_config if creates else {}, self._admin),
                commit_interval=self._seconds("offset.flush.interval.ms", 60_000),
                commit_timeout=self._seconds("offset.flush.timeout.ms", 5_000),
                on_state=self._show_paused,
                on_topics=self._show_topics,
            )
            try:
                self._take_over(loop)
                made.callback(_quietly, task.stop)
                task.start(config)
                self.limits.watch(lambda: loop.busy_since)
                self._begin(version, tolerance.letters, lambda: _source_metrics(loop, pipeline))
                loop.run()
                loop.finish()
            except BaseException:
                _quietly(loop.abandon)
                raise

    def _source_loop(self, context: SourceContext, **common: Any) -> SourceLoop:
        where = (self._spec.connector, self._spec.task, self._worker, self._connector_config)
        common["most_bytes"] = clients.batch_bytes(*where)
        transactions = self._spec.transactions
        if transactions is None:
            return SourceLoop(
                make_producer=partial(clients.source_producer, *where),
                express=clients.express_terms(*where),
                **common,
            )
        boundary = self._settings["transaction.boundary"].lower()
        requests = TransactionRequests() if boundary == "connector" else None
        context.transaction = requests
        interval = self._settings["transaction.boundary.interval.ms"]
        own = own_offsets_topic(self._worker, self._connector_config)
        store: _WorkerOffsets = common["store"]
        common |= {
            "make_producer": partial(
                clients.exactly_once_producer, *where, transactional_id=transactions.id
            ),
            "offsets_topic": transactions.offsets_topic if own is None else own.name,
            "encode_offsets": store.records_of,
            "copy_offsets": None if own is None else store.copy,
        }
        if boundary == "poll" and not wants_to_hear(common["task"]):
            short_way = clients.express_transactions(*where, transactional_id=transactions.id)
            return GroupCommitLoop(short_way=short_way, **common)
        seconds = common["commit_interval"] if interval is None else interval / 1000
        return ExactlyOnceLoop(
            requests=requests, interval=seconds if boundary == "interval" else None, **common
        )

    def _take_over(self, loop: SourceLoop) -> None:
        if isinstance(loop, ExactlyOnceLoop):
            loop.take_over()
            # Only now is it certain that no older task of this id writes: is this one still wanted?
            self._control.ask("may_start", self._spec)

    # -- telling the worker -----------------------------------------------------------------

    def _begin(
        self,
        version: str | None,
        letters: DeadLetters | None,
        measure: Callable[[], dict[str, float]],
    ) -> None:
        self._control.tell(Started(self._control.paused, version))
        log.info("Task started in process %d", os.getpid())
        threading.Thread(
            target=self._send_metrics, args=(letters, measure), name="metrics", daemon=True
        ).start()

    def _send_metrics(
        self, letters: DeadLetters | None, measure: Callable[[], dict[str, float]]
    ) -> None:
        last: dict[str, float] = {}
        window = Window()
        while not self._control.wait(self._metrics_seconds):
            counted = measure()
            values = {
                **counted,
                **window.derived(counted, paused=self._control.paused),
                "error_failures": self._counts.failures,
                "error_errors": self._counts.errors,
                "error_skipped": self._counts.skipped,
                "error_retries": self._counts.retries,
                "error_logged": self._counts.logged,
                "error_last_ms": self._counts.last_error_ms,
                # In whole megabytes, so that an idle task has nothing new to say.
                "memory_bytes": resident_bytes() >> 20 << 20,
            }
            if letters is not None:
                values |= {"dlq_requests": letters.requests, "dlq_failures": letters.failures}
            if values != last:
                last = values
                cpu = time.process_time()
                self._control.tell(Metrics({**values, "cpu_seconds": cpu}))

    def _show_paused(self, paused: bool) -> None:
        self._control.tell(Paused() if paused else Resumed())

    def _show_topics(self, topics: set[str]) -> None:
        self._control.tell(TopicsUsed(tuple(sorted(topics))))

    def _show_member(self, group: str, member: str) -> None:
        self._control.tell(Member(group, member))

    def _limit(self, key: str) -> int | None:
        """A limit of the connector, or of the worker for all of its connectors."""
        own: int | None = self._settings[key]
        general = self._worker.get(key)
        return own if own is not None or general is None else int(general)

    def _seconds(self, key: str, default_ms: int) -> float:
        return int(self._worker.get(key, default_ms)) / 1000


class _WorkerOffsets:
    """Source offsets that the worker keeps for its tasks."""

    def __init__(self, control: Control, spec: TaskSpec) -> None:
        self._ask = control.ask
        self._connector = spec.connector
        # It says in which topic they are. As this task runs by it: there may be a newer one.
        self._config = dict(spec.connector_config)

    def read(self, partitions: list[Partition]) -> list[dict[str, Any] | None]:
        found: list[dict[str, Any] | None] = self._ask(
            "read_offsets", self._connector, self._config, [dict(p) for p in partitions]
        )
        return found

    def write(self, offsets: SourceOffsets) -> None:
        self._ask("write_offsets", self._connector, self._config, offsets)

    def records_of(self, offsets: SourceOffsets) -> list[tuple[bytes, bytes | None]]:
        """The records that store offsets."""
        records: list[tuple[bytes, bytes | None]] = self._ask(
            "offset_records", self._connector, self._config, offsets
        )
        return records

    def copy(self, offsets: SourceOffsets) -> None:
        self._ask("copy_offsets", self._connector, offsets)


def _sink_metrics(loop: SinkLoop, pipeline: SinkPipeline) -> dict[str, float]:
    return (
        {f"sink_{k}": v for k, v in _taken(loop.counts).items()}
        | sink_gauges(loop)
        | _stage_seconds(pipeline)
    )


def _source_metrics(loop: SourceLoop, pipeline: SourcePipeline) -> dict[str, float]:
    return (
        {f"source_{k}": v for k, v in _taken(loop.counts).items()}
        | {"source_active": loop.active}
        | _stage_seconds(pipeline)
    )


def _taken(counts: dict[str, Any]) -> dict[str, float]:
    """What was counted; maxima and minima begin anew."""
    values = dict(counts)
    counts.update({key: 0 for key in values if key.endswith("_max")})
    counts.update({key: math.inf for key in values if key.endswith("_min")})
    return values


def _stage_seconds(pipeline: SinkPipeline | SourcePipeline) -> dict[str, float]:
    parts = pipeline.parts
    seconds = {
        "stage_seconds:key_converter": parts.key.seconds,
        "stage_seconds:value_converter": parts.value.seconds,
        "stage_seconds:header_converter": parts.header.seconds,
    }
    return seconds | {f"stage_seconds:transform:{s.alias}": s.seconds for s in parts.chain.steps}


def _quietly(step: Callable[[], Any]) -> None:
    """Run a step of the clean-up; its error must not hide the one that led here."""
    try:
        step()
    except Exception:
        log.exception("Clean-up failed")
