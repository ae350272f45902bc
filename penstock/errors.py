"""What a command may tell its user."""

import sys


class UserError(Exception):
    """Something the user can put right. The command line prints the message and exits with 1.

    The message is a sentence that says what is wrong and what to do about it; no traceback follows.
    """


def tell(error: Exception) -> None:
    """Print an error's sentence, unless that was done already."""
    if not getattr(error, "told", False):
        print(f"penstock: {error}", file=sys.stderr, flush=True)
        error.told = True  # type: ignore[attr-defined]
