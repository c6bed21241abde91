"""The asynchronous methods of Haystack's protocol for document stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from haystack.dataclasses import Document
from haystack.document_stores.types import DuplicatePolicy

_Result = TypeVar("_Result")


async def _in_thread(work: Callable[..., _Result], *given: Any) -> _Result:
    import asyncio  # takes 15 ms, and most programs have no event loop

    return await asyncio.to_thread(work, *given)


class AsyncDocuments:
    """Does in a thread what a store does."""

    count_documents: Callable[..., int]
    filter_documents: Callable[..., list[Document]]
    write_documents: Callable[..., int]
    delete_documents: Callable[..., None]

    async def count_documents_async(self) -> int:
        """`count_documents`, off the event loop."""
        return await _in_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """`filter_documents`, off the event loop."""
        return await _in_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """`write_documents`, off the event loop."""
        return await _in_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """`delete_documents`, off the event loop."""
        await _in_thread(self.delete_documents, document_ids)
