"""Replays that a worker runs, each in a process of its own: plugin code may block or crash it."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from connect.errors import ConnectError
from connect.runtime.fork_server import Forked, fork_server
from connect.runtime.host import isolate
from connect.runtime.log import set_context, set_up_logging
from connect.runtime.sink_delivery import SinkDelivery
from connect.runtime.spec import ConnectorSpec, Kind
from dlq.desk import Desk
from dlq.edit import PatchEdit, TransformEdit, edit_config
from dlq.json_patch import JsonPatch
from dlq.probe import ProbeSpec
from dlq.replay import SINK, Plan, Progress, Replay
from dlq.retest import Retest

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A plan with the configs it needs. `connector` is the one for edits and `to: sink`."""

    plan: Plan
    specs: Mapping[str, ProbeSpec] = field(repr=False)
    candidate: ProbeSpec | None = field(default=None, repr=False)
    connector: ProbeSpec | None = field(default=None, repr=False)
    only: str | None = None
    passing: bool = False
    patch: list[Any] | None = None
    edit: Mapping[str, str] | None = field(default=None, repr=False)
    seconds: float = 5.0


class Job:
    """One replay under way, or its end."""

    def __init__(self, spec: JobSpec, **desk: Any) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.plan = spec.plan
        self.progress = Progress(self.id)
        self.state = "RUNNING"
        self.error: str | None = None
        self._spec = spec
        self._desk = desk
        self._process: Forked | None = None

    @property
    def ended(self) -> bool:
        return self.state != "RUNNING"

    def start(self) -> None:
        self._process = fork_server.fork(_run, (self.id, self._spec, self._desk))
        threading.Thread(target=self._listen, name=f"replay-{self.id}", daemon=True).start()

    def stop(self) -> None:
        """End after the batch under way."""
        if self._process is not None and not self.ended:
            self._process.line.send("stop")

    def kill(self) -> None:
        if self._process is not None and not self.ended:
            self._process.kill()

    def _listen(self) -> None:
        assert self._process is not None
        try:
            while True:
                kind, told = self._process.line.recv()
                if kind == "progress":
                    self.progress = told
                elif kind == "done":
                    self.progress = told
                    self.state = "STOPPED" if told.stopped else "DONE"
                else:
                    self.error = told
                    self.state = "FAILED"
        except (EOFError, OSError):
            self._process.exit_code()
            if not self.ended:
                self.error = "The process of the replay ended. What it has not replayed is open."
                self.state = "FAILED"

    def to_json(self) -> dict[str, Any]:
        plan = msgspec.to_builtins(self.plan)
        return {
            "id": self.id,
            "state": self.state,
            "error": self.error,
            "topic": plan["topic"],
            "to": plan["to"],
            "by": plan["by"],
            "dry_run": plan["dry_run"],
            "progress": msgspec.to_builtins(self.progress),
        }


def _run(line: Connection, job: tuple[str, JobSpec, Mapping[str, Any]]) -> None:
    isolate()
    number, spec, desk = job
    worker = next(iter(spec.specs.values())).worker if spec.specs else {}
    set_up_logging(worker)
    set_context(f"[replay {number}] ")
    try:
        done = _replay(line, number, spec, desk)
    except Exception as error:
        if not isinstance(error, ConnectError):
            log.error("The replay failed", exc_info=error)  # noqa: TRY400 - the trace is wanted
        line.send(("failed", str(error)))
    else:
        line.send(("done", done))


def _replay(line: Connection, id: str, spec: JobSpec, desk: Mapping[str, Any]) -> Progress:
    folder: Path | None = desk["folder"]
    with ExitStack() as parts:
        more: dict[str, Any] = {}
        if spec.passing:
            retest = Retest(
                spec.specs, candidate=spec.candidate, only=spec.only, seconds=spec.seconds
            )
            more["test"] = parts.enter_context(retest).test
        if spec.patch is not None:
            more["edit"] = PatchEdit(JsonPatch(spec.patch))
        own = spec.connector
        if own is not None and spec.edit is not None:
            changed = msgspec.structs.replace(own, config=edit_config(own.config, dict(spec.edit)))
            more["edit"] = TransformEdit(changed.pipeline_spec())
        if own is not None and spec.plan.to == SINK:
            more["connector"], more["config"] = own.connector, own.config
            if not spec.plan.dry_run:
                sink = ConnectorSpec(own.connector, Kind.SINK, own.config, own.worker, own.plugins)
                more["delivery"] = parts.enter_context(SinkDelivery(sink))
        job = Replay(
            Desk(
                desk["settings"],
                folder=folder,
                state_topic=desk["state_topic"],
                replication_factor=desk["replication_factor"],
            ),
            spec.plan,
            on_progress=lambda progress: line.send(("progress", progress)),
            id=id,
            **more,
        )
        threading.Thread(target=_obey, args=(line, job), daemon=True).start()
        return job.run()


def _obey(line: Connection, job: Replay) -> None:
    with contextlib.suppress(EOFError, OSError):  # the worker is gone, and this process with it
        line.recv()
    job.stop()
