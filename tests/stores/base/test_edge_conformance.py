"""The store against Haystack's own conformance suite, whole, on the real engine."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing.document_store import DocumentStoreBaseTests

from rag.stores import QdrantEdgeDocumentStore


class TestConformance(DocumentStoreBaseTests):
    @pytest.fixture
    def document_store(self, tmp_path) -> Iterator[QdrantEdgeDocumentStore]:
        store = QdrantEdgeDocumentStore(str(tmp_path / "index"))
        yield store
        store.close()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        """Equal but for order (the store's is by id) and for the length and precision of
        embeddings (the engine keeps them as unit vectors of 32-bit floats)."""

        def comparable(document: Document) -> dict[str, object]:
            return replace(document, embedding=None).to_dict()

        received = sorted(received, key=lambda d: d.id)
        expected = sorted(expected, key=lambda d: d.id)
        assert [*map(comparable, received)] == [*map(comparable, expected)]
        for got, want in zip(received, expected, strict=True):
            assert bool(got.embedding) is bool(want.embedding)
            if got.embedding and want.embedding:
                one, other = np.array(got.embedding), np.array(want.embedding)
                one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
                assert np.abs(one - other).max() <= 1e-6

    def test_write_documents(self, document_store):
        """Without a policy a second document of the same id is refused."""
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        self.assert_documents_are_equal(document_store.filter_documents(), [document])
