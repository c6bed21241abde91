"""What to tell of servers of one kind that do not answer, and what to do then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """The words for servers of one kind.

    :param name: what does not answer: `Ollama`.
    :param start: how it is started on this machine, or another one named.
    :param start_there: the same where it is on another machine.
    :param restart: what to do with one that hangs.
    :param slow: what helps where a request takes too long.
    :param mute: what helps where the server says nothing for too long.
    :param broken: what helps where it breaks the connection.
    """

    name: str
    start: str
    start_there: str
    restart: str
    slow: str
    mute: str
    broken: str
