"""Schemas, values and headers: what a record carries."""
