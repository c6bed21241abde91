"""`Batch`: a sequence that goes from one component to the next without being copied."""

import copy

from haystack import Pipeline, component
from haystack.dataclasses import Document

from rag.stores.base.points import Batch


def test_a_deep_copy_of_a_batch_is_the_batch_itself():
    batch = Batch([Document(content="a")])
    assert copy.deepcopy(batch) is batch


@component
class PassOn:
    """Hands on the documents that it is given."""

    @component.output_types(documents=Batch[Document])
    def run(self, documents: Batch[Document]) -> dict[str, Batch[Document]]:
        return {"documents": documents}


def test_a_batch_and_its_documents_go_through_a_pipeline_uncopied():
    pipeline = Pipeline()
    pipeline.add_component("first", PassOn())
    pipeline.add_component("second", PassOn())
    pipeline.connect("first.documents", "second.documents")
    batch = Batch([Document(content="a")])
    out = pipeline.run({"first": {"documents": batch}}, include_outputs_from={"first"})
    assert out["first"]["documents"] is out["second"]["documents"] is batch
