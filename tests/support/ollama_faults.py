"""What can go wrong between a client and Ollama, each fault by its name."""

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ollama_api import INPUT_TOO_LONG, PROMPT_TOO_LONG
from ollama_shapes import JSON, Answer, Json

# What the real server says with these states (sched.go, llama_server.go).
MESSAGES = {
    429: "too many requests",
    500: "model runner has unexpectedly stopped, this may be due to resource limitations or an "
    "internal error, check ollama server logs for details",
    503: "server busy, please try again.  maximum pending requests exceeded",
}
_ANY_STATUS = ("status", "missing", "overflow", "slow", "html", "drop", "reset")
DEEP = "[" * 100_000
_PAGE = "<!doctype html><html><title>Sign in</title><body>Please sign in.</body></html>"


@dataclass(eq=False)
class Fault:
    """One fault; `used` counts the requests it met.

    :param path: the path it waits for; `*` for all.
    :param kind: one of `KINDS`.
    :param times: how many requests it meets; `None` for all of them.
    :param after: how many matching requests pass before the first.
    :param when: only requests for which this is true count as matching.
    :param seconds: how long `slow` waits (before), and `slow_stream` and `endless` (between).
    :param lines: after how many lines of a stream it strikes.
    :param size: how many bytes `huge` sends; the length of the vectors of `dimension`.
    """

    path: str
    kind: str = "status"
    times: int | None = 1
    after: int = 0
    when: Callable[[Any], bool] | None = None
    status: int = 500
    error: str | None = None
    retry_after: int | None = None
    location: str = ""
    seconds: float = 0.02
    lines: int = 2
    size: int | None = None
    used: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no such fault: {self.kind!r}; there are {', '.join(KINDS)}")

    @property
    def spoils(self) -> bool:
        """Whether the client cannot use the answer, and so may ask again."""
        return self.kind not in ("slow", "slow_stream", "counts")

    def apply(self, answer: Answer, request: Any) -> None:
        """Turn the right answer into the wrong one; errors stay as they are, unless replaced."""
        if answer.status == 200 or self.kind in _ANY_STATUS:
            KINDS[self.kind](self, answer, request)


