# `make demo` and `make test` need only python3 (3.11 or newer) and make: they build .venv themselves.
PYTHON ?= python3
LOWEST_PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
BUILT_FROM := pyproject.toml setup.py $(wildcard src/hardzero/kernels/*.pyx src/hardzero/kernels/*.hpp)

.PHONY: demo test lint types unit mutants lowest experiments reproduce bench docs clean

demo: $(VENV)/.demo
	$(BIN)/hardzero demo --output demo --force

test: lint types unit

# The oldest versions that pyproject.toml allows, with Python 3.11, for which all of them can be had: do they work?
LOWEST := .venv-lowest
LOWEST_TESTS := $(addprefix tests/test_,cli_model.py data/bounded.py encoder.py estimators.py lowest.py model.py \
	model_file_tables.py onnx.py model/plain_text.py postgres.py readers.py report.py reproduce.py schema/columns.py signals.py data/stacked.py)

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
	$(BIN)/python experiments/flagship.py
	$(BIN)/python experiments/flagship_report.py

reproduce: $(VENV)/.reproduce
	$(BIN)/hardzero reproduce all --output experiments/results/reproduce
	$(BIN)/python experiments/reproduction_report.py

# BENCH holds options, such as BENCH=--quick or BENCH="--only steps".
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(BENCH)

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hardzero needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.demo: $(BIN)/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,io,report]'
	touch $@

$(VENV)/.dev: $(BIN)/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(VENV)/.reproduce: $(BIN)/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[reproduce]'
	touch $@

$(VENV)/.bench: $(BIN)/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

$(VENV)/.docs: $(BIN)/python $(BUILT_FROM)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) build demo dist site .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
