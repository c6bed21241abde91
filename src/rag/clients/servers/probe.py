"""A first look at a server: whether it says anything, before it is asked for what takes long.

A model may load for a minute before its first word, so a request must be given that long. A server
answers at once meanwhile what needs no model: one that does not is not waited for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import httpx

from rag.clients.servers.silent_servers import remember, silent_for, was_silence
from rag.support.http_transport import DeadlineTransport

# No command is to lose more than three seconds to servers that hang, however many they are.
_SECONDS = 2.0
_SECONDS_MORE = 0.3  # for others, once one was silent

_answered: set[str] = set()  # of those no second look is taken: they have their time limits
_one_at_a_time = threading.Lock()


class SilentError(httpx.ConnectTimeout):
    """A server says nothing.

    :param since: how many seconds ago that was found.
    """

    def __init__(self, since: float) -> None:
        super().__init__("it says nothing")
        self.since = since


def make_sure_it_answers(url: str, path: str, longest: float, shared: Sequence[str] = ()) -> None:
    """Take a first look at a server, and at those that share its work, once in a process.

    Whatever it answers will do. Nothing is sent but the request for a path, without any key.

    :param path: what a server of this kind tells at once.
    :param longest: seconds that the look may take.
    :param shared: the servers that share the work, this one among them.
    :raises SilentError: when it says nothing, or said nothing less than a minute ago.
    """
    if url in _answered:
        return
    with _one_at_a_time:
        if url in _answered:
            return
        since = silent_for(url)
        if since is None:
            _look(shared if url in shared else [url], path, longest)
            since = silent_for(url)
    if since is not None:
        raise SilentError(since)


def _look(urls: Sequence[str], path: str, longest: float) -> None:
    """Ask servers for a path, all at once, and note which answer."""
    wait = _SECONDS_MORE if was_silence() else _SECONDS
    seconds = min(wait, longest)
    asked = [url for url in urls if url not in _answered and silent_for(url) is None]
    # Nobody waits for these when the time is up: the name of a host may take minutes to look up.
    threads = [
        threading.Thread(target=_ask, args=(url, path, seconds), daemon=True) for url in asked
    ]
    for thread in threads:
        thread.start()
    until = time.monotonic() + seconds
    for url, thread in zip(asked, threads, strict=True):
        thread.join(max(until - time.monotonic(), 0))
        if url not in _answered:
            # A look that was cut short is no reason for other commands to pass a server over.
            remember(url, here_only=seconds < _SECONDS)


def _ask(url: str, path: str, seconds: float) -> None:
    steps = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
    try:
        transport = DeadlineTransport(httpx.URL(url), seconds)
        request = httpx.Request(
            "GET", f"{url}{path}", extensions={"timeout": steps, "seconds": seconds}
        )
        transport.handle_request(request).close()
        transport.close()
    except httpx.TimeoutException:
        return
    except Exception:  # refused, or no such host: what is asked of it will say so, and at once
        pass
    _answered.add(url)
