"""The API key of a Qdrant server, read from the environment when it is needed."""

from __future__ import annotations

import os

import httpx

from rag.config import StoreConfig
from rag.exceptions import ConfigError
from rag.support.http_transport import is_loopback


def server_key(settings: StoreConfig) -> str:
    """Return the API key, or "" when there is none; no error repeats it.

    :raises ConfigError: when it could not be sent, or would travel in the clear.
    """
    name = settings.api_key_env
    key = os.environ.get(name, "").strip() if name else ""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the API key in {name} holds characters that no key has",
            hint=f"Set {name} again, without quotes around it.",
        )
    for address in settings.addresses if key else ():
        url = httpx.URL(address)
        if url.scheme == "http" and not is_loopback(url.host):
            raise ConfigError(
                f"the API key in {name} would be sent to {address} in the clear",
                hint="Use an https:// address in store.url, or a tunnel (`ssh -L`) to it.",
            )
    return key
