"""What went wrong below, in words of ours: one table for every failure of every layer.

`diagnose` turns an exception of `ollama`, `httpx` or a JSON parser into a `RAGError` that says
what to type next, and says whom to blame, which decides what is worth trying again.
"""

from __future__ import annotations

import builtins
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import NamedTuple

import httpx

from rag.clients.ollama.http_client import ResponseError
from rag.clients.ollama.probe import SilentError
from rag.clients.ollama.silent_servers import silence
from rag.exceptions import ConnectionError, ModelError, ModelMissingError, RAGError, TooLongError
from rag.support.http_transport import DeadlineExceeded, brief, is_caused_by, is_loopback

# All that the layers below raise; ValueError holds JSONDecodeError and UnicodeError. The parser of
# JSON ends with a RecursionError where brackets lie in each other without end.
BELOW: tuple[type[Exception], ...] = (
    *(ResponseError, httpx.HTTPError, httpx.StreamError, OSError),
    *(ValueError, TypeError, KeyError, AttributeError, RecursionError),
)


class Blame(Enum):
    """Who is at fault, and so what may help."""

    INPUT = "input"  # what was sent: send something else
    LENGTH = "length"  # what was sent is too long: send less
    BUSY = "busy"  # the server has too much to do: wait
    UNCLEAR = "unclear"  # try again, here or elsewhere
    SLOW = "slow"  # as unclear, but trying again takes as long again
    SERVER = "server"  # it will not do: another server may


class Trouble(NamedTuple):
    """One failure: our error, and who is to blame."""

    error: RAGError
    blame: Blame


class BadVectors(ValueError):
    """The vectors of an answer are too few, of another length, or no numbers."""


_TOO_LONG = re.compile(
    r"context (length|size|window)|too (long|large)|exceed_context|longer than the context"
    r"|(input|prompt) length|max(imum)? (context|sequence)|physical batch size",
    re.IGNORECASE,
)
# What web servers say of a path; Ollama's own 404 names the model.
_NO_SUCH_PAGE = re.compile(r"<|\bpage\b|\bfile\b|\bpath\b|\broute\b|^not found$", re.IGNORECASE)
_CANNOT = re.compile(r"does not support|not supported", re.IGNORECASE)
_BUSY = (408, 425, 429, 503)


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
        return _silence(error, server, setting)
    message = f"{server} answered with something that is not Ollama's"
    hint = f"Check {setting}: is another program, or a proxy, at this address?"
    details = brief(f"{type(error).__name__}: {error}")
    return Trouble(ModelError(message, server, details=details, hint=hint), Blame.UNCLEAR)


def _refusal(error: ResponseError, server: str, model: str) -> Trouble:
    """The server answered with an error: told by the status, and by words where it must be."""
    status, said = error.status_code, brief(error.error)
    if status == 404 and model and not _NO_SUCH_PAGE.search(said):
        missing = ModelMissingError(
            f"{server} has no model {model}", server, hint=f"`{_command(server)} pull {model}`"
        )
        return Trouble(missing, Blame.SERVER)
    if _TOO_LONG.search(said) and (400 <= status < 501):
        text = f"the text is longer than {model or 'the model'} reads"
        hint = "Lower index.chunk_size, or raise the model's num_ctx."
        return Trouble(TooLongError(text, server, details=said, hint=hint), Blame.LENGTH)
    message, hint, blame = f"{server} answered with error {status}", "", Blame.UNCLEAR
    if status in (401, 403, 404, 405, 407) or 300 <= status < 400:
        hint = "Check ollama.url: it must be the address of Ollama itself."
        blame = Blame.SERVER
    elif status == 501 or (400 <= status < 500 and _CANNOT.search(said)):
        message = f"{model or 'the model'} cannot do what was asked of it"
        hint = f"See `{_command(server)} show {model}`; name another model in rag.toml."
        blame = Blame.SERVER
    elif status in _BUSY:
        message, blame = f"{server} is busy", Blame.BUSY
        hint = "Try again later, or lower ollama.max_in_flight."
    elif 400 <= status < 500:
        hint, blame = "See the log of `ollama serve`.", Blame.INPUT
    elif status < 0:
        message = f"{server} broke off with an error"
    hint = hint or "See the log of `ollama serve`; the machine may be short of memory."
    return Trouble(ModelError(message, server, details=said, hint=hint), blame)


def _silence(error: Exception, server: str, setting: str) -> Trouble:
    """There was no answer, or not all of it."""
    blame = Blame.UNCLEAR
    start = f"Start it with `ollama serve`, or set {setting}."
    if not is_loopback(httpx.URL(server).host):
        start = f"Check {setting}, and that `ollama serve` runs there and listens to the network."
    if isinstance(error, SilentError):
        return Trouble(silence(server, error.since), Blame.SERVER)
    if isinstance(error, DeadlineExceeded):
        message, blame = f"{server} took too long to answer", Blame.SLOW
        hint = "Raise ollama.request_timeout or ollama.query_timeout, or take a smaller model."
    elif isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        message, hint = f"{server} does not answer", start
    elif isinstance(error, (httpx.TimeoutException, TimeoutError)):
        message, blame = f"{server} said nothing for too long", Blame.SLOW
        hint = (
            "See `ollama ps`; a model that takes long to load needs a longer ollama.read_timeout."
        )
    elif is_caused_by(error, socket.gaierror):
        message, hint = f"no host of the name {httpx.URL(server).host} was found", start
    elif isinstance(error, (httpx.ConnectError, httpx.ProxyError, builtins.ConnectionError)):
        message, hint = f"Ollama does not answer at {server}", start
    else:
        message = f"{server} broke the connection"
        hint = "See the log of `ollama serve`; the model may not fit into memory."
    # The client's own words for a refused connection only repeat the hint.
    details = "" if type(error) is builtins.ConnectionError else brief(str(error))
    return Trouble(ConnectionError(message, server, details=details, hint=hint), blame)


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
