"""What the folder of a model says of it, as sentence-transformers and optimum write it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rag.exceptions import ConfigError, ConnectionError, Remedy

MEAN, FIRST, LAST = POOLINGS = ("mean", "cls", "last")
_POOLING_KEYS = {
    "pooling_mode_mean_tokens": MEAN,
    "pooling_mode_cls_token": FIRST,
    "pooling_mode_lasttoken": LAST,
}
_LEAST, _LONGEST = 4, 8192  # tokens; what a folder says beyond the longest is a placeholder
_USUAL = 512
_QUERY, _DOCUMENT = ("query", "search_query"), ("passage", "document", "search_document", "corpus")
_LARGEST = 50_000_000  # bytes of a file of settings; tokenizer.json has as much


@dataclass(frozen=True)
class ModelFolder:
    """The files of a model: an `.onnx` file, and what lies beside it, or, as optimum has it, one
    folder up.

    :param path: the `.onnx` file, or the folder of one called `model.onnx`.
    :param setting: which names it.
    """

    path: str
    setting: str

    @cached_property
    def model(self) -> Path:
        """The file of the graph.

        :raises ConfigError: when there is none.
        """
        path = Path(self.path).expanduser()
        places = (
            [path] if path.suffix == ".onnx" else [path / "model.onnx", path / "onnx/model.onnx"]
        )
        for place in places:
            if place.is_file():
                return place
        raise ConfigError(
            f"{self.setting}: there is no file {places[0]}",
            hint="Export the model to ONNX, with its tokenizer.json beside it.",
            remedy=Remedy.LIST_SETTINGS,
        )

    @property
    def name(self) -> str:
        """What the model is called: its folder, whether it is there or not."""
        path = Path(self.path).expanduser()
        folder = path.parent if path.suffix == ".onnx" else path
        return folder.parent.name if folder.name == "onnx" else folder.name

    @property
    def tokenizer(self) -> Path:
        """The file of its tokens.

        :raises ConfigError: when there is none.
        """
        found = self._beside("tokenizer.json")
        if found is None:
            raise ConfigError(
                f"{self.setting}: there is no tokenizer.json beside {self.model}",
                hint="Put the one of the model's repository there.",
                remedy=Remedy.LIST_SETTINGS,
            )
        return found

    @property
    def version(self) -> str:
        """Changes when the file of the graph or of the tokens does."""
        facts = [path.stat() for path in (self.model, self.tokenizer)]
        return "-".join(f"{one.st_size:x}-{one.st_mtime_ns:x}" for one in facts)

    @property
    def pooling(self) -> str:
        """How one vector comes of those of tokens: `mean`, `cls` or `last`."""
        said = self._json("1_Pooling/config.json")
        return next((how for key, how in _POOLING_KEYS.items() if said.get(key) is True), MEAN)

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

    def prefixes(self) -> tuple[str, str] | None:
        """Return what is put before a query and before a document; `None` where it says nothing."""
        prompts = self._json("config_sentence_transformers.json").get("prompts")
        if not isinstance(prompts, dict):
            return None
        texts = {name: text for name, text in prompts.items() if isinstance(text, str)}
        found = [next((texts[n] for n in names if n in texts), "") for names in (_QUERY, _DOCUMENT)]
        return (found[0], found[1]) if any(found) else None

    def check(self) -> None:
        """Raise an error when something is missing.

        :raises ConfigError: when it is a file.
        :raises ConnectionError: when it is a library.
        """
        assert self.model and self.tokenizer
        if not all(map(find_spec, ("onnxruntime", "tokenizers"))):
            raise ConnectionError(
                "models in ONNX take libraries that are not installed",
                str(self.model),
                hint=f"Install them, or leave {self.setting} empty.",
                remedy=Remedy.ADD_EXTRA,
                subject="onnx",
            )

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
