"""Whether a query is searched semantically too, and its embedding if so."""

from __future__ import annotations

import struct
import time
from dataclasses import asdict
from functools import cached_property
from hashlib import blake2b
from mmap import mmap
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from haystack import component, default_from_dict, default_to_dict

from rag.clients.factory import embedding_provider, with_config
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
from rag.index.background import read_background
from rag.index.embedding_space import Embedded, Space, maker, other_model, read_embedded
from rag.search.query import Query
from rag.search.query_variants import HYDE_IDLE, Variants
from rag.search.results import SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.edge.retrievers import with_store
from rag.support.vector_digest import has_sample, may_be_same

if TYPE_CHECKING:
    from collections.abc import Sequence


_SLOTS = 256
_SIZE = 16 << 10  # bytes of a slot: a vector of 4,000 numbers
_DAY = 86_400.0
_HEAD = struct.Struct("=16sdII")  # key, time, bytes of the vector, checksum of all before and it
_table: mmap | None = None


def share() -> None:
    """Begin to keep vectors, for this process and those that will be forked from it."""
    global _table
    _table = mmap(-1, _SLOTS * _SIZE)


def recall(space: str, text: str) -> list[float] | None:
    """Return the vector of a query, if it is known.

    :param space: what makes it.
    """
    if _table is None:
        return None
    key = _key(space, text)
    at = _slot(key)
    slot = _table[at : at + _SIZE]
    found, made, size, checksum = _HEAD.unpack_from(slot)
    vector = slot[_HEAD.size : _HEAD.size + size]
    is_whole = found == key and checksum == _checksum(key, made, vector)
    if not is_whole or not 0 <= time.time() - made < _DAY:
        return None
    return list(struct.unpack(f"={size // 4}f", vector))


def remember(space: str, text: str, vector: Sequence[float]) -> None:
    """Keep the vector of a query, in single precision."""
    packed = struct.pack(f"={len(vector)}f", *vector)
    if _table is None or len(packed) > _SIZE - _HEAD.size:
        return
    key, now = _key(space, text), time.time()
    at = _slot(key)
    head = _HEAD.pack(key, now, len(packed), _checksum(key, now, packed))
    _table[at : at + len(head) + len(packed)] = head + packed


