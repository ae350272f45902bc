"""`penstock dlq`: see, test and replay dead letters."""

import gc
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.dlq_options import Author, Filters, Testing, Where, spread
from penstock.errors import UserError
from penstock.options import Output, OutputOption

_HELP = "See, test and replay dead letters."

app = typer.Typer(no_args_is_help=True)

_FOLLOW_SECONDS = 2.0
# A terminal shows the newest letters; a file gets all.
_SHOWN_LETTERS = 50


@app.callback()
def _prepare() -> None:
    """Let the collector of cycles rest: letters have none, and it would look at millions."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="dlq", help=_HELP)


Letters = Annotated[
    list[str],
    typer.Argument(metavar="TOPIC | LETTER…", help="A topic, or letters: topic/partition/offset."),
]
StateOption = Annotated[str, typer.Option(help="open, replayed, dismissed (with commas) or all.")]
FollowOption = Annotated[bool, typer.Option("-f", "--follow", help="Keep it up to date.")]


@app.command()
@spread
def ls(
    *,
    letters: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC | LETTER…]", help="A topic; without, topics are listed."),
    ] = None,
    filters: Filters,
    state: StateOption = "open",
    follow: FollowOption = False,
    where: Where,
    output: OutputOption = Output.TEXT,
) -> None:
    """List the dead-letter topics of all connectors, or the letters of one topic."""
    import msgspec

    from dlq.desk import topics_of
    from penstock import dlq_show, show

    access = where.access()
    if not letters:
        _print(
            lambda: access.desk.summaries(topics_of(access.configs)),
            dlq_show.summaries_table,
            output,
            follow=follow,
        )
        return
    topic, selection = filters.selection(letters, state)
    if filters.limit is None and show.console().is_terminal:
        selection = msgspec.structs.replace(selection, limit=_SHOWN_LETTERS)
    _print(
        lambda: access.desk.rows(topic, selection),
        lambda rows: dlq_show.rows_table(topic, rows),
        output,
        follow=follow,
    )


@app.command()
@spread
def stats(
    *,
    letters: Letters,
    filters: Filters,
    state: StateOption = "open",
    follow: FollowOption = False,
    spark: Annotated[
        bool, typer.Option("--spark", help="Count on Spark, without the index of this machine.")
    ] = False,
    spark_master: Annotated[str, typer.Option(help="Where Spark runs, as spark.master.")] = (
        "local[*]"
    ),
    where: Where,
    output: OutputOption = Output.TEXT,
) -> None:
    """Group letters by cause, with their counts over time."""
    from penstock import dlq_show

    access = where.access()
    topic, selection = filters.selection(letters, state)
    if not spark:
        _print(
            lambda: access.desk.stats(topic, selection), dlq_show.stats_page, output, follow=follow
        )
        return
    if follow:
        raise UserError("Give --spark or --follow, not both: following reads the index.")
    with access.spark(spark_master) as session:
        from spark_sink.letter_stats import stats as on_spark

        groups = on_spark(session, access.desk, access.worker, topic, selection)
    _print(lambda: groups, dlq_show.stats_page, output, follow=False)


@app.command("show")
@spread
def show_letters(
    *,
    letters: Annotated[
        list[str], typer.Argument(metavar="LETTER…", help="topic/partition/offset.")
    ],
    testing: Testing,
    mask: Annotated[str, typer.Option(help="Fields to hide, with commas; * for all.")] = "",
    where: Where,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show letters with everything in them: the error, the record, the headers."""
    from dlq.masking import Mask
    from dlq.reader import Place
    from dlq.selection import parse_place
    from dlq.showing import letter_document
    from penstock import dlq_show, show

    access = where.access()
    hidden = Mask(mask.split(","))
    documents = []
    for name in letters:
        topic, span = parse_place(name)
        if span is None:
            raise UserError(f"'{name}' is a topic: `penstock dlq ls {name}` lists its letters.")
        with access.retest(topic, testing.config, testing.timeout) as retest:
            for offset in range(span.start, span.end):
                letter, mark = access.desk.letter(topic, Place(span.partition, offset))
                documents.append(letter_document(letter, mark, retest.decode(letter), hidden))
    if output is Output.JSON:
        show.print_json(documents if len(documents) > 1 else documents[0])
        return
    for document in documents:
        show.console().print(dlq_show.letter_page(document))


@app.command("test")
@spread
def retest(
    *,
    letters: Letters,
    testing: Testing,
    filters: Filters,
    state: StateOption = "open",
    where: Where,
    output: OutputOption = Output.TEXT,
) -> None:
    """Try which letters would pass the converters and transforms now. Nothing is written."""
    import msgspec

    from dlq.probe import Outcome, grouped
    from penstock import dlq_show, show

    access = where.access()
    topic, selection = filters.selection(letters, state)
    with access.retest(topic, testing.config, testing.timeout) as pipelines:

        def outcomes() -> Iterator[Outcome]:
            for batch in access.desk.letters(topic, selection):
                yield from pipelines.test(batch)

        counts = grouped(outcomes())
    if output is Output.JSON:
        show.print_json([{**msgspec.to_builtins(o), "count": n} for o, n in counts.items()])
    else:
        show.console().print(dlq_show.outcomes_page(counts))
    for problem in access.problems:
        typer.echo(f"penstock: {problem}", err=True)


