"""From a query to its variants: what transforms make of it, side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from haystack import component, default_from_dict, default_to_dict

from rag.clients.factory import chat_provider, with_config
from rag.config import ModelsConfig, OllamaConfig, models_config
from rag.exceptions import ConfigError, RAGError, UsageError
from rag.query.registry import create_transformer, needs_model, transformer_name
from rag.search.query import Query
from rag.search.query_variants import HYDE, HYDE_IDLE, Variant, Variants, shown, weighed
from rag.search.results import SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.edge.retrievers import with_store
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


class VariantMaker:
    """Make variants of queries with the configured chat model.

    :param config: the sections of providers, such as a `RAGConfig`; or the `[ollama]` section.
        `ollama.transform_timeout` is for all transforms of a query.
    """

    def __init__(self, config: ModelsConfig | OllamaConfig) -> None:
        models = models_config(config)
        self.config, self.chat = models.ollama, chat_provider(models)
        self._model = ""  # that of the server, once it was found

    def make(
        self, text: str, names: Sequence[str], dense: bool = True
    ) -> tuple[Variants, list[str]]:
        """Return the variants of a query, of each text the first, and notices for the user.

        Each transform is given the query itself. A failure is reported, never raised. A query
        without words has no variants.

        :param names: of transforms, from `wanted_transforms`.
        :param dense: whether meaning may be searched; without it `hyde` is of no use.
        """
        if not has_words(text):
            return Variants(), []
        until = time.monotonic() + self.config.transform_timeout
        notices = [HYDE_IDLE] if HYDE in names and not dense else []
        names = [name for name in names if dense or name != HYDE]
        bound = [name for name in names if needs_model(name)]
        lacking = self._lacking_model() if bound else ""
        without = bound if lacking else []
        found: dict[tuple[str, bool], Variant] = {}
        with self._generator(lacking) as generator:
            for name in names:
                if name in without:
                    continue
                left = round(until - time.monotonic(), 1)
                if left <= 0:
                    why = "no time was left (ollama.transform_timeout)"
                    notices.append(f"searched without {name}: {why}")
                    continue
                variants, said = _transformed(name, text, generator, left)
                notices += said
                for variant in variants:
                    found.setdefault((normalize(variant.text), variant.words), variant)
        if without:
            takes = "it takes" if len(without) == 1 else "they take"
            why = f"searched without {', '.join(without)}: {takes} a chat model, and "
            notices.append(why + lacking)
        return weighed([*found.values()][:_MOST]), notices

    def _lacking_model(self) -> str:
        """Return why there is no chat model, and what mends it; empty when there is one."""
        if self._model:
            return ""
        seconds = min(self.config.query_timeout, self.config.transform_timeout)
        try:
            self._model = self.chat.find_chat_model(seconds)
        except RAGError as error:
            return error.as_notice()
        return ""

    @contextmanager
    def _generator(self, lacking: str) -> Iterator[Any]:
        """Give one generator for all transforms of a query; no server is asked before it runs."""
        if lacking or not self.chat.is_configured:
            yield None
            return
        seconds = self.config.transform_timeout
        with closing(self.chat.generator(self._model, seconds)) as generator:
            yield generator


def _transformed(
    name: str, text: str, generator: Any, seconds: float
) -> tuple[list[Variant], list[str]]:
    """Return what one transform made of a query, and what there is to tell of it."""
    from rag.query.llm import TimeoutExpired, within
    from rag.query.models import QueryBundle

    def transform() -> list[QueryBundle]:
        transformer = create_transformer(name, generator, timeout=seconds)
        return list(islice(transformer.transform(QueryBundle(query_str=text)), _MOST_MADE))

    if generator is not None:
        generator.timeout = seconds  # for plug-ins, which wait as long as it does
    try:
        made = within(seconds + _GRACE, transform)
        reasons = dict.fromkeys(str(one.metadata.get("fallback") or "") for one in made)
        return list(_variants(name, text, made)), [f"{name}: {why}" for why in reasons if why]
    except RAGError as error:
        return [], [f"searched without {name}: {error}"]
    except TimeoutExpired:
        return [], [f"searched without {name}: it took longer than {seconds:g} s"]
    except (Exception, SystemExit) as error:  # a plug-in's
        return [], [f"searched without {name}: it failed ({error!r})"]


def _variants(name: str, query: str, made: Sequence[QueryBundle]) -> Iterator[Variant]:
    """Yield what a transform made of a query, but the query itself, as yet without weights."""
    same = normalize(query)
    texts = [q for q in made if has_words(q.query_str) and normalize(q.query_str) != same]
    for number, one in enumerate(texts, 1):
        yield Variant(
            label=name if len(texts) == 1 else f"{name} {number}",
            transform=name,
            text=shown(one.query_str),
            weight=0.0,
            words=one.metadata.get("transform") != HYDE,
            fallback=str(one.metadata.get("fallback") or ""),
        )


@component
class QueryExpander:
    """Make the variants of a query.

    :param document_store: the index that is searched: whether it has embeddings.
    :param transforms: names of transforms, applied side by side; see `rag.query.registry`.
    :param config: the sections of providers, such as a `RAGConfig`; or the `[ollama]` section.
    :raises UsageError: for a name that no transform has.
    """

    def __init__(
        self,
        document_store: BaseDocumentStore,
        transforms: list[str] | None = None,
        config: ModelsConfig | OllamaConfig | None = None,
    ) -> None:
        self.document_store = document_store
        self.transforms = wanted_transforms(transforms or [])
        self.config = models_config(config)
        self._maker = VariantMaker(self.config)

    @component.output_types(query=Query)
    def run(self, query: Query) -> dict[str, Query]:
        """Return the `query` with its variants, after those that it has.

        The transforms are those of its route, or without them the component's own.

        :raises UsageError: for a name that no transform has.
        """
        chosen = query.transforms
        names = self.transforms if chosen is None else wanted_transforms(chosen)
        if not (names and query.text):
            return {"query": query}
        started = time.monotonic()
        dense = query.mode != SearchMode.LEXICAL and self.document_store.embedding_dim is not None
        variants, notices = self._maker.make(query.meant, names, dense)
        milliseconds = round((time.monotonic() - started) * 1000, 1)
        if query.variants:
            variants = weighed([*query.variants, *variants][:_MOST])
        timings = {"transforms": milliseconds} if milliseconds else {}
        return {"query": query.noting(*notices, variants=variants, timings=timings)}

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store and settings."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            transforms=self.transforms,
            config=asdict(self.config),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(with_store(data)))
