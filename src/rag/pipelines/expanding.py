"""From a query to its variants: what transforms make of it, side by side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from haystack import component, default_from_dict, default_to_dict

from rag.clients.listening import check_listening
from rag.clients.serialised import with_config
from rag.config import OllamaConfig
from rag.exceptions import ConfigError, RAGError, UsageError
from rag.pipelines.meaning import AUTO, LEXICAL
from rag.pipelines.variants import Variant, Variants, weighed
from rag.query.models import QueryBundle
from rag.query.registry import create_transformer, transformer_name
from rag.stores.protocol import NoteStore
from rag.stores.retrievers import with_store
from rag.text.normalize import normalize
from rag.text.tokens import has_words

NONE = "none"  # as a transform: none of those that are configured
HYDE = "hyde"
HYDE_IDLE = "hyde has no effect: the search is by words"
_MOST = 16  # variants; a plug-in may make any number
_LONGEST = 4_000  # characters of a variant


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


class VariantMaker:
    """Make variants of queries with the configured chat model.

    :param config: the `[ollama]` settings; `transform_timeout` is for all transforms of a query.
    """

    def __init__(self, config: OllamaConfig) -> None:
        self.config = config
        self._model = ""  # that of the server, once it was found

    def make(
        self, text: str, names: Sequence[str], dense: bool = True
    ) -> tuple[Variants, list[str]]:
        """Return the variants of a query, of each text the first, and notices for the user.

        Each transform is given the query itself. What fails is told, never raised.

        :param names: of transforms, from `wanted_transforms`.
        :param dense: whether meaning may be searched; without it `hyde` is of no use.
        """
        notices = [HYDE_IDLE] if HYDE in names and not dense else []
        names = [name for name in names if dense or name != HYDE]
        lacking = self._lacking_model() if names else ""
        until = time.monotonic() + self.config.transform_timeout
        found: dict[tuple[str, bool], Variant] = {}
        without: list[str] = []
        for name in names:
            generator = None if lacking else self._generator(until)
            try:
                made = create_transformer(name, generator).transform(QueryBundle(query_str=text))
                variants = list(_variants(name, text, made))
            except ConfigError:  # it needs a model
                without.append(name)
                continue
            except RAGError as error:
                notices.append(f"searched without {name}: {error}")
                continue
            except Exception as error:  # a plug-in's
                notices.append(f"searched without {name}: it failed ({error!r})")
                continue
            finally:
                if generator is not None:
                    generator.close()
            reasons = (str(one.metadata.get("fallback") or "") for one in made)
            notices += [f"{name}: {why}" for why in dict.fromkeys(filter(None, reasons))]
            for variant in variants:
                found.setdefault((normalize(variant.text), variant.words), variant)
        if without:
            notices.append(f"searched without {', '.join(without)}: {lacking}")
        return weighed([*found.values()][:_MOST]), notices

    def _lacking_model(self) -> str:
        """Return why there is no chat model, and what mends it; empty when there is one."""
        if self._model:
            return ""
        if not self.config.enabled:
            return "they need a chat model, and Ollama is switched off (ollama.enabled)"
        try:
            from rag.clients.generation import ChatModel

            check_listening([self.config.local_url])
            chat = ChatModel(self._limited(self.config.query_timeout))
            try:
                self._model = chat.info.name
            finally:
                chat.close()
        except RAGError as error:
            return f"{error}. {error.hint}".rstrip()
        return ""

    def _generator(self, until: float) -> Any:
        from rag.clients import OllamaGenerator

        return OllamaGenerator(self._limited(max(1.0, until - time.monotonic())), self._model)

    def _limited(self, seconds: float) -> OllamaConfig:
        names = ("connect_timeout", "read_timeout", "request_timeout", "query_timeout")
        return replace(self.config, **{n: min(getattr(self.config, n), seconds) for n in names})


def _variants(name: str, query: str, made: Sequence[QueryBundle]) -> Iterator[Variant]:
    """Yield what a transform made of a query, but the query itself, as yet without weights."""
    same = normalize(query)
    texts = [q for q in made if has_words(q.query_str) and normalize(q.query_str) != same]
    for number, one in enumerate(texts, 1):
        yield Variant(
            label=name if len(texts) == 1 else f"{name} {number}",
            transform=name,
            text=" ".join(one.query_str.split())[:_LONGEST],
            weight=0.0,
            words=one.metadata.get("transform") != HYDE,
            fallback=str(one.metadata.get("fallback") or ""),
        )


@component
class QueryExpander:
    """Make the variants of a query.

    :param document_store: the index that is searched: whether it has embeddings.
    :param transforms: names of transforms, applied side by side; see `rag.query.registry`.
    :param config: the `[ollama]` settings.
    :raises UsageError: for a name that no transform has.
    """

    def __init__(
        self,
        document_store: NoteStore,
        transforms: list[str] | None = None,
        config: OllamaConfig | None = None,
    ) -> None:
        self.document_store = document_store
        self.transforms = wanted_transforms(transforms or [])
        self.config = config or OllamaConfig()
        self._maker = VariantMaker(self.config)

    @component.output_types(variants=Variants, notices=list[str])
    def run(
        self, text: str, transforms: list[str] | None = None, mode: str = AUTO
    ) -> dict[str, Any]:
        """Return the `variants` of a query, without it, and `notices` for the user.

        :param transforms: other transforms than the component's own.
        :param mode: in which the query is searched.
        :raises UsageError: for a name that no transform has.
        """
        names = self.transforms if transforms is None else wanted_transforms(transforms)
        if not names:
            return {"variants": Variants(), "notices": []}
        dense = mode != LEXICAL and self.document_store.embedding_dim is not None
        variants, notices = self._maker.make(text, names, dense)
        return {"variants": variants, "notices": notices}

    @component.output_types(variants=Variants, notices=list[str])
    async def run_async(
        self, text: str, transforms: list[str] | None = None, mode: str = AUTO
    ) -> dict[str, Any]:
        """`run`, off the event loop."""
        return await asyncio.to_thread(self.run, text, transforms, mode)

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
