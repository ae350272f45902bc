"""REST answers, request by request, beside those of Apache Kafka Connect."""

import json

import httpx
import pytest

from tests.conformance.rest_cases import (
    INTENDED_ANSWERS,
    NAME,
    TOPIC,
    Request,
    comparable,
    requests,
)
from tests.conformance.sides import create_topics, delete_topics
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

# Longer than a group waits for a member that is gone.
SECONDS = 60

TITLES = [request.title for request in requests("")]
INTENDED = {each.title: each for each in INTENDED_ANSWERS}


@pytest.fixture(scope="module")
def answers(sides, kafka, tmp_path_factory, admin):
    """By title, (status, body) of theirs and ours."""
    delete_topics(admin, [TOPIC])
    create_topics(admin, [TOPIC])
    found = [
        answers_of(side, str(tmp_path_factory.mktemp("rest") / "echo.jsonl")) for side in sides
    ]
    yield {title: [one[title] for one in found] for title in TITLES}
    delete_topics(admin, [TOPIC])


def answers_of(side, file):
    return {request.title: answer(side, request, file) for request in requests(file)}


def answer(side, request, file):
    name = f"{NAME}-{side.name}"
    content = request.content and request.content.replace(NAME.encode(), name.encode())
    said = []

    def asked() -> httpx.Response | None:
        response = side.request(request.method, request.path.replace(NAME, name), content)
        said[:] = [response.text[:500]]
        return response if settled(response, request) else None

    response = wait_for(asked, lambda: f"{side.name}: {request.title}: {said}", SECONDS)
    try:
        body = response.json()
    except ValueError:
        body = response.text
    return response.status_code, comparable(body, {file: "FILE", name: NAME})


def settled(response: httpx.Response, request: Request) -> bool:
    if request.status is not None:
        return response.status_code == request.status
    if request.settles is None:
        return True
    body = response.json()
    states = {body["connector"]["state"], *(task["state"] for task in body["tasks"])}
    return states == {request.settles} and (request.settles != "RUNNING" or bool(body["tasks"]))


@pytest.mark.parametrize("title", TITLES)
def test_both_answer_the_same(title, answers, tally):
    """Status and body are the same, or differ as docs/differences.md says."""
    theirs, ours = answers[title]
    intended = INTENDED.get(title)
    if theirs == ours:
        tally["equal"] += 1
    elif intended and ours[0] == intended.status and is_clean(ours[1]):
        tally["intended"] += 1
    else:
        tally["mistake"] += 1
        pytest.fail(f"\n  theirs {json.dumps(theirs)}\n  ours   {json.dumps(ours)}")


def is_clean(body):
    """Whether an error is told in the shape that clients know."""
    return "error_code" not in body or body.keys() == {"error_code", "message"}
