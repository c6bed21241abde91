"""As an agent would: questions about vaults, by searching, reading and related notes alone."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_client import call_tool
from rag.app.library import Library
from rag.config import RAGConfig
from rag.indexing.run import IndexRun
from rag.mcp.protocol import Dispatcher
from tables import rows

SAMPLES = Path(__file__).resolve().parents[2] / "vaults"
_MOST_CALLS = 4
_AROUND = 12  # lines that are read around a result
QUESTIONS = {
    "When do holds expire?": "9 minutes",
    "How many days before expiry is the wildcard certificate renewed?": "30 days before",
    "When does the EDI gateway certificate expire?": "2026-10-08",
    "What must be suspended before a Kubernetes rollback?": "flux suspend",
    "Which port does Postgres use on a developer's machine?": "5433",
    "Who approves anything above 200 euros a month?": "Bríd Kessane",
    "Who leads the team and is away on Fridays?": "Maren Oduya",
    "When is the morning cut-off?": "09:00",
    "証明書は全部で何枚ある？": "51枚",
    "What are the core hours in Dublin?": "10:00–15:00",
}
Agent = Callable[..., str]


@contextmanager
def agent_of(data: Path, vaults: Mapping[str, Path]) -> Iterator[Agent]:
    """Call a tool of a server of some vaults: `agent("get", note="…")` gives its result."""
    config = RAGConfig(data_dir=data)
    with IndexRun(config) as run:
        for name, folder in vaults.items():
            run.index_vault(name, folder)
        run.publish()
    library = Library(lambda: config)
    yield lambda name, **arguments: call_tool(Dispatcher(library), name, arguments)
    library.close()


@pytest.fixture(scope="module")
def agent(tmp_path_factory) -> Iterator[Agent]:
    vaults = {folder.name: folder for folder in sorted(SAMPLES.iterdir())}
    with agent_of(tmp_path_factory.mktemp("samples") / "data", vaults) as call:
        yield call


@rows("question, fact", QUESTIONS.items())
def test_a_question_is_answered_in_few_calls(agent, question, fact):
    """It reads no more than the text of results: where a result is, and the lines around it."""
    found = agent("search", query=question, top_k=_MOST_CALLS - 1)
    places = re.findall(r"^   (\S.*\.md):(\d+)$", found, re.MULTILINE)
    assert places
    read = [
        agent("get", note=note, from_line=max(1, int(line) - _AROUND), max_lines=2 * _AROUND)
        for note, line in places
    ]
    assert fact in "\n".join([found, *read])
