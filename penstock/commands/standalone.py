"""`penstock standalone`: one worker that keeps its offsets in a file."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command()(standalone)


def standalone(
    worker: Annotated[
        Path, typer.Argument(metavar="worker.properties", help="The worker's settings.")
    ],
    connectors: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[connector.json …]",
            help="Connectors to create: a JSON map, a create request, or a .properties file.",
        ),
    ] = None,
) -> None:
    """Run one worker until Ctrl-C. More connectors can be added over its REST API.

    The settings are Kafka Connect's: bootstrap.servers, key.converter, value.converter and
    offset.storage.file.filename are needed, listeners says where the REST API is.
    Exits with 3 when a connector file can't be started.
    """
    from penstock import start

    start.standalone(worker, connectors or [])
