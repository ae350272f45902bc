"""Penstock beside Apache Kafka Connect, doing the same work: `make bench`.

`works/` has one module a family of works, `sides.py` the workers that do them, `runs.py` how a work
is done on each in turn, `table.py`, `results.py` and `chart.py` what is told afterwards. The
`micro_*` modules time single parts.
"""
