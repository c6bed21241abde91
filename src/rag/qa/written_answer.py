"""The components that verify what a model wrote, and make the answer of it."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage

from rag.answers.notices import SOME_MODEL, notice
from rag.clients.protocols import RESPONSE, Response
from rag.exceptions import ConnectionError, Standing, TooLongError, UnfinishedError
from rag.qa.answer import Answer, AnswerStream, Citation
from rag.qa.extractive_answerer import OUTPUTS
from rag.qa.prompt import Prompt
from rag.qa.prompt_builder import Written
from rag.text.messages import plural

# What generators call an answer that lacks its end; each has its own names for a whole one.
_CUT_SHORT = ("length", "max_tokens", "content_filter")


@component
class AnswerChecker:
    """Verify an answer: a sentence stays when a source that it names bears it out.

    :param must_answer: whether what fails is an error, and not stood in for by quotations.
    """

    def __init__(self, must_answer: bool = False) -> None:
        self.must_answer = must_answer

    @component.output_types(answer=str, written=Written, too_long=Written)
    def run(
        self,
        prompt: Written,
        replies: list[ChatMessage] | None = None,
        stream: AnswerStream | None = None,
    ) -> dict[str, Any]:
        """Return the verified `answer`, empty when nothing of it is borne out, and what became of
        all that the model wrote as `written`; or the prompt as `too_long`, where the server found
        it that and a shorter one can be tried.

        :param replies: of any chat generator; without them no model was asked.
        :param stream: the listener that verified the answer as it came, if there was one.
        """
        built, stream = prompt.built, stream or AnswerStream()
        # Another's generator may give anything: what is no message is no answer.
        reply = next((m for m in replies or () if isinstance(m, ChatMessage)), None)
        if built and reply:
            response = prompt.response = reply.meta.get(RESPONSE) or _response(reply)
            if _is_too_long(response) and len(built.sources) > 1:
                return {"too_long": prompt}
            _check(prompt, built, reply, stream)
        elif built:  # a generator failed; what it streamed before is kept
            prompt.model, prompt.is_sent = SOME_MODEL, True
            if stream.heard and stream.verifier:
                rest, prompt.verification = stream.verifier.end(False)
                stream.show(rest)
        answer = prompt.verification.text if prompt.is_shown else ""
        return {"answer": answer, "written": prompt}


def _check(written: Written, built: Prompt, reply: ChatMessage, stream: AnswerStream) -> None:
    response, question = written.response, written.question
    name = str(reply.meta.get("model") or ("" if response.failure else SOME_MODEL))
    written.model, written.failure = name, response.failure
    written.is_sent = bool(response.model)
    if response.no_reasoning:
        written.notices.append(notice(question, "no_reasoning", model=name))
    if not written.is_sent or _is_too_long(response):
        return
    if stream.verifier is None:
        written.begin(stream)
    assert stream.verifier
    if not stream.heard:
        stream.show(stream.verifier.feed(reply.text or ""))
    rest, written.verification = stream.verifier.end(response.finish_reason == "stop")
    stream.show(rest)
    written.notices += _notices(response, written, built)


def _is_too_long(response: Response) -> bool:
    return isinstance(response.failure, TooLongError) and not response.text


def _response(reply: ChatMessage) -> Response:
    """Return the reply of another generator than ours as a response."""
    usage = reply.meta.get("usage") or {}
    tokens_read = usage.get("prompt_tokens")
    return Response(
        text=reply.text or "",
        thinking=reply.reasoning.reasoning_text if reply.reasoning else "",
        finish_reason="length" if reply.meta.get("finish_reason") in _CUT_SHORT else "stop",
        prompt_tokens=tokens_read if isinstance(tokens_read, int) else None,
        tokens=usage.get("completion_tokens"),
        model=str(reply.meta.get("model") or SOME_MODEL),
    )


def _notices(response: Response, prompt: Written, built: Prompt) -> list[str]:
    shown, count = len(built.sources), len(prompt.documents) - len(built.dropped)
    lines: list[tuple[str, dict[str, Any]]] = []
    # An old server cuts a prompt in silence where a new one refuses it: it fills the context, and
    # one that had not been cut would have left no room to write. What was written is verified.
    if response.num_ctx and response.prompt_tokens == response.num_ctx:
        lines.append(("prompt_cut", {}))
    if built.planted:
        lines.append(("injections", {"passages": plural(built.planted, "passage")}))
    lines += [("step_failed", {"step": s, "why": why}) for s, why in built.report.skipped.items()]
    if shown < count:
        key = "few_notes" if response.num_ctx else "not_all_notes"
        lines.append((key, {"shown": shown, "count": count}))
    common = {"model": response.model, "tokens": response.num_ctx}
    return [notice(prompt.question, key, **common, **values) for key, values in lines]


@component
class WrittenAnswerBuilder:
    """Put what a model wrote and the notes support in the place of quotations.

    What kept a model from answering is in the answer's `notices`, and an error in its `failure`.
    """

    @component.output_types(**OUTPUTS)
    def run(self, answer: Answer, written: Written | None) -> dict[str, Any]:
        """Return the `answer`, and the `results` that were found, its sources among them.

        :param written: what became of a model's work; `None` where none is asked.
        """
        if written and answer.results:
            answer = _chosen(_with_work(answer, written), written, written.question)
        return {"answer": answer, "results": answer.results}


def _with_work(answer: Answer, written: Written) -> Answer:
    """Return an answer with what there is to tell of a model's work, whatever became of it."""
    response, reason = written.response, written.finish_reason
    order = written.verification.order
    report = written.built.report if written.built and written.is_sent else None
    for item in report.window if report else ():
        item.cited = order.index(item.number) + 1 if item.number in order else 0
    return replace(
        answer,
        struck=written.verification.removed,
        thinking=response.thinking,
        finish_reason=reason,
        failure=None if reason == "stopped" else written.failure,
        usage={n: getattr(response, n) for n in ("prompt_tokens", "tokens", "num_ctx")},
        timings={
            "load": round(response.load_seconds * 1000, 1),
            "generation": round(response.seconds * 1000, 1),
        },
        context=report,
        notices=[*written.notices],
    )


