"""Whether anybody listens at an address, found out before half a second of imports."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from rag.exceptions import ConnectionError

_SECONDS = 0.5


def check_listening(urls: Sequence[str]) -> None:
    """Refuse to go on when all addresses are this machine's and nobody listens at any.

    :raises ConnectionError: with the command that starts a server.
    """
    if urls and not any(map(_may_answer, urls)):
        raise ConnectionError(
            f"Ollama does not answer at {urls[0]}",
            urls[0],
            hint="Start it with `ollama serve`, or set ollama.url.",
        )


def _may_answer(url: str) -> bool:
    parts = urlsplit(url)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return True
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), _SECONDS).close()
    except OSError:
        return False
    return True
