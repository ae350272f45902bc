"""Apache Kafka Connect itself, run beside our worker to decide what is right. For tests only."""
