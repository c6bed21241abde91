"""Ollama's API: how requests and replies look, its models, and whether its servers are there."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from rag.clients.errors import missing
from rag.clients.http_client import Delta, End, HttpClient, Pieces
from rag.clients.models import (
    ModelInfo,
    can_write,
    full_name,
    is_embedder_name,
    known_traits,
)
from rag.clients.servers import OLLAMA, Endpoint, forget
from rag.config import AUTO, OllamaConfig, RAGConfig, load_config
from rag.exceptions import ConfigError, ConnectionError, ModelError, ModelMissingError, RAGError


class OllamaClient(HttpClient):
    """A client of one server of Ollama.

    :raises ConfigError: also when Ollama is switched off.
    """

    chat_path = "/api/chat"
    sends_window = True
    longer = "raise ollama.max_context"

    def __init__(
        self, endpoint: Endpoint, limits: OllamaConfig, read_timeout: float | None = None
    ) -> None:
        if not limits.enabled:
            raise ConfigError("Ollama is switched off", hint="Set ollama.enabled = true.")
        super().__init__(endpoint, limits, read_timeout)

    def data_of(self, line: bytes) -> bytes:
        return line

    def vectors(self, texts: list[str], seconds: float | None) -> list[Any]:
        body = {
            "model": self.endpoint.model,
            "input": texts,
            "truncate": False,
            "keep_alive": self.limits.keep_alive,
        }
        vectors: list[Any] = self.fetch("/api/embed", body, seconds)["embeddings"]
        return vectors

    def chat_body(
        self,
        model: str,
        messages: Sequence[Mapping[str, Any]],
        format: str | Mapping[str, Any] | None,
        think: bool,
        options: Mapping[str, Any],
        window: int,
    ) -> dict[str, Any]:
        return {
            "model": model,
            "messages": [*messages],
            "stream": True,
            "think": think,
            "truncate": False,
            "shift": False,
            "keep_alive": self.limits.keep_alive,
            "options": {**options, "num_ctx": window},
            **({"format": format} if format else {}),
        }

    def pieces(self, events: Iterable[Mapping[str, Any]]) -> Pieces:
        for line in events:
            message = line.get("message") or {}
            yield Delta(message.get("content") or "", message.get("thinking") or "")
            if line.get("done"):
                yield End(
                    str(line.get("done_reason") or "stop"),
                    line.get("prompt_eval_count"),
                    line.get("eval_count"),
                    (line.get("load_duration") or 0) / 1e9,
                )
                return

    def look(self, seconds: float) -> tuple[str, tuple[str, ...]]:
        with self.our_errors():
            version = str(self.fetch("/api/version", seconds=seconds)["version"])
            return version, tuple(name for name, _ in self._tags(seconds))

    def digest(self, seconds: float) -> str:
        with self.our_errors():
            digests = {full_name(name): digest for name, digest in self._tags(seconds)}
            return digests.get(full_name(self.endpoint.model), "")

    def describe(self, model: str, seconds: float | None = None) -> ModelInfo:
        """Return what the server knows of a model, but for its digest; a `ModelMissingError` when
        it has none of the name."""
        with self.our_errors(model):
            shown = self.fetch("/api/show", {"model": model}, seconds)
            info = shown.get("model_info") or {}
            parameter = re.search(r"(?m)^num_ctx\s+(\d+)", shown.get("parameters") or "")
            return ModelInfo(
                model,
                context=number(info, "context_length"),
                num_ctx=int(parameter[1]) if parameter else 0,
                dimension=number(info, "embedding_length"),
                capabilities=tuple(shown.get("capabilities") or ()),
                family=str((shown.get("details") or {}).get("family") or ""),
            )

    def describe_embedder(self, seconds: float) -> ModelInfo:
        model = self.describe(self.endpoint.model, seconds)
        return replace(model, digest=self.digest(seconds))

    def find_writer(self, seconds: float) -> ModelInfo:
        if self.endpoint.model not in ("", AUTO):
            return self.describe(self.endpoint.model, seconds)
        until = time.monotonic() + seconds
        failures: list[ConnectionError] = []

        def described() -> Iterator[ModelInfo]:
            for name, _ in tags:
                try:
                    yield self.describe(name, max(until - time.monotonic(), 0.01))
                except (ModelError, ModelMissingError) as error:  # the next one may do
                    failures.append(error)

        with self.our_errors():
            tags = self._tags(seconds)
        if writer := next(filter(can_write, described()), None):
            return writer
        if failures:
            raise failures[0]
        message = f"{self.url} has no model that writes answers"
        raise ModelMissingError(message, self.url, hint="`ollama pull llama3.2`")

    def context_of(self, model: ModelInfo, seconds: float) -> int:
        return model.context

    def _tags(self, seconds: float | None) -> list[tuple[str, str]]:
        """Return the names and digests of all models."""
        tags = self.fetch("/api/tags", seconds=seconds)["models"] or ()
        return [(str(tag["name"]), str(tag.get("digest") or "")) for tag in tags]


def number(info: Mapping[str, Any], name: str) -> int:
    """Return `bert.context_length`, or of whatever architecture it is; 0 when it is not there."""
    value = info.get(f"{info.get('general.architecture')}.{name}")
    return int(value or next((info[key] for key in info if key.endswith(f".{name}")), 0))


# -- whether servers are there ---------------------------------------------------------


@dataclass(frozen=True)
class Connection:
    """What one server said when it was asked; `ok, error = connection` unpacks the essence.

    :param version: its version, or empty.
    :param models: the names of its models, with their tags.
    :param missing: the wanted models that it does not have.
    :param milliseconds: how long it took to answer.
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
    """Ask a server of Ollama for its version and its models.

    :param server: an address; or the settings, whose servers are all asked, and of which the
        first that is not `ok` is returned, else the first. Without it the settings in force.
    :param wanted: the names of models that it should have; with settings those configured.
    :param raising: raise what is wrong instead of returning it.
    :raises RAGError: only with `raising`: `ConnectionError` or `ModelMissingError`, or
        `ConfigError` for an address that cannot be one.
    """
    if isinstance(server, str):
        connection = _ask(server, OllamaConfig(), wanted)
    else:
        connections = check_servers(ollama_settings(server))
        connection = next((each for each in connections if not each.ok), connections[0])
    if raising and connection.error:
        raise connection.error
    return connection


