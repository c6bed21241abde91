"""Ollama's API: how requests and replies look, and its models."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag.clients.http_client import Delta, End, HttpClient, Pieces
from rag.clients.models import can_write, full_name
from rag.clients.protocols import ModelInfo
from rag.config import AUTO
from rag.exceptions import ConnectionError, ModelError, ModelMissingError


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
