# Two commands: `make demo` installs what users install and diagnoses a shipped case, `make test` installs the rest and
# runs all checks.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint check setup wheel pyz fuzz bench replay mutants simulate lab docs browser clean

demo: $(VENV)/.base
	@$(BIN)/logdoctor diagnose corpus/lightning-resume-straggler

test: lint check

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/logdoctor rules lint --strict

check: $(VENV)/.ready
	$(BIN)/pytest -n auto --dist loadgroup

# What users install, into dist/ (docs/install.md).
wheel: $(VENV)/.base
	rm -f dist/logdoctor-*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# The program in one file, for Linux (glibc 2.17) on this machine's processor and every Python below; tried with those found here.
PYTHONS := cp-3.10.0-cp310 cp-3.11.0-cp311 cp-3.12.0-cp312 cp-3.13.0-cp313
pyz: wheel build/pex/bin/pex
	build/pex/bin/pex dist/logdoctor-*.whl --use-pip-config --console-script logdoctor --venv --sh-boot \
	    $(PYTHONS:%=--platform manylinux_2_17_$(shell uname -m)-%) --output-file dist/logdoctor.pyz
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/one_file.py

build/pex/bin/pex:
	$(PYTHON) -m venv build/pex
	build/pex/bin/python -m pip install --quiet --disable-pip-version-check 'pex>=2.105,<3'

# The nightly-style run: a hundred thousand random inputs through inputs, prefixes and formats.
fuzz: $(VENV)/.ready
	LOGDOCTOR_FUZZ=nightly $(BIN)/pytest -n auto -m fuzz tests

# Speed beside ripgrep (minutes). Fails if a ratio or the memory grew by more than a tenth since the last row.
bench: $(VENV)/.ready
	$(BIN)/python benchmarks/speed.py --gib --record
	$(BIN)/python tools/compare_speed.py

# The answers of this tree against those of the revision BASE, over all logs below CASES: the reasoning alone, in seconds.
BASE ?= HEAD
CASES ?= corpus
replay: $(VENV)/.ready
	PYTHONPATH=$(CURDIR) $(BIN)/python tools/replay.py against $(BASE) $(CASES)

# The functions of the reasoning that change no answer, into tools/without_effect.txt (by hand: minutes).
mutants: $(VENV)/.ready
	PYTHONPATH=$(CURDIR) $(BIN)/python tools/mutants.py effect $(CASES)

# How often cause and culprit are right on 300 simulated jobs of 8 to 1,024 ranks (minutes).
simulate: $(VENV)/.ready
	$(BIN)/python benchmarks/simulate.py

# The captured cases of corpus/, made anew by running and breaking real programs (corpus/lab/README.md).
lab: $(VENV)/.ready
	$(BIN)/python corpus/lab/run.py

# Report pages in a headless Chromium, scripts on and off (needs node and chromium; pictures land in build/pages).
CHROMIUM ?= /usr/bin/chromium
browser: $(VENV)/.ready
	npm install --silent --no-package-lock --prefix tests/browser
	$(BIN)/python tests/browser/pages.py build/pages
	node tests/browser/check.mjs build/pages $(CHROMIUM)

# The pages of docs/, of all rules and of corpus/ as a site with search, in site/; a broken link is an error.
docs: $(VENV)/.docs
	$(BIN)/python docs/site/pages.py build/docs
	$(BIN)/zensical build --strict --clean --config-file build/docs/mkdocs.yml
	rm -rf site && mv build/docs/site site
	@echo "read it: $(BIN)/python -m http.server --directory site"

$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# In a checkout of Git, commits then run the checks of .githooks/.
setup: $(VENV)/.ready
	@if [ -e .git ]; then git config core.hooksPath .githooks || true; fi

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m compileall -q logdoctor
	@touch $@

$(VENV)/.ready: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
