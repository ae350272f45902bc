"""The page of the REST API."""

from fastapi import FastAPI

from api.docs_page import docs_page
from api.routes import connectors, dlq, plugins


def test_every_operation_is_on_the_page_and_nothing_is_loaded_from_elsewhere():
    """Paths, summaries, parameters and bodies; no script, no other host."""
    app = FastAPI(title="Worker <1>", version="1.0")
    for module in (connectors, dlq, plugins):
        app.include_router(module.routes)
    document = app.openapi()

    page = docs_page(document)

    for path, operations in document["paths"].items():
        assert page.count(f"<code>{path}</code>") == len(operations)
    assert "Restart a connector, its tasks, or only what has failed" in page
    assert "includeTasks" in page
    assert "&quot;initial_state&quot;" in page
    assert "Worker &lt;1&gt;" in page
    assert "<script" not in page
    assert "http" not in page.replace("HTTP", "")
