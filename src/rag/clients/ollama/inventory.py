"""What the configured Ollama servers have: their models, and which of them do for what."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from rag.clients.chat.choice import can_write, choose_writer
from rag.clients.embeddings.model_traits import full_name, is_embedder_name, known_traits
from rag.clients.ollama.connection import Connection, check_servers
from rag.clients.ollama.http_client import OllamaClient
from rag.clients.ollama.model_info import (
    ModelInfo,
    describe_model,
    find_chat_model,
)
from rag.clients.protocols import ModelView, ServerView
from rag.config import ModelsConfig, OllamaConfig
from rag.exceptions import ModelError, ModelMissingError, RAGError

Described = ModelInfo | RAGError
_NAME = "ollama"  # in the settings


def survey(config: ModelsConfig) -> list[ServerView]:
    """Look at every configured server that a kind of models is wanted of, all at once.

    It takes at most twice `query_timeout`, and less where a server says nothing at all.
    """
    ollama = config.ollama
    if not ollama.enabled:
        return [ServerView(_NAME, ollama.url, is_off=True)]
    embeds = config.embedding.provider == _NAME
    # Without a model answers are quotations, which the settings say.
    chats = config.chat.asked == _NAME and bool(ollama.chat_model)
    if not embeds:  # the servers that embed are not to be asked
        ollama = replace(ollama, url=ollama.local_url, urls=[], embedding_model="")
    elif not chats:
        ollama = replace(ollama, generation_url=ollama.remote_url)
    connections = look_for_servers(ollama)
    with ThreadPoolExecutor(len(connections)) as pool:
        return list(pool.map(partial(_view, ollama, chats), connections))


def look_for_servers(config: OllamaConfig) -> list[Connection]:
    """Ask every configured server for its version and models, within `query_timeout`."""
    # Two requests in a row; the models are looked at later, one by one.
    seconds = config.query_timeout / 2
    return check_servers(replace(config, embedding_model="", chat_model="", query_timeout=seconds))


def fixed_chat_model(config: OllamaConfig) -> str:
    """Return the chat model that is configured by name, or empty when any will do."""
    return "" if config.chat_model == "auto" else config.chat_model


def can_embed(model: ModelInfo) -> bool:
    """Tell whether a model gives vectors; of one of an old server, by its name."""
    if model.capabilities:
        return "embedding" in model.capabilities
    return is_embedder_name(model.name)


def choose_embedding(models: Iterable[ModelInfo], preferred: str) -> str:
    """Return the name of the preferred embedding model, else of one that reads Japanese too,
    else of a known one, else of any; empty when there is none."""

    def rank(model: ModelInfo) -> tuple[bool, bool, bool]:
        known = known_traits(model.name)
        return (
            full_name(model.name) != full_name(preferred),
            known is None or not known.multilingual,
            known is None,
        )

    best = min(filter(can_embed, models), key=rank, default=None)
    return best.name.removesuffix(":latest") if best else ""


def choose_chat(models: Iterable[ModelInfo], preferred: str = "") -> str:
    """Return the name of the model that `rag ask` would take, or empty.

    :param preferred: the configured one; it is passed over where it is not there or cannot write.
    """
    found = choose_writer(models, preferred)
    return found.name.removesuffix(":latest") if found else ""


def installed_models(url: str, names: Sequence[str], config: OllamaConfig) -> list[ModelInfo]:
    """Describe models of a server, as many as `query_timeout` allows; bad ones are left out."""
    until = time.monotonic() + config.query_timeout
    with OllamaClient(url, config, read_timeout=config.query_timeout) as client:
        found = [_describe(client, name, until) for name in names]
    return [model for model in found if isinstance(model, ModelInfo)]


def _view(config: OllamaConfig, chats: bool, connection: Connection) -> ServerView:
    url = connection.server
    view = ServerView(
        *(_NAME, url, connection.version, connection.models),
        *(connection.milliseconds, connection.error),
    )
    if not connection.reachable:
        return view
    until = time.monotonic() + config.query_timeout
    embedding = chat = None
    with OllamaClient(url, config, read_timeout=config.query_timeout) as client:
        if config.embedding_model and url in config.embedding_urls:
            embedding = _embedder(_describe(client, config.embedding_model, until), url)
        if chats and url == config.local_url:
            chat = _chat_model(client, fixed_chat_model(config), until)
    return replace(view, embedding=embedding, chat=chat)


def _embedder(model: Described, url: str) -> ModelView | RAGError:
    if isinstance(model, RAGError):
        return model
    unfit = None
    if model.capabilities and not can_embed(model):
        hint = f"Name another in ollama.embedding_model: `ollama show {model.name}`"
        unfit = ModelError(f"{model.name} at {url} gives no vectors", url, hint=hint)
    return ModelView(model.name, model.digest, model.limit, model.dimension, unfit)


def _chat_model(client: OllamaClient, fixed: str, until: float) -> ModelView | RAGError:
    """Return the chat model that `rag ask` takes, or what is wrong with it."""
    left, url = max(until - time.monotonic(), 0.01), client.url
    try:
        model = find_chat_model(client, fixed, left / 2 if fixed else left)
    except ModelMissingError as error:
        if fixed:
            return error
        message = f"{url} has no model that writes answers: questions are answered by quotation"
        return ModelError(message, url, hint="`ollama pull llama3.2`")
    except RAGError as error:
        return error
    unfit = None
    if not can_write(model):
        hint = f"Name another in ollama.chat_model: `ollama show {model.name}`"
        unfit = ModelError(f"{model.name} at {url} writes no answers", url, hint=hint)
    return ModelView(model.name, limit=model.context, unfit=unfit, is_named=bool(fixed))


def _describe(client: OllamaClient, model: str, until: float) -> Described:
    left = max(until - time.monotonic(), 0.01)
    try:
        return describe_model(client, model, left / 2)  # of two requests
    except RAGError as error:
        return error
