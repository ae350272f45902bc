"""The loop of a sink task whose records are read elsewhere: watch, pause, resume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from connect.pipeline import PipelineSpec
from connect.plugin import ExternalSinkTask
from connect.runtime.control import Control

CHECK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ExternalContext:
    """The ExternalTaskContext."""

    pipeline: PipelineSpec


def supervise(task: ExternalSinkTask, control: Control, on_state: Callable[[bool], None]) -> None:
    """Look after a task's work until it is told to stop. The task has begun, or is paused."""
    paused = control.paused
    while not control.wait(CHECK_SECONDS):
        if control.paused != paused:
            paused = control.paused
            if paused:
                task.pause()
            else:
                task.resume()
            on_state(paused)
        elif not paused:
            task.check()
