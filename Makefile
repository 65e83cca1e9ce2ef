# Two commands are enough: `make demo` and `make test`. Each of them first installs what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
FUZZ_SECONDS ?= 60
DEMO := lfp-syndrome lfp-seqack
JOBS ?= $(shell nproc)
TEST_WORKERS ?= $(shell echo $$((2 * $$(nproc) + 1)))# more than there are cores: many tests wait

# Where the environment forbids compiled modules, every lfp and every guest would compile all of ours anew.
unexport PYTHONDONTWRITEBYTECODE

PACKAGES := netcommon comet_delay rttcp pktlogger lft_ref scenarios dashboard lfp bench
TOOLS := comet-delay lft-gateway lft-sim pktlogger rttcp timer-witness
C_FILES := git ls-files '*.c' '*.h' '*.cc'
SHELL_FILES := .ci/run tools/fuzz-all tools/install-packages tools/completion.bash tools/lfp-completion.bash debian/stage examples/github-action/gate.sh \
	examples/gateways/kubo/kubo.sh lft_ref/proof/run

.PHONY: FORCE help setup packages build demo test test-c test-asan test-cost test-py test-uml mutants virtual bench \
	findings papers docs tables pictures lint fuzz fuzz-crashes proof clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 12

packages: ## install the Debian packages of debian-packages.txt that are missing
	@tools/install-packages debian-packages.txt

# An editable installation maps modules by name, so it must be made again when a module is added, moved or removed.
$(VENV)/.modules: FORCE
	@mkdir -p $(VENV)
	@find $(PACKAGES) -name '*.py' -not -path '*/src/*' | LC_ALL=C sort >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(VENV)/.installed: pyproject.toml CMakeLists.txt debian-packages.txt $(VENV)/.modules
	@$(MAKE) --no-print-directory packages
	@echo "== Python environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade pip
	@$(BIN)/pip uninstall --quiet --yes lfp 2>/dev/null # what an older checkout installed under another name
	@$(BIN)/pip install --quiet --editable '.[all,dev,docs]'
	@touch $@

setup: $(VENV)/.installed ## packages, Python environment, build: everything the other targets need
	@$(MAKE) --no-print-directory build

