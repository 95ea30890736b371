# Two commands do all set-up: `make demo` and `make test`. Both make their own environment in .venv.
PYTHON ?= python3
# Packages are installed without compiling them: what is imported is compiled then, and kept, which images often forbid.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
# what all tests need takes long to install: a browser's driver, and KenLM, which is compiled
TESTED := $(VENV)/$(if $(RANKER_THOROUGH),.thorough,.test)

.PHONY: demo demo-included demo-early-model demo-model demo-evaluation demo-report test lint types pytest clean wheel release docs

# two things at a time: a ranker is learnt while the packages that learning does not need are installed and the included ranker is shown,
# and the report is made while the ranker is evaluated
demo: $(VENV)/.core
	@$(MAKE) --no-print-directory --jobs=2 demo-evaluation demo-report
	@echo; echo "== a report on the ranker: $(CURDIR)/demo.html"

# compiles first what the report imports last
demo-included: $(VENV)/.report
	@$(BIN)/python -c "import matplotlib.pyplot"
	@echo "== rank new candidates with the included ranker for English"
	@$(BIN)/ranker rank docs/candidates.json --model full
	@echo; echo "== why is C above B?"
	@$(BIN)/ranker explain docs/candidates.json --model full --pair C B

TRAIN = $(BIN)/python -m ranker train --data sample -o demo.model > /dev/null

demo-early-model: $(VENV)/.core
	@rm -f demo.model; $(TRAIN) 2> /dev/null || true

# again if pip had to replace a package that learning was using
demo-model: demo-early-model $(VENV)/.report
	@test -f demo.model || $(TRAIN)

demo-evaluation: demo-included demo-model
	@echo; echo "== a ranker was learnt from the bundled sample (synthetic, so the figures prove nothing): compare it with the judges"
	@$(BIN)/ranker evaluate --data sample --model demo.model

demo-report: demo-model
	@$(BIN)/ranker report --data sample --model demo.model --html demo.html --examples 3 > /dev/null

test: lint pytest

# each process begins with its own part of the tests, so that few kernels are compiled by more than one
pytest: $(TESTED)
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(TESTED)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

types: $(VENV)/.checks
	$(BIN)/mypy

wheel: $(VENV)/.checks
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/twine check --strict dist/*
	@$(BIN)/python docs/published.py dist/*.whl
	@$(BIN)/python docs/sbom.py dist/*.whl

# says what a release would do; make release PUBLISH=yes tags and uploads
release: wheel
	@$(BIN)/python docs/release.py $(if $(filter yes,$(PUBLISH)),--publish)

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site

# pip is called once for each: to call it takes seconds; a new pip installs in two thirds of the time of an old one. Where
# what builds the package is there already, pip makes no environment for it, which takes a third of the whole
$(addprefix $(VENV)/.,report test thorough checks docs): pyproject.toml
	$(ENVIRONMENT)
	@$(PIP) --no-build-isolation --editable '.[$(EXTRAS)]'
	@touch $@

# what learning needs: all that the package depends on but LATER, a test tells
$(VENV)/.core: pyproject.toml
	$(ENVIRONMENT)
	@$(BIN)/python -c "import sys; \
		sys.version_info >= (3, 11) or sys.exit('ranker needs Python 3.11 or later: make clean demo PYTHON=python3.12'); \
		import tomllib; \
		needed = tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']; \
		print(*(each for each in needed if not each.startswith(tuple('$(LATER)'.split()))), sep='\n')" > $@.txt
	@$(PIP) --requirement $@.txt
	@touch $@

LATER = spacy scikit-learn
PIP = $(BIN)/python -m pip install --quiet --no-compile
# as in pyproject.toml; hatchling takes editables for an editable installation
BUILDER = 'hatchling>=1.27' editables
# the newest pip from the one that there is, if it can, is quicker than the one that comes with Python and then the newest
NEW_VENV = { $(PYTHON) -m venv --without-pip $(VENV) && \
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --no-compile pip $(BUILDER); } > /dev/null 2>&1

define ENVIRONMENT
@test -x $(BIN)/python || $(NEW_VENV) || $(PYTHON) -m venv --upgrade-deps $(VENV) > /dev/null
@$(BIN)/python -c "import editables, hatchling" 2> /dev/null || $(PIP) $(BUILDER)
endef

$(VENV)/.report: $(VENV)/.core
$(VENV)/.report: EXTRAS = report
$(VENV)/.test: EXTRAS = test,lint
$(VENV)/.thorough: EXTRAS = test,lint,test-thorough
$(VENV)/.checks: EXTRAS = test,types,release
$(VENV)/.docs: EXTRAS = docs

clean:
	rm -rf $(VENV) dist build site demo.model demo.html
