"""The `penstock` command."""

import sys
from pathlib import Path

from penstock.errors import UserError, tell


def main() -> None:
    """Run `penstock`. Exits with 1 and one sentence, 2 for wrong usage, 130 on Ctrl-C."""
    try:
        _run(sys.argv[1:])
    except KeyboardInterrupt:  # before or after typer had its hands on it
        sys.exit(130)
    except Exception as error:
        if not _is_for_the_user(error):
            raise
        tell(error)
        sys.exit(1)
    finally:
        # A Ctrl-C that comes while text is made code, as for a dataclass, is remembered by Python,
        # which would then end by the signal in place of the exit code. This makes it forget.
        exec("")  # noqa: S102


def _run(words: list[str]) -> None:
    match words:
        # They run at once: a worker would keep the command line's libraries in memory for life.
        case ["worker", properties] if not properties.startswith("-"):
            from penstock import start

            start.worker(Path(properties))
        case ["standalone", *files] if files and not any(f.startswith("-") for f in files):
            from penstock import start

            start.standalone(Path(files[0]), [Path(f) for f in files[1:]])
        case _:
            from penstock.app import build_app

            build_app()(prog_name="penstock")


def _is_for_the_user(error: Exception) -> bool:
    if isinstance(error, UserError):
        return True
    from connect.errors import ConnectError

    return isinstance(error, ConnectError)
