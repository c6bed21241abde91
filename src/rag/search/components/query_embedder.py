"""Whether a query is searched semantically too, and its embedding if so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from haystack import component

from rag.clients.factory import embedding_provider
from rag.clients.protocols import EmbeddingProvider
from rag.config import ModelsConfig, OllamaConfig, models_config
from rag.exceptions import (
    EMBED_ANEW,
    EMBED_REST,
    ConfigError,
    ConnectionError,
    IndexUnavailableError,
    RAGError,
    Standing,
)
from rag.index.embedding_space import (
    Embedded,
    Space,
    maker,
    other_model,
    read_background,
    read_embedded,
)
from rag.search.components import SearchComponent
from rag.search.query import HYDE_IDLE, Query
from rag.search.results import MEANING, SearchedVariant, SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.vector_digest import has_sample, may_be_same

_READ = 1_000  # characters of a query that a model reads: for more it takes seconds
_LONG = f"the query is long: its meaning is that of the first {_READ:,} characters"
_BY_MEANING = "no note holds a word of it: it is searched by meaning alone"
_PARTLY = "only {:,} of {:,} chunks have embeddings: the others are not found {}"


@component
class QueryEmbedder(SearchComponent):
    """Embed a query where index, model and query allow it; search lexically where they do not. In
    mode `auto` whatever stands in the way is only said; else it is an error, but for a script that
    the model does not read, which only `dense` searches all the same.
    """

    def __init__(
        self, document_store: BaseDocumentStore, config: ModelsConfig | OllamaConfig | None = None
    ) -> None:
        self.document_store, self.config = document_store, models_config(config)
        self._space: Space | None = None  # of the index; the server's model makes it

    @cached_property
    def embeddings(self) -> EmbeddingProvider:
        """Who makes vectors: whoever made those of the index, unless the settings say it. No server
        is asked where it has some."""
        made_by = maker(read_embedded(self.document_store.manifest()))
        return embedding_provider(self.config, made_by)

    @component.output_types(query=Query)
    def run(self, query: Query) -> dict[str, Query]:
        """Return the `query` with its mode and, where meaning counts, its embedding and those of
        its variants. Where no note holds any of its words, meaning alone counts, unless a mode was
        chosen.

        :raises IndexUnavailableError: in mode `dense` or `hybrid`, for an index without embeddings,
            or with those of another model; `ConnectionError`: when no server gives one.
        """
        manifest, wanted, variants = self.document_store.manifest(), query.mode, query.variants
        embedded, read = read_embedded(manifest), query.meant[:_READ]
        vector, background, share = None, None, 1.0
        try:
            mode, notice = self._gate(query.meant, wanted, embedded)
            if embedded and mode != SearchMode.LEXICAL:
                share = embedded.share if mode == SearchMode.HYBRID else 1.0
                vector, variants, lacking = self._embed(query, read, mode, embedded)
                background = read_background(manifest)
                by_meaning = wanted == SearchMode.AUTO and query.missing and query.is_strange
                mode = SearchMode.DENSE if by_meaning else mode
                long = _LONG if read != query.meant else ""
                reasons = [notice, long, lacking, _BY_MEANING if by_meaning else ""]
                notice = "; ".join(filter(None, reasons))
        except RAGError as error:
            if wanted != SearchMode.AUTO:
                raise
            mode, notice = SearchMode.LEXICAL, error.as_notice("search is by words: ")
            if error.hint == EMBED_ANEW:  # which says that itself
                notice = error.as_notice()
            elif isinstance(error, ConnectionError):
                notice = Standing(notice)
        is_idle = mode == SearchMode.LEXICAL and any(v.sides == (MEANING,) for v in variants)
        embedding = {"embedding": vector, "background": background, "share": share}
        notices = notice, HYDE_IDLE if is_idle else ""
        return {"query": query.noting(*notices, mode=str(mode), variants=variants, **embedding)}

    def close(self) -> None:
        """Close all connections; `run` opens them again."""
        if "embeddings" in vars(self):
            self.embeddings.close()
        self._space = None

    def _gate(self, text: str, mode: str, embedded: Embedded | None) -> tuple[str, str]:
        """Return the mode to search in by what is known without a server, and why it is not the one
        that was wanted; or raise an `IndexUnavailableError`."""
        has_vectors = embedded is not None and embedded.embedded > 0
        may_embed = has_vectors and mode != SearchMode.LEXICAL and self.embeddings.is_configured
        if mode == SearchMode.LEXICAL or (mode == SearchMode.AUTO and not may_embed):
            return SearchMode.LEXICAL, ""
        if embedded is None or not has_vectors:
            raise IndexUnavailableError(
                f"{mode} search needs embeddings, and this index holds none",
                hint="Run `rag index`. Search by words: --mode lexical.",
            )
        if not may_embed:
            message = f"{mode} search needs {self.embeddings.lacking}"
            raise ConfigError(message, hint="Search by words: --mode lexical.")
        is_fit = embedded.space.is_configured(self.embeddings)
        if not is_fit:  # somebody else may have embedded it meanwhile
            self.embeddings.close()
            del self.embeddings
            is_fit = embedded.space.is_configured(self.embeddings)
        if not is_fit:
            raise other_model(embedded.space, self.embeddings)
        if self.document_store.embedding_dim != embedded.space.dimension:
            raise IndexUnavailableError("the index has lost its embeddings", hint=EMBED_ANEW)
        is_dense = mode == SearchMode.DENSE
        if not self.embeddings.reads_script(text):
            notice = f"{embedded.space.model} does not read this script"
            if is_dense:
                return mode, notice
            said = f"{notice}: search is by words" if mode == SearchMode.HYBRID else ""
            return SearchMode.LEXICAL, said
        if not is_dense:  # chunks without an embedding are found by words: `status` counts them
            return SearchMode.HYBRID, ""
        partly = _PARTLY.format(embedded.embedded, embedded.readable, EMBED_REST)
        return mode, partly if embedded.is_partial else ""

    def _embed(
        self, query: Query, text: str, mode: str, embedded: Embedded
    ) -> tuple[list[float], Sequence[SearchedVariant], str]:
        """Return the vector of a query, its variants with theirs, and a notice when some have none:
        the query can do without them."""
        self.embeddings.check_listening()
        space, reads_script = embedded.space, self.embeddings.reads_script
        if self._space != space:
            digest = self.embeddings.identity().digest
            if has_sample(space.digest) and not may_be_same(digest, space.digest):
                digest = self.embeddings.identity(whole=True).digest  # the version says little
            if not may_be_same(digest, space.digest):  # a model pulled again has the same name
                raise other_model(space, self.embeddings)
            self._space = space
        vector = query.embedding
        vector = vector if vector and len(vector) == space.dimension else None
        variants, dense = query.variants, mode == SearchMode.DENSE
        wanted = [
            v.text for v in variants if MEANING in v.sides and (dense or reads_script(v.text))
        ]
        texts, why = wanted if vector else [text, *wanted], ""
        try:
            vectors = self.embeddings.embed_query(texts, space.dimension) if texts else []
        except ConnectionError as error:
            if not vector:
                raise
            vectors, why = [None] * len(texts), f" ({error})"
        vector = vector or vectors.pop(0)
        assert vector
        if not variants:
            return vector, variants, ""
        by_text = dict(zip(wanted, vectors, strict=True))
        lacking = vectors.count(None)
        notice = f"variants without an embedding: {lacking} of {len(wanted)}{why}"
        with_vectors = (replace(v, vector=by_text.get(v.text)) for v in variants)
        return vector, [*with_vectors], notice if lacking else ""
