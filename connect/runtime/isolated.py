"""Single calls into plugin code, each in a process of its own, with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from connect.errors import ConnectError
from connect.runtime.child import Child
from connect.runtime.host import isolate
from connect.runtime.spec import Failed

T = TypeVar("T")


class DeadlineError(ConnectError):
    """A call into plugin code took too long and was ended."""


async def call_isolated(
    function: Callable[..., T],
    *args: Any,
    seconds: float,
    what: str,
) -> T:
    """The function's result, or its error raised here. It is killed at the deadline.

    `function` is a module's function and everything pickles. `what` is for the error: "Validating
    the config of orders".
    """
    done: asyncio.Future[tuple[bool, Any]] = asyncio.get_running_loop().create_future()

    def on_message(message: Any) -> None:
        if done.done():
            return
        if isinstance(message, Failed):
            done.set_result((False, ConnectError(f"{what} failed: {message.trace.rstrip()}")))
        else:
            done.set_result(message)

    async def no_questions(request: Any) -> Any:
        raise ConnectError(f"Not available here: {request.method}")

    child = Child(_answer, (function, args), on_message=on_message, answer=no_questions)
    try:
        await child.start()
        ok, result = await asyncio.wait_for(done, seconds)
    except TimeoutError:
        raise DeadlineError(
            f"{what} did not end within {seconds:.0f} s and was stopped. "
            "Code of the plugin blocks, or a system it asks does not answer."
        ) from None
    finally:
        await child.kill()
    if not ok:
        raise result
    typed: T = result
    return typed


def _answer(line: Connection, call: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
    isolate()
    function, args = call
    try:
        answer = (True, function(*args))
    except Exception as error:  # noqa: BLE001 - raised again in the worker
        answer = (False, error)
    try:
        line.send(answer)
    except Exception as error:  # noqa: BLE001 - an error that can't travel is told in words
        line.send((False, ConnectError(f"{type(answer[1]).__name__}: {answer[1]} ({error})")))
