# `make demo` and `make test` need only python3 (3.11 or newer) and make: they build .venv themselves.
PYTHON ?= python3
LOWEST_PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
BUILT_FROM := pyproject.toml setup.py $(wildcard src/hardzero/kernels/*.pyx src/hardzero/kernels/*.hpp)

EXTRAS_demo := cli,io,report

.PHONY: demo test lint types unit mutants lowest experiments reproduce bench docs graph clean

demo: $(VENV)/.demo
	$(BIN)/hardzero demo --output demo --force

test: lint types unit

# The oldest versions that pyproject.toml allows, with Python 3.11, for which all of them can be had: do they work?
LOWEST := .venv-lowest
LOWEST_TESTS := tests/cli/test_model.py tests/cli/test_signals.py tests/data/test_bounded.py tests/data/test_stacked.py \
	tests/estimators/test_estimators.py tests/ledger/test_ledger.py tests/model/test_file.py tests/model/test_onnx.py \
	tests/model/test_plain_text.py tests/model/test_tables.py tests/project/test_lowest.py \
	tests/readers/test_postgres.py tests/readers/test_readers.py tests/report/test_report.py \
	tests/reproduce/test_experiments.py tests/schema/test_columns.py tests/schema/test_encoder.py

lowest:
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python tools/lowest.py test > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps .
	PATH="$(CURDIR)/$(LOWEST)/bin:$$PATH" OMP_NUM_THREADS=1 $(LOWEST)/bin/pytest -q -n auto -m "not slow" $(LOWEST_TESTS)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --cov --cov-report=
	$(BIN)/coverage report --include='src/hardzero/privacy/*' --fail-under=100
	$(BIN)/coverage report

# MUTANTS holds options, such as MUTANTS="--only gaussian-halved" or MUTANTS="--jobs 8".
mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants.run $(MUTANTS)

experiments: $(VENV)/.reproduce
	$(BIN)/python experiments/select_refit.py
	$(BIN)/python experiments/select_refit_report.py

reproduce: $(VENV)/.reproduce
	$(BIN)/hardzero reproduce all --output experiments/results/reproduce
	$(BIN)/python experiments/reproduction_report.py

# BENCH holds options, such as BENCH=--quick or BENCH="--only steps".
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(BENCH)

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

# The picture of imports in docs/architecture.md, drawn from the source.
graph:
	$(PYTHON) tools/import_graph.py

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hardzero needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# An environment is what one make target needs: the package with the extras of the same name.
$(VENV)/.%: $(BIN)/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(or $(EXTRAS_$*),$*)]'
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) build demo dist site .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
