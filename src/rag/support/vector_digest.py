"""Vectors in 8 bits a number; and a digest of what makes vectors, for models that have none: some
vectors of fixed texts.

The digest of an embedding model's weights would change with each build of its program, though
the vectors stay as they are. So it is told by what it does: with another processor, or another
build of the same version, a vector differs in its last digits (cosine .9999 and more), with other
weights by a lot (.95 and less).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float32]]

TEXTS = (
    "How do I restore the notes of last week from the backup?",
    "The quick brown fox jumps over the lazy dog, 42 times.",
    "会議の議事録をどこに保存したか思い出せない。",
    "def mean(numbers):\n    return sum(numbers) / len(numbers)",
)
_ALIKE = 0.995
_SIGN = "~"  # which no digest of weights holds
_SHOWN = 12  # hexadecimal digits
_KEPT = 96  # numbers of each vector: enough to tell models apart


def unit_vectors(vectors: Any) -> Array:
    """Return one vector or several at length 1."""
    import numpy as np

    rows: Array = np.asarray(vectors, np.float32)
    unit: Array = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
    return unit


def pack_vectors(vectors: Any) -> bytes:
    """Return the directions of vectors, which are all that a cosine knows of them, as bytes."""
    import numpy as np

    rows = np.asarray(vectors, np.float32)
    scaled = rows / np.maximum(np.abs(rows).max(axis=-1, keepdims=True), 1e-9) * 127
    packed: bytes = np.rint(scaled).astype(np.int8).tobytes()
    return packed


def unpack_vectors(packed: bytes, count: int) -> Array:
    """Return so many vectors of what `pack_vectors` gave, at length 1: `(count, dimension)`.

    :raises ValueError: when these are no bytes of so many.
    """
    import numpy as np

    return unit_vectors(np.frombuffer(packed, np.int8).reshape(count, -1))


def digest_of(vectors: Sequence[Sequence[float]], version: str = "") -> str:
    """Return the digest of the maker of vectors, by those of `TEXTS`; where one of two digests has
    none, the version of its program decides."""
    packed = pack_vectors([vector[:_KEPT] for vector in vectors])
    return f"{version}{_SIGN}{b64encode(packed).decode()}"


def has_sample(digest: str) -> bool:
    """Return whether a digest holds vectors, so that another with vectors is to be compared."""
    return _SIGN in digest


def shortened(digest: str) -> str:
    """Return a digest as people are shown it: in the place of vectors a hash of them. Two that
    differ may still be of one model, which `may_be_same` tells of the whole digests."""
    version, sign, sample = digest.partition(_SIGN)
    if not sample:
        return digest
    return f"{version}{sign}{sha256(sample.encode()).hexdigest()[:_SHOWN]}"


@cache
def may_be_same(digest: str, other: str) -> bool:
    """Return whether two digests, or versions alone, may be of one model, as far as they tell."""
    if not digest or not other or digest == other:
        return True
    version, _, sample = digest.partition(_SIGN)
    other_version, _, other_sample = other.partition(_SIGN)
    if not (sample and other_sample):
        return bool(version) and version == other_version
    try:
        one, two = (unpack_vectors(b64decode(part), len(TEXTS)) for part in (sample, other_sample))
        return bool(((one * two).sum(axis=1) >= _ALIKE).all())
    except ValueError:  # of other sizes
        return False
