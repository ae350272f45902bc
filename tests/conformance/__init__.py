"""Penstock and Apache Kafka Connect side by side: the same configs, the same bytes, compared."""
