"""The wiring of the question answering pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystack import Pipeline, component

from rag.clients.factory import chat_provider
from rag.clients.protocols import ChatProvider
from rag.config import OllamaConfig, RAGConfig, complete
from rag.context.steps import find_step
from rag.qa.extractive_answerer import AnswerBuilder, QuotationAnswerer
from rag.query.syntax import not_text
from rag.search.components.note_ranker import newest_notes
from rag.search.components.query_analyzer import QueryAnalyzer
from rag.search.pipeline import LOADER, search_with
from rag.search.query import Query, Variants
from rag.search.results import QueryFilters
from rag.stores.base.document_store import BaseDocumentStore, own_store
from rag.support.pipeline_parts import component_of


@component
class QuestionAnalyzer(QueryAnalyzer):
    """Read a question with the index at hand.

    :param document_store: the index that is searched.
    :param top_k: how many notes the answer may draw on.
    :param mode: `auto`, `lexical`, `dense` or `hybrid`.
    """

    @component.output_types(query=Query)
    def run(  # type: ignore[override]
        self,
        text: str,
        filters: QueryFilters | dict[str, Any] | None = None,
        top_k: int | None = None,
        mode: str | None = None,
        keep_mode: bool = False,
        variants: Variants | None = None,
        rerank: str = "",
        lists: bool = False,
        question: str = "",
        relaxed: bool = False,
    ) -> dict[str, Any]:
        """Return the `query`.

        :param lists: answer from the newest notes that the filters select.
        :param question: what is asked, where `text` is only what to search for.
        :param relaxed: whether other notes than those that were asked for may be listed.

        The other parameters and the errors are those of `QueryAnalyzer`.
        """
        if not isinstance(question, str):
            raise not_text("question", question)
        query = self.read(text, filters, top_k, mode, lists)
        question = question or query.text
        query = replace(
            query,
            keep_mode=keep_mode,
            variants=variants or Variants(),
            rerank=rerank,
            question=question,
            quoted=question if lists else query.meant,
            quotes_all=lists and not relaxed,
        )
        if lists:
            newest = newest_notes(self.document_store, query, query.top_k)
            query = replace(query, matched=newest)
        return {"query": query}


PROMPT, GENERATOR, CHECKER = "prompt_builder", "chat_generator", "answer_checker"
ANSWER = "answer_builder"


def create_qa_pipeline(
    store: BaseDocumentStore,
    config: RAGConfig | OllamaConfig | None = None,
    model: str = "",
    transforms: list[str] | None = None,
    template: str | None = None,
) -> Pipeline:
    """Make the question answering pipeline.

        query_analyzer -> … -> loader (as in the search pipeline)
            -> answerer (QuotationAnswerer) -> answer_builder
            -> prompt_builder -> chat_generator -> answer_checker -> answer_builder, where a model
               is configured

    Where the model finds the prompt too long, the answer_checker sends it back to the
    prompt_builder, which makes a shorter one. No server is asked before it runs. It serialises:
    `Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])`, and of the pipeline that is loaded
    `run({"query_analyzer": {"text": "…"}})["answer_builder"]["answer"]` is the `Answer`. Any chat
    generator of Haystack's may stand in the place of `chat_generator`.

    :param config: without it the settings in force; of an `OllamaConfig` alone, the others are.
        `ask.top_k` and `search.mode` count where a question names none.
    :param model: the chat model that must answer: what fails is then an error, while the
        configured one is stood in for by quotations.
    :param transforms: names of `rag.query.registry`; without it `ask.transforms`.
    :param template: of the prompt, in Jinja; see `AnswerPromptBuilder`.
    :raises UsageError: for a store of another package, a transform that does not exist, or a
        template that is empty or does not parse.
    :raises ConfigError: for such a transform or classifier in the settings.
    """
    store, config = own_store(store), complete(config)
    names = config.ask.transforms
    if names and transforms is None:
        from rag.search.components.query_expander import configured_transforms

        names = configured_transforms(names, "ask.transforms")
    chat = chat_provider(config)
    searching = replace(config, search=replace(config.search, transforms=names))
    if model:
        searching = chat.with_model(searching, model)
    analyzer = QuestionAnalyzer(store, config.ask.top_k, config.search.mode)
    pipeline = search_with(analyzer, searching, transforms)
    pipeline.add_component("answerer", QuotationAnswerer(store, config.ask.max_quotes))
    pipeline.connect(f"{LOADER}.retrieval", "answerer.retrieval")
    if model or chat.is_configured:
        _let_a_model_answer(pipeline, store, config, chat, model, template)
    else:
        pipeline.add_component(ANSWER, AnswerBuilder())
    pipeline.connect("answerer.quotations", f"{ANSWER}.quotations")
    return pipeline


def _let_a_model_answer(
    pipeline: Pipeline,
    store: BaseDocumentStore,
    config: RAGConfig,
    chat: ChatProvider,
    model: str,
    template: str | None,
) -> None:
    # Quotations alone need not wait for the imports of a model.
    from rag.qa.prompt_builder import AnswerPromptBuilder
    from rag.qa.written_answer import AnswerChecker, WrittenAnswerBuilder

    ask = config.ask
    for name in ask.steps:
        find_step(name)  # a name that there is not is an error now, not at the first answer
    tokens = ask.max_answer_tokens
    builder = AnswerPromptBuilder(
        config, model, tokens, steps=ask.steps, template=template, document_store=store
    )
    generator = chat.answer_generator(model, ask.think, ask.temperature, tokens)
    pipeline.add_component(PROMPT, builder)
    pipeline.add_component(GENERATOR, generator)
    pipeline.add_component(CHECKER, AnswerChecker(must_answer=bool(model)))
    pipeline.connect(f"{LOADER}.retrieval", f"{PROMPT}.retrieval")
    pipeline.connect(f"{PROMPT}.messages", f"{GENERATOR}.messages")
    pipeline.connect(f"{PROMPT}.prompt", f"{CHECKER}.prompt")
    pipeline.connect(f"{GENERATOR}.replies", f"{CHECKER}.replies")
    pipeline.connect(f"{CHECKER}.too_long", f"{PROMPT}.too_long")
    pipeline.add_component(ANSWER, WrittenAnswerBuilder())
    pipeline.connect(f"{CHECKER}.written", f"{ANSWER}.written")


def share_model(pipeline: Pipeline) -> None:
    """Let the components that ask one model do so by one connection, in a loaded pipeline too."""
    from rag.qa.prompt_builder import AnswerPromptBuilder

    builder, generator = component_of(pipeline, PROMPT), component_of(pipeline, GENERATOR)
    if (
        generator
        and hasattr(generator, "context_window")
        and isinstance(builder, AnswerPromptBuilder)
    ):
        builder.ask_with(generator.context_window)
