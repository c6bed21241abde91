"""A model in ONNX at work, in the process that calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.clients.local.engine import BATCH, cleaned, equal_lengths, options_for
from rag.clients.local.model_folder import FIRST, LAST, ModelFolder

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


class OnnxModel:
    """See `rag.clients.local.engine.Engine`.

    :param prefix: put before each text.
    :raises ValueError: when a file is not what it should be.
    """

    def __init__(self, folder: ModelFolder, threads: int, prefix: str = "") -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.name = f"onnxruntime {version('onnxruntime')}"
        self.folder, self.prefix = folder, prefix
        try:
            self._tokenizer = Tokenizer.from_file(str(folder.tokenizer))
        except Exception as error:
            raise ValueError(f"{folder.tokenizer} holds no tokenizer: {_line(error)}") from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(folder.limit)
        try:
            self._session = onnxruntime.InferenceSession(
                folder.model, options_for(threads), providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ValueError(f"{folder.model} cannot be loaded: {_line(error)}") from None

    def tokenize(self, texts: Sequence[str]) -> list[Any]:
        """Return the tokens of texts."""
        return [*self._tokenizer.encode_batch([f"{self.prefix}{text}" for text in texts])]

    def vectors(self, tokens: Sequence[Any]) -> Array:
        """Return the vectors of tokens: `(len(tokens), dimension)`, each of length 1.

        :raises ValueError: when the model makes something else.
        """
        rows = np.stack(self._each(tokens, self._pooled))
        if rows.shape[1] < self.folder.dimension:
            raise ValueError(f"the vectors of {self.folder.model} have {rows.shape[1]} numbers")
        kept = rows[:, : self.folder.dimension or None]
        lengths = np.linalg.norm(kept, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise ValueError(f"the vectors of {self.folder.model} are no numbers, or zero")
        unit: Array = kept / lengths
        return unit

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage answers a query, by a model that was trained for that.

        :raises ValueError: when the model is another kind.
        """
        pairs = [(cleaned(query), cleaned(passage)) for passage in passages]
        return [float(score) for score in self._each(self._tokenizer.encode_batch(pairs), _scores)]

    def _each(self, tokens: Sequence[Any], read: Callable[[list[Array]], Array]) -> list[Any]:
        """Return what `read` takes from the outputs of the model, for each text."""
        results: dict[int, Any] = {}
        for positions in equal_lengths([len(one.ids) for one in tokens], BATCH):
            made = read(self._run([tokens[at] for at in positions]))
            if len(made) != len(positions):
                raise ValueError(f"{self.folder.model} gives {len(made)} of {len(positions)} texts")
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
        wanted = {node.name for node in self._session.get_inputs()}
        if unknown := wanted - {*known}:
            names = ", ".join(sorted(unknown))
            raise ValueError(f"{self.folder.model} wants {names}, which is not known")
        try:
            outputs: list[Array] = self._session.run(None, {name: known[name] for name in wanted})
        except Exception as error:
            raise ValueError(f"{self.folder.model} failed: {_line(error)}") from None
        return outputs

    def _pooled(self, outputs: list[Array]) -> Array:
        """Return the vectors of texts that the model makes, or that those of tokens are made
        into."""
        by_rank = {output.ndim: output.astype(np.float32) for output in reversed(outputs)}
        if 2 in by_rank:
            return by_rank[2]
        if 3 not in by_rank:
            raise ValueError(f"{self.folder.model} makes no vectors")
        tokens, pooling = by_rank[3], self.folder.chosen_pooling
        pooled: Array = {FIRST: tokens[:, 0], LAST: tokens[:, -1]}.get(pooling, tokens.mean(1))
        return pooled


def _scores(outputs: list[Array]) -> Array:
    logits = outputs[0]
    if logits.ndim != 2 or logits.shape[1] > 2 or not np.isfinite(logits).all():
        raise ValueError("the model gives no scores of pairs of texts")
    return logits[:, -1]


_loaded = cache(OnnxModel)


def load(folder: ModelFolder, prefix: str, characters: int, threads: int) -> OnnxModel:
    """Return a model, read into this process once, however much is to be read."""
    return _loaded(folder, threads, prefix)


def rank(folder: ModelFolder, threads: int, query: str, passages: list[str]) -> list[float]:
    """Return how well each passage answers a query; the best has the highest score."""
    return OnnxModel(folder, threads).scores(query, passages)


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