def check_servers(config: OllamaConfig) -> list[Connection]:
    """Ask every configured server, all at once; each should have the model it is to run."""
    models: dict[str, list[str]] = {}
    for url in config.embedding_urls:
        models.setdefault(url, []).append(config.embedding_model)
    models.setdefault(config.local_url, []).append(config.chat_model.removeprefix(AUTO))

    def ask(url: str) -> Connection:
        return _ask(url, config, [*filter(None, models[url])])

    with ThreadPoolExecutor(len(models)) as pool:
        return [*pool.map(ask, models)]


def _ask(url: str, config: OllamaConfig, wanted: Sequence[str]) -> Connection:
    started, seconds = time.monotonic(), config.query_timeout
    server = Endpoint(OLLAMA, "embedding", url)
    forget(server)  # whoever asks wants to know how it is now
    try:
        with closing(OllamaClient(server, config, seconds)) as client:
            version, models = client.look(seconds)
    except RAGError as error:
        return Connection(url, milliseconds=(time.monotonic() - started) * 1000, error=error)
    present = {*map(full_name, models)}
    absent = tuple(name for name in wanted if full_name(name) not in present)
    lacks = missing(server, absent[0]) if absent else None
    milliseconds = (time.monotonic() - started) * 1000
    return Connection(url, True, version, models, absent, milliseconds, lacks)


def ollama_settings(config: OllamaConfig | RAGConfig | None) -> OllamaConfig:
    """Return the `[ollama]` section of what was given, or of the settings in force."""
    if isinstance(config, OllamaConfig):
        return config
    return (config or load_config()).ollama


def choose_embedding(models: Sequence[str], preferred: str) -> str:
    """Return the name of the preferred embedding model, else of one that reads Japanese too,
    else of a known one, else of any that by its name embeds; empty when there is none."""

    def rank(name: str) -> tuple[bool, bool, bool]:
        known = known_traits(name)
        is_multilingual = known is not None and known.multilingual
        return full_name(name) != full_name(preferred), not is_multilingual, known is None

    best = min(filter(is_embedder_name, models), key=rank, default="")
    return best.removesuffix(":latest")
