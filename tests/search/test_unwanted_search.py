"""A planned search for notes without a word."""

from collections.abc import Iterator

import pytest

from rag.app.requests import SearchRequest
from rag.app.search import search
from rag.app.workspace import Workspace
from rag.config import RAGConfig
from tables import rows


@pytest.fixture(scope="module")
def index(build_index) -> RAGConfig:
    return build_index(
        {
            "v": {
                "a.md": "---\ntags: [crypto]\n---\n# Wallets\n\nBitcoin wallets, bitcoin keys.\n",
                "b.md": "---\ntags: [crypto]\n---\n# Ether\n\nEther wallets.\n",
                "c.md": "# Coins\n\nBitcoin and other coins.\n",
            }
        }
    )


@pytest.fixture
def workspace(index) -> Iterator[Workspace]:
    with Workspace(index) as opened:
        yield opened


@rows(
    "query",
    "notes tagged crypto about wallets but not bitcoin",
    "notes tagged crypto, but not about bitcoin",
    "notes tagged crypto but not bitcoin",
    "wallets but not bitcoin",
)
def test_notes_with_it_are_left_out(workspace, query):
    found = search(workspace, SearchRequest(query, plan=True))
    assert [result.file_path for result in found.results] == ["b.md"]


@rows("query", "wallets but not bitcoin", "暗号 ビットコイン以外")
def test_a_plan_that_leaves_out_no_more_than_words_narrows(workspace, query):
    plan = search(workspace, SearchRequest(query, plan=True)).intent
    assert plan and plan.narrows
