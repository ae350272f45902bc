"""The commands, one module a group. The command line finds them by itself.

A module here has a function `register(app)` that adds its commands. It is imported at every start
of the command, so it imports what is heavy inside the functions that need it.
"""