build: ## compile the C tools into build/release/bin, and link them into the environment
	@echo "== C tools in build/release/bin"
	@cmake --preset release $(if $(V),,--log-level=WARNING) >/dev/null
	@cmake --build --preset release -j$(JOBS) $(if $(V),,-- --quiet)
	@if [ -d $(VENV) ]; then \
	    mkdir -p $(VENV)/share/man/man1 $(VENV)/share/bash-completion/completions; \
	    ln -sf $(CURDIR)/lfp/lfp.1 $(VENV)/share/man/man1/; \
	    ln -sf $(CURDIR)/tools/lfp-completion.bash $(VENV)/share/bash-completion/completions/lfp; \
	    for tool in $(TOOLS); do \
	        ln -sf $(CURDIR)/build/release/bin/$$tool $(BIN)/; \
	        ln -sf $(CURDIR)/*/$$tool.1 $(VENV)/share/man/man1/; \
	        ln -sf $(CURDIR)/tools/completion.bash $(VENV)/share/bash-completion/completions/$$tool; \
	    done; \
	fi

demo: setup ## the LFP syndrome, seen: about five minutes with set-up, ends with a report
	@$(BIN)/lfp doctor --brief
	@if [ "$$($(BIN)/python -m scenarios.run.kernel_needed $(DEMO))" = yes ]; then \
	    $(MAKE) --no-print-directory virtual || echo "== the demonstration goes on without that kernel"; fi
	@$(BIN)/lfp run $(DEMO) --quick --time auto

test: setup test-c test-asan test-cost test-py ## all tests, C and Python

test-c:
	@echo "== C tests"
	@ctest --preset release -j$(JOBS)

test-asan:
	@echo "== C tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@cmake --preset asan --log-level=WARNING >/dev/null
	@cmake --build --preset asan -j$(JOBS) $(if $(V),,-- --quiet)
	@ctest --preset asan -j$(JOBS) --label-exclude figures

test-cost:
	@echo "== what an input may cost, in counted work and memory"
	@cmake --preset cost --log-level=WARNING >/dev/null
	@cmake --build --preset cost -j$(JOBS) $(if $(V),,-- --quiet)
	@ctest --preset cost -j$(JOBS)

test-py:
	@echo "== tests of what the product does, side by side"
	@$(BIN)/python -m pytest -m "not alone" -n $(TEST_WORKERS)
	@echo "== tests that judge time on this machine, one at a time"
	@$(BIN)/python -m pytest -m alone tests/netns

mutants: setup ## deliberately wrong products, and which test catches each (10 minutes; docs/reference/testing.md)
	@$(BIN)/python tools/mutants --jobs $(JOBS)

virtual: setup ## the virtual-time kernel for lfp run --time virtual (about 3 minutes, once; kept in ~/.cache/lfp)
	@test -x "$$($(BIN)/python -m scenarios.virtual.kernel --path 2>/dev/null)" || \
	    tools/install-packages scenarios/virtual/debian-packages.txt
	@$(BIN)/python -m scenarios.virtual.kernel

test-uml: setup ## the netem back end and VLANs, inside user-mode Linux (a minute)
	@$(BIN)/python -m pytest tests/uml

findings: ## what programs of others do that nobody would guess, checked again (needs the network; some need root)
	@for script in $$(find findings -name '*.sh' -executable | sort); do echo "== $$script"; "$$script" || failed="$${failed:-} $$script"; done; \
	    test -z "$${failed:-}" || { echo "findings: these have changed or could not run:$$failed" >&2; exit 1; }

bench: setup ## ratios measured side by side, and the published accuracy table; appends to bench-results.jsonl
	@tools/install-packages bench/log/debian-packages.txt
	@$(BIN)/lfp bench --publish docs/reference/accuracy.md

fuzz: build/fuzz ## every fuzz target for FUZZ_SECONDS (60), and as long for inputs that cost too much
	@cmake --preset cost --log-level=WARNING >/dev/null
	@cmake --build --preset cost -j$(JOBS) -- --quiet
	@tools/fuzz-all $(FUZZ_SECONDS) build/fuzz build/cost

fuzz-crashes: build/fuzz ## every fuzz target for FUZZ_SECONDS, for crashes alone (CI: 10 s)
	@tools/fuzz-all $(FUZZ_SECONDS) build/fuzz

build/fuzz: setup FORCE
	@tools/install-packages tests/fuzz/debian-packages.txt
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build --preset fuzz -j$(JOBS) -- --quiet

PROOF_ACTIONS ?= 4

proof: setup ## the gateway's handshake: Verifpal's models, and the explorer with PROOF_ACTIONS (4) actions (minutes)
	@lft_ref/proof/run build/proof
	@build/release/bin/lft-explore wrong
	@build/release/bin/lft-explore $(PROOF_ACTIONS)

papers: virtual ## every scenario of the papers, quick and in virtual time, into docs/reference/reproduction.md
	@$(BIN)/lfp papers --newest --kept docs/reference/measured --output docs/reference/reproduction.md

SCREENSHOTS := $(patsubst %,docs/img/%.png,box certificate class compare gateway history runs sweep timeline)

docs: setup | $(SCREENSHOTS) ## the documentation as a site in build/docs, manual pages included; a warning is an error
	@tools/install-packages docs/debian-packages.txt
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs -d build/docs-cache . build/docs
	@echo "== build/docs/index.html"

$(SCREENSHOTS) &: # only where one is missing
	@$(MAKE) pictures

tables: build ## what is written from tables: SCENARIO.md, columns, manual pages, schema, completion, the layout
	@$(BIN)/python tools/manual-ranges
	@$(BIN)/python tools/key-rows
	@$(BIN)/python tools/columns-page
	@$(BIN)/python tools/library-index
	@tools/layout

pictures: virtual ## the pictures of the dashboard's pages again, from runs in virtual time, in Chromium (minutes)
	@tools/install-packages docs/img/debian-packages.txt
	@$(BIN)/python docs/img/make.py

lint: setup ## formatting, types, arrows between rooms, circles, licences
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/mypy tests
	@$(C_FILES) | xargs $(BIN)/clang-format --dry-run -Werror
	@$(BIN)/shellcheck $(SHELL_FILES)
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/reuse lint --quiet
	@tools/check-circles
	@tools/check-tree

clean: ## remove what was built, not the runs
	rm -rf build $(VENV)
