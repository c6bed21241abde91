"""Protocols are checked at run time; no base class is needed."""

from rag import context
from tables import rows

METHODS = {
    "QueryTransformer": "transform",
    "AsyncQueryTransformer": "atransform",
    "QueryClassifier": "classify",
    "Retriever": "retrieve",
    "AsyncRetriever": "aretrieve",
    "PostProcessor": "process",
    "AsyncPostProcessor": "aprocess",
    "Reranker": "rerank",
    "AsyncReranker": "arerank",
    "MemoryProvider": "get_context_items",
    "ContextQueryEnricher": "enrich",
    "Tokenizer": "count_tokens",
}


@rows("name", METHODS)
def test_an_object_with_the_method_is_one(name):
    made = type("Own", (), {METHODS[name]: lambda self: None})()
    assert isinstance(made, getattr(context, name))


def test_every_name_of_the_package_is_there():
    assert all(getattr(context, name) for name in context.__all__)
