"""Options that all dlq commands have, declared once as fields and spread into each command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from penstock.errors import UserError
from penstock.options import DEFAULT_URL, UrlOption

if TYPE_CHECKING:
    from dlq.selection import Selection
    from penstock.dlq_access import Access


@dataclass(frozen=True, kw_only=True)
class Where:
    """Where Kafka and the connectors are."""

    url: UrlOption = DEFAULT_URL
    bootstrap: Annotated[
        str | None, typer.Option(help="Kafka's address; else KAFKA_BOOTSTRAP, or localhost:9092.")
    ] = None
    worker_config: Annotated[
        Path | None,
        typer.Option(help="worker.properties: Kafka's address, security, converters, plugin.path."),
    ] = None
    state_topic: Annotated[str | None, typer.Option(help="The topic with the letters' states.")] = (
        None
    )

    def access(self) -> Access:
        from penstock.dlq_access import Access

        return Access(self.url, self.bootstrap, self.worker_config, self.state_topic)


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which letters are meant."""

    connector: Annotated[str | None, typer.Option(help="Only letters of this connector.")] = None
    stage: Annotated[str | None, typer.Option(help="Only letters that failed here.")] = None
    exception: Annotated[
        str | None, typer.Option(help="Only this exception: its class, or the end of its name.")
    ] = None
    source_topic: Annotated[str | None, typer.Option(help="Only records of this topic.")] = None
    fingerprint: Annotated[str | None, typer.Option(help="Only this cause, see `stats`.")] = None
    since: Annotated[str | None, typer.Option(help="Not before: 30m, 2h, 3d ago, or a date.")] = (
        None
    )
    until: Annotated[str | None, typer.Option(help="Before: 30m, 2h, 3d ago, or a date.")] = None
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None

    def selection(self, letters: Sequence[str], states: str) -> tuple[str, Selection]:
        """The one topic that is meant, and which of its letters."""
        from dlq.selection import Selection, parse_place, parse_states, parse_time

        places = [parse_place(text) for text in letters]
        topics = {topic for topic, _ in places}
        if len(topics) > 1:
            raise UserError(f"Letters of one topic at a time, not of {', '.join(sorted(topics))}.")
        spans = tuple(span for _, span in places if span is not None)
        if spans and len(spans) < len(places):
            raise UserError("Name a topic, or letters of it, not both.")
        return topics.pop(), Selection(
            connector=self.connector,
            stage=self.stage,
            exception=self.exception,
            source_topic=self.source_topic,
            fingerprint=self.fingerprint,
            since_ms=parse_time(self.since) if self.since else None,
            until_ms=parse_time(self.until) if self.until else None,
            states=parse_states(states),
            spans=spans,
            limit=self.limit,
        )


@dataclass(frozen=True, kw_only=True)
class Testing:
    """How letters are tested and decoded."""

    config: Annotated[
        Path | None, typer.Option(help="A connector config to use instead of the worker's.")
    ] = None
    timeout: Annotated[
        float, typer.Option(min=0.01, help="Seconds that one record may take in converters.")
    ] = 5.0


@dataclass(frozen=True, kw_only=True)
class Author:
    """Who does it, for the record."""

    by: Annotated[str | None, typer.Option(help="Who does it; else user@host.")] = None
    note: Annotated[str | None, typer.Option(help="Why, for those who look later.")] = None

    @property
    def name(self) -> str:
        from dlq.state import whoever

        return self.by or whoever()


_SPREAD: tuple[type[Any], ...] = (Where, Filters, Testing, Author)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Turn parameters of the types above into the options they hold."""
    hints = get_type_hints(command, include_extras=True)
    parts: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    annotations: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if kind in _SPREAD:
            parts[name] = kind
            own = get_type_hints(kind, include_extras=True)
            new = [
                inspect.Parameter(
                    each.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if each.default is MISSING else each.default,
                    annotation=own[each.name],
                )
                for each in fields(kind)
            ]
        else:
            new = [parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)]
        parameters += new
        annotations |= {each.name: each.annotation for each in new}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, kind in parts.items():
            own = {each.name: given.pop(each.name) for each in fields(kind)}
            given[name] = kind(**own)
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = annotations
    return run
