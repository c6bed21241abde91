"""The providers of models: servers, models, and the vectors that the index has of them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import closing
from operator import mul
from typing import TYPE_CHECKING, Any

from rag.app.doctor.check import (
    CheckResult,
    Checks,
    Examination,
    Status,
    failure,
    from_error,
    passed,
    warning,
)
from rag.clients.factory import chat_provider, embedding_provider, resolved
from rag.clients.protocols import EmbeddingProvider, ModelProvider, ModelView, ServerView
from rag.config import settings
from rag.exceptions import ModelError, ModelMissingError, RAGError
from rag.index.embedding_space import maker, other_model
from rag.support.json_reports import to_json
from rag.support.vector_digest import may_be_same, shortened
from rag.text.messages import plural
from rag.text.token_estimate import count_tokens

if TYPE_CHECKING:
    from haystack import Document

_MAKE = "`rag index --embed` makes them."
_MAKE_ANEW = "`rag index --embed` makes the vectors again."

_SAMPLE = 8  # chunks that are embedded again
_ALIKE = 0.99  # cosine; the same text in another batch differs in the last digits


def check_servers(examination: Examination) -> Iterator[CheckResult]:
    """Tell of every server of the chosen providers whether it answers."""
    config = examination.config = resolved(examination.config, maker(examination.embedded))
    providers: dict[str, ModelProvider] = {  # one of both kinds is asked once
        config.embedding.provider: embedding_provider(config),
        config.chat.asked: chat_provider(config),
    }
    for provider in providers.values():
        for view in provider.survey():
            examination.servers.append(view)
            yield _check_server(view, examination)


def _check_server(view: ServerView, examination: Examination) -> CheckResult:
    name, config = view.provider, examination.config
    if view.is_off:
        lost = ["search is by words"] if config.embedding.provider == name else []
        lost += ["answers are quotations"] if config.chat.asked == name else []
        return passed(name, f"off ({name}.enabled = false): {', '.join(lost)}")
    facts: dict[str, Any] = {"server": view.server, "version": view.version}
    facts |= {"models": [*view.models], "milliseconds": round(view.milliseconds)}
    if view.error:
        return from_error(name, view.error, examination.without_vectors, **facts)
    message = f"{view.version} at {view.server}, {plural(len(view.models), 'model')}"
    return passed(name, f"{message}, {view.milliseconds:,.0f} ms".lstrip(), **facts)


def check_models(examination: Examination) -> Iterator[CheckResult]:
    """Tell of every server that answers whether it has the models that are wanted of it."""
    for view in examination.servers:
        if isinstance(view.embedding, ModelView):
            yield _check_embedding(view.embedding, view.server, examination)
        elif view.embedding:
            yield _no_model("embedding", view.embedding, view, examination)
    for view in examination.servers:
        if isinstance(view.chat, ModelView):
            yield _check_chat(view.chat, view.server)
        elif view.chat:
            yield _no_model("chat", view.chat, view, examination)


def _no_model(
    kind: str, error: RAGError, view: ServerView, examination: Examination
) -> CheckResult:
    """Return why there is no model: a failure where the user chose it, or needs it."""
    names = (f"{view.provider}.{kind}_model", f"{kind}.model")
    setting = next(name for name in names if name in settings())
    is_chosen = examination.config.origins.get(setting, "default") != "default"
    status: Status = examination.without_vectors if kind == "embedding" else "warn"
    if is_chosen and isinstance(error, ModelMissingError):
        status = "fail"
    return from_error(f"{kind} model", error, status, server=view.server)


def _check_embedding(model: ModelView, url: str, examination: Examination) -> CheckResult:
    name, at = "embedding model", f"{model.name} at {url}"
    facts: dict[str, Any] = {"server": url, "model": model.name, "digest": shortened(model.digest)}
    facts |= {"context": model.limit, "dimension": model.dimension}
    if model.unfit:
        return from_error(name, model.unfit, **facts)
    space = examination.embedded.space if examination.embedded else None
    if space and space.is_configured(embedding_provider(examination.config)):
        problem = ""
        if model.dimension not in (0, space.dimension):
            problem = f"gives {model.dimension:,} dimensions, the index has {space.dimension:,}"
        elif not may_be_same(space.digest, model.digest):
            problem = "is not the one that made the vectors of the index"
        if problem:
            return failure(name, f"{at} {problem}", _MAKE_ANEW, **facts)
    return passed(name, f"{at}: {model.dimension:,} dimensions{_reads(model, ', ')}", **facts)


def _check_chat(model: ModelView, url: str) -> CheckResult:
    facts: dict[str, Any] = {"server": url, "model": model.name, "context": model.limit}
    facts["fixed"] = model.is_named
    if model.unfit:
        return from_error("chat model", model.unfit, **facts)
    how = "" if model.is_named else ", the first that can write answers"
    return passed("chat model", f"{model.name} at {url}{how}{_reads(model, ': ')}", **facts)


def _reads(model: ModelView, joint: str) -> str:
    """Return how much a model reads, "" where its server does not tell."""
    return f"{joint}reads {model.limit:,} tokens" if model.limit else ""


def check_vectors(examination: Examination) -> Iterator[CheckResult]:
    """Tell how many chunks have vectors, and compare some with what the model gives now."""
    embedded = examination.embedded
    provider = embedding_provider(examination.config, maker(embedded))
    if embedded is None:
        if examination.has_index:
            status: Status = "fail" if examination.without_vectors == "fail" else "pass"
            yield CheckResult("vectors", status, "none: search is by words", _MAKE)
        return
    facts = to_json(embedded)
    facts["digest"] = shortened(embedded.space.digest)
    if not provider.is_configured:
        message = f"there, and not used: search by meaning needs {provider.lacking}"
        yield passed("vectors", message, **facts)
        return
    if not embedded.space.is_configured(provider):
        message = str(other_model(embedded.space, provider))
        yield failure("vectors", message, _MAKE_ANEW, **facts)
        return
    message = f"{embedded.embedded:,} of {plural(embedded.chunks, 'chunk')}"
    message += f", by {embedded.space.model}"
    if embedded.unreadable:
        message += f"; {embedded.unreadable:,} are in a script that it does not read"
    missing = embedded.chunks - embedded.embedded - embedded.unreadable
    if missing > 0:
        message += f"; {plural(missing, 'chunk')} without a vector"
        yield warning("vectors", message, _MAKE, **facts)
    else:
        yield passed("vectors", message, **facts)
    views = [view for view in examination.servers if isinstance(view.embedding, ModelView)]
    documents = [document for document in examination.sample if document.embedding]
    if views and documents:
        seconds = examination.config.ollama.query_timeout
        sample = documents[:: max(1, len(documents) // _SAMPLE)][:_SAMPLE]
        with closing(provider.at(views[0].server, seconds)) as server:
            yield _check_sample(sample, server, views[0], seconds)


def _check_sample(
    documents: list[Document], server: EmbeddingProvider, view: ServerView, seconds: float
) -> CheckResult:
    """Compare the vectors of chunks with new ones of their first sentences, while there is time."""
    from rag.index.searchable_text import sentence_texts

    name, until = "vector sample", time.monotonic() + seconds
    cosines: list[float] = []
    limit = view.embedding.limit if isinstance(view.embedding, ModelView) else 0
    try:
        for document in documents:
            if cosines and time.monotonic() > until:
                break
            text = sentence_texts(document.meta, document.content)[0]
            for batch in server.embed_documents([text], count_tokens, limit, patient=False):
                for _, why in batch.failures:
                    raise ModelError(why)
                cosines += [_cosine(document.embedding or [], new) for _, new in batch.vectors]
    except RAGError as error:
        return from_error(name, error, "warn", server=view.server)
    least = round(min(cosines), 4)
    facts = {"server": view.server, "compared": len(cosines), "least_cosine": least}
    if wrong := sum(cosine < _ALIKE for cosine in cosines):
        message = f"{wrong} of {len(cosines)} vectors are of another model or text"
        return failure(name, message, _MAKE_ANEW, **facts)
    return passed(name, f"{plural(len(cosines), 'chunk')} embedded again, and alike", **facts)


def _cosine(one: list[float], other: list[float]) -> float:
    if len(one) != len(other):
        return 0.0
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))


CHECKS: Checks = [("ollama", check_servers), ("models", check_models), ("vectors", check_vectors)]
