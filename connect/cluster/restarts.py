"""Which parts of a connector a restart request touches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from connect.cluster.herder import ConnectorStatus, State, Status


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """The instance, the tasks, and the status as the request's answer shows it."""

    connector: bool
    tasks: list[int]
    status: ConnectorStatus


def plan_restart(status: ConnectorStatus, *, include_tasks: bool, only_failed: bool) -> RestartPlan:
    """What to restart. What is to restart is shown as RESTARTING, the rest as it is."""

    def chosen(state: State) -> bool:
        return state is State.FAILED or not only_failed

    connector = chosen(status.connector.state)
    tasks = [n for n, s in status.tasks.items() if include_tasks and chosen(s.state)]
    shown = replace(
        status,
        connector=_restarting(status.connector) if connector else status.connector,
        tasks={n: _restarting(s) if n in tasks else s for n, s in status.tasks.items()},
    )
    return RestartPlan(connector, tasks, shown)


def _restarting(status: Status) -> Status:
    return replace(status, state=State.RESTARTING, trace=None)
