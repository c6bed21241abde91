"""The models that a server has, and how much they read, as far as it tells."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from math import hypot
from operator import mul
from typing import Any

from rag.clients.embeddings.batch_embedder import Vector, usable
from rag.clients.models import choose_writer, does_other_work, full_name
from rag.clients.openai.embedding_model import EmbeddingModel
from rag.clients.openai.endpoint import Endpoint, chat_endpoint, check_endpoint, embedding_endpoint
from rag.clients.openai.http_client import OpenAIClient, Refusal, missing
from rag.clients.protocols import ModelView, ServerView
from rag.clients.servers.silent_servers import forget
from rag.config import AUTO, ModelsConfig, OllamaConfig
from rag.exceptions import ModelError, ModelMissingError, RAGError

# How servers call the length of a model's context in their list: vLLM, OpenRouter.
_LENGTHS = ("max_model_len", "context_length")


@dataclass(frozen=True)
class Served:
    """One model of a server.

    :param aliases: its other names.
    :param limit: the most tokens it reads; 0 if not told.
    :param capabilities: what it does; the API does not tell.
    :param family: what it is built like; the API does not tell.
    """

    name: str
    aliases: tuple[str, ...] = ()
    limit: int = 0
    capabilities: tuple[str, ...] = ()
    family: str = ""

    def is_called(self, name: str) -> bool:
        """Return whether a name is that of the model, with its tag or without."""
        return full_name(name) in map(full_name, (self.name, *self.aliases))


def list_models(client: OpenAIClient, seconds: float | None = None) -> list[Served] | None:
    """Return the models that a server lists; `None` where it lists none at all.

    :raises Refusal, ValueError, httpx.TransportError: see `OpenAIClient.get`.
    """
    try:
        found = client.get("/models", seconds)
    except Refusal as refusal:
        if refusal.status in (404, 405, 501):  # text-embeddings-inference before 1.8
            return None
        raise
    data = found.get("data")
    if not isinstance(data, list):
        raise ValueError("a list of models was due")
    return [_served(model) for model in data if isinstance(model, dict) and model.get("id")]


def _served(model: Mapping[str, Any]) -> Served:
    aliases = model.get("aliases")
    names = tuple(map(str, aliases)) if isinstance(aliases, list) else ()
    limit = next(filter(None, (_number(model.get(key)) for key in _LENGTHS)), 0)
    return Served(str(model["id"]), names, limit)


def find_limit(client: OpenAIClient, model: str, seconds: float) -> int:
    """Return how many tokens a model reads; 0 where the server does not tell.

    :param seconds: longest duration of each of two requests.
    :raises Refusal, ValueError, httpx.TransportError: see `OpenAIClient.get`.
    """
    served = list_models(client, seconds) or []
    told = next((one.limit for one in served if one.is_called(model)), 0)
    return told or find_loaded_limit(client, model, seconds)


def find_loaded_limit(client: OpenAIClient, model: str, seconds: float) -> int:
    """Return how many tokens a model that is loaded reads, as llama-server, LM Studio and
    text-embeddings-inference tell of it beside the API; 0 where the server does not.

    :param seconds: longest duration of each of three requests.
    """
    with suppress(*client.failures):
        props = client.own("/props", seconds)
        settings = props.get("default_generation_settings")
        found = settings if isinstance(settings, dict) else {}
        if told := _number(found.get("n_ctx")) or _number(props.get("n_ctx")):
            return told
    with suppress(*client.failures):
        for one in client.own("/api/v0/models", seconds)["data"]:
            if _served(one).is_called(model):
                return _number(one.get("loaded_context_length") or one.get("max_context_length"))
    with suppress(*client.failures):
        return _number(client.own("/info", seconds).get("max_input_length"))
    return 0


def find_embedding_limit(client: OpenAIClient, model: str, seconds: float) -> int:
    """Return how many tokens of a text an embedding model reads; 0 where the server does not tell.

    Ollama's `/v1` cuts a longer text in silence; its own API tells where.

    :raises Refusal, ValueError, httpx.TransportError: see `OpenAIClient.get`.
    """
    if told := find_limit(client, model, seconds):
        return told
    with suppress(*client.failures):
        info = client.own("/api/show", seconds, {"model": model}).get("model_info") or {}
        lengths = (value for key, value in info.items() if key.endswith(".context_length"))
        return _number(next(lengths, 0))
    return 0


def choose_chat(client: OpenAIClient, wanted: str, seconds: float) -> Served:
    """Return the chat model that is to answer: the wanted one, or for `auto` the first listed one
    that by its name writes.

    :param seconds: longest duration of the request.
    :raises RAGError: when the server does not list it, or cannot be asked.
    """
    endpoint = client.endpoint
    try:
        served = list_models(client, seconds)
    except client.failures as error:
        raise client.explain(error).error from error
    if wanted != AUTO:
        if served is None:
            return Served(wanted)
        found = next((model for model in served if model.is_called(wanted)), None)
        if found is None:
            raise missing(endpoint, wanted, tuple(model.name for model in served))
        return Served(wanted, limit=found.limit)
    if chosen := choose_writer(served or ()):
        return chosen
    raise _none_that_writes(client)


def _none_that_writes(client: OpenAIClient) -> RAGError:
    message = f"{client.url} lists no model that writes answers"
    hint = "Load one there (LM Studio: Developer, Load model), or name it in chat.model."
    return ModelError(message, client.url, hint=hint)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


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
