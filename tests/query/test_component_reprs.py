"""The `repr` of components says their settings, and nothing that may be private."""

from __future__ import annotations

from haystack.components.generators.chat import MockChatGenerator

from rag import query
from rag.config import PlannerConfig
from rag.context import ContextBuilder, ContextPipeline, MemoryContextEnricher, MemoryManager
from rag.query import QueryBundle


def write(text: str) -> str:
    return text


def label(bundle: QueryBundle) -> str:
    return "x"


def make() -> ContextPipeline:
    return ContextPipeline()


def test_transformers():
    hyde = query.HyDETransformer(write)
    several = query.MultiQueryTransformer(write, num_queries=2)
    assert repr(hyde) == "HyDETransformer(generate_fn=write)"
    assert repr(several) == "MultiQueryTransformer(generate_fn=write, num_queries=2)"
    assert repr(query.ContextualQueryTransformer(hyde, "So: ")) == (
        "ContextualQueryTransformer(inner=HyDETransformer(generate_fn=write),"
        " context_prefix='So: ')"
    )
    assert repr(query.QueryTransformPipeline([hyde])) == (
        "QueryTransformPipeline(transformers=[HyDETransformer(generate_fn=write)])"
    )
    assert repr(query.ConversationRewriter(write)) == "ConversationRewriter(rewrite_fn=write)"


def test_classifiers():
    assert repr(query.KeywordClassifier({"ops": ["deploy"]}, default="other")) == (
        "KeywordClassifier(rules={'ops': ['deploy']}, default='other', case_sensitive=False)"
    )
    assert repr(query.CallbackClassifier(label)) == "CallbackClassifier(classify_fn=label)"
    assert "distance_fn=None" in repr(query.EmbeddingClassifier({"a": [1.0]}))


def test_the_planner_and_its_router():
    config = PlannerConfig(aliases={"secret": "kubernetes"})
    assert repr(query.MetadataTransformer(config)) == (
        "MetadataTransformer(config=PlannerConfig, asker=LiveAsker,"
        " router=IntentRouter(router='rules', generator=None, classifier=None, timeout=30.0))"
    )
    router = query.IntentRouter("model", MockChatGenerator("secret"))
    assert "generator=MockChatGenerator," in repr(router)


def test_what_assembles_a_context():
    assert repr(ContextBuilder(make)) == "ContextBuilder(make_pipeline=make, with_question=True)"
    assert repr(ContextPipeline(max_tokens=10)).startswith("ContextPipeline(max_tokens=10, ")
    assert "max_items=2" in repr(MemoryContextEnricher(max_items=2))
    memory = MemoryManager()
    memory.add_user_message("a secret")
    assert "secret" not in repr(memory)


def test_a_long_setting_is_shortened():
    enricher = MemoryContextEnricher(template="{query} {context}" + "x" * 1000)
    assert len(repr(enricher)) < 150
