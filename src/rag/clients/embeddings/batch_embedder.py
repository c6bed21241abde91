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
from collections.abc import Sequence
from dataclasses import dataclass

from rag.clients.embeddings.batching import (
    LEAST_WINDOW,
    MAX_TEXTS,
    Measure,
    estimate_tokens,
    most_tokens,
    split,
    windows,
)
from rag.clients.embeddings.vectors import Vector, mean, usable
from rag.clients.servers.pool import LONGEST_WAIT, Server, ServerPool
from rag.clients.servers.trouble import OF_THE_INPUT, Blame, Trouble
from rag.exceptions import QueryError, RAGError

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
