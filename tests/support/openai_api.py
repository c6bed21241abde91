"""OpenAI's API without the sockets, as servers of models speak it: JSON in, an `Answer` out.

Shapes and messages are those of llama.cpp's llama-server (tools/server/README.md, server.cpp),
vLLM, LM Studio, text-embeddings-inference and Ollama's /v1, of which each test names the trait that
it is about.
"""

import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import ollama_models
from ollama_models import Model, pieces
from ollama_replies import Reply, Says, Script, as_reply, default_reply
from ollama_shapes import JSON, Answer, Json

_SPECIAL_TOKENS = 2
_TOKENS_PER_MESSAGE = 4


class OpenAIError(Exception):
    """An error answer, in the form of llama-server."""

    def __init__(self, status: int, message: str, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        error = {"code": status, "message": message, "type": kind}
        self.answer = Answer({"error": error}, status)


class OpenAIApi:
    """The state of a server and what it answers.

    :param key: what requests must bring; empty for none.
    :param overflow: what happens to what is longer than the model reads: `error`, or `cut`.
    :param order: in which it lists the vectors: `given` or `backwards`.
    :param tells: how it tells the length of a context: `props`, `max_model_len`, `info`,
        `loaded` (as LM Studio does) or `show` (as Ollama does) beside its `/v1`, or not.
    :param refuses: fields that it does not know, and refuses.
    """

    def __init__(
        self,
        models: Iterable[Model],
        *,
        key: str = "",
        overflow: str = "error",
        order: str = "given",
        tells: str = "props",
        refuses: Iterable[str] = (),
    ) -> None:
        self.models = {model.name: model for model in models}
        self.key, self.overflow = key, overflow
        self.order, self.tells, self.refuses = order, tells, set(refuses)
        self.queue: deque[Says | Script] = deque()
        self.answer: Script | None = None
        self.breaks = ""  # the error that a stream ends with, after its first piece
        self.lock = threading.Lock()
        self.computed: list[str] = []

    def respond(
        self, method: str, path: str, body: Any, *, consume: bool = True, key: str = ""
    ) -> Answer:
        """Answer one request.

        :param key: what its header `Authorization` says behind `Bearer`.
        """
        routes = {
            ("GET", "/v1/models"): self._models,
            ("GET", "/props"): self._props,
            ("GET", "/info"): self._info,
            ("GET", "/api/v0/models"): self._loaded,
            ("POST", "/api/show"): self._show,
            ("POST", "/v1/embeddings"): self._embeddings,
            ("POST", "/v1/chat/completions"): self._chat,
        }
        try:
            if self.key and key != self.key:
                raise OpenAIError(401, f"Invalid API key: {key or 'none'}", "authentication_error")
            if (method, path) not in routes:
                raise OpenAIError(404, "File Not Found", "not_found_error")
            if method == "POST" and not isinstance(body, dict):
                raise OpenAIError(400, "the body is no JSON object")
            for field in sorted(self.refuses & {*(body or {})}):
                raise OpenAIError(400, f"Unrecognized request argument supplied: {field}")
            return routes[method, path](body or {}, consume)
        except OpenAIError as error:
            return error.answer

    def _models(self, _: Json, __: bool) -> Answer:
        with self.lock:
            models = [*self.models.values()]
        data = [{"id": model.name, "object": "model", "owned_by": "me"} for model in models]
        if self.tells == "max_model_len":
            data = [d | {"max_model_len": m.context} for d, m in zip(data, models, strict=True)]
        return Answer({"object": "list", "data": data})

    def _props(self, _: Json, __: bool) -> Answer:
        if self.tells != "props":
            raise OpenAIError(404, "File Not Found", "not_found_error")
        context = next(iter(self.models.values())).context
        return Answer({"default_generation_settings": {"n_ctx": context}, "total_slots": 1})

    def _info(self, _: Json, __: bool) -> Answer:
        if self.tells != "info":
            raise OpenAIError(404, "File Not Found", "not_found_error")
        return Answer({"max_input_length": next(iter(self.models.values())).context})

    def _loaded(self, _: Json, __: bool) -> Answer:
        if self.tells != "loaded":
            return Answer({"error": "Unexpected endpoint or method. (GET /api/v0/models)"})
        lengths = {"state": "loaded", "max_context_length": 131072}
        return Answer(
            {
                "data": [
                    {"id": name, **lengths, "loaded_context_length": model.context}
                    for name, model in self.models.items()
                ]
            }
        )

    def _show(self, body: Json, _: bool) -> Answer:
        if self.tells != "show":
            raise OpenAIError(404, "File Not Found", "not_found_error")
        return Answer({"model_info": {"bert.context_length": self._model(body).context}})

    def _embeddings(self, body: Json, _: bool) -> Answer:
        model = self._model(body)
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        if not model.can("embedding"):
            raise OpenAIError(501, "This server does not support embeddings", "not_supported")
        limit, total, vectors = model.context - _SPECIAL_TOKENS, 0, []
        for text in texts:
            tokens = pieces(text)
            if len(tokens) > limit and self.overflow == "error":
                said = f"input ({len(tokens)} tokens) is larger than the max context size"
                raise OpenAIError(400, said, "exceed_context_size_error")
            with self.lock:
                self.computed.append(text)
            total += min(len(tokens), limit) + _SPECIAL_TOKENS
            vectors.append(model.vector("".join(tokens[:limit])))
        data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        answer = {"object": "list", "model": body["model"]}
        answer["data"] = data[::-1] if self.order == "backwards" else data
        answer["usage"] = {"prompt_tokens": total, "total_tokens": total}
        return Answer(answer)

    def _chat(self, body: Json, consume: bool) -> Answer:
        model = self._model(body)
        if not model.can("completion"):
            raise OpenAIError(400, f"{model.name} does not support chat")
        messages = body["messages"]
        prompt = "".join(f"{m['role']}\n{m.get('content') or ''}\n" for m in messages)
        tokens = pieces(prompt)
        total = len(tokens) + _TOKENS_PER_MESSAGE * len(messages)
        if total > model.context:
            if self.overflow == "error":
                said = f"the request exceeds the available context size ({model.context} tokens)"
                raise OpenAIError(400, said, "exceed_context_size_error")
            total, prompt = model.context, "".join(tokens[-model.context :])
        reply = self._reply(body, prompt, messages[-1].get("content") or "", consume)
        parts, reason = reply.parts(), reply.done_reason
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        if 0 < limit < len(parts):
            parts, reason = parts[:limit], "length"
        written = len(parts) + len(pieces(reply.thinking))
        usage = {"prompt_tokens": total, "completion_tokens": written}
        usage["total_tokens"] = total + written
        if body.get("stream"):
            wanted = (body.get("stream_options") or {}).get("include_usage")
            events = _events(model.name, reply, parts, reason, usage if wanted else None)
            if self.breaks:
                error = {"code": 500, "message": self.breaks, "type": "server_error"}
                events = chain(islice(events, 2), [_event({"error": error})])
            return Answer(lines=events, content_type="text/event-stream", num_ctx=model.context)
        message = {"role": "assistant", "content": "".join(parts)}
        answer = {"object": "chat.completion", "model": model.name}
        answer["choices"] = [{"index": 0, "message": message, "finish_reason": reason}]
        return Answer(answer | {"usage": usage}, content_type=JSON)

    def _reply(self, body: Json, prompt: str, last: str, consume: bool) -> Reply:
        with self.lock:
            says: Says | Script | None = self.answer
            if self.queue:
                says = self.queue.popleft() if consume else self.queue[0]
        if callable(says):
            says = says(body)
        form = body.get("response_format") or {}
        schema = (form.get("json_schema") or {}).get("schema")
        asked = body | {"format": schema or ("json" if form else None)}
        return default_reply(asked, prompt, last) if says is None else as_reply(says)

    def _model(self, body: Json) -> Model:
        with self.lock:
            model = ollama_models.find(self.models, str(body.get("model") or ""))
        if model is None:
            said = f"The model `{body.get('model')}` does not exist."
            raise OpenAIError(404, said, "NotFoundError")
        return model


def _events(
    model: str, reply: Reply, parts: list[str], reason: str, usage: Json | None
) -> Iterator[str]:
    """Yield the events of a stream: reasoning, text, the reason of the end, counts."""

    def event(delta: Json, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({"object": "chat.completion.chunk", "model": model, "choices": [choice]})

    yield event({"role": "assistant", "content": None})
    yield from (event({"reasoning_content": thought}) for thought in pieces(reply.thinking))
    yield from (event({"content": part}) for part in parts)
    yield event({}, reason)
    if usage:
        yield _event({"object": "chat.completion.chunk", "choices": [], "usage": usage})
    yield "data: [DONE]\n"


def _event(content: Json) -> str:
    return f"data: {json.dumps(content, ensure_ascii=False)}\n"
