"""Query transformers: from one query to those that are searched for.

None of them calls a model. Each is given a callback that does, whatever it is;
`rag.query.transforms.llm_callbacks` makes such callbacks from a Haystack chat generator. What a
new query is and what it was made from stands in its metadata: `transform`, and `original_query` or
`parent_query`; `fallback` where the callback says that it had to do without its model.

Each is a Haystack component too: `run(query)` gives `queries`.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from haystack import component, default_to_dict

from rag.query.models import ConversationTurn, QueryBundle, as_bundle
from rag.query.protocols import AsyncQueryTransformer, QueryTransformer
from rag.query.serialization import QueryComponent, check_callable, to_serialised
from rag.support.settings_repr import with_settings_repr


class GeneratedText(str):
    """A text; `fallback` says why no model wrote it, and is empty when one did."""

    fallback: str

    def __new__(cls, text: str, fallback: str = "") -> GeneratedText:
        """Make a text."""
        made = super().__new__(cls, text)
        made.fallback = fallback
        return made


class GeneratedTexts(list[str]):
    """Texts; `fallback` says why no model wrote them, and is empty when one did."""

    def __init__(self, texts: list[str], fallback: str = "") -> None:
        super().__init__(texts)
        self.fallback = fallback


def fallback_of(made: object) -> dict[str, Any]:
    """Return what a query's metadata should say of how its text was made."""
    reason = getattr(made, "fallback", "")
    return {"fallback": reason} if reason else {}


T = TypeVar("T")


class _AsComponent(QueryComponent):
    """What makes a transformer a component."""

    @abstractmethod
    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the queries to search with."""

    @component.output_types(queries=list[QueryBundle])
    def run(self, query: QueryBundle | str) -> dict[str, list[QueryBundle]]:
        """Return the transformed `queries`."""
        return {"queries": self.transform(as_bundle(query))}

    @component.output_types(queries=list[QueryBundle])
    async def run_async(self, query: QueryBundle | str) -> dict[str, list[QueryBundle]]:
        """`run`, off the event loop."""
        return {"queries": await _waited_for(self, as_bundle(query))}


async def _waited_for(transformer: QueryTransformer, query: QueryBundle) -> list[QueryBundle]:
    """Let a transformer wait if it can, and otherwise keep it, and its model, off the loop."""
    if isinstance(transformer, AsyncQueryTransformer):
        return await transformer.atransform(query)
    import asyncio

    return await asyncio.to_thread(transformer.transform, query)


class _WithCallback(_AsComponent):
    """A transformer whose texts `generate_fn` makes."""

    _callables = ("generate_fn",)

    def __init__(self, generate_fn: Callable[[str], Any]) -> None:
        check_callable(generate_fn, "generate_fn")
        self._generate_fn = generate_fn

    def to_dict(self) -> dict[str, Any]:
        """Serialise the transformer; its callback goes by name."""
        return default_to_dict(self, generate_fn=to_serialised(self._generate_fn))


def _transformer(given: T) -> T:
    """Refuse what is no transformer here, and not when it is to transform."""
    if not isinstance(given, (QueryTransformer, AsyncQueryTransformer)):
        raise TypeError(f"{type(given).__name__} is no query transformer")
    return given


def _text(made: Any) -> str:
    """Return what a callback made, a text.

    :raises TypeError: when it is something else.
    """
    if inspect.iscoroutine(made):
        made.close()
    if not isinstance(made, str):
        raise TypeError(f"the callback must return a text, not {type(made).__name__}")
    return str(made)


def _texts(made: Any) -> list[str]:
    """Return what a callback made, texts; one text would be taken for a list of its letters.

    :raises TypeError: when it is something else.
    """
    if isinstance(made, str) or not isinstance(made, Iterable):
        raise TypeError(f"the callback must return a list of texts, not {type(made).__name__}")
    return [_text(text) for text in made]


def _made(query: QueryBundle, text: str, **metadata: Any) -> QueryBundle:
    """Return `query` with another text; its vector belonged to the old one."""
    metadata = {**query.metadata, **metadata}
    return query.model_copy(update={"query_str": text, "embedding": None, "metadata": metadata})


@with_settings_repr
@component
class HyDETransformer(_WithCallback):
    """Search with a hypothetical answer, whose embedding is nearer to a real one than the
    question's (HyDE: Gao et al. 2022, "Precise Zero-Shot Dense Retrieval without Relevance
    Labels").

    :param generate_fn: takes the query, returns a hypothetical document.
    """

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return one query, the document, with `original_query` in its metadata."""
        made = self._generate_fn(query.query_str)
        origin = {"original_query": query.query_str, "transform": "hyde"}
        return [_made(query, _text(made), **origin, **fallback_of(made))]


