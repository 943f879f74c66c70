# Every command of the project. `make help` lists them; each sets up what it needs in .venv by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SHOWN := $(VENV)/.shown
SERVED := $(VENV)/.served
LOCKER := $(VENV)/locker
COMPILED := hatch_build.py $(wildcard src/hushcount/compiled/*.[ch])
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PATHS := src tests $(wildcard benchmarks) $(wildcard studies) $(wildcard examples)
# A file system in memory, if there is one.
MEMORY ?= /dev/shm
# More words for pytest, the benchmark or the demo: make test ARGS="-k noise"
ARGS ?=
# Compiled modules are kept, whatever the machine says elsewhere: a hundred processes of the tests import the package, and
# a command that compiles it anew each time is not what anybody has who installed it.
export PYTHONDONTWRITEBYTECODE :=

# Real data for the data tests, if it lies beside the repository; they say so and are skipped where there is none.
ifndef HUSHCOUNT_DATA
ifneq ($(wildcard ../shared/data/.),)
HUSHCOUNT_DATA := $(abspath ../shared/data)
endif
endif
ifdef HUSHCOUNT_DATA
override HUSHCOUNT_DATA := $(abspath $(HUSHCOUNT_DATA))
export HUSHCOUNT_DATA
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: docs help demo serve-demo test check bench bench-coverage bench-ledger bench-serve bench-console bench-spark bench-pinot study lock clean compiler postgres java maven chromium pictures

help:  ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: $(SHOWN)  ## Make up a log and ask the three questions of it, true values beside, and draw a picture
	@$(BIN)/hushcount demo $(ARGS)

serve-demo: $(SERVED)  ## Start the service on a made-up log, ask it with curl as an owner and two analysts, stop it
	@$(BIN)/python examples/serve_demo.py

# Three processes on two cores, since a third of the time is waiting for disks and servers; each file in one of them, and
# all tests of Spark in one, since they share a session and a cluster, and all of Pinot in one: see tests/conftest.py.
# Without either: make test ARGS="-m 'not spark and not pinot'"
# Commits need not reach a disk here: temporary files are kept in memory where there is plenty, and removed at the end.
test: compiler postgres java maven chromium  ## Run all checks, then all tests
	@$(MAKE) --no-print-directory check
	@free=$$(df -Pk $(MEMORY) 2>/dev/null | awk 'NR == 2 {print $$4}'); \
	if [ "$${free:-0}" -gt 4000000 ]; then place=$$(mktemp -d $(MEMORY)/hush-XXXXXX); else place=$$(mktemp -d); fi; \
	trap 'rm -rf "$$place"' EXIT; trap 'exit 130' INT TERM; \
	chmod 755 "$$place"; \
	TMPDIR="$$place" $(BIN)/python -m pytest -n 3 --durations=10 $(ARGS)

# The package does without one; the tests hold what it makes against the plain ways.
compiler:
	@if ! command -v $${CC:-cc} >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing a C compiler (once)"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null; \
		else echo "No C compiler here: the tests of machine code are skipped, with a word (Debian: apt-get install gcc libc6-dev)"; fi; fi

# The ledger is tested on a real PostgreSQL: the tests start a private server of their own and stop it.
postgres:
	@if [ -z "$(wildcard /usr/lib/postgresql/*/bin/initdb)" ] && ! command -v initdb >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing PostgreSQL (once)"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null; \
		else echo "No PostgreSQL here: its tests are skipped, with a word (Debian: apt-get install postgresql)"; fi; fi

# Spark runs on Java 17 or newer; the tests start a private cluster of their own and stop it.
java:
	@run="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	found=$$("$$run" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1); \
	if [ "$${found:-0}" -lt 17 ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && [ -z "$$JAVA_HOME" ]; then \
			echo "Installing Java 17 (once)"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null; \
		else echo "No Java 17 or newer here: the Spark tests are skipped, with a word (Debian: apt-get install openjdk-17-jre-headless)"; fi; fi

# Pinot's programs come from Maven Central, once, into the user's cache: see tests/pinot.py.
maven: java
	@if ! command -v mvn >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing Maven (once)"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends maven >/dev/null; \
		else echo "No Maven here: the Pinot tests are skipped, with a word (Debian: apt-get install maven)"; fi; fi

