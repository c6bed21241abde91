"""Whether the configured servers answer, and whether they have the models that are wanted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rag.clients.embeddings.model_traits import full_name
from rag.clients.ollama.errors import diagnose, our_errors
from rag.clients.ollama.http_client import OllamaClient, ResponseError
from rag.clients.servers.silent_servers import forget
from rag.config import AUTO, OllamaConfig, RAGConfig, load_config
from rag.exceptions import ConfigError, RAGError


@dataclass(frozen=True)
class Connection:
    """What one server said when it was asked; `ok, error = connection` unpacks the essence.

    :param version: its version, or empty.
    :param models: the names of its models, with their tags.
    :param missing: the wanted models that it does not have.
    :param milliseconds: how long it took to say so.
    :param error: why it is not `ok`, with the command that mends it.
    """

    server: str
    reachable: bool = False
    version: str = ""
    models: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    milliseconds: float = 0.0
    error: RAGError | None = None

    @property
    def ok(self) -> bool:
        """Whether it answers and has every model that is wanted."""
        return self.error is None

    def __iter__(self) -> Iterator[bool | str | None]:
        return iter((self.ok, None if self.error is None else str(self.error)))


def check_connection(
    server: str | OllamaConfig | RAGConfig | None = None,
    wanted: Sequence[str] = (),
    *,
    raising: bool = False,
) -> Connection:
    """Ask a server for its version and its models.

    :param server: an address; or the settings, whose servers are all asked, and of which the
        first that is not `ok` is returned, else the first. Without it the settings in force.
    :param wanted: the names of models that it should have; with settings those configured.
    :param raising: raise what is wrong instead of returning it.
    :raises RAGError: only with `raising`: `ConnectionError` or `ModelMissingError`, or
        `ConfigError` for an address that cannot be one.
    """
    if isinstance(server, str):
        found = _ask(server, OllamaConfig(), wanted)
    else:
        all_found = check_servers(server)
        found = next((each for each in all_found if not each.ok), all_found[0])
    if raising and found.error:
        raise found.error
    return found


def check_servers(config: OllamaConfig | RAGConfig | None = None) -> list[Connection]:
    """Ask every configured server, all at once; each should have the model it is to run."""
    config = ollama_settings(config)
    wanted: dict[str, list[str]] = {}
    for url in config.embedding_urls:
        wanted.setdefault(url, []).append(config.embedding_model)
    wanted.setdefault(config.local_url, []).append(config.chat_model.removeprefix(AUTO))
    with ThreadPoolExecutor(len(wanted)) as pool:
        return list(pool.map(lambda url: _ask(url, config, [n for n in wanted[url] if n]), wanted))


def _ask(url: str, config: OllamaConfig, wanted: Sequence[str]) -> Connection:
    started = time.monotonic()

    def taken() -> float:
        return (time.monotonic() - started) * 1000

    forget([url])  # whoever asks wants to know how it is now
    try:
        client = OllamaClient(url, config, read_timeout=config.query_timeout)
    except ConfigError as error:
        return Connection(url, error=error)
    with client:
        try:
            with our_errors(url):
                version = str(client.fetch("/api/version", seconds=config.query_timeout)["version"])
                tags = client.fetch("/api/tags", seconds=config.query_timeout)["models"]
                models = tuple(str(model["name"]) for model in tags or ())
        except RAGError as error:
            return Connection(url, milliseconds=taken(), error=error)
    have = {full_name(name) for name in models}
    missing = tuple(name for name in wanted if full_name(name) not in have)
    problem = _missing(missing[0], url) if missing else None
    return Connection(url, True, version, models, missing, taken(), problem)


def _missing(model: str, url: str) -> RAGError:
    return diagnose(ResponseError("not in /api/tags", 404), url, model).error


def ollama_settings(config: OllamaConfig | RAGConfig | None) -> OllamaConfig:
    """Return the `[ollama]` section of what was given, or of the settings in force."""
    if isinstance(config, OllamaConfig):
        return config
    return (config or load_config()).ollama
