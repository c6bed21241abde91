"""What the configured Ollama servers have: their models, and which of them do for what."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from rag.clients.ollama.connection import Connection, check_servers
from rag.clients.ollama.http_client import OllamaClient
from rag.clients.ollama.model_info import (
    ModelInfo,
    describe_model,
    find_chat_model,
    first_chat_model,
    full_name,
    is_embedder_name,
    known_traits,
)
from rag.config import OllamaConfig
from rag.exceptions import ModelMissingError, RAGError

Described = ModelInfo | RAGError


@dataclass(frozen=True)
class ServerView:
    """What one server says of itself and of the models that are wanted of it.

    :param embedding: the configured embedding model, or why it is of no use; `None` where it
        is not wanted.
    :param chat: the same of the chat model; without a fixed one, the first that can chat.
    """

    connection: Connection
    embedding: Described | None = None
    chat: Described | None = None


def survey(config: OllamaConfig) -> list[ServerView]:
    """Look at every configured server, all at once.

    It takes at most twice `query_timeout`, and less where a server says nothing at all.
    """
    connections = look_for_servers(config)
    with ThreadPoolExecutor(len(connections)) as pool:
        return list(pool.map(partial(_view, config), connections))


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


def choose_chat(models: Iterable[ModelInfo]) -> str:
    """Return the name of the model that `rag ask` would take, or empty."""
    found = first_chat_model(models)
    return found.name.removesuffix(":latest") if found else ""


def installed_models(url: str, names: Sequence[str], config: OllamaConfig) -> list[ModelInfo]:
    """Describe models of a server, as many as `query_timeout` allows; bad ones are left out."""
    until = time.monotonic() + config.query_timeout
    with OllamaClient(url, config, read_timeout=config.query_timeout) as client:
        found = [_describe(client, name, until) for name in names]
    return [model for model in found if isinstance(model, ModelInfo)]


def _view(config: OllamaConfig, connection: Connection) -> ServerView:
    if not connection.reachable:
        return ServerView(connection)
    until = time.monotonic() + config.query_timeout
    embedding = chat = None
    with OllamaClient(connection.server, config, read_timeout=config.query_timeout) as client:
        if config.embedding_model and connection.server in config.embedding_urls:
            embedding = _describe(client, config.embedding_model, until)
        if connection.server == config.local_url:
            chat = _find_chat(client, fixed_chat_model(config), until)
    return ServerView(connection, embedding, chat)


def _find_chat(client: OllamaClient, fixed: str, until: float) -> Described | None:
    """Return the chat model that `rag ask` takes, or what is wrong with it; `None` when none is
    named and none is there."""
    left = max(until - time.monotonic(), 0.01)
    try:
        return find_chat_model(client, fixed, left / 2 if fixed else left)
    except ModelMissingError as error:
        return error if fixed else None
    except RAGError as error:
        return error


def _describe(client: OllamaClient, model: str, until: float) -> Described:
    left = max(until - time.monotonic(), 0.01)
    try:
        return describe_model(client, model, left / 2)  # of two requests
    except RAGError as error:
        return error
