"""What is known of a model: by its name, by configuration, and by what the server says."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from rag.clients.chat.choice import choose_writer
from rag.clients.embeddings.model_traits import Traits, chosen_traits, full_name
from rag.clients.ollama.errors import our_errors
from rag.clients.ollama.http_client import OllamaClient
from rag.config import AUTO, OllamaConfig
from rag.exceptions import ConnectionError, ModelError, ModelMissingError

T = TypeVar("T")


def traits(config: OllamaConfig) -> Traits:
    """Return how the configured embedding model wants its texts."""
    return chosen_traits(config.embedding_model, config)


@dataclass(frozen=True)
class ModelInfo:
    """What a server says of one of its models.

    :param digest: 64 hexadecimal digits that change when the model does; empty if not told.
    :param context: the most tokens it reads, by its architecture.
    :param num_ctx: the tokens it is loaded with unless a request asks for others; 0 if not told.
    :param dimension: the length of its vectors.
    :param capabilities: `embedding`, `completion`, `thinking`, `tools`, …
    """

    name: str
    digest: str = ""
    context: int = 0
    num_ctx: int = 0
    dimension: int = 0
    capabilities: tuple[str, ...] = ()
    family: str = ""

    @property
    def limit(self) -> int:
        """The most tokens of a text to embed; 0 if not told."""
        return min(filter(None, (self.context, self.num_ctx)), default=0)


def describe_model(client: OllamaClient, model: str, seconds: float | None = None) -> ModelInfo:
    """Ask a server what it knows of a model.

    :param seconds: longest duration of each of the two requests.
    :raises ModelMissingError: when it has no such model.
    :raises ConnectionError: when it does not answer, or with nonsense.
    """
    with our_errors(client.url, model):
        shown = client.fetch("/api/show", {"model": model}, seconds)
        info = shown.get("model_info") or {}
        parameter = re.search(r"(?m)^num_ctx\s+(\d+)", shown.get("parameters") or "")
        return ModelInfo(
            model,
            find_digest(client, model, seconds),
            _number(info, "context_length"),
            int(parameter[1]) if parameter else 0,
            _number(info, "embedding_length"),
            tuple(shown.get("capabilities") or ()),
            str((shown.get("details") or {}).get("family") or ""),
        )


def ask_servers(config: OllamaConfig, ask: Callable[[OllamaClient], T]) -> T:
    """Return what the first of the embedding servers says that answers.

    :raises ConnectionError: when none does; above all that one has not the model.
    """
    trouble: ConnectionError | None = None
    for url in config.embedding_urls:
        with OllamaClient(url, config) as client:
            try:
                return ask(client)
            except ConnectionError as error:
                if trouble is None or isinstance(error, ModelMissingError):
                    trouble = error
    assert trouble
    raise trouble


def find_digest(client: OllamaClient, model: str, seconds: float | None = None) -> str:
    """Ask a server for the digest of a model; empty when it does not tell.

    :raises ConnectionError: when it does not answer, or with nonsense.
    """
    with our_errors(client.url, model):
        tags = client.fetch("/api/tags", seconds=seconds).get("models") or ()
        digests = {full_name(tag["name"]): str(tag.get("digest") or "") for tag in tags}
        return digests.get(full_name(model), "")


def find_chat_model(client: OllamaClient, configured: str, seconds: float) -> ModelInfo:
    """Return the chat model that is to answer: the configured one, or for `auto` or none the first
    installed one that writes text.

    :param seconds: longest duration of each request; of all of them together where one is picked.
    :raises ModelMissingError: when there is none.
    :raises ConnectionError: when the server does not answer, or with nonsense.
    """
    if configured in ("", AUTO):
        return pick_chat_model(client, seconds)
    return describe_model(client, configured, seconds)


def pick_chat_model(client: OllamaClient, seconds: float = math.inf) -> ModelInfo:
    """Return the first installed model that writes text.

    :param seconds: longest duration of the whole.
    :raises ModelMissingError: when there is none.
    :raises ConnectionError: when the server does not answer, or with nonsense.
    """
    until = time.monotonic() + seconds
    with our_errors(client.url):
        tags = client.fetch("/api/tags", seconds=seconds).get("models") or ()
        names = [str(tag["name"]) for tag in tags]
    troubles: list[ConnectionError] = []

    def described() -> Iterator[ModelInfo]:
        for name in names:
            try:
                yield describe_model(client, name, max((until - time.monotonic()) / 2, 0.01))
            except (ModelError, ModelMissingError) as error:  # the next one may do
                troubles.append(error)

    if found := choose_writer(described()):
        return found
    if troubles:
        raise troubles[0]
    raise ModelMissingError(
        f"{client.url} has no model that writes answers", client.url, hint="`ollama pull llama3.2`"
    )


def _number(info: dict[str, Any], name: str) -> int:
    """`bert.context_length`, or of whatever architecture it is; 0 when it is not there."""
    prefix = info.get("general.architecture")
    value = info.get(f"{prefix}.{name}")
    if not value:
        value = next((info[key] for key in info if key.endswith(f".{name}")), 0)
    return int(value or 0)
