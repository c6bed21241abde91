"""The chat models of servers as Haystack components.

Haystack's own generators have no deadline, take a stream that just ends for an answer, follow
redirections, read the environment's keys, and do not say when a prompt was cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any, ClassVar

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import (
    ChatMessage,
    ComponentInfo,
    ReasoningContent,
    StreamingCallbackT,
    StreamingChunk,
)

from rag.clients.dialects import connect_writer
from rag.clients.factory import with_config
from rag.clients.http_client import Deltas, HttpClient
from rag.clients.protocols import RESPONSE, Response
from rag.clients.servers import OLLAMA, OPENAI
from rag.config import AUTO, ModelsConfig, OllamaConfig, load_config, models_config
from rag.exceptions import ConnectionError, RAGError
from rag.text.token_estimate import count_tokens

_CHARACTERS_PER_TOKEN = 12  # an answer of more per allowed token has no end


class _ChatGenerator:
    """What the generators of both APIs do.

    :param config: the sections of providers, or the `[ollama]` section; without it those in force.
    :param response_format: `json`, or the JSON schema that answers must fit.
    :param generation_kwargs: options of the API; `num_predict` is the longest answer, in tokens. A
        model with a small context writes at most a third of that.
    :param timeout: seconds for a whole answer; without it `ollama.request_timeout`.
    :param keeps_failures: let the `Response` in the meta of the reply say why there is no more of
        the answer, instead of raising an error.
    :raises ValueError: for a timeout that is not positive.
    """

    api: ClassVar[str]

    def __init__(
        self,
        config: ModelsConfig | OllamaConfig | None = None,
        model: str = "",
        think: bool = False,
        response_format: str | dict[str, Any] | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        timeout: float | None = None,
        keeps_failures: bool = False,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be positive, not {timeout}")
        self.config, self.model, self.think = config, model, think
        self.response_format, self.timeout = response_format, timeout
        self.generation_kwargs, self.keeps_failures = generation_kwargs or {}, keeps_failures
        self._client: HttpClient | None = None

    @property
    def client(self) -> HttpClient:
        """The connection to the model, opened on first use.

        :raises ConfigError: when no server or model is configured, or the key cannot be sent.
        """
        if self._client is None:
            config = models_config(self.config or load_config())
            self._client = connect_writer(self.api, config, self.model)
        return self._client

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage] | str,
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        response_format: str | dict[str, Any] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Return one message as `replies`; its meta holds `finish_reason` and `usage`.

        :param streaming_callback: called with each piece of the answer as it arrives. Ctrl-C ends
            the answer only, if it says that it `keeps_partial`.
        :param response_format: in the place of the component's own, for this answer.
        :raises ConfigError: when no server or model is configured.
        :raises ConnectionError: and its subclasses, as `HttpClient.answer` says.
        """
        options = {**self.generation_kwargs, **(generation_kwargs or {})}
        most = int(options.get("num_predict") or 0)
        texts = [("user", messages)] if isinstance(messages, str) else [*map(_plain, messages)]
        think, response = self.think, Response()
        try:
            think = think and "thinking" in (self.client.writer.capabilities or ("thinking",))
            if most:
                options["num_predict"] = self._answer_length(most, texts, think)
            answering = self.client.answer(
                [{"role": role, "content": text} for role, text in texts],
                response,
                format=response_format or self.response_format,
                think=think,
                options=options,
                seconds=self.timeout,
            )
            self._receive(answering, response, streaming_callback, _CHARACTERS_PER_TOKEN * most)
        except RAGError as error:
            if not self.keeps_failures:
                raise
            if type(error) is ConnectionError and self._client:  # it does not answer
                error.is_needless = not self._client.endpoint.is_chosen
            response.failure = error
        except KeyboardInterrupt:
            if not getattr(streaming_callback, "keeps_partial", False):
                raise
            response.interrupted = True
        response.no_reasoning = self.think and not think
        # The model that was to answer, as far as it is known.
        name = self._client.endpoint.model if self._client else self.model
        counts = {"prompt_tokens": response.prompt_tokens, "completion_tokens": response.tokens}
        meta = {
            "model": response.model or ("" if name == AUTO else name),
            "finish_reason": response.finish_reason,
            "num_ctx": response.num_ctx,
            "usage": counts,
            **({RESPONSE: response} if self.keeps_failures else {}),
        }
        thinking = response.thinking or None
        return {"replies": [ChatMessage.from_assistant(response.text, meta, reasoning=thinking)]}

    def brief_reply(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], tokens: int
    ) -> str:
        """Return a short reply, without reasoning and within `ollama.query_timeout`."""
        seconds = self.client.limits.query_timeout
        options = {"temperature": 0, "num_predict": tokens}
        return self.client.respond(messages, format=schema, options=options, seconds=seconds).text

    def _receive(
        self, answering: Deltas, response: Response, callback: StreamingCallbackT | None, most: int
    ) -> None:
        """Hand the pieces of an answer on, and end one with more than so many characters; the
        server stops to write when the stream is closed."""
        info = ComponentInfo.from_component(self)
        with closing(answering) as deltas:
            for delta in deltas:
                meta = {"model": response.model}
                if callback and delta.thinking:  # a chunk holds one kind of content
                    thought = ReasoningContent(delta.thinking)
                    callback(StreamingChunk("", meta, info, 0, reasoning=thought))
                if callback and delta.text:
                    callback(StreamingChunk(delta.text, meta, info, 0))
                if 0 < most < len(response.text):
                    return

    def _answer_length(self, most: int, texts: Sequence[tuple[str, str]], think: bool) -> int:
        """Return how many tokens an answer may have: a model with a small window writes at most a
        third of that. Reasoning is part of what a model writes: it gets all the room there is."""
        window = self.client.window
        reserve = min(most, window // 3)
        room = window - sum(count_tokens(text) for _, text in texts)
        return max(reserve, room) if think else reserve

    def close(self) -> None:
        """Close the connection; `run` opens it again."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its settings."""
        names = ("model", "think", "response_format", "generation_kwargs", "timeout")
        given = {name: getattr(self, name) for name in (*names, "keeps_failures")}
        given["generation_kwargs"] = {**self.generation_kwargs}
        return default_to_dict(self, config=self.config and asdict(self.config), **given)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(data))


@component
class OllamaGenerator(_ChatGenerator):
    """Let a chat model of Ollama answer messages; `_ChatGenerator` has the parameters."""

    api = OLLAMA


@component
class OpenAIGenerator(_ChatGenerator):
    """Let a chat model of OpenAI's API answer messages; `_ChatGenerator` has the parameters."""

    api = OPENAI


def _plain(message: ChatMessage) -> tuple[str, str]:
    return message.role.value, message.text or ""
