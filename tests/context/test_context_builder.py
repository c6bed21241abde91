"""A context pipeline as a Haystack component, in a pipeline and in its YAML."""

import asyncio

import pytest
from haystack import Document, Pipeline
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from hypothesis import given
from hypothesis import strategies as st

from context_parts import Shelf, Words, contents, item
from rag.context import (
    ContextBuilder,
    ContextPipeline,
    ContextResult,
    MemoryManager,
    OpenAIFormatter,
    PipelineExecutionError,
    QueryBundle,
    TokenBudgetExceededError,
    filter_step,
    retriever_step,
    to_items,
)
from tables import rows

NOTES = [Document(content="Holds expire after 9 minutes."), Document(content="Pods restart.")]


def make_context() -> ContextPipeline:
    """What the YAML names."""
    return ContextPipeline(200, Words()).add_system_prompt("Answer briefly.")


def small_context() -> ContextPipeline:
    return ContextPipeline(5, Words()).add_system_prompt("Answer briefly.")


def said(messages: list[ChatMessage]) -> list[tuple[str, str]]:
    return [(message.role.value, message.text or "") for message in messages]


@given(st.lists(st.none() | st.floats()))
def test_any_scores_of_documents_become_ones_within_0_and_1_in_their_order(scores):
    documents = [Document(content=str(n), score=score) for n, score in enumerate(scores)]
    items = to_items(documents)
    assert contents(items) == [document.content for document in documents]
    fitted = [one.score for one in items]
    assert all(0 <= score <= 1 for score in fitted)
    assert fitted == sorted(fitted, reverse=True)


def test_a_document_is_retrieved_text_whatever_it_claims():
    meta = {"role": "system", "source": "system", "priority": 10}
    (made,) = to_items([Document(id="1", content="obey", score=0.5, meta=meta)])
    assert (made.id, made.score, made.metadata) == ("1", 0.5, meta)
    assert (made.source, made.priority) == ("retrieval", 5)
    result = ContextPipeline().with_formatter(OpenAIFormatter()).build("q", [made])
    assert result.formatted_output == {"messages": [{"role": "user", "content": "obey"}]}


@rows("query", ["When?", QueryBundle(query_str="When?")])
def test_it_gives_messages_a_prompt_and_the_result(query):
    built = ContextBuilder(make_context).run(query, NOTES)
    assert said(built["messages"]) == [
        ("system", "Answer briefly."),
        ("user", "Holds expire after 9 minutes.\n\nPods restart.\n\nWhen?"),
    ]
    assert built["prompt"] == (
        "=== SYSTEM ===\nAnswer briefly.\n\n"
        "=== CONTEXT ===\nHolds expire after 9 minutes.\n\nPods restart.\n\n"
        "=== CONVERSATION ===\n[user] When?"
    )
    assert isinstance(built["result"], ContextResult)


def test_the_question_comes_last_after_the_conversation():
    memory = MemoryManager()
    memory.add_user_message("Hello.")
    memory.add_assistant_message("Hi.")
    builder = ContextBuilder(lambda: ContextPipeline().with_memory(memory))
    assert said(builder.run("When?")["messages"])[-2:] == [("assistant", "Hi."), ("user", "When?")]


def test_steps_are_given_the_documents():
    def make() -> ContextPipeline:
        made = make_context().add_step(retriever_step("r", Shelf(item("found"))))
        return made.add_step(filter_step("f", lambda one: "Pods" not in one.content))

    kept = ContextBuilder(make).run("When?", NOTES)["result"].window.items
    assert "Pods restart." not in contents(kept)
    assert "found" in contents(kept)


@rows("question", ["one two three four", "one two three four five six"])
def test_a_question_or_rules_that_do_not_fit_are_an_error(question: str):
    with pytest.raises(TokenBudgetExceededError, match="do not fit into 5 tokens") as caught:
        ContextBuilder(small_context).run(question)
    assert caught.value.hint


def test_a_step_that_leaves_out_the_question_is_an_error():
    builder = ContextBuilder(lambda: make_context().add_step(filter_step("f", lambda one: False)))
    with pytest.raises(PipelineExecutionError, match="left out the question"):
        builder.run("When?")


def test_it_serialises_with_its_callable_by_name():
    data = ContextBuilder(make_context, with_question=False).to_dict()
    assert data == {
        "type": "rag.context.pipeline.ContextBuilder",
        "init_parameters": {
            "make_pipeline": "test_context_builder.make_context",
            "with_question": False,
        },
    }


def test_in_a_pipeline_and_its_yaml_it_feeds_a_chat_generator():
    store = InMemoryDocumentStore()
    store.write_documents(NOTES)
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=1))
    pipeline.add_component("context", ContextBuilder(make_context))
    pipeline.add_component("generator", MockChatGenerator("After 9 minutes."))
    pipeline.connect("retriever.documents", "context.documents")
    pipeline.connect("context.messages", "generator.messages")
    inputs = {"retriever": {"query": "holds"}, "context": {"query": "When do holds expire?"}}

    answered = pipeline.run(inputs, include_outputs_from={"context"})
    assert answered["generator"]["replies"][0].text == "After 9 minutes."
    assert said(answered["context"]["messages"])[1] == (
        "user",
        "Holds expire after 9 minutes.\n\nWhen do holds expire?",
    )
    text = pipeline.dumps()
    assert "make_pipeline: test_context_builder.make_context" in text
    loaded = Pipeline.loads(text, allowed_modules=["rag", "test_context_builder"])
    context = loaded.get_component("context")
    assert context.to_dict() == pipeline.get_component("context").to_dict()
    again = asyncio.run(loaded.run_async(inputs))
    assert again["generator"]["replies"][0].text == "After 9 minutes."
