# Two commands are enough: `make demo` and `make test`. Each installs what it needs first.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc)
TEST_WORKERS ?= 4# more than there are cores: many tests wait

.PHONY: help setup packages build demo test test-c test-asan test-py test-uml virtual bench lint fuzz clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 12

packages: ## install the Debian packages of debian-packages.txt that are missing
	@tools/install-packages debian-packages.txt

$(VENV)/.installed: pyproject.toml CMakeLists.txt debian-packages.txt
	@$(MAKE) --no-print-directory packages
	@echo "== Python environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade pip
	@$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

setup: $(VENV)/.installed ## packages, Python environment, build: everything the other targets need
	@$(MAKE) --no-print-directory build

build: ## compile the C tools into build/release/bin
	@echo "== C tools in build/release/bin"
	@cmake --preset release $(if $(V),,--log-level=WARNING) >/dev/null
	@cmake --build --preset release -j$(JOBS) $(if $(V),,-- --quiet)

demo: setup ## the LFP syndrome, seen: about five minutes with set-up, ends with a report
	@$(BIN)/lfp doctor --brief
	@$(BIN)/lfp run lfp-syndrome lfp-seqack --quick

test: setup test-c test-asan test-py ## all tests, C and Python

test-c:
	@echo "== C tests"
	@ctest --preset release -j$(JOBS)

test-asan:
	@echo "== C tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@cmake --preset asan --log-level=WARNING >/dev/null
	@cmake --build --preset asan -j$(JOBS) $(if $(V),,-- --quiet)
	@ctest --preset asan -j$(JOBS)

test-py:
	@echo "== Python tests, and those in virtual time, side by side"
	@$(BIN)/python -m pytest -m "not alone" -n $(TEST_WORKERS) --dist worksteal
	@echo "== namespace and browser tests, one at a time"
	@$(BIN)/python -m pytest -m alone

virtual: setup ## the virtual-time kernel for lfp run --time virtual (about 5 minutes, once; kept in ~/.cache/lfp)
	@tools/install-packages scenarios/virtual/debian-packages.txt
	@$(BIN)/python -m scenarios.virtual.kernel

test-uml: setup ## the netem back end and VLANs, inside user-mode Linux (a minute)
	@$(BIN)/python -m pytest tests/uml

bench: setup ## ratios measured side by side, and the published accuracy table; appends to bench-results.jsonl
	@$(BIN)/lfp bench --publish docs/accuracy.md

fuzz: setup ## every fuzz target for FUZZ_SECONDS (60)
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build --preset fuzz -j$(JOBS) -- --quiet
	@tools/fuzz-all build/fuzz $(FUZZ_SECONDS)

lint: setup ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/mypy tests

clean: ## remove what was built, not the runs
	rm -rf build $(VENV)
