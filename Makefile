# `make demo` and `make test` do all the set-up: Python 3.11 or later, make and pip are enough.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Real recordings, where a checkout has them beside it; their tests skip elsewhere.
CORPUS := $(wildcard ../shared/corpus)
ifneq ($(CORPUS),)
export AGENTV_STREAM_CORPUS ?= $(abspath $(CORPUS))
endif

# AgentV itself, the judge of our transcripts and verdicts: installed by `make judge`; then `make test` asks it, too.
AGENTV := agentv@4.42.4
JUDGE := .cache/judge
ifneq ($(wildcard $(JUDGE)/node_modules/agentv),)
export AGENTV_STREAM_AGENTV ?= $(abspath $(JUDGE))/node_modules/agentv
endif

LOWEST := .cache/lowest

.DEFAULT_GOAL := help

.PHONY: help demo test test-lowest judge lint types mypy pyright docs check soak soak-day mutate shell-texts bench bench-peers clean

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or later found; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.run

help:  ## these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.run  ## the main job on examples/
	@sh examples/demo.sh $(BIN)

test: $(VENV)/.dev  ## every test, on all cores; TESTS="tests/stages -k pair" for some, on one
	$(BIN)/python -m pytest $(or $(TESTS),-n auto --dist loadfile)

test-lowest:  ## every test with the lowest versions that pyproject.toml allows, on Python 3.11; TESTS for some
	python3.11 -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=$(abspath $(LOWEST)) $(LOWEST)/bin/uv pip install --resolution lowest-direct --editable '.[dev]'
	$(LOWEST)/bin/python -m pytest $(TESTS)

$(JUDGE)/$(AGENTV):
	@command -v node >/dev/null && command -v npm >/dev/null || { echo "the judge needs Node and npm" >&2; exit 1; }
	@mkdir -p $(JUDGE)
	npm install --prefix $(JUDGE) --ignore-scripts --omit=optional --omit=peer --no-audit --no-fund $(AGENTV)
	@touch $@

judge: $(VENV)/.dev $(JUDGE)/$(AGENTV)  ## AgentV reads our transcripts, and gives the verdicts that we give
	AGENTV_STREAM_AGENTV=$${AGENTV_STREAM_AGENTV:-$(abspath $(JUDGE))/node_modules/agentv} \
		$(BIN)/python -m pytest tests/pipeline/test_agentv_readback.py \
		tests/pipeline/test_example_specs_against_agentv.py tests/stages/test_trajectory_against_agentv.py

lint: $(VENV)/.dev  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: mypy pyright  ## mypy strict and pyright strict, tests included

mypy: $(VENV)/.dev
	$(BIN)/mypy

pyright: $(VENV)/.dev
	$(BIN)/pyright

docs: $(VENV)/.run  ## writes the pages that are made from the code
	$(BIN)/python -m agentv_stream.documentation.docs_pages docs
	$(BIN)/python -m agentv_stream.documentation.log_roots stages/agentv_stages/providers/log_roots.py

check: lint types test  ## lint, types and test

soak: $(VENV)/.dev  ## the tests of following in their long form; SOAK_MINUTES=30, SOAK_SEED=N to repeat a run
	$(BIN)/python tests/soak/torture.py --minutes $(or $(SOAK_MINUTES),30) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

soak-day: $(VENV)/.dev  ## 24 hours of following on a clock that is set, with a data set; SOAK_HOURS=24, SOAK_SEED=N
	PYTHONPATH=tests $(BIN)/python tests/soak/day.py --hours $(or $(SOAK_HOURS),24) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

mutate: $(VENV)/.dev  ## mutated logs of every dialect; MUTATE_MINUTES=10, MUTATE_SEED=N to repeat a run
	PYTHONPATH=tests $(BIN)/python tests/soak/mutate.py --minutes $(or $(MUTATE_MINUTES),10) \
		$(if $(MUTATE_SEED),--seed $(MUTATE_SEED))

shell-texts: $(VENV)/.dev  ## bash judges generated shell texts; SHELL_TEXTS=2000 of each sort, SEED=N for others
	AGENTV_STREAM_SHELL_TEXTS=$(or $(SHELL_TEXTS),2000) AGENTV_STREAM_SEED=$(or $(SEED),1) \
		$(BIN)/python -m pytest --timeout 1800 tests/stages/test_shell_against_bash.py

bench: $(VENV)/.dev  ## the benchmarks, on synthetic logs
	$(BIN)/python benchmarks/run.py

bench-peers: $(VENV)/.dev  ## the same beside AgentV, ccusage and others, as far as npm and PyPI have them
	$(BIN)/python benchmarks/peers.py benchmarks/out/peers
	AGENTV_STREAM_PEERS=$(CURDIR)/benchmarks/out/peers $(BIN)/python benchmarks/run.py --peers

clean:  ## removes the environment and all caches
	rm -rf $(VENV) .cache dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
