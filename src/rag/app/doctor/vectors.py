"""Whether the index's vectors are all there, and are those that the model gives today."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from operator import mul
from typing import TYPE_CHECKING

from rag.app.doctor.check import Check, Examination, IndexView, from_error
from rag.clients.ollama.batch_embedder import BatchEmbedder, TextFailure
from rag.clients.ollama.model_info import ModelInfo, traits
from rag.clients.ollama.server_pool import ServerPool
from rag.config import OllamaConfig
from rag.exceptions import Message, RAGError, Remedy
from rag.index.embedding_space import Embedded, other_model
from rag.text.messages import plural
from rag.text.token_estimate import count_tokens

if TYPE_CHECKING:
    from haystack import Document

_SAMPLE = 8  # chunks
_ALIKE = 0.99  # cosine; the same text in another batch differs in the last digits
_ANEW = Message(remedy=Remedy.MAKE_THEM_ANEW)


def check_vectors(examination: Examination) -> Iterator[Check]:
    """Say how many chunks have vectors, and compare some with what the model gives now."""
    index, ollama = examination.index, examination.config.ollama
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
    if not (ollama.enabled and ollama.embedding_model):
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
    from rag.clients.ollama.http_client import OllamaClient
    from rag.index.searchable_text import embedded_text

    until = time.monotonic() + ollama.query_timeout
    with OllamaClient(url, ollama, read_timeout=ollama.query_timeout) as client:
        for document in documents:
            if time.monotonic() > until:
                return
            embedder = BatchEmbedder(
                ServerPool([client], 1),
                ollama.embedding_model,
                prefix=traits(ollama).document_prefix,
                limit=limit,
                measure=count_tokens,
                keep_alive=ollama.keep_alive,
                retries=0,
                seconds=ollama.query_timeout,
                patient=False,
            )
            [outcome] = embedder.embed([embedded_text(document.meta, document.content)])
            if isinstance(outcome, TextFailure):
                raise outcome.error
            yield _cosine(document.embedding or [], outcome)


def _cosine(one: list[float], other: list[float]) -> float:
    if len(one) != len(other):
        return 0.0
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))
