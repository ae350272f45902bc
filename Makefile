# Everything one runs here. `make help` lists it.

# Since 3.12 a task takes a third of the memory. So the Python that the images have is taken where there
# is one, then a newer one, then whatever python3 is; PYTHON=… names another. pyenv keeps them apart.
PYTHONS := $(foreach each,3.12 3.13 3.14,python$(each) $(wildcard $(PYENV_ROOT)/versions/$(each).*/bin/python$(each)))
WORKING = for each in $(PYTHONS); do $$each -c 'import ensurepip' 2> /dev/null && echo $$each && break; done
PYTHON ?= $(or $(shell $(WORKING)),python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# What this machine tells pip about its package index holds for uv as well.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
ifdef PIP_EXTRA_INDEX_URL
export UV_INDEX ?= $(PIP_EXTRA_INDEX_URL)
endif
ifdef PIP_CERT
export SSL_CERT_FILE ?= $(PIP_CERT)
endif
ifdef PIP_DEFAULT_TIMEOUT
export UV_HTTP_TIMEOUT ?= $(PIP_DEFAULT_TIMEOUT)
endif
# Compiled once, also where the environment forbids it: the cache lies in .venv, not beside the code.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
export PIP_RETRIES ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test unit integration spark bench micro chaos conformance lint format lock clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## a .venv with everything, .venv/bin/penstock included

demo: $(READY) ## see records flow, fail and be dead-lettered (DEMO_SECONDS=n ends it by itself)
	@$(BIN)/python -m penstock.demo

test: unit integration ## all tests; fetches what they need and leaves nothing behind

unit: $(READY) ## tests that need no server
	$(BIN)/python -m pytest tests/unit -q -n auto

integration: $(READY) ## tests against real Kafka, registry and PostgreSQL
	@$(BIN)/penstock stack fetch --registry
	@# Spark by itself: it gives its Python processes ten seconds to begin.
	$(BIN)/python -m pytest tests/integration/spark -q -m "not slow"
	$(BIN)/python -m pytest tests/integration tests/chaos --ignore tests/integration/spark -q -m "not slow" \
	  -n 3 --dist loadfile

spark: $(READY) ## all of Spark: clusters, Spark Connect, kills, the tutorial
	$(BIN)/python -m pytest tests/integration/spark tests/chaos/test_spark.py -q

conformance: $(READY) ## tests side by side with Apache Kafka Connect
	$(BIN)/python -m pytest tests/conformance -q

bench: $(READY) ## beside Apache Kafka Connect, doing the same work (W=name does one)
	$(BIN)/python -m bench $(W)

micro: $(READY) ## how long a record takes in converters, transforms, the JDBC sink, and dead letters' statistics
	$(BIN)/python -m bench.micro_converters
	$(BIN)/python -m bench.micro_transforms
	$(BIN)/python -m bench.micro_registry_converters
	$(BIN)/python -m bench.jdbc_sink
	$(BIN)/python -m bench.dlq_stats

chaos: $(READY) ## kill tasks, workers, a database and Spark again and again, and count what is left
	CHAOS_KILLS=$${CHAOS_KILLS:-50} CHAOS_ROWS=$${CHAOS_ROWS:-100000} \
	  SPARK_CHAOS_RECORDS=$${SPARK_CHAOS_RECORDS:-1000000} SPARK_CHAOS_KILLS=$${SPARK_CHAOS_KILLS:-3} \
	  $(BIN)/python -m pytest tests/chaos tests/integration/connectors/test_all_on_real_stack.py \
	  -q -s --timeout 3600

lint: $(READY) ## style, types, and which room may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(READY) ## renew requirements.lock from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --upgrade --quiet -o requirements.lock

clean: ## stop the stack and remove everything that was made here
	@if [ -x $(BIN)/penstock ]; then $(BIN)/penstock stack down; fi
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements.lock
	@command -v $(PYTHON) > /dev/null || { echo "Python is missing: install Python 3.11 or newer, or name it, as in: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, but $(PYTHON) is $$($(PYTHON) -V 2>&1): name a newer one, as in: make setup PYTHON=python3.12" >&2; exit 1; }
	@PYTHONPATH=. $(PYTHON) -B -m penstock.stack.java
	@test -x $(BIN)/python || $(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) could not make a virtual environment: install what the lines above ask for (on Debian and Ubuntu the package python3-venv)" >&2; exit 1; }
	@awk '/^uv==/ {found = 1} found {print} found && !/\\$$/ {exit}' requirements.lock > $(VENV)/uv.txt
	@{ $(BIN)/python -m pip install --quiet --require-hashes -r $(VENV)/uv.txt \
	  && VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --require-hashes -r requirements.lock \
	  && VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps -e . ; } \
	  || { echo "The Python packages could not be installed: check the network, and PIP_INDEX_URL if you have an index of your own; the lines above say more" >&2; exit 1; }
	@touch $@
