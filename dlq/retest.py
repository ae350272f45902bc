"""Which letters would pass now: each tested with the pipeline of the connector it is from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from connect.config.secret import HIDDEN
from connect.errors import ConnectError
from dlq.probe import Decoded, Outcome, Probe, ProbeSpec, Verdict
from dlq.reader import DeadLetter


class Retest:
    """Tests letters of several connectors. A context manager.

    `candidate`, if given, is used for every letter, whatever connector it is from. `only` is the
    connector of letters that do not say.
    """

    def __init__(
        self,
        specs: Mapping[str, ProbeSpec],
        *,
        candidate: ProbeSpec | None = None,
        only: str | None = None,
        seconds: float = 5.0,
    ) -> None:
        self._specs = specs
        self._candidate = candidate
        self._only = only
        self._seconds = seconds
        self._probes: dict[str, Probe] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for probe in self._probes.values():
            probe.__exit__()

    def test(self, letters: Sequence[DeadLetter]) -> list[Outcome]:
        """A verdict for each letter, in their order."""
        outcomes = [Outcome(Verdict.UNTESTABLE)] * len(letters)
        by_connector: dict[str, list[int]] = {}
        for i, letter in enumerate(letters):
            by_connector.setdefault(self._connector(letter), []).append(i)
        for connector, positions in by_connector.items():
            spec = self._candidate or self._specs.get(connector)
            if spec is None:
                gone = Outcome(Verdict.UNTESTABLE, reason=_no_connector(connector))
                for i in positions:
                    outcomes[i] = gone
                continue
            found = self._probe(spec).test([letters[i] for i in positions])
            for i, outcome in zip(positions, found, strict=True):
                outcomes[i] = outcome
        return outcomes

    def decode(self, letter: DeadLetter) -> Decoded:
        """Key and value by the connector's converters, as far as they get."""
        spec = self._candidate or self._specs.get(self._connector(letter))
        if spec is None:
            said = _no_connector(self._connector(letter))
            return Decoded(key_error=said, value_error=said)
        try:
            return self._probe(spec).decode(letter)
        except ConnectError as error:
            return Decoded(key_error=str(error), value_error=str(error))

    def _connector(self, letter: DeadLetter) -> str:
        return letter.cause.connector or self._only or ""

    def _probe(self, spec: ProbeSpec) -> Probe:
        probe = self._probes.get(spec.connector)
        if probe is None:
            _refuse_masked(spec)
            probe = self._probes[spec.connector] = Probe(spec, seconds=self._seconds)
        return probe


def _no_connector(name: str) -> str:
    if not name:
        return "the letter does not say which connector it is from"
    return f"connector '{name}' is not there (any more): give a config"


def _refuse_masked(spec: ProbeSpec) -> None:
    """A config whose secrets are masked would fail in ways that nobody understands."""
    used = ("key.converter", "value.converter", "header.converter", "transforms", "predicates")
    hidden = [k for k, v in spec.config.items() if v == HIDDEN and k.startswith(used)]
    if hidden:
        raise ConnectError(
            f"The worker shows {', '.join(sorted(hidden))} of connector '{spec.connector}' as "
            f"{HIDDEN}: give the config by --config, or ask the worker (POST /dlq/…/test)."
        )
