"""Real Kafka, schema registry and PostgreSQL on this machine: Java is all they need.

`stack.Stack` is what `penstock stack up|status|down` drives; `throwaway` gives the same servers to
tests and to the demo for as long as a `with` block lasts.
"""
