"""A model in ONNX at work, in the very process that calls: `rag.clients.builtin` starts those."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from rag.clients.builtin.batches import equal_lengths
from rag.clients.onnx.model_folder import FIRST, LAST

Array = np.ndarray[Any, np.dtype[Any]]
_BATCH = 2048  # tokens that are multiplied at once


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
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(
                files.model, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ValueError(f"{files.model} cannot be loaded: {_line(error)}") from None
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._outputs = [made.name for made in self._session.get_outputs()]

    def tokenize(self, texts: Sequence[str]) -> list[Any]:
        """Return the tokens of texts."""
        return [*self._tokenizer.encode_batch([f"{self.files.prefix}{text}" for text in texts])]

    def vectors(self, tokens: Sequence[Any]) -> Array:
        """Return the vectors of tokens: `(len(tokens), dimension)`, each of length 1.

        :raises ValueError: when the model makes something else.
        """
        rows = np.stack(self._each(tokens, self._pooled))
        if rows.shape[1] < self.files.dimension:
            raise ValueError(f"the model's vectors have {rows.shape[1]} numbers")
        kept = rows[:, : self.files.dimension or None]
        lengths = np.linalg.norm(kept, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise ValueError("the model's vectors are no numbers, or zero")
        unit: Array = kept / lengths
        return unit

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage answers a query, by a model that was trained for that.

        :raises ValueError: when the model is another kind.
        """
        pairs = self._tokenizer.encode_batch([(query, passage) for passage in passages])
        return [float(score) for score in self._each(pairs, self._scored)]

    def _each(self, tokens: Sequence[Any], make: Any) -> list[Any]:
        made: dict[int, Any] = {}
        for positions in equal_lengths([len(one.ids) for one in tokens], _BATCH):
            batch = [tokens[at] for at in positions]
            made |= zip(positions, make(self._run(batch)), strict=True)
        return [made[at] for at in range(len(tokens))]

    def _run(self, batch: Sequence[Any]) -> dict[str, Array]:
        ids = np.array([one.ids for one in batch], np.int64)
        possible = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([one.type_ids for one in batch], np.int64),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        if strange := self._inputs - {*possible}:
            raise ValueError(f"the model wants {', '.join(sorted(strange))}, which is not known")
        given = {name: possible[name] for name in self._inputs}
        try:
            made = self._session.run(None, given)
        except Exception as error:
            raise ValueError(f"the model failed: {_line(error)}") from None
        return dict(zip(self._outputs, made, strict=True))

    def _pooled(self, outputs: dict[str, Array]) -> Array:
        """Return the vectors that an output holds, or that those of tokens are made into."""
        for output in outputs.values():
            if output.ndim == 2:
                return output.astype(np.float32)
        tokens = next((one for one in outputs.values() if one.ndim == 3), None)
        if tokens is None:
            raise ValueError("the model makes no vectors")
        if self.files.pooling == FIRST:
            return tokens[:, 0].astype(np.float32)
        if self.files.pooling == LAST:
            return tokens[:, -1].astype(np.float32)
        mean: Array = tokens.astype(np.float32).mean(1)
        return mean

    def _scored(self, outputs: dict[str, Array]) -> Array:
        logits = next(iter(outputs.values()))
        if logits.ndim != 2 or logits.shape[1] > 2 or not np.isfinite(logits).all():
            raise ValueError("the model gives no scores of pairs of texts")
        return logits[:, -1]


def load(files: ModelFiles, characters: int, threads: int) -> OnnxModel:
    """Return a model, read into this process once, however much is to be read."""
    return _loaded(files, threads)


@cache
def _loaded(files: ModelFiles, threads: int) -> OnnxModel:
    return OnnxModel(files, threads)


def embed(files: ModelFiles, threads: int, texts: list[str]) -> Array:
    """Return the vectors of a few texts."""
    model = _loaded(files, threads)
    return model.vectors(model.tokenize(texts))


def rank(files: ModelFiles, threads: int, query: str, passages: list[str]) -> list[float]:
    """Return how well each passage answers a query; the best has the highest score."""
    return _loaded(files, threads).scores(query, passages)


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
