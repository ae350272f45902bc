"""Records to HTTP services."""
