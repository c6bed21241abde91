"""Vectors of texts by servers, whatever goes wrong with some of the texts or of the servers.

A request that fails is sent again, alone and after a pause. Does it still fail, a tiny request
tells whether the server is at fault (then the run ends, with what was made kept) or the batch.
A batch at fault is halved until what is bad in it stands alone; the rest gets its vectors.

A text that is longer than the model reads is embedded in windows, and the mean of their vectors,
weighted by length, is its vector: the same, whatever stood beside it. A server refuses a batch for
one text that is too long, Ollama after it has computed all the others. No tokenizer is at hand, so
a text whose bytes, the most tokens it can have, are no more than the model reads is sent in a
batch; one that is longer by an estimate in windows; any other alone, and in halves when it is
refused, which costs no other text anything. A server may read less than it says, or take only so
many texts at once: then a batch is refused once, and shorter or fewer texts go together.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import hypot, isfinite
from operator import mul
from queue import SimpleQueue
from typing import Any, NamedTuple

from rag.clients.errors import FAILURES, OF_THE_INPUT, BadVectors, Blame, Trouble
from rag.clients.http_client import HttpClient
from rag.clients.protocols import EmbeddedTexts, Vector
from rag.exceptions import ConnectionError, QueryError, RAGError
from rag.text.token_estimate import count_tokens

Measure = Callable[[str], int]

# -- texts by size ---------------------------------------------------------------------

MAX_TEXTS = 128  # in one batch; 1.4 MB of answer at 1,024 dimensions
LEAST_WINDOW = 16  # characters; a model that cannot read these reads nothing


class Batch(NamedTuple):
    """Texts that go into one request, and their positions among all."""

    positions: list[int]
    texts: list[str]


def most_tokens(text: str) -> int:
    """Return how many tokens a text has at the most: its bytes in UTF-8. Code, tables and numbers
    come near to it."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def pack(texts: Iterable[str], measure: Measure, batch_tokens: int) -> Iterator[Batch]:
    """Yield the texts in their order, as many at once as `batch_tokens` hold, at least one."""
    batch, size = Batch([], []), 0
    for position, text in enumerate(texts):
        tokens = measure(text)
        if batch.texts and (size + tokens > batch_tokens or len(batch.texts) >= MAX_TEXTS):
            yield batch
            batch, size = Batch([], []), 0
        batch.positions.append(position)
        batch.texts.append(text)
        size += tokens
    if batch.texts:
        yield batch


# Better places to cut come first: paragraphs, lines, sentences, words.
_CUTS = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"[.!?]\s+|[。！？]", r"[\s、，,;]+")))


def split(text: str, count: int) -> list[str]:
    """Cut a text into about `count` parts of the same length, at the best place near each cut."""
    parts = []
    while count > 1 and len(text) > 1:
        size = len(text) / count
        at = _cut_near(text, round(size), max(1, round(size / 4)))
        parts.append(text[:at])
        text, count = text[at:], count - 1
    return [part for part in (*parts, text) if part.strip()]


def windows(text: str, measure: Measure, limit: int) -> list[str]:
    """Cut a text that is too long into windows of about the same length, none of them too long.

    Together they are the text, but for windows of white space alone.

    :param limit: the most that `measure` may say of a window of more than a few characters.
    """

    def within(part: str) -> list[str]:
        if len(part) < 2 * LEAST_WINDOW or measure(part) <= limit:
            return [part]
        return [piece for half in split(part, 2) for piece in within(half)]

    # The tenth more is for cuts that are not where they would be in the middle.
    parts = split(text, max(2, math.ceil(1.1 * measure(text) / limit)))
    return [window for part in parts for window in within(part)]


def _cut_near(text: str, target: int, slack: int) -> int:
    target = max(1, target)
    low, high = max(1, target - slack), min(len(text) - 1, target + slack)
    for cut in _CUTS:
        ends = [m.end() for m in cut.finditer(text, low, high)]
        if ends:
            return min(ends, key=lambda end: abs(end - target))
    return min(target, len(text) - 1)


