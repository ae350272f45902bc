"""`python -m penstock`, for when the command is not on the PATH."""

from penstock.cli import main

main()
