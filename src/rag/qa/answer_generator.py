"""Answers by a model: prompt, stream and verification, as one component of the QA pipeline.

One, and not three: how much of the notes fits depends on the model, and what may be shown is
decided while it writes. What goes wrong is a value, not an exception, so that the quotations of
the same run can stand in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document

from rag.answers.evidence import Evidence
from rag.answers.notices import notice
from rag.answers.prompt_texts import Prompt, Source, was_cut
from rag.answers.verification import Verification, Verifier
from rag.clients.ollama.chat import Answering, ChatModel, Response
from rag.clients.serialization import with_config
from rag.config import OllamaConfig
from rag.context.models import ContextItem
from rag.exceptions import RAGError, TooLongError
from rag.qa.context_report import WindowReport
from rag.qa.plugin_steps import load_steps
from rag.qa.prompt import BuiltPrompt, build_prompt

OnText = Callable[[str], Any]
_CHARACTERS_PER_TOKEN = 12  # an answer of more per allowed token has no end


@dataclass
class Written:
    """What a model wrote, and what became of it.

    :param window: the sources that it was shown, in the order of their numbers.
    :param ranks: for each of those, the number (from 1) of its document.
    :param context: all that it was shown, and what it was not; `None` when it was asked nothing.
    :param failure: why there is no answer, or not all of it.
    :param interrupted: Ctrl-C ended it.
    :param raised: what a callback raised, for the caller of the pipeline to raise.
    :param notices: what the reader should know of how it was made.
    :param began: when it was begun, by the monotonic clock.
    """

    model: str = ""
    verification: Verification = field(default_factory=Verification)
    window: list[Evidence] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    context: WindowReport | None = None
    response: Response = field(default_factory=Response)
    failure: RAGError | None = None
    interrupted: bool = False
    raised: Exception | None = None
    notices: list[str] = field(default_factory=list)
    began: float = 0.0


@component
class AnswerWriter:
    """Let a model answer a question from ranked documents, and verify what it says.

    :param config: the `[ollama]` settings; without them those in force.
    :param model: another model than the configured one.
    :param max_tokens: the longest answer.
    :param temperature: how freely it is worded.
    :param think: let a model that can reason do so first.
    :param steps: names of the user's own steps (entry points of the group `rag.steps`) in how
        its prompt is made.
    """

    def __init__(
        self,
        config: OllamaConfig | None = None,
        model: str = "",
        max_tokens: int = 1024,
        temperature: float = 0.2,
        think: bool = False,
        steps: list[str] | None = None,
    ) -> None:
        self.config, self.model = config, model
        self.max_tokens, self.temperature, self.think = max_tokens, temperature, think
        self.steps = steps or []
        self._chat: ChatModel | None = None

    @property
    def chat(self) -> ChatModel:
        """The connection to the model, opened on first use.

        :raises ConfigError: when no chat model is configured.
        :raises ConnectionError: when a model is to be picked and the server does not answer.
        """
        if self._chat is None:
            self._chat = ChatModel(self.config, self.model)
        return self._chat

    @component.output_types(written=Written)
    def run(
        self,
        query: str,
        documents: list[Document],
        on_text: OnText | None = None,
        on_thinking: OnText | None = None,
        remembered: list[ContextItem] | None = None,
    ) -> dict[str, Written]:
        """Return what the model wrote as `written`; without documents it is not asked.

        :param on_text: called with what may be shown of the answer, as it is verified; Ctrl-C
            then ends the answer, and what there is of it is returned.
        :param on_thinking: called with the model's reasoning as it comes.
        :param remembered: facts that the user told and what was said before.
        """
        written = Written(began=time.monotonic())
        if documents:
            try:
                sources = [_source(document) for document in documents]
                self._write(written, query, sources, remembered or [], on_text, on_thinking)
            except RAGError as error:
                written.failure = error
            except _CallbackError as error:
                written.raised = error.raised
        return {"written": written}

    def _write(
        self,
        written: Written,
        query: str,
        sources: list[Source],
        remembered: list[ContextItem],
        on_text: OnText | None,
        on_thinking: OnText | None,
    ) -> None:
        chat = self.chat
        written.model = chat.model
        think = self.think and "thinking" in (chat.info.capabilities or ("thinking",))
        if self.think and not think:
            written.notices.append(notice(query, "no_reasoning", model=chat.model))
        reserve = min(self.max_tokens, chat.num_ctx // 3)
        steps = load_steps(self.steps)
        room, too_long = chat.num_ctx - reserve, None
        while True:  # a prompt that the server finds too long is sent again with half the notes
            prompt = build_prompt(query, sources, room, remembered, steps, too_long)
            written.context = prompt.report()
            answering = self._ask(chat, prompt, reserve, think)
            try:
                self._follow(written, query, prompt, answering, on_text, on_thinking)
                break
            except TooLongError:
                if len(prompt.sources) == 1:
                    raise
                too_long = prompt
            finally:
                written.response = answering.response
        _note(written, query, prompt, len(sources))

    def _ask(self, chat: ChatModel, prompt: Prompt, reserve: int, think: bool) -> Answering:
        # Reasoning is part of what a model writes: it gets all the room there is.
        length = max(reserve, chat.num_ctx - prompt.tokens) if think else reserve
        options = {"temperature": self.temperature, "num_predict": length}
        return chat.stream(prompt.messages, think=think, options=options)

    def _follow(
        self,
        written: Written,
        query: str,
        prompt: BuiltPrompt,
        answering: Answering,
        on_text: OnText | None,
        on_thinking: OnText | None,
    ) -> None:
        """Read an answer to its end, and verify it on the way."""
        written.window = [source.evidence() for source in prompt.sources]
        written.ranks = list(prompt.ranks)
        verifier = Verifier(written.window, query)
        size, limit = 0, _CHARACTERS_PER_TOKEN * self.max_tokens

        try:
            with closing(answering.__iter__()) as deltas:
                for delta in deltas:
                    _call(on_thinking, delta.thinking)
                    _call(on_text, verifier.feed(delta.text))
                    size += len(delta.text)
                    if size > limit:
                        break
        except KeyboardInterrupt:
            if on_text is None:
                raise
            written.interrupted = True
        except RAGError as error:
            if isinstance(error, TooLongError) and not size:
                raise
            written.failure = error
        whole = answering.response.finish_reason == "stop"
        rest, written.verification = verifier.end(whole)
        _call(on_text, rest)

    def close(self) -> None:
        """Close the connection; `run` opens it again."""
        if self._chat is not None:
            self._chat.close()
            self._chat = None

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its settings."""
        return default_to_dict(
            self,
            config=self.config and asdict(self.config),
            model=self.model,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            think=self.think,
            steps=self.steps,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(data))