# The console is tested in a browser, Debian's own; its letters are for the pictures in the docs.
chromium:
	@if [ ! -x /usr/bin/chromium ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing Chromium (once)"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-inter curl >/dev/null; \
		else echo "No Chromium here: the console's tests in a browser are skipped, with a word (Debian: apt-get install chromium)"; fi; fi

pictures: $(INSTALLED) chromium  ## Draw the console's pages anew for the documentation
	HUSHCOUNT_PICTURES=1 $(BIN)/python -m pytest -q tests/console/test_pictures.py tests/console/owners/test_pictures.py

check: $(INSTALLED)  ## Style, format, types and import rules
	$(BIN)/ruff check $(PATHS)
	$(BIN)/ruff format --check $(PATHS)
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED)  ## Measure speed as ratios to a plain query, in one run
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-coverage: $(INSTALLED)  ## Measure how often intervals hold what they say, for every count mechanism
	$(BIN)/python -m benchmarks.coverage $(ARGS)

bench-ledger: $(INSTALLED) postgres  ## Measure the ledger on SQLite and PostgreSQL beside pgbench
	$(BIN)/python -m benchmarks.ledger $(ARGS)

bench-serve: $(INSTALLED) postgres  ## Measure the service as ratios to the raw query and to an empty route, in one run
	$(BIN)/python -m benchmarks.serve $(ARGS)

bench-spark: $(INSTALLED) java  ## Measure Spark on a generated log of millions of people, one core and two
	PYTHONPATH=. $(BIN)/python benchmarks/spark.py $(ARGS)

bench-console: $(INSTALLED)  ## Measure how long each page of the console takes, alone and while 50 questions run
	PYTHONPATH=. $(BIN)/python -m benchmarks.console

bench-pinot: $(INSTALLED) maven  ## Measure private answers from Pinot beside its raw query, in one run
	PYTHONPATH=. $(BIN)/python benchmarks/pinot.py $(ARGS)

study: $(INSTALLED)  ## Make the papers' tables and figures again, and our own: docs/studies, on the data in HUSHCOUNT_DATA
	$(BIN)/python -m studies $(ARGS)

docs: $(INSTALLED)  ## Build the documentation as a site with search, in build/site
	@$(BIN)/python -m hushcount.cli.reference > docs/reference.md
	$(BIN)/zensical build --strict --clean -f mkdocs.yml

lock: $(BIN)/python  ## Choose the newest allowed versions of all packages and write them to requirements.lock
	@test -x $(LOCKER)/bin/uv || { $(BIN)/python -m venv $(LOCKER) && $(LOCKER)/bin/python -m pip --quiet install uv; }
	$(LOCKER)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" --group dev --output-file requirements.lock pyproject.toml
	@# The demo's own list: the same versions, and only what it shows.
	printf 'editables\nhatchling\n' | $(LOCKER)/bin/uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --constraints requirements.lock --custom-compile-command "make lock" \
		--extra plot --output-file requirements-demo.lock pyproject.toml -
	@# The container's own lists: the same versions, and only what runs there and what builds it.
	$(LOCKER)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--constraints requirements.lock --custom-compile-command "make lock" --extra server --extra postgres \
		--extra metrics --extra oidc --output-file deploy/container/requirements.lock pyproject.toml
	@echo hatchling | $(LOCKER)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --constraints requirements.lock --custom-compile-command "make lock" \
		--output-file deploy/container/build.lock -

clean:  ## Remove everything that these commands made
	rm -rf $(VENV) .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .benchmarks build dist
	find src tests $(wildcard benchmarks) $(wildcard studies) $(wildcard examples) -name __pycache__ -type d -prune -exec rm -rf {} +

# Runs again only when the lock or the package's own description changes.
# What the demo needs, and no more: a newcomer waits for it. Most of that time pip reads the index, package by package.
$(SHOWN): pyproject.toml requirements-demo.lock $(COMPILED) | $(BIN)/python
	@test -e $(INSTALLED) || { echo "Installing what the demo needs into $(VENV) (once)" \
		&& $(PIP) install --no-compile --no-deps --require-hashes -r requirements-demo.lock \
		&& $(PIP) install --no-deps --no-build-isolation -e .; }
	@touch $@

# The service's demo needs what runs in its container.
$(SERVED): deploy/container/requirements.lock | $(SHOWN)
	@test -e $(INSTALLED) || { echo "Installing what the service needs into $(VENV) (once)" \
		&& $(PIP) install --no-compile --no-deps --require-hashes -r deploy/container/requirements.lock; }
	@touch $@

$(INSTALLED): pyproject.toml requirements.lock $(COMPILED) | $(BIN)/python
	@echo "Installing the pinned packages into $(VENV) (once)"
	@$(PIP) install --no-deps --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(PIP) check
	@touch $@

# Debian ships Python without venv; where we may, we add it.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "hushcount needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null; \
		else echo "this Python has no venv module; install it first (Debian: apt-get install python3-venv)"; exit 1; fi; }
	@$(PYTHON) -m venv --clear $(VENV)