# -- servers ---------------------------------------------------------------------------

_FIRST_REST, _LONGEST_REST = 0.5, 30.0  # seconds out of rotation; doubled with each failure
LONGEST_WAIT = 60.0  # seconds: a server that asks for more is not waited for


@dataclass(eq=False)
class _Server:
    """One server, and how it has fared: failures since its last success, when it may be asked
    again (on the monotonic clock), and why it is of no use for the rest of the run."""

    client: HttpClient
    busy: int = 0
    answered: int = 0
    strikes: int = 0
    rests_until: float = 0.0
    trouble: Trouble | None = None


class ServerPool:
    """The servers that embed; the least busy of the healthy ones is next.

    A server that fails rests for a while, the longer the more often it failed. When all of them
    rest, the one that wakes first is asked nevertheless.

    :param max_in_flight: how many requests one server has at once.
    """

    def __init__(self, clients: Sequence[HttpClient], max_in_flight: int) -> None:
        self.servers = [_Server(client) for client in clients]
        self.max_in_flight = max_in_flight
        self.slots = len(clients) * max_in_flight
        self._changed = threading.Condition()

    @property
    def usable(self) -> int:
        """How many servers may still be asked."""
        return sum(server.trouble is None for server in self.servers)

    @property
    def all_rest(self) -> bool:
        """Whether no server is known to be well."""
        now = time.monotonic()
        return all(s.trouble or s.rests_until > now for s in self.servers)

    @contextmanager
    def lease(self) -> Iterator[_Server]:
        """Give a server for one request; waits while all are busy.

        :raises RAGError: the last trouble, when none is of use any more.
        """
        with self._changed:
            while (server := self._next()) is None:
                self._changed.wait(0.5)
            server.busy += 1
        try:
            yield server
        finally:
            with self._changed:
                server.busy -= 1
                self._changed.notify_all()

    def _next(self) -> _Server | None:
        usable = [server for server in self.servers if server.trouble is None]
        if not usable:
            raise next(s.trouble.error for s in reversed(self.servers) if s.trouble)
        now = time.monotonic()
        awake = [server for server in usable if server.rests_until <= now]
        awake = awake or [min(usable, key=lambda server: server.rests_until)]
        free = [server for server in awake if server.busy < self.max_in_flight]
        return min(free, key=lambda s: (s.busy, s.strikes, s.answered), default=None)

    def note(self, server: _Server, trouble: Trouble | None) -> None:
        """Note how a request to a server ended; what was the input's fault does not count."""
        with self._changed:
            if trouble is None:
                server.answered += 1
                server.strikes, server.rests_until = 0, 0.0
            elif trouble.blame not in OF_THE_INPUT:
                if trouble.blame is Blame.SERVER:
                    server.trouble = trouble
                server.strikes += 1
                rest = min(_FIRST_REST * 2 ** (server.strikes - 1), _LONGEST_REST)
                rest = max(rest, min(trouble.wait, LONGEST_WAIT))
                server.rests_until = time.monotonic() + rest

    def close(self) -> None:
        """Close all connections."""
        for server in self.servers:
            server.client.close()


# -- vectors ---------------------------------------------------------------------------

_BUSY_TRIES = 7  # with pauses of 0.5, 1, 2, 4, 8 and 8 s
_LONGEST_PAUSE = 8.0
_RESERVE = 8  # tokens that a model puts around a text, and what a count is wrong by
_LONGEST_WAIT_OF_QUERY = 2.0  # of what a server asks for
# What a model reads of a text at least, if it says that it can read so much: Ollama's own `num_ctx`
# and `num_batch`, which count where the model sets none, were never less.
_LEAST_CONTEXT = 2048


def usable(given: Sequence[Any], count: int, dimension: int = 0) -> list[Vector | None]:
    """Return the vectors that a server gave, `None` for each that is no vector: that has finite
    numbers, not all of them zero.

    :param count: how many there must be.
    :param dimension: the length each must have; 0 for any, but all the same.
    :raises BadVectors: also when none of them is a vector.
    """
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


