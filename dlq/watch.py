"""Looks at dead-letter topics again and again: metrics, and a webhook for causes that are new."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from connect.errors import ConnectError, NotFoundError
from dlq.desk import Desk
from dlq.model import Group
from dlq.reader import Place

log = logging.getLogger(__name__)

WEBHOOK_SECONDS = 10.0
_LABELS = ("topic", "connector", "stage", "exception")

Totals = list[tuple[str | None, str | None, str | None, int, int]]
Post = Callable[[dict[str, Any]], None]


def webhook(url: str) -> Post:
    """Posts an alert as JSON. Raises httpx.HTTPError if nobody takes it."""

    def post(alert: dict[str, Any]) -> None:
        httpx.post(url, json=alert, timeout=WEBHOOK_SECONDS).raise_for_status()

    return post


class Watch:
    """What is known of all dead-letter topics. `scan` blocks; the rest is quick."""

    def __init__(self, desk: Desk, post: Post | None = None) -> None:
        self._desk = desk
        self._post = post
        self._totals: dict[str, Totals] = {}
        self._began = False

    def scan(self, topics: Mapping[str, list[str]]) -> None:
        """Read what is new in the topics, and tell of causes that were not there before.

        Nothing is told of what lay in topics before they were first looked at, when the watch
        began: that would be all causes there are.
        """
        for topic in topics:
            try:
                self._look(topic)
            except NotFoundError:
                self._totals.pop(topic, None)  # not created yet, or gone
            except ConnectError as error:
                log.warning("Dead letters of %s can't be looked at now: %s", topic, error)
        for gone in set(self._totals) - set(topics):
            del self._totals[gone]
        self._began = True

    def _look(self, topic: str) -> None:
        with self._desk.open(topic) as (_, index):
            self._totals[topic] = index.totals()
            first_look = index.fact("watched") is None
            if first_look:
                index.set_fact("watched", "yes")
            new = index.new_groups()
            if first_look and not self._began:
                index.told(number for number, _, _ in new)
                return
            for number, group, place in new:
                if self._tell(topic, group, place):
                    index.told([number])

    def _tell(self, topic: str, group: Group, place: Place) -> bool:
        """Whether somebody knows now. If not, the next scan tries again."""
        log.warning(
            "A new cause of dead letters in %s: %s %s: %s (%s)",
            topic, group.stage, group.exception, group.reason, group.fingerprint,
        )  # fmt: skip
        if self._post is None:
            return True
        alert = {
            "event": "new-fingerprint",
            "topic": topic,
            "letter": f"{topic}/{place.partition}/{place.offset}",
            **msgspec.to_builtins(group),
        }
        # A message may quote a record; the reason does not.
        del alert["over_time"], alert["sample"]
        try:
            self._post(alert)
        except httpx.HTTPError as error:
            log.warning("dlq.alert.webhook does not take alerts: %s", error)
            return False
        return True

    def metrics(self) -> str:
        """Depth by reason, in the Prometheus text format; empty before the first scan."""
        if not self._totals:
            return ""
        registry = CollectorRegistry()
        registry.register(_Snapshot(dict(self._totals)))
        return generate_latest(registry).decode()


class _Snapshot(Collector):
    def __init__(self, totals: Mapping[str, Totals]) -> None:
        self._totals = totals

    def collect(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily(
            "penstock_dlq_open_letters",
            "Dead letters that are neither replayed nor dismissed.",
            labels=_LABELS,
        )
        written = CounterMetricFamily(
            "penstock_dlq_letters_total", "Dead letters in the topic.", labels=_LABELS
        )
        for topic, totals in self._totals.items():
            for connector, stage, exception, still_open, every in totals:
                labels = [topic, connector or "", stage or "", exception or ""]
                depth.add_metric(labels, still_open)
                written.add_metric(labels, every)
        yield depth
        yield written
