"""A new connector's first files. In names and texts, these words stand for its own names:

    __NAME__     as the user gave it, and as pip knows it: acme-orders
    __MODULE__   as Python imports it: acme_orders
    __CLASS__    of the connector: AcmeOrdersSourceConnector
    __KIND__     source or sink

`common` is there for both kinds, `source` and `sink` for their own. Every file ends in .txt, so
that nobody takes it for what it is going to be.
"""

import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from penstock.errors import UserError

KINDS = ("source", "sink")


def write_connector(name: str, kind: str, into: Path) -> list[Path]:
    """Make the package `into/name` and return its files. Nothing that is there is touched."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*", name):
        raise UserError(
            f"'{name}' can't be a connector's name: use letters and digits, with - between words, "
            "such as acme-orders"
        )
    target = into / name
    if target.exists():
        raise UserError(f"{target} is there already: choose another name or directory")
    words = re.split("[-_]", name)
    title = "".join(word[0].upper() + word[1:] for word in words)
    names = {
        "__NAME__": name,
        "__MODULE__": "_".join(words).lower(),
        "__CLASS__": f"{title}{kind.capitalize()}Connector",
        "__KIND__": kind,
    }
    root = resources.files(__name__)
    written = []
    for part in ("common", kind):
        for path, text in _files(root / part):
            file = target / _named(path.removesuffix(".txt"), names)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_named(text, names), encoding="utf-8")
            written.append(file)
    return sorted(written)


def _files(folder: Traversable, below: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _files(entry, f"{below}{entry.name}/")
        elif entry.name.endswith(".txt"):
            found.append((below + entry.name, entry.read_text(encoding="utf-8")))
    return found


def _named(text: str, names: dict[str, str]) -> str:
    for word, name in names.items():
        text = text.replace(word, name)
    return text