@app.command()
@spread
def replay(
    *,
    letters: Letters,
    to: Annotated[
        str, typer.Option(help="original, topic:NAME, or sink (the connector alone).")
    ] = "original",
    passing: Annotated[bool, typer.Option(help="Only letters that pass the re-test.")] = False,
    patch: Annotated[Path | None, typer.Option(help="A JSON Patch (RFC 6902) of values.")] = None,
    edit: Annotated[
        Path | None, typer.Option(help="A config whose transforms change the records.")
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Say what would happen, write nothing.")] = False,
    rate: Annotated[float | None, typer.Option(min=0.1, help="Records a second at most.")] = None,
    max_attempts: Annotated[
        int, typer.Option(min=1, help="Leave letters that were replayed so often.")
    ] = 3,
    testing: Testing,
    filters: Filters,
    author: Author,
    where: Where,
    output: OutputOption = Output.TEXT,
) -> None:
    """Send open letters again, each once. Killed or stopped, start it again and it goes on."""
    from dlq.replay import SINK, Plan, parse_target

    access = where.access()
    topic, selection = filters.selection(letters, "open")
    plan = Plan(
        topic,
        selection,
        to=parse_target(to),
        by=author.name,
        note=author.note,
        rate=rate,
        max_attempts=max_attempts,
        dry_run=dry_run,
    )
    if patch is not None and edit is not None:
        raise UserError("Give --patch or --edit, not both.")
    with ExitStack() as parts:
        more: dict[str, Any] = {}
        if passing:
            pipelines = access.retest(topic, testing.config, testing.timeout)
            more["test"] = parts.enter_context(pipelines).test
        if patch is not None:
            more["edit"] = access.patch(patch)
        if edit is not None:
            own = access.connector(topic, filters.connector, testing.config)
            more["edit"] = access.transforms(own, edit)
        if plan.to == SINK:
            own = access.connector(topic, filters.connector, testing.config)
            more["config"] = own
            # Who gives a connector's name with a file says whose config the file is.
            more["connector"] = filters.connector or own["name"]
            if not dry_run:
                more["delivery"] = parts.enter_context(access.delivery(own))
        _run(access.desk, plan, more, output)


def _run(desk: Any, plan: Any, parts: dict[str, Any], output: Output) -> None:
    """Run with a progress bar; the first Ctrl-C ends it after the batch under way."""
    import msgspec
    from rich.console import Console
    from rich.progress import Progress as Bar

    from dlq.replay import Progress, Replay
    from penstock import dlq_show, show

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Looking" if plan.dry_run else "Replaying", total=None)

        def told(progress: Progress) -> None:
            bar.update(task, total=progress.total, completed=progress.seen)

        job = Replay(desk, plan, on_progress=told, **parts)
        before = signal.getsignal(signal.SIGINT)

        def interrupted(*_: Any) -> None:
            job.stop()
            # A second one ends it at once; nothing is left half done.
            signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, interrupted)
        try:
            done = job.run()
        finally:
            signal.signal(signal.SIGINT, before)
    if output is Output.JSON:
        show.print_json(msgspec.to_builtins(done))
    else:
        show.console().print(dlq_show.replay_page(done, dry_run=plan.dry_run))
    if done.stopped:
        raise typer.Exit(1)


@app.command()
@spread
def dismiss(
    *,
    letters: Letters,
    filters: Filters,
    author: Author,
    where: Where,
    output: OutputOption = Output.TEXT,
) -> None:
    """Put open letters away: they are not shown any more unless asked for."""
    topic, selection = filters.selection(letters, "open")
    _mark(where, topic, selection, author, state="dismissed", output=output)


@app.command()
@spread
def reopen(
    *,
    letters: Letters,
    filters: Filters,
    state: StateOption = "dismissed,replayed",
    author: Author,
    where: Where,
    output: OutputOption = Output.TEXT,
) -> None:
    """Open dismissed and replayed letters again."""
    topic, selection = filters.selection(letters, state)
    _mark(where, topic, selection, author, state="open", output=output)


def _mark(
    where: Where, topic: str, selection: Any, author: Author, *, state: str, output: Output
) -> None:
    from dlq.selection import State
    from penstock import show

    count = where.access().desk.mark(topic, selection, State(state), author.name, author.note)
    if output is Output.JSON:
        show.print_json({"topic": topic, "state": state, "letters": count})
    else:
        print(f"{count} letters of {topic} are {state} now.")


def _print(load: Any, render: Any, output: Output, *, follow: bool) -> None:
    import msgspec

    from penstock import show

    if output is Output.JSON and follow:
        show.watch_json(lambda: msgspec.to_builtins(load()), _FOLLOW_SECONDS)
    elif output is Output.JSON:
        show.print_json(msgspec.to_builtins(load()))
    elif follow:
        show.watch(lambda: render(load()), _FOLLOW_SECONDS)
    else:
        show.console().print(render(load()))
