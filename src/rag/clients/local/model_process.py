"""The programs of the processes in which models run, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any, NamedTuple

from rag.clients.builtin.engine import Engine, cleaned
from rag.support.background import lower_priority, should_give_way
from rag.support.python_process import take_orders

# Answered when an order is begun: until then a process may take its time to start. With much else
# to do a machine takes seconds for that.
BEGUN = "begun"
START = 120.0  # seconds; it has failed when it takes longer
_TEXTS = 64  # that are embedded together; if the process ends there, each is tried alone


class Call(NamedTuple):
    """A call whose result somebody waits for.

    :param function: of a module, so that it can be pickled.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Passages(NamedTuple):
    """Texts of notes to embed.

    :param load: a function of a module, that returns an engine for so many characters and threads.
    :param is_beside: leave the processor to other programs.
    """

    texts: list[str]
    load: Callable[[int, int], Engine]
    threads: int
    is_beside: bool = False


class Told(NamedTuple):
    """What a process says of the texts at some positions: that it begins with them, or their
    vectors, `(len(positions), dimension)`.

    :param runtime: what makes them.
    """

    positions: list[int]
    runtime: str
    vectors: Any = None


def answer_calls() -> None:
    """Be a process that somebody waits for."""
    take_orders(_call)


def embed_passages() -> None:
    """Be a process that embeds notes."""
    take_orders(_embed_passages)


def _call(order: Call, tell: Callable[[object], None]) -> Any:
    tell(BEGUN)
    return order.function(*order.arguments)


def _embed_passages(order: Passages, tell: Callable[[Told], None]) -> None:
    """Embed the longest texts first, and texts of about one length together."""
    import numpy as np

    if order.is_beside:
        lower_priority()
    texts = [*map(cleaned, order.texts)]
    engine = order.load(sum(map(len, texts)), order.threads)
    tokens = engine.tokenize(texts)
    by_length = sorted(range(len(tokens)), key=lambda at: -len(tokens[at]))
    for begin in range(0, len(by_length), _TEXTS):
        positions = by_length[begin : begin + _TEXTS]
        tell(Told(positions, engine.name))
        started = monotonic()
        vectors = engine.vectors([tokens[at] for at in positions])
        if not np.isfinite(vectors).all():
            raise ValueError("the vectors are no numbers")
        tell(Told(positions, engine.name, vectors))
        if order.is_beside and should_give_way(order.threads):
            sleep(monotonic() - started)
