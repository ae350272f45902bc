"""A process of a task or connector, seen from the worker."""

import asyncio

from connect.runtime.child import Child
from tests.support.processes import alive
from tests.support.waiting import wait_for


def say_goodbye(line, spec):
    for word in spec:
        line.send(word)


def test_child_is_over_also_where_its_last_words_are_not_understood():
    """Who stops it later does not wait for it any more."""

    async def run():
        failures = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(context["exception"]))

        def choke(message):
            raise ValueError(message)

        child = Child(say_goodbye, ("good", "bye"), on_message=choke, answer=None)
        await child.start()
        # The loop has no turn before everything is said and the process is gone.
        wait_for(lambda: not alive(child.pid), "the process to end")
        async with asyncio.timeout(30):
            await child.kill()
        return [str(failure) for failure in failures]

    assert {"good", "bye"} <= set(asyncio.run(run()))
