"""The component that judges what a model wrote by the notes that it was shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage

from rag.answers.notices import SOME_MODEL, notice
from rag.answers.prompt_texts import was_cut
from rag.answers.verdicts import Verification
from rag.clients.protocols import FAILURE, INTERRUPTED, NO_REASONING, RESPONSE, Response
from rag.exceptions import RAGError, TooLongError
from rag.qa.answer_stream import AnswerStream, HopelessError
from rag.qa.context_report import WindowReport
from rag.qa.prompt import BuiltPrompt
from rag.qa.prompt_builder import AnswerPrompt
from rag.qa.prompt_template import TemplatedPrompt

# What generators call an answer that lacks its end; each has its own names for a whole one.
_CUT_SHORT = ("length", "max_tokens", "content_filter")


@dataclass
class Written:
    """What a model wrote, and what became of it.

    :param ranks: for each source that it was shown, the number (from 1) of its document.
    :param context: all that it was shown, and what it was not; `None` when it was asked nothing.
    :param failure: why there is no answer, or not all of it.
    :param interrupted: Ctrl-C ended it.
    :param stopped: the program ended it, since nothing of it was borne out.
    :param notices: what the reader should know of how it was made.
    :param began: when it was begun, by the monotonic clock.
    """

    model: str = ""
    verification: Verification = field(default_factory=Verification)
    ranks: list[int] = field(default_factory=list)
    context: WindowReport | None = None
    response: Response = field(default_factory=Response)
    failure: RAGError | None = None
    interrupted: bool = False
    stopped: bool = False
    notices: list[str] = field(default_factory=list)
    began: float = 0.0

    def take(self, failure: RAGError | None) -> None:
        """Note what a generator says went wrong; that it was stopped is no failure of its own."""
        self.stopped = isinstance(failure, HopelessError)
        self.failure = None if self.stopped else failure

    def __deepcopy__(self, memo: dict[int, Any]) -> Written:
        return self


@component
class AnswerChecker:
    """Verify an answer: a sentence stays when a source that it names bears it out.

    :param must_answer: whether what fails is an error, and not stood in for by quotations.
    """

    def __init__(self, must_answer: bool = False) -> None:
        self.must_answer = must_answer

    @component.output_types(answer=str, written=Written, too_long=AnswerPrompt)
    def run(
        self,
        prompt: AnswerPrompt,
        replies: list[ChatMessage] | None = None,
        stream: AnswerStream | None = None,
    ) -> dict[str, Any]:
        """Return the verified `answer`, empty when nothing of it is borne out, and
        what became
        of all that the model wrote as `written`; or the prompt as `too_long`, where the server
        found it that and a shorter one can be tried.

        :param replies: of any chat generator; without them no model was asked.
        :param stream: the listener that verified the answer as it came, if there was one.
        """
        written = Written(began=prompt.began)
        written.take(prompt.failure)
        stream = stream or AnswerStream()
        # Another's generator may give anything: what is no message is no answer.
        replies = [reply for reply in replies or [] if isinstance(reply, ChatMessage)]
        if replies and prompt.built:
            if _is_too_long(replies[0]) and len(prompt.built.sources) > 1:
                return {"too_long": prompt}
            self._check(written, prompt, replies[0], stream)
        elif prompt.built:
            self._keep(written, prompt, stream)
        found = written.verification
        shown = found.text if found.believed or found.unverified else ""
        return {"answer": shown, "written": written}

    def _check(
        self, written: Written, prompt: AnswerPrompt, reply: ChatMessage, stream: AnswerStream
    ) -> None:
        built, meta = prompt.built, reply.meta
        assert built
        written.model = str(meta.get("model") or ("" if FAILURE in meta else SOME_MODEL))
        written.take(meta.get(FAILURE))
        written.interrupted = bool(meta.get(INTERRUPTED))
        if meta.get(NO_REASONING):
            written.notices.append(notice(prompt.question, NO_REASONING, model=written.model))
        if RESPONSE in meta and meta[RESPONSE] is None:
            return  # the server was not asked
        written.response = meta.get(RESPONSE) or _response(reply)
        written.ranks, written.context = list(built.ranks), built.report()
        if _is_too_long(reply):
            return
        if stream.verifier is None:
            stream.begin(prompt.window, prompt.question, built.numbered)
        assert stream.verifier
        if not stream.heard:
            stream.show(stream.verifier.feed(reply.text or ""))
        whole = written.response.finish_reason == "stop"
        rest, written.verification = stream.verifier.end(whole)
        stream.show(rest)
        _note(written, prompt)

    def _keep(self, written: Written, prompt: AnswerPrompt, stream: AnswerStream) -> None:
        """Keep what a generator streamed before it failed, as far as the notes bear it out."""
        built = prompt.built
        assert built
        written.model = SOME_MODEL
        written.ranks, written.context = list(built.ranks), built.report()
        if stream.heard and stream.verifier:
            rest, written.verification = stream.verifier.end(False)
            stream.show(rest)


def _is_too_long(reply: ChatMessage) -> bool:
    """Return whether the server refused the prompt for its length."""
    return isinstance(reply.meta.get(FAILURE), TooLongError) and not reply.text


def _response(reply: ChatMessage) -> Response:
    """Return the reply of another generator than Ollama's as a response."""
    usage = reply.meta.get("usage") or {}
    read = usage.get("prompt_tokens")
    return Response(
        text=reply.text or "",
        thinking=reply.reasoning.reasoning_text if reply.reasoning else "",
        finish_reason="length" if reply.meta.get("finish_reason") in _CUT_SHORT else "stop",
        prompt_tokens=read if isinstance(read, int) else None,
        tokens=usage.get("completion_tokens"),
        model=str(reply.meta.get("model") or SOME_MODEL),
    )


def _note(written: Written, prompt: AnswerPrompt) -> None:
    """Say what the reader should know: that the prompt was cut, or notes left out of it."""
    response, built = written.response, prompt.built
    assert built
    if was_cut(built, response.prompt_tokens, response.num_ctx):
        written.notices.append(_cut(response, built, prompt.question))
    values: dict[str, Any] = {"model": response.model, "tokens": response.num_ctx}
    if built.planted:
        key = "injection" if built.planted == 1 else "injections"
        written.notices.append(notice(prompt.question, key, count=built.planted, **values))
    for step, why in built.own.failed.items():
        written.notices.append(notice(prompt.question, "step_failed", step=step, why=why))
    shown, count = len(built.sources), len(prompt.documents) - len(built.own.dropped_notes)
    if shown < count:
        key = "few_notes" if response.num_ctx else "not_all_notes"
        written.notices.append(notice(prompt.question, key, shown=shown, count=count, **values))


def _cut(response: Response, built: BuiltPrompt | TemplatedPrompt, question: str) -> str:
    """Say that the server cut the prompt in silence, and what helps.

    It is no failure: what the model wrote is verified, and another answer would be another
    minute. A prompt that is refused is made shorter and sent again.
    """
    read, shown = response.prompt_tokens or 0, len(built.sources)
    values: dict[str, Any] = {"model": response.model, "read": read, "sent": built.tokens}
    # The estimate of a dense tokenizer's prompt may be less than what was read of it.
    cause = notice(question, "prompt_cut_of" if built.tokens > read else "prompt_cut", **values)
    hint = notice(question, "cut_by_ollama" if response.num_ctx else "cut_by_server")
    fewer = f" For one answer: --top-k {shown // 2}" if shown > 1 else ""
    return f"{cause}. {hint}{fewer}"
