"""The component that reads the chunks before and after those that were found."""

from __future__ import annotations

from collections.abc import Sequence

from haystack import component
from haystack.dataclasses import Document

from rag.index.manifest import Manifest
from rag.qa.neighbours.around import Around
from rag.search.components.note_ranker import OverStore

_REACH = (-1, 1)  # where a neighbour stands, counted in chunks from the one that was found


@component
class NeighbourLoader(OverStore):
    """Read the neighbours of documents in their notes.

    :param document_store: where they are.
    """

    @component.output_types(around=dict[str, Around])
    def run(self, documents: list[Document]) -> dict[str, dict[str, Around]]:
        """Return, by the id of each document, what stands `around` it, as far as the index has it
        and it is not among the documents."""
        manifest = self.document_store.manifest()
        if manifest is None:
            return {"around": {}}
        shown = {document.id for document in documents}
        wanted = {document.id: _beside(manifest, document, shown) for document in documents}
        ids = dict.fromkeys(identity for found in wanted.values() for identity in found if identity)
        read = {document.id: document for document in self.document_store.get_documents([*ids])}
        return {
            "around": {
                document.id: Around(document, *(read.get(one) for one in wanted[document.id]))
                for document in documents
            }
        }


def _beside(manifest: Manifest, document: Document, shown: set[str]) -> Sequence[str]:
    """Return the ids of the chunks before and after a document; "" for what there is not."""
    meta = document.meta
    row = manifest.note(str(meta.get("vault")), str(meta.get("file_path")))
    ids = [key.id for key in row.chunks] if row else []
    at = ids.index(document.id) if document.id in ids else len(ids) + 1
    beside = [ids[at + step] if 0 <= at + step < len(ids) else "" for step in _REACH]
    return ["" if identity in shown else identity for identity in beside]
