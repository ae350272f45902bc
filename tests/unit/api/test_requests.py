"""What lies between the wire and a route, on small applications of its own."""

import asyncio
import logging
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from api.bodies import read_body
from api.errors import answer_error, handle_http_error
from api.middleware import ConfiguredHeaders, RequestLog
from api.paths import ExactPaths
from connect.cluster.herder import (
    BadRequestError,
    ConflictError,
    ForbiddenError,
    TimedOutError,
)
from connect.config.listeners import parse_header_rules
from connect.errors import (
    AlreadyExistsError,
    ConfigError,
    ConnectError,
    MissingExtraError,
    NotFoundError,
)


def call(app, method, path, **more):
    async def request():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://worker") as client:
            return await client.request(method, path, **more)

    return asyncio.run(request())


@pytest.fixture(scope="module")
def app():
    async def read(request):
        return PlainTextResponse(request.path_params["thing"])

    async def write(request):
        return Response(await read_body(request, limit=10))

    async def part(request):
        return PlainTextResponse("{thing}:{part}".format(**request.path_params))

    app = Starlette(
        routes=[
            Route("/things/{thing:segment}", read, methods=["GET"]),
            Route("/things/{thing:segment}", write, methods=["PUT"]),
            Route("/things/{thing:segment}/parts/{part:int}", part, methods=["GET"]),
        ],
        exception_handlers={HTTPException: handle_http_error},
    )
    app.router.redirect_slashes = False
    app.add_middleware(ExactPaths, router=app.router)
    app.add_middleware(RequestLog)
    return app


@given(st.text(min_size=1).filter(lambda name: name not in (".", "..")))
def test_any_name_comes_through_a_path(app, name):
    """Slashes, percent signs, control characters, Unicode: what was encoded is what arrives."""
    assert call(app, "GET", f"/things/{quote(name, safe='')}").text == name
    assert call(app, "GET", f"/things/{quote(name, safe='')}/parts/7").text == f"{name}:7"


def test_a_slash_that_is_not_encoded_separates(app):
    """Only %2F is part of a name."""
    assert call(app, "GET", "/things/a/b").status_code == 404
    assert call(app, "GET", "/things/a%2Fb").text == "a/b"


def test_a_path_that_is_not_utf8_is_refused(app):
    """Bytes that are no UTF-8 can't be a name."""
    answer = call(app, "GET", "/things/%ff")

    assert answer.status_code == 400
    assert answer.json()["message"].startswith("The path is not UTF-8")


def test_a_trailing_slash_makes_no_difference(app):
    """/things/a/ is /things/a, without a redirect that might lose a body."""
    assert call(app, "GET", "/things/a/").text == "a"


def test_head_is_get_without_the_body(app):
    """HEAD gives the headers of GET."""
    answer = call(app, "HEAD", "/things/abc")

    assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, "3", b"")


def test_options_names_the_methods_of_all_routes_of_a_path(app):
    """OPTIONS says what may be done, over several routes with one path."""
    assert call(app, "OPTIONS", "/things/a").headers["allow"] == "GET,HEAD,PUT,OPTIONS"


def test_a_wrong_method_is_405_and_names_the_right_ones(app):
    """405 has the body of every error, and Allow."""
    for method in ("DELETE", "TRACE"):
        answer = call(app, method, "/things/a")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET,HEAD,PUT,OPTIONS"
        assert answer.json() == {"error_code": 405, "message": "HTTP 405 Method Not Allowed"}


def test_an_unknown_path_is_404_in_json(app):
    """The text for a path that does not exist is Kafka Connect's."""
    answer = call(app, "GET", "/nope")

    assert answer.status_code == 404
    assert answer.json() == {"error_code": 404, "message": "HTTP 404 Not Found"}


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "application/json; charset=utf-8", "application/vnd.x+json", ""],
)
def test_json_bodies_are_read(app, media_type):
    """JSON under any of its names, and a body without a type, are taken."""
    answer = call(app, "PUT", "/things/a", content=b"{}", headers={"content-type": media_type})

    assert answer.content == b"{}"


