# Every command of the project; `make` alone lists them.
# Needed: Python 3.11 or newer, make, a package index. All else is set up in .venv, once.
# `make setup PYTHON=python3.13 VENV=.venv-3.13` sets up a second interpreter beside the first.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)
WORKERS ?= 2
ARGS ?=
# of `make soak`: kills of real runs, duels whose ratio is known, and seconds of each fuzzer
export SOAK_KILLS ?= 100
export SOAK_DUELS ?= 200
export FUZZ_SECONDS ?= 600

NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
# Each Python has its own lock; requirements.lock is that of 3.11, and of one without its own.
PYTHONS := 3.11 3.12 3.13 3.14
# Extras of optional libraries, boosters and optuna, are not locked.
LOCKED_EXTRAS := asv dask docs dev
UV ?= uv
# asv keeps what it knows of this machine in the home folder; here that stays inside the clone.
ASV = HOME="$(CURDIR)/.asv" $(RUN) -m asv

.DEFAULT_GOAL := help
.PHONY: help setup lock run test lint types docs figures bench bench-check soak clean

help:  ## list the commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo 'Variables: PYTHON=/path/to/python3  WORKERS=2 (of test and soak)  SOAK_KILLS=100  FUZZ_SECONDS=600  ARGS="--seed 3"'

setup: $(READY)  ## create .venv with the locked dependencies (the others do it when needed)

lock:  ## write the lock of each Python again, keeping pinned versions (needs uv)
	for python in $(PYTHONS); do $(call write_lock,$$python) || exit 1; done

run: $(READY)  ## all algorithms and references on real data, ending in a report
	$(RUN) -m harness run $(ARGS)

test: $(READY)  ## every fast test, in WORKERS processes
	$(RUN) -m pytest -n $(WORKERS) $(ARGS)

lint: $(READY)  ## style and formatting
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: $(READY)  ## mypy, strict on harness/
	$(RUN) -m mypy

docs: $(READY)  ## these pages as HTML in docs/_build/html; warnings are errors
	$(RUN) -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html $(ARGS)

figures: $(READY)  ## the tables of the algorithms' pages, measured again; best on a quiet machine
	$(RUN) -m harness run docs/figures/speed.toml --results results --fresh
	$(RUN) -m harness run docs/figures/parity.toml --results results --fresh
	$(RUN) docs/figures/write.py results

bench: $(READY)  ## each asv benchmark once, on the current tree
	$(ASV) machine --yes
	$(ASV) run --quick --show-stderr --environment existing:$(RUN) $(ARGS)

bench-check: $(READY)  ## whether the asv suite imports and is well-formed
	$(ASV) check --environment existing:$(RUN)

soak: $(READY)  ## the slow suite, in WORKERS processes: kill campaigns, fuzzing, full installs
	$(RUN) -m pytest -m slow -n $(WORKERS) --dist loadfile $(ARGS)

clean:  ## remove what set-up and tools made; results/ stays
	rm -rf .venv .venv-* docs/_build .asv .mypy_cache .ruff_cache .pytest_cache .hypothesis .numba build dist *.egg-info \
		algorithms/runtime/compiled
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp: set-up is done again only where a lock or the project's declaration changed.
$(READY): $(wildcard requirements*.lock) pyproject.toml
	@$(RUN) -c '$(NEW_ENOUGH)' 2>/dev/null || { $(check_python) && $(create_venv); }
	$(RUN) -m pip install --require-hashes --requirement "$$($(find_lock))"
	$(RUN) -m pip install --no-deps --no-build-isolation --editable .
	-test "$$HARNESS_PACKAGED_KERNELS" = 0 || $(RUN) -m harness compile --into-package
	@touch $@

define check_python
if [ -z "$(PYTHON)" ]; then \
	echo 'make: no Python 3.11 or newer found; name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3' >&2; \
	exit 1; \
elif ! "$(PYTHON)" -c '$(NEW_ENOUGH)'; then \
	echo 'make: $(PYTHON) is not Python 3.11 or newer; name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3' >&2; \
	exit 1; \
fi
endef

define find_lock
lock=$$($(RUN) -c 'import sys; print("requirements-%d.%d.lock" % sys.version_info[:2])'); \
test -f "$$lock" || lock=requirements.lock; echo "$$lock"
endef

define write_lock
$(UV) pip compile pyproject.toml --quiet --universal --generate-hashes --no-emit-index-url \
	$(addprefix --extra ,$(LOCKED_EXTRAS)) --custom-compile-command 'make lock' --python-version $(1) \
	--output-file "$$(test $(1) = 3.11 && echo requirements.lock || echo requirements-$(1).lock)"
endef

define create_venv
"$(PYTHON)" -m venv --clear $(VENV) || { \
	echo 'make: $(PYTHON) cannot create a virtual environment; on Debian and Ubuntu: apt install python3-venv' >&2; \
	exit 1; \
}
endef
