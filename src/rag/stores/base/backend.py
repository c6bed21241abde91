"""What a store of notes is built on: the points of a shard, or those of a server's collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from rag.stores.base.points import Filter, Point
from rag.text.bm25 import SparseVector

Fields = bool | list[str]  # which of the payload are returned: all, none, or those named


class PointQuery(NamedTuple):
    """A query: the `limit` points nearest to a vector, dense (a list) or sparse.

    A dense one is compared with the nearest embedding of each point.
    """

    vector: list[float] | SparseVector
    limit: int
    where: Filter | None = None
    fields: Fields = False


class Backend(Protocol):
    """Points, as the embedded engine or a server keeps them.

    Where nothing was ever written there are none. Reading raises a `FilterError` for a condition
    that the engine does not take.
    """

    def expect(self, dimensions: Iterable[int]) -> None:
        """Make ready for queries with these dimensions of the lexical space."""

    def search(self, queries: Sequence[PointQuery]) -> list[list[Point]]:
        """Return what each query finds, the order of equal scores left open."""

    def scroll(
        self,
        limit: int,
        offset: str | None = None,
        where: Filter | None = None,
        *,
        fields: Fields = True,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        """Return `limit` points in order of id, and the offset of the next, `None` at the end."""

    def newest(self, limit: int, where: Filter | None, fields: list[str]) -> list[Point]:
        """Return the points that were created last."""

    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: Sequence[str] = ()
    ) -> list[Point]:
        """Return those of some points that there are.

        :param vectors: the spaces whose vectors are read too; there must be such.
        """

    def count(self, where: Filter | None = None) -> int:
        """Return how many points a filter selects."""

    def reserve(self, size: int) -> None:
        """Become the writer, and make sure that so many bytes can be written.

        :raises LockedError: when another process is writing.
        :raises IndexingError: when there is no room.
        """

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points, over those of the same id."""

    def delete(self, ids: Sequence[str]) -> None:
        """Delete points; unknown ids are passed over."""

    def dense_size(self) -> int | None:
        """Return the size of embeddings, `None` where there is no place for any."""

    def add_dense_space(self, size: int) -> None:
        """Make room for embeddings of that size, any number a point."""

    def drop_dense_space(self) -> None:
        """Forget all embeddings, and their size."""

    def update_vectors(self, vectors: Mapping[str, list[list[float]]]) -> None:
        """Give points, by id, the embeddings of their sentences; all else of them stays."""
