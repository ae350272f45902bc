"""The connectors that come with Penstock pass the suites on a real Kafka as they do in memory."""

from pathlib import Path

import pytest

from penstock.testing import SinkOnKafkaSuite, SourceOnKafkaSuite
from tests.unit.connectors.datagen import test_datagen as datagen
from tests.unit.connectors.files import test_sink as files
from tests.unit.connectors.http import test_sink as http
from tests.unit.connectors.jdbc import test_sink as jdbc_sink
from tests.unit.connectors.jdbc import test_source as jdbc_source

pytest_plugins = ["penstock.pytest_plugin"]
pytestmark = pytest.mark.slow  # `make chaos` has the time


class TestJdbcSinkOnKafka(jdbc_sink.TestJdbcSink, SinkOnKafkaSuite):
    def config(self, place):
        return {**super().config(place), "table.name.format": "test"}


class TestJdbcSourceOnKafka(jdbc_source.TestTimestampIncrementing, SourceOnKafkaSuite):
    pass


class TestHttpSinkOnKafka(http.TestHttpSink, SinkOnKafkaSuite):
    pass


class TestFilesSinkOnKafka(files.TestFilesSink, SinkOnKafkaSuite):
    def written(self, place):
        # Whoever is killed while it writes leaves a hidden draft, which no reader takes for a file.
        names = [name for name in files.files(place) if not Path(name).name.startswith(".")]
        return [record for name in names for record in files.lines(place, name)]


class TestDatagenOnKafka(datagen.TestDatagenConforms, SourceOnKafkaSuite):
    count = 100

    def config(self, place):
        return {**super().config(place), "max.interval": "2"}
