"""What went wrong below, in words of ours: one table for every failure of every layer.

`diagnose` turns an exception of `ollama`, `httpx` or a JSON parser into a `RAGError` that says
what to type next, and says whom to blame, which decides what is worth trying again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from rag.clients.ollama.advice import advice
from rag.clients.ollama.http_client import ResponseError
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
from rag.exceptions import ModelError, ModelMissingError, TooLongError
from rag.support.http_transport import brief, is_loopback

# All that the layers below raise.
BELOW: tuple[type[Exception], ...] = (ResponseError, *trouble.BELOW)

# What web servers say of a path; Ollama's own 404 names the model.
_NO_SUCH_PAGE = re.compile(r"<|\bpage\b|\bfile\b|\bpath\b|\broute\b|^not found$", re.IGNORECASE)


def diagnose(
    error: Exception, server: str, model: str = "", setting: str = "ollama.url"
) -> Trouble:
    """Explain an exception of the layers below; it becomes the cause of the error returned.

    :param server: the address that was asked.
    :param model: the model that was asked for, or empty.
    :param setting: the setting that names the server.
    """
    trouble = _explain(error, server, model, setting)
    trouble.error.__cause__ = error
    return trouble


def _explain(error: Exception, server: str, model: str, setting: str) -> Trouble:
    if isinstance(error, ResponseError):
        return _refusal(error, server, model)
    if isinstance(error, BadVectors):
        hint = f"Try `ollama run {model} test`, or another ollama.embedding_model."
        return Trouble(ModelError(f"{model} at {server} {error}", server, hint=hint), Blame.UNCLEAR)
    if isinstance(error, (httpx.TransportError, httpx.StreamError, OSError)):
        return explain_silence(error, server, advice(setting))
    message = f"{server} answered with something that is not Ollama's"
    hint = f"Check {setting}: is another program, or a proxy, at this address?"
    details = brief(f"{type(error).__name__}: {error}")
    return Trouble(ModelError(message, server, details=details, hint=hint), Blame.UNCLEAR)


def _refusal(error: ResponseError, server: str, model: str) -> Trouble:
    """The server answered with an error: told by the status, and by words where it must be."""
    status, said = error.status_code, brief(error.error)
    if status == 404 and model and not _NO_SUCH_PAGE.search(error.error):
        missing = ModelMissingError(
            f"{server} has no model {model}", server, hint=f"`{_command(server)} pull {model}`"
        )
        return Trouble(missing, Blame.SERVER)
    if TOO_LONG.search(said) and (400 <= status < 501):
        text = f"the text is longer than {model or 'the model'} reads"
        hint = "Lower index.chunk_size, or raise the model's num_ctx."
        return Trouble(TooLongError(text, server, details=said, hint=hint), Blame.LENGTH)
    message, hint, blame = f"{server} answered with error {status}", "", Blame.UNCLEAR
    if status in (401, 403, 404, 405, 407) or 300 <= status < 400:
        hint = "Check ollama.url: it must be the address of Ollama itself."
        blame = Blame.SERVER
    elif status == 501 or (400 <= status < 500 and CANNOT.search(said)):
        message = f"{model or 'the model'} cannot do what was asked of it"
        hint = f"See `{_command(server)} show {model}`; name another model in rag.toml."
        blame = Blame.SERVER
    elif status in BUSY:
        message, blame = f"{server} is busy", Blame.BUSY
        hint = "Try again later, or lower ollama.max_in_flight."
    elif 400 <= status < 500:
        hint, blame = "See the log of `ollama serve`.", Blame.INPUT
    elif status < 0:
        message = f"{server} broke off with an error"
    hint = hint or "See the log of `ollama serve`; the machine may be short of memory."
    return Trouble(ModelError(message, server, details=said, hint=hint), blame)


def _command(server: str) -> str:
    return "ollama" if is_loopback(httpx.URL(server).host) else f"OLLAMA_HOST={server} ollama"


@contextmanager
def our_errors(server: str, model: str = "", setting: str = "ollama.url") -> Iterator[None]:
    """Raise what goes wrong inside as an error of ours, with its cause.

    :raises ConnectionError: or one of its subclasses.
    """
    try:
        yield
    except BELOW as error:
        raise diagnose(error, server, model, setting).error from error
