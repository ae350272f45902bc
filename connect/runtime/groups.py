"""Consumer groups, where librdkafka's admin client does not reach."""

from __future__ import annotations

from connect.errors import ConnectError
from connect.runtime import clients
from connect.runtime.host import resolve
from connect.runtime.spec import Member, TaskSpec


def leave_group(spec: TaskSpec, member: Member) -> None:
    """Take a member out of its group in place of a task that can't any more. Blocks."""
    from kafka.admin import KafkaAdminClient, MemberToRemove  # noqa: PLC0415 - heavy, rarely needed
    from kafka.errors import KafkaError  # noqa: PLC0415

    [config] = resolve(spec.plugins, spec.worker_config, spec.connector_config)
    try:
        admin = KafkaAdminClient(**clients.group_settings(spec.worker_config, config))
        try:
            gone = MemberToRemove(member_id=member.id, reason="its task has died")
            admin.remove_group_members(member.group, [gone])
        finally:
            admin.close()
    except KafkaError as error:
        raise ConnectError(f"{type(error).__name__}: {error}") from error
