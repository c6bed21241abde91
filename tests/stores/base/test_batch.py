"""`Batch`: a sequence that goes from one component to the next without being copied."""

import copy
from typing import Any

import pytest
from haystack import Pipeline, component
from haystack.dataclasses import Document

from rag.stores.base.batch import Batch, DocumentBatch
from rag.stores.base.scored_chunk import Candidate, Candidates


@pytest.mark.parametrize(
    "batch",
    [DocumentBatch([Document(content="a")]), Candidates([Candidate("chunk", "note", 0, 1.0)])],
)
def test_a_deep_copy_of_a_batch_is_the_batch_itself(batch: Batch[Any]) -> None:
    assert copy.deepcopy(batch) is batch


@component
class PassOn:
    """Hands on the documents that it is given."""

    @component.output_types(documents=DocumentBatch)
    def run(self, documents: DocumentBatch) -> dict[str, DocumentBatch]:
        return {"documents": documents}


def test_a_batch_and_its_documents_go_through_a_pipeline_uncopied() -> None:
    pipeline = Pipeline()
    pipeline.add_component("first", PassOn())
    pipeline.add_component("second", PassOn())
    pipeline.connect("first.documents", "second.documents")
    batch = DocumentBatch([Document(content="a")])
    out = pipeline.run({"first": {"documents": batch}}, include_outputs_from={"first"})
    assert out["first"]["documents"] is out["second"]["documents"] is batch
