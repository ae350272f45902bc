"""Made-up data for trying things out: the Datagen source."""

from connectors.datagen.connector import DatagenConnector

__all__ = ["DatagenConnector"]
