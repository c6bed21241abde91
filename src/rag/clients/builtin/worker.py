"""The program of a process that embeds: it takes lists of texts and answers with their vectors."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from rag.clients.builtin.engine import embed
from rag.support.python_process import take_orders

# Answered when an order is begun: until then a process may take its time to start. With much else
# to do a machine takes seconds for that.
BEGUN = "begun"
START = 120.0  # seconds; it has failed when it takes longer
_NICE = 10


class Order(NamedTuple):
    """What a worker is to do.

    :param is_query: whether the texts are queries.
    """

    texts: list[str]
    is_query: bool = False


def embed_for_now() -> None:
    """Be a worker that somebody waits for."""
    take_orders(_embed)


def embed_beside() -> None:
    """Be a worker that leaves the processor to other programs."""
    with suppress(OSError):
        os.nice(_NICE)
    embed_for_now()


def _embed(order: Order, tell: Callable[[object], None]) -> Any:
    tell(BEGUN)
    return embed(order.texts, order.is_query)