@with_settings_repr
@component
class MultiQueryTransformer(_AsComponent):
    """Search with the query and other ways to put it.

    :param generate_fn: takes the query and how many, returns variations.
    :param num_queries: how many variations; of more than that the first are taken.
    :raises ValueError: when `num_queries` is below 1.
    """

    _callables = ("generate_fn",)

    def __init__(self, generate_fn: Callable[[str, int], list[str]], num_queries: int = 3) -> None:
        check_callable(generate_fn, "generate_fn")
        if num_queries < 1:
            raise ValueError(f"num_queries must be at least 1, not {num_queries}")
        self._generate_fn, self._num_queries = generate_fn, num_queries

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the query itself and then its variations, with `original_query` and
        `variation_index` (from 0) in their metadata."""
        made = self._generate_fn(query.query_str, self._num_queries)
        texts, told = _texts(made), fallback_of(made)
        origin = {"original_query": query.query_str, "transform": "multi_query", **told}
        variations = [
            _made(query, text, **origin, variation_index=index)
            for index, text in enumerate(texts[: self._num_queries])
        ]
        return [query if variations else _told(query, told), *variations]

    def to_dict(self) -> dict[str, Any]:
        """Serialise the transformer; its callback goes by name."""
        callback = to_serialised(self._generate_fn)
        return default_to_dict(self, generate_fn=callback, num_queries=self._num_queries)


@with_settings_repr
@component
class DecompositionTransformer(_WithCallback):
    """Search for the parts of a question, one by one.

    :param generate_fn: takes the query, returns sub-questions.
    """

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the sub-questions, with `parent_query` and `sub_question_index` (from 0) in
        their metadata."""
        made = self._generate_fn(query.query_str)
        origin = {"parent_query": query.query_str, "transform": "decomposition"}
        return [
            _made(query, text, **origin, **fallback_of(made), sub_question_index=index)
            for index, text in enumerate(_texts(made))
        ]


@with_settings_repr
@component
class StepBackTransformer(_WithCallback):
    """Search with the query and with a more general one (Zheng et al. 2023, "Take a Step Back").

    :param generate_fn: takes the query, returns a more abstract one.
    """

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the query itself and the general one, with `original_query` in its metadata."""
        made = self._generate_fn(query.query_str)
        origin = {"original_query": query.query_str, "transform": "step_back"}
        return [query, _made(query, _text(made), **origin, **fallback_of(made))]


@with_settings_repr
@component
class ConversationRewriter(_AsComponent):
    """Rewrite a query so that it stands by itself, out of what was said before.

    :param rewrite_fn: takes the query and its `chat_history`, returns the rewritten query.
    """

    _callables = ("rewrite_fn",)

    def __init__(self, rewrite_fn: Callable[[str, list[ConversationTurn]], str]) -> None:
        check_callable(rewrite_fn, "rewrite_fn")
        self._rewrite_fn = rewrite_fn

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return one query: the rewritten one, with `original_query` in its metadata, its
        embedding and history kept; without a history the query itself."""
        if not query.chat_history:
            return [query]
        made = self._rewrite_fn(query.query_str, query.chat_history)
        origin = {"original_query": query.query_str, "transform": "conversation_rewrite"}
        metadata = {**query.metadata, **origin, **fallback_of(made)}
        return [query.model_copy(update={"query_str": _text(made), "metadata": metadata})]

    def to_dict(self) -> dict[str, Any]:
        """Serialise the transformer; its callback goes by name."""
        return default_to_dict(self, rewrite_fn=to_serialised(self._rewrite_fn))


