"""The REST API: Kafka Connect's routes, served from a herder. See `api.app` and `api.server`."""
