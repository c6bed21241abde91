"""What stands before and after a passage in its note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from haystack.dataclasses import Document

from rag.index.manifest import Manifest
from rag.stores.base.document_store import BaseDocumentStore
from rag.vault.chunking import chunk_lines, merged_text


@dataclass(frozen=True)
class Span:
    """The text of neighbouring chunks of a note, without what two of them repeat.

    :param heading: the headings above its first line.
    :param added: the lines (first, last) of each part that is no part of the passage itself, in
        order.
    """

    text: str
    heading: tuple[str, ...]
    added: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Around:
    """A passage that was found, and the chunks before and after it, where there are any."""

    passage: Document
    before: Document | None = None
    after: Document | None = None

    def span(self, before: bool, after: bool) -> Span:
        """Return the passage with those of its neighbours that are wanted and there."""
        parts = [
            *([self.before] if before and self.before else []),
            self.passage,
            *([self.after] if after and self.after else []),
        ]
        held = [chunk_lines(part.content or "", part.meta) for part in parts]
        added = [
            (lines.first, lines.last)
            for part, lines in zip(parts, held, strict=True)
            if part is not self.passage
        ]
        heading = tuple(map(str, parts[0].meta.get("heading") or ()))
        return Span(merged_text(held), heading, tuple(added))


_REACH = (-1, 1)  # where a neighbour stands, counted in chunks from the one that was found


def load_neighbours(store: BaseDocumentStore, documents: Sequence[Document]) -> dict[str, Around]:
    """Return, by the id of each document, what stands around it in its note, as far as the index
    has it and it is not among the documents."""
    manifest = store.manifest()
    if manifest is None:
        return {}
    shown = {document.id: document for document in documents}
    wanted = {document.id: _beside(manifest, document, {*shown}) for document in documents}
    ids = dict.fromkeys(identity for pair in wanted.values() for identity in pair if identity)
    read = {document.id: document for document in store.get_documents([*ids])}
    return {
        identity: Around(shown[identity], *map(read.get, pair)) for identity, pair in wanted.items()
    }


def _beside(manifest: Manifest, document: Document, shown: set[str]) -> Sequence[str]:
    """Return the ids of the chunks before and after a document; "" for what there is not."""
    meta = document.meta
    row = manifest.note(str(meta.get("vault")), str(meta.get("file_path")))
    ids = [key.id for key in row.chunks] if row else []
    at = ids.index(document.id) if document.id in ids else len(ids) + 1
    beside = [ids[at + step] if 0 <= at + step < len(ids) else "" for step in _REACH]
    return ["" if identity in shown else identity for identity in beside]
