"""Protocols are checked at run time; no base class is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag import context
from rag.context import (
    AnthropicFormatter,
    ChatMessageFormatter,
    ConversationMemory,
    FactFile,
    FactStore,
    Formatter,
    GenericTextFormatter,
    MemoryContextEnricher,
    MemoryManager,
    MemoryProvider,
    OpenAIFormatter,
    PipelineCallback,
    RememberedFacts,
    SlidingWindowMemory,
    TextTokenizer,
    Tokenizer,
)

SOURCE = Path(__file__).resolve().parents[2] / "src"
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


@pytest.mark.parametrize("name", METHODS)
def test_an_object_with_the_method_is_one(name: str):
    made = type("Own", (), {METHODS[name]: lambda self: None})()
    assert isinstance(made, getattr(context, name))


@pytest.mark.parametrize("name", [*METHODS, "Formatter", "PipelineCallback"])
def test_an_object_without_it_is_none(name: str):
    assert not isinstance(object(), getattr(context, name))


def test_a_formatter_also_has_a_format_type():
    made = type("Own", (), {"format": lambda self, window: ""})
    assert not isinstance(made(), Formatter)
    made.format_type = "own"
    assert isinstance(made(), Formatter)


def test_a_whole_callback_is_one():
    events = ("pipeline_start", "step_start", "step_end", "step_error", "pipeline_end")
    made = type("Own", (), {f"on_{event}": lambda *given: None for event in events})
    assert isinstance(made(), PipelineCallback)


@pytest.mark.parametrize(
    ("made", "protocol"),
    [
        (AnthropicFormatter(), Formatter),
        (OpenAIFormatter(), Formatter),
        (GenericTextFormatter(), Formatter),
        (ChatMessageFormatter(), Formatter),
        (MemoryManager(), MemoryProvider),
        (SlidingWindowMemory(), ConversationMemory),
        (RememberedFacts(), FactStore),
        (FactFile("facts.jsonl"), FactStore),
        (TextTokenizer(), Tokenizer),
        (MemoryContextEnricher(), context.ContextQueryEnricher),
    ],
    ids=lambda made: type(made).__name__,
)
def test_ours_are_what_they_are_used_as(made: object, protocol: type):
    assert isinstance(made, protocol)


def test_every_name_of_the_package_is_there():
    assert all(getattr(context, name) for name in context.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        context.Nothing  # noqa: B018


def test_haystack_is_not_loaded_for_a_pipeline_of_ones_own():
    program = """
import sys
from rag.context import ContextPipeline, FactFile, MemoryManager, SlidingWindowMemory
from rag.context import find_formatter, retriever_step
ContextPipeline().with_memory(MemoryManager()).with_formatter(find_formatter("openai")).build("q")
assert not [name for name in sys.modules if name.partition(".")[0] == "haystack"]
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
