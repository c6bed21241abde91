"""What can be started before the rest of the program is imported."""

from __future__ import annotations

from contextlib import suppress

from rag.clients.factory import start_models
from rag.config import AUTO, RAGConfig
from rag.exceptions import RAGError
from rag.index.embedding_space import maker, read_embedded
from rag.index.lookup import open_manifest


def start_early(config: RAGConfig) -> None:
    """Start the process that embeds queries, where the index was made with the built-in model and
    the settings do not name another."""
    with suppress(RAGError), open_manifest(config) as manifest:
        made_by = maker(read_embedded(manifest))
        if config.embedding.provider in (AUTO, made_by):
            start_models(made_by)
