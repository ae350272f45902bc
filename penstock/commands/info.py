"""`penstock info`: the worker that is asked."""

import typer

from penstock.options import DEFAULT_URL, Output, OutputOption, UrlOption, client


def register(root: typer.Typer) -> None:
    root.command()(info)


def info(url: UrlOption = DEFAULT_URL, output: OutputOption = Output.TEXT) -> None:
    """Show the worker's version, its Kafka cluster and its health."""
    from penstock import show
    from penstock.client import WorkerError

    worker = client(url)
    answer = {"url": worker.url, **worker.get("/")}
    try:
        answer["health"] = worker.get("/health")["message"]
    except WorkerError as error:  # 503 while it starts, 500 when it is stuck, 404 before Kafka 3.9
        answer["health"] = str(error)
    if output is Output.JSON:
        show.print_json(answer)
        return
    names = {key: key.replace("_", " ").capitalize() + ":" for key in answer}
    width = max(map(len, names.values())) + 2
    for key, value in answer.items():
        typer.echo(f"{names[key]:<{width}}{value}")
