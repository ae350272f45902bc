"""The gate in front of a small application: whose name counts, and what is noted."""

import asyncio
import json
import logging

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from api.security.gate import CALLER_HEADER, Gate, Security, vouched_bytes
from api.security.rates import Rates
from api.security.users import Users
from tests.support.users import entry, write_users


class Signing:
    """What the gate asks of a herder: one signature is known."""

    async def vouched(self, what, signature):
        return signature == f"signed-{what.hex()}"


@pytest.fixture
def users(tmp_path):
    return Users(
        write_users(
            tmp_path / "users.toml",
            entry("ann", "right", admin=["*"]),
            entry("bob", token="t", read=["*"]),
        )
    )


def call(security, method="GET", path="/things", *, state=None, user=None, **more):
    """The answer of an application that tells who calls."""

    async def tell(scope, receive, send):
        caller = Request(scope).state.caller
        answer = JSONResponse([caller.name, caller.address, caller.grants is None])
        await answer(scope, receive, send)

    gate = Gate(tell, security)

    async def listener(scope, receive, send):
        await gate({**scope, "state": dict(state or {}), "user": user}, receive, send)

    async def request():
        transport = httpx.ASGITransport(listener)
        async with httpx.AsyncClient(transport=transport, base_url="http://worker") as client:
            return await client.request(method, path, **more)

    return asyncio.run(request())


def test_without_users_everybody_comes_in_and_a_certificate_has_a_name():
    """The name is for the log of changes; all is allowed."""
    open_to_all = Security(Signing())
    assert call(open_to_all).json() == [None, "127.0.0.1", True]
    assert call(open_to_all, state={"certificate": "cn"}).json() == ["cn", "127.0.0.1", True]


def test_whose_name_counts(users):
    """An extension's, then the header's, then the certificate's; each must be a user's."""
    security = Security(Signing(), users)
    bearer = {"headers": {"authorization": "bearer t"}}
    assert call(security, state={"certificate": "ann"}).json()[0] == "ann"
    assert call(security, state={"certificate": "ann"}, **bearer).json()[0] == "bob"
    assert call(security, user="ann", **bearer).json()[0] == "ann"
    for stranger in ({"state": {"certificate": "eve"}}, {"user": "eve"}):
        answer = call(security, **stranger)
        assert (answer.status_code, "no user eve" in answer.json()["message"]) == (401, True)


def test_a_worker_vouches_for_name_and_address_of_one_request(users, caplog):
    """Its word holds for the method and path it was given for, and is not noted again."""
    security = Security(Signing(), users, Rates(0.001, 1))
    told = json.dumps({"user": "ann", "address": "10.1.1.1"})
    scope = {"method": "PUT", "path": "/things", "raw_path": b"/things"}
    signature = f"signed-{vouched_bytes(scope, told).hex()}"
    vouched = {"headers": {CALLER_HEADER: f"{told} {signature}"}}

    with caplog.at_level(logging.INFO, "audit"):
        for _ in range(3):  # limits are those of the worker that was asked first
            assert call(security, "PUT", **vouched).json() == ["ann", "10.1.1.1", False]
        assert caplog.records == []
        assert call(security, "POST", **vouched).status_code == 401
        assert call(security, "PUT", "/other", **vouched).status_code == 429
    assert [json.loads(r.message)["outcome"] for r in caplog.records] == ["refused", "refused"]


def test_right_credentials_are_hashed_once_until_the_file_changes(users, monkeypatch):
    """A password that was found right is known again; wrong ones are looked at each time."""
    asked = []
    check = users.by_password
    monkeypatch.setattr(users, "by_password", lambda *who: asked.append(who) or check(*who))
    security = Security(Signing(), users)
    for password in ("right", "right", "wrong", "wrong"):
        call(security, auth=("ann", password))
    assert asked == [("ann", "right"), ("ann", "wrong"), ("ann", "wrong")]
    users.version += 1
    call(security, auth=("ann", "right"))
    assert len(asked) == 4


def test_no_level_silences_the_log_of_changes(caplog):
    """Who may set levels can't hide what they do next."""
    logging.getLogger("audit").setLevel(logging.CRITICAL)
    try:
        call(Security(Signing()), "DELETE", "/connectors/a%2Fb?x=1")
    finally:
        logging.getLogger("audit").setLevel(logging.NOTSET)
    [record] = caplog.records
    line = json.loads(record.message)
    assert (line["connector"], line["path"]) == ("a/b", "/connectors/a%2Fb?x=1")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://worker"}, 200),
        ({"origin": "https://console.example"}, 200),
        ({"origin": "http://worker.evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_changes_come_from_the_same_origin_or_one_that_is_allowed(headers, status):
    """Reads are the browser's own matter: without CORS no page gets to see the answer."""
    security = Security(Signing(), allow_origins=["https://console.example"])
    assert call(security, "POST", headers=headers).status_code == status
    assert call(security, "GET", headers=headers).status_code == 200
