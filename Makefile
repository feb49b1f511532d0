# Every target builds the virtual environment that it needs by itself: python3 and make are enough.
# A second time it only looks at a time stamp.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Choose the interpreter with `make PYTHON=python3.12 test`. The time stamp is not enough where one
# is asked for, or where the whole folder was moved or copied: then the bootstrap looks closer.
ifneq ($(filter command environment,$(firstword $(origin PYTHON))),)
look_closer := look-closer
endif
ifneq ($(shell cat .venv/.stamp-* 2>/dev/null | sed -n 's/^home //p' | sort -u),$(CURDIR))
look_closer := look-closer
endif
PYTHON ?= python3
# How many test processes run at once (JOBS=8 for another number): tests wait more than they work,
# and the kills of the proof start several processes of their own.
test_jobs := $(or $(JOBS),3)
prove_jobs := $(or $(JOBS),2)

bin := .venv/bin
dev := .venv/.stamp-dev
# The larger install serves the demo too.
demo_env := $(if $(wildcard $(dev)),$(dev),.venv/.stamp-demo)
bootstrap_needs := pyproject.toml scripts/bootstrap.py $(look_closer)

.venv/.stamp-%: $(bootstrap_needs)
	@$(PYTHON) scripts/bootstrap.py $*

.PRECIOUS: .venv/.stamp-%
# A Redis for the tests of sessions, beside the Valkey that comes as a wheel. Where there is none to
# be had, this says so and is tried again the next time.
redis := .venv/redis/redis-server
$(redis): scripts/redis_server.py | $(dev)
	@$(bin)/python scripts/redis_server.py

.PHONY: help demo test check bench prove linear fleet ledgers servers examples versions docs console fmt clean look-closer
look-closer:

help: ## Show this list
	@echo 'make TARGET    (each builds .venv by itself; PYTHON=python3.12 chooses the interpreter)'
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	  | while IFS='|' read -r name text; do printf '  %-9s %s\n' "$$name" "$$text"; done

demo: $(demo_env) ## Agent, providers and crashes before your eyes (SABOTAGE=new-key breaks one rule)
	@$(bin)/ascertain demo $(if $(SABOTAGE),--sabotage $(SABOTAGE))

test: $(dev) $(redis) ## Run the tests (ARGS='-k word' goes to pytest; COVER=1 wants all branches taken)
	@$(bin)/python $(if $(COVER),scripts/cover.py,-m pytest) \
	  tests --ignore=tests/prove --ignore=tests/servers --ignore=tests/tidy \
	  -n $(test_jobs) --dist loadfile --no-loadscope-reorder $(ARGS)

check: $(dev) ## Lint, format, types (mypy and pyright), layers, rules of the repository
	@$(bin)/python scripts/check.py

bench: .venv/.stamp-bench ## Measure: raw floors, rivals, the product; ratios (ARGS='--quick --only calls')
	@$(bin)/python bench/run.py $(ARGS)

prove: $(dev) $(redis) ## The proof at gate size: fault table, search, mutants, kills; prints its tables
	@JOBS=$(prove_jobs) $(bin)/python scripts/prove.py $(ARGS)

ledgers: $(dev) $(redis) ## All cases and tests of requirements on every kind of ledger
	@ASCERTAIN_PROVE=1 $(bin)/python -m pytest tests/cases tests/requirements -q \
	  -n $(test_jobs) --dist loadfile --no-loadscope-reorder $(ARGS)

servers: $(dev) ## MCP servers that others wrote, behind the proxy, with lost answers and kills
	@$(bin)/python scripts/mcp_servers.py
	@$(bin)/python -m pytest tests/servers -q $(ARGS)

examples: $(dev) ## Doors and examples of frameworks in environments of their own (ARGS=strands)
	@$(bin)/python scripts/examples.py $(ARGS)

versions: $(dev) ## Doors with the oldest and newest versions that their extras allow (ARGS=mcp)
	@$(bin)/python scripts/door_versions.py $(ARGS)

linear: $(dev) $(redis) ## Check more histories of sessions (HISTORIES=20000 is 10,000,000 operations)
	@$(bin)/python -m tests.linear.run --histories $(or $(HISTORIES),1000) $(ARGS)

fleet: $(dev) ## 10,000 unknown actions, four workers, kills: what their provider saw of it
	@$(bin)/python -m tests.fleet.storm $(ARGS)

docs: ## Build the documentation site
	@echo 'make docs: not built yet. The pages are plain Markdown: read README.md and docs/.' >&2; exit 2

console: ## Start the review console
	@echo 'make console: not built yet. Until it is: ascertain actions, show, why, resolve.' >&2; exit 2

fmt: $(dev) ## Format the code and put right what can be put right by itself
	@$(bin)/ruff check --fix-only --quiet .
	@$(bin)/ruff format .

clean: ## Remove what this file builds
	rm -rf .venv .venv.lock .envs build dist out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
