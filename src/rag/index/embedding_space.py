"""The embeddings of an index: what made them and how many chunks have one; the vectors of texts
that were embedded before; and what a model makes of texts on anything.

Against these, nearness can be compared between queries. Cosines of a model lie in a narrow range
whatever one asks. Some texts are near to every query, and some queries to every text. Two
corrections, both known from the verification of speakers (adaptive score normalisation) and from
retrieval across languages (CSLS):

- The *level* of a text is its mean cosine to questions on anything. Vectors have length 1, so it is
  the product with the mean of the questions' vectors, and to rank by cosine − share · level is to
  ask with query − share · mean: nothing is kept with the texts.
- The *excess* of a text is its cosine less its level, less half of what the nearest three of a
  foreign library have: passages on anything, in the script of the text. It is about 0 where a
  library that knows nothing of the matter would have had as much.

The questions and passages (`background_texts.tsv`) are embedded once for each model. Those of the
built-in one come with the program (`training/make_background.py`), those of another are kept in the
manifest of the index.
"""

from __future__ import annotations

import json
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rag.exceptions import EMBED_ANEW, IndexUnavailableError
from rag.index.manifest import Manifest
from rag.support.closing import Closing
from rag.support.json_reports import hidden, inline, optional
from rag.support.pipeline_parts import NotCopied
from rag.support.vector_digest import may_be_same, pack_vectors, unit_vectors, unpack_vectors
from rag.text.scripts import main_script

if TYPE_CHECKING:
    import numpy as np

    from rag.clients.protocols import EmbeddingProvider

    Array = np.ndarray[Any, np.dtype[np.float32]]

# Raise it when the text that a chunk is embedded by changes.
TEXT_VERSION = 2
_KEY = "embedding"
VECTORS = "vectors.sqlite3"
_VECTORS = """
CREATE TABLE IF NOT EXISTS vectors (
    space TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, UNIQUE (space, text)
);
"""
_FOLDER = Path(__file__).parent
_BACKGROUND = "background"
_LEVEL = 0.5  # of the level, in ranking; measured in docs/ranking.md
_COHORT, _NEAREST = 0.5, 3
_FEW = 500  # chunks; the texts of a smaller index are hardly more than those of the background
_LATIN = "latin"
_NEARLY_ALL = 0.9  # of the chunks that a model can read; who has embedded so many need not be told


@dataclass(frozen=True)
class Space:
    """What made some embeddings: those of two spaces cannot be compared.

    :param digest: of the model's weights; empty where the server does not tell.
    :param provider: who made them; empty in indexes of older programs, which knew Ollama alone.
    """

    model: str
    digest: str
    dimension: int
    document_prefix: str
    version: int = TEXT_VERSION
    provider: str = ""

    @property
    def key(self) -> str:
        """A stable string form, independent of the provider."""
        facts = {name: value for name, value in asdict(self).items() if name != "provider"}
        return json.dumps(facts, sort_keys=True, ensure_ascii=False)

    def is_alike(self, other: Space) -> bool:
        """Return whether embeddings of both can be compared, of models of one name, as far as
        their digests tell."""
        same = replace(other, model=self.model, digest=self.digest, provider=self.provider)
        return self == same and may_be_same(self.digest, other.digest)

    def is_configured(self, provider: EmbeddingProvider) -> bool:
        """Return whether the settings ask for embeddings of this space, as far as they know."""
        return (
            provider.is_model(self.model)
            and self.document_prefix == provider.document_prefix
            and self.version == TEXT_VERSION
        )


@dataclass(frozen=True)
class Embedded:
    """How far the chunks of an index are embedded.

    :param embedded: how many have an embedding.
    :param unreadable: how many have none since the model does not read their script.
    :param failed: how many have none since it failed on them.
    :param rate: chunks a second of the last run that embedded some; 0 when none is known.
    :param runtime: what computed the vectors that it made; empty when not told.
    """

    space: Space = inline()
    chunks: int = 0
    embedded: int = 0
    unreadable: int = 0
    failed: int = 0
    rate: float = hidden(0.0)
    runtime: str = optional("")

    @property
    def lacking(self) -> int:
        """How many have none yet, and may get one."""
        return max(0, self.chunks - self.embedded - self.unreadable - self.failed)

    @property
    def is_complete(self) -> bool:
        """Whether each chunk has one, or cannot be read."""
        return not (self.lacking or self.failed)

    @property
    def readable(self) -> int:
        """How many chunks the model can read."""
        return self.chunks - self.unreadable

    @property
    def share(self) -> float:
        """The share of those that have an embedding; 0 where there are none."""
        return min(1.0, self.embedded / self.readable) if self.readable > 0 else 0.0

    @property
    def is_partial(self) -> bool:
        """Whether so many have none that it shows."""
        return self.share < _NEARLY_ALL


def read_embedded(manifest: Manifest | None) -> Embedded | None:
    """Return what a manifest says of the embeddings; `None` when there are none."""
    facts = json.loads((manifest and manifest.get(_KEY)) or "{}")
    if not facts:
        return None
    of_space = {item.name: facts.pop(item.name) for item in fields(Space) if item.name in facts}
    return Embedded(Space(**of_space), **facts)


def maker(embedded: Embedded | None) -> str:
    """Return which provider made the embeddings of an index; empty where it has none."""
    return (embedded.space.provider or "ollama") if embedded and embedded.embedded else ""


def record_embedded(manifest: Manifest, embedded: Embedded) -> None:
    """Write down what the index holds."""
    facts = asdict(embedded)
    manifest.set(**{_KEY: json.dumps(facts.pop("space") | facts, ensure_ascii=False)})


def other_model(space: Space, provider: EmbeddingProvider) -> IndexUnavailableError:
    """Say that the index's embeddings cannot be used, and what to do."""
    same = provider.is_model(space.model)
    made = f"another version of {space.model}, or with another prefix" if same else f"{space.model}"
    wanted = "" if same else f", not {provider.model}"
    return IndexUnavailableError(
        f"the index's embeddings were made by {made}{wanted}", hint=EMBED_ANEW
    )


# -- vectors by text ---------------------------------------------------------------------


class VectorCache(Closing):
    """Vectors of texts, by the space they are of, in 8 bits a number as the store keeps them.

    :param path: the file, which is made anew when it is missing or damaged; where it cannot be
        written, vectors are kept in memory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self._path)
            db.execute(_VECTORS)
        except (OSError, sqlite3.OperationalError):  # it cannot be written
            db = sqlite3.connect(":memory:")
            db.execute(_VECTORS)
        except sqlite3.DatabaseError:
            for file in self._path.parent.glob(f"{self._path.name}*"):  # its journals too
                file.unlink()
            return self._open()
        return db

    @contextmanager
    def _spared(self) -> Iterator[None]:
        """Let no fault of the file end a run: a full disk loses what came last, damage all."""
        try:
            yield
        except sqlite3.OperationalError:
            return
        except sqlite3.DatabaseError:
            self._db.close()
            self._db = self._open()

    def get(self, space: str, texts: Iterable[str]) -> dict[str, list[float]]:
        """Return the vectors that are known, by text."""
        vectors, key = {}, _key(space).hex()
        query = "SELECT vector FROM vectors WHERE space = ? AND text = ?"
        with self._spared():
            for text in texts:
                if row := self._db.execute(query, (key, _key(text))).fetchone():
                    vectors[text] = unpack_vectors(row[0], 1)[0].tolist()
        return vectors

    def put(self, space: str, vectors: Mapping[str, list[float]]) -> None:
        """Keep the vectors of some texts."""
        key = _key(space).hex()
        rows = [(key, _key(text), pack_vectors(vector)) for text, vector in vectors.items()]
        with self._spared(), self._db:
            self._db.executemany("REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def trim(self, space: str, limit: int) -> None:
        """Forget the vectors of other spaces, and of this one all but the newest `limit`."""
        with self._spared(), self._db:
            self._db.execute("DELETE FROM vectors WHERE space != ?", (_key(space).hex(),))
            self._db.execute(
                "DELETE FROM vectors WHERE rowid <= "
                "(SELECT rowid FROM vectors ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (limit,),
            )

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


# -- background ----------------------------------------------------------------------------


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
    questions = [text for kind, _, text in rows if kind == "question"]
    passages = [text for kind, _, text in rows if kind == "passage"]
    return BackgroundTexts(questions, passages, [main_script(text) or _LATIN for text in passages])


@dataclass(frozen=True)
class Background(NotCopied):
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
    manifest.set(**{_BACKGROUND: json.dumps({"space": space.key, "vectors": vectors})})


def _shipped(space: Space) -> Path | None:
    """Return the file that comes with the program for a model."""
    path = _FOLDER / f"{space.model}.background"
    return path if space.provider == "builtin" and path.is_file() else None


@lru_cache(maxsize=2)
def _load(source: Path | str) -> Background:
    """Make it of a file, or of what a manifest keeps."""
    return Background.loaded(source.read_bytes() if isinstance(source, Path) else b64decode(source))


def _kept(manifest: Manifest) -> dict[str, str]:
    kept: dict[str, str] = json.loads(manifest.get(_BACKGROUND) or "{}")
    return kept