@with_settings_repr
@component
class ContextualQueryTransformer(_AsComponent):
    """Put what was said before in front of the query that another transformer is given.

    :param inner: that transformer.
    :param context_prefix: what stands before the conversation.
    """

    _callables = ("inner",)

    def __init__(
        self,
        inner: QueryTransformer,
        context_prefix: str = "Given the conversation context: ",
    ) -> None:
        self._inner, self._context_prefix = _transformer(inner), context_prefix

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return what `inner` makes of `{prefix}{role: content | …} | Query: {query}`; without a
        history, what it makes of the query itself."""
        return self._inner.transform(self._in_context(query))

    async def atransform(self, query: QueryBundle) -> list[QueryBundle]:
        """`transform`; an inner transformer that can wait is waited for."""
        return await _waited_for(self._inner, self._in_context(query))

    def _in_context(self, query: QueryBundle) -> QueryBundle:
        if not query.chat_history:
            return query
        said = " | ".join(f"{turn.role}: {turn.content}" for turn in query.chat_history)
        text = f"{self._context_prefix}{said} | Query: {query.query_str}"
        return query.model_copy(update={"query_str": text})

    def to_dict(self) -> dict[str, Any]:
        """Serialise the transformer with the one it wraps."""
        return default_to_dict(
            self, inner=to_serialised(self._inner), context_prefix=self._context_prefix
        )


def _told(query: QueryBundle, told: dict[str, Any]) -> QueryBundle:
    return query.model_copy(update={"metadata": {**query.metadata, **told}}) if told else query


@with_settings_repr
@component
class QueryTransformPipeline(_AsComponent):
    """Transformers one after the other, each applied to every query of the one before.

    :param transformers: in order.
    :raises ValueError: when there are none.
    :raises TypeError: when one of them is no transformer.
    """

    _callables = ("transformers",)

    def __init__(self, transformers: list[QueryTransformer]) -> None:
        if not transformers:
            raise ValueError("QueryTransformPipeline needs at least one transformer")
        self._transformers = [_transformer(one) for one in transformers]

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the queries that come out last, of each text the first."""
        queries = [query]
        for transformer in self._transformers:
            queries = _unique(made for one in queries for made in transformer.transform(one))
        return queries

    async def atransform(self, query: QueryBundle) -> list[QueryBundle]:
        """`transform`; transformers that can wait are waited for, for all queries at once, and the
        others work off the event loop, one query after the other."""
        import asyncio

        queries = [query]
        for transformer in self._transformers:
            if isinstance(transformer, AsyncQueryTransformer):
                lists = await asyncio.gather(*(transformer.atransform(one) for one in queries))
            else:
                lists = [await _waited_for(transformer, one) for one in queries]
            queries = _unique(made for one in lists for made in one)
        return queries

    def to_dict(self) -> dict[str, Any]:
        """Serialise the pipeline with its transformers."""
        return default_to_dict(self, transformers=[to_serialised(t) for t in self._transformers])


def _unique(queries: Iterable[QueryBundle]) -> list[QueryBundle]:
    """Leave out queries of a text that was there before; what they tell of is kept."""
    kept: dict[str, QueryBundle] = {}
    for query in queries:
        first = kept.setdefault(query.query_str, query)
        told = query.metadata.get("fallback")
        if told and "fallback" not in first.metadata:
            kept[query.query_str] = _told(first, {"fallback": told})
    return list(kept.values())
