"""Whether the index's vectors are all there, and are those that the model gives today."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import closing
from operator import mul
from typing import TYPE_CHECKING

from rag.app.doctor.check import Check, Examination, IndexView, from_error
from rag.clients.factory import embedding_provider
from rag.clients.protocols import EmbeddingProvider, ModelView
from rag.exceptions import Message, ModelError, RAGError, Remedy
from rag.index.embedding_space import Embedded, maker, other_model
from rag.text.messages import plural
from rag.text.token_estimate import count_tokens

if TYPE_CHECKING:
    from haystack import Document

_SAMPLE = 8  # chunks
_ALIKE = 0.99  # cosine; the same text in another batch differs in the last digits
_ANEW = Message(remedy=Remedy.MAKE_VECTORS_ANEW)


def check_vectors(examination: Examination) -> Iterator[Check]:
    """Say how many chunks have vectors, and compare some with what the model gives now.

    :raises ConfigError: when the settings name a provider that does not exist.
    """
    index, config = examination.index, examination.config
    made = index.embedding if index else None
    provider = embedding_provider(config, maker(made))
    if index is None:  # said already
        return
    if made is None:
        missing = examination.without_models == "fail"
        yield Check(
            *("vectors", "fail" if missing else "pass", "none: search is by words"),
            Message(remedy=Remedy.MAKE_VECTORS),
        )
        return
    if not provider.is_configured:
        message = f"there, and not used: search by meaning needs {provider.lacking}"
        yield Check("vectors", "pass", message, facts=made.to_json())
        return
    problem = _mismatch(made, index.dimension, provider)
    if problem:
        yield Check("vectors", "fail", problem, _ANEW, made.to_json())
        return
    yield _check_coverage(made)
    view = next((v for v in examination.servers if isinstance(v.embedding, ModelView)), None)
    if view and isinstance(view.embedding, ModelView):
        seconds = config.ollama.query_timeout
        with closing(provider.at(view.server, seconds)) as one:
            yield from _check_sample(index, one, view.server, seconds, view.embedding.limit)


def _mismatch(made: Embedded, dimension: int | None, provider: EmbeddingProvider) -> str:
    """Return what would make a query's vector strange to those of the index, or empty."""
    if not made.space.is_configured(provider):
        return str(other_model(made.space, provider))
    # A run that was broken off before the first of them has named the model only.
    if made.embedded and dimension != made.space.dimension:
        return f"the store has {dimension} dimensions, the manifest {made.space.dimension}"
    return ""


def _check_coverage(made: Embedded) -> Check:
    message = f"{made.embedded:,} of {plural(made.chunks, 'chunk')}, by {made.space.model}"
    if made.unreadable:
        message += f"; {made.unreadable:,} are in a script that it does not read"
    missing = made.chunks - made.embedded - made.unreadable
    if missing > 0:
        message += f"; {missing:,} are missing"
        return Check(
            "vectors", "warn", message, Message(remedy=Remedy.MAKE_VECTORS), made.to_json()
        )
    return Check("vectors", "pass", message, facts=made.to_json())


def _check_sample(
    index: IndexView, provider: EmbeddingProvider, url: str, seconds: float, limit: int
) -> Iterator[Check]:
    documents = [document for document in index.sample if document.embedding]
    sample = documents[:: max(1, len(documents) // _SAMPLE)][:_SAMPLE]
    if not sample:
        return
    try:
        nearness = list(_compare(sample, provider, seconds, limit))
    except RAGError as error:
        yield from_error("vector sample", error, "warn", server=url)
        return
    facts = {"server": url, "compared": len(nearness), "least_cosine": round(min(nearness), 4)}
    wrong = sum(cosine < _ALIKE for cosine in nearness)
    if wrong:
        message = f"{wrong} of {len(nearness)} vectors are of another model or text"
        yield Check("vector sample", "fail", message, _ANEW, facts)
    else:
        message = f"{plural(len(nearness), 'chunk')} embedded again, and alike"
        yield Check("vector sample", "pass", message, facts=facts)


def _compare(
    documents: list[Document], provider: EmbeddingProvider, seconds: float, limit: int
) -> Iterator[float]:
    """Yield how near the vector of each chunk's first sentence is to a new one, for as long as
    there is time.

    :raises RAGError: when there is no new one.
    """
    from rag.index.searchable_text import sentence_texts

    until = time.monotonic() + seconds
    for document in documents:
        if time.monotonic() > until:
            return
        text = sentence_texts(document.meta, document.content)[0]
        for batch in provider.embed_documents([text], count_tokens, limit, patient=False):
            for _, why in batch.failures:
                raise ModelError(why)
            for _, vector in batch.vectors:
                yield _cosine(document.embedding or [], vector)


def _cosine(one: list[float], other: list[float]) -> float:
    if len(one) != len(other):
        return 0.0
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))
