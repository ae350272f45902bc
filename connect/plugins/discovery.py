"""Finds the plugins that do not come with Penstock, without importing any of them here.

Two ways in: distributions installed beside Penstock that announce plugins by entry points, and the
folders of `plugin.path`. Each entry of such a folder is a plugin of its own:

    foo.py            a module
    foo/__init__.py   a package
    foo/              anything else: made by `pip install --target foo …`, or holding wheels;
                      what its distributions announce counts, and loose modules in it
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from connect.plugins.info import PluginInfo, PluginType
from connect.plugins.loading import importable_paths, module_name_of
from connect.plugins.probe import GROUPS, Announced, Source, broken

_log = logging.getLogger(__name__)

# Importing a plugin takes seconds if it is heavy. One that takes longer is stuck, and whoever asked
# for the list waits for it.
_DEADLINE_SECONDS = 30.0

# The parent's path comes first, so that the child finds the same Penstock.
_CHILD = (
    "import json, sys; request = json.load(sys.stdin); sys.path[:] = request['sys_path']; "
    "from connect.plugins.probe import main; main(request)"
)


def discover(plugin_path: Iterable[str], deadline: float = _DEADLINE_SECONDS) -> list[PluginInfo]:
    """Every plugin that is not built in, the broken ones with their errors."""
    sources = [*_installed(), *itertools.chain.from_iterable(map(_below, plugin_path))]
    if not sources:
        return []
    with ThreadPoolExecutor(max_workers=min(len(sources), os.cpu_count() or 1)) as pool:
        return [*itertools.chain.from_iterable(pool.map(lambda s: _probe(s, deadline), sources))]


# ---- where plugins may be -----------------------------------------------------------------


def _installed() -> list[Source]:
    announced = tuple(_announcements(metadata.distributions()))
    return [Source("installed", None, announced)] if announced else []


def _announcements(distributions: Iterable[metadata.Distribution]) -> Iterator[Announced]:
    seen = {"penstock"}
    for distribution in distributions:
        name = distribution.name
        # Of several versions on the path the first is the one that is imported.
        if name in seen:
            continue
        seen.add(name)
        for point in distribution.entry_points:
            if point.group in GROUPS:
                yield Announced(point.group, point.name, point.value, name, distribution.version)


def _below(entry: str) -> Iterator[Source]:
    """The plugins in one entry of `plugin.path`."""
    root = Path(entry.strip()).expanduser().absolute()
    if not root.exists():
        _log.warning("plugin.path names %s, which does not exist.", root)
        return
    if root.suffix == ".py" or (root / "__init__.py").is_file():
        places = [root]
    else:
        try:
            places = sorted(root.iterdir())
        except OSError as error:
            _log.warning("plugin.path names %s, which can't be read: %s", root, error)
            return
    for place in places:
        if place.name.startswith((".", "_")):
            continue
        if place.suffix == ".py" or (place / "__init__.py").is_file():
            yield Source(str(place), str(place), modules=(module_name_of(place),))
        elif place.is_dir():
            source = _folder(place)
            if source.announced or source.modules:
                yield source


def _folder(place: Path) -> Source:
    distributions = list(metadata.distributions(path=importable_paths(place)))
    announced = tuple(_announcements(distributions))
    installed = {
        file.parts[0] for distribution in distributions for file in distribution.files or ()
    }
    loose = (
        p
        for p in sorted(place.iterdir())
        if p.name not in installed
        and not p.name.startswith((".", "_"))
        and (p.suffix == ".py" or (p / "__init__.py").is_file())
    )
    return Source(str(place), str(place), announced, tuple(map(module_name_of, loose)))


# ---- what is in there ---------------------------------------------------------------------


def _probe(source: Source, deadline: float) -> list[PluginInfo]:
    answer = _ask(source, deadline)
    if isinstance(answer, list):
        return answer
    if len(source.announced) + len(source.modules) == 1:
        announced = source.announced[0] if source.announced else None
        name = announced.value if announced else source.modules[0]
        return [broken(source, name, answer, announced)]
    # One of several brought the process down; each on its own shows which.
    parts = [
        *(replace(source, announced=(a,), modules=()) for a in source.announced),
        *(replace(source, announced=(), modules=(m,)) for m in source.modules),
    ]
    return [info for part in parts for info in _probe(part, deadline)]


def _ask(source: Source, deadline: float) -> list[PluginInfo] | str:
    """What the child found, or why it gave no answer."""
    request = json.dumps({**asdict(source), "sys_path": sys.path})
    # The standard error is a file: a pipe would stay open as long as anything that the plugin may
    # have started, and reading it would wait for that.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # A group of its own, so that what the plugin may have started ends with it.
            start_new_session=True,
        )
        with child:
            try:
                answer, _ = child.communicate(request, timeout=deadline)
            except subprocess.TimeoutExpired:
                return f"it was not imported within {deadline:g} seconds"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        try:
            return [_info(**item) for item in json.loads(answer)]
        except ValueError:
            errors.seek(0)
            last_words = errors.read().strip().splitlines()[-1:] or ["it said nothing"]
            code = child.returncode
            return f"the process that imported it ended with code {code}: {last_words[0]}"


def _info(*, type: str | None, aliases: list[str], **rest: Any) -> PluginInfo:
    return PluginInfo(type=PluginType(type) if type else None, aliases=tuple(aliases), **rest)
