"""Loaded last by the fork server: nothing that it has loaded is looked at by a collector again.

The collector writes to each object that it looks at. In a child that would be a copy of every page
which it shares with the others.
"""

import gc

gc.collect()
gc.freeze()
