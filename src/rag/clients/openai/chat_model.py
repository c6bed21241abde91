"""Answers of a chat model behind OpenAI's API: streamed, within a deadline, and never half in
silence.

The API has no `num_ctx`: a model reads what its server gives it. Most servers refuse a prompt that
is longer; Ollama cuts it, which only `Response.prompt_tokens` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from rag.clients.chat.answering import Answering, Delta, End, Failing, Pieces, sent_again
from rag.clients.openai.endpoint import chat_endpoint, check_endpoint
from rag.clients.openai.errors import NothingWritten, diagnose
from rag.clients.openai.http_client import DONE, OpenAIClient
from rag.clients.openai.served_models import Served, choose_chat, find_loaded_limit
from rag.clients.protocols import Response
from rag.clients.servers.trouble import Trouble
from rag.config import ModelsConfig
from rag.exceptions import RAGError, TooLongError

# What servers call an answer that lacks its end.
_CUT_SHORT = ("length", "max_tokens", "content_filter")
# A model reasons unless it is told not to: by the template of llama-server and vLLM, by Ollama.
_WITHOUT_REASONING = {
    "chat_template_kwargs": {"enable_thinking": False},
    "reasoning_effort": "none",
}
Format = str | Mapping[str, Any] | None


class ChatModel:
    """The configured chat model; keeps its connection from one answer to the next.

    :param model: another model of the same server; `auto` is the first that can chat.
    :param backoff: seconds before a request that failed is sent again; doubled with each.
    :raises ConfigError: when no server or model is configured, or the key cannot be sent.
    """

    def __init__(self, config: ModelsConfig, model: str = "", *, backoff: float = 0.5) -> None:
        endpoint = chat_endpoint(config, model)
        check_endpoint(endpoint)
        self.limits, self.backoff = config.ollama, backoff
        self.query_timeout = config.ollama.query_timeout
        self.client = OpenAIClient(endpoint, config.ollama)
        self._served: Served | None = None
        self._window = 0

    @property
    def served(self) -> Served:
        """What the server says of the model; it is asked once.

        :raises RAGError: when it cannot be asked, or does not have it.
        """
        if self._served is None:
            wanted, seconds = self.client.endpoint.model, self.limits.query_timeout
            self._served = choose_chat(self.client, wanted, seconds)
        return self._served

    @property
    def name(self) -> str:
        """The name of the model that is asked, as `served` has it."""
        return self.served.name

    @property
    def window(self) -> int:
        """The tokens of prompt and answer together: what the model reads, up to the cap of the
        settings, which holds where the server does not tell.

        :raises RAGError: when the server cannot be asked, or does not have the model.
        """
        if not self._window:
            seconds = self.limits.query_timeout
            told = self.served.limit or find_loaded_limit(self.client, self.served.name, seconds)
            self._window = min(told or self.limits.max_context, self.limits.max_context)
        return self._window

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        format: Format = None,
        think: bool = False,
        options: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> Answering:
        """Return the answer to messages, to iterate over.

        What fails before its first word is sent again, as configured; what fails later is not.

        :param messages: of `role` and `content`.
        :param format: `json`, or the JSON schema that the answer must fit; a server that does not
            know how to keep to it is asked without.
        :param think: let the model reason first.
        :param options: such as `temperature`; `num_predict` is the longest answer, in tokens.
        :param seconds: longest duration of the whole; without it `ollama.request_timeout`.
        :param tools: what the model may call.
        :raises TooLongError: while iterating, when the server refuses the prompt for its length.
        :raises UnfinishedError: while iterating, with the text so far.
        :raises RAGError: while iterating, and when the server does not have the model.
        """
        options = dict(options or {})
        longest = options.pop("num_predict", None)
        body: dict[str, Any] = {
            "model": self.served.name,
            "messages": list(messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            **({} if think else _WITHOUT_REASONING),
            **options,
        }
        said = (
            ("max_tokens", longest),
            ("response_format", _response_format(format)),
            ("tools", tools),
        )
        body |= {key: value for key, value in said if value}
        limit, failing = seconds or self.limits.request_timeout, self._failing()

        def pieces() -> Pieces:
            events = sent_again(
                lambda left: self.client.stream("/chat/completions", body, left),
                *(failing, limit, self.limits.retries, self.backoff),
            )
            with closing(events):
                yield from _pieces(events)

        response = Response(model=self.served.name, server=self.client.url)
        return Answering(pieces, response, failing)

    def respond(self, messages: Sequence[Mapping[str, Any]], **arguments: Any) -> Response:
        """Return the whole answer; the arguments and errors are those of `stream`."""
        answering = self.stream(messages, **arguments)
        for _ in answering:
            pass
        return answering.response

    def _failing(self) -> Failing:
        return Failing(
            self.client.failures,
            self._explain,
            self._too_long,
            "Ask again; see the log of the server if it happens again.",
        )

    def _explain(self, error: Exception) -> Trouble:
        """Explain what failed, by the name of the model that was asked: `auto` is none."""
        return diagnose(error, self.client.endpoint, self._served.name if self._served else "")

    def _too_long(self, error: RAGError) -> TooLongError:
        return TooLongError(
            f"the prompt is longer than {self.served.name} at {self.client.url} reads",
            self.client.url,
            details=error.details,
            hint="Lower ask.top_k, or load the model with a longer context (LM Studio: Context "
            "Length; llama.cpp: -c).",
        )

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def _response_format(format: Format) -> dict[str, Any] | None:
    if not format:
        return None
    if isinstance(format, str):
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(format)}}


def _pieces(events: Iterable[Mapping[str, Any]]) -> Pieces:
    """Yield the events of a stream as pieces of an answer.

    Its end is told by `[DONE]` or by a `finish_reason`; counts come between the two, if at all.

    :raises NothingWritten: at the end of an answer without a word.
    """
    usage: Mapping[str, Any] = {}
    reason, done, is_empty = "", False, True
    for event in events:
        done = event is DONE
        usage = event.get("usage") or usage
        for choice in event.get("choices") or ():
            said = choice.get("delta") or choice.get("message") or {}
            thinking = said.get("reasoning_content") or said.get("reasoning") or ""
            delta = Delta(said.get("content") or "", thinking, tuple(said.get("tool_calls") or ()))
            is_empty = is_empty and not any(delta)
            yield delta
            reason = choice.get("finish_reason") or reason
    if (reason or done) and is_empty:
        raise NothingWritten
    if reason or done:
        finish = "length" if reason in _CUT_SHORT else "stop"
        yield End(finish, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    found = usage.get(name)
    return found if isinstance(found, int) else None
