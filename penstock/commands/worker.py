"""`penstock worker`: one of the workers of a cluster."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command()(worker)


def worker(
    properties: Annotated[
        Path, typer.Argument(metavar="worker.properties", help="The worker's settings.")
    ],
) -> None:
    """Run one worker of a cluster until Ctrl-C or SIGTERM; others with the same group.id share
    its work.

    The settings are Kafka Connect's: beside bootstrap.servers, key.converter and value.converter
    they name the group.id and the topics config.storage.topic, offset.storage.topic and
    status.storage.topic, which are created if they are not there.
    """
    from penstock import start

    start.worker(properties)
