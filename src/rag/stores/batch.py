"""Documents that one component hands to the next without being copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from haystack.dataclasses import Document


class DocumentBatch(Sequence[Document]):
    """A read-only run of documents that Haystack does not copy.

    Haystack deep-copies every component's inputs, document by document; over an index of
    10,000 notes that costs more than making the vectors. Nobody may change a document of a
    batch in place.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = tuple(documents)

    def __len__(self) -> int:
        return len(self._documents)

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Document]: ...
    def __getitem__(self, index: int | slice) -> Document | Sequence[Document]:
        return self._documents[index]

    def __deepcopy__(self, memo: dict[int, Any]) -> DocumentBatch:
        return self
