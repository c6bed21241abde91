"""A collection of a Qdrant server, laid out for notes: words, embeddings, and filters."""

from __future__ import annotations

import math
import warnings
from http import HTTPStatus
from typing import Any

import httpx
from haystack.utils import Secret
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from rag.config import StoreConfig
from rag.stores.base.points import DENSE, SPARSE
from rag.stores.edge.shard import FILTERED
from rag.stores.server.api_key import server_key
from rag.stores.server.layout import Layout
from rag.stores.server.rest import CONNECT_SECONDS, server_transport

_QUANTIZATIONS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "scalar": {"scalar": {"type": "int8", "always_ram": True}},
    "binary": {"binary": {"always_ram": True}},
}


class NoteCollection(QdrantDocumentStore):
    """Haystack's store of one collection, whose client and layout are ours to use.

    Left to itself it makes a collection as soon as it is examined, with a vector space of a
    size that must be known, under names of its own. This one has the spaces of the embedded
    store, and is made by `create`, the place for embeddings by `add_dense_space` (Qdrant 1.18).

    :param settings: the address and the layout; the key is read when the client is made.
    """

    def __init__(self, settings: StoreConfig) -> None:
        self.settings = settings
        super().__init__(
            url=settings.addresses[0].rstrip("/"),
            api_key=Secret.from_env_var(settings.api_key_env or "QDRANT_API_KEY", strict=False),
            timeout=math.ceil(settings.timeout),
            index=settings.collection,
            use_sparse_embeddings=True,
            sparse_idf=False,  # `ChunkCounts` weighs queries, for all shards alike
            on_disk=settings.on_disk,
            on_disk_payload=True,
            progress_bar=False,
            shard_number=settings.shard_number or None,
            replication_factor=settings.replication_factor,
            write_consistency_factor=settings.write_consistency_factor,
            hnsw_config={"m": settings.hnsw_m},
            quantization_config=_QUANTIZATIONS[settings.quantization],
            payload_fields_to_index=[
                {"field_name": field, "field_schema": kind} for field, kind in FILTERED.items()
            ],
            # It asks for the server's version in a thread of its own, and warns.
            client_kwargs={"check_compatibility": False},
        )

    @property
    def client(self) -> QdrantClient:
        """The client; nothing is contacted before it is asked something."""
        if self._client is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a key sent to this machine without TLS
                self._initialize_client()
        assert self._client is not None
        return self._client

    def _prepare_client_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super()._prepare_client_params()
        return {
            **params,
            "api_key": server_key(self.settings) or None,
            "transport": server_transport(self.settings),
            "trust_env": False,
            "event_hooks": {"request": [_prepare_request]},
        }

    def _set_up_collection(self, *_: Any, **__: Any) -> None:
        """Do nothing: whoever looks at a collection does not make it."""

    # -- layout ------------------------------------------------------------------------

    def create(self, found: Layout | None) -> None:
        """Make the collection, or what is missing of it.

        :param found: the layout that it has, `None` when there is no collection.
        """
        client = self.client
        if found is None:
            words = models.SparseVectorParams(index=models.SparseIndexParams(on_disk=self.on_disk))
            try:
                client.create_collection(
                    self.index,
                    vectors_config={},
                    sparse_vectors_config={SPARSE: words},
                    **self._prepare_collection_params(),
                )
            except UnexpectedResponse as error:
                if error.status_code != HTTPStatus.CONFLICT:  # another process was faster
                    raise
        elif found.weighs_words:  # an older version of rag made it
            plain = models.SparseVectorParams(modifier=models.Modifier.NONE)
            client.update_collection(self.index, sparse_vectors_config={SPARSE: plain})
        known = found.indexed if found else ()
        fields = self.payload_fields_to_index or []
        self._create_payload_index(self.index, [f for f in fields if f["field_name"] not in known])

    def add_dense_space(self, size: int) -> None:
        """Make room for embeddings of that size, any number a point, kept in 16 bits a number."""
        nearest = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        space = models.DenseVectorConfig(
            size=size,
            distance=self.get_distance(self.similarity),
            datatype=models.VectorStorageDatatype.FLOAT16,
            multivector_config=nearest,
        )
        self.client.create_vector_name(
            self.index, DENSE, models.DenseVectorNameConfig(dense=space), wait=True
        )
        if self.on_disk:
            self.client.update_collection(
                self.index, vectors_config={DENSE: models.VectorParamsDiff(on_disk=True)}
            )


def _prepare_request(request: httpx.Request) -> None:
    # A server sends a compressed answer in two parts, the second of which waits 40 ms for the first
    # to be acknowledged.
    request.headers["Accept-Encoding"] = "identity"
    # One that is there accepts a connection long before it has an answer.
    limits = request.extensions["timeout"]
    limits["connect"] = min(limits["connect"] or CONNECT_SECONDS, CONNECT_SECONDS)
