"""Query transformers: from one query to those that are searched for.

None of them calls a model: each is given a callback that does, such as those below, which take any
Haystack chat generator:

    generator = OllamaGenerator(model="llama3.2")
    transformer = MultiQueryTransformer(QueryVariations(generator))

Such a callback never fails because of its model, and never waits longer than its `timeout`. What it
gives then is the query itself, or nothing, and `fallback` says why in one short sentence.

The metadata of a new query says what made it, as `transform`, and of what: `original_query` or
`parent_query`; `fallback` where the callback had to do without its model. Each transformer is a
Haystack component too: `run(query)` gives `queries`.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar

from haystack import component

from rag.query.llm import (
    LONGEST_QUERY,
    TEXT,
    Asked,
    Prompt,
    ask,
    build_prompt,
    document_in,
    same_text,
    schema_of,
    texts_in,
)
from rag.query.models import (
    AsyncQueryTransformer,
    ConversationTurn,
    QueryBundle,
    QueryTransformer,
    as_bundle,
)
from rag.query.serialization import QueryComponent, check_callable
from rag.text.bm25 import content_terms
from rag.text.tokenizer import has_words


class GeneratedText(str):
    """A text; `fallback` says why no model wrote it, and is empty when one did."""

    fallback: str

    def __new__(cls, text: str, fallback: str = "") -> GeneratedText:
        generated = super().__new__(cls, text)
        generated.fallback = fallback
        return generated


class GeneratedTexts(list[str]):
    """Texts; `fallback` says why no model wrote them, and is empty when one did."""

    def __init__(self, texts: list[str], fallback: str = "") -> None:
        super().__init__(texts)
        self.fallback = fallback


class _Transformer(QueryComponent):
    @abstractmethod
    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the queries to search with."""

    @component.output_types(queries=list[QueryBundle])
    def run(self, query: QueryBundle | str) -> dict[str, list[QueryBundle]]:
        """Return the transformed `queries`."""
        return {"queries": self.transform(as_bundle(query))}


async def _awaited(transformer: QueryTransformer, query: QueryBundle) -> list[QueryBundle]:
    if isinstance(transformer, AsyncQueryTransformer):
        return await transformer.atransform(query)
    return await asyncio.to_thread(transformer.transform, query)


def _check_transformer(given: object) -> None:
    if not isinstance(given, (QueryTransformer, AsyncQueryTransformer)):
        raise TypeError(f"{type(given).__name__} is no query transformer")


def _with_fallback(query: QueryBundle, generated: object) -> QueryBundle:
    reason = getattr(generated, "fallback", "")
    metadata = {**query.metadata, "fallback": reason} if reason else query.metadata
    return query.model_copy(update={"metadata": metadata})


class _WithCallback(_Transformer):
    """A transformer with one callback. `_kind` is the `transform` of the metadata of what it makes,
    `_origin` the key of the query that this was made of."""

    _callables = ("generate_fn",)
    _kind: ClassVar[str]
    _origin: ClassVar[str] = "original_query"

    def __init__(self, generate_fn: Callable[[str], Any]) -> None:
        check_callable(generate_fn, "generate_fn")
        self._generate_fn: Callable[..., Any] = generate_fn

    def _query(self, query: QueryBundle, text: Any, **position: int) -> QueryBundle:
        """Return `query` with a text from the callback; its vector belonged to the old one."""
        if not isinstance(text, str):
            raise TypeError(f"the callback must return a text, not {type(text).__name__}")
        origin = {self._origin: query.query_str, "transform": self._kind, **position}
        update = {"query_str": str(text), "embedding": None, "metadata": query.metadata | origin}
        return _with_fallback(query.model_copy(update=update), text)

    def _queries(self, query: QueryBundle, texts: Any, index_key: str) -> list[QueryBundle]:
        """Return a query for each text from the callback; one text is no list of its letters."""
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            kind = type(texts).__name__
            raise TypeError(f"the callback must return a list of texts, not {kind}")
        made = [self._query(query, text, **{index_key: at}) for at, text in enumerate(texts)]
        return [_with_fallback(variant, texts) for variant in made]


@component
class HyDETransformer(_WithCallback):
    """Search with a hypothetical answer, whose embedding is nearer to a real one than the
    question's (HyDE: Gao et al. 2022, "Precise Zero-Shot Dense Retrieval without Relevance
    Labels").

    :param generate_fn: takes the query, returns a hypothetical document.
    """

    _kind = "hyde"

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return one query, the document, with `original_query` in its metadata."""
        return [self._query(query, self._generate_fn(query.query_str))]


@component
class MultiQueryTransformer(_WithCallback):
    """Search with the query and other ways to put it.

    :param generate_fn: takes the query and how many, returns variations.
    :param num_queries: how many variations; of more than that the first are taken.
    :raises ValueError: when `num_queries` is below 1.
    """

    _kind = "multi_query"

    def __init__(self, generate_fn: Callable[[str, int], list[str]], num_queries: int = 3) -> None:
        check_callable(generate_fn, "generate_fn")
        if num_queries < 1:
            raise ValueError(f"num_queries must be at least 1, not {num_queries}")
        self._generate_fn, self._num_queries = generate_fn, num_queries

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the query itself and then its variations, with `original_query` and
        `variation_index` (from 0) in their metadata."""
        texts = self._generate_fn(query.query_str, self._num_queries)
        variations = self._queries(query, texts, "variation_index")[: self._num_queries]
        return [query if variations else _with_fallback(query, texts), *variations]


