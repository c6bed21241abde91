"""Vectors of any number of texts of notes, made in a process beside the program.

A text that ends the process, or that it never comes to the end of, costs a new process and has no
vector; all others have one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import islice
from typing import NamedTuple

from rag.clients.local.engine import Load, embed, embed_batches
from rag.clients.local.process import ModelProcess
from rag.exceptions import ModelError
from rag.support.vector_digest import TEXTS

_WINDOW = 1024  # texts that are sorted by length: some seconds of work
_TOGETHER = 64  # texts that are embedded together; if the process ends there, each is tried alone
_SUSPECT = 8  # texts in a row without a vector: either they are at fault, or the engine is


class EmbeddedTexts(NamedTuple):
    """What became of a few texts; see `rag.clients.protocols.EmbeddedTexts`.

    :param runtime: what made the vectors, with its version; empty where there are none.
    """

    vectors: list[tuple[int, list[float]]]
    failures: list[tuple[int, str]]
    runtime: str = ""


def embed_documents(
    process: ModelProcess, load: Load, texts: Iterable[str]
) -> Generator[EmbeddedTexts]:
    """Yield the vectors of texts, a few at a time, in the order they are done.

    Texts are taken as they are needed, about a thousand at a time.

    :raises ModelError: when the engine cannot begin, or fails with texts that every engine embeds.
    """
    numbered, in_a_row = enumerate(texts), 0
    while window := dict(islice(numbered, _WINDOW)):
        for done in _window(process, load, window):
            in_a_row = 0 if done.vectors else in_a_row + 1
            yield done
            if in_a_row == _SUSPECT:
                process.call(embed, load, process.threads, TEXTS)
                in_a_row = 0


def _window(process: ModelProcess, load: Load, left: dict[int, str]) -> Generator[EmbeddedTexts]:
    """Embed texts by position; those that the process ends at are tried once more, each alone.

    :raises ModelError: when the process ends twice before it has begun with any text.
    """
    alone: dict[int, str] = {}
    starts = 0  # without any text begun
    while texts := left or alone:
        size = _TOGETHER if texts is left else 1
        positions, begun = [*texts], list[int]()
        try:
            results = process.results(embed_batches, load, process.threads, size, [*texts.values()])
            for some, runtime, vectors in results:
                begun = [positions[at] for at in some]
                if vectors is not None:
                    starts = 0
                    for at in begun:
                        del texts[at]
                    yield EmbeddedTexts([*zip(begun, vectors.tolist(), strict=True)], [], runtime)
        except ModelError as error:
            suspects = {at: texts.pop(at) for at in begun if at in texts}
            starts = 0 if suspects else starts + 1
            if starts == 2:
                raise
            if size == 1:
                yield EmbeddedTexts([], [(at, str(error)) for at in suspects])
            else:
                alone |= suspects
