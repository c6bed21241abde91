"""Servers of models: their addresses and keys, and whether anybody answers there.

A model may load for a minute before its first word, so a request must be given that long. A server
answers at once what needs no model: one that does not within two seconds is given up, and not asked
again for a minute.

None of this imports the HTTP client, which takes .2 s, before a request is made.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from rag.config import ModelsConfig, OllamaConfig, RAGConfig, load_config
from rag.config.sections import AUTO
from rag.config.servers import read_key
from rag.exceptions import ConfigError, ConnectionError

OLLAMA, OPENAI = "ollama", "openai"  # the providers that ask servers
_VERSIONED = re.compile(r"(\w+://[^/]+(?:/.*?)??)/v\d\w*(?:/.*)?$")


@dataclass(frozen=True)
class Endpoint:
    """One model of one server, as the settings name them; it holds no key.

    :param api: `ollama` or `openai`.
    :param section: what it is for: `embedding` or `chat`.
    :param url: the address, for OpenAI's API with its version (`/v1`) or without.
    :param variable: the environment variable that holds the key, or empty.
    :param is_off: the settings forbid to ask it.
    """

    api: str
    section: str
    url: str
    model: str = ""
    variable: str = ""
    is_off: bool = False

    @property
    def url_setting(self) -> str:
        return "ollama.url" if self.api == OLLAMA else f"{self.section}.url"

    @property
    def model_setting(self) -> str:
        return f"ollama.{self.section}_model" if self.api == OLLAMA else f"{self.section}.model"

    @property
    def base(self) -> str:
        """The address that paths of the API follow."""
        url = self.url.rstrip("/")
        return url if self.api == OLLAMA or _VERSIONED.match(url) else f"{url}/v1"

    @property
    def root(self) -> str:
        """The address that a server's own paths follow: without the version of the API."""
        return _VERSIONED.sub(r"\1", self.url.rstrip("/"))

    @property
    def is_chosen(self) -> bool:
        """Whether the settings name it or its model: Ollama on this machine is asked anyway."""
        is_default = self.url == OllamaConfig.url and self.model == AUTO
        return self.api != OLLAMA or not is_default

    @property
    def key(self) -> str:
        """The API key, or "" when there is none.

        :raises ConfigError: when it could not be sent, or would travel in the clear.
        """
        return read_key(self.variable, [self.url], self.url_setting)

    @property
    def kind(self) -> str:
        return "Ollama" if self.api == OLLAMA else "the model server"

    @property
    def log(self) -> str:
        """Where to read what went wrong with the server."""
        return "See the log of " + ("`ollama serve`" if self.api == OLLAMA else "the server")

    def start(self, is_here: bool = True) -> str:
        """Say how the server is started on this machine, or on another one."""
        what, how = "`ollama serve`", "it with `ollama serve`"
        if self.api == OPENAI:
            what = "the server"
            how = "its server (LM Studio: Developer, Start server; llama.cpp: llama-server)"
        if is_here:
            return f"Start {how}, or set {self.url_setting}."
        return f"Check {self.url_setting}, and that {what} runs there and listens to the network."

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask, in words; empty when it is there."""
        if self.is_off:
            return "Ollama, which is switched off"
        if not self.url:
            return f"a server: set {self.url_setting}"
        return "" if self.model else f"a model: set {self.model_setting}"

    def check(self) -> None:
        """Raise a `ConfigError` when there is no server or no model, or none is to be asked."""
        if self.is_off:
            raise ConfigError("Ollama is switched off (ollama.enabled)", hint="See `rag doctor`.")
        if self.lacking:
            what = f"{self.section} model" if self.url else "server"
            hint = f"Set {self.url_setting} and {self.model_setting}."
            raise ConfigError(f"no {what} is configured", hint=hint)


def endpoints(api: str, section: str, config: ModelsConfig, model: str = "") -> list[Endpoint]:
    """Return the servers that are asked for vectors (`embedding`) or answers (`chat`).

    :param model: another model than the configured one.
    """
    ollama = config.ollama
    if api == OPENAI:
        chosen = config.embedding if section == "embedding" else config.chat
        return [Endpoint(api, section, chosen.url, model or chosen.model, chosen.api_key)]
    is_embedding, is_off = section == "embedding", not ollama.enabled
    name = model or (ollama.embedding_model if is_embedding else ollama.chat_model)
    urls = ollama.embedding_urls if is_embedding else [ollama.local_url]
    return [Endpoint(api, section, url, name, is_off=is_off) for url in urls]


def ollama_settings(config: OllamaConfig | RAGConfig | None) -> OllamaConfig:
    """Return the `[ollama]` section of what was given, or of the settings in force."""
    return config if isinstance(config, OllamaConfig) else (config or load_config()).ollama


# -- whether anybody answers -----------------------------------------------------------

_LEFT_ALONE = 60.0  # seconds
_SECONDS = 2.0  # of a first look
_CONNECT_SECONDS = 0.25
_answered: set[str] = set()  # the addresses that are not looked at again
_silent: dict[str, float] = {}  # those that said nothing, by the monotonic clock
_one_at_a_time = threading.Lock()


def check_listening(servers: Sequence[Endpoint]) -> None:
    """Raise an error when nobody is to be asked at any address: it is this machine's and nobody
    listens there, or it said nothing less than a minute ago.

    :raises ConnectionError: with what starts a server.
    """
    failures = [failure for server in servers if (failure := _failure(server))]
    if failures and len(failures) == len(servers):
        raise failures[0]


def _failure(server: Endpoint) -> ConnectionError | None:
    if silence := _silence(server):
        return silence
    parts = urlsplit(server.base)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), _CONNECT_SECONDS).close()
    except TimeoutError:
        return None  # somebody does, who is busy or hangs: the first look tells
    except OSError:
        message = f"{server.kind} does not answer at {server.url}"
        return ConnectionError(message, server.url, hint=server.start())
    return None


def _silence(server: Endpoint) -> ConnectionError | None:
    """Return the error of a server that said nothing less than a minute ago."""
    left = _silent.get(server.base, -_LEFT_ALONE) + _LEFT_ALONE - time.monotonic()
    if left <= 0:
        return None
    return ConnectionError(
        f"{server.url} does not answer",
        server.url,
        details="it says nothing",
        hint=f"It is asked again in {max(1, round(left))} s. If it hangs, restart it;"
        f" {server.url_setting} names another. `rag doctor` asks it at once.",
    )


def forget(server: Endpoint) -> None:
    """Ask a server again, though it said nothing a moment ago."""
    _silent.pop(server.base, None)


def check_answers(server: Endpoint, longest: float) -> None:
    """Ask a server, once in a process, for what it knows without a model; any answer will do. No
    key is sent.

    :param longest: seconds that it may take.
    :raises ConnectionError: when it says nothing, or said nothing less than a minute ago.
    """
    url, seconds = server.base, min(_SECONDS, longest)
    with _one_at_a_time:
        if url not in _answered and not _silence(server):
            path = "/api/version" if server.api == OLLAMA else "/models"
            # Nobody waits for it when the time is up: to look up a host may take minutes.
            look = threading.Thread(target=_ask, args=(url, path, seconds), daemon=True)
            look.start()
            look.join(seconds)
            if url not in _answered:
                _silent[url] = time.monotonic()
    if url not in _answered and (silence := _silence(server)):
        raise silence


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
