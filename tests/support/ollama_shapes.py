"""The JSON of Ollama's answers: errors, models, the lines of a reply, times and durations."""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ollama_models import Model, full_name
from ollama_replies import Reply

Json = dict[str, Any]
JSON, NDJSON = "application/json; charset=utf-8", "application/x-ndjson"
MODIFIED = "2025-05-10T08:06:48.639712648-07:00"


@dataclass
class Answer:
    """What is sent back: `body` as JSON, or `lines` as a stream of NDJSON; texts as they are."""

    body: Any = None
    status: int = 200
    lines: Iterable[Json | str] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = JSON
    num_ctx: int = 0
    delay: float = 0.0  # seconds before anything is sent
    gap: float = 0.0  # seconds between two lines
    cut: str = ""  # how the connection ends too early: "reset" or "hangup"
    cut_after: int | None = None  # after how many lines; None: before anything is sent


class ApiError(Exception):
    """An error answer, `{"error": message}`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.answer = Answer({"error": message}, status)


class Speech:
    """The lines of one answer of /api/chat."""

    def __init__(self, model: str, started: int) -> None:
        self.model, self.started = model, started

    def lines(self, thoughts: list[str], parts: list[str], counts: Json) -> Iterator[Json]:
        """Yield thinking, text, and the end."""
        for thought in thoughts:
            yield self._line(Reply(thinking=thought))
        for part in parts:
            yield self._line(Reply(part))
        yield self.done(Reply(), counts)

    def done(self, reply: Reply, counts: Json) -> Json:
        """Return the last line, or the only one."""
        return self._line(reply) | {"done": True} | counts | durations(self.started)

    def _line(self, reply: Reply) -> Json:
        more: Json = {"thinking": reply.thinking} if reply.thinking else {}
        message = {"role": "assistant", "content": reply.text, **more}
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return {"model": self.model, "created_at": now, "message": message, "done": False}


def entry(model: Model) -> Json:
    """Return a model as /api/tags lists it."""
    name = full_name(model.name)
    about = {"name": name, "model": name, "size": model.size, "digest": model.digest}
    return about | {"details": details(model)}


def details(model: Model) -> Json:
    """Return a model's `details`."""
    about = {"parent_model": "", "format": "gguf", "family": model.family}
    about |= {"families": [model.family]}
    return about | {"parameter_size": "137M", "quantization_level": "F16"}


def stream_of(lines: Iterable[Json]) -> Answer:
    """Return the answer that streams `lines`."""
    return Answer(lines=lines, content_type=NDJSON)


def durations(started: int) -> Json:
    """Return how long it took since `started`, in nanoseconds."""
    taken = max(time.monotonic_ns() - started, 2)
    return {"total_duration": taken, "load_duration": max(taken // 2, 1)}


def check_duration(keep_alive: Any) -> None:
    """Refuse a text that Go reads no duration in, which has a unit: `10m`, `1h30m`."""
    if isinstance(keep_alive, str) and not re.fullmatch(
        r"0|-?(\d+(\.\d+)?(h|ms|m|s))+", keep_alive
    ):
        raise ApiError(400, f'time: invalid duration "{keep_alive}"')
