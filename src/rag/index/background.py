"""What a model makes of texts on anything: against it, nearness can be compared between queries.

Cosines of a model lie in a narrow range whatever one asks. Some texts are near to every query, and
some queries to every text. Two corrections, both known from the verification of speakers (adaptive
score normalisation) and from retrieval across languages (CSLS):

- The *level* of a text is its mean cosine to questions on anything. Vectors have length 1, so it is
  the product with the mean of the questions' vectors, and to rank by cosine − share · level is to
  ask with query − share · mean: nothing is kept with the texts.
- The *excess* of a text is its cosine less its level, less half of what the nearest three of a
  foreign library have: passages on anything, in the script of the text. It is about 0 where a
  library that knows nothing of the matter would have had as much.

The questions and passages (`background_texts.tsv`) are embedded once for each model. Those of the
built-in one come with the program (`training/make_background.py`), those of another are kept
in the manifest of the index.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rag.index.embedding_space import Space, read_embedded
from rag.support.vector_digest import pack_vectors, unit_vectors, unpack_vectors
from rag.text.scripts import main_script

if TYPE_CHECKING:
    import numpy as np

    from rag.index.manifest import Manifest

    Array = np.ndarray[Any, np.dtype[np.float32]]

_FOLDER = Path(__file__).parent
_KEY = "background"
_LEVEL = 0.5  # of the level, in ranking; measured in docs/ranking.md
_COHORT, _NEAREST = 0.5, 3
_FEW = 500  # chunks; the texts of a smaller index are hardly more than those of the background
_LATIN = "latin"
# As `main_script` names them, which takes some milliseconds to tell them from the texts.
_SCRIPTS = {"ja": "ja", "zh": "ja", "ko": "hangul", "ru": "cyrillic"}


class BackgroundTexts(NamedTuple):
    """The texts, and the script of each passage."""

    questions: list[str]
    passages: list[str]
    scripts: list[str]


@cache
def background_texts() -> BackgroundTexts:
    """Return the texts on anything, in nine languages."""
    lines = (_FOLDER / "background_texts.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    passages = [(language, text) for kind, language, text in rows if kind == "passage"]
    questions = [text for kind, _, text in rows if kind == "question"]
    scripts = [_SCRIPTS.get(language, _LATIN) for language, _ in passages]
    return BackgroundTexts(questions, [text for _, text in passages], scripts)


@dataclass(frozen=True)
class Background:
    """What one model makes of the texts.

    :param level: the mean of the questions' vectors: `(dimension,)`.
    :param passages: their vectors, of length 1: `(passages, dimension)`.
    """

    level: Array
    passages: Array

    @cached_property
    def _by_script(self) -> dict[str, Array]:
        scripts = background_texts().scripts
        return {name: self.passages[[script == name for script in scripts]] for name in {*scripts}}

    def __deepcopy__(self, memo: dict[int, Any]) -> Background:
        return self  # Haystack copies what goes from one component to the next

    @classmethod
    def of(cls, questions: Sequence[Sequence[float]], passages: Sequence[Sequence[float]]) -> Self:
        """Make it of the vectors of the texts, of any length."""
        import numpy as np

        return cls(unit_vectors(questions).mean(axis=0, dtype=np.float32), unit_vectors(passages))

    def leveled(self, query: Sequence[float]) -> list[float]:
        """Return the vector to ask with, of length 1, so that texts are found by their cosine less
        half of their level."""
        leveled: list[float] = unit_vectors(unit_vectors(query) - _LEVEL * self.level).tolist()
        return leveled

    def excess(
        self, query: Sequence[float], sentences: Sequence[Sequence[float]], text: str
    ) -> float:
        """Return how much nearer the nearest of the sentences of a text is to a query than what a
        foreign library has in its script."""
        import numpy as np

        of_script = self._by_script.get(main_script(text) or _LATIN, self._by_script[_LATIN])
        direction = unit_vectors(query) - self.level
        nearest = (unit_vectors(sentences) @ direction).max()
        foreign = np.sort(of_script @ direction)[-_NEAREST:].mean()
        return float(nearest - _COHORT * foreign)

    def dumped(self) -> bytes:
        """Return it as bytes: passages in 8 bits a number."""
        level: bytes = self.level.astype("<f4").tobytes()
        return level + pack_vectors(self.passages)

    @classmethod
    def loaded(cls, dumped: bytes) -> Background:
        """Make it of what `dumped` gave.

        :raises ValueError: when that is not of as many passages as there are texts.
        """
        import numpy as np

        count = len(background_texts().passages)
        dimension, rest = divmod(len(dumped), 4 + count)
        if rest or not dimension:
            raise ValueError("the background is of other texts")
        level = np.frombuffer(dumped, "<f4", dimension)
        return cls(level, unpack_vectors(dumped[4 * dimension :], count))


def read_background(manifest: Manifest | None) -> Background | None:
    """Return what the model of an index makes of the texts; `None` where the index has no
    embeddings, or nobody asked the model."""
    embedded = read_embedded(manifest)
    if manifest is None or embedded is None:
        return None
    if shipped := _shipped(embedded.space):
        return _load(shipped)
    kept = _kept(manifest)
    try:
        return _load(kept["vectors"]) if kept.get("space") == embedded.space.key else None
    except (KeyError, ValueError):  # of other texts, which an older program had
        return None


def lacks_background(manifest: Manifest, space: Space, chunks: int) -> bool:
    """Return whether the model of an index is to be asked for it.

    :param chunks: of the index.
    """
    return chunks >= _FEW and not _shipped(space) and _kept(manifest).get("space") != space.key


def record_background(manifest: Manifest, space: Space, background: Background) -> None:
    """Keep what a model made of the texts."""
    vectors = b64encode(background.dumped()).decode()
    manifest.set(**{_KEY: json.dumps({"space": space.key, "vectors": vectors})})


def _shipped(space: Space) -> Path | None:
    """Return the file that comes with the program for a model."""
    path = _FOLDER / f"{space.model}.background"
    return path if space.provider == "builtin" and path.is_file() else None


@lru_cache(maxsize=2)
def _load(source: Path | str) -> Background:
    """Make it of a file, or of what a manifest keeps."""
    return Background.loaded(source.read_bytes() if isinstance(source, Path) else b64decode(source))


def _kept(manifest: Manifest) -> dict[str, str]:
    kept: dict[str, str] = json.loads(manifest.get(_KEY) or "{}")
    return kept
