"""Requests that another worker has to answer are passed on to it, and its answer is passed back."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from api.security.gate import CALLER_HEADER, vouched_bytes
from api.security.roles import Caller
from connect.cluster.herder import ConflictError, ElsewhereError, Herder
from connect.cluster.peers import PeerError, Peers
from connect.cluster.signing import ALGORITHM_HEADER, SIGNATURE_HEADER
from connect.errors import ConnectError

# What the client sent goes along only as far as the other worker needs it.
_REQUEST_HEADERS = ("authorization", "content-type", SIGNATURE_HEADER, ALGORITHM_HEADER)
# What the other worker answers; a challenge is for the client.
_RESPONSE_HEADERS = ("content-type", "location", "retry-after", "www-authenticate")


async def forward(request: Request, body: bytes, elsewhere: ElsewhereError) -> Response:
    """The answer of the worker that has to do it. Two hops at most: to the leader, to the owner."""
    if elsewhere.url is None:
        raise elsewhere
    query = parse_qsl(
        request.scope.get("query_string", b"").decode("ascii"), keep_blank_values=True
    )
    last = dict(query).get("forward")
    if last == "false":
        raise ConflictError(
            "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
        ) from elsewhere
    hop = "true" if last is None else "false"
    query = [(k, v) for k, v in query if k != "forward"] + [("forward", hop)]
    path = (request.scope.get("raw_path") or request.scope["path"].encode()).decode("ascii")
    peers: Peers = request.app.state.peers
    kept = {k: v for k in _REQUEST_HEADERS if (v := request.headers.get(k)) is not None}
    try:
        answer = await peers.ask(
            request.method,
            f"{elsewhere.url.rstrip('/')}{path}?{urlencode(query)}",
            body,
            kept | await _who_asked(request),
        )
    except PeerError as error:
        raise ConnectError(f"IO Error trying to forward REST request: {error}") from error
    headers = {k: v for k in _RESPONSE_HEADERS if (v := answer.headers.get(k)) is not None}
    return Response(answer.content, answer.status_code, headers)


async def _who_asked(request: Request) -> dict[str, str]:
    """Who sent it, in words that the other worker can trust, where the cluster has a key."""
    caller: Caller = request.state.caller
    text = json.dumps({"user": caller.name, "address": caller.address}, separators=(",", ":"))
    herder: Herder = request.app.state.herder
    signature = await herder.vouch(vouched_bytes(request.scope, text))
    return {CALLER_HEADER: f"{text} {signature}"} if signature else {}
