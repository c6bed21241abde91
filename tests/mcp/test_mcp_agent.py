"""As an agent would: questions about vaults, by searching, reading and related notes alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_client import call_tool
from rag.app.library import Library
from rag.config import RAGConfig
from rag.indexing.run import IndexRun
from rag.mcp.protocol import Dispatcher

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


HELP_QUESTIONS = {
    "How long is version history kept on the Plus plan?": "12 months",
    "What is the largest file that the Standard plan syncs?": "5 MB",
    "Which encryption algorithm does Obsidian Sync use?": "AES-256",
    "How many days after a purchase can I get a refund?": "within 7 days",
    "How often does file recovery save a snapshot?": "minimum of 5 minutes",
    "How do I add comments to a note?": "wrapping text with `%%`",
    "In which folder are the settings of a vault?": ".obsidian",
    "What does an insider pay for a Catalyst license?": "**$25**",
    "How do I embed a web page in a note?": "iframe",
    "Which keys open the command palette?": "Ctrl+P",
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
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    vaults = {folder.name: folder for folder in sorted(SAMPLES.iterdir())}
    with agent_of(tmp_path_factory.mktemp("samples") / "data", vaults) as call:
        yield call


@pytest.fixture(scope="module")
def help_agent(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    vaults = {"help": shared_data / "vaults" / "obsidian-help-en"}
    with agent_of(tmp_path_factory.mktemp("help") / "data", vaults) as call:
        yield call


@pytest.mark.parametrize(("question", "fact"), QUESTIONS.items())
def test_a_question_is_answered_in_few_calls(agent: Agent, question: str, fact: str):
    """It reads no more than the text of results: where a result is, and the lines around it."""
    found = agent("search", query=question, top_k=_MOST_CALLS - 1)
    places = re.findall(r"^   (\S.*\.md):(\d+)$", found, re.MULTILINE)
    assert places
    read = [
        agent("get", note=note, from_line=max(1, int(line) - _AROUND), max_lines=2 * _AROUND)
        for note, line in places
    ]
    assert fact in "\n".join([found, *read])


@pytest.mark.parametrize(("question", "fact"), HELP_QUESTIONS.items())
def test_a_question_about_real_notes_is_answered_in_few_calls(
    help_agent: Agent, question: str, fact: str
):
    """It reads the sections of the first results by their addresses and headings, and what is
    related to the first."""
    found = help_agent("search", query=question)
    hits = _HIT.findall(found)[:2]
    assert len(hits) == 2
    read = [help_agent("get", note=note, **_part(line, heading)) for note, line, heading in hits]
    read.append(help_agent("related", note=hits[0][0]))
    assert 1 + len(read) <= _MOST_CALLS
    assert fact in "\n".join(read)


# Place, line and headings of a result.
_HIT = re.compile(r"^   (\S.*\.md):(\d+)\n(?:   ([^\n#…·]+)\n(?=   ))?", re.MULTILINE)


def _part(line: str, heading: str) -> dict[str, Any]:
    """Return what to read of a result: its section, or the lines around it where it has none."""
    if heading:
        return {"heading": heading.split(" › ")[-1]}
    return {"from_line": max(1, int(line) - _AROUND), "max_lines": 2 * _AROUND}
