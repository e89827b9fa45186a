# Everything a person types here. Needs make and Python 3.11 or newer; name another one with PYTHON=/path/to/python3.12.
# Paths are relative and programs are started as modules, so a checkout may lie in a folder with spaces in its name.

PREPARE := sh .ci/python .ci/prepare.py
RUN := .venv/bin/python
TEST := .venv-test/bin/python
# What pytest gets: a file of tests stays in one process. In one process alone: make test PYTEST_ARGS=
PYTEST_ARGS ?= -n auto --maxprocesses=4 --dist=loadfile

.DEFAULT_GOAL := help
.PHONY: help demo serve test lint pytest soak bench truth docs lock clean venv venv-test venv-frameworks venv-vendors

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1@\2/p' Makefile | awk -F@ '{ printf "%-14s %s\n", $$1, $$2 }'

demo: venv ## set up, start the service, capture, run, import, compare; needs no GPU
	@$(RUN) -m repro_env_service.demo

serve: venv ## keep the service up on loopback; data in ./data or REPRO_ENV_SERVICE_DATA
	@REPRO_ENV_SERVICE_DATA="$${REPRO_ENV_SERVICE_DATA:-data}" $(RUN) -m repro_env_service serve

test: lint pytest ## set up, lint, check types, run all tests

lint: venv-test ## ruff and mypy --strict
	@$(TEST) -m ruff check --output-format concise .
	@$(TEST) -m mypy --config-file client/pyproject.toml client/src/repro_env
	@$(TEST) -m mypy --config-file service/pyproject.toml service/src/repro_env_service

pytest: venv-test venv-frameworks venv-vendors ## the tests alone
	@$(TEST) -m pytest $(PYTEST_ARGS)

soak: venv-test venv-frameworks venv-vendors ## the same tests with a hundred times as many examples
	@HYPOTHESIS_PROFILE=soak $(TEST) -m pytest --timeout=7200 $(PYTEST_ARGS)

bench: venv-test venv-frameworks ## every measurement; fails at the end if one missed its aim
	@failed=; for script in bench/[!_]*.py; do \
	    echo "== $$script"; $(TEST) "$$script" || failed="$$failed $$script"; \
	done; test -z "$$failed" || { echo "missed or failed:$$failed" >&2; exit 1; }

truth: venv-test ## verdicts against the bits of workloads: the sample of bench/truth.py, about two minutes
	@$(TEST) bench/truth.py --quick

docs: venv-test ## write the generated parts of the reference pages
	@$(TEST) docs/build.py

lock: ## pin the newest distributions anew, with the hashes of all their files
	@$(PREPARE) .venv-lock
	@cd requirements && for name in service build test frameworks vendors lock; do \
	    echo "requirements/$$name.txt" && ../.venv-lock/bin/python -m uv pip compile --quiet --upgrade --universal \
	        --python-version 3.11 --generate-hashes --no-header "$$name.in" --output-file "$$name.txt" || exit 1; \
	done

clean: ## remove the environments, the demo's data and caches; ./data stays
	@rm -rf .venv .venv-test .venv-frameworks .venv-vendors .venv-lock .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find client service tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} +

venv:
	@$(PREPARE) .venv

venv-test:
	@$(PREPARE) .venv-test

venv-frameworks:
	@$(PREPARE) .venv-frameworks

venv-vendors:
	@$(PREPARE) .venv-vendors
