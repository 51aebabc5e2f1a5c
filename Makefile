# make demo   debug the bundled sample in the terminal
# make test   run the default tests
# Both set up their own .venv; all they need is Python 3.10 or newer and a package registry.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: docs examples newcomer notebooks demo test test-all lint format generate check-generated extension clients benchmark fuzz fuzz-sim soak coverage mutation faults timing mutate release matrix setup clean

demo: $(VENV)/.runtime
	@$(BIN)/tdb-dap demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto -m ""

setup: $(VENV)/.dev

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "tdb-dap: error: no Python 3.10 or newer found; install one or set PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml setup.py $(wildcard tdb_dap/targets/kernel/*.[ch]) | $(VENV)/bin/python
	$(PIP) install -e .
	@touch $@

$(VENV)/.dev: pyproject.toml setup.py $(wildcard tdb_dap/targets/kernel/*.[ch]) | $(VENV)/bin/python
	$(PIP) install -e '.[dev]'
	@touch $@ $(VENV)/.runtime

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m scripts.dead_code

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Code made from schemas; check-generated fails if a file in the tree is not what its generator writes.
GENERATORS := bmodel_reader protocol extension_schema extension_types capabilities python_reference release_files

generate: $(VENV)/.dev
	for name in $(GENERATORS); do $(BIN)/python -m scripts.generate_$$name || exit 1; done

check-generated: $(VENV)/.dev
	for name in $(GENERATORS); do $(BIN)/python -m scripts.generate_$$name --check || exit 1; done

# The site of docs/, build/site/index.html; warnings and dead links are errors.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true PYTHONPATH=. $(BIN)/python -m mkdocs build --strict

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install -e '.[docs]'
	@touch $@

# What is published, from the commit that is checked out, into dist/; TWICE=--twice builds it again and compares.
release: $(VENV)/.release
	$(BIN)/python -m scripts.release $(TWICE)

# What is in dist/ in clean environments, on every Python that is there; MATRIX="-s install-3.12" narrows it.
matrix: $(VENV)/.release
	$(BIN)/python -m nox $(MATRIX)

$(VENV)/.release: $(VENV)/.dev
	$(PIP) install -e '.[release]'
	@touch $@

extension:
	cd vscode-extension && npm ci --no-fund --no-audit && npm run build && npm run package

clients: $(VENV)/.dev extension
	tests/clients/run debugclient emacs vscode theia kate

# With TDB_VENDOR_PYTHON set (see benchmarks/simulate.py --help) beside the vendor's tools.
benchmark: $(VENV)/.dev
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/decode.py
	$(BIN)/python benchmarks/time_travel.py
	$(BIN)/python benchmarks/dap.py
	$(BIN)/python benchmarks/sanitize.py
	$(BIN)/python benchmarks/simulate.py --short

# Our semantics against the vendor's simulator on random commands; rewrites the tables of docs/fidelity.md. Long.
# FUZZ="--chips bm1688 --only 'conv.*' --show 2" narrows it and shows what differs.
FUZZ ?= --write docs/fidelity.md

fuzz-sim: $(VENV)/.dev
	$(BIN)/python -m scripts.fuzz_simulator $(FUZZ)

# Recorded models, each a context with input.npz and ref.npz
MODELS ?= tests/data

# The examples installed into an environment of their own, with nothing of this directory on the path
examples: $(VENV)/.dev
	rm -rf build/examples && $(PYTHON) -m venv build/examples
	build/examples/bin/python -m pip --disable-pip-version-check --quiet install . ./examples/toy-chip ./examples/nan-log ./examples/board pytest
	cd build/examples && bin/python -m pytest -q -c /dev/null --rootdir ../../examples ../../examples

# The tutorial, command by command, in a copy of the project with a new environment and an empty home
newcomer:
	$(PYTHON) tests/docs/transcripts.py docs/tutorial.md

# Execute the example notebooks and keep what they show
notebooks: $(VENV)/.dev
	$(BIN)/python -m scripts.execute_notebooks

timing: $(VENV)/.dev
	$(BIN)/python -m scripts.compare_timing $(MODELS) --write docs/profile.md

faults: $(VENV)/.dev
	$(BIN)/python -m scripts.inject_faults $(MODELS)

# Faults in compiled models, made on purpose, and which sanitizer finds them; rewrites the table of docs/sanitizers.md.
MUTATE ?= --write docs/sanitizers.md

mutate: $(VENV)/.dev
	$(BIN)/python -m scripts.mutate_models $(MUTATE)

# Every parser under a coverage-guided fuzzer; rewrites a table of docs/hardening.md, as do the next three.
# FUZZ_TARGETS="--seconds 600 session" chooses.
FUZZ_TARGETS ?= --write

fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzz $(FUZZ_TARGETS)

soak: $(VENV)/.dev
	$(BIN)/python benchmarks/soak.py --write

coverage: $(VENV)/.dev
	$(BIN)/python -m scripts.measure_coverage

mutation: $(VENV)/.dev
	$(BIN)/python -m scripts.mutation --write

clean:
	rm -rf $(VENV) build dist *.egg-info vscode-extension/node_modules vscode-extension/dist
