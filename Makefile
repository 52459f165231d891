# All set-up happens here: `make demo` and `make test` work on a fresh machine with Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# two processes, each with a core of its own, and half of the tests in their order: what several tests of a file share is computed once
TESTS := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: setup demo docs notebooks explore test test-full test-browser test-laws test-mutations test-seeds test-slow lint warm-up wheel bench reproduce lock clean help

help:
	@echo "make demo       draw a figure of bocchi2026 into figures/ and print its verdicts"
	@echo "make test       lint, types and the quick tests (nine minutes on two cores, set-up and compiling included)"
	@echo "make test-full  the other tests of the gate (five minutes)"
	@echo "make test-browser  the page, in Chromium (apt-get install chromium), and in Firefox where it is installed"
	@echo "make test-slow  the long tests"
	@echo "make test-laws  random problems over all settings, 50 of each family (an hour; SOLVABLE_LAWS=500 draws more)"
	@echo "make test-seeds the statistical tests at ten seeds (an hour)"
	@echo "make test-mutations  mistakes that the tests must notice (a quarter of an hour)"
	@echo "make explore    open the explorer"
	@echo "make bench      ratios against the alternatives"
	@echo "make notebooks  the notebooks of the tutorials with their outputs, into examples/"
	@echo "make docs       the documentation site, offline, into docs/_build/html"
	@echo "make reproduce  all figures and claims, full size"
	@echo "make wheel      a wheel with machine code, into dist/"
	@echo "make lock       write requirements.txt anew"

setup: $(READY)

$(READY): requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup
	$(BIN)/solvable figure bocchi2026/1 --quick --output figures

explore: setup
	$(BIN)/solvable explore

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# one process compiles and fills the cache, beside lint, before several run at once, each with a core of its own
test: setup
	@$(MAKE) --no-print-directory -j 2 lint warm-up
	$(TESTS) -m "not full and not slow and not browser"

# the gate's other tests: quick figures by the dozen, statistics at high counts, what starts interpreters again and again
test-full: setup
	$(TESTS) -m "full and not slow and not browser"

warm-up: setup
	$(BIN)/solvable warm-up --all

# needs Chromium: apt-get install chromium; Firefox (firefox-esr) is tried too where it is installed
test-browser: setup
	$(BIN)/python -m pytest -m browser

test-slow: setup
	$(TESTS) -m "slow and not laws"

# problems drawn at random, against the referees of tests/reference; the first two of each family are in the gate
test-laws: setup
	$(TESTS) -m laws

# what compares random numbers must pass whatever they are; the gate has the first of these seeds only
test-seeds: setup
	@for seed in 0 1 2 3 4 5 6 7 8 9; do echo "SOLVABLE_TEST_SEED=$$seed"; \
	SOLVABLE_TEST_SEED=$$seed $(TESTS) -m "statistical and not laws" || exit 1; done

# makes each mistake of tests/mutation/mutations.py in a copy of the sources and runs the tests that must fail then
test-mutations: warm-up
	$(BIN)/python tests/mutation/run.py

docs/_figures/.drawn: | setup
	$(BIN)/solvable reproduce --quick --output docs/_figures
	@touch $@

# the site in docs/_build/html; draws all figures in their quick form first, which takes minutes (rm -r docs/_figures to draw them anew)
docs: setup docs/_figures/.drawn
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.txt
	$(BIN)/sphinx-build -b html -E -a -W --keep-going docs/site docs/_build/html
	$(BIN)/python docs/site/links.py docs/_build/html

# after a change of a tutorial; a test compares cells and outputs, which are to show no progress of the compiler
notebooks: warm-up
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/site/notebooks.py

bench: setup
	@for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

# a wheel for this version of Python and this kind of machine that needs no compiler
wheel: setup
	SOLVABLE_MACHINE_CODE=1 $(BIN)/python -m hatchling build -t wheel -d dist

reproduce: setup
	$(BIN)/solvable reproduce --output figures

lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-header --quiet -o requirements.txt
	uv pip compile pyproject.toml --extra dev --extra docs --universal --python-version 3.11 --generate-hashes --no-header --quiet -c requirements.txt -o requirements-docs.txt

clean:
	rm -rf $(VENV) figures docs/_build docs/_figures docs/site/_pictures docs/site/api docs/site/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis
