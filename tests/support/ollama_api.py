"""Ollama's API without the sockets: a request's JSON in, an `Answer` out.

Shapes and messages are those of docs/api.md, docs/api/errors.mdx, api/types.go, server/routes.go
and llm/llama_server.go of github.com/ollama/ollama at v0.33.0-rc2, where they are read by the
Python client ollama 0.6.3. Where versions differ it says so; what only new ones send is left out.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

import ollama_models
from ollama_models import Model, full_name, pieces, unit
from ollama_replies import Reply, Says, Script, as_reply, default_reply
from ollama_shapes import (
    MODIFIED,
    Answer,
    ApiError,
    Json,
    Speech,
    check_duration,
    details,
    durations,
    entry,
    stream_of,
)

INPUT_TOO_LONG = "the input length exceeds the context length"
PROMPT_TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the "
    "prompt, adjust the context length in settings, or use a model with a longer context length"
)
_SPECIAL_TOKENS = 2  # [CLS] and [SEP] of each embedded text
_TOKENS_PER_MESSAGE = 4  # what a chat template adds


class Api:
    """The state of an Ollama server and what it answers.

    :param overflow: what happens to a prompt longer than `num_ctx`: `shift` cuts it to about
        half of `num_ctx` (v0.30 and later), `cut` to `num_ctx` (before), `error` answers 400
        (models that cannot shift).
    :param refuses: whether a request may forbid that with `truncate` or `shift`, of which old
        versions know nothing.
    :param counts_cached: whether `prompt_eval_count` is that of the whole prompt. That of old
        versions leaves out what the last prompt began with too, and is itself left out where that
        is all of it.
    :param default_num_ctx: 4,096 on machines with less than 24 GB of video memory.
    """

    def __init__(
        self,
        models: Iterable[Model],
        *,
        version: str = "0.33.0",
        overflow: str = "shift",
        refuses: bool = True,
        counts_cached: bool = True,
        default_num_ctx: int = 4096,
    ) -> None:
        self.models = {model.name: model for model in models}
        self.version, self.overflow, self.default_num_ctx = version, overflow, default_num_ctx
        self.refuses, self.counts_cached = refuses, counts_cached
        self.queue: deque[Says | Script] = deque()
        self.answer: Script | None = None
        self.lock = threading.Lock()
        self.computed: list[str] = []
        self._cached: list[str] = []
        self._routes = {
            "/": ("GET", lambda *_: Answer("Ollama is running", content_type="text/plain")),
            "/api/version": ("GET", lambda *_: Answer({"version": self.version})),
            "/api/tags": ("GET", self._tags),
            "/api/show": ("POST", self._show),
            "/api/embed": ("POST", self._embed),
            "/api/chat": ("POST", self._chat),
        }

    def respond(self, method: str, path: str, body: Any, *, consume: bool = True) -> Answer:
        """Answer one request.

        :param body: the parsed JSON; `None` without a body, an exception when it is not JSON.
        :param consume: take the scripted reply from the queue; else leave it for a retry.
        """
        if path not in self._routes:
            return Answer("404 page not found", 404, content_type="text/plain")
        allowed, handler = self._routes[path]
        if method != allowed and (method, allowed) != ("HEAD", "GET"):
            return Answer("405 method not allowed", 405, content_type="text/plain")
        try:
            if allowed == "POST" and body is None:
                raise ApiError(400, "missing request body")
            if isinstance(body, ValueError):
                raise ApiError(400, f"invalid character: {body}")
            if not isinstance(body or {}, dict):
                raise ApiError(400, "json: cannot unmarshal the body into a Go value")
            return handler(body or {}, consume)
        except ApiError as error:
            return error.answer

    def _tags(self, *_: Any) -> Answer:
        """docs/api.md, List Local Models; the capabilities that new versions add are left out."""
        with self.lock:
            models = list(self.models.values())
        return Answer({"models": [entry(m) | {"modified_at": MODIFIED} for m in models]})

    def _show(self, body: Json, _: bool) -> Answer:
        """docs/api.md, Show Model Information; ShowHandler names an unknown model with its tag."""
        name = body.get("model") or body.get("name")
        if not name:
            raise ApiError(400, "model is required")
        model = self._model(name, f"model '{full_name(name)}' not found")
        info = {
            "general.architecture": model.family,
            "general.parameter_count": model.size // 2,
            f"{model.family}.context_length": model.context,
            f"{model.family}.embedding_length": model.dimension,
            "tokenizer.ggml.tokens": [],
        }
        shown = {
            "modelfile": f'# Modelfile generated by "ollama show"\nFROM {model.name}\n',
            "parameters": "\n".join(f"{k:<30} {v}" for k, v in model.parameters.items()),
            "template": "{{ .Prompt }}",
            "details": details(model),
            "model_info": info,
            "capabilities": list(model.capabilities),
            "modified_at": MODIFIED,
        }
        return Answer({key: value for key, value in shown.items() if value != ""})

    def _embed(self, body: Json, _: bool) -> Answer:
        """docs/api.md, Generate Embeddings; EmbedHandler fails the whole batch for one input,
        after it has computed the others."""
        started = time.monotonic_ns()
        inputs = body.get("input") or []
        texts = [inputs] if isinstance(inputs, str) else inputs
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ApiError(400, "invalid input type")
        name = body.get("model", "")
        model = self._model(name, f'model "{name}" not found, try pulling it first')
        num_ctx = self._load(model, body)
        if not texts:
            return Answer({"model": name, "embeddings": []})
        if not model.can("embedding"):
            raise ApiError(501, "this model does not support embeddings")
        limit = num_ctx - _SPECIAL_TOKENS
        if limit <= 0:
            raise ApiError(400, "input after truncation exceeds maximum context length")
        total, vectors, refused = 0, [], False
        for text in texts:
            tokens = pieces(text)
            if len(tokens) > limit and body.get("truncate") is False:
                refused = True  # it is said when the others are done
                continue
            with self.lock:
                self.computed.append(text)
            total += min(len(tokens), limit) + _SPECIAL_TOKENS
            vector = model.vector("".join(tokens[:limit]))
            wanted = body.get("dimensions") or 0
            vectors.append(unit(vector[:wanted]) if 0 < wanted < len(vector) else vector)
        if refused:
            raise ApiError(400, INPUT_TOO_LONG)
        done = {"model": name, "embeddings": vectors, "prompt_eval_count": total}
        return Answer(done | durations(started), num_ctx=num_ctx)

    def _chat(self, body: Json, consume: bool) -> Answer:
        """docs/api.md, Generate a chat completion."""
        messages = body.get("messages") or []
        started = time.monotonic_ns()
        name = body.get("model", "")
        if not name:
            raise ApiError(400, "model is required")
        model = self._model(name, f"model '{name}' not found")
        think = self._check(model, name, body)
        num_ctx = self._load(model, body)
        speak = Speech(name, started)
        if not messages:
            return Answer(speak.done(Reply(), {"done_reason": "load"}))
        prompt, prompt_tokens = self._fit(messages, body, num_ctx)
        reply = self._reply(body, prompt, messages[-1].get("content") or "", consume)
        thoughts = pieces(reply.thinking) if think else []
        parts, reason = reply.parts(), reply.done_reason
        limit = (body.get("options") or {}).get("num_predict") or -1
        if 0 < limit < len(parts):
            parts, reason = parts[:limit], "length"
        counts: Json = {
            "done_reason": reason,
            **self._prompt_count(prompt, prompt_tokens),
            "eval_count": len(thoughts) + len(parts) + len(reply.tool_calls),
        }
        if body.get("stream", True):
            answer = stream_of(speak.lines(thoughts, parts, reply.tool_calls, counts))
        else:
            whole = Reply("".join(parts), "".join(thoughts), reply.tool_calls)
            answer = Answer(speak.done(whole, counts))
        answer.num_ctx = num_ctx
        return answer

    def _check(self, model: Model, name: str, body: Json) -> bool:
        """Refuse what the model cannot do; say whether it thinks (unasked, when it can)."""
        if not model.can("completion"):
            raise ApiError(400, f'"{name}" does not support chat')
        if body.get("tools") and not model.can("tools"):
            full = f"registry.ollama.ai/library/{full_name(name)}"
            raise ApiError(400, f"{full} does not support tools")
        if body.get("think") and not model.can("thinking"):
            raise ApiError(400, f'"{name}" does not support thinking')
        form = body.get("format")
        if form and form != "json" and not isinstance(form, Mapping):
            expected = 'expected "json" or a valid JSON Schema object'
            raise ApiError(500, f"invalid format: {json.dumps(json.dumps(form))}; {expected}")
        think = body.get("think")
        return model.can("thinking") and (think is None or bool(think))

    def _fit(self, messages: list[Json], body: Json, num_ctx: int) -> tuple[str, int]:
        """Cut the prompt as prompt.go and llama_server.go do: old messages, then its middle."""
        tools = json.dumps(body["tools"]) + "\n" if body.get("tools") else ""
        forbids = self.refuses and False in (body.get("truncate"), body.get("shift"))
        for first in range(1 if forbids else len(messages)):
            kept = [m for m in messages[:first] if m["role"] == "system"] + messages[first:]
            said = (f"{m['role']}\n{m.get('content') or ''}\n" for m in kept)
            prompt = tools + "".join(said)
            tokens = pieces(prompt)
            total = len(tokens) + _TOKENS_PER_MESSAGE * len(kept)
            if total < num_ctx:
                return prompt, total
        if self.overflow == "error" or forbids:
            raise ApiError(400, PROMPT_TOO_LONG)
        keep = min((body.get("options") or {}).get("num_keep", 4), num_ctx - 1)
        limit = num_ctx
        if self.overflow == "shift":
            limit -= max((num_ctx - keep) // 2, 1)
        return "".join(tokens[:keep] + tokens[len(tokens) - (limit - keep) :]), limit

    def _prompt_count(self, prompt: str, total: int) -> Json:
        """Count the tokens of a prompt as this version does, and cache it."""
        tokens = pieces(prompt)
        with self.lock:
            last, self._cached = self._cached, tokens
        if not self.counts_cached:
            same = (one == other for one, other in zip(tokens, last, strict=False))
            total -= sum(1 for _ in takewhile(bool, same))
            if tokens == last:
                return {}
        return {"prompt_eval_count": total}

    def _reply(self, body: Json, prompt: str, last: str, consume: bool) -> Reply:
        with self.lock:
            says: Says | Script | None = self.answer
            if self.queue:
                says = self.queue.popleft() if consume else self.queue[0]
        if callable(says):
            says = says(body)
        return default_reply(body, prompt, last) if says is None else as_reply(says)

    def _model(self, name: str, missing: str) -> Model:
        with self.lock:
            model = ollama_models.find(self.models, name)
        if model is None:
            raise ApiError(404, missing)
        return model

    def _load(self, model: Model, body: Json) -> int:
        """Return the context length that the model is loaded with."""
        check_duration(body.get("keep_alive"))
        options = {**model.parameters, **(body.get("options") or {})}
        return max(4, min(options.get("num_ctx") or self.default_num_ctx, model.context))
