"""Whether the index's vectors are all there, and are those that the model gives today."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from operator import mul
from typing import TYPE_CHECKING

from rag.app.doctor.check import Check, Examination, IndexView, from_error
from rag.clients.factory import embedding_provider
from rag.clients.ollama.model_info import ModelInfo
from rag.config import OllamaConfig
from rag.exceptions import Message, ModelError, RAGError, Remedy
from rag.index.embedding_space import Embedded, other_model
from rag.text.messages import plural
from rag.text.token_estimate import count_tokens

if TYPE_CHECKING:
    from haystack import Document

_SAMPLE = 8  # chunks
_TIMEOUTS = ("read_timeout", "request_timeout")
_ALIKE = 0.99  # cosine; the same text in another batch differs in the last digits
_ANEW = Message(remedy=Remedy.MAKE_VECTORS_ANEW)


def check_vectors(examination: Examination) -> Iterator[Check]:
    """Say how many chunks have vectors, and compare some with what the model gives now.

    :raises ConfigError: when the settings name a provider that does not exist.
    """
    index, ollama = examination.index, examination.config.ollama
    provider = embedding_provider(ollama)
    if index is None:  # said already
        return
    made = index.embedding
    if made is None:
        missing = examination.without_models == "fail"
        yield Check(
            *("vectors", "fail" if missing else "pass", "none: search is by words"),
            Message(remedy=Remedy.MAKE_VECTORS),
        )
        return
    if not provider.is_configured:
        message = "there, and not used: no embedding model is configured, or Ollama is off"
        yield Check("vectors", "pass", message, facts=made.to_json())
        return
    problem = _mismatch(made, index.dimension, ollama)
    if problem:
        yield Check("vectors", "fail", problem, _ANEW, made.to_json())
        return
    yield _check_coverage(made)
    server = next((v for v in examination.servers if isinstance(v.embedding, ModelInfo)), None)
    if server and isinstance(server.embedding, ModelInfo):
        yield from _check_sample(index, ollama, server.connection.server, server.embedding.limit)


def _mismatch(made: Embedded, dimension: int | None, ollama: OllamaConfig) -> str:
    """Return what would make a query's vector strange to those of the index, or empty."""
    if not made.space.is_configured(ollama):
        return str(other_model(made.space, ollama))
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


def _check_sample(index: IndexView, ollama: OllamaConfig, url: str, limit: int) -> Iterator[Check]:
    documents = [document for document in index.sample if document.embedding]
    sample = documents[:: max(1, len(documents) // _SAMPLE)][:_SAMPLE]
    if not sample:
        return
    try:
        nearness = list(_compare(sample, ollama, url, limit))
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
    documents: list[Document], ollama: OllamaConfig, url: str, limit: int
) -> Iterator[float]:
    """Yield how near each stored vector is to a new one, for as long as there is time.

    :raises RAGError: when there is no new one.
    """
    from rag.index.searchable_text import embedded_text

    seconds = ollama.query_timeout
    until = time.monotonic() + seconds
    longest = {name: min(getattr(ollama, name), seconds) for name in _TIMEOUTS}
    one = replace(ollama, url=url, urls=[], retries=0, max_in_flight=1, **longest)
    with closing(embedding_provider(one)) as provider:
        for document in documents:
            if time.monotonic() > until:
                return
            text = embedded_text(document.meta, document.content)
            for batch in provider.embed_documents([text], count_tokens, limit, patient=False):
                for _, why in batch.failures:
                    raise ModelError(why, url)
                for _, vector in batch.vectors:
                    yield _cosine(document.embedding or [], vector)


def _cosine(one: list[float], other: list[float]) -> float:
    if len(one) != len(other):
        return 0.0
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))
