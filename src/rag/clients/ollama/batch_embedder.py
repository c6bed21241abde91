"""Vectors for one batch of texts, whatever goes wrong with some of them.

A request that fails is sent again, alone and after a pause. Does it still fail, a tiny request
tells whether the server is at fault (then the run ends, with what was made kept) or the batch.
A batch at fault is halved until what is bad in it stands alone; the rest gets its vectors.

A text that is longer than the model reads is embedded in parts, and the mean of their vectors,
weighted by length, is its vector. So a chunk stays one point of the index, nothing of it is
lost as by cutting it off, and the same text has the same vector whatever stood beside it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from rag.clients.ollama.batching import Measure, estimate_tokens, split
from rag.clients.ollama.errors import BELOW, Blame, Trouble, diagnose
from rag.clients.ollama.server_pool import Server, ServerPool
from rag.clients.ollama.vectors import Vector, mean, usable
from rag.exceptions import QueryError, RAGError

_LEAST_PART = 16  # characters; a model that cannot read these reads nothing
_BUSY_TRIES = 7  # with pauses of 0.5, 1, 2, 4, 8 and 8 s
_LONGEST_PAUSE = 8.0
_RESERVE = 8  # tokens that a model puts around a text, and what a count is wrong by


@dataclass(frozen=True)
class TextFailure:
    """Why one text has no vector."""

    error: RAGError

    @property
    def reason(self) -> str:
        """The same in one line."""
        return str(self.error)


Outcome = Vector | TextFailure


class BatchEmbedder:
    """Embed batches, from several threads at once.

    :param prefix: put before every text, and before each part of one.
    :param dimension: the length every vector must have; 0 takes that of the first.
    :param limit: the most tokens the model reads, where known: longer texts are cut before
        they are sent, not after they are refused.
    :param backoff: seconds before the second try; doubled with each.
    :param patient: `False` raises whatever goes wrong instead of finding out what it was.
    """

    def __init__(
        self,
        pool: ServerPool,
        model: str,
        *,
        prefix: str = "",
        dimension: int = 0,
        limit: int = 0,
        measure: Measure = estimate_tokens,
        keep_alive: str = "10m",
        retries: int = 2,
        backoff: float = 0.5,
        seconds: float | None = None,
        patient: bool = True,
    ) -> None:
        self.pool, self.model, self.prefix = pool, model, prefix
        self.dimension, self.measure = dimension, measure
        self.limit = max(limit - measure(prefix) - _RESERVE, 1) if limit else 0
        self.keep_alive, self.retries, self.backoff = keep_alive, retries, backoff
        self.seconds, self.patient = seconds, patient
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End all pauses; what is under way raises soon."""
        self._stopped.set()

    def embed(self, texts: Sequence[str]) -> list[Outcome]:
        """Return a vector for each text, or why it has none.

        :raises ConnectionError: when the servers are at fault, not the texts.
        """
        outcomes: dict[int, Outcome] = {}
        ordinary = []
        for position, text in enumerate(texts):
            if not text.strip():
                outcomes[position] = TextFailure(QueryError("there is no text to embed"))
            elif self.limit and self.measure(text) > self.limit:
                outcomes[position] = self._by_parts(text)
            else:
                ordinary.append(position)
        found = self._embed([texts[position] for position in ordinary])
        outcomes.update(zip(ordinary, found, strict=True))
        return [outcomes[position] for position in range(len(texts))]

    def _embed(self, texts: list[str], *, again: bool = True) -> list[Outcome]:
        if not texts:
            return []
        tries = self.retries + 1 if again or len(texts) == 1 else 1
        found = self._request(texts, tries)
        if isinstance(found, list):
            # What is no vector in an answer that is otherwise right is asked for once more.
            return [v or self._embed([t])[0] for t, v in zip(texts, found, strict=True)]
        if found.blame is Blame.LENGTH:
            if len(texts) == 1:
                return [self._by_parts(texts[0], found)]
            return [outcome for text in texts for outcome in self._embed([text])]
        if len(texts) == 1:
            return [self._given_up(found)]
        middle = len(texts) // 2
        first, second = texts[:middle], texts[middle:]
        return self._embed(first, again=False) + self._embed(second, again=False)

    def _by_parts(self, text: str, refused: Trouble | None = None) -> Outcome:
        """Embed a text that is too long.

        :param refused: the server's word that it is; without it, it only seems so.
        """
        fits = self.limit or self.measure(text)
        parts = split(text, max(2, math.ceil(1.1 * self.measure(text) / fits)))
        if refused and (len(parts) < 2 or len(text) < 2 * _LEAST_PART):
            return self._given_up(refused)
        vectors = []
        for outcome in self._embed(parts):
            if isinstance(outcome, TextFailure):
                return outcome
            vectors.append(outcome)
        found = mean(vectors, [len(part) for part in parts])
        return found or TextFailure(QueryError("the parts of the text have no common vector"))

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
            if trouble.blame in (Blame.INPUT, Blame.LENGTH, Blame.SLOW):
                break
            if trouble.blame is Blame.BUSY and self.patient:
                tries = max(tries, _BUSY_TRIES)
            attempt += 1
        assert trouble
        if trouble.blame not in (Blame.INPUT, Blame.LENGTH):
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
        body = {
            "model": self.model,
            "input": [self.prefix + text for text in texts],
            "truncate": False,
            "keep_alive": self.keep_alive,
        }
        try:
            answer = server.client.fetch("/api/embed", body, self.seconds)
            vectors = usable(answer, len(texts), self.dimension)
        except BELOW as error:
            trouble = diagnose(error, server.url, self.model, "ollama.urls")
            self.pool.failed(server, trouble)
            return trouble
        self.pool.succeeded(server)
        self.dimension = self.dimension or len(next(filter(None, vectors)))
        return vectors

    def _pause(self, attempt: int, trouble: Trouble) -> None:
        longest = _LONGEST_PAUSE if trouble.blame is Blame.BUSY else self.backoff * 4
        self._stopped.wait(min(self.backoff * 2 ** max(attempt - 1, 0), longest))
