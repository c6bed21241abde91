"""The models that a server has, and how much they read, as far as it tells."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rag.clients.chat.choice import choose_writer
from rag.clients.embeddings.model_traits import full_name
from rag.clients.openai.errors import Refusal, missing
from rag.clients.openai.http_client import OpenAIClient
from rag.config import AUTO
from rag.exceptions import ModelError, RAGError

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
