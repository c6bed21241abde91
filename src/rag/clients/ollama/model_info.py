"""What is known of a model: by its name, by configuration, and by what the server says."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from rag.clients.models import (
    Traits,
    can_write,
    choose_writer,
    chosen_traits,
    full_name,
    is_embedder_name,
    known_traits,
)
from rag.clients.ollama.http_client import OllamaClient, ResponseError, diagnose, our_errors
from rag.clients.protocols import ModelView, ServerView
from rag.clients.servers.silent_servers import forget
from rag.config import AUTO, ModelsConfig, OllamaConfig, RAGConfig, load_config
from rag.exceptions import ConfigError, ConnectionError, ModelError, ModelMissingError, RAGError

T = TypeVar("T")


def traits(config: OllamaConfig) -> Traits:
    """Return how the configured embedding model wants its texts."""
    return chosen_traits(config.embedding_model, config)


@dataclass(frozen=True)
class ModelInfo:
    """What a server says of one of its models.

    :param digest: 64 hexadecimal digits that change when the model does; empty if not told.
    :param context: the most tokens it reads, by its architecture.
    :param num_ctx: the tokens it is loaded with unless a request asks for others; 0 if not told.
    :param dimension: the length of its vectors.
    :param capabilities: `embedding`, `completion`, `thinking`, `tools`, …
    """

    name: str
    digest: str = ""
    context: int = 0
    num_ctx: int = 0
    dimension: int = 0
    capabilities: tuple[str, ...] = ()
    family: str = ""

    @property
    def limit(self) -> int:
        """The most tokens of a text to embed; 0 if not told."""
        return min(filter(None, (self.context, self.num_ctx)), default=0)


def describe_model(client: OllamaClient, model: str, seconds: float | None = None) -> ModelInfo:
    """Ask a server what it knows of a model.

    :param seconds: longest duration of each of the two requests.
    :raises ModelMissingError: when it has no such model.
    :raises ConnectionError: when it does not answer, or with nonsense.
    """
    with our_errors(client.url, model):
        shown = client.fetch("/api/show", {"model": model}, seconds)
        info = shown.get("model_info") or {}
        parameter = re.search(r"(?m)^num_ctx\s+(\d+)", shown.get("parameters") or "")
        return ModelInfo(
            model,
            find_digest(client, model, seconds),
            _number(info, "context_length"),
            int(parameter[1]) if parameter else 0,
            _number(info, "embedding_length"),
            tuple(shown.get("capabilities") or ()),
            str((shown.get("details") or {}).get("family") or ""),
        )


def ask_servers(config: OllamaConfig, ask: Callable[[OllamaClient], T]) -> T:
    """Return what the first of the embedding servers says that answers.

    :raises ConnectionError: when none does; above all that one has not the model.
    """
    trouble: ConnectionError | None = None
    for url in config.embedding_urls:
        with OllamaClient(url, config) as client:
            try:
                return ask(client)
            except ConnectionError as error:
                if trouble is None or isinstance(error, ModelMissingError):
                    trouble = error
    assert trouble
    raise trouble


def find_digest(client: OllamaClient, model: str, seconds: float | None = None) -> str:
    """Ask a server for the digest of a model; empty when it does not tell.

    :raises ConnectionError: when it does not answer, or with nonsense.
    """
    with our_errors(client.url, model):
        tags = client.fetch("/api/tags", seconds=seconds).get("models") or ()
        digests = {full_name(tag["name"]): str(tag.get("digest") or "") for tag in tags}
        return digests.get(full_name(model), "")


def find_chat_model(client: OllamaClient, configured: str, seconds: float) -> ModelInfo:
    """Return the chat model that is to answer: the configured one, or for `auto` or none the first
    installed one that writes text.

    :param seconds: longest duration of each request; of all of them together where one is picked.
    :raises ModelMissingError: when there is none.
    :raises ConnectionError: when the server does not answer, or with nonsense.
    """
    if configured in ("", AUTO):
        return pick_chat_model(client, seconds)
    return describe_model(client, configured, seconds)


def pick_chat_model(client: OllamaClient, seconds: float = math.inf) -> ModelInfo:
    """Return the first installed model that writes text.

    :param seconds: longest duration of the whole.
    :raises ModelMissingError: when there is none.
    :raises ConnectionError: when the server does not answer, or with nonsense.
    """
    until = time.monotonic() + seconds
    with our_errors(client.url):
        tags = client.fetch("/api/tags", seconds=seconds).get("models") or ()
        names = [str(tag["name"]) for tag in tags]
    troubles: list[ConnectionError] = []

    def described() -> Iterator[ModelInfo]:
        for name in names:
            try:
                yield describe_model(client, name, max((until - time.monotonic()) / 2, 0.01))
            except (ModelError, ModelMissingError) as error:  # the next one may do
                troubles.append(error)

    if found := choose_writer(described()):
        return found
    if troubles:
        raise troubles[0]
    raise ModelMissingError(
        f"{client.url} has no model that writes answers", client.url, hint="`ollama pull llama3.2`"
    )


def _number(info: dict[str, Any], name: str) -> int:
    """`bert.context_length`, or of whatever architecture it is; 0 when it is not there."""
    prefix = info.get("general.architecture")
    value = info.get(f"{prefix}.{name}")
    if not value:
        value = next((info[key] for key in info if key.endswith(f".{name}")), 0)
    return int(value or 0)


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


Described = ModelInfo | RAGError
_NAME = "ollama"  # in the settings


def survey(config: ModelsConfig) -> list[ServerView]:
    """Look at every configured server that a kind of models is wanted of, all at once.

    It takes at most twice `query_timeout`, and less where a server says nothing at all.
    """
    ollama = config.ollama
    if not ollama.enabled:
        return [ServerView(_NAME, ollama.url, is_off=True)]
    embeds = config.embedding.provider == _NAME
    # Without a model answers are quotations, which the settings say.
    chats = config.chat.asked == _NAME and bool(ollama.chat_model)
    if not embeds:  # the servers that embed are not to be asked
        ollama = replace(ollama, url=ollama.local_url, urls=[], embedding_model="")
    elif not chats:
        ollama = replace(ollama, generation_url=ollama.remote_url)
    connections = look_for_servers(ollama)
    with ThreadPoolExecutor(len(connections)) as pool:
        return list(pool.map(partial(_view, ollama, chats), connections))


def look_for_servers(config: OllamaConfig) -> list[Connection]:
    """Ask every configured server for its version and models, within `query_timeout`."""
    # Two requests in a row; the models are looked at later, one by one.
    seconds = config.query_timeout / 2
    return check_servers(replace(config, embedding_model="", chat_model="", query_timeout=seconds))


def fixed_chat_model(config: OllamaConfig) -> str:
    """Return the chat model that is configured by name, or empty when any will do."""
    return "" if config.chat_model == "auto" else config.chat_model


def can_embed(model: ModelInfo) -> bool:
    """Tell whether a model gives vectors; of one of an old server, by its name."""
    if model.capabilities:
        return "embedding" in model.capabilities
    return is_embedder_name(model.name)


def choose_embedding(models: Iterable[ModelInfo], preferred: str) -> str:
    """Return the name of the preferred embedding model, else of one that reads Japanese too,
    else of a known one, else of any; empty when there is none."""

    def rank(model: ModelInfo) -> tuple[bool, bool, bool]:
        known = known_traits(model.name)
        return (
            full_name(model.name) != full_name(preferred),
            known is None or not known.multilingual,
            known is None,
        )

    best = min(filter(can_embed, models), key=rank, default=None)
    return best.name.removesuffix(":latest") if best else ""


def choose_chat(models: Iterable[ModelInfo], preferred: str = "") -> str:
    """Return the name of the model that `rag ask` would take, or empty.

    :param preferred: the configured one; it is passed over where it is not there or cannot write.
    """
    found = choose_writer(models, preferred)
    return found.name.removesuffix(":latest") if found else ""


def installed_models(url: str, names: Sequence[str], config: OllamaConfig) -> list[ModelInfo]:
    """Describe models of a server, as many as `query_timeout` allows; bad ones are left out."""
    until = time.monotonic() + config.query_timeout
    with OllamaClient(url, config, read_timeout=config.query_timeout) as client:
        found = [_describe(client, name, until) for name in names]
    return [model for model in found if isinstance(model, ModelInfo)]


def _view(config: OllamaConfig, chats: bool, connection: Connection) -> ServerView:
    url = connection.server
    view = ServerView(
        *(_NAME, url, connection.version, connection.models),
        *(connection.milliseconds, connection.error),
    )
    if not connection.reachable:
        return view
    until = time.monotonic() + config.query_timeout
    embedding = chat = None
    with OllamaClient(url, config, read_timeout=config.query_timeout) as client:
        if config.embedding_model and url in config.embedding_urls:
            embedding = _embedder(_describe(client, config.embedding_model, until), url)
        if chats and url == config.local_url:
            chat = _chat_model(client, fixed_chat_model(config), until)
    return replace(view, embedding=embedding, chat=chat)


def _embedder(model: Described, url: str) -> ModelView | RAGError:
    if isinstance(model, RAGError):
        return model
    unfit = None
    if model.capabilities and not can_embed(model):
        hint = f"Name another in ollama.embedding_model: `ollama show {model.name}`"
        unfit = ModelError(f"{model.name} at {url} gives no vectors", url, hint=hint)
    return ModelView(model.name, model.digest, model.limit, model.dimension, unfit)


def _chat_model(client: OllamaClient, fixed: str, until: float) -> ModelView | RAGError:
    """Return the chat model that `rag ask` takes, or what is wrong with it."""
    left, url = max(until - time.monotonic(), 0.01), client.url
    try:
        model = find_chat_model(client, fixed, left / 2 if fixed else left)
    except ModelMissingError as error:
        if fixed:
            return error
        message = f"{url} has no model that writes answers: questions are answered by quotation"
        return ModelError(message, url, hint="`ollama pull llama3.2`")
    except RAGError as error:
        return error
    unfit = None
    if not can_write(model):
        hint = f"Name another in ollama.chat_model: `ollama show {model.name}`"
        unfit = ModelError(f"{model.name} at {url} writes no answers", url, hint=hint)
    return ModelView(model.name, limit=model.context, unfit=unfit, is_named=bool(fixed))


def _describe(client: OllamaClient, model: str, until: float) -> Described:
    left = max(until - time.monotonic(), 0.01)
    try:
        return describe_model(client, model, left / 2)  # of two requests
    except RAGError as error:
        return error
