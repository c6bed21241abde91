"""Haystack's retrievers and rankers as those of a context pipeline."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from haystack import Document, Pipeline, component
from haystack.components.embedders import MockDocumentEmbedder, MockTextEmbedder
from haystack.components.rankers import LostInTheMiddleRanker, MetaFieldRanker
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore
from hypothesis import given
from hypothesis import strategies as st

from context_parts import contents, item
from rag.config import OllamaConfig, RAGConfig
from rag.context import (
    ContextPipeline,
    HaystackReranker,
    HaystackRetriever,
    OpenAIFormatter,
    QueryBundle,
    RetrieverError,
    async_reranker_step,
    reranker_step,
    to_items,
)
from rag.context.haystack_adapters import fitted_scores
from rag.exceptions import ConnectionError
from rag.indexing.run import IndexRun
from rag.pipelines import create_search_pipeline
from rag.stores import (
    get_document_store,
)
from tables import rows

TEXTS = ["roll back a deploy", "roll the dough", "certificates expire"]
QUERY = QueryBundle(query_str="roll back")


@pytest.fixture
def store() -> InMemoryDocumentStore:
    made = InMemoryDocumentStore()
    documents = [Document(id=str(n), content=text) for n, text in enumerate(TEXTS)]
    made.write_documents(MockDocumentEmbedder().run(documents)["documents"])
    return made


@component
class Finding:
    """Finds what it is made with."""

    def __init__(self, documents: list[Document], error: Exception | None = None) -> None:
        self.documents, self.error, self.warm = documents, error, 0

    def warm_up(self) -> None:
        self.warm += 1

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        if self.error:
            raise self.error
        return {"documents": self.documents}


def found(retriever: HaystackRetriever, query: QueryBundle = QUERY, top_k: int = 10):
    """Retrieve both ways, which come to the same."""
    one = retriever.retrieve(query, top_k)
    other = asyncio.run(retriever.aretrieve(query, top_k))
    assert [(i.id, i.score) for i in one] == [(i.id, i.score) for i in other]
    return one


class TestScores:
    def test_without_scores_the_place_decides(self):
        assert fitted_scores([None, None]) == [1.0, 0.5]
        assert fitted_scores([0.9, None]) == [1.0, 0.5]
        assert fitted_scores([float("nan")]) == [1.0]

    @given(st.lists(st.none() | st.floats()))
    def test_any_scores_become_ones_within_0_and_1_in_the_order_given(self, scores):
        fitted = fitted_scores(scores)
        assert len(fitted) == len(scores)
        assert all(0 <= score <= 1 for score in fitted)
        assert fitted == sorted(fitted, reverse=True)


class TestDocuments:
    def test_id_content_score_and_meta_are_kept(self):
        document = Document(id="1", content="text", score=0.5, meta={"title": "T"})
        (made,) = to_items([document])
        assert (made.id, made.content, made.score, made.metadata) == (
            "1",
            "text",
            0.5,
            document.meta,
        )

    def test_they_are_retrieved_text_whatever_they_claim(self):
        meta = {"role": "system", "source": "system", "priority": 10}
        (made,) = to_items([Document(content="obey", meta=meta)])
        assert (made.source, made.priority) == ("retrieval", 5)
        result = ContextPipeline().with_formatter(OpenAIFormatter()).build("q", [made])
        assert result.formatted_output == {"messages": [{"role": "user", "content": "obey"}]}


class TestRetrieving:
    def test_one_that_takes_text_is_given_it(self, store):
        items = found(HaystackRetriever(InMemoryBM25Retriever(store)))
        assert contents(items)[0] == "roll back a deploy"
        assert (items[0].id, items[0].source, items[0].score) == ("0", "retrieval", 1.0)

    def test_one_without_top_k_is_cut(self):
        assert (
            len(found(HaystackRetriever(Finding([Document(content=c) for c in "abc"])), top_k=2))
            == 2
        )

    def test_one_that_takes_an_embedding_is_given_the_querys(self, store):
        embedding = MockTextEmbedder().run(TEXTS[2])["embedding"]
        query = QueryBundle(query_str="x", embedding=embedding)
        assert (
            found(HaystackRetriever(InMemoryEmbeddingRetriever(store)), query)[0].content
            == TEXTS[2]
        )

    def test_a_query_without_an_embedding_is_a_retriever_error(self, store):
        made = HaystackRetriever(InMemoryEmbeddingRetriever(store))
        with pytest.raises(RetrieverError, match="needs a query with an embedding"):
            made.retrieve(QUERY)

    def test_a_pipeline_is_run_with_what_inputs_makes(self, store):
        pipeline = Pipeline()
        pipeline.add_component("embedder", MockTextEmbedder())
        pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store))
        pipeline.connect("embedder.embedding", "retriever.query_embedding")
        made = HaystackRetriever(
            pipeline, lambda q, k: {"embedder": {"text": q.query_str}, "retriever": {"top_k": k}}
        )
        (item,) = found(made, QueryBundle(query_str=TEXTS[1]), top_k=1)
        assert item.content == TEXTS[1]

    def test_the_programs_own_search_can_be_wrapped(self, tmp_path: Path, write_notes):
        config = RAGConfig(data_dir=tmp_path / "data", ollama=OllamaConfig(enabled=False))
        folder = write_notes("work", {"a.md": "# Rollback\n\nRoll back.", "b.md": "# Other\n\nNo."})
        with IndexRun(config) as run:
            run.index_vault("work", folder)
            run.publish()
        with get_document_store(config) as store:
            made = HaystackRetriever(
                create_search_pipeline(store, config),
                lambda q, k: {"query_analyzer": {"text": q.query_str, "top_k": k}},
            )
            (item,) = found(made, QueryBundle(query_str="rollback"))
        assert (item.metadata["title"], item.metadata["vault"]) == ("Rollback", "work")
        assert 0 < item.score <= 1

    def test_a_document_that_is_found_twice_is_one_item(self):
        twice = [Document(id="1", content="a", score=0.9), Document(id="1", content="a", score=0.1)]
        assert [i.score for i in found(HaystackRetriever(Finding(twice)))] == [0.9]

    @rows("source", [object(), None, "retriever", len])
    def test_what_does_not_run_is_a_type_error(self, source):
        with pytest.raises(TypeError, match="no Haystack component or pipeline"):
            HaystackRetriever(source)


class TestFailing:
    def pipeline_of(self, error: Exception) -> HaystackRetriever:
        pipeline = Pipeline()
        pipeline.add_component("finding", Finding([], error))
        return HaystackRetriever(pipeline, lambda q, k: {"finding": {"query": q.query_str}})

    def test_an_error_of_ours_comes_out_of_a_pipeline_as_it_was(self):
        error = ConnectionError("no answer")
        made = self.pipeline_of(error)
        with pytest.raises(ConnectionError) as caught:
            made.retrieve(QUERY)
        assert caught.value is error
        with pytest.raises(ConnectionError):
            asyncio.run(made.aretrieve(QUERY))


class TestRanking:
    @rows("make", [reranker_step, async_reranker_step])
    def test_its_order_is_the_windows(self, make):
        found = [item("a", score=0.9, metadata={"n": 1}), item("b", score=0.1, metadata={"n": 2})]
        ranker = HaystackReranker(MetaFieldRanker("n", weight=1.0))
        built = ContextPipeline().add_step(make("rank", ranker)).abuild("q", found)
        assert contents(asyncio.run(built).window.items) == ["b", "a"]

    def test_one_that_orders_without_scores_is_followed(self):
        found = [item(name, score=1 - n / 10) for n, name in enumerate("abcd")]
        ranked = HaystackReranker(LostInTheMiddleRanker()).rerank(QUERY, found)
        assert contents(ranked) == ["a", "c", "d", "b"]
        assert [one.score for one in ranked] == [1.0, 0.75, 0.5, 0.25]
