"""The two APIs that servers of models speak: how requests and replies look, and their models.

Ollama's own; and OpenAI's, as llama.cpp, LM Studio, vLLM and others speak it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

from rag.clients.http_client import (
    DONE,
    FAILURES,
    BadVectors,
    ChatMessages,
    Delta,
    Deltas,
    Events,
    Format,
    HttpClient,
    NothingWritten,
    Refusal,
    missing,
)
from rag.clients.models import can_write, full_name
from rag.clients.protocols import ModelInfo, Response, ServerView
from rag.clients.servers import OLLAMA, Endpoint, endpoints, forget
from rag.config import AUTO, ModelsConfig, OllamaConfig
from rag.exceptions import ConnectionError, ModelError, ModelMissingError, RAGError


class OllamaClient(HttpClient):
    """A client of one server of Ollama."""

    chat_path = "/api/chat"
    sends_window = True
    longer = "raise ollama.max_context"

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
        self, messages: ChatMessages, format: Format, think: bool, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "model": self.writer.name,
            "messages": [*messages],
            "stream": True,
            "think": think,
            "truncate": False,
            "shift": False,
            "keep_alive": self.limits.keep_alive,
            "options": {**options, "num_ctx": self.window},
            **({"format": format} if format else {}),
        }

    def deltas(self, events: Events, response: Response) -> Deltas:
        for line in events:
            message = line.get("message") or {}
            yield Delta(message.get("content") or "", message.get("thinking") or "")
            if line.get("done"):
                response.finish_reason = str(line.get("done_reason") or "stop")
                response.prompt_tokens = line.get("prompt_eval_count")
                response.tokens = line.get("eval_count")
                response.load_seconds = (line.get("load_duration") or 0) / 1e9
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
        failure: ConnectionError | None = None
        with self.our_errors():
            tags = self._tags(seconds)
        for name, _ in tags:
            try:
                model = self.describe(name, max(until - time.monotonic(), 0.01))
            except (ModelError, ModelMissingError) as error:  # the next one may do
                failure = failure or error
                continue
            if can_write(model):
                return model
        if failure:
            raise failure
        message = f"{self.url} has no model that writes answers"
        raise ModelMissingError(message, self.url, hint="`ollama pull llama3.2`")

    def context_of(self, model: ModelInfo, seconds: float) -> int:
        return model.context

    def _tags(self, seconds: float | None) -> list[tuple[str, str]]:
        tags = self.fetch("/api/tags", seconds=seconds)["models"] or ()
        return [(str(tag["name"]), str(tag.get("digest") or "")) for tag in tags]


def number(info: Mapping[str, Any], name: str) -> int:
    """Return `bert.context_length`, or of whatever architecture it is; 0 when it is not there."""
    value = info.get(f"{info.get('general.architecture')}.{name}")
    return int(value or next((info[key] for key in info if key.endswith(f".{name}")), 0))


# What servers call an answer that lacks its end.
_CUT_SHORT = ("length", "max_tokens", "content_filter")
# A model reasons unless it is told not to: by the template of llama-server and vLLM, by Ollama.
_WITHOUT_REASONING = {
    "chat_template_kwargs": {"enable_thinking": False},
    "reasoning_effort": "none",
}
# Fields that not all servers take, and how an error calls them where not by their name.
_OPTIONAL = {
    "stream_options": (),
    "chat_template_kwargs": (),
    "reasoning_effort": ("reasoning value", "think value"),
    "temperature": (),
    "max_tokens": (),
    "max_completion_tokens": (),
    "response_format": (),
}
# How servers call the length of a model's context in their list: vLLM, OpenRouter.
_LENGTHS = ("max_model_len", "context_length")


class OpenAIClient(HttpClient):
    """A client of one server; it learns which fields the server does not take."""

    chat_path = "/chat/completions"
    sends_window = False
    longer = "load the model with a longer context (LM Studio: Context Length; llama.cpp: -c)"

    @cached_property
    def _refused(self) -> set[str]:
        return set()

    def data_of(self, line: bytes) -> bytes:
        name, _, value = line.partition(b":")
        if name == b"error":  # llama-server
            return b'{"error": %s}' % value
        return value.strip() if name == b"data" else b""

    def vectors(self, texts: list[str], seconds: float | None) -> list[Any]:
        body = {"model": self.endpoint.model, "input": texts}
        data = self.fetch("/embeddings", body, seconds)["data"]
        vectors: list[Any] = [None] * len(data)
        for position, item in enumerate(data):
            at = item.get("index", position)
            if not isinstance(at, int) or not 0 <= at < len(data) or vectors[at] is not None:
                raise BadVectors(f"gave vectors numbered so that {at!r} makes no sense")
            vectors[at] = item["embedding"]
        return vectors

    def chat_body(
        self, messages: ChatMessages, format: Format, think: bool, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        body = {
            "model": self.writer.name,
            "messages": [*messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **({} if think else _WITHOUT_REASONING),
            **options,
        }
        if longest := body.pop("num_predict", None):
            body["max_tokens"] = longest
        if isinstance(format, Mapping):
            schema = {"name": "reply", "schema": {**format}}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif format:
            body["response_format"] = {"type": "json_object"}
        return body

    def accepted(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        sent = {name: value for name, value in body.items() if name not in self._refused}
        if "max_tokens" in self._refused & {*body} and "max_completion_tokens" not in self._refused:
            sent["max_completion_tokens"] = body["max_tokens"]
        return sent

    def learns_from(self, refusal: Refusal, body: Mapping[str, Any]) -> bool:
        if refusal.is_for_length or refusal.is_for_model:
            return False
        present = [name for name in _OPTIONAL if name in self.accepted(body)]
        words, named = refusal.words.lower(), []
        if refusal.status in (400, 415, 422, 500, 501):
            named = [n for n in present if any(map(words.__contains__, (n, *_OPTIONAL[n])))]
        if refusal.status in (400, 415, 422) and "response_format" in present:
            named.append("response_format")  # which a server may mean though it names nothing
        self._refused.update(named[:1])
        return bool(named)

    def deltas(self, events: Events, response: Response) -> Deltas:
        # The end is told by `[DONE]` or by a `finish_reason`; counts come between, if at all.
        usage: Mapping[str, Any] = {}
        reason, is_done, is_empty = "", False, True
        for event in events:
            is_done = event is DONE
            usage = event.get("usage") or usage
            for choice in event.get("choices") or ():
                message = choice.get("delta") or choice.get("message") or {}
                thinking = message.get("reasoning_content") or message.get("reasoning") or ""
                delta = Delta(message.get("content") or "", thinking)
                is_empty = is_empty and not any(delta)
                yield delta
                reason = choice.get("finish_reason") or reason
        if not (reason or is_done):
            return
        if is_empty:
            raise NothingWritten
        response.finish_reason = "length" if reason in _CUT_SHORT else "stop"
        response.prompt_tokens = usage.get("prompt_tokens")
        response.tokens = usage.get("completion_tokens")

    def look(self, seconds: float) -> tuple[str, tuple[str, ...]]:
        with self.our_errors():
            return "", tuple(model.name for model in self._listed(seconds) or ())

    def describe_embedder(self, seconds: float) -> ModelInfo:
        name = self.endpoint.model
        limit = 0
        with suppress(*FAILURES):  # it makes vectors, and that is enough
            listed = [model for model in self._listed(seconds) or () if _is_called(model, name)]
            limit = self.context_of(listed[0] if listed else ModelInfo(name), seconds)
        with suppress(*FAILURES):  # Ollama's `/v1` cuts a longer text in silence
            if not limit:
                shown = self.fetch("/api/show", {"model": name}, seconds, self.endpoint.root)
                limit = number(shown.get("model_info") or {}, "context_length")
        return ModelInfo(name, context=limit)

    def find_writer(self, seconds: float) -> ModelInfo:
        wanted = self.endpoint.model
        with self.our_errors():
            listed = self._listed(seconds)
        if wanted == AUTO:
            if writer := next(filter(can_write, listed or ()), None):
                return writer
            message = f"{self.url} lists no model that writes answers"
            hint = "Load one there (LM Studio: Developer, Load model), or name it in chat.model."
            raise ModelMissingError(message, self.url, hint=hint)
        if listed is None:
            return ModelInfo(wanted)
        for model in listed:
            if _is_called(model, wanted):
                return ModelInfo(wanted, context=model.context)
        raise missing(self.endpoint, wanted, tuple(model.name for model in listed))

    def context_of(self, model: ModelInfo, seconds: float) -> int:
        if model.context:
            return model.context
        root = self.endpoint.root
        with suppress(*FAILURES):
            props = self.fetch("/props", None, seconds, root)
            settings = props.get("default_generation_settings") or {}
            # llama-server
            if context := _count(settings.get("n_ctx")) or _count(props.get("n_ctx")):
                return context
        with suppress(*FAILURES):
            for entry in self.fetch("/api/v0/models", None, seconds, root)["data"]:  # LM Studio
                if _is_called(_info(entry), model.name):
                    loaded = entry.get("loaded_context_length")
                    return _count(loaded or entry.get("max_context_length"))
        with suppress(*FAILURES):  # text-embeddings-inference
            return _count(self.fetch("/info", None, seconds, root).get("max_input_length"))
        return 0

    def _listed(self, seconds: float) -> list[ModelInfo] | None:
        """Return the models that the server lists; `None` where it lists none at all."""
        try:
            data = self.fetch("/models", seconds=seconds).get("data")
        except Refusal as refusal:
            if refusal.status in (404, 405, 501):  # text-embeddings-inference before 1.8
                return None
            raise
        if not isinstance(data, list):
            raise ValueError("expected a list of models")
        return [_info(model) for model in data if isinstance(model, dict) and model.get("id")]


def _info(entry: Mapping[str, Any]) -> ModelInfo:
    aliases = entry.get("aliases")
    names = tuple(map(str, aliases)) if isinstance(aliases, list) else ()
    context = next(filter(None, (_count(entry.get(key)) for key in _LENGTHS)), 0)
    return ModelInfo(str(entry["id"]), context=context, aliases=names)


def _is_called(model: ModelInfo, name: str) -> bool:
    return full_name(name) in map(full_name, (model.name, *model.aliases))


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


# -- connections -----------------------------------------------------------------------


Client: TypeAlias = OllamaClient | OpenAIClient


def connect(server: Endpoint, limits: OllamaConfig, read_timeout: float | None = None) -> Client:
    """Return a client of a server, as `HttpClient` describes it; nothing is asked yet."""
    kind = OllamaClient if server.api == OLLAMA else OpenAIClient
    return kind(server, limits, read_timeout)


def connect_writer(api: str, config: ModelsConfig, model: str = "") -> Client:
    """Return a client of the server that runs the chat model, the configured one or another.

    :raises ConfigError: when no server or model is configured, or the key cannot be sent.
    """
    [server] = endpoints(api, "chat", config, model)
    server.check()
    return connect(server, config.ollama)


def look_at(server: Endpoint, limits: OllamaConfig, seconds: float) -> ServerView:
    """Ask a server for its version and its models, though it may have said nothing a moment ago.

    :param seconds: longest duration of each of two requests.
    """
    view, started = ServerView(server.api, server.url), time.monotonic()
    forget(server)
    try:
        if server.is_off or not server.url:
            server.check()
        with closing(connect(server, limits, limits.query_timeout)) as client:
            view.version, view.models = client.look(seconds)
    except RAGError as error:
        view.error = error
    view.milliseconds = (time.monotonic() - started) * 1000
    return view
