"""As an agent would: questions about the sample vaults, by searching and reading alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_client import modern
from rag.config import RAGConfig
from rag.indexing.run import IndexRun
from rag.mcp.dispatcher import Dispatcher
from rag.mcp.library import Library
from rag.mcp.protocol import Connection

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


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Call a tool of a server of the sample vaults: `agent("get", note="…")` gives the text."""
    config = RAGConfig(data_dir=tmp_path_factory.mktemp("samples") / "data")
    with IndexRun(config) as run:
        for folder in sorted(SAMPLES.iterdir()):
            run.index_vault(folder.name, folder)
        run.publish()
    library = Library(lambda: config)
    dispatcher = Dispatcher(library)

    def call(name: str, **arguments: Any) -> str:
        message = modern("tools/call", name=name, arguments=arguments)
        answer = dispatcher.handle(message, Connection())
        assert isinstance(answer, dict)
        assert not answer["result"]["isError"]
        return str(answer["result"]["content"][0]["text"])

    yield call
    library.close()


@pytest.mark.parametrize(("question", "fact"), QUESTIONS.items())
def test_a_question_is_answered_in_few_calls(agent: Callable[..., str], question: str, fact: str):
    """It reads no more than the text of results: where a result is, and the lines around it."""
    found = agent("search", query=question, limit=_MOST_CALLS - 1)
    places = re.findall(r"^   (\S.*\.md):(\d+)$", found, re.MULTILINE)
    assert places
    read = [
        agent("get", note=note, from_line=max(1, int(line) - _AROUND), max_lines=2 * _AROUND)
        for note, line in places
    ]
    assert fact in "\n".join([found, *read])
