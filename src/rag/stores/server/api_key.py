"""The API key of a Qdrant server."""

from __future__ import annotations

from rag.config import StoreConfig
from rag.config.servers import read_key


def server_key(settings: StoreConfig) -> str:
    """Return the API key, or "" when there is none; no error repeats it.

    :raises ConfigError: when it could not be sent, or would travel in the clear.
    """
    return read_key(settings.api_key_env, settings.addresses, "store.url")
