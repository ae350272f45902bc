"""Lines of a file to a topic, and back: the FileStream connectors."""