def _chosen(answer: Answer, written: Written, question: str) -> Answer:
    """Return what a model wrote; where that is nothing, the quotations, and say why."""
    verification, response, model = written.verification, written.response, written.model
    failure = answer.failure
    if verification.unverified:
        answer.notices.append(notice(question, "unverified", model=model))
    if written.is_shown and written.built:
        ranks = written.built.ranks
        sources = [answer.results[ranks[number - 1] - 1] for number in verification.order]
        return replace(
            answer,
            text=verification.text.strip(),
            sources=sources,
            confidence=fmean(source.score for source in sources) if sources else 0.0,
            found=True,
            quotes=[],
            near=[],
            model=model,
            verified=verification.verified,
            sentences=len(verification.claims),
            citations=[
                Citation(number, claim.text, claim.supported, claim.doubt)
                for claim in verification.claims
                for number in claim.sources
            ],
            partial=answer.finish_reason != "stop",
        )
    if response.interrupted or (verification.refused and not failure):
        nothing: dict[str, Any] = {"sources": [], "confidence": 0.0, "found": False, "quotes": []}
        text = notice(question, "not_found")
        return replace(answer, text=text, model=model, partial=response.interrupted, **nothing)
    is_empty = not response.text.strip()
    if failure:
        why = failure.as_notice()
        why = Standing(why) if isinstance(failure, ConnectionError) else why
    else:
        why = notice(question, "no_answer" if is_empty else "not_supported", model=model)
    if not (isinstance(failure, ConnectionError) and failure.is_needless):
        answer.notices.append(why)
    if not answer.found:
        if not failure and response.finish_reason and is_empty:
            failure = answer.failure = UnfinishedError(why)
        # A model that cannot be reached has broken nothing off.
        if failure and (response.num_ctx or isinstance(failure, UnfinishedError)):
            answer.text = str(failure)
    return answer
