"""Vectors for one batch of texts, whatever goes wrong with some of them.

A request that fails is sent again, alone and after a pause. Does it still fail, a tiny request
tells whether the server is at fault (then the run ends, with what was made kept) or the batch.
A batch at fault is halved until what is bad in it stands alone; the rest gets its vectors.

A text that is longer than the model reads is embedded in windows, and the mean of their vectors,
weighted by length, is its vector. So a chunk stays one point of the index, nothing of it is
lost as by cutting it off, and the same text has the same vector whatever stood beside it.

A server refuses a batch for one text that is too long, Ollama after it has computed all the others.
No tokenizer is at hand, so what a text is sent with depends on two numbers: one that it surely does
not exceed (its bytes) and an estimate.

| tokens | sent |
|---|---|
| surely no more than the model reads | in a batch |
| more, by the estimate | in windows; each of them is a text of one of the other lines |
| else | alone, and in halves when it is refused, which costs no other text anything |

A server may read less than it says of the model. Then a batch is refused after all, once: from
then on only texts that are half as long as its longest count as surely short. A server may
also take only so many texts at once: then half as many are sent from then on.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import hypot, isfinite
from operator import mul
from queue import SimpleQueue
from typing import Any

from rag.clients.embeddings.batching import (
    LEAST_WINDOW,
    MAX_TEXTS,
    Batch,
    Measure,
    estimate_tokens,
    most_tokens,
    pack,
    split,
    windows,
)
from rag.clients.servers.pool import LONGEST_WAIT, Server, ServerPool
from rag.clients.servers.trouble import OF_THE_INPUT, BadVectors, Blame, Trouble
from rag.exceptions import ConnectionError, QueryError, RAGError

Vector = list[float]


def usable(given: Sequence[Any], count: int, dimension: int = 0) -> list[Vector | None]:
    """Return the vectors that a server gave, `None` for each that is no vector.

    A vector has finite numbers, not all of them zero.

    :param count: how many there must be.
    :param dimension: the length each must have; 0 for any, but all the same.
    :raises BadVectors: when there are more or fewer, when a length is wrong, and when none of
        them is a vector.
    """
    if len(given) != count:
        raise BadVectors(f"gave {len(given)} vectors for {count} texts")
    vectors = [_vector(numbers) for numbers in given]
    lengths = {len(vector) for vector in vectors if vector}
    if not lengths:
        raise BadVectors("gave vectors that are zero or no numbers")
    wrong = lengths - {dimension or max(lengths)}
    if wrong:
        raise BadVectors(
            f"gave vectors of {min(wrong)} numbers where {dimension or max(lengths)} are due"
        )
    return vectors


def _vector(numbers: Any) -> Vector | None:
    try:
        vector = [*map(float, numbers)]  # JSON of Go writes 1.0 as 1
    except (TypeError, ValueError):
        return None
    length = hypot(*vector)
    return vector if length and isfinite(length) else None


def mean(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector | None:
    """Return the weighted mean of unit vectors, again of length 1; `None` if it is zero."""
    scales = [weight / hypot(*vector) for vector, weight in zip(vectors, weights, strict=True)]
    middle = [sum(map(mul, column, scales)) for column in zip(*vectors, strict=True)]
    norm = hypot(*middle)
    return [number / norm for number in middle] if norm else None


_BUSY_TRIES = 7  # with pauses of 0.5, 1, 2, 4, 8 and 8 s
_LONGEST_PAUSE = 8.0
_RESERVE = 8  # tokens that a model puts around a text, and what a count is wrong by
_LONGEST_WAIT_OF_QUERY = 2.0  # of what a server asks for
# What a model reads of a text at least, if it says that it can read so much: Ollama's own `num_ctx`
# and `num_batch`, which count where the model sets none, were never less.
_LEAST_CONTEXT = 2048


@dataclass(frozen=True)
class TextFailure:
    """Why one text has no vector."""

    error: RAGError

    @property
    def reason(self) -> str:
        """The same in one line."""
        return str(self.error)


Outcome = Vector | TextFailure
# The vectors of what a text was embedded in, in its order, and how many characters each is of.
Pieces = list[tuple[Vector, int]]


class BatchEmbedder:
    """Embed batches, from several threads at once.

    :param prefix: put before every text, and before each part of one.
    :param dimension: the length every vector must have; 0 takes that of the first.
    :param limit: the most tokens the model reads, where known: longer texts are cut before
        they are sent, not after they are refused. Where it is 0, all texts are taken for short
        until one is refused.
    :param backoff: seconds before the second try; doubled with each.
    :param patient: `False` raises whatever goes wrong instead of finding out what it was.
    """

    def __init__(
        self,
        pool: ServerPool,
        *,
        prefix: str = "",
        dimension: int = 0,
        limit: int = 0,
        measure: Measure = estimate_tokens,
        retries: int = 2,
        backoff: float = 0.5,
        seconds: float | None = None,
        patient: bool = True,
    ) -> None:
        self.pool, self.prefix = pool, prefix
        self.dimension, self.measure = dimension, measure
        self.limit = max(limit - measure(prefix) - _RESERVE, 1) if limit else 0
        around = most_tokens(prefix) + _RESERVE
        self._sure: float = min(limit, _LEAST_CONTEXT) - around if limit else math.inf
        self.retries, self.backoff = retries, backoff
        self.seconds, self.patient = seconds, patient
        self._most_texts = MAX_TEXTS
        self._longest_wait = LONGEST_WAIT if patient else _LONGEST_WAIT_OF_QUERY
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End all pauses; what is under way raises soon."""
        self._stopped.set()

    def embed(self, texts: Sequence[str]) -> list[Outcome]:
        """Return a vector for each text, or why it has none.

        :raises ConnectionError: when the servers are at fault, not the texts.
        """
        outcomes: dict[int, Pieces | TextFailure] = {}
        ordinary = []
        for position, text in enumerate(texts):
            if not text.strip():
                outcomes[position] = TextFailure(QueryError("there is no text to embed"))
            elif self.limit and self.measure(text) > self.limit:
                outcomes[position] = self._joined(windows(text, self.measure, self.limit))
            else:
                ordinary.append(position)
        found = self._by_length([texts[position] for position in ordinary])
        outcomes.update(zip(ordinary, found, strict=True))
        return [_vector_of(outcomes[position]) for position in range(len(texts))]

    def _by_length(self, texts: list[str]) -> list[Pieces | TextFailure]:
        """Embed those that are surely short in a batch, and each of the others alone."""
        short = [n for n, text in enumerate(texts) if most_tokens(text) <= self._sure]
        found = dict(zip(short, self._embed([texts[n] for n in short]), strict=True))
        for n, text in enumerate(texts):
            if n not in found:
                [found[n]] = self._embed([text])
        return [found[n] for n in range(len(texts))]

    def _joined(self, parts: list[str]) -> Pieces | TextFailure:
        """Embed the parts of one text."""
        pieces: Pieces = []
        for found in self._by_length(parts):
            if isinstance(found, TextFailure):
                return found
            pieces += found
        return pieces

    def _embed(self, texts: list[str], *, again: bool = True) -> list[Pieces | TextFailure]:
        if not texts:
            return []
        if len(texts) > self._most_texts:
            at = self._most_texts
            return self._embed(texts[:at], again=again) + self._embed(texts[at:], again=again)
        tries = self.retries + 1 if again or len(texts) == 1 else 1
        found = self._request(texts, tries)
        if isinstance(found, list):
            # What is no vector in an answer that is otherwise right is asked for once more.
            return [
                [(vector, len(text))] if vector else self._embed([text])[0]
                for text, vector in zip(texts, found, strict=True)
            ]
        if found.blame is Blame.COUNT and len(texts) > 1:
            self._most_texts = min(self._most_texts, len(texts) // 2)
            return self._embed(texts, again=again)
        if found.blame is Blame.LENGTH:
            if len(texts) == 1:
                return [self._halved(texts[0], found)]
            self._sure = min(self._sure, max(map(most_tokens, texts)) // 2)
            return [outcome for text in texts for outcome in self._embed([text])]
        if len(texts) == 1:
            return [self._given_up(found)]
        middle = len(texts) // 2
        first, second = texts[:middle], texts[middle:]
        return self._embed(first, again=False) + self._embed(second, again=False)

    def _halved(self, text: str, refused: Trouble) -> Pieces | TextFailure:
        """Embed the halves of a text that the server found too long."""
        if len(text) < 2 * LEAST_WINDOW:
            return self._given_up(refused)
        return self._joined(split(text, 2))

    def _given_up(self, trouble: Trouble) -> TextFailure:
        """One text is at fault, once it is sure that it is not the server."""
        self._check_servers(trouble)
        return TextFailure(trouble.error)

    def _request(self, texts: list[str], tries: int) -> list[Vector | None] | Trouble:
        """Return the vectors, or why there are none although the servers are well."""
        tries = max(tries, self._usable)
        trouble, attempt = None, 0
        while attempt < tries:
            if trouble and self.pool.all_rest:
                self._pause(attempt, trouble)
            with self.pool.lease() as server:
                found = self._ask(server, texts)
            if not isinstance(found, Trouble):
                return found
            trouble = found
            if trouble.blame in (*OF_THE_INPUT, Blame.SLOW):
                break
            if trouble.wait > self._longest_wait:
                raise trouble.error
            if trouble.blame is Blame.BUSY and self.patient:
                tries = max(tries, _BUSY_TRIES)
            attempt += 1
        assert trouble
        if trouble.blame not in OF_THE_INPUT:
            self._check_servers(trouble)
        return trouble

    def _check_servers(self, trouble: Trouble) -> None:
        """Raise what is wrong when no server manages even a single letter."""
        for _ in range(self._usable if self.patient else 0):
            with self.pool.lease() as server:
                found = self._ask(server, ["a"])
            if not isinstance(found, Trouble):
                return
            trouble = found
        raise trouble.error

    @property
    def _usable(self) -> int:
        return sum(server.trouble is None for server in self.pool.servers)

    def _ask(self, server: Server, texts: list[str]) -> list[Vector | None] | Trouble:
        if self._stopped.is_set():
            raise QueryError("stopped")
        try:
            given = server.client.vectors([self.prefix + text for text in texts], self.seconds)
            vectors = usable(given, len(texts), self.dimension)
        except server.client.failures as error:
            trouble = server.client.explain(error)
            self.pool.failed(server, trouble)
            return trouble
        self.pool.succeeded(server)
        self.dimension = self.dimension or len(next(filter(None, vectors)))
        return vectors

    def _pause(self, attempt: int, trouble: Trouble) -> None:
        longest = _LONGEST_PAUSE if trouble.blame is Blame.BUSY else self.backoff * 4
        pause = min(self.backoff * 2 ** max(attempt - 1, 0), longest)
        self._stopped.wait(max(pause, trouble.wait))


def _vector_of(found: Pieces | TextFailure) -> Outcome:
    """Return the one vector of a text; of one that was not cut as it came."""
    if isinstance(found, TextFailure):
        return found
    vectors = [vector for vector, _ in found]
    if len(vectors) == 1:
        return vectors[0]
    middle = mean(vectors, [length for _, length in found])
    return middle or TextFailure(QueryError("the windows of the text have no common vector"))


@dataclass(frozen=True)
class EmbeddedBatch:
    """What became of a few texts; positions count from 0 in the order they were given.

    :param vectors: position and vector of each that has one.
    :param failures: position and reason of each that has none.
    :param tokens: how much text it was, as measured.
    """

    vectors: list[tuple[int, Vector]] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    tokens: int = 0


def embed_in_batches(
    texts: Iterable[str], embedder: BatchEmbedder, batch_tokens: int
) -> Generator[EmbeddedBatch, None, None]:
    """Embed texts, as many requests at once as the embedder's servers have slots.

    Texts are taken as they are needed, in the caller's thread, and batches come in the order
    they are done, so memory holds a few batches however many texts there are. Closing the
    iterator, or Ctrl-C, abandons what is under way at once; connections are closed then.

    :param batch_tokens: how much one request holds.
    :raises ConnectionError: when no server does its work; what came before stays valid.
    """
    batches = pack(texts, embedder.measure, batch_tokens)
    workers = _Workers(embedder, batches, embedder.pool.slots)
    try:
        yield from workers.results()
    finally:
        workers.stop()
        embedder.pool.close()


class _Workers:
    """Threads that embed batches; daemons, so that Ctrl-C waits for no server."""

    def __init__(self, embedder: BatchEmbedder, batches: Iterator[Batch], count: int) -> None:
        self._embedder, self._batches, self._count = embedder, batches, count
        self._to_do: SimpleQueue[Batch | None] = SimpleQueue()
        self._done: SimpleQueue[EmbeddedBatch | BaseException] = SimpleQueue()

    def results(self) -> Iterator[EmbeddedBatch]:
        """Yield batches until all are done.

        :raises BaseException: the first that any thread raised.
        """
        for _ in range(self._count):
            threading.Thread(target=self._work, name="rag-embed", daemon=True).start()
        waiting = 0
        while True:
            for batch in islice(self._batches, 2 * self._count - waiting):
                self._to_do.put(batch)
                waiting += 1
            if not waiting:
                return
            result = self._done.get()
            waiting -= 1
            if isinstance(result, BaseException):
                raise result
            yield result

    def stop(self) -> None:
        """Let the threads end after the request they are at."""
        self._embedder.stop()
        for _ in range(self._count):
            self._to_do.put(None)

    def _work(self) -> None:
        while (batch := self._to_do.get()) is not None:
            try:
                self._done.put(_result(batch, self._embedder.embed(batch.texts)))
            except BaseException as error:
                self._done.put(error)


def _result(batch: Batch, outcomes: list[Outcome]) -> EmbeddedBatch:
    result = EmbeddedBatch(tokens=batch.tokens)
    for position, outcome in zip(batch.positions, outcomes, strict=True):
        if isinstance(outcome, TextFailure):
            result.failures.append((position, outcome.reason))
        else:
            result.vectors.append((position, outcome))
    return result


def embed_queries(embedder: BatchEmbedder, texts: Sequence[str]) -> list[Vector | None]:
    """Return the vectors of a query and of what else to search for, in one request.

    :returns: `None` for texts that have none; the first always has one.
    :raises QueryError: when the first is empty.
    :raises ConnectionError: when no server gives a vector.
    """
    try:
        first, *others = embedder.embed(texts)
    except ConnectionError:
        if len(texts) == 1:
            raise
        # One of the others may have broken it; the query can do without them.
        first, others = embedder.embed(texts[:1])[0], []
    if isinstance(first, TextFailure):
        raise first.error
    made = [None if isinstance(one, TextFailure) else one for one in others]
    return [first, *(made or [None] * (len(texts) - 1))]
