"""FastAPI without what it has in memory for others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PYDANTIC_1 = "pydantic.v1"


@contextmanager
def lean_fastapi() -> Iterator[None]:
    """Keep FastAPI small while it and the routes are imported.

    It asks of every model whether it is one of Pydantic's first version, which it would load to
    find out: here that can't be imported. And it has some fifty models of OpenAPI's own, for who
    asks for its description: models are built when they are first used.
    """
    from pydantic import BaseModel  # noqa: PLC0415 - not before somebody makes an API

    modules: dict[str, Any] = sys.modules
    modules.setdefault(_PYDANTIC_1, None)
    BaseModel.model_config["defer_build"] = True
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]
        if modules[_PYDANTIC_1] is None:
            del modules[_PYDANTIC_1]
