"""What went wrong with a server that speaks OpenAI's API, in words of ours.

The API has no list of errors. Servers agree on 401, 404 and 429; the rest is told by their words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx

from rag.clients.openai.endpoint import Endpoint
from rag.clients.servers import trouble
from rag.clients.servers.trouble import (
    BUSY,
    CANNOT,
    TOO_LONG,
    BadVectors,
    Blame,
    Trouble,
    explain_silence,
)
from rag.exceptions import ModelError, ModelMissingError, RAGError, TooLongError
from rag.support.http_transport import brief

_MOST_SAID = 2000  # characters of what a server says that are looked at
# text-embeddings-inference: "batch size 64 > maximum allowed batch size 32".
_TOO_MANY = re.compile(r"batch size|too many inputs|inputs? (array|list) .*(long|large)", re.I)
_NO_MODEL = re.compile(
    r"model.{0,200}(not found|not exist|not loaded|unknown|is unavailable)|no models? (is )?loaded"
    r"|(unknown|invalid|no such) model|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_NO_SUCH_PATH = re.compile(r"unexpected endpoint|unknown (route|endpoint|path)", re.IGNORECASE)


class Refusal(Exception):
    """A server answered with an error.

    :param status: of HTTP; 0 where the error came with an answer that was begun.
    :param said: what the server says, without the key.
    :param codes: what else it says, for programs.
    :param wait: how many seconds it asks to wait.
    :param location: where it sends to instead.
    """

    def __init__(
        self, status: int, said: str, codes: str = "", wait: float = 0.0, location: str = ""
    ) -> None:
        super().__init__(f"{status}: {brief(said)}")
        self.status, self.said, self.words = status, said, f"{said} {codes}"
        self.wait, self.location = wait, location

    @property
    def is_for_length(self) -> bool:
        """Whether what was sent is too long, or too much at once."""
        if self.status in BUSY:  # so many tokens a minute, and not at once
            return False
        return self.status == 413 or bool(TOO_LONG.search(self.words) or self.is_for_count)

    @property
    def is_for_count(self) -> bool:
        """Whether too many texts were sent at once."""
        return bool(_TOO_MANY.search(self.words)) and "physical batch size" not in self.words

    @property
    def is_for_model(self) -> bool:
        """Whether there is no such model."""
        return self.status in (0, 400, 404, 422) and bool(_NO_MODEL.search(self.words))


class NothingWritten(Exception):
    """An answer came to its end without a word.

    LM Studio answers a prompt so that is longer than the context its model is loaded with
    (lmstudio-bug-tracker, issue 2339).
    """


# All that the layers below raise.
BELOW: tuple[type[Exception], ...] = (Refusal, NothingWritten, *trouble.BELOW)


def what_it_says(answer: Any, text: str, key: str) -> tuple[str, str]:
    """Return what a server says in an answer with an error: for people, and for programs.

    :param answer: the JSON of it, if it is any.
    :param text: the answer itself.
    :param key: which is never repeated.
    """
    error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
    said, codes = error if isinstance(error, str) else text, ""
    if isinstance(error, Mapping):
        found = [str(error[name]) for name in ("message", "detail") if error.get(name)]
        said = " ".join(found) or text
        codes = " ".join(str(error[name]) for name in ("code", "param", "type") if error.get(name))
    if key:
        said, codes = said.replace(key, "…"), codes.replace(key, "…")
    return said[:_MOST_SAID], codes[:_MOST_SAID]


def refused(response: httpx.Response, answer: Any, text: str, key: str) -> Refusal:
    """Return the refusal that an answer with an error is; the arguments are those of
    `what_it_says`."""
    said, codes = what_it_says(answer, text, key)
    location = response.headers.get("location", "") if response.is_redirect else ""
    wait = _wait(response.headers)
    return Refusal(response.status_code, said, codes, wait, brief(location))


def _wait(headers: httpx.Headers) -> float:
    """Return the seconds of `Retry-After`; of a date, and of nonsense, none."""
    try:
        return max(0.0, min(float(headers.get("retry-after", "0")), 1e6))
    except ValueError:
        return 0.0


def diagnose(error: Exception, endpoint: Endpoint, model: str = "") -> Trouble:
    """Explain an exception of the layers below; it becomes the cause of the error returned."""
    found = _explain(error, endpoint, model or endpoint.model)
    found.error.__cause__ = error
    return found


def _explain(error: Exception, endpoint: Endpoint, model: str) -> Trouble:
    server = endpoint.url
    if isinstance(error, Refusal):
        return _refusal(error, endpoint, model)
    if isinstance(error, NothingWritten):
        hint = "The prompt may be longer than the context that the model is loaded with: lower "
        hint += "ask.top_k, or load it with a longer one (LM Studio: Context Length)."
        message = f"{model} at {server} wrote nothing"
        return Trouble(ModelError(message, server, hint=hint), Blame.INPUT)
    if isinstance(error, BadVectors):
        hint = f"Check that {model} is an embedding model, or set another {endpoint.section}.model."
        return Trouble(ModelError(f"{model} at {server} {error}", server, hint=hint), Blame.UNCLEAR)
    if isinstance(error, (httpx.TransportError, httpx.StreamError, OSError)):
        return explain_silence(error, server, endpoint.advice)
    message = f"{server} answered with something that is not of OpenAI's API"
    hint = f"Check {endpoint.section}.url: is another program, or a proxy, at this address?"
    details = brief(f"{type(error).__name__}: {error}")
    return Trouble(ModelError(message, server, details=details, hint=hint), Blame.UNCLEAR)


def _refusal(refusal: Refusal, endpoint: Endpoint, model: str) -> Trouble:
    """The server answered with an error: told by the status, and by words where it must be."""
    server, status, said = endpoint.url, refusal.status, refusal.said
    error: RAGError
    if status in (401, 403):
        got = "refuses the API key" if endpoint.key else "wants an API key, and none was sent"
        error = _error(f"{server} {got}", endpoint, said, endpoint.explain_no_key())
        return Trouble(error, Blame.SERVER)
    if refusal.is_for_model:
        return Trouble(missing(endpoint, model, said=said), Blame.SERVER)
    if refusal.is_for_length and status < 502:
        blame = Blame.COUNT if refusal.is_for_count else Blame.LENGTH
        text = f"the text is longer than {model} at {server} reads"
        hint = "Lower index.chunk_size, or load the model with a longer context."
        return Trouble(TooLongError(text, server, details=brief(said), hint=hint), blame)
    if 300 <= status < 400:
        to = f" to {refusal.location}" if refusal.location else ""
        hint = f"Set {endpoint.section}.url to the address that answers itself."
        error = _error(f"{server} redirects{to}, which is not followed", endpoint, "", hint)
        return Trouble(error, Blame.SERVER)
    if status in (404, 405, 407) or _NO_SUCH_PATH.search(said):
        what = "embeddings" if endpoint.section == "embedding" else "chat"
        message = f"{endpoint.base} has no {what}: {server} answered with error {status}"
        hint = f"Check {endpoint.section}.url: it must be a server of OpenAI's API with {what}."
        return Trouble(_error(message, endpoint, said, hint), Blame.SERVER)
    return _failure(refusal, endpoint, model)


def _failure(refusal: Refusal, endpoint: Endpoint, model: str) -> Trouble:
    """What is left: the server has no time, does not like what was sent, or has failed."""
    server, status, said = endpoint.url, refusal.status, refusal.said
    message, blame = f"{server} answered with error {status}", Blame.UNCLEAR
    hint = "See the log of the server; the machine may be short of memory."
    if status == 501 or (400 <= status < 500 and CANNOT.search(said)):
        message, blame = f"{model} at {server} cannot do what was asked of it", Blame.SERVER
        hint = f"Set another {endpoint.section}.model, or start the server with what it names."
    elif status in BUSY:
        message, blame = f"{server} is busy", Blame.BUSY
        hint = "Try again later, or lower ollama.max_in_flight."
        if refusal.wait:
            message = f"{server} asks to be asked again in {refusal.wait:,.0f} s"
    elif 400 <= status < 500:
        hint, blame = "See the log of the server.", Blame.INPUT
    elif not status:
        message = f"{server} broke off with an error"
    return Trouble(_error(message, endpoint, said, hint), blame, refusal.wait)


def _error(message: str, endpoint: Endpoint, said: str, hint: str) -> ModelError:
    return ModelError(message, endpoint.url, details=brief(said), hint=hint)


def missing(
    endpoint: Endpoint, model: str, served: tuple[str, ...] = (), said: str = ""
) -> ModelMissingError:
    """Return the error of a model that a server does not have.

    :param served: the models that it has, as far as it tells.
    """
    message, setting = f"{endpoint.url} has no model {model}", f"{endpoint.section}.model"
    if not served:
        load = f"Load it there (LM Studio: Developer, Load model), or set {setting}."
        return ModelMissingError(
            message,
            endpoint.url,
            details=brief(said),
            hint=load if said else "See `rag doctor`.",
        )
    names = ", ".join(served[:8]) + (f" and {len(served) - 8} more" if len(served) > 8 else "")
    return ModelMissingError(
        message, endpoint.url, hint=f"Load it there, or set {setting} to one it has: {names}."
    )