def _key(space: str, text: str) -> bytes:
    return blake2b(f"{space}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()


def _slot(key: bytes) -> int:
    return int.from_bytes(key[:4], "big") % _SLOTS * _SIZE


def _checksum(key: bytes, made: float, vector: bytes) -> int:
    return crc32(vector, crc32(key + struct.pack("=d", made)))


def embedded_in(store: BaseDocumentStore) -> Embedded | None:
    """Return what an index says of its embeddings; `None` where it has none."""
    manifest = store.manifest()
    return read_embedded(manifest) if manifest else None


def embeddings_for(store: BaseDocumentStore, config: ModelsConfig) -> EmbeddingProvider:
    """Return who embeds the queries of an index: whoever made its embeddings, unless the settings
    say it. No server is asked where it has embeddings."""
    return embedding_provider(config, maker(embedded_in(store)))


_READ = 1_000  # characters of a query that a model reads: for more it takes seconds
_LONG = f"the query is long: its meaning is that of the first {_READ:,} characters"
_BY_MEANING = "no note holds a word of it: it is searched by meaning alone"


class Gate(NamedTuple):
    """How a query is to be searched, why not as it was wanted, and which share of the chunks that
    the model can read has embeddings."""

    mode: str
    notice: str = ""
    share: float = 1.0


@component
class QueryEmbedder:
    """Embed a query where index, model and query allow it; search lexically where they do not.

    In mode `auto` whatever stands in the way is only said; in the modes `dense` and `hybrid` it
    is an error. A query in a script that the model does not read is searched lexically, but for
    `dense`, which measures the model as it is.

    :param document_store: the index that is searched.
    :param config: the sections of providers, such as a `RAGConfig`; or the `[ollama]` section.
    :param embeddings: who makes vectors, in the place of the one whom the settings ask for.
    """

    def __init__(
        self,
        document_store: BaseDocumentStore,
        config: ModelsConfig | OllamaConfig | None = None,
        embeddings: EmbeddingProvider | None = None,
    ) -> None:
        self.document_store = document_store
        self.config = models_config(config)
        self._is_given = embeddings is not None
        if embeddings is not None:
            self.embeddings = embeddings
        self._space: Space | None = None  # of the index; the server's model makes it

    @cached_property
    def embeddings(self) -> EmbeddingProvider:
        """Who makes vectors; a search by words does without."""
        return embeddings_for(self.document_store, self.config)

    @component.output_types(query=Query)
    def run(self, query: Query) -> dict[str, Query]:
        """Return the `query` with the mode that it is searched in, a notice where that is not as
        wanted, and, where it is searched by meaning, its embedding, those of its variants, and
        what there is to know of the model's other embeddings.

        All texts are embedded in one request; an embedding that the query has is kept. Where no
        note holds any of its words, its meaning alone counts, unless somebody chose a mode.

        :raises IndexUnavailableError: in mode `dense` or `hybrid`, when the index has no
            embeddings, or of another model.
        :raises ConnectionError: in these modes, when no server gives one.
        """
        text, wanted, variants = query.meant, query.mode, query.variants
        vector = None
        try:
            gate = self._gate(text, wanted)
            mode, notice = gate.mode, gate.notice
            if mode != SearchMode.LEXICAL:
                read = text[:_READ]
                vector, variants, lacking = self._embed(read, variants, query.embedding, mode)
                by_meaning = query.is_strange and wanted == SearchMode.AUTO
                mode = SearchMode.DENSE if by_meaning else mode
                long = _LONG if read != text else ""
                reasons = [notice, long, lacking, _BY_MEANING if by_meaning else ""]
                notice = "; ".join(filter(None, reasons))
        except RAGError as error:
            if wanted != SearchMode.AUTO:
                raise
            gate = Gate(SearchMode.LEXICAL, _by_words(error))
            mode, notice = gate.mode, gate.notice
        is_idle = mode == SearchMode.LEXICAL and any(not v.words for v in variants)
        embedded = query.noting(
            notice,
            HYDE_IDLE if is_idle else "",
            mode=str(mode),
            variants=variants,
            embedding=vector,
            share=gate.share,
            background=read_background(self.document_store.manifest()) if vector else None,
        )
        return {"query": embedded}

    def close(self) -> None:
        """Close all connections; `run` opens them again."""
        if "embeddings" in vars(self):
            self.embeddings.close()
        self._space = None

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store and settings."""
        return default_to_dict(
            self, document_store=self.document_store.to_dict(), config=asdict(self.config)
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(with_store(data)))

    def _gate(self, text: str, mode: str) -> Gate:
        """Decide by what is known without a server.

        :raises IndexUnavailableError: when the index has no embeddings that fit.
        """
        if mode == SearchMode.LEXICAL:
            return Gate(SearchMode.LEXICAL)
        embedded = embedded_in(self.document_store)
        if embedded is None or not embedded.embedded:
            if mode == SearchMode.AUTO:
                return Gate(SearchMode.LEXICAL)
            raise IndexUnavailableError(
                f"{mode} search needs embeddings, and this index holds none",
                hint="Run `rag index`. Search by words: --mode lexical.",
            )
        if not self.embeddings.is_configured:
            if mode == SearchMode.AUTO:
                return Gate(SearchMode.LEXICAL)
            message = f"{mode} search needs {self.embeddings.lacking}"
            raise ConfigError(message, hint="Search by words: --mode lexical.")
        if not (embedded.space.is_configured(self.embeddings) or self._choose_again(embedded)):
            raise other_model(embedded.space, self.embeddings)
        if self.document_store.embedding_dim != embedded.space.dimension:
            raise IndexUnavailableError(
                "the index has lost its embeddings",
                hint=EMBED_ANEW,
            )
        if not self.embeddings.reads_script(text):
            notice = f"{embedded.space.model} does not read this script"
            if mode == SearchMode.DENSE:
                return Gate(SearchMode.DENSE, notice)
            said = f"{notice}: search is by words" if mode == SearchMode.HYBRID else ""
            return Gate(SearchMode.LEXICAL, said)
        if mode == SearchMode.DENSE:
            return Gate(mode, _partly(embedded, "are not found"))
        return Gate(SearchMode.HYBRID, _partly(embedded), embedded.share)

    def _choose_again(self, embedded: Embedded) -> bool:
        """Ask whoever has made the embeddings of the index meanwhile; return whether they are of
        the configured model."""
        if self._is_given:
            return False
        self.embeddings.close()
        del self.embeddings
        return embedded.space.is_configured(self.embeddings)

    def _embed(
        self, text: str, variants: Variants, known: list[float] | None, mode: str
    ) -> tuple[list[float], Variants, str]:
        """Return the vector of a query, its variants with theirs, and a notice when some have
        none: the query can do without them."""
        self.embeddings.check_listening()
        embedded = embedded_in(self.document_store)
        assert embedded
        if self._space != embedded.space:
            self._check_digest(embedded.space)
            self._space = embedded.space
        if known is not None and len(known) != embedded.space.dimension:
            known = None
        dense = mode == SearchMode.DENSE
        wanted = [v.meaning and (dense or self.embeddings.reads_script(v.text)) for v in variants]
        texts = [v.text for v, is_wanted in zip(variants, wanted, strict=True) if is_wanted]
        vector, made, lacking = self._vectors_of(text, texts, known)
        found = iter(made)
        return (
            vector,
            Variants(
                v._replace(vector=next(found)) if is_wanted else v
                for v, is_wanted in zip(variants, wanted, strict=True)
            ),
            lacking,
        )

    def _vectors_of(
        self, text: str, texts: list[str], known: list[float] | None
    ) -> tuple[list[float], list[list[float] | None], str]:
        """Return the vector of a query, those of other texts, and why they have none, if so."""
        why = ""
        if known is None:
            first, *made = self._made([text, *texts])
            assert first
            known = first
        else:
            try:
                made = self._made(texts) if texts else []
            except ConnectionError as error:
                made, why = [None] * len(texts), f" ({error})"
        lacking = sum(vector is None for vector in made)
        notice = f"variants without an embedding: {lacking} of {len(made)}{why}" if lacking else ""
        return known, made, notice

    def _made(self, texts: list[str]) -> list[list[float] | None]:
        """Return the vectors of texts, those of a day as they were."""
        assert self._space
        space = self._space.key
        made = [recall(space, text) for text in texts]
        unknown = [text for text, vector in zip(texts, made, strict=True) if vector is None]
        if not unknown:
            return [*made]
        found = iter(self.embeddings.embed_query(unknown, self._space.dimension))
        for at, text in enumerate(texts):
            if made[at] is None and (vector := next(found)) is not None:
                made[at] = vector
                remember(space, text, vector)
        return made

    def _check_digest(self, space: Space) -> None:
        """Make sure that the model is the one that made the index's embeddings: a model that was
        pulled again has the same name."""
        digest = self.embeddings.identity().digest
        if has_sample(space.digest) and not may_be_same(digest, space.digest):
            digest = self.embeddings.identity(whole=True).digest  # the version alone says little
        if not may_be_same(digest, space.digest):
            raise other_model(space, self.embeddings)


def _partly(embedded: Embedded, others: str = "are ranked by words") -> str:
    """Say of an index with few embeddings how many it has, of others nothing."""
    if not embedded.is_partial:
        return ""
    done, chunks = embedded.embedded, embedded.readable
    return f"{done:,} of {chunks:,} chunks have embeddings: the others {others} {EMBED_REST}"


def _by_words(error: RAGError) -> str:
    if error.hint == EMBED_ANEW:  # which says that itself
        return error.as_notice()
    notice = error.as_notice("search is by words: ")
    return Standing(notice) if isinstance(error, ConnectionError) else notice