class FaultBook:
    """The faults that are set; the first that matches a request meets it, and no other."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        """Set a fault."""
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._faults.clear()

    def take(self, request: Any) -> Fault | None:
        """Return the fault that meets this request."""
        with self._lock:
            for fault in self._faults:
                spent = fault.times is not None and fault.used >= fault.times
                if spent or fault.path not in ("*", request.path):
                    continue
                if fault.when and not fault.when(request):
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.used += 1
                return fault
        return None


def _refuse(answer: Answer, status: int, message: str) -> None:
    answer.body, answer.status, answer.lines = {"error": message}, status, None
    answer.content_type = JSON


def _status(fault: Fault, answer: Answer, _: Any) -> None:
    _refuse(answer, fault.status, fault.error or MESSAGES.get(fault.status, "it failed"))
    if fault.retry_after is not None:
        answer.headers["Retry-After"] = str(fault.retry_after)
    if fault.location:
        answer.headers["Location"] = fault.location


def _missing(_: Fault, answer: Answer, request: Any) -> None:
    name = request.json.get("model", "")
    pull = f'model "{name}" not found, try pulling it first'
    _refuse(answer, 404, pull if request.path == "/api/embed" else f"model '{name}' not found")


def _overflow(_: Fault, answer: Answer, request: Any) -> None:
    _refuse(answer, 400, INPUT_TOO_LONG if request.path == "/api/embed" else PROMPT_TOO_LONG)


def _slow(fault: Fault, answer: Answer, _: Any) -> None:
    answer.delay = fault.seconds


def _slow_stream(fault: Fault, answer: Answer, _: Any) -> None:
    answer.gap = fault.seconds


def _error_line(fault: Fault, answer: Answer, _: Any) -> None:
    message = fault.error or "an error was encountered while running the model"
    if answer.lines is None:
        _refuse(answer, 500, message)
    else:
        answer.lines = itertools.chain(_first(answer.lines, fault.lines), [{"error": message}])


def _unfinished(fault: Fault, answer: Answer, _: Any) -> None:
    if answer.lines is None:
        answer.body["done"] = False
    else:
        answer.lines = _first(answer.lines, fault.lines)


def _garbage(fault: Fault, answer: Answer, _: Any) -> None:
    if answer.lines is None:
        answer.body = "\x1f\x8b} not JSON {"
    else:
        answer.lines = itertools.chain(_first(answer.lines, fault.lines), ["} not JSON {"])


def _deep(fault: Fault, answer: Answer, _: Any) -> None:
    if answer.lines is None:
        answer.body = DEEP
    else:
        answer.lines = itertools.chain(_first(answer.lines, fault.lines), [DEEP])


def _deep_error(fault: Fault, answer: Answer, _: Any) -> None:
    answer.body, answer.status, answer.lines = DEEP, fault.status, None
    answer.content_type = JSON


def _html(_: Fault, answer: Answer, __: Any) -> None:
    answer.body, answer.lines, answer.content_type = _PAGE, None, "text/html; charset=utf-8"


def _ends(how: str, where: str) -> Callable[[Fault, Answer, Any], None]:
    def end(fault: Fault, answer: Answer, _: Any) -> None:
        answer.cut = how
        answer.cut_after = fault.lines if where == "middle" else None

    return end


def _endless(fault: Fault, answer: Answer, _: Any) -> None:
    if answer.lines is None:
        answer.delay = float("inf")
    else:
        answer.gap, answer.lines = fault.seconds, itertools.repeat(next(iter(answer.lines)))


def _huge(fault: Fault, answer: Answer, _: Any) -> None:
    size = fault.size or 5_000_000
    if answer.lines is None:
        _say(answer.body, "word " * (size // 5))
        return
    *lines, last = answer.lines
    line = _say(lines[0], "word " * 1000)
    answer.lines = itertools.chain(itertools.repeat(line, size // 5000), [last])


def _say(line: Json, text: str) -> Json:
    key = "response" if "response" in line else "content"
    line.get("message", line)[key] = text
    return line


def _counts(_: Fault, answer: Answer, __: Any) -> None:
    def full(line: Any) -> Any:
        counted = "prompt_eval_count" in line
        return line | {"prompt_eval_count": answer.num_ctx} if counted else line

    if answer.lines is None:
        answer.body = full(answer.body)
    else:
        answer.lines = map(full, answer.lines)


def _vectors(change: Callable[[Fault, list[Any]], list[Any]]) -> Callable[..., None]:
    def changed(fault: Fault, answer: Answer, _: Any) -> None:
        answer.body["embeddings"] = change(fault, answer.body["embeddings"])

    return changed


def _last_number(value: float | None) -> Callable[..., None]:
    return _vectors(lambda _, all_: [*all_[:-1], [*all_[-1][:-1], value]])


def _first(lines: Iterable[Any], count: int) -> Iterator[Any]:
    """The first lines of a stream, and never its last."""
    kept = list(lines)
    yield from kept[: min(count, len(kept) - 1)]


KINDS: dict[str, Callable[[Fault, Answer, Any], None]] = {
    "status": _status,  # an error answer with `status`
    "missing": _missing,  # 404, the model is not there
    "overflow": _overflow,  # 400, the input is too long
    "slow": _slow,  # the right answer, late
    "slow_stream": _slow_stream,  # the right lines, one after the other
    "endless": _endless,  # a stream without an end; an answer that never comes
    "huge": _huge,  # megabytes of answer
    "error_line": _error_line,  # {"error": …} in the stream; 500 where nothing streams
    "unfinished": _unfinished,  # the stream ends as it should, but without a last line
    "garbage": _garbage,  # not JSON, though the header says so
    "deep": _deep,  # brackets without end, which Python's own parser fails at
    "deep_error": _deep_error,  # an error answer with `status`, and brackets for its message
    "html": _html,  # 200 and the page of some other program
    "drop": _ends("hangup", "start"),  # closed before any answer
    "reset": _ends("reset", "start"),  # reset before any answer
    "hangup": _ends("hangup", "middle"),  # closed in the middle of the body or stream
    "cut": _ends("reset", "middle"),  # reset in the middle of the body or stream
    "counts": _counts,  # prompt_eval_count is num_ctx: the prompt filled it
    # Vectors of another length; NaN, infinity or null as the last number; all zeros.
    "dimension": _vectors(lambda f, v: [[1.0] + [0.0] * ((f.size or 7) - 1) for _ in v]),
    "nan": _last_number(float("nan")),
    "inf": _last_number(float("inf")),
    "null": _last_number(None),
    "zero": _vectors(lambda _, v: [[0.0] * len(vector) for vector in v]),
    "fewer": _vectors(lambda _, v: v[:-1]),  # one vector less than inputs
    "none": _vectors(lambda _, v: []),  # no vector at all
}
