"""By what workers of a cluster know each other: the session key in the config topic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from connect.cluster.config_log import ClusterConfig
from connect.cluster.herder import BadRequestError, ForbiddenError, UnavailableError
from connect.cluster.signing import (
    ALGORITHM_HEADER,
    SIGNATURE_HEADER,
    SessionKey,
    Signed,
    is_signed_by,
    new_session_key,
    read_signature,
    sign,
)
from connect.config.worker import WorkerConfig
from connect.errors import ConnectError

# How long a request waits for a cluster's first key.
_KEY_SECONDS = 3.0
_LOOK_SECONDS = 0.05


class Trust:
    """Signs what this worker sends to others, and checks what comes from them."""

    def __init__(self, config: WorkerConfig, snapshot: Callable[[], ClusterConfig]) -> None:
        self._config = config
        self._snapshot = snapshot
        # Not if there is a worker in the group that knows no such keys.
        self.sessioned = True

    @property
    def _key(self) -> SessionKey | None:
        return self._snapshot().session_key

    def _sign(self, key: SessionKey, what: bytes) -> dict[str, str]:
        return sign(key, what, self._config["inter.worker.signature.algorithm"])

    def headers(self, body: bytes) -> dict[str, str]:
        """What makes a request with this body one of this cluster."""
        if not self.sessioned:
            return {}
        key = self._key
        if key is None:
            raise ConnectError("the leader has not published a session key yet")
        return self._sign(key, body)

    def verify(self, signed: Signed) -> None:
        """That a request comes from a worker of this cluster."""
        if not self.sessioned:
            return
        if signed.signature is None:
            raise BadRequestError("Internal request missing required signature")
        accepted = self._config["inter.worker.verification.algorithms"]
        if signed.signature.algorithm not in accepted:
            raise BadRequestError(
                f"This worker does not accept requests signed by {signed.signature.algorithm}, "
                f"only by {', '.join(accepted)}: inter.worker.verification.algorithms must be the "
                "same on all workers."
            )
        key = self._key
        if key is None:
            raise UnavailableError(
                "This worker is still starting up and has not been able to read a session key from "
                "the config topic yet"
            )
        if not is_signed_by(key, signed.body, signed.signature):
            raise ForbiddenError("Internal request contained invalid signature.")

    async def vouch(self, what: bytes) -> str | None:
        """A signature by the session key, `algorithm:base64`; None if there is no key."""
        await self._keyed()
        key = self._key
        if not self.sessioned or key is None:
            return None
        headers = self._sign(key, what)
        return f"{headers[ALGORITHM_HEADER]}:{headers[SIGNATURE_HEADER]}"

    async def vouched(self, what: bytes, signature: str) -> bool:
        """Whether a worker of this cluster has signed it."""
        await self._keyed()
        algorithm, _, digest = signature.partition(":")
        try:
            self.verify(Signed(what, read_signature(digest, algorithm)))
        except ConnectError:
            return False
        return self.sessioned

    async def _keyed(self) -> None:
        """Wait a moment for a key: the leader of a cluster that begins is about to write one."""
        deadline = time.monotonic() + _KEY_SECONDS
        # It is read by a thread.
        while self.sessioned and self._key is None and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)

    # -- the leader's key -----------------------------------------------------------------------

    @property
    def lifetime(self) -> float:
        """Seconds that a key is good for; 0 means for ever."""
        milliseconds: int = self._config["inter.worker.key.ttl.ms"]
        return milliseconds / 1000

    def seconds_left(self) -> float | None:
        """How long the key is still good for, if it ever ends; None if there is none."""
        key = self._key
        return None if key is None else key.created / 1000 + self.lifetime - time.time()

    def new_key(self) -> SessionKey:
        return new_session_key(
            self._config["inter.worker.key.generation.algorithm"],
            self._config["inter.worker.key.size"],
        )