def test_another_media_type_is_415(app):
    """What is not said to be JSON is not read, and the answer says what to send."""
    answer = call(app, "PUT", "/things/a", content=b"{}", headers={"content-type": "text/plain"})

    assert answer.status_code == 415
    assert answer.json()["message"] == (
        "HTTP 415 Unsupported Media Type: send the body as application/json, not text/plain"
    )


@pytest.mark.parametrize("size", [11, 100_000])
def test_a_body_over_the_limit_is_413(app, size):
    """A body that is too large is refused by the name of the setting, however large it is."""
    answer = call(app, "PUT", "/things/a", content=b"x" * size)

    assert answer.status_code == 413
    assert "larger than 10 bytes, see rest.request.max.bytes" in answer.json()["message"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFoundError("text"), 404),
        (AlreadyExistsError("text"), 409),
        (ConflictError("text"), 409),
        (BadRequestError("text"), 400),
        (ConfigError("text"), 400),
        (ForbiddenError("text"), 403),
        (TimedOutError("text"), 500),
        (ConnectError("text"), 500),
    ],
)
def test_each_error_has_its_status_and_its_own_text(error, status):
    """The body is error_code and message, the code is the status."""
    answer = answer_error(error)

    assert answer.status_code == status
    assert answer.body == f'{{"error_code":{status},"message":"text"}}'.encode()


def test_an_extra_to_install_is_the_callers_to_know():
    """A plugin whose library is missing is a bad request that names the extra."""
    answer = answer_error(MissingExtraError("jdbc", "JdbcSink"))

    assert answer.status_code == 400
    assert b"penstock[jdbc]" in answer.body


def test_only_a_conflict_that_may_pass_asks_to_try_again():
    """A taken name and a rebalance are both 409; Retry-After tells them apart."""
    assert answer_error(ConflictError("rebalance")).headers["retry-after"] == "1"
    assert "retry-after" not in answer_error(AlreadyExistsError("taken")).headers


def test_a_fault_of_our_own_is_500_and_logged(caplog):
    """An error that nobody foresaw is answered in the same shape, and its trace is in the log."""
    answer = answer_error(KeyError("oops"))

    assert answer.status_code == 500
    assert b"KeyError: 'oops'" in answer.body
    assert caplog.records[0].exc_info is not None


def test_requests_are_logged_as_they_were_sent(app, caplog):
    """A line has client, request, status, size and milliseconds; what could break it is escaped."""
    with caplog.at_level(logging.INFO, logger="api.access"):
        call(app, "GET", "/things/a%0Ab?x=1", headers={"user-agent": 'a"b'})

    assert caplog.messages[0].startswith(
        '127.0.0.1 "GET /things/a%0Ab?x=1 HTTP/1.1" 200 3 "-" "a\'b" '
    )


def test_configured_headers_are_on_every_answer(app):
    """response.http.headers.config sets and adds headers, dates by their distance from now."""
    rules = parse_header_rules(
        'set X-A: 1, "add Cache-Control: no-cache, no-store", setDate Expires: 31540000000'
    )
    answer = call(ConfiguredHeaders(app, rules), "GET", "/nope")

    assert answer.headers["x-a"] == "1"
    assert answer.headers["cache-control"] == "no-cache, no-store"
    assert answer.headers["expires"].endswith(" GMT")


@pytest.mark.parametrize("rule", ["setDate X:soon", "set X:é"])
def test_a_header_that_could_not_be_sent_is_refused_at_the_start(app, rule):
    """What would fail in the middle of an answer names the key before there is any."""
    with pytest.raises(ConfigError, match=r"response\.http\.headers\.config") as caught:
        ConfiguredHeaders(app, parse_header_rules(f"set Fine: 1, {rule}"))
    assert rule in str(caught.value)