class _CallbackError(Exception):
    def __init__(self, raised: Exception) -> None:
        super().__init__(str(raised))
        self.raised = raised


def _call(callback: OnText | None, text: str) -> None:
    try:
        if text and callback:
            callback(text)
    except Exception as error:
        raise _CallbackError(error) from error


def _source(document: Document) -> Source:
    meta = document.meta
    return Source(
        title=str(meta.get("title") or ""),
        place=f"{meta.get('vault')}/{meta.get('file_path')}",
        text=document.content or "",
        heading=tuple(map(str, meta.get("heading") or ())),
        tags=tuple(map(str, meta.get("tags") or ())),
    )


def _note(written: Written, query: str, prompt: BuiltPrompt, count: int) -> None:
    """Add notices about a prompt that was cut, or notes that were left out of it."""
    response, notices = written.response, written.notices
    if was_cut(prompt, response.prompt_tokens, response.num_ctx):
        written.failure = TooLongError(
            f"{response.model} did not read all of the prompt",
            response.server,
            details=f"it says {response.prompt_tokens:,} tokens; about {prompt.tokens:,} were sent,"
            f" {response.num_ctx:,} fit",
            hint="Lower ask.top_k or ollama.max_context, or update Ollama.",
        )
    if count_left := prompt.planted:
        key = "injection" if count_left == 1 else "injections"
        notices.append(notice(query, key, count=count_left, model=response.model))
    for step, why in prompt.own.failed.items():
        notices.append(notice(query, "step_failed", step=step, why=why))
    count -= len(prompt.own.dropped_notes)
    if (shown := len(prompt.sources)) < count:
        values = {"model": response.model, "shown": shown, "count": count}
        notices.append(notice(query, "few_notes", tokens=response.num_ctx, **values))
