# Every task a person or CI runs. Each target installs what it needs, once, into $(VENV).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # two pips must not write one environment
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
CORPUS ?= $(wildcard ../shared/corpus/*_public.jsonl.gz)
PYTEST_ARGS ?=
SEEDS ?= 1000
SIMULATE_ARGS ?=
HISTORIES ?= 1000

PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --progress-bar off --constraint constraints.txt
PYTEST := $(PY) -m pytest -n $(WORKERS) --dist loadfile

export PYTHON
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# Tests are compiled once, and not by every worker of every run.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

# --- use --------------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/.stamp-core ## a self-contained tour; needs no account and changes nothing outside this folder
	@$(VENV)/bin/holdfast demo

# --- check ------------------------------------------------------------------------------------------------------------

.PHONY: test
test: $(VENV)/.stamp-dev ## all tests, in random order (CI=true: a skipped test is a failure)
	@$(PYTEST) $(PYTEST_ARGS)

.PHONY: test-fast
test-fast: $(VENV)/.stamp-dev ## the tests that need no server and no patience: under two minutes of CPU
	@HYPOTHESIS_PROFILE=fast $(PYTEST) -m "not server and not slow" $(PYTEST_ARGS)

.PHONY: secrecy
secrecy: $(VENV)/.stamp-dev ## HISTORIES=n random histories with secrets in them; every byte that comes out is searched
	@$(PY) -m tests.secrecy $(HISTORIES) --workers $(WORKERS)

.PHONY: simulate
simulate: $(VENV)/.stamp-dev ## whole histories on virtual time against the promises: make simulate SEEDS=10000
	@$(PY) -m tests.simulation --seeds $(SEEDS) --jobs $(WORKERS) --shrink $(SIMULATE_ARGS)

.PHONY: lint
lint: $(VENV)/.stamp-dev ## style, formatting, words, types, layers
	@echo "==> ruff check"; $(PY) -m ruff check --quiet .
	@echo "==> ruff format"; $(PY) -m ruff format --quiet --diff .
	@echo "==> words"; $(PY) tools/check_words.py
	@echo "==> mypy"; $(PY) -m mypy
	@echo "==> import-linter"; $(VENV)/bin/lint-imports --no-logo

.PHONY: format
format: $(VENV)/.stamp-dev ## let ruff fix and format what it can
	@$(PY) -m ruff check --quiet --fix . || true
	@$(PY) -m ruff format .

.PHONY: docs
docs: $(VENV)/.stamp-dev ## build the site into site/; a broken link fails
	@echo "==> mkdocs"; NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict

# --- measure ----------------------------------------------------------------------------------------------------------

.PHONY: bench
bench: $(VENV)/.stamp-dev $(VENV)/.stamp-bench ## speed beside the peers and error rates on the corpus, into docs/
	@mkdir -p .make
	@for script in $(sort $(wildcard tests/benchmarks/bench_*.py)); do \
	  name=$$(basename "$$script" .py); echo "==> $$script"; $(PY) "$$script" | tee .make/$$name.md; \
	  $(PY) tools/replace_section.py docs/performance.md "$$name" < .make/$$name.md; \
	done
ifeq ($(strip $(CORPUS)),)
	@echo "==> no corpus beside this folder: error rates not measured (make bench CORPUS='a.jsonl.gz b.jsonl.gz')"
else
	@echo "==> holdfast bench verdicts"
	@$(VENV)/bin/holdfast bench verdicts $(CORPUS)
	@$(VENV)/bin/holdfast bench verdicts -o markdown $(CORPUS) | $(PY) tools/replace_section.py docs/accuracy.md rates
	@$(VENV)/bin/holdfast bench verdicts -o markdown --no-schema $(CORPUS) \
	  | $(PY) tools/replace_section.py docs/accuracy.md rates-without-schema
endif

# --- build --------------------------------------------------------------------------------------------------------------

.PHONY: wheel
wheel: $(VENV)/.stamp-dev ## a pure wheel into dist/, for every platform
	@HOLDFAST_COMPILE=0 $(PY) -m hatchling build -t wheel

.PHONY: wheel-compiled
wheel-compiled: $(VENV)/.stamp-dev ## a wheel for this platform with the comparison compiled; needs a C compiler
	@HOLDFAST_COMPILE=1 $(PY) -m hatchling build -t wheel

# --- keep -------------------------------------------------------------------------------------------------------------

.PHONY: lock
lock: $(VENV)/.stamp-venv ## recompile constraints.txt from pyproject.toml (UPGRADE=1: to the newest versions)
	@$(PY) -m pip install -qq --progress-bar off uv
	@$(PY) -m uv pip compile --quiet --universal --python-version 3.11 --all-extras --strip-extras \
	  --no-emit-index-url --no-annotate --no-header $(if $(UPGRADE),--upgrade) \
	  --output-file constraints.txt pyproject.toml >/dev/null
	@if grep -nE '://|^-| @ ' constraints.txt; then echo "constraints.txt must name no address" >&2; exit 1; fi
	@echo "constraints.txt: $$(wc -l < constraints.txt) pins"

.PHONY: clean
clean: ## remove what was built, and caches; keep the environment
	@rm -rf build dist site .make .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src packages tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## clean, and remove the environment too
	@rm -rf $(VENV)

# --- installation, stamped so that it happens once per change of pyproject.toml or constraints.txt -------------------

$(VENV)/.stamp-venv:
	@tools/make-venv $(VENV)
	@touch $@

# The build backend comes from the constraints too, hence no build isolation.
$(VENV)/.stamp-core: pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	@echo "==> installing holdfast"
	@$(PIP) hatchling
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/.stamp-%: pyproject.toml packages/holdfast-emulators/pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	@echo "==> installing holdfast[$*] and the emulators (about a minute the first time)"
	@$(PIP) hatchling
	@$(PIP) --no-build-isolation --editable '.[$*]' --editable packages/holdfast-emulators
	@touch $@
