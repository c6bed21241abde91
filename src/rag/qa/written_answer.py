"""The components that verify what a model wrote, and make the answer of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage

from rag.answers.agreement import Verification
from rag.answers.notices import SOME_MODEL, notice
from rag.answers.prompt_texts import was_cut
from rag.clients.protocols import FAILURE, INTERRUPTED, NO_REASONING, RESPONSE, Response
from rag.exceptions import ConnectionError, RAGError, Standing, TooLongError, UnfinishedError
from rag.qa.answer import Answer, AnswerStream, Citation, HopelessError
from rag.qa.answer_builder import OUTPUTS, AnswerBuilder
from rag.qa.context_report import WindowReport
from rag.qa.extractive_answerer import Quotations
from rag.qa.prompt import BuiltPrompt
from rag.qa.prompt_builder import AnswerPrompt, TemplatedPrompt
from rag.search.results import SearchResult
from rag.stores.base.batch import NotCopied

# What generators call an answer that lacks its end; each has its own names for a whole one.
_CUT_SHORT = ("length", "max_tokens", "content_filter")


@dataclass
class Written(NotCopied):
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


@component
class WrittenAnswerBuilder(AnswerBuilder):
    """Make an answer of what a model wrote and the notes support; else of quotations.

    What kept a model from answering is in the answer's `notices`, and an error in its `failure`.
    """

    @component.output_types(**OUTPUTS)
    def run(  # type: ignore[override]
        self, quotations: Quotations, written: Written | None
    ) -> dict[str, Any]:
        """Return the `answer`, and the `results` that were found, its sources among them.

        :param written: what became of a model's work; `None` where none is asked.
        """
        made = AnswerBuilder.run(self, quotations)
        if written and made["results"]:
            question = quotations.retrieval.query.question
            made["answer"] = _written(written, made["answer"], made["results"], question)
        return made


def _written(
    written: Written, quotations: Answer, results: list[SearchResult], question: str
) -> Answer:
    """Make the answer of what a model wrote; where that is nothing, of quotations."""
    found, model = written.verification, written.model
    common: dict[str, Any] = _facts(written)
    if found.unverified:
        common["notices"].append(notice(question, "unverified", model=model))
    if found.believed or found.unverified:
        return _generated(written, quotations, results, common)
    if written.interrupted:
        return replace(_without_quotes(quotations, question), **common, partial=True, model=model)
    if found.refused and not written.failure:
        return replace(_without_quotes(quotations, question), **common, model=model)
    why = _why_not(written, question)
    common["notices"] = [*common["notices"], why]
    if not quotations.found and _says_nothing(written):
        common["failure"] = UnfinishedError(why)
    if not quotations.found and common["failure"] and _was_asked(written, common["failure"]):
        common["text"] = str(common["failure"])
    return replace(quotations, **common)


def _was_asked(written: Written, failure: RAGError) -> bool:
    """Return whether a model was at work; one that cannot be reached has broken nothing off."""
    return bool(written.response.num_ctx) or isinstance(failure, UnfinishedError)


def _says_nothing(written: Written) -> bool:
    """Return whether a model was asked, and its answer is empty."""
    response = written.response
    return bool(not written.failure and response.finish_reason and not response.text.strip())


def _without_quotes(quotations: Answer, question: str) -> Answer:
    text = notice(question, "not_found")
    return replace(quotations, text=text, sources=[], confidence=0.0, found=False, quotes=[])


def _why_not(written: Written, question: str) -> str:
    """Say in one line why quotations stand in for a model, and what mends it."""
    if error := written.failure:
        why = error.as_notice()
        return Standing(why) if isinstance(error, ConnectionError) else why
    if not written.response.text.strip():
        return notice(question, "no_answer", model=written.model)
    return notice(question, "not_supported", model=written.model)


def _facts(written: Written) -> dict[str, Any]:
    """Return what there is to tell of a model's work, whatever became of it."""
    response = written.response
    reason = response.finish_reason
    if written.interrupted:
        reason = "interrupted"
    elif written.failure:
        reason = "error"
    elif written.stopped:
        reason = "stopped"
    return {
        "struck": written.verification.removed,
        "thinking": response.thinking,
        "finish_reason": reason or ("length" if response.text else ""),
        "failure": written.failure,
        "usage": {
            "prompt_tokens": response.prompt_tokens,
            "tokens": response.tokens,
            "num_ctx": response.num_ctx,
        },
        "timings": {
            "load": round(response.load_seconds * 1000, 1),
            "generation": round(response.seconds * 1000, 1),
        },
        "context": written.context and written.context.with_cited(written.verification.order),
        "notices": list(written.notices),
    }


def _generated(
    written: Written, quotations: Answer, results: list[SearchResult], common: dict[str, Any]
) -> Answer:
    found = written.verification
    sources = [results[written.ranks[number - 1] - 1] for number in found.order]
    return replace(
        quotations,
        text=found.text.strip(),
        sources=sources,
        confidence=fmean(source.score for source in sources) if sources else 0.0,
        found=True,
        quotes=[],
        near=[],
        model=written.model,
        verified=found.verified,
        sentences=len(found.claims),
        citations=[
            Citation(number, claim.text, claim.supported, claim.doubt)
            for claim in found.claims
            for number in claim.sources
        ],
        partial=common["finish_reason"] != "stop",
        **common,
    )
