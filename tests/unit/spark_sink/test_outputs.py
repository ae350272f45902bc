"""Where batches are written, as far as it shows without Spark."""

from types import SimpleNamespace

import pytest

from spark_sink.outputs import _Files


@pytest.mark.parametrize(
    ("path", "default"), [("s3a://b/x", "file:///"), ("gs://b/x", "hdfs://n"), ("/x", "s3a://b")]
)
def test_nothing_is_renamed_in_object_stores(path, default):
    """Their renames copy piece by piece, so folders are written anew; no jar is asked for that."""
    configuration = {"fs.defaultFS": default}
    java = SimpleNamespace(hadoopConfiguration=lambda: configuration)
    assert _Files.of(SimpleNamespace(_jvm=object(), _jsc=java), path) is None
