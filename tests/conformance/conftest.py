"""Apache Kafka Connect for the tests that compare with it: one worker for a run."""

from collections import Counter

import pytest

from tests.conformance.catalogue import catalogue
from tests.conformance.intended import verdict
from tests.conformance.pair import both
from tests.conformance.sides import run_sides
from tests.oracle import echo, worker
from tests.support.topics import admin_client

TALLY = pytest.StashKey[Counter]()


@pytest.fixture(scope="session")
def oracle_plugins(say, tmp_path_factory):
    """A plugin.path folder with the echo sink."""
    plugins = tmp_path_factory.mktemp("plugins")
    try:
        echo.build(worker.libraries(say), plugins)
    except echo.CompilerMissingError as missing:
        pytest.skip(str(missing))
    worker.add_registry_converters(plugins, say)
    return plugins


@pytest.fixture(scope="session")
def oracle(kafka, say, oracle_plugins):
    """A distributed worker of Apache Kafka Connect on the test broker, with the echo sink."""
    with worker.distributed(kafka, say, worker.Options(plugins=[oracle_plugins])) as running:
        yield running


@pytest.fixture(scope="session")
def admin(kafka):
    return admin_client(kafka)


@pytest.fixture(scope="session")
def tally(pytestconfig):
    """Cases by how they ended; told in the end."""
    return pytestconfig.stash.setdefault(TALLY, Counter())


@pytest.fixture(scope="session")
def sides(kafka, say, oracle_plugins, tmp_path_factory):
    """Apache Kafka Connect and Penstock, both standalone, on one broker."""
    with both(kafka, tmp_path_factory.mktemp("both"), oracle_plugins, say) as workers:
        yield workers


@pytest.fixture(scope="session")
def outcomes(kafka, say, sides, tally):
    """By title, what came of every case: (theirs, ours, verdict)."""
    scenarios = catalogue()
    theirs, ours = run_sides(kafka, scenarios, sides, say)
    found = {
        scenario.title: [
            (one, other, verdict(scenario, one, other))
            for one, other in zip(answers, our_answers, strict=True)
        ]
        for scenario, answers, our_answers in zip(scenarios, theirs, ours, strict=True)
    }
    for _, _, judged in (case for cases in found.values() for case in cases):
        tally[judged.word] += 1
    return found


def pytest_terminal_summary(terminalreporter, config):
    tally = config.stash.get(TALLY, None)
    if tally:
        terminalreporter.write_line(
            f"Conformance: {tally.total()} cases run, {tally['equal']} equal, "
            f"{tally['intended']} differing by intent, {tally['mistake']} differing by mistake"
        )
