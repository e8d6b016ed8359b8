# Everything runs in .venv, made on first use with exactly the versions in constraints.txt.
#   PYTHON    the interpreter that makes the environment (3.11 or newer)
#   PIP_ARGS  extra arguments of `pip install`: the place to choose a CPU or CUDA build of torch, such as
#             make adapt PIP_ARGS="--extra-index-url <the index of the build you want>"
#   ARGS      extra arguments of the command, such as make adapt ARGS="--reducer none --epochs 4"
PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP_ARGS ?=
ARGS ?=

BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: adapt test test-all lint clean

adapt: .venv/.run
	$(BIN)/vidshift adapt $(ARGS)

test: lint
	$(BIN)/python -m pytest $(ARGS)

test-all: lint
	$(BIN)/python -m pytest -m 'long or not long' $(ARGS)

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.run: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt $(PIP_ARGS) -e .
	touch $@

.venv/.dev: .venv/.run
	$(BIN)/python -m pip install --quiet -c constraints.txt $(PIP_ARGS) -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist src/vidshift.egg-info
