# Two commands do all set-up: `make demo` and `make test`. Both make their own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types clean wheel

demo: $(VENV)/.installed
	@echo "== learn a ranker from the bundled sample (synthetic, so the figures prove nothing)"
	@$(BIN)/ranker train --data sample --features bleu1-4 --model demo.model
	@echo; echo "== compare its scores with the judges"
	@$(BIN)/ranker evaluate --data sample --model demo.model
	@echo; echo "== rank new candidates"
	@$(BIN)/ranker rank docs/candidates.json --model demo.model

test: $(VENV)/.test lint types
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.test
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

types: $(VENV)/.test
	$(BIN)/mypy

wheel: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist
	$(BIN)/check-wheel-contents dist/*.whl

$(VENV)/.installed: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	@touch $@

clean:
	rm -rf $(VENV) dist build demo.model
