"""A model in ONNX at work, in the very process that calls, and what all such models share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rag.clients.local.model_folder import FIRST, LAST
from rag.text.surrogates import without_halves

if TYPE_CHECKING:
    from onnxruntime import SessionOptions

Array = np.ndarray[Any, np.dtype[Any]]
BATCH = 2048  # tokens that are multiplied at once


def options_for(threads: int) -> SessionOptions:
    """Return the options of a session that takes so many threads, and prints nothing."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    return options


def equal_lengths(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield the positions of texts of one length, so that no batch needs padding, nor a mask that
    hides it; the longest first.

    :param lengths: of the texts, in tokens.
    :param most: how many tokens a batch may have; one text may have more.
    """
    by_length: dict[int, list[int]] = {}
    for at, length in enumerate(lengths):
        by_length.setdefault(length, []).append(at)
    for length in sorted(by_length, reverse=True):
        positions, size = by_length[length], max(1, most // max(1, length))
        yield from (positions[at : at + size] for at in range(0, len(positions), size))


class ModelFiles(NamedTuple):
    """A model to load.

    :param limit: the most tokens of a text.
    :param pooling: `mean`, `cls` or `last`.
    :param dimension: how many numbers of a vector are kept; 0: all.
    :param prefix: put before each text.
    """

    model: str
    tokenizer: str
    limit: int
    pooling: str = ""
    dimension: int = 0
    prefix: str = ""


class OnnxModel:
    """A session with its tokenizer.

    :raises ValueError: when a file is not what it should be.
    """

    def __init__(self, files: ModelFiles, threads: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.files, self.name = files, f"onnxruntime {version('onnxruntime')}"
        try:
            self._tokenizer = Tokenizer.from_file(files.tokenizer)
        except Exception as error:
            raise ValueError(f"{files.tokenizer} holds no tokenizer: {_line(error)}") from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(files.limit)
        try:
            self._session = onnxruntime.InferenceSession(
                files.model, options_for(threads), providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ValueError(f"{files.model} cannot be loaded: {_line(error)}") from None
        self._inputs = {node.name for node in self._session.get_inputs()}

    def tokenize(self, texts: Sequence[str]) -> list[Any]:
        """Return the tokens of texts."""
        prefixed = [without_halves(f"{self.files.prefix}{text}") for text in texts]
        return [*self._tokenizer.encode_batch(prefixed)]

    def vectors(self, tokens: Sequence[Any]) -> Array:
        """Return the vectors of tokens: `(len(tokens), dimension)`, each of length 1.

        :raises ValueError: when the model makes something else.
        """
        rows = np.stack(self._each(tokens, self._pooled))
        if rows.shape[1] < self.files.dimension:
            raise ValueError(f"the vectors of {self.files.model} have {rows.shape[1]} numbers")
        kept = rows[:, : self.files.dimension or None]
        lengths = np.linalg.norm(kept, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise ValueError(f"the vectors of {self.files.model} are no numbers, or zero")
        unit: Array = kept / lengths
        return unit

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage answers a query, by a model that was trained for that.

        :raises ValueError: when the model is another kind.
        """
        pairs = self._tokenizer.encode_batch([(query, passage) for passage in passages])
        return [float(score) for score in self._each(pairs, _scores_of)]

    def _each(self, tokens: Sequence[Any], read: Callable[[list[Array]], Array]) -> list[Any]:
        """Return what `read` takes from the outputs of the model, for each text."""
        results: dict[int, Any] = {}
        for positions in equal_lengths([len(one.ids) for one in tokens], BATCH):
            made = read(self._run([tokens[at] for at in positions]))
            if len(made) != len(positions):
                raise ValueError(f"{self.files.model} gives {len(made)} of {len(positions)} texts")
            results |= zip(positions, made, strict=True)
        return [results[at] for at in range(len(tokens))]

    def _run(self, batch: Sequence[Any]) -> list[Array]:
        ids = np.array([one.ids for one in batch], np.int64)
        known = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([one.type_ids for one in batch], np.int64),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        if unknown := self._inputs - {*known}:
            names = ", ".join(sorted(unknown))
            raise ValueError(f"{self.files.model} wants {names}, which is not known")
        try:
            outputs: list[Array] = self._session.run(None, {n: known[n] for n in self._inputs})
        except Exception as error:
            raise ValueError(f"{self.files.model} failed: {_line(error)}") from None
        return outputs

    def _pooled(self, outputs: list[Array]) -> Array:
        """Return the vectors of texts that the model makes, or that those of tokens are made
        into."""
        by_rank = {output.ndim: output for output in reversed(outputs)}
        if 2 in by_rank:
            return by_rank[2].astype(np.float32)
        if 3 not in by_rank:
            raise ValueError(f"{self.files.model} makes no vectors")
        tokens, pooling = by_rank[3].astype(np.float32), self.files.pooling
        if pooling in (FIRST, LAST):
            return tokens[:, 0 if pooling == FIRST else -1]
        mean: Array = tokens.mean(1)
        return mean


def _scores_of(outputs: list[Array]) -> Array:
    logits = outputs[0]
    if logits.ndim != 2 or logits.shape[1] > 2 or not np.isfinite(logits).all():
        raise ValueError("the model gives no scores of pairs of texts")
    return logits[:, -1]


@cache
def _loaded(files: ModelFiles, threads: int) -> OnnxModel:
    return OnnxModel(files, threads)


def load(files: ModelFiles, characters: int, threads: int) -> OnnxModel:
    """Return a model, read into this process once, however much is to be read."""
    return _loaded(files, threads)


def embed(files: ModelFiles, threads: int, texts: list[str]) -> Array:
    """Return the vectors of a few texts."""
    model = _loaded(files, threads)
    return model.vectors(model.tokenize(texts))


def rank(files: ModelFiles, threads: int, query: str, passages: list[str]) -> list[float]:
    """Return how well each passage answers a query; the best has the highest score."""
    return _loaded(files, threads).scores(query, passages)


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
