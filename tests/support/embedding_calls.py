"""All vectors of some texts by servers, with settings that give up soon."""

from collections.abc import Iterable
from typing import Any

from rag.clients.protocols import Batches, EmbeddedTexts
from rag.clients.providers import OllamaEmbeddings, OpenAIEmbeddings
from rag.config import EmbeddingConfig, ModelsConfig, OllamaConfig


def embeddings_of(config: OllamaConfig | ModelsConfig) -> OllamaEmbeddings | OpenAIEmbeddings:
    """The provider of some settings; it tries again after a moment."""
    made: OllamaEmbeddings | OpenAIEmbeddings
    if isinstance(config, OllamaConfig):
        made = OllamaEmbeddings(ModelsConfig(embedding=EmbeddingConfig("ollama"), ollama=config))
    else:
        made = OpenAIEmbeddings(config)
    made.backoff = 0.01  # type: ignore[misc]
    return made


def batches_of(texts: Iterable[str], config: OllamaConfig | ModelsConfig, **more: Any) -> Batches:
    """The vectors of texts, batch by batch."""
    return embeddings_of(config).embed_documents(texts, **more)


def embed(texts: list[str], config: OllamaConfig | ModelsConfig, **more: Any) -> EmbeddedTexts:
    """All batches as one, in the order of the texts."""
    whole = EmbeddedTexts()
    for batch in batches_of(texts, config, **more):
        whole.vectors.extend(batch.vectors)
        whole.failures.extend(batch.failures)
    whole.vectors.sort()
    return whole
