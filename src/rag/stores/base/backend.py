"""What a store of notes is built on: the points of a shard, or those of a server's collection."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import qdrant_edge as qe

from rag.stores.edge.conditions import Conditions

REACH = 4


class Ask(NamedTuple):
    """A query: the `limit` points nearest to a vector, dense (a list) or sparse.

    `where` is a filter made by the backend's `conditions`; `fields` says what of the payload is
    returned. With `within` they are sought among the points nearest to that one, of which there
    are four times as many (`REACH`); a point that shares nothing with it is not among them.
    """

    vector: list[float] | qe.SparseVector
    limit: int
    where: Any = None
    fields: bool | list[str] = False
    within: qe.SparseVector | None = None


class Backend(Protocol):
    """Points, as the embedded engine or a server keeps them.

    Those it returns have an `id`, a `payload`, perhaps a `vector` (a mapping by name), and a
    `score` when they were searched for. Where nothing was ever written there are none.
    """

    conditions: Conditions

    @property
    def mutex(self) -> threading.RLock:
        """Held over steps that must not mix with those of another thread."""

    def expect(self, dimensions: Iterable[int]) -> None:
        """Make ready for queries with these dimensions of the lexical space."""

    def search(self, asks: Sequence[Ask]) -> list[list[Any]]:
        """Return what each query finds, the order of equal scores left open."""

    def scroll(
        self,
        limit: int,
        offset: Any = None,
        where: Any = None,
        *,
        fields: bool | list[str] = True,
        vectors: bool = False,
    ) -> tuple[list[Any], Any]:
        """Return `limit` points in order of id, and the offset of the next, `None` at the end."""

    def newest(self, limit: int, where: Any, fields: list[str]) -> list[Any]:
        """Return the points that were created last."""

    def retrieve(self, ids: Sequence[str], fields: bool = True) -> list[Any]:
        """Return those of some points that there are."""

    def count(self, where: Any = None) -> int:
        """Return how many points a filter selects."""

    def reserve(self, size: int) -> None:
        """Become the writer, and make sure that so many bytes can be written.

        :raises LockedError: when another process is writing.
        :raises IndexingError: when there is no room.
        """

    def upsert(self, points: Sequence[qe.Point]) -> None:
        """Write points, over those of the same id."""

    def delete(self, ids: Sequence[str]) -> None:
        """Delete points; unknown ids are passed over."""

    def dense_size(self) -> int | None:
        """Return the size of the embeddings, `None` where there is no place for any."""

    def add_dense_space(self, size: int) -> None:
        """Make room for embeddings of that size."""

    def drop_dense_space(self) -> None:
        """Forget all embeddings, and their size."""

    def update_vectors(self, vectors: Mapping[str, list[float]]) -> None:
        """Give points, by id, their embeddings; all else of them stays."""
