"""Dead letters: seen, tested, replayed, dismissed. docs/dlq.md has the words."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field
from starlette.requests import Request
from starlette.responses import Response

from api import models
from api.answers import JsonResponse
from api.bodies import parse_shape
from api.dlq_jobs import JobSpec
from api.dlq_room import DeadLetterRoom
from api.routing import Answer, Routes, body_of, caller_of
from api.security.roles import Role
from connect.cluster.herder import BadRequestError
from connect.errors import NotFoundError
from dlq.probe import Outcome, grouped
from dlq.reader import Place
from dlq.replay import SINK, Plan, parse_target
from dlq.retest import Retest
from dlq.selection import Selection, State, parse_place, parse_states, parse_time
from dlq.showing import letter_document

routes = Routes("dead letters")

_UNKNOWN = Answer(models.Error, "No such topic, letter or replay")
_ANY = Answer(Any)
_MOST_LISTED = 10_000
_TESTED_BY_DEFAULT = 10_000
_STATES = "`open`, `replayed`, `dismissed` (with commas), or `all`"


def _room_of(request: Request) -> DeadLetterRoom:
    room: DeadLetterRoom = request.app.state.dlq
    return room


class Select(Struct, forbid_unknown_fields=True):
    """Which letters are meant: all that meet every filter."""

    connector: str | None = None
    stage: Annotated[str | None, Meta(examples=["VALUE_CONVERTER"])] = None
    exception: Annotated[str | None, Meta(description="A class, or the end of its name")] = None
    source_topic: str | None = None
    fingerprint: Annotated[str | None, Meta(description="Its beginning will do")] = None
    since: Annotated[str | None, Meta(description="Ago, or a date", examples=["2h"])] = None
    until: str | None = None
    state: Annotated[str | None, Meta(description=_STATES)] = None
    limit: Annotated[int, Meta(ge=1)] | None = None
    letters: Annotated[
        list[str] | None,
        Meta(description="partition/offset[-to]", examples=[["0/1234", "1/5-9"]]),
    ] = None

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


class TestRequest(Struct, forbid_unknown_fields=True):
    select: Select = field(default_factory=Select)
    config: Annotated[dict[str, str] | None, Meta(description="A candidate")] = None
    timeout_ms: Annotated[int, Meta(ge=10, description="What one record may take")] = 5000


class MarkRequest(Struct, forbid_unknown_fields=True):
    select: Select
    by: str | None = None
    note: str | None = None


class ReplayRequest(Struct, forbid_unknown_fields=True):
    select: Select
    to: Annotated[str, Meta(description="`original`, `sink` or `topic:NAME`")] = "original"
    passing: Annotated[bool, Meta(description="Only letters that pass the re-test")] = False
    config: Annotated[dict[str, str] | None, Meta(description="A candidate for the re-test")] = None
    timeout_ms: Annotated[int, Meta(ge=10)] = 5000
    patch: Annotated[list[Any] | None, Meta(description="A JSON Patch of values")] = None
    edit: Annotated[dict[str, str] | None, Meta(description="`transforms.*` to apply")] = None
    dry_run: bool = False
    rate: Annotated[Annotated[float, Meta(gt=0)] | None, Meta(description="Records a second")] = (
        None
    )
    max_attempts: Annotated[int, Meta(ge=1)] = 3
    by: str | None = None
    note: str | None = None


@routes.get("/dlq", summary="The dead-letter topics of all connectors", answers={200: _ANY})
async def topics(request: Request) -> Response:
    room, caller = _room_of(request), caller_of(request)
    seen = {
        topic: users
        for topic, users in (await room.topics()).items()
        if all(caller.may(Role.READ, user) for user in users)
    }
    found = await room.call(room.desk.summaries, seen)
    return JsonResponse(msgspec.to_builtins(found))


@routes.get("/dlq/replays", summary="Replays of this worker", answers={200: _ANY})
async def replays(request: Request) -> Response:
    room, caller = _room_of(request), caller_of(request)
    users = await room.topics()
    return JsonResponse(
        [
            job.to_json()
            for job in room.jobs()
            if all(caller.may(Role.READ, user) for user in users.get(job.plan.topic, [None]))
        ]
    )


@routes.get(
    "/dlq/replays/{id:segment}", summary="How far a replay is", answers={200: _ANY, 404: _UNKNOWN}
)
async def replay_status(request: Request, id: str) -> Response:
    return JsonResponse(_room_of(request).job(id).to_json())


@routes.delete(
    "/dlq/replays/{id:segment}",
    summary="Stop a replay after the batch under way; what is left stays open",
    answers={202: _ANY, 404: _UNKNOWN},
)
async def stop_replay(request: Request, id: str) -> Response:
    job = _room_of(request).job(id)
    job.stop()
    return JsonResponse(job.to_json(), 202)


@routes.get(
    "/dlq/{topic:segment}/stats",
    summary="Letters grouped by cause, with counts over time",
    answers={200: _ANY, 404: _UNKNOWN},
    query=Select,
)
async def stats(request: Request, topic: str, query: Select) -> Response:
    room = _room_of(request)
    selection = query.selection(await room.checked(topic), "open")
    return JsonResponse(msgspec.to_builtins(await room.call(room.desk.stats, topic, selection)))


@routes.get(
    "/dlq/{topic:segment}/letters",
    summary="Letters, the newest first; 100 unless `limit` says otherwise",
    answers={200: _ANY, 404: _UNKNOWN},
    query=Select,
)
async def letters(request: Request, topic: str, query: Select) -> Response:
    room = _room_of(request)
    selection = query.selection(await room.checked(topic), "open")
    limit = min(selection.limit or 100, _MOST_LISTED)
    selection = msgspec.structs.replace(selection, limit=limit)
    rows = await room.call(room.desk.rows, topic, selection)
    return JsonResponse(msgspec.to_builtins(rows))


@routes.get(
    "/dlq/{topic:segment}/letters/{partition:int}/{offset:int}",
    summary="One letter with everything in it, decoded as far as the converters get",
    answers={200: _ANY, 404: _UNKNOWN},
)
async def letter(request: Request, topic: str, partition: int, offset: int) -> Response:
    room = _room_of(request)
    await room.checked(topic)
    found, mark = await room.call(room.desk.letter, topic, Place(partition, offset))
    with await room.retest(topic) as retest:
        decoded = await room.call(retest.decode, found)
    return JsonResponse(letter_document(found, mark, decoded, room.mask))


@routes.post(
    "/dlq/{topic:segment}/test",
    summary="Which letters would pass converters and transforms now; writes nothing",
    answers={200: _ANY, 404: _UNKNOWN},
    body=TestRequest,
)
async def test(request: Request, topic: str) -> Response:
    room = _room_of(request)
    wanted = parse_shape(await body_of(request), TestRequest)
    if wanted.config is not None:
        caller_of(request).require_somewhere(Role.ADMIN)  # it is run
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
    answers={200: _ANY, 404: _UNKNOWN},
    body=MarkRequest,
)
async def dismiss(request: Request, topic: str) -> Response:
    return await _mark(request, topic, State.DISMISSED)


@routes.post(
    "/dlq/{topic:segment}/reopen",
    summary="Open dismissed and replayed letters again",
    answers={200: _ANY, 404: _UNKNOWN},
    body=MarkRequest,
)
async def reopen(request: Request, topic: str) -> Response:
    return await _mark(request, topic, State.OPEN)


async def _mark(request: Request, topic: str, state: State) -> Response:
    room = _room_of(request)
    wanted = parse_shape(await body_of(request), MarkRequest)
    default = "open" if state is State.DISMISSED else "dismissed,replayed"
    selection = wanted.select.selection(await room.checked(topic), default)
    by = _who(request, wanted.by)
    count = await room.call(room.desk.mark, topic, selection, state, by, wanted.note)
    return JsonResponse({"topic": topic, "state": state, "letters": count})


@routes.post(
    "/dlq/{topic:segment}/replays",
    summary="Send open letters again, each once; runs in the background",
    answers={202: _ANY, 404: _UNKNOWN},
    body=ReplayRequest,
)
async def replay(request: Request, topic: str) -> Response:
    room = _room_of(request)
    wanted = parse_shape(await body_of(request), ReplayRequest)
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