def mean(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector | None:
    """Return the weighted mean of unit vectors, again of length 1; `None` if it is zero."""
    scales = [weight / hypot(*vector) for vector, weight in zip(vectors, weights, strict=True)]
    middle = [sum(map(mul, column, scales)) for column in zip(*vectors, strict=True)]
    norm = hypot(*middle)
    return [number / norm for number in middle] if norm else None


# The vectors of what a text was embedded in, in its order, and how many characters each is of; or
# why there are none.
_Pieces = list[tuple[Vector, int]] | RAGError


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
        measure: Measure = count_tokens,
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

    def embed(self, texts: Sequence[str]) -> list[Vector | RAGError]:
        """Return a vector for each text, or why it has none.

        :raises ConnectionError: when the servers are at fault, not the texts.
        """
        outcomes: dict[int, _Pieces] = {}
        ordinary = []
        for position, text in enumerate(texts):
            if not text.strip():
                outcomes[position] = QueryError("there is no text to embed")
            elif self.limit and self.measure(text) > self.limit:
                outcomes[position] = self._joined(windows(text, self.measure, self.limit))
            else:
                ordinary.append(position)
        pieces = self._by_length([texts[position] for position in ordinary])
        outcomes.update(zip(ordinary, pieces, strict=True))
        return [_vector_of(outcomes[position]) for position in range(len(texts))]

    def embed_query(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors of a query and of what else to search for, in one request; see
        `rag.clients.protocols.EmbeddingProvider`."""
        try:
            first, *others = self.embed(texts)
        except ConnectionError:
            if len(texts) == 1:
                raise
            # One of the others may have broken it; the query can do without them.
            first, others = self.embed(texts[:1])[0], [QueryError("")] * (len(texts) - 1)
        if isinstance(first, RAGError):
            raise first
        return [first, *(None if isinstance(other, RAGError) else other for other in others)]

    def _by_length(self, texts: list[str]) -> list[_Pieces]:
        """Embed those that are surely short in a batch, and each of the others alone."""
        short = [at for at, text in enumerate(texts) if most_tokens(text) <= self._sure]
        pieces = dict(zip(short, self._embed([texts[at] for at in short]), strict=True))
        for at, text in enumerate(texts):
            if at not in pieces:
                [pieces[at]] = self._embed([text])
        return [pieces[at] for at in range(len(texts))]

    def _joined(self, parts: list[str]) -> _Pieces:
        """Embed the parts of one text."""
        joined: list[tuple[Vector, int]] = []
        for pieces in self._by_length(parts):
            if isinstance(pieces, RAGError):
                return pieces
            joined += pieces
        return joined

    def _embed(self, texts: list[str], *, again: bool = True) -> list[_Pieces]:
        if not texts:
            return []
        if len(texts) > self._most_texts:
            return self._parts(texts, self._most_texts, again)
        tries = self.retries + 1 if again or len(texts) == 1 else 1
        result = self._request(texts, tries)
        if isinstance(result, list):
            # What is no vector in an answer that is otherwise right is asked for once more.
            return [
                [(vector, len(text))] if vector else self._embed([text])[0]
                for text, vector in zip(texts, result, strict=True)
            ]
        if len(texts) == 1:
            if result.blame is Blame.LENGTH and len(texts[0]) >= 2 * LEAST_WINDOW:
                return [self._joined(split(texts[0], 2))]
            self._check_servers(result)  # the text is at fault, unless the server is
            return [result.error]
        if result.blame is Blame.COUNT:
            self._most_texts = min(self._most_texts, len(texts) // 2)
            return self._embed(texts, again=again)
        if result.blame is Blame.LENGTH:
            self._sure = min(self._sure, max(map(most_tokens, texts)) // 2)
            return [pieces for text in texts for pieces in self._embed([text])]
        return self._parts(texts, len(texts) // 2, again=False)

    def _parts(self, texts: list[str], at: int, again: bool) -> list[_Pieces]:
        return self._embed(texts[:at], again=again) + self._embed(texts[at:], again=again)

    def _request(self, texts: list[str], tries: int) -> list[Vector | None] | Trouble:
        """Return the vectors, or why there are none although the servers are well."""
        tries = max(tries, self.pool.usable)
        trouble, attempt = None, 0
        while attempt < tries:
            if trouble and self.pool.all_rest:
                self._pause(attempt, trouble)
            result = self._ask(texts)
            if not isinstance(result, Trouble):
                return result
            trouble = result
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
        for _ in range(self.pool.usable if self.patient else 0):
            result = self._ask(["a"])
            if not isinstance(result, Trouble):
                return
            trouble = result
        raise trouble.error

    def _ask(self, texts: list[str]) -> list[Vector | None] | Trouble:
        with self.pool.lease() as server:
            if self._stopped.is_set():
                raise QueryError("stopped")
            try:
                given = server.client.vectors([self.prefix + text for text in texts], self.seconds)
                vectors = usable(given, len(texts), self.dimension)
            except FAILURES as error:
                trouble = server.client.explain(error)
                self.pool.note(server, trouble)
                return trouble
            self.pool.note(server, None)
        self.dimension = self.dimension or len(next(filter(None, vectors)))
        return vectors

    def _pause(self, attempt: int, trouble: Trouble) -> None:
        longest = _LONGEST_PAUSE if trouble.blame is Blame.BUSY else self.backoff * 4
        pause = min(self.backoff * 2 ** max(attempt - 1, 0), longest)
        self._stopped.wait(max(pause, trouble.wait))


def _vector_of(pieces: _Pieces) -> Vector | RAGError:
    """Return the one vector of a text; of one that was not cut as it came."""
    if isinstance(pieces, RAGError):
        return pieces
    vectors = [vector for vector, _ in pieces]
    if len(vectors) == 1:
        return vectors[0]
    middle = mean(vectors, [length for _, length in pieces])
    return middle or QueryError("the windows of the text have no common vector")


def embed_in_batches(
    texts: Iterable[str], embedder: BatchEmbedder, batch_tokens: int
) -> Generator[EmbeddedTexts, None, None]:
    """Embed texts, as many requests at once as the embedder's servers have slots.

    Texts are taken as they are needed, in the caller's thread, and batches come in the order
    they are done, so memory holds a few batches however many texts there are. Closing the
    iterator, or Ctrl-C, abandons what is under way at once; connections are closed then. The
    threads are daemons, so that Ctrl-C waits for no server.

    :param batch_tokens: how much one request holds.
    :raises ConnectionError: when no server does its work; what came before stays valid.
    """
    batches, count = pack(texts, embedder.measure, batch_tokens), embedder.pool.slots
    to_do: SimpleQueue[Batch | None] = SimpleQueue()
    done: SimpleQueue[EmbeddedTexts | BaseException] = SimpleQueue()

    def work() -> None:
        while (batch := to_do.get()) is not None:
            try:
                outcomes = dict(zip(batch.positions, embedder.embed(batch.texts), strict=True))
                vectors = [(at, v) for at, v in outcomes.items() if not isinstance(v, RAGError)]
                failures = [(at, str(e)) for at, e in outcomes.items() if isinstance(e, RAGError)]
                done.put(EmbeddedTexts(vectors, failures))
            except BaseException as error:
                done.put(error)

    for _ in range(count):
        threading.Thread(target=work, name="rag-embed", daemon=True).start()
    waiting = 0
    try:
        while True:
            for batch in islice(batches, 2 * count - waiting):
                to_do.put(batch)
                waiting += 1
            if not waiting:
                return
            result = done.get()
            waiting -= 1
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        embedder.stop()
        for _ in range(count):
            to_do.put(None)
        embedder.pool.close()
