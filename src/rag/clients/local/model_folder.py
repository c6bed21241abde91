"""What the folder of a model says of it, as sentence-transformers and optimum write it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rag.exceptions import LIST_SETTINGS, ConfigError, ConnectionError

MEAN, FIRST, LAST = POOLINGS = ("mean", "cls", "last")
_POOLING_KEYS = {
    "pooling_mode_mean_tokens": MEAN,
    "pooling_mode_cls_token": FIRST,
    "pooling_mode_lasttoken": LAST,
}
_LEAST, _LONGEST = 4, 8192  # tokens; what a folder says beyond the longest is a placeholder
_USUAL = 512
_QUERY, _DOCUMENT = ("query", "search_query"), ("passage", "document", "search_document", "corpus")
_LARGEST = 50_000_000  # bytes of a file of settings


@dataclass(frozen=True)
class ModelFolder:
    """The files of a model: an `.onnx` file, and what lies beside it, or, as optimum has it, one
    folder up.

    :param path: the `.onnx` file, or the folder of one called `model.onnx`.
    :param setting: which names it.
    :param pooling: how one vector comes of those of tokens: `mean`, `cls` or `last`; `auto`: as the
        folder says.
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
        stamps = [f"{one.st_size:x}-{one.st_mtime_ns:x}" for one in facts]
        return "-".join([*stamps, str(self.limit), self.chosen_pooling])

    @property
    def chosen_pooling(self) -> str:
        """How one vector comes of those of tokens."""
        if self.pooling != "auto":
            return self.pooling
        said = self._json("1_Pooling/config.json")
        return next((how for key, how in _POOLING_KEYS.items() if said.get(key) is True), MEAN)

    def prefixes(self) -> tuple[str, str] | None:
        """Return what is put before a query and before a document; `None` where it says nothing."""
        prompts = self._json("config_sentence_transformers.json").get("prompts")
        if not isinstance(prompts, dict):
            return None
        query, document = (
            next((prompts[n] for n in names if isinstance(prompts.get(n), str)), "")
            for names in (_QUERY, _DOCUMENT)
        )
        return (query, document) if query or document else None

    def check(self) -> None:
        """Raise an error when something is missing.

        :raises ConfigError: when it is a file.
        :raises ConnectionError: when it is a library.
        """
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
        """The file of the graph.

        :raises ConfigError: when there is none.
        """
        path = Path(self.path).expanduser()
        is_file = path.suffix == ".onnx"
        places = [path] if is_file else [path / "model.onnx", path / "onnx/model.onnx"]
        for place in places:
            if place.is_file():
                return place
        hint = "Export the model to ONNX, with its tokenizer.json beside it."
        raise self._missing(f"there is no file {places[0]}", hint)

    @property
    def tokenizer(self) -> Path:
        """The file of its tokens.

        :raises ConfigError: when there is none.
        """
        path = self._beside("tokenizer.json")
        if path is None:
            hint = "Put the one of the model's repository there."
            raise self._missing(f"there is no tokenizer.json beside {self.model}", hint)
        return path

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
        usable = [one for one in limits if type(one) is int and one >= _LEAST]
        return min(_LONGEST, *usable) if usable else _USUAL

    def _missing(self, what: str, hint: str) -> ConfigError:
        return ConfigError(f"{self.setting}: {what}", hint=f"{hint} {LIST_SETTINGS}")

    def _beside(self, name: str) -> Path | None:
        folder = self.model.parent
        places = [folder, folder.parent] if folder.name == "onnx" else [folder]
        return next((place / name for place in places if (place / name).is_file()), None)

    def _json(self, name: str) -> dict[str, Any]:
        """Return what a file of settings says; nothing of one that is missing or damaged."""
        path = self._beside(name)
        try:
            if path is None or path.stat().st_size > _LARGEST:
                return {}
            said = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return said if isinstance(said, dict) else {}
