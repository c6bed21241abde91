"""A server that speaks OpenAI's API for tests, on a real socket of the loopback interface.

    with OpenAIServer(models=["nomic-embed-text", "llama3.2"], key="secret") as server:
        server.fail("/v1/embeddings", status=429, retry_after=1)
        server.say("Holds expire after 9 minutes. [1]")
        ...  # a client at server.url
        assert server.requests("/v1/embeddings")[0].inputs == ["search_query: holds"]

The API is in openai_api.py; models, replies, faults and sockets are those of the Ollama server.
"""

from collections.abc import Iterable
from typing import Any

from ollama_models import Model
from ollama_server import OllamaServer
from openai_api import OpenAIApi
from rag.config import ChatConfig, EmbeddingConfig, ModelsConfig, OllamaConfig

EMBEDDINGS, CHAT, MODELS = "/v1/embeddings", "/v1/chat/completions", "/v1/models"


def settings(url: str, model: str = "", variable: str = "", **limits: Any) -> ModelsConfig:
    """Name a server for both kinds of models; `variable` holds its key."""
    return ModelsConfig(
        embedding=EmbeddingConfig("openai", url, model or "nomic-embed-text", variable),
        chat=ChatConfig("openai", url, model or "llama3.2", variable),
        ollama=OllamaConfig(
            **{"connect_timeout": 2.0, "read_timeout": 5.0, "retries": 1, **limits}
        ),
    )


class OpenAIServer(OllamaServer):
    """A server that answers as those of OpenAI's API do.

    :param kwargs: for `OpenAIApi`: `key`, `overflow`, `base64`, …
    """

    api: OpenAIApi

    def make_api(self, models: Iterable[Model], **kwargs: Any) -> OpenAIApi:
        """Return what answers."""
        return OpenAIApi(models, **kwargs)

    def answer_to(self, request: Any, consume: bool) -> Any:
        """Return the answer to a request, which brings its key."""
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        return self.api.respond(
            request.method, request.path, request.body, consume=consume, key=key
        )

    def inputs(self) -> list[str]:
        """Return every text a vector was asked for, prefixes and all."""
        return [text for request in self.requests(EMBEDDINGS) for text in request.inputs]

    def keys(self) -> set[str]:
        """Return what the requests brought as their keys."""
        return {request.headers.get("authorization", "") for request in self.requests()}
