"""Whether anybody listens at an address, found out before half a second of imports."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from rag.clients.servers.silent_servers import silence, silent_for
from rag.exceptions import ConnectionError


@dataclass(frozen=True)
class Advice:
    """The words for servers of one kind.

    :param name: what does not answer: `Ollama`.
    :param start: how it is started on this machine, or another one named.
    :param start_there: the same where it is on another machine.
    :param restart: what to do with one that hangs.
    :param slow: what helps where a request takes too long.
    :param mute: what helps where the server says nothing for too long.
    :param broken: what helps where it breaks the connection.
    """

    name: str
    start: str
    start_there: str
    restart: str
    slow: str
    mute: str
    broken: str


_SECONDS = 0.25


def check_listening(urls: Sequence[str], advice: Advice) -> None:
    """Refuse to go on when nobody is to be asked at any address: it is this machine's and nobody
    listens there, or it said nothing less than a minute ago.

    :raises ConnectionError: with what starts a server.
    """
    lacking = None
    for url in urls:
        since = silent_for(url)
        if since is not None:
            lacking = lacking or silence(url, since, advice.restart)
        elif _may_answer(url):
            return
    if urls:
        raise lacking or ConnectionError(
            f"{advice.name} does not answer at {urls[0]}", urls[0], hint=advice.start
        )


def _may_answer(url: str) -> bool:
    parts = urlsplit(url)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return True
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), _SECONDS).close()
    except TimeoutError:
        return True  # somebody does, who is busy or hangs: the first look tells
    except OSError:
        return False
    return True