@component
class DecompositionTransformer(_WithCallback):
    """Search for the parts of a question, one by one.

    :param generate_fn: takes the query, returns sub-questions.
    """

    _kind, _origin = "decomposition", "parent_query"

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the sub-questions, with `parent_query` and `sub_question_index` (from 0) in
        their metadata."""
        return self._queries(query, self._generate_fn(query.query_str), "sub_question_index")


@component
class StepBackTransformer(_WithCallback):
    """Search with the query and with a more general one (Zheng et al. 2023, "Take a Step Back").

    :param generate_fn: takes the query, returns a more abstract one.
    """

    _kind = "step_back"

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the query itself and the general one, with `original_query` in its metadata."""
        return [query, self._query(query, self._generate_fn(query.query_str))]


@component
class ConversationRewriter(_WithCallback):
    """Rewrite a query so that it stands by itself, out of what was said before.

    :param rewrite_fn: takes the query and its `chat_history`, returns the rewritten query.
    """

    _callables = ("rewrite_fn",)
    _kind = "conversation_rewrite"

    def __init__(self, rewrite_fn: Callable[[str, list[ConversationTurn]], str]) -> None:
        check_callable(rewrite_fn, "rewrite_fn")
        self._rewrite_fn = rewrite_fn

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return one query: the rewritten one, with `original_query` in its metadata, its
        embedding and history kept; without a history the query itself."""
        if not query.chat_history:
            return [query]
        rewritten = self._query(query, self._rewrite_fn(query.query_str, query.chat_history))
        return [rewritten.model_copy(update={"embedding": query.embedding})]


@component
class ContextualQueryTransformer(_Transformer):
    """Put what was said before in front of the query that another transformer is given.

    :param inner: that transformer.
    :param context_prefix: what stands before the conversation.
    """

    _callables = ("inner",)

    def __init__(
        self, inner: QueryTransformer, context_prefix: str = "Given the conversation context: "
    ) -> None:
        _check_transformer(inner)
        self._inner, self._context_prefix = inner, context_prefix

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return what `inner` makes of `{prefix}{role: content | …} | Query: {query}`; without a
        history, what it makes of the query itself."""
        return self._inner.transform(self._in_context(query))

    async def atransform(self, query: QueryBundle) -> list[QueryBundle]:
        """`transform`; an inner transformer that can wait is waited for."""
        return await _awaited(self._inner, self._in_context(query))

    def _in_context(self, query: QueryBundle) -> QueryBundle:
        if not query.chat_history:
            return query
        turns = " | ".join(f"{turn.role}: {turn.content}" for turn in query.chat_history)
        text = f"{self._context_prefix}{turns} | Query: {query.query_str}"
        return query.model_copy(update={"query_str": text})


