"""Servers of models: their addresses and keys, and whether anybody answers there.

A server that takes a connection and then hangs costs every command some seconds. So it is asked
first for what it knows without a model, for two seconds at most; one that says nothing is left
alone for a minute, by all commands: an empty file in the user's runtime folder, named after the
address, has the time of the silence.

None of this imports the HTTP client, which takes .2 s, before a request is made.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from binascii import crc32
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from rag.config import ModelsConfig
from rag.config.servers import read_key
from rag.exceptions import ConfigError, ConnectionError
from rag.support.runtime_folder import UntrustedError, folder, open_file, open_folder

OLLAMA, OPENAI = "ollama", "openai"  # the providers that ask servers
_VERSION = re.compile(r"/v\d\w*(/|$)")


@dataclass(frozen=True)
class Endpoint:
    """One model of one server, as the settings name them; it holds no key.

    :param api: `ollama` or `openai`.
    :param section: what it is for: `embedding` or `chat`.
    :param url: the address, for OpenAI's API with its version (`/v1`) or without.
    :param variable: the environment variable that holds the key, or empty.
    """

    api: str
    section: str
    url: str
    model: str = ""
    variable: str = ""

    @property
    def url_setting(self) -> str:
        """The setting that names the server."""
        return "ollama.url" if self.api == OLLAMA else f"{self.section}.url"

    @property
    def model_setting(self) -> str:
        """The setting that names the model."""
        return f"ollama.{self.section}_model" if self.api == OLLAMA else f"{self.section}.model"

    @property
    def base(self) -> str:
        """The address that paths of the API follow."""
        url = self.url.rstrip("/")
        if self.api == OLLAMA or _VERSION.search(urlsplit(url).path):
            return url
        return f"{url}/v1"

    @property
    def root(self) -> str:
        """The address that a server's own paths follow: without the version of the API."""
        parts = urlsplit(self.base)
        version = _VERSION.search(parts.path)
        path = parts.path[: version.start()] if version else parts.path
        return urlunsplit((parts.scheme, parts.netloc, path, "", ""))

    @property
    def key(self) -> str:
        """The API key, or "" when there is none.

        :raises ConfigError: when it could not be sent, or would travel in the clear.
        """
        return read_key(self.variable, [self.url], self.url_setting)

    @property
    def log(self) -> str:
        """Where to read what went wrong with the server."""
        return "See the log of " + ("`ollama serve`" if self.api == OLLAMA else "the server")

    @property
    def start(self) -> str:
        """How a server on this machine is started."""
        if self.api == OLLAMA:
            return f"Start it with `ollama serve`, or set {self.url_setting}."
        programs = "LM Studio: Developer, Start server; llama.cpp: llama-server"
        return f"Start its server ({programs}), or set {self.url_setting}."

    @property
    def start_there(self) -> str:
        """The same of one on another machine."""
        what = "`ollama serve`" if self.api == OLLAMA else "the server"
        return f"Check {self.url_setting}, and that {what} runs there and listens to the network."

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask, in words; empty when it is there."""
        if not self.url:
            return f"a server: set {self.url_setting}"
        return "" if self.model else f"a model: set {self.model_setting}"

    def check(self) -> None:
        """Raise a `ConfigError` when there is no server or no model."""
        if self.lacking:
            what = f"{self.section} model" if self.url else "server"
            hint = f"Set {self.url_setting} and {self.model_setting}."
            raise ConfigError(f"no {what} is configured", hint=hint)

    def explain_no_key(self) -> str:
        """Say what to do where a server wants a key, or refuses the one it got."""
        setting = f"{self.section}.api_key"
        if not self.variable:
            return f"Name the environment variable that holds the key in {setting}."
        if not os.environ.get(self.variable, "").strip():
            return f"Set {self.variable} in the environment: {setting} names it, and it is empty."
        return f"Check the key in the environment variable {self.variable} ({setting})."


def endpoints(api: str, section: str, config: ModelsConfig, model: str = "") -> list[Endpoint]:
    """Return the servers that are asked for vectors (`embedding`) or answers (`chat`).

    :param model: another model than the configured one.
    """
    ollama = config.ollama
    if api == OPENAI:
        chosen = config.embedding if section == "embedding" else config.chat
        return [Endpoint(api, section, chosen.url, model or chosen.model, chosen.api_key)]
    if section == "embedding":
        name = model or ollama.embedding_model
        return [Endpoint(api, section, url, name) for url in ollama.embedding_urls]
    return [Endpoint(api, section, ollama.local_url, model or ollama.chat_model)]


# -- whether anybody answers -----------------------------------------------------------

REMEMBERED = 60.0  # seconds
_SECONDS = 2.0  # of a first look
_SECONDS_MORE = 0.3  # of another one, once a server was silent
_CONNECT_SECONDS = 0.25
_answered: set[str] = set()  # the addresses that are not looked at again
_silent: dict[str, float] = {}  # those that said nothing, by the monotonic clock
_one_at_a_time = threading.Lock()


def check_listening(servers: Sequence[Endpoint]) -> None:
    """Raise an error when nobody is to be asked at any address: it is this machine's and nobody
    listens there, or it said nothing less than a minute ago.

    :raises ConnectionError: with what starts a server.
    """
    silent = None
    for server in servers:
        since = silent_for(server.base)
        if since is not None:
            silent = silent or silence(server, since)
        elif _may_answer(server.base):
            return
    if servers:
        url, name = servers[0].url, name_of(servers[0])
        raise silent or ConnectionError(
            f"{name} does not answer at {url}", url, hint=servers[0].start
        )


def name_of(server: Endpoint) -> str:
    """Return what a server is called in messages."""
    return "Ollama" if server.api == OLLAMA else "the model server"


def _may_answer(url: str) -> bool:
    parts = urlsplit(url)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return True
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), _CONNECT_SECONDS).close()
    except TimeoutError:
        return True  # somebody does, who is busy or hangs: the first look tells
    except OSError:
        return False
    return True


def check_answers(server: Endpoint, longest: float) -> None:
    """Ask a server, once in a process, for what it knows without a model; any answer will do.

    No key is sent.

    :param longest: seconds that it may take.
    :raises ConnectionError: when it says nothing, or said nothing less than a minute ago.
    """
    url = server.base
    if url in _answered:
        return
    with _one_at_a_time:
        since = silent_for(url)
        if since is None and url not in _answered:
            was_silence = any(time.monotonic() - at < REMEMBERED for at in _silent.values())
            wait = _SECONDS_MORE if was_silence else _SECONDS
            seconds = min(wait, longest)
            path = "/api/version" if server.api == OLLAMA else "/models"
            # Nobody waits for it when the time is up: to look up a host may take minutes.
            look = threading.Thread(target=_ask, args=(url, path, seconds), daemon=True)
            look.start()
            look.join(seconds)
            if url not in _answered:
                # A look that was cut short is no reason for other commands to pass a server over.
                remember(url, here_only=seconds < _SECONDS)
                since = 0.0
    if since is not None:
        raise silence(server, since)


def _ask(url: str, path: str, seconds: float) -> None:
    import httpx

    from rag.support.http_transport import DeadlineTransport

    steps = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
    extensions = {"timeout": steps, "seconds": seconds}
    try:
        transport = DeadlineTransport(httpx.URL(url), seconds)
        request = httpx.Request("GET", f"{url}{path}", extensions=extensions)
        transport.handle_request(request).close()
        transport.close()
    except httpx.TimeoutException:
        return
    except Exception:  # refused, or no such host: the request itself will say so, and at once
        pass
    _answered.add(url)


def remember(url: str, here_only: bool = False) -> None:
    """Remember that a server says nothing; with `here_only` in no other process."""
    _silent[url] = time.monotonic()
    if here_only:
        return
    # Without a folder of the user's own no other process can know.
    with suppress(OSError, UntrustedError):
        within = open_folder(folder(), make=True)
        try:
            file = open_file(_mark(url), os.O_WRONLY | os.O_CREAT, within)
            os.utime(file)
            os.close(file)
        finally:
            os.close(within)


def forget(urls: Iterable[str]) -> None:
    """Ask these servers again, whatever is remembered of them."""
    for url in urls:
        _silent.pop(url, None)
        with suppress(OSError, UntrustedError):
            within = open_folder(folder())
            try:
                os.unlink(_mark(url), dir_fd=within)
            finally:
                os.close(within)


def silent_for(url: str) -> float | None:
    """Return how many seconds ago a server said nothing; `None` when it is to be asked."""
    if url in _silent and (since := time.monotonic() - _silent[url]) < REMEMBERED:
        return since
    try:
        within = open_folder(folder())
        try:
            modified = os.stat(_mark(url), dir_fd=within, follow_symlinks=False).st_mtime
        finally:
            os.close(within)
    except (OSError, UntrustedError):
        return None
    since = time.time() - modified
    return since if 0 <= since < REMEMBERED else None  # a clock may have been set back


def silence(server: Endpoint, since: float) -> ConnectionError:
    """Return the error of a server that said nothing so many seconds ago."""
    left = max(1, round(REMEMBERED - since))
    return ConnectionError(
        f"{server.url} does not answer",
        server.url,
        details=f"it said nothing {since:.0f} s ago" if since >= 1 else "it says nothing",
        hint=f"It is asked again in {left} s. If it hangs, restart it; {server.url_setting} names"
        " another. `rag doctor` asks it at once.",
    )


def _mark(url: str) -> str:
    return f"{crc32(url.encode()):08x}.silent"
