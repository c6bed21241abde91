"""Runs of things that one component hands to the next without being copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from haystack.dataclasses import Document  # noqa: F401

T = TypeVar("T")


class Batch(Sequence[T]):
    """A read-only sequence that Haystack does not copy.

    Haystack deep-copies every component's inputs, item by item, even of tuples; over an index
    of 10,000 notes that costs more than making the vectors, and in a search more than the
    engine's work. Nobody may change an item of a batch in place.
    """

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __deepcopy__(self, memo: dict[int, Any]) -> Batch[T]:
        return self


class DocumentBatch(Batch["Document"]):
    """Documents that Haystack does not copy."""
