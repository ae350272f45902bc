"""What processes have in common stays so while it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

from connect.runtime.fork_server import load
from connect.runtime.memory import stays_shared


def private_kilobytes() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


def use_everything() -> None:
    """Refer to whatever modules define, and to what code is made of."""
    things = [thing for module in list(sys.modules.values()) for thing in vars(module).values()]
    codes = [thing.__code__ for thing in things if hasattr(thing, "__code__")]
    assert len(codes) > 1000
    assert any([code.co_consts, code.co_names] for code in codes)


def weigh(loads: str, uses: str = "use_everything()") -> int:
    """Kilobytes that a child has of its own when it has used what was loaded."""
    script = (
        f"import os; from {__name__} import *\n{loads}\nprivate_kilobytes()\n"
        f"if os.fork() == 0:\n {uses}; print(private_kilobytes())\nelse: os.wait()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(not stays_shared(), reason="this Python counts all references")
def test_a_child_that_uses_what_is_shared_shares_it_still():
    """Less than half of what it has if references are counted."""
    assert weigh("load()") < weigh("pass") / 2


def test_what_a_child_makes_lies_on_pages_of_its_own():
    """Little more than its 300 kilobytes, not a page for each of 500 things in gaps."""
    gaps = (
        "load(); small, large = ([bytes(size) for _ in range(5000)] for size in (200, 1000))\n"
        "del small[::20], large[::20]; load()"
    )
    made = "made = [bytes(size) for size in (200, 1000) for _ in range(250)]"
    assert weigh(gaps, made) - weigh(gaps, "pass") < 600


def test_a_task_shares_what_others_have_learned_before():
    """Which method a name means, and how an instruction is best done, is noted once for all."""
    loads = "from connect.runtime.rehearsal import rehearse; from connect.runtime.memory import *\n"
    rehearsed = weigh(f"{loads}rehearse(); share()", "rehearse()")
    assert rehearsed < weigh(f"{loads}share()", "rehearse()") * 0.95


def test_what_is_shared_is_as_it_was():
    """It can be called, changed and collected around."""
    script = (
        "from connect.runtime.fork_server import load; load()\n"
        "import gc, json, connect.runtime.host as host\n"
        "assert json.loads(json.dumps({'a': [1, None]})) == {'a': [1, None]}\n"
        "host.METRICS_SECONDS = 2.0; del host.LEAVE_SECONDS\n"
        "for _ in range(3): gc.collect()\n"
        "class Sub(host.Host): pass\n"
        "assert Sub.__mro__[1] is host.Host and host.METRICS_SECONDS == 2.0\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True)


def test_load_is_harmless_if_repeated():
    """The second time there is nothing left to do."""
    subprocess.run(
        [sys.executable, "-c", f"from {load.__module__} import load; load(); load()"],
        timeout=60,
        check=True,
    )
