# Two commands matter: `make book` and `make test`. Everything else is a line beside them.
# Only relative paths below: make can't handle a clone path that holds a space otherwise.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
ENGINE ?= $(if $(shell command -v quarto),quarto,builtin)
PORT   ?= 4200
PY     := .venv/bin/python

# nbgrader calls alembic by name, and quarto asks for the kernel's Python.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export QUARTO_PYTHON := $(CURDIR)/.venv/bin/python

# Two workers, a file of tests to each at a time: what a file shares is made once.
SPREAD := -n 2 --dist loadfile

BUNDLES := widgets/shardwise_widgets/static/.built

.PHONY: help setup book epub serve test test-all lint format grade solve release bench lock browser clean

help: ## Show these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

setup: .venv/.installed $(BUNDLES) ## Virtual environment, packages, widget bundles

.venv/.installed: requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Shardwise needs Python 3.11 or newer, and '$(PYTHON)' is not on PATH. Install it, or name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Shardwise needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv .venv || { rm -rf .venv; echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "Installing the pinned packages into .venv (about two minutes, once)"
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

widgets/node_modules/.installed: widgets/package-lock.json
	@command -v node >/dev/null || { echo "Shardwise needs Node.js 20 or newer to build its widgets, and 'node' is not on PATH. See https://nodejs.org"; exit 1; }
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || { echo "Shardwise needs Node.js 20 or newer, and this is $$(node --version)."; exit 1; }
	@command -v npm >/dev/null || { echo "Shardwise needs npm, and it is not on PATH. It comes with Node.js; on Debian: apt-get install npm"; exit 1; }
	npm --prefix widgets ci --silent --no-fund --no-audit
	@touch $@

# The folders are listed too: one changes when a file in it goes.
$(BUNDLES): widgets/node_modules/.installed widgets/build.mjs widgets/shardwise_widgets/look.json chapter/glossary.yml $(shell find widgets/src)
	npm --prefix widgets run --silent build
	@touch $@

book: setup ## Build the book into _book/
ifeq ($(ENGINE),quarto)
	$(PY) -m shardwise_book quarto
else
	$(PY) -m shardwise_book build
endif

serve: book ## Serve _book/ on http://localhost:4200, build what changes, reload
	$(PY) -m shardwise_book serve $(if $(filter builtin,$(ENGINE)),--watch) --port $(PORT)

epub: setup ## Write the book as shardwise.epub
	$(PY) -m shardwise_book epub shardwise.epub

test: setup browser ## Everything but the long suites (minutes)
	npm --prefix widgets test --silent
	$(PY) -m shardwise_book build --output .shardwise/tested  # runs all cells once, for every suite
	$(PY) -m pytest -m "not long" $(SPREAD) tests/lib lib --cov --cov-report=term --cov-fail-under=100
	$(PY) -m pytest -m "not long" $(SPREAD) tests tools exercises/shardwise_grading widgets/shardwise_widgets --ignore=tests/lib

test-all: test ## The long suites as well
	$(PY) -m pytest -m long

lint: setup ## Formatting, lint, types, import directions
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	npm --prefix widgets run --silent lint

format: setup ## Rewrite the Python sources in the house format
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

solve: release ## Open the exercises in JupyterLab, from copies in work/
	mkdir -p work
	cp -n exercises/release/distributed-training/*.ipynb work/
	.venv/bin/jupyter lab work $(LAB)

release: setup ## Make the folder for students in exercises/release/, and the book's downloads
	$(PY) -m shardwise_grading release distributed-training
	cp exercises/release/distributed-training/*.ipynb chapter/exercises/

grade: .venv/.installed ## Grade the sample class and print the table
	$(PY) -m shardwise_grading sample

bench: .venv/.installed ## Speed of the library against named peers (minutes)
	for script in benchmarks/bench_*.py; do echo "$$script"; $(PY) "$$script"; done

lock: ## Resolve the pins again (torch's own CUDA packages follow from its pin)
	.venv/bin/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-header --no-annotate --quiet \
	  | grep -vE '^(nvidia-|cuda-|triton=)' > requirements.lock.new
	@mv requirements.lock.new requirements.lock

# The browser tests need a Chromium; with no right to install one, say how.
browser:
	@for name in "$${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do \
	  if [ -n "$$name" ] && command -v "$$name" >/dev/null; then exit 0; fi; done; \
	if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	elif [ "$${CI:-}" = true ]; then sudo -n apt-get update -qq && sudo -n apt-get install -y -qq chromium >/dev/null; \
	else echo "The browser tests are skipped: no Chromium found. Install it (sudo apt-get install chromium) or set CHROMIUM=/path/to/it"; fi

clean: ## Remove what was built; keep the environment, the course and your work
	rm -rf _book .shardwise .quarto widgets/shardwise_widgets/static
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage
