"""Vectors of texts by servers, whatever goes wrong with some of the texts or of the servers.

A request that fails is sent again after a pause. Does it still fail, a tiny request tells whether
the server is at fault (then others do its work) or the batch, which is halved until what is bad in
it stands alone. A text that is longer than the model reads is embedded in windows, and has the mean
of their vectors, weighted by length.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import hypot, isfinite
from operator import mul
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from rag.clients.http_client import (
    FAILURES,
    LONGEST_WAIT,
    OF_THE_INPUT,
    BadVectors,
    Blame,
    Trouble,
    explain,
)
from rag.clients.protocols import EmbeddedTexts, Vector
from rag.exceptions import ConnectionError, QueryError, RAGError
from rag.text.token_estimate import count_tokens

if TYPE_CHECKING:
    from rag.clients.dialects import Client

MAX_TEXTS = 128  # in one batch; 1.4 MB of answer at 1,024 dimensions
LEAST_WINDOW = 16  # characters; a model that cannot read these reads nothing
_RESERVE = 8  # tokens that a model puts around a text, and what a count is wrong by
_BUSY_TRIES = 7  # with pauses of 0.5, 1, 2, 4, 8 and 8 s
_LONGEST_PAUSE = 8.0
_LONGEST_WAIT_OF_QUERY = 2.0  # of what a server asks for
_SPACE = re.compile(r"\s+|[。、！？]")


Batch = dict[int, str]  # texts that go into one request, by their positions among all


def pack(texts: Iterable[str], batch_tokens: int) -> Iterator[Batch]:
    """Yield the texts in their order, as many at once as `batch_tokens` hold, at least one."""
    batch, size = Batch(), 0
    for position, text in enumerate(texts):
        tokens = count_tokens(text)
        if batch and (size + tokens > batch_tokens or len(batch) >= MAX_TEXTS):
            yield batch
            batch, size = Batch(), 0
        batch[position] = text
        size += tokens
    if batch:
        yield batch


def halves(text: str) -> list[str]:
    """Cut a text in two, near its middle and behind white space where there is some; what is white
    space is left out."""
    middle, reach = len(text) // 2, max(1, len(text) // 8)
    spaces = (match.end() for match in _SPACE.finditer(text, middle - reach, middle + reach))
    at = min(spaces, key=lambda end: abs(end - middle), default=middle)
    return [part for part in (text[:at], text[at:]) if part.strip()]


def windows(text: str, limit: int) -> list[str]:
    """Cut a text into windows of at most so many tokens, but for those of a few characters."""
    if len(text) < 2 * LEAST_WINDOW or count_tokens(text) <= limit:
        return [text]
    return [window for half in halves(text) for window in windows(half, limit)]


def usable(given: Sequence[Any], count: int, dimension: int = 0) -> list[Vector | None]:
    """Return the vectors that a server gave, `None` for each that has not finite numbers, or all
    zero; or raise `BadVectors` for another `count` or `dimension` (0 for any), or where none is a
    vector."""
    if len(given) != count:
        raise BadVectors(f"gave {len(given)} vectors for {count} texts")
    vectors = [_vector(numbers) for numbers in given]
    lengths = {len(vector) for vector in vectors if vector}
    if not lengths:
        raise BadVectors("gave vectors that are zero or no numbers")
    due = dimension or max(lengths)
    if wrong := lengths - {due}:
        raise BadVectors(f"gave vectors of {min(wrong)} numbers where {due} are due")
    return vectors


def _vector(numbers: Any) -> Vector | None:
    try:
        vector = [*map(float, numbers)]  # JSON of Go writes 1.0 as 1
    except (TypeError, ValueError):
        return None
    length = hypot(*vector)
    return vector if length and isfinite(length) else None


@dataclass
class BatchEmbedder:
    """Embed batches by one server, from several threads at once.

    :param prefix: put before every text, and before each window of one.
    :param backoff: seconds before the second try; doubled with each.
    :param seconds: the longest that a request may take; `None` for the configured time.
    """

    client: Client
    prefix: str = ""
    dimension: int = 0
    limit: int = 0
    retries: int = 2
    backoff: float = 0.5
    seconds: float | None = None
    patient: bool = True

    def __post_init__(self) -> None:
        if self.limit:
            self.limit = max(self.limit - count_tokens(self.prefix) - _RESERVE, 1)
        self.stopped = threading.Event()  # ends all pauses; what is under way raises soon
        self._most = MAX_TEXTS  # that the server takes in one request, as far as it has said

    def embed(self, texts: Sequence[str]) -> list[Vector | RAGError]:
        """Return a vector for each text, or why it has none.

        :raises ConnectionError: when the server is at fault, not the texts.
        """
        cut = [self._cut(text) for text in texts]
        vectors = iter(self._embed([*chain.from_iterable(cut)]))
        return [_joined(parts, [*islice(vectors, len(parts))]) for parts in cut]

    def _cut(self, text: str) -> list[str]:
        if not text.strip():
            return []
        return windows(text, self.limit) if self.limit else [text]

    def _embed(self, texts: list[str], again: bool = True) -> list[Vector | RAGError]:
        middle = len(texts) // 2
        if not texts:
            return []
        if len(texts) > self._most:
            return self._embed(texts[:middle]) + self._embed(texts[middle:])
        result = self._request(texts, self.retries + 1 if again or len(texts) == 1 else 1)
        if isinstance(result, list):
            # What is no vector in an answer that is otherwise right is asked for once more.
            pairs = zip(texts, result, strict=True)
            return [vector or self._embed([text])[0] for text, vector in pairs]
        if len(texts) == 1:
            if result.blame in (Blame.LENGTH, Blame.NUMBER) and len(texts[0]) >= 2 * LEAST_WINDOW:
                parts = halves(texts[0])
                return [_joined(parts, self._embed(parts))]
            self._check_server(result)  # the text is at fault, unless the server is
            return [result.error]
        if result.blame is Blame.NUMBER:
            self._most = middle
        return self._embed(texts[:middle], again=False) + self._embed(texts[middle:], again=False)

    def _request(self, texts: list[str], tries: int) -> list[Vector | None] | Trouble:
        """Return the vectors, or why there are none although the server is well."""
        attempt = 0
        while True:
            result = self._ask(texts)
            if not isinstance(result, Trouble) or result.blame in OF_THE_INPUT:
                return result
            longest_wait = LONGEST_WAIT if self.patient else _LONGEST_WAIT_OF_QUERY
            if result.blame is Blame.SERVER or result.wait > longest_wait:
                raise result.error
            is_busy = result.blame is Blame.BUSY and self.patient
            attempt += 1
            if result.blame is Blame.SLOW or attempt >= (_BUSY_TRIES if is_busy else tries):
                self._check_server(result)
                return result
            pause = min(self.backoff * 2 ** (attempt - 1), _LONGEST_PAUSE)
            self.stopped.wait(max(pause, result.wait))

    def _check_server(self, trouble: Trouble) -> None:
        """Raise what is wrong when the server does not manage even a single letter."""
        result = self._ask(["a"]) if self.patient else trouble
        if isinstance(result, Trouble):
            raise result.error

    def _ask(self, texts: list[str]) -> list[Vector | None] | Trouble:
        if self.stopped.is_set():
            raise QueryError("stopped")
        try:
            given = self.client.vectors([self.prefix + text for text in texts], self.seconds)
            vectors = usable(given, len(texts), self.dimension)
        except FAILURES as error:
            return explain(error, self.client.endpoint)
        self.dimension = self.dimension or len(next(filter(None, vectors)))
        return vectors


def _joined(parts: Sequence[str], vectors: Sequence[Vector | RAGError]) -> Vector | RAGError:
    """Return the one vector of a text by those of its parts, their mean weighted by length; of one
    that was not cut as it came."""
    good = [vector for vector in vectors if not isinstance(vector, RAGError)]
    if len(good) < len(vectors):
        return next(vector for vector in vectors if isinstance(vector, RAGError))
    if not good:
        return QueryError("there is no text to embed")
    if len(good) == 1:
        return good[0]
    scales = [len(part) / hypot(*vector) for part, vector in zip(parts, good, strict=True)]
    middle = [sum(map(mul, column, scales)) for column in zip(*good, strict=True)]
    norm = hypot(*middle)
    if not norm:
        return QueryError("the parts of the text have no common vector")
    return [number / norm for number in middle]


def embed_query(embedders: Iterable[BatchEmbedder], texts: Sequence[str]) -> list[Vector | None]:
    """Return the vectors of a query and of what else to search for, in one request, by the first
    server that does it; see `rag.clients.protocols.EmbeddingProvider`."""
    failure: ConnectionError | None = None
    for embedder in embedders:
        # One of the other texts may break the request; the query can do without them.
        for asked in (texts, texts[:1])[: len(texts)]:
            try:
                first, *others = embedder.embed(asked)
            except ConnectionError as error:
                failure = error
                continue
            if isinstance(first, RAGError):
                raise first
            vectors = [None if isinstance(vector, RAGError) else vector for vector in others]
            return [first, *vectors, *[None] * (len(texts) - len(asked))]
    assert failure
    raise failure


def embed_in_batches(
    texts: Iterable[str], embedders: Sequence[BatchEmbedder], batch_tokens: int, in_flight: int
) -> Generator[EmbeddedTexts, None, None]:
    """Embed texts by several servers, each with `in_flight` requests of `batch_tokens` at once; one
    that fails is left out, a `ConnectionError` when it was the last. Texts are taken as they are
    needed, in the caller's thread, and batches come as they are done. Closing the iterator, or
    Ctrl-C, abandons what is under way: the threads are daemons."""
    batches = pack(texts, batch_tokens)
    to_do: SimpleQueue[Batch | None] = SimpleQueue()
    done: SimpleQueue[tuple[Batch, EmbeddedTexts | BaseException]] = SimpleQueue()

    def work(embedder: BatchEmbedder) -> None:
        while (batch := to_do.get()) is not None:
            try:
                outcomes = dict(zip(batch, embedder.embed([*batch.values()]), strict=True))
            except BaseException as error:
                done.put((batch, error))
                return
            vectors = [(at, v) for at, v in outcomes.items() if not isinstance(v, RAGError)]
            failures = [(at, str(e)) for at, e in outcomes.items() if isinstance(e, RAGError)]
            done.put((batch, EmbeddedTexts(vectors, failures)))

    workers = [embedder for embedder in embedders for _ in range(in_flight)]
    for embedder in workers:
        threading.Thread(target=work, args=(embedder,), name="rag-embed", daemon=True).start()
    waiting, at_work = 0, len(workers)
    try:
        while True:
            for batch in islice(batches, max(0, 2 * at_work - waiting)):
                to_do.put(batch)
                waiting += 1
            if not waiting:
                return
            batch, result = done.get()
            if isinstance(result, BaseException):
                at_work -= 1
                if not at_work or not isinstance(result, RAGError):
                    raise result
                to_do.put(batch)
                continue
            waiting -= 1
            yield result
    finally:
        for embedder in embedders:
            embedder.stopped.set()
            embedder.client.close()
        for _ in workers:
            to_do.put(None)