@component
class QueryTransformPipeline(_Transformer):
    """Transformers one after the other, each applied to every query of the one before.

    :raises ValueError: when there are none.
    :raises TypeError: when one of them is no transformer.
    """

    _callables = ("transformers",)

    def __init__(self, transformers: list[QueryTransformer]) -> None:
        if not transformers:
            raise ValueError("QueryTransformPipeline needs at least one transformer")
        for transformer in transformers:
            _check_transformer(transformer)
        self._transformers = list(transformers)

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the queries that come out last, of each text the first."""
        queries = [query]
        for transformer in self._transformers:
            queries = _unique(transformer.transform(query) for query in queries)
        return queries

    async def atransform(self, query: QueryBundle) -> list[QueryBundle]:
        """`transform`; transformers that can wait are waited for, and the others work off the event
        loop, for all queries at once."""
        queries = [query]
        for step in self._transformers:
            queries = _unique(await asyncio.gather(*(_awaited(step, query) for query in queries)))
        return queries


def _pipeline_repr(pipeline: QueryTransformPipeline) -> str:
    names = ", ".join(type(transformer).__name__ for transformer in pipeline._transformers)
    return f"QueryTransformPipeline([{names}])"


# `@component` gives a class a `repr`, which does not name the transformers.
QueryTransformPipeline.__repr__ = _pipeline_repr  # type: ignore[method-assign,assignment]


def _unique(lists: Iterable[Iterable[QueryBundle]]) -> list[QueryBundle]:
    """Leave out queries of a text that was there before, but for a `fallback` of theirs."""
    kept: dict[str, QueryBundle] = {}
    for query in chain.from_iterable(lists):
        first = kept.setdefault(query.query_str, query)
        if "fallback" in query.metadata and "fallback" not in first.metadata:
            metadata = {**first.metadata, "fallback": query.metadata["fallback"]}
            kept[query.query_str] = first.model_copy(update={"metadata": metadata})
    return list(kept.values())


_TURNS = 6
_LONGEST_TURN = 600  # characters


def rewriting_prompt(query: str, turns: Sequence[ConversationTurn]) -> Prompt:
    """Return what a model is asked to rewrite a query after a conversation, of which it is shown
    the end."""
    spoken = [turn for turn in turns if turn.role in ("user", "assistant")][-_TURNS:]
    lines = (f"{turn.role}: {turn.content[:_LONGEST_TURN]}" for turn in spoken)
    return build_prompt("rewritten", query, conversation="\n".join(lines))


TIMEOUT = 60.0  # seconds
_MOST_PARTS = 5
_LEAST_SHARED = 0.5  # of a rewritten question's terms


class _FromModel(QueryComponent):
    """A callback that asks a generator.

    :param generator: a Haystack chat generator; a `run` that takes a `response_format` is given
        the JSON schema of the reply.
    :param timeout: seconds for one text or list of texts, whatever the generator allows itself.
    :raises TypeError: for a generator without `run`.
    :raises ValueError: for a timeout that is not positive.
    """

    _callables = ("generator",)

    def __init__(self, generator: Any, timeout: float = TIMEOUT) -> None:
        if not callable(getattr(generator, "run", None)):
            kind = type(generator).__name__
            raise TypeError(f"generator must be a chat generator with run(), not {kind}")
        if not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        self.generator, self.timeout = generator, timeout

    def _ask(self, prompt: Prompt, query: str, key: str, most: int = 0) -> Asked:
        if not has_words(query):
            return Asked("", "", "the query holds no word")
        texts = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": most}
        schema = schema_of(key, **{key: texts if most else TEXT})
        return ask(self.generator, prompt, schema, self.timeout)

    def _texts(
        self, prompt: Prompt, query: str, key: str, most: int, lacking: str
    ) -> tuple[list[str], str]:
        """Return the texts of the model's reply, one more than the most if the query is among them,
        and what to say where none of them is usable."""
        asked = self._ask(prompt, query, key, most)
        longest = max(LONGEST_QUERY, 2 * len(query))
        texts = texts_in(asked.reply, (most or 1) + 1, without=prompt.code, longest=longest)
        return texts, asked.failure or f"{asked.model} {lacking}"


def _others(texts: list[str], query: str) -> list[str]:
    return [text for text in texts if not same_text(text, query)]


class HypotheticalDocuments(_FromModel):
    """For `HyDETransformer`: the passage of a note that would answer the query, else the query."""

    def __call__(self, query: str) -> GeneratedText:
        prompt = build_prompt("document", query)
        asked = self._ask(prompt, query, "document")
        text = document_in(asked.reply, without=prompt.code)
        if text and not same_text(text, query):
            return GeneratedText(text)
        return GeneratedText(query, asked.failure or f"{asked.model} wrote no passage")


class QueryVariations(_FromModel):
    """For `MultiQueryTransformer`: other ways to put the query, at most so many."""

    def __call__(self, query: str, num_queries: int) -> GeneratedTexts:
        prompt = build_prompt("variations", query, {"count": str(num_queries)})
        texts, reason = self._texts(prompt, query, "queries", num_queries, "gave no variation")
        others = _others(texts, query)[:num_queries]
        return GeneratedTexts(others, "" if others else reason)


class SubQuestions(_FromModel):
    """For `DecompositionTransformer`: the questions that a query is made of, at most five; the
    query itself where it has one part."""

    def __call__(self, query: str) -> GeneratedTexts:
        prompt = build_prompt("sub_questions", query, {"count": str(_MOST_PARTS)})
        texts, reason = self._texts(prompt, query, "questions", _MOST_PARTS, "gave no sub-question")
        parts = _others(texts, query)[:_MOST_PARTS]
        return GeneratedTexts(parts or [query], "" if texts else reason)


class StepBackQuestions(_FromModel):
    """For `StepBackTransformer`: a more general question, else the query."""

    def __call__(self, query: str) -> GeneratedText:
        prompt = build_prompt("step_back", query)
        texts, reason = self._texts(prompt, query, "question", 0, "gave no general question")
        others = _others(texts, query)
        return GeneratedText(others[0]) if others else GeneratedText(query, reason)


class RewrittenQuestions(_FromModel):
    """For `ConversationRewriter`: the query, made to stand by itself, else the query.

    A question of other words than those of the conversation is not believed.
    """

    def __call__(self, query: str, turns: Sequence[ConversationTurn]) -> GeneratedText:
        prompt = rewriting_prompt(query, turns)
        texts, reason = self._texts(prompt, query, "question", 0, "gave no question")
        if not texts:
            return GeneratedText(query, reason)
        terms = {*content_terms(texts[0])}
        if len(terms & {*content_terms(prompt.user)}) >= _LEAST_SHARED * len(terms):
            return GeneratedText(texts[0])
        return GeneratedText(query, reason.replace("gave no question", "asked something else"))
