# Everything works from a bare clone with make and Python 3.11 or newer.
# `make PYTHON=python3.12 ...` takes another Python; TORCH_INDEX=https://download.pytorch.org/whl/cpu fetches PyTorch without CUDA.
PYTHON ?= python3
TORCH_INDEX ?=
# The tests' processes, of one thread each. A file of tests stays with one of them, so that what its tests share is made once;
# files are handed out in order, the long ones (tests/system) first.
WORKERS ?= 2

BIN := .venv/bin
INSTALLED := .venv/installed
RUN := runs/demo
NOTEBOOKS = $(or $(NB),$(shell find nbs -name '*.ipynb' -not -path '*/.ipynb_checkpoints/*'))
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
QUICK := chinese command_line workbook hard_input build_tools equations exchange prose pages readme contents imports public_names all_benchmarks

.PHONY: help demo same-python test in-step by-hand notebooks test-quick workbook-test lab build run zh zh-figures site test-browser

help:  ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED)  ## train a small Transformer from scratch, score it and let it translate (a few minutes on two cores)
	$(BIN)/annotated-transformer train --corpus numbers-en-de --preset demo --run $(RUN)
	$(BIN)/annotated-transformer score $(RUN)
	printf '%s\n' 'five thousand two hundred and sixty-six' 'on the third of March at a quarter to six' \
		'on Saturday, the fourteenth of March nineteen ninety-eight' | $(BIN)/annotated-transformer translate $(RUN)
	@echo
	@echo 'Next: `make lab` opens the book, `make test` runs its tests, and'
	@echo '`echo "forty-two" | $(BIN)/annotated-transformer translate $(RUN)` translates what you like.'

# Three things side by side: tests that wait for processes leave the cores to the notebooks, which give way to them (`nice`). The tests
# that are generated from cells run in their cells, by nbdev_test: each test once.
test: $(INSTALLED)  ## check that notebooks, package and tests are in step, lint, run the tests and the notebooks with theirs
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory -j 3 in-step by-hand notebooks || { echo 'make test failed: a line with *** names each part that did.'; exit 1; }

in-step: $(INSTALLED)
	$(BIN)/python tools/build.py check

by-hand: $(INSTALLED)
	$(PYTEST) -m 'not slow and not page' --ignore tests/browser

notebooks: $(INSTALLED)
	OMP_NUM_THREADS=1 nice $(BIN)/nbdev_test --n_workers $(WORKERS)

# What is left out trains, kills, builds a wheel or measures; `make test` has it.
test-quick: $(INSTALLED)  ## between two commits: in step, lint, the pages' own tests, and those by hand that are quick
	$(BIN)/python tools/build.py check
	$(BIN)/ruff check .
	$(PYTEST) -m 'not slow' $(foreach name,$(QUICK),$(wildcard tests/system/*/test_$(name).py)) $(filter-out tests/system tests/browser,$(wildcard tests/*))

workbook-test: $(INSTALLED)  ## the workbook: every stub is red, every solution green, every planted mistake noticed (part of `make test`)
	$(PYTEST) tests/system/book/test_workbook.py tests/workbook

lab: $(INSTALLED)  ## open the book in JupyterLab
	$(BIN)/jupyter lab --config tools/lab.py nbs/index.ipynb

run: $(INSTALLED)  ## run all notebooks and keep their outputs (NB=nbs/paper/5.2_training.ipynb for one)
	TQDM_DISABLE=1 $(BIN)/jupyter nbconvert --KernelManager.transport_encryption=auto --to notebook --execute --inplace $(NOTEBOOKS)
	$(BIN)/python tools/build.py clean

build: $(INSTALLED)  ## clean the notebooks, export the package and the tests from them
	$(BIN)/python tools/build.py

zh: $(INSTALLED)  ## 中文版: the Chinese notebooks and guides, in zh/ (what is not translated yet stays English)
	$(BIN)/python tools/chinese.py make

zh-figures: $(INSTALLED)  ## draw the figures with Chinese words for `make zh` and `make site` (runs the pages; needs a Chinese font)
	TQDM_DISABLE=1 OMP_NUM_THREADS=1 $(BIN)/python tools/chinese_figures.py draw

site: $(INSTALLED)-site  ## build the site of all notebooks and the reference, in _site/
	$(BIN)/python tools/build_site.py

# Without NB every notebook is run, as in `make run`, which takes a while. Each test is named when it begins; one that has not ended
# after 15 minutes says in which line it waits.
test-browser: $(INSTALLED)-browser $(if $(NB),,site)  ## run the notebooks in JupyterLab by Chromium, look at the site (NB=... for these notebooks alone)
	@which chromium chromium-browser google-chrome | grep -q . || { echo 'Chromium is missing: apt-get install chromium'; exit 2; }
	NB="$(NB)" $(BIN)/pytest -vv -o faulthandler_timeout=900 $(if $(NB),tests/browser/test_notebooks.py,tests/browser)

# Whoever names a Python gets it, or hears why not.
same-python:
	@[ ! -x $(BIN)/python ] || [ "$$($(BIN)/python -V)" = "$$($(PYTHON) -V)" ] || { echo ".venv has $$($(BIN)/python -V) and not \
	$(PYTHON): remove it (rm -r .venv) to change, or leave PYTHON out."; exit 2; }

$(INSTALLED): $(if $(filter-out file,$(origin PYTHON)),| same-python)

# Installed anew only when what is to be installed has changed.
$(INSTALLED): settings.ini setup.py constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("annotated_transformer needs Python 3.11 or newer, and \
	$(PYTHON) is %d.%d: name another with `make PYTHON=...`." % sys.version_info[:2])'
	[ -x $(BIN)/pip ] || $(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) \
		--constraint constraints.txt --editable '.[all,dev]'
	@touch $@

# What only some targets need, beside the rest.
$(INSTALLED)-%: $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[$*]'
	@touch $@
