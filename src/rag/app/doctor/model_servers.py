"""The model servers and their models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rag.app.doctor.check import Check, Examination, Status, from_error
from rag.clients.factory import chat_provider, embedding_provider, resolved
from rag.clients.protocols import ModelProvider, ModelView, ServerView
from rag.config import settings
from rag.exceptions import Message, ModelMissingError, RAGError, Remedy
from rag.index.embedding_space import maker
from rag.support.vector_digest import may_be_same
from rag.text.messages import plural

_EMBED = Message(remedy=Remedy.MAKE_VECTORS_ANEW)


def check_servers(examination: Examination) -> Iterator[Check]:
    """Say of every server of the chosen providers whether it answers.

    :raises ConfigError: when the settings name a provider that does not exist.
    """
    made = examination.index.embedding if examination.index else None
    config = examination.config = resolved(examination.config, maker(made))
    chosen: dict[str, ModelProvider] = {  # one of both kinds is asked once
        config.embedding.provider: embedding_provider(config),
        config.chat.asked: chat_provider(config),
    }
    for provider in chosen.values():
        for view in provider.survey():
            examination.servers.append(view)
            yield _check_server(view, examination)


def _check_server(view: ServerView, examination: Examination) -> Check:
    name, config = view.provider, examination.config
    if view.is_off:
        without = [
            *(["search is by words"] if config.embedding.provider == name else []),
            *(["answers are quotations"] if config.chat.asked == name else []),
        ]
        return Check(name, "pass", f"off ({name}.enabled = false): {', '.join(without)}")
    facts: dict[str, Any] = {
        "server": view.server,
        "version": view.version,
        "models": list(view.models),
        "milliseconds": round(view.milliseconds),
    }
    if view.error is not None:
        return from_error(name, view.error, examination.without_models, **facts)
    message = f"{view.version} at {view.server}, {plural(len(view.models), 'model')}, ".lstrip()
    message += f"{view.milliseconds:,.0f} ms"
    return Check(name, "pass", message, facts=facts)


def check_models(examination: Examination) -> Iterator[Check]:
    """Say of every server that answers whether it has the models that are wanted of it."""
    for view in examination.servers:
        if isinstance(view.embedding, ModelView):
            yield _check_embedding(view.embedding, view.server, examination)
        elif view.embedding:
            status = examination.without_models
            yield _useless("embedding model", view.embedding, view, status, examination)
    for view in examination.servers:
        if isinstance(view.chat, ModelView):
            yield _check_chat(view.chat, view.server)
        elif view.chat:
            yield _useless("chat model", view.chat, view, "warn", examination)


def _useless(
    name: str, error: RAGError, view: ServerView, status: Status, examination: Examination
) -> Check:
    """A model that is missing is a failure only where the user asked for it."""
    own = f"{view.provider}.{name.replace(' ', '_')}"
    setting = own if own in settings() else name.replace(" ", ".")
    if isinstance(error, ModelMissingError) and examination.is_chosen(setting):
        status = "fail"
    return from_error(name, error, status, server=view.server)


def _check_embedding(model: ModelView, url: str, examination: Examination) -> Check:
    facts: dict[str, Any] = {
        "server": url,
        "model": model.name,
        "digest": model.digest,
        "context": model.limit,
        "dimension": model.dimension,
    }
    name = "embedding model"
    if model.unfit:
        return from_error(name, model.unfit, **facts)
    index = examination.index
    space = index.embedding.space if index and index.embedding else None
    if space and space.is_configured(embedding_provider(examination.config)):
        if model.dimension and model.dimension != space.dimension:
            message = f"{model.name} at {url} gives {model.dimension:,} dimensions, "
            message += f"the index has {space.dimension:,}"
            return Check(name, "fail", message, _EMBED, facts)
        if not may_be_same(space.digest, model.digest):
            message = f"{model.name} at {url} is not the one that made the vectors of the index"
            return Check(name, "fail", message, _EMBED, facts)
    size = examination.config.index.chunk_size
    if 0 < model.limit < size:
        message = f"{model.name} at {url} reads {model.limit:,} tokens; longer chunks "
        message += f"(index.chunk_size = {size:,}) are embedded in parts"
        hint = Message(
            hint=f"Set index.chunk_size below {model.limit:,}.",
            remedy=Remedy.SET_CHUNK_SIZE,
            subject=f"{model.limit:,}",
        )
        return Check(name, "warn", message, hint, facts)
    message = f"{model.name} at {url}: {model.dimension:,} dimensions{_reads(model, ', ')}"
    return Check(name, "pass", message, facts=facts)


def _check_chat(model: ModelView, url: str) -> Check:
    name = "chat model"
    facts: dict[str, Any] = {
        "server": url,
        "model": model.name,
        "context": model.limit,
        "fixed": model.is_named,
    }
    if model.unfit:
        return from_error(name, model.unfit, **facts)
    how = "" if model.is_named else ", the first that can write answers"
    message = f"{model.name} at {url}{how}{_reads(model, ': ')}"
    return Check(name, "pass", message, facts=facts)


def _reads(model: ModelView, joint: str) -> str:
    """Say how much a model reads, where its server tells."""
    return f"{joint}reads {model.limit:,} tokens" if model.limit else ""
