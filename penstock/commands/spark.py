"""`penstock spark`: what a Spark cluster needs to run Penstock's queries."""

import pkgutil
import site
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from penstock.errors import UserError

app = typer.Typer(
    no_args_is_help=True,
    help="Bring Penstock to a Spark cluster, and see whether it is there. See docs/spark.md.",
)

_LEFT_OUT = {"__pycache__", ".pytest_cache", ".mypy_cache"}
# Executors have Spark itself. Its jars alone would be two thirds of the archive.
_SPARKS_OWN = ("pyspark/jars", "pyspark/examples", "pyspark/data", "pyspark/licenses")


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="spark")


@app.command()
def pack(
    file: Annotated[Path, typer.Argument(help="The archive to write.")] = Path(
        "penstock-env.tar.gz"
    ),
) -> None:
    """Pack this Python environment for executors.

    They unpack it and run it with the Python that it was made with, which must be installed on
    them at the same place.
    """
    if sys.prefix == sys.base_prefix:
        raise UserError(
            "This Python is no virtual environment, so there is nothing to pack. Install Penstock "
            "in one (python -m venv env; env/bin/pip install 'penstock[spark]') and use that."
        )
    new = file.with_name(file.name + ".new")
    # A higher level takes many times as long and saves little: most of it is machine code.
    with tarfile.open(new, "w:gz", compresslevel=1) as archive:
        archive.add(sys.prefix, arcname=".", filter=_wanted)
        for source, target in _editable():
            archive.add(source, arcname=target, filter=_wanted)
    new.replace(file)
    typer.echo(f"{file}: {file.stat().st_size / 2**20:.0f} MB. In the connector's config:")
    typer.echo(f'  "spark.conf.spark.archives": "{file.resolve()}#environment"')
    typer.echo('  "spark.conf.spark.pyspark.python": "./environment/bin/python"')


def _wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    left_out = _LEFT_OUT & set(Path(member.name).parts) or member.name.endswith(_SPARKS_OWN)
    return None if left_out else member


def _editable() -> Iterator[tuple[Path, str]]:
    """Packages that are installed as a link to their sources, and their places in the archive."""
    for packages in map(Path, site.getsitepackages()):
        inside = packages.relative_to(sys.prefix)
        folders = {
            Path(line)
            for link in packages.glob("*.pth")
            for line in link.read_text().splitlines()
            if Path(line).is_absolute() and Path(line).is_dir()
        }
        for folder in sorted(folders):
            for module in pkgutil.iter_modules([str(folder)]):
                name = module.name if module.ispkg else f"{module.name}.py"
                if (folder / name).exists():
                    yield folder / name, f"{inside}/{name}"


@app.command()
def check(
    master: Annotated[str, typer.Option(help="Where Spark runs, as spark.master.")] = "local[*]",
    remote: Annotated[str, typer.Option(help="A Spark Connect server, as spark.remote.")] = "",
    conf: Annotated[list[str] | None, typer.Option(help="key=value for Spark, repeatable.")] = None,
) -> None:
    """Ask executors whether they have what they need. Exits with 1 if one has not."""
    from spark_sink.check import executors
    from spark_sink.session import sparks_words, start_session

    config = {"spark.master": master, "spark.remote": remote}
    config |= {
        f"spark.conf.{key}": value for key, _, value in (c.partition("=") for c in conf or [])
    }
    missing = False
    with sparks_words():
        spark = start_session(config, "check")
        try:
            for told in executors(spark):
                missing |= bool(told.missing)
                typer.echo(str(told))
        finally:
            spark.stop()
    if missing:
        raise typer.Exit(1)
