"""Brings plugin code into the process that is going to run it.

Where a plugin has a place of its own, only that place becomes visible, and only here: the worker
that lists plugins imports none of them. A process that runs a task holds that one connector and
its converters and transforms, so their dependencies seldom meet others.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType

# A folder made by `pip install --target` may hold copies of Penstock and of what it needs. The
# running ones must stay in use, so they are imported before the folder becomes visible.
_OURS_FIRST = (
    "connect", "connectors", "converters", "transforms", "dlq", "spark_sink",
    "confluent_kafka", "msgspec", "orjson",
)  # fmt: skip
# Tasks that are threads of one process load the same plugin at the same moment: none may get a
# module that another is still filling.
_loading = threading.RLock()


def import_plugin_module(name: str, location: str | None) -> ModuleType:
    """The module of a plugin, from its file or folder if it has one."""
    with _loading:
        if location is not None:
            place = Path(location)
            if place.suffix == ".py" or (place / "__init__.py").is_file():
                _import_from(place)
            else:
                _make_visible(place)
        return importlib.import_module(name)


def module_name_of(place: Path) -> str:
    """The name of the module that a file or package folder is."""
    return place.stem if place.suffix == ".py" else place.name


def importable_paths(folder: Path) -> list[str]:
    """What of a folder goes on sys.path: the folder, and the wheels in it."""
    return [str(folder), *sorted(map(str, folder.glob("*.whl")))]


def _import_from(place: Path) -> None:
    """Import one file or package under its plain name, without its neighbours."""
    name = module_name_of(place)
    file = place if place.suffix == ".py" else place / "__init__.py"
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file):
        return
    if loaded is not None or name in sys.stdlib_module_names or _is_installed(name):
        raise ImportError(
            f"{place} can't be loaded as '{name}': a module of that name is installed already. "
            "Rename the file or folder."
        )
    search = None if place.suffix == ".py" else [str(place)]
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=search)
    if spec is None or spec.loader is None:
        raise ImportError(f"{place} is not something that Python can import.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _make_visible(folder: Path) -> None:
    for name in _OURS_FIRST:
        if _is_installed(name):
            importlib.import_module(name)
    for path in reversed(importable_paths(folder)):
        if path not in sys.path:
            sys.path.insert(0, path)
