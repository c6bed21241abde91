"""What the configured servers say of themselves and of their models, and whether they do it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from math import hypot
from operator import mul

from rag.clients.chat.choice import does_other_work
from rag.clients.embeddings.vectors import Vector, usable
from rag.clients.openai.embedding_model import EmbeddingModel
from rag.clients.openai.endpoint import (
    Endpoint,
    chat_endpoint,
    check_endpoint,
    embedding_endpoint,
)
from rag.clients.openai.errors import missing
from rag.clients.openai.http_client import OpenAIClient
from rag.clients.openai.served_models import (
    Served,
    choose_chat,
    find_embedding_limit,
    find_limit,
    list_models,
)
from rag.clients.protocols import ModelView, ServerView
from rag.clients.servers.silent_servers import forget
from rag.config import AUTO, ModelsConfig, OllamaConfig
from rag.exceptions import ModelError, ModelMissingError, RAGError

_NAME = "openai"  # in the settings
_TEXTS = ["how long are backups kept", "証明書を更新する", "a recipe for bread"]
_ALIKE = 0.99  # cosine; the same text in another batch differs in the last digits


def survey(config: ModelsConfig) -> list[ServerView]:
    """Ask the server of each section that chose this provider; one that both name, once."""
    endpoints = [
        *([embedding_endpoint(config)] if config.embedding.provider == _NAME else []),
        # Without a model answers are quotations, which the settings say.
        *([chat_endpoint(config)] if config.chat.asked == _NAME and config.chat.model else []),
    ]
    # Half of the time is for what the server says of itself.
    limits = replace(config.ollama, query_timeout=config.ollama.query_timeout / 2)
    with ThreadPoolExecutor(len(endpoints) or 1) as pool:
        views = [*pool.map(lambda endpoint: _view(endpoint, limits), endpoints)]
    return list(_joined(views))


def _joined(views: list[ServerView]) -> Iterator[ServerView]:
    """Make one view of two of the same server."""
    if len(views) == 2 and views[0].server == views[1].server and not any(v.error for v in views):
        yield replace(views[0], chat=views[1].chat)
    else:
        yield from views


def _view(endpoint: Endpoint, limits: OllamaConfig) -> ServerView:
    started = time.monotonic()
    view = ServerView(_NAME, endpoint.url)
    forget([endpoint.base])  # whoever asks wants to know how it is now
    try:
        check_endpoint(endpoint)
        # It does what any client does; vectors it is asked for where these are wanted.
        client = EmbeddingModel(endpoint, limits, limits.query_timeout)
    except RAGError as error:
        return replace(view, error=error)
    with closing(client):
        try:
            served = list_models(client, limits.query_timeout)
        except client.failures as error:
            return replace(view, error=client.explain(error).error)
        names = tuple(model.name for model in served or ())
        taken = (time.monotonic() - started) * 1000
        view = replace(view, models=names, milliseconds=taken)
        if endpoint.section == "embedding":
            return replace(view, embedding=_embedder(client, served, limits))
        return replace(view, chat=_writer(client, limits))


def _embedder(
    client: EmbeddingModel, served: list[Served] | None, limits: OllamaConfig
) -> ModelView | RAGError:
    """Let the server make vectors, and compare them: one text alone and among others."""
    model, seconds = client.endpoint.model, limits.query_timeout / 2
    try:
        several = usable(client.vectors(_TEXTS, seconds), len(_TEXTS))
        alone = usable(client.vectors(_TEXTS[1:2], seconds), 1)
        limit = find_embedding_limit(client, model, seconds / 2)
    except client.failures as error:
        found = client.explain(error).error
        if isinstance(found, ModelMissingError) and served:
            return missing(client.endpoint, model, tuple(one.name for one in served))
        return found
    one, other = several[1], alone[0]
    unfit = None
    if not one or not other or _cosine(one, other) < _ALIKE:
        hint = "See the log of the server, or set another embedding.model."
        message = f"{model} at {client.url} gives one text two vectors, alone and among others"
        unfit = ModelError(message, client.url, hint=hint)
    return ModelView(model, limit=limit, dimension=len(other or ()), unfit=unfit)


def _writer(client: OpenAIClient, limits: OllamaConfig) -> ModelView | RAGError:
    wanted, seconds = client.endpoint.model, limits.query_timeout / 2
    try:
        found = choose_chat(client, wanted, seconds)
        limit = found.limit or find_limit(client, found.name, seconds / 2)
    except client.failures as error:
        return client.explain(error).error
    except RAGError as error:
        return error
    unfit = None
    if does_other_work(found.name):
        hint = "Name another in chat.model, or `auto`."
        message = f"{found.name} at {client.url} writes no answers, by its name"
        unfit = ModelError(message, client.url, hint=hint)
    return ModelView(found.name, limit=limit, unfit=unfit, is_named=wanted != AUTO)


def _cosine(one: Vector, other: Vector) -> float:
    if len(one) != len(other):
        return 0.0
    product: float = sum(map(mul, one, other))
    return product / (hypot(*one) * hypot(*other))
