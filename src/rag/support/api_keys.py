"""API keys, read from the environment when they are needed."""

from __future__ import annotations

import os
from collections.abc import Iterable

import httpx

from rag.exceptions import ConfigError
from rag.support.http_transport import is_loopback


def read_key(variable: str, addresses: Iterable[str], setting: str) -> str:
    """Return the API key in an environment variable, or "" when there is none; no error repeats it.

    :param addresses: of the servers that are to get it.
    :param setting: which names them.
    :raises ConfigError: when it could not be sent, or would travel in the clear.
    """
    key = os.environ.get(variable, "").strip() if variable else ""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the API key in {variable} holds characters that no key has",
            hint=f"Set {variable} again, without quotes around it.",
        )
    for address in addresses if key else ():
        url = httpx.URL(address)
        if url.scheme == "http" and not is_loopback(url.host):
            raise ConfigError(
                f"the API key in {variable} would be sent to {address} in the clear",
                hint=f"Use an https:// address in {setting}, or a tunnel (`ssh -L`) to it.",
            )
    return key
