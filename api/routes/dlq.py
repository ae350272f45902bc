"""Dead letters: seen, tested, replayed, dismissed. docs/dlq.md has the words."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from api import models
from api.answers import JsonResponse
from api.dlq_jobs import JobSpec
from api.dlq_room import DeadLetterRoom
from api.routing import Body, TheCaller, caller_of, documented, router
from api.security.roles import Role
from connect.cluster.herder import BadRequestError
from connect.errors import NotFoundError
from dlq.probe import Outcome, grouped
from dlq.reader import Place
from dlq.replay import SINK, Plan, parse_target
from dlq.retest import Retest
from dlq.selection import Selection, State, parse_place, parse_states, parse_time
from dlq.showing import letter_document

routes = router("dead letters")

_UNKNOWN = {"model": models.Error, "description": "No such topic, letter or replay"}
_MOST_LISTED = 10_000
_TESTED_BY_DEFAULT = 10_000
_STATES = "`open`, `replayed`, `dismissed` (with commas), or `all`"


def _room_of(request: Request) -> DeadLetterRoom:
    room: DeadLetterRoom = request.app.state.dlq
    return room


Room = Annotated[DeadLetterRoom, Depends(_room_of)]


class Select(BaseModel):
    """Which letters are meant: all that meet every filter."""

    model_config = ConfigDict(extra="forbid")

    connector: str | None = None
    stage: str | None = Field(default=None, examples=["VALUE_CONVERTER"])
    exception: str | None = Field(default=None, description="A class, or the end of its name")
    source_topic: str | None = None
    fingerprint: str | None = Field(default=None, description="Its beginning will do")
    since: str | None = Field(default=None, examples=["2h"], description="Ago, or a date")
    until: str | None = None
    state: str | None = Field(default=None, description=_STATES)
    limit: int | None = Field(default=None, ge=1)
    letters: list[str] | None = Field(
        default=None,
        examples=[["0/1234", "1/5-9"]],
        description="partition/offset[-to]",
    )

    def selection(self, topic: str, states: str) -> Selection:
        spans = [parse_place(f"{topic}/{place}")[1] for place in self.letters or ()]
        return Selection(
            connector=self.connector,
            stage=self.stage,
            exception=self.exception,
            source_topic=self.source_topic,
            fingerprint=self.fingerprint,
            since_ms=parse_time(self.since) if self.since else None,
            until_ms=parse_time(self.until) if self.until else None,
            states=parse_states(self.state or states),
            spans=tuple(span for span in spans if span is not None),
            limit=self.limit,
        )


class TestRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    select: Select = Select()
    config: dict[str, str] | None = Field(default=None, description="A candidate")
    timeout_ms: int = Field(default=5000, ge=10, description="What one record may take")


class MarkRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    select: Select
    by: str | None = None
    note: str | None = None


class ReplayRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    select: Select
    to: str = Field(default="original", description="`original`, `sink` or `topic:NAME`")
    passing: bool = Field(default=False, description="Only letters that pass the re-test")
    config: dict[str, str] | None = Field(default=None, description="A candidate for the re-test")
    timeout_ms: int = Field(default=5000, ge=10)
    patch: list[Any] | None = Field(default=None, description="A JSON Patch of values")
    edit: dict[str, str] | None = Field(default=None, description="`transforms.*` to apply")
    dry_run: bool = False
    rate: float | None = Field(default=None, gt=0, description="Records a second")
    max_attempts: int = Field(default=3, ge=1)
    by: str | None = None
    note: str | None = None


M = TypeVar("M", bound=BaseModel)


def _parse(model: type[M], body: bytes) -> M:
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors())
        raise BadRequestError("; ".join(problems)) from error


@routes.get("/dlq", summary="The dead-letter topics of all connectors")
async def topics(room: Room, caller: TheCaller) -> Response:
    seen = {
        topic: users
        for topic, users in (await room.topics()).items()
        if all(caller.may(Role.READ, user) for user in users)
    }
    found = await room.call(room.desk.summaries, seen)
    return JsonResponse(msgspec.to_builtins(found))


@routes.get("/dlq/replays", summary="Replays of this worker")
async def replays(room: Room, caller: TheCaller) -> Response:
    users = await room.topics()
    return JsonResponse(
        [
            job.to_json()
            for job in room.jobs()
            if all(caller.may(Role.READ, user) for user in users.get(job.plan.topic, [None]))
        ]
    )


@routes.get("/dlq/replays/{id:segment}", summary="How far a replay is", responses={404: _UNKNOWN})
async def replay_status(id: str, room: Room) -> Response:
    return JsonResponse(room.job(id).to_json())


@routes.delete(
    "/dlq/replays/{id:segment}",
    summary="Stop a replay after the batch under way; what is left stays open",
    status_code=202,
    responses={404: _UNKNOWN},
)
async def stop_replay(id: str, room: Room) -> Response:
    job = room.job(id)
    job.stop()
    return JsonResponse(job.to_json(), 202)


@routes.get(
    "/dlq/{topic:segment}/stats",
    summary="Letters grouped by cause, with counts over time",
    responses={404: _UNKNOWN},
)
async def stats(topic: str, room: Room, select: Annotated[Select, Query()]) -> Response:
    selection = select.selection(await room.checked(topic), "open")
    return JsonResponse(msgspec.to_builtins(await room.call(room.desk.stats, topic, selection)))


@routes.get(
    "/dlq/{topic:segment}/letters",
    summary="Letters, the newest first; 100 unless `limit` says otherwise",
    responses={404: _UNKNOWN},
)
async def letters(topic: str, room: Room, select: Annotated[Select, Query()]) -> Response:
    selection = select.selection(await room.checked(topic), "open")
    limit = min(selection.limit or 100, _MOST_LISTED)
    selection = msgspec.structs.replace(selection, limit=limit)
    rows = await room.call(room.desk.rows, topic, selection)
    return JsonResponse(msgspec.to_builtins(rows))


@routes.get(
    "/dlq/{topic:segment}/letters/{partition:int}/{offset:int}",
    summary="One letter with everything in it, decoded as far as the converters get",
    responses={404: _UNKNOWN},
)
async def letter(topic: str, partition: int, offset: int, room: Room) -> Response:
    await room.checked(topic)
    found, mark = await room.call(room.desk.letter, topic, Place(partition, offset))
    with await room.retest(topic) as retest:
        decoded = await room.call(retest.decode, found)
    return JsonResponse(letter_document(found, mark, decoded, room.mask))


@routes.post(
    "/dlq/{topic:segment}/test",
    summary="Which letters would pass converters and transforms now; writes nothing",
    responses={404: _UNKNOWN},
    openapi_extra=documented(TestRequest),
)
async def test(topic: str, room: Room, caller: TheCaller, body: Body) -> Response:
    wanted = _parse(TestRequest, body)
    if wanted.config is not None:
        caller.require_somewhere(Role.ADMIN)  # it is run
    selection = wanted.select.selection(await room.checked(topic), "open")
    if selection.limit is None:
        selection = msgspec.structs.replace(selection, limit=_TESTED_BY_DEFAULT)
    with await room.retest(topic, wanted.config, wanted.timeout_ms / 1000) as retest:
        counts = await room.call(_test, room, topic, selection, retest)
    return JsonResponse([{**msgspec.to_builtins(o), "count": n} for o, n in counts.items()])


def _test(
    room: DeadLetterRoom, topic: str, selection: Selection, retest: Retest
) -> dict[Outcome, int]:
    batches = room.desk.letters(topic, selection)
    return grouped(outcome for batch in batches for outcome in retest.test(batch))


@routes.post(
    "/dlq/{topic:segment}/dismiss",
    summary="Put open letters away",
    responses={404: _UNKNOWN},
    openapi_extra=documented(MarkRequest),
)
async def dismiss(topic: str, request: Request, room: Room, body: Body) -> Response:
    return await _mark(topic, request, room, body, State.DISMISSED)


@routes.post(
    "/dlq/{topic:segment}/reopen",
    summary="Open dismissed and replayed letters again",
    responses={404: _UNKNOWN},
    openapi_extra=documented(MarkRequest),
)
async def reopen(topic: str, request: Request, room: Room, body: Body) -> Response:
    return await _mark(topic, request, room, body, State.OPEN)


async def _mark(
    topic: str, request: Request, room: DeadLetterRoom, body: bytes, state: State
) -> Response:
    wanted = _parse(MarkRequest, body)
    default = "open" if state is State.DISMISSED else "dismissed,replayed"
    selection = wanted.select.selection(await room.checked(topic), default)
    by = _who(request, wanted.by)
    count = await room.call(room.desk.mark, topic, selection, state, by, wanted.note)
    return JsonResponse({"topic": topic, "state": state, "letters": count})


@routes.post(
    "/dlq/{topic:segment}/replays",
    summary="Send open letters again, each once; runs in the background",
    status_code=202,
    responses={404: _UNKNOWN},
    openapi_extra=documented(ReplayRequest),
)
async def replay(topic: str, request: Request, room: Room, body: Body) -> Response:
    wanted = _parse(ReplayRequest, body)
    selection = wanted.select.selection(await room.checked(topic), "open")
    plan = Plan(
        topic,
        selection,
        to=parse_target(wanted.to),
        by=_who(request, wanted.by),
        note=wanted.note,
        rate=wanted.rate,
        max_attempts=wanted.max_attempts,
        dry_run=wanted.dry_run,
    )
    if wanted.select.connector is not None:
        caller_of(request).require(Role.ADMIN, wanted.select.connector)
    job = await room.start_job(await _job_spec(room, plan, wanted))
    return JsonResponse(job.to_json(), 202)


async def _job_spec(room: DeadLetterRoom, plan: Plan, wanted: ReplayRequest) -> JobSpec:
    if wanted.patch is not None and wanted.edit is not None:
        raise BadRequestError("Give patch or edit, not both.")
    specs = await room.probe_specs()
    users = (await room.topics())[plan.topic]
    only = users[0] if len(users) == 1 else None
    connector = None
    if plan.to == SINK or wanted.edit is not None:
        name = wanted.select.connector or only
        if name is None:
            raise BadRequestError(
                f"Name the connector in select.connector: {', '.join(users)} all use {plan.topic}."
            )
        if name not in specs:
            raise NotFoundError(f"Connector {name} not found")
        connector = specs[name]
    candidate = None
    if wanted.config is not None:
        candidate = room.probe_spec(wanted.config.get("name", "candidate"), wanted.config)
    return JobSpec(
        plan,
        specs,
        candidate=candidate,
        connector=connector,
        only=only,
        passing=wanted.passing,
        patch=wanted.patch,
        edit=wanted.edit,
        seconds=wanted.timeout_ms / 1000,
    )


def _who(request: Request, said: str | None) -> str:
    """Who does it, for the record: the user that is known, else whoever the client says."""
    caller = caller_of(request)
    if caller.name is not None:
        return caller.name
    if said:
        return said
    return f"REST client at {request.client.host}" if request.client else "REST client"
