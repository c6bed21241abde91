"""The chat model as a Haystack component: Haystack's own, over our own transport.

Left to itself that one also leaves out the reasoning, follows redirections with the key, and reads
OPENAI_* of the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any

from haystack import component
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.generators.chat.openai import (
    _convert_chat_completion_chunk_to_streaming_chunk,
)
from haystack.components.generators.utils import _convert_streaming_chunks_to_chat_message
from haystack.dataclasses import (
    ChatMessage,
    ComponentInfo,
    ReasoningContent,
    StreamingCallbackT,
    StreamingChunk,
    SyncStreamingCallbackT,
)
from haystack.tools import ToolsType
from haystack.utils import Secret
from openai.types.chat import ChatCompletionChunk

from rag.clients.chat.answering import Answering, Call, Delta, End, Failing, Pieces, sent_again
from rag.clients.chat.generator import CALL, AnswerGeneratorBase, ChatGenerator
from rag.clients.openai.endpoint import chat_endpoint, check_endpoint
from rag.clients.openai.http_client import DONE, NothingWritten, OpenAIClient, diagnose
from rag.clients.openai.served_models import Served, choose_chat, find_loaded_limit
from rag.clients.protocols import Response
from rag.clients.servers.trouble import Trouble
from rag.config import ModelsConfig, models_config
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


_NO_KEY = Secret.from_env_var("RAG_NO_KEY", strict=False)  # keys are read where they are sent


@component
class OpenAIGenerator(ChatGenerator, OpenAIChatGenerator):  # type: ignore[misc]
    """Let the chat model answer messages.

    :param config: the sections of providers, of which `[chat]` names server and model.
    :param model: another model than the configured one.
    :param think: let the model reason first.
    :param response_format: `json`, or the JSON schema that answers must fit.
    :param generation_kwargs: options of the API, such as `temperature`; `num_predict` is the
        longest answer, in tokens.
    :param timeout: seconds for a whole answer; without it `ollama.request_timeout`.
    :param tools: what the model may call.
    :raises ValueError: for a timeout that is not positive.
    """

    # Not `super()`: Haystack makes a class of its own of each component.
    def __init__(
        self,
        config: ModelsConfig | None = None,
        model: str = "",
        think: bool = False,
        response_format: str | dict[str, Any] | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        timeout: float | None = None,
        tools: ToolsType | None = None,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        OpenAIChatGenerator.__init__(
            self, _NO_KEY, model, generation_kwargs=generation_kwargs, timeout=timeout, tools=tools
        )
        self.config = models_config(config)
        self.think, self.response_format = think, response_format
        self._chat_model: ChatModel | None = None

    @property
    def chat(self) -> ChatModel:
        """The connection to the model, opened on first use.

        :raises ConfigError: when no server or model is configured, or the key cannot be sent.
        """
        if self._chat_model is None:
            self._chat_model = ChatModel(self.config, self.model)
        return self._chat_model

    def _generate(
        self,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None,
        options: dict[str, Any],
        tools: ToolsType | None,
    ) -> dict[str, Any]:
        self.warm_up()
        return OpenAIChatGenerator.run(
            self, messages, streaming_callback or _heard_by_nobody, options, tools=tools
        )

    def _create(self, **arguments: Any) -> Iterator[Delta]:
        """Begin an answer: what OpenAI's client does in Haystack's code."""
        call: Call = arguments.pop(CALL)
        options = {
            name: value
            for name, value in arguments.items()
            if name not in ("model", "messages", "n", "stream", "tools")
        }
        answering = self.chat.stream(
            arguments["messages"],
            format=call.format,
            think=self.think if call.think is None else call.think,
            options=options,
            seconds=self.timeout,
            tools=arguments.get("tools"),
        )
        return call.deltas(answering)

    def _handle_stream_response(
        self, chat_completion: Iterator[Delta], callback: SyncStreamingCallbackT
    ) -> list[ChatMessage]:
        """Hand pieces on as they come, the reasoning too."""
        info = ComponentInfo.from_component(self)
        chunks: list[StreamingChunk] = []
        for delta in chat_completion:
            chunks.append(_chunk(self.chat.served.name, delta, chunks, info))
            callback(chunks[-1])
        return [_convert_streaming_chunks_to_chat_message(chunks)]

    def warm_up(self) -> None:
        """Put ourselves in the place of OpenAI's client; no connection is opened."""
        completions = SimpleNamespace(create=self._create)
        self.client = SimpleNamespace(chat=SimpleNamespace(completions=completions))  # type: ignore[assignment]


def _heard_by_nobody(_: StreamingChunk) -> None:
    """Take a piece of an answer: all of them are streamed."""


def _chunk(
    model: str, delta: Delta, before: list[StreamingChunk], info: ComponentInfo
) -> StreamingChunk:
    """Return a piece of an answer as Haystack's."""
    if delta.thinking:
        return StreamingChunk(
            "",
            meta={"model": model},
            component_info=info,
            index=0,
            start=not before,
            reasoning=ReasoningContent(delta.thinking),
        )
    said = {"content": delta.text, "tool_calls": list(delta.tool_calls) or None}
    chunk = ChatCompletionChunk.construct(
        model=model, choices=[{"index": 0, "delta": said, "finish_reason": None}], usage=None
    )
    return _convert_chat_completion_chunk_to_streaming_chunk(chunk, before, info)


@component
class OpenAIAnswerGenerator(AnswerGeneratorBase, OpenAIGenerator):  # type: ignore[misc]
    """Let the chat model answer, with what goes wrong as a value; see `AnswerGeneratorBase`."""

    def _model_asked(self) -> str:
        return self.model or self.config.chat.model
