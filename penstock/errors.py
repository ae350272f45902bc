"""What a command may tell its user."""


class UserError(Exception):
    """Something the user can put right. The command line prints the message and exits with 1.

    The message is a sentence that says what is wrong and what to do about it; no traceback follows.
    """
