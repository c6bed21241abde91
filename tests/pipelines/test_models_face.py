"""The names that programs import, and what the dataclasses hold when nothing is said."""

from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path

import rag.config
import rag.exceptions
import rag.pipelines
import rag.stores
from rag.pipelines import (
    Answer,
    DocumentMeta,
    IndexingResult,
    QueryFilters,
    SearchResponse,
    SearchResult,
)
from tables import rows

PIPELINES = [
    *("Answer", "Document", "DocumentMeta", "IndexingResult", "QueryFilters", "SearchResponse"),
    *("SearchResult", "ask", "build_qdrant_filters", "chunk_document", "chunk_documents"),
    *("create_indexing_pipeline", "create_qa_pipeline", "create_search_pipeline"),
    *("index_all_vaults", "index_vault", "parse_frontmatter", "scan_vault", "search"),
]
OTHERS = {
    "rag.stores": ["get_document_store", "get_collection_stats", "COLLECTION_NAME"],
    "rag.config": ["RAGConfig", "QDRANT_PATH", "VAULTS_DIR"],
    "rag.exceptions": ["RAGError", "ConnectionError", "IndexingError", "QueryError"],
}


def required(cls: type) -> list[str]:
    return [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]


def test_pipelines_exports_exactly_the_names_of_the_design():
    assert sorted(rag.pipelines.__all__) == sorted(PIPELINES)


def test_a_function_is_not_hidden_by_a_module_of_its_name():
    for module in Path(rag.pipelines.__file__).parent.glob("[a-z]*.py"):
        import_module(f"rag.pipelines.{module.stem}")
    assert not [name for name in PIPELINES if not callable(getattr(rag.pipelines, name))]


@rows("name", PIPELINES)
def test_every_name_of_pipelines_loads(name):
    assert getattr(rag.pipelines, name).__name__ == name


@rows("module, name", [(module, name) for module, names in OTHERS.items() for name in names])
def test_the_other_rooms_have_their_names(module, name):
    assert hasattr(import_module(module), name)


def test_document_meta_is_empty_by_default():
    assert DocumentMeta() == DocumentMeta(tags=[], created="", normalized=False, file_id="")


def test_an_indexing_result_has_no_errors_by_default():
    assert required(IndexingResult) == ["total_docs", "indexed_docs", "total_chunks"]
    assert IndexingResult(1, 1, 3).errors == []


def test_query_filters_filter_nothing_by_default():
    filters = QueryFilters()
    assert (filters.vaults, filters.tags, filters.date_from, filters.date_to) == (None,) * 4
    assert filters.paths is None


def test_a_search_result_needs_what_system_4_names():
    assert required(SearchResult) == ["content", "score", "file_path", "title", "vault", "position"]


def test_a_search_response_needs_query_results_and_total():
    assert required(SearchResponse) == ["query", "results", "total"]


def test_an_answer_is_found_and_written_by_no_model_by_default():
    assert required(Answer) == ["text", "sources", "confidence"]
    answer = Answer("text", [], 0.5)
    assert (answer.found, answer.model, answer.quotes) == (True, "", [])
    assert (answer.searched, answer.corrections, answer.tags) == ("", {}, [])
