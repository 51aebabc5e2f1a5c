# `make` or `make help` lists the targets. Everything is installed into .venv; all that is needed is Python 3.10 or newer
# and a package registry (Node 20 for the extension). Rarer tasks: scripts/README.md.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := pyproject.toml setup.py tdb_dap/version.py $(wildcard tdb_dap/targets/kernel/*/*.[ch] tdb_dap/backends/recorder/library/*.[ch])

# Options for the command of a target: make test ARGS=tests/cli, make fuzz ARGS="--seconds 10 address"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test setup lint format docs extension bench fuzz clients release clean

help: ## list the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1 \2/p' Makefile | awk '{ printf "  %-5s%-10s", $$1, $$2; $$1 = $$2 = ""; print }'

demo: $(VENV)/.runtime ## debug the bundled sample in this terminal
	@$(BIN)/tdb-dap demo $(ARGS)

test: $(VENV)/.dev ## run the default tests, in parallel; one file: make test ARGS=tests/cli/test_run.py
	$(BIN)/python -m pytest -n auto $(ARGS)

setup: $(VENV)/.dev ## make .venv with everything for development

lint: $(VENV)/.dev ## ruff, mypy and the search for dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy examples/board examples/gpu-backend examples/nan-log examples/toy-chip
	$(BIN)/python -m scripts.dead_code

format: $(VENV)/.dev ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs ## build the site, build/site/index.html; warnings and dead links are errors
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true PYTHONPATH=. $(BIN)/python -m mkdocs build --strict

extension: $(VENV)/.dev ## build the VS Code extension, vscode-extension/tdb-dap.vsix; ARGS=--platform: with its own Python
	$(BIN)/python -m scripts.extension $(ARGS)

bench: $(VENV)/.dev ## measure start-up, decoding, steps and runs; beside the vendor's tools with TDB_VENDOR_PYTHON set
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/decode.py
	$(BIN)/python benchmarks/time_travel.py
	$(BIN)/python benchmarks/dap.py
	$(BIN)/python benchmarks/sanitize.py
	$(BIN)/python benchmarks/simulate.py --short

fuzz: $(VENV)/.dev ## run every parser under a coverage-guided fuzzer; others: scripts/robustness/README.md
	$(BIN)/python -m scripts.robustness.fuzz_parsers $(ARGS)

clients: $(VENV)/.dev extension ## drive real editors: VS Code, Emacs, DebugClient, Theia, Kate, Neovim
	tests/clients/run debugclient emacs vscode pages install theia kate neovim

release: $(VENV)/.release ## build the last commit into dist/; ARGS=--twice builds again and compares the bytes
	$(BIN)/python -m scripts.release $(ARGS)

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) build dist *.egg-info vscode-extension/node_modules vscode-extension/dist

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "tdb-dap: error: no Python 3.10 or newer found; install one or set PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: $(SOURCES) | $(VENV)/bin/python
	$(PIP) install -e .
	@touch $@

$(VENV)/.dev: $(SOURCES) | $(VENV)/bin/python
	$(PIP) install -e '.[dev]'
	@touch $@ $(VENV)/.runtime

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install -e '.[docs]'
	@touch $@

$(VENV)/.release: $(VENV)/.dev
	$(PIP) install -e '.[release]'
	@touch $@
