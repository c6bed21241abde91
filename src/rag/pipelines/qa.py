"""The question answering pipeline, and the function that runs it."""

from __future__ import annotations

from statistics import fmean

from haystack import Pipeline

from rag.config import RAGConfig
from rag.exceptions import QueryError
from rag.pipelines.errors import own_errors
from rag.pipelines.models import Answer, QueryFilters, Quote, SearchResponse
from rag.pipelines.quotation import QuotationAnswerer
from rag.pipelines.searching import create_search_pipeline, open_store, search_inputs, to_response
from rag.pipelines.understanding import understand
from rag.stores.protocol import NoteStore

NOT_FOUND = "not found in your notes"


def create_qa_pipeline(store: NoteStore, config: RAGConfig | None = None) -> Pipeline:
    """Make the question answering pipeline, which answers by quotation.

        embedder -> retriever -> ranker -> loader (as in the search pipeline)
            -> answerer (QuotationAnswerer)

    It serialises: `Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])`.
    """
    pipeline = create_search_pipeline(store, config)
    max_quotes = config.ask.max_quotes if config else 4
    pipeline.add_component("answerer", QuotationAnswerer(max_quotes))
    pipeline.connect("loader.documents", "answerer.documents")
    return pipeline


def ask(
    pipeline: Pipeline,
    question: str,
    filters: QueryFilters | None = None,
    top_k: int = 5,
) -> Answer:
    """Answer a question from the notes.

    :param pipeline: from `create_qa_pipeline`.
    :param top_k: how many notes the answer may draw on.
    :returns: the answer; `found` is false, and the text says so, when the notes hold none.
    :raises QueryError: when the question is empty or the search fails.
    :raises IndexUnavailableError: when there is no index, or it is damaged.
    """
    if not question.strip():
        raise QueryError("the question is empty", hint='Ask something: `rag ask "What is …?"`')
    if top_k < 1:
        raise QueryError(f"top_k must be at least 1, not {top_k}")
    store = open_store(pipeline)
    with store.pinned(), own_errors(QueryError, "the search failed"):
        understood = understand(store, question, filters)
        inputs = search_inputs(understood, top_k)
        inputs["answerer"] = {"query": understood.meant, "typed": understood.text}
        output = pipeline.run(inputs, include_outputs_from={"loader", "query_embedder"})
    response = to_response(output["loader"], understood, output["query_embedder"])
    return _answer(output["answerer"]["quotes"], response)


def _answer(quotes: list[Quote], response: SearchResponse) -> Answer:
    """Number the sources in the order in which the answer names them."""
    numbers: dict[int, int] = {}
    for quote in quotes:
        numbers.setdefault(quote.source, len(numbers) + 1)
    cited = [Quote(quote.text, numbers[quote.source], quote.line) for quote in quotes]
    sources = [response.results[source - 1] for source in numbers]
    return Answer(
        text="\n".join(f"{quote.text} [{quote.source}]" for quote in cited) or NOT_FOUND,
        sources=sources,
        confidence=fmean(source.score for source in sources) if sources else 0.0,
        found=bool(quotes),
        quotes=cited,
        searched=response.searched,
        corrections=response.corrections,
        tags=response.tags,
    )
