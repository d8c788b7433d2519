# Every target builds what it needs in .venv first; `python3` (3.11 or newer) and a package index are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test fuzz lint hooks coverage bench bench-quality bench-corrected clean

demo: $(VENV)/.installed
	$(BIN)/vrspam demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Certificates of 20,000 mild and 20,000 wild problems against exact rational arithmetic (about 20 minutes).
fuzz: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python tests/fuzz.py --cases 20000

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The same checks as `lint`, before each commit.
hooks: $(VENV)/.installed-dev
	$(BIN)/pre-commit install

coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term-missing:skip-covered

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

bench-quality: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.quality

# Whether the corrected AUC and its interval hold: an hour; stopped, it goes on where it was.
bench-corrected: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.corrected_scores --tried

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.*
	find src tests benchmarks -name __pycache__ -type d -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "vrspam needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[cli,plots,data]"
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[dev]"
	touch $@ $(VENV)/.installed
