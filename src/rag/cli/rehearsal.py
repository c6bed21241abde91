"""A search of nothing: what each search does, as far as no settings, notes or index matter to it.

Done in the warm process, it leaves to no child what is done once in a process: expressions are
compiled, types looked through. Done in a child that waits, it has the pages of memory copied that a
search writes to.
"""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout

from rag.app.index_state import IndexState
from rag.app.search import SearchReport
from rag.cli.framework.lazy_group import load_command
from rag.cli.render.results import print_results
from rag.config import EmbeddingConfig, RAGConfig, settings, values
from rag.query.syntax import parse_query
from rag.search.pipeline import create_search_pipeline
from rag.search.results import SearchResponse, SearchResult
from rag.stores.edge.document_store import QdrantEdgeDocumentStore
from rag.text.bm25 import query_terms
from rag.text.matches import find_matches
from rag.vault.readable import readable_lines

_TEXT = "# A heading\n\nA *word* of a [link](note.md), **again**.\n"
_NOWHERE = f"{os.devnull}/none"  # there can be no index


def search_nothing() -> None:
    """Do it; nothing is opened, and nobody sees what is printed."""
    load_command("search").make_context("search", ["word"])
    config = RAGConfig(embedding=EmbeddingConfig("none"))
    values(config)
    settings()
    parse_query("word")
    query_terms("word")
    for line in readable_lines(_TEXT):
        find_matches(line.text, "word")
    create_search_pipeline(QdrantEdgeDocumentStore(_NOWHERE), config).close()
    result = SearchResult(_TEXT, 0.5, "note.md", "A note", "notes", 0, ["A heading"])
    index = IndexState(1, 1, "", {}, {}, None, {})
    with redirect_stdout(io.StringIO()):
        print_results(SearchReport(SearchResponse("word", [result], 1), None, index, 0))
