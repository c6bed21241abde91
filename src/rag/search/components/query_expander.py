"""From a query to its variants: what transforms make of it, side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

from haystack import component

from rag.clients.factory import chat_provider
from rag.config import ModelsConfig, OllamaConfig, models_config
from rag.exceptions import ConfigError, RAGError, UsageError
from rag.query.registry import create_transformer, needs_model, transformer_name
from rag.search.components import SearchComponent
from rag.search.query import HYDE, HYDE_IDLE, Query, shown, weighed
from rag.search.results import MEANING, WORDS, SearchedVariant, SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.tokenizer import has_words, normalize

if TYPE_CHECKING:
    from rag.query.models import QueryBundle

NONE = "none"  # as a transform: none of those that are configured
_GRACE = 1.0  # seconds, for a transform that keeps to its time to say so itself
_MOST = 16  # variants of a query
_MOST_MADE = 1_000  # examined; a plug-in may make any number


def wanted_transforms(names: Sequence[str]) -> list[str]:
    """Return the names of transforms as they are listed, each once; none for `none`.

    :raises UsageError: for a name that no transform has, or `none` beside others.
    """
    if NONE in names:
        if len(set(names)) > 1:
            raise UsageError(
                f"{NONE} stands beside other transforms", hint=f"Leave out {NONE}, or the others."
            )
        return []
    return list(dict.fromkeys(map(transformer_name, names)))


def configured_transforms(names: Sequence[str], setting: str) -> list[str]:
    """Return the names of a setting's transforms, as `wanted_transforms` does.

    :raises ConfigError: which names the setting.
    """
    try:
        return wanted_transforms(names)
    except UsageError as error:
        raise ConfigError(f"{setting}: {error.message}", hint=error.hint) from error


def _transformed(
    name: str, text: str, generator: Any, seconds: float
) -> tuple[list[SearchedVariant], list[str]]:
    """Return what one transform made of a query, but the query itself, as yet without weights; and
    what there is to tell of it."""
    from rag.query.llm import TimeoutExpired, within
    from rag.query.models import QueryBundle

    def transform() -> list[QueryBundle]:
        transformer = create_transformer(name, generator, timeout=seconds)
        return list(islice(transformer.transform(QueryBundle(query_str=text)), _MOST_MADE))

    if generator is not None:
        generator.timeout = seconds  # for plug-ins, which wait as long as it does
    try:
        made = within(seconds + _GRACE, transform)
        same = normalize(text)
        others = [q for q in made if has_words(q.query_str) and normalize(q.query_str) != same]
        variants = [
            SearchedVariant(
                name if len(others) == 1 else f"{name} {number}",
                name,
                shown(query.query_str),
                weight=0.0,
                sides=(MEANING,) if query.metadata.get("transform") == HYDE else (WORDS, MEANING),
                fallback=str(query.metadata.get("fallback") or ""),
            )
            for number, query in enumerate(others, 1)
        ]
        reasons = dict.fromkeys(str(query.metadata.get("fallback") or "") for query in made)
        return variants, [f"{name}: {reason}" for reason in reasons if reason]
    except RAGError as error:
        reason = str(error)
    except TimeoutExpired:
        reason = f"it took longer than {seconds:g} s"
    except (Exception, SystemExit) as error:  # a plug-in's
        reason = f"it failed ({error!r})"
    return [], [f"searched without {name}: {reason}"]


@component
class QueryExpander(SearchComponent):
    """Make the variants of a query, in `ollama.transform_timeout` for all of its transforms.

    :param document_store: the index that is searched: whether it has embeddings.
    :param transforms: names of transforms, applied side by side; see `rag.query.registry`.
    """

    def __init__(
        self,
        document_store: BaseDocumentStore | None,
        transforms: list[str] | None = None,
        config: ModelsConfig | OllamaConfig | None = None,
    ) -> None:
        self.document_store = document_store
        self.transforms = wanted_transforms(transforms or [])
        self.config = models_config(config)
        self.chat = chat_provider(self.config)
        self._model = ""  # that of the server, once it was found

    @component.output_types(query=Query)
    def run(self, query: Query) -> dict[str, Query]:
        """Return the `query` with variants by the transforms of its route, or by the component's
        own, after those that it has; a `UsageError` for a name that no transform has."""
        chosen = query.transforms
        names = self.transforms if chosen is None else wanted_transforms(chosen)
        if not (names and query.text):
            return {"query": query}
        started = time.monotonic()
        store = self.document_store
        dense = query.mode != SearchMode.LEXICAL and bool(store and store.embedding_dim)
        variants, notices = self.make(query.meant, names, dense)
        milliseconds = round((time.monotonic() - started) * 1000, 1)
        if query.variants:
            variants = weighed([*query.variants, *variants][:_MOST])
        timings = {"transforms": milliseconds} if milliseconds else {}
        return {"query": query.noting(*notices, variants=variants, timings=timings)}

    def make(
        self, text: str, names: Sequence[str], dense: bool = True
    ) -> tuple[tuple[SearchedVariant, ...], list[str]]:
        """Return the variants of a query, of each text the first, and notices for the user. Each
        transform is given the query itself; a failure is reported, never raised.

        :param names: of transforms, from `wanted_transforms`.
        :param dense: whether meaning may be searched; without it `hyde` is of no use.
        """
        if not has_words(text):
            return (), []
        limits = self.config.ollama
        until = time.monotonic() + limits.transform_timeout
        notices = [HYDE_IDLE] if HYDE in names and not dense else []
        names = [name for name in names if dense or name != HYDE]
        bound = [name for name in names if needs_model(name)]
        variants: dict[tuple[str, tuple[str, ...]], SearchedVariant] = {}
        lacking, generator = "", None  # why there is no chat model, and what mends it
        try:
            seconds = min(limits.query_timeout, limits.transform_timeout)
            self._model = self._model or (self.chat.find_chat_model(seconds) if bound else "")
        except RAGError as error:
            lacking = error.as_notice()
        if not lacking and self.chat.is_configured:  # no server is asked before it runs
            generator = self.chat.generator(self._model, limits.transform_timeout)
        with closing(generator) if generator else nullcontext():
            for name in names:
                left = round(until - time.monotonic(), 1)
                if lacking and name in bound:
                    continue
                if left <= 0:
                    reason = "no time was left (ollama.transform_timeout)"
                    notices.append(f"searched without {name}: {reason}")
                    continue
                made, more = _transformed(name, text, generator, left)
                notices += more
                for variant in made:
                    variants.setdefault((normalize(variant.text), variant.sides), variant)
        if lacking:
            takes = "it takes" if len(bound) == 1 else "they take"
            notices.append(
                f"searched without {', '.join(bound)}: {takes} a chat model, and {lacking}"
            )
        return weighed([*variants.values()][:_MOST]), notices
