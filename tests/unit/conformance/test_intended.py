"""The differences we want: told in the docs, every one of them."""

from pathlib import Path

import pytest

from tests.conformance.intended import INTENDED
from tests.conformance.rest_cases import INTENDED_ANSWERS

DOCS = (Path(__file__).parents[3] / "docs" / "differences.md").read_text()


@pytest.mark.parametrize("told", sorted({each.told for each in (*INTENDED, *INTENDED_ANSWERS)}))
def test_an_intended_difference_is_in_the_docs(told):
    """Users find in docs/differences.md what the comparison lets pass."""
    assert told in DOCS
