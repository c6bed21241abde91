"""What goes wrong with a server of models, in words of ours, and who is to blame for it."""

from __future__ import annotations

import builtins
import re
import socket
from enum import Enum
from typing import NamedTuple

import httpx

from rag.clients.servers.probe import SilentError
from rag.clients.servers.reachability import Advice
from rag.clients.servers.silent_servers import silence
from rag.exceptions import ConnectionError, RAGError
from rag.support.http_transport import DeadlineExceeded, brief, is_caused_by, is_loopback

# All that httpx and parsers raise; ValueError holds JSONDecodeError and UnicodeError. The parser of
# JSON ends with a RecursionError where brackets lie in each other without end.
BELOW: tuple[type[Exception], ...] = (
    *(httpx.HTTPError, httpx.StreamError, OSError),
    *(ValueError, TypeError, KeyError, AttributeError, RecursionError),
)
# What a server says that refuses a text or a prompt for its length.
TOO_LONG = re.compile(
    r"context (length|size|window)|too (long|large|big)|exceed_context|longer than the context"
    r"|(input|prompt) length|max(imum)? (context|sequence)|physical batch size"
    r"|context_length_exceeded|less than [\d,]+ tokens|exceeds? .{0,40}\btokens",
    re.IGNORECASE,
)
CANNOT = re.compile(r"(does|do) not support|not supported", re.IGNORECASE)
BUSY = (408, 425, 429, 503)


class Blame(Enum):
    """Who is at fault, and so what may help."""

    INPUT = "input"  # what was sent: send something else
    LENGTH = "length"  # what was sent is too long: send less
    COUNT = "count"  # what was sent is too many texts: send fewer at once
    BUSY = "busy"  # the server has too much to do: wait
    UNCLEAR = "unclear"  # try again, here or elsewhere
    SLOW = "slow"  # as unclear, but trying again takes as long again
    SERVER = "server"  # it will not do: another server may


OF_THE_INPUT = (Blame.INPUT, Blame.LENGTH, Blame.COUNT)


class Trouble(NamedTuple):
    """One failure: our error, who is to blame, and how many seconds the server asks to wait."""

    error: RAGError
    blame: Blame
    wait: float = 0.0


class BadVectors(ValueError):
    """The vectors of an answer are too few, of another length, or no numbers."""


def explain_silence(error: Exception, server: str, advice: Advice) -> Trouble:
    """Explain that there was no answer, or not all of it."""
    blame = Blame.UNCLEAR
    host = httpx.URL(server).host
    start = advice.start if is_loopback(host) else advice.start_there
    if isinstance(error, SilentError):
        return Trouble(silence(server, error.since, advice.restart), Blame.SERVER)
    if isinstance(error, DeadlineExceeded):
        message, hint, blame = f"{server} took too long to answer", advice.slow, Blame.SLOW
    elif isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        message, hint = f"{server} does not answer", start
    elif isinstance(error, (httpx.TimeoutException, TimeoutError)):
        message, hint, blame = f"{server} said nothing for too long", advice.mute, Blame.SLOW
    elif is_caused_by(error, socket.gaierror):
        message, hint = f"no host of the name {host} was found", start
    elif isinstance(error, (httpx.ConnectError, httpx.ProxyError, builtins.ConnectionError)):
        message, hint = f"{advice.name} does not answer at {server}", start
    else:
        message, hint = f"{server} broke the connection", advice.broken
    # A client's own words for a refused connection only repeat the hint.
    details = "" if type(error) is builtins.ConnectionError else brief(str(error))
    return Trouble(ConnectionError(message, server, details=details, hint=hint), blame)
