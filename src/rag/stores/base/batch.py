"""What one component hands to the next without its being copied, and runs of such things."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from haystack.dataclasses import Document  # noqa: F401

T = TypeVar("T")


class NotCopied:
    """Base of what Haystack, which copies the inputs of every component, is to hand on as it is."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Batch(NotCopied, Sequence[T]):
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


class DocumentBatch(Batch["Document"]):
    """Documents that Haystack does not copy."""
