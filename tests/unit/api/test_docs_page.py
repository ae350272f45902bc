"""The page of the REST API."""

from api.docs_page import docs_page
from api.openapi import openapi
from api.routes import connectors, dlq, plugins


def test_every_operation_is_on_the_page_and_nothing_is_loaded_from_elsewhere():
    """Paths, summaries, parameters and bodies; no script, no other host."""
    document = openapi(
        operation for module in (connectors, dlq, plugins) for operation in module.routes.operations
    )
    document["info"]["title"] = "Worker <1>"

    page = docs_page(document)

    for path, operations in document["paths"].items():
        assert page.count(f"<code>{path}</code>") == len(operations)
    assert "Restart a connector, its tasks, or only what has failed" in page
    assert "includeTasks" in page
    assert "&quot;initial_state&quot;" in page
    assert "Worker &lt;1&gt;" in page
    assert "<script" not in page
    assert "http" not in page.replace("HTTP", "")
