"""Connections to servers of models, and what a server says of itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, TypeAlias

from rag.clients.models import full_name
from rag.clients.protocols import ServerView
from rag.clients.servers import OLLAMA, Endpoint, forget
from rag.config import AUTO, OllamaConfig, RAGConfig, load_config
from rag.exceptions import ConfigError, RAGError

# The HTTP client takes .2 s to import, and most commands do without.
if TYPE_CHECKING:
    from rag.clients.dialects import OllamaClient, OpenAIClient

    Client: TypeAlias = OllamaClient | OpenAIClient


def connect(server: Endpoint, limits: OllamaConfig, read_timeout: float | None = None) -> Client:
    """Return a client of a server, as `HttpClient` describes it; nothing is asked yet.

    :raises ConfigError: also when Ollama is switched off.
    """
    from rag.clients.dialects import OllamaClient, OpenAIClient

    if server.api != OLLAMA:
        return OpenAIClient(server, limits, read_timeout)
    if not limits.enabled:
        raise ConfigError("Ollama is switched off", hint="Set ollama.enabled = true.")
    return OllamaClient(server, limits, read_timeout)


def look_at(server: Endpoint, limits: OllamaConfig, seconds: float) -> ServerView:
    """Ask a server for its version and its models, though it may have said nothing a moment ago.

    :param seconds: longest duration of each of two requests.
    """
    view, started = ServerView(server.api, server.url), time.monotonic()
    forget(server)
    try:
        if not server.url:
            server.check()
        with closing(connect(server, limits, limits.query_timeout)) as client:
            view.version, view.models = client.look(seconds)
    except RAGError as error:
        view.error = error
    view.milliseconds = (time.monotonic() - started) * 1000
    return view


def check_connection(
    server: str | OllamaConfig | RAGConfig | None = None,
    wanted: Sequence[str] = (),
) -> ServerView:
    """Ask a server of Ollama for its version and its models; what is wrong is its `error`.

    :param server: an address; or the settings, whose servers are all asked, and of which the
        first that is not `ok` is returned, else the first. Without it the settings in force.
    :param wanted: the names of models that it should have; with settings those configured.
    """
    if isinstance(server, str):
        return _check_server(server, OllamaConfig(), wanted)
    views = check_servers(ollama_settings(server))
    return next((each for each in views if not each.ok), views[0])


def check_servers(config: OllamaConfig) -> list[ServerView]:
    """Ask every configured server of Ollama; each should have the model it is to run."""
    models: dict[str, list[str]] = {}
    for url in config.embedding_urls:
        models.setdefault(url, []).append(config.embedding_model)
    models.setdefault(config.local_url, []).append(config.chat_model.removeprefix(AUTO))
    return [_check_server(url, config, [*filter(None, names)]) for url, names in models.items()]


def _check_server(url: str, config: OllamaConfig, wanted: Sequence[str]) -> ServerView:
    from rag.clients.errors import missing

    server = Endpoint(OLLAMA, "embedding", url)
    view = look_at(server, config, config.query_timeout)
    if view.ok:
        present = {*map(full_name, view.models)}
        view.missing = tuple(name for name in wanted if full_name(name) not in present)
        view.error = missing(server, view.missing[0]) if view.missing else None
    return view


def ollama_settings(config: OllamaConfig | RAGConfig | None) -> OllamaConfig:
    """Return the `[ollama]` section of what was given, or of the settings in force."""
    return config if isinstance(config, OllamaConfig) else (config or load_config()).ollama
