"""Haystack documents as points, and back; what ranking needs to know of a point; and filters.

The payload is the document as `Document.to_dict(flatten=False)` gives it, vectors aside: the
shape that qdrant-haystack writes too. What the engine could not read again is refused here.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from array import array
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union

from rag.exceptions import IndexUnavailableError
from rag.support.pipeline_parts import NotCopied
from rag.text.bm25 import SparseVector

# Processes that only build segments do without Haystack, which takes half a second to import.
if TYPE_CHECKING:
    from haystack.dataclasses import Document
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

DENSE = "sentences"  # the space of embeddings: several a point, the nearest of which counts
SPARSE = "lexical"
_NAMESPACE = uuid.UUID("0f9c0d7a-55d1-5c0b-9c0e-6c1f5b7b2d11")
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
T = TypeVar("T")
Filter = dict[str, Any]  # Qdrant's, in JSON: what a server is sent, and the engine is given

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_MAX_DEPTH = 64  # the engine fails at 130
_TOP_LEVEL = ("id", "content", "blob", "score")
_BARE_NAME = re.compile(r"[\w-]+(\[\d*\])*$")
_EXACT_INTEGER = 1 << 53
_INTEGERS = 1 << 63
_RANGES = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}

WITH_EMBEDDING: Filter = {"must": [{"has_vector": DENSE}]}
WITHOUT_EMBEDDING: Filter = {"must_not": [{"has_vector": DENSE}]}
# Fields that filters select by. Without an index a filter reads every payload: 500 in 3 ms.
FILTERED = {
    "meta.vault": "keyword",
    "meta.tags": "keyword",
    "meta.file_id": "uuid",
    "meta.created": "datetime",
}


class StoreError(IndexUnavailableError):
    """The engine failed; `details` is what it said."""


class Batch(NotCopied, Sequence[T]):
    """A read-only sequence that Haystack does not copy, item by item: over an index of 10,000 notes
    that costs more than making the vectors. Nobody may change an item in place."""

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]


class Point(NamedTuple):
    """A chunk as a backend keeps it; `score` is that of a point that was searched for.

    `embeddings` are those of its sentences, in order, or the one of a document.
    """

    id: str
    payload: dict[str, Any]
    embeddings: list[list[float]] | None = None
    sparse: SparseVector | None = None
    score: float = 0.0


Fields = bool | list[str]  # which of the payload are returned: all, none, or those named
Query = Union["SparseEmbedding", list[float]]  # by words, or by meaning


class Search(NamedTuple):
    """A search for the `limit` points nearest to a vector; a dense one is compared with the nearest
    embedding of each point."""

    vector: list[float] | SparseVector
    limit: int
    where: Filter | None
    fields: Fields = False


class Page(NamedTuple):
    """A request for points that a filter selects, in order of id from an `offset` on, or for those
    with the latest dates in the field `newest`."""

    limit: int
    where: Filter | None = None
    fields: Fields = True
    vectors: bool = False
    offset: str | None = None
    newest: str = ""


CANDIDATE_FIELDS = ["id", "meta.file_id", "meta.section"]


class Candidate(NamedTuple):
    """A chunk that a query found: its document's id, the id of its note, which section of the
    note it is part of, and its score.

    `meaning` is what of the score is due to its embedding, `cosine` how near that is to the
    query's: 0 where there is none. `gains` is what of the score is due to variants of the query,
    by their words and by their meaning; `forms` what is due to the very words of the query.
    `weight` is that of its score in the score of its note.
    """

    id: str
    note: str
    section: int
    score: float
    meaning: float = 0.0
    cosine: float = 0.0
    gains: tuple[float, float] = (0.0, 0.0)
    forms: float = 0.0
    weight: float = 1.0


def to_candidate(point: Point) -> Candidate:
    """Convert a point whose payload holds `CANDIDATE_FIELDS`; a chunk without a note is one."""
    meta, identity = point.payload.get("meta") or {}, document_id(point)
    return Candidate(
        identity, meta.get("file_id") or identity, meta.get("section") or 0, point.score
    )


def document_id(point: Point) -> str:
    """Return the id of the document that a point holds."""
    return str(point.payload.get("id", point.id))


def point_id(document_id: str) -> str:
    """Return the UUID of a document's point: its id where that is one, else a hash of it."""
    # Other spellings of a UUID are ids of other documents.
    is_uuid = _UUID.fullmatch(document_id)
    return document_id if is_uuid else str(uuid.uuid5(_NAMESPACE, document_id))


def to_point(document: Document) -> Point:
    """Convert a document.

    :raises ValueError: for a payload that is no JSON or too deep, text that is no Unicode,
        a sparse vector whose lists do not match, or a dense one that is empty or not finite.
    """
    # Not `document.to_dict()`, which copies the vectors number by number.
    payload: dict[str, Any] = {"id": document.id, "content": document.content}
    payload["meta"] = document.meta
    if document.blob:
        payload["blob"] = document.blob.to_dict()
    check_json(document.id, payload)
    embedding, sparse = document.embedding, document.sparse_embedding
    owner = f"document {document.id}"
    return Point(
        point_id(document.id),
        payload,
        None if embedding is None else [dense_vector(embedding, owner)],
        None if sparse is None else sparse_vector(sparse, owner),
    )


def chunk_point(
    identity: str, content: str | None, meta: dict[str, Any], vector: SparseVector
) -> Point:
    """Make the point that `to_point` makes of a chunk's document, of which less is checked."""
    return Point(identity, {"id": identity, "content": content, "meta": meta}, sparse=vector)


def dense_vector(embedding: list[float], owner: str = "query") -> list[float]:
    """:raises ValueError: for an embedding that is empty, or not finite."""
    if not embedding or not _are_floats(embedding):
        raise ValueError(f"{owner}: an embedding must be finite 32-bit numbers, at least one")
    return embedding


def sparse_vector(sparse: SparseEmbedding, owner: str = "query") -> SparseVector:
    """:raises ValueError: for lists that differ in length, repeat an index, or are not finite."""
    indices, weights = sparse.indices, sparse.values
    if len(indices) != len(weights) or len(set(indices)) != len(indices):
        raise ValueError(f"{owner}: sparse indices must be distinct, one value each")
    if not _are_floats(weights):
        raise ValueError(f"{owner}: sparse values must be finite 32-bit numbers")
    try:
        array("I", indices)
    except (OverflowError, TypeError) as error:
        raise ValueError(f"{owner}: sparse indices must be 32-bit numbers") from error
    return SparseVector(indices, weights)


def _are_floats(numbers: list[float]) -> bool:
    """Whether all are finite, also with the engine's 32 bits."""
    try:
        return math.isfinite(sum(array("f", numbers)))
    except (OverflowError, TypeError):
        return False


def to_document(point: Point, score: float | None = None) -> Document:
    """Convert a point, with its vectors where they were asked for: of sentences the first one's."""
    from haystack.dataclasses import Document

    payload = dict(point.payload)
    if point.embeddings:
        payload["embedding"] = point.embeddings[0]
    if point.sparse is not None:
        sparse = point.sparse
        payload["sparse_embedding"] = {"indices": sparse.indices, "values": sparse.values}
    return Document.from_dict({**payload, "score": score})


def check_json(document_id: str, payload: dict[str, Any]) -> None:
    """:raises ValueError: for a payload that is no JSON, too deep, or holds text of no Unicode."""
    try:
        _check_depth(payload)
        _encode(payload).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"document {document_id} cannot be stored: {error}") from error


def _check_depth(value: Any, levels: int = _MAX_DEPTH) -> None:
    if levels < 0:
        raise ValueError(f"nested more than {_MAX_DEPTH} deep")
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        raise TypeError("a key is not text")
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, levels - 1)


# -- filters ---------------------------------------------------------------------------


def has_id(ids: Iterable[str]) -> Filter:
    """Return the filter that selects these points; of none, nothing."""
    return {"must": [{"has_id": sorted(ids)}]}


def convert_filters(filters: dict[str, Any] | None) -> Filter | None:
    """Convert a Haystack filter to Qdrant's; `None` and `{}` mean no filter, which is `None`.

    | Haystack | here |
    |---|---|
    | `==`, `!=` | text, number, `None` (missing, null or empty); no boolean |
    | `>`, `>=`, `<`, `<=` | numbers, ISO dates and date-times; `None` matches nothing |
    | `in`, `not in` | lists of what `==` takes; `in []` matches nothing, `not in []` all |
    | `AND`, `OR`, `NOT` | any depth; `NOT` is true when not all of its conditions hold |

    On a field that holds a list, `==` and `in` hold when one member matches, as in Qdrant.

    :raises FilterError: when the filter is malformed or compares what cannot be compared.
    """
    if not filters:
        return None
    try:
        where = _convert(filters)
        _encode(where).encode("utf-8")  # text that is no Unicode and infinite numbers are refused
        return where
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        from haystack.errors import FilterError

        raise FilterError(f"a filter that cannot be understood: {error}") from error


def _convert(node: Any) -> Filter:
    match node:
        case {"field": str(field), "operator": operator, "value": value}:
            return _comparison(field, operator, value)
        case {"operator": operator, "conditions": list(conditions)}:
            nested = [_convert(condition) for condition in conditions]
            match operator:
                case "AND":
                    return {"must": nested}
                case "OR":
                    return {"should": nested} if nested else has_id(())
                case "NOT":
                    return {"must_not": nested if len(nested) == 1 else [{"must": nested}]}
            raise ValueError(f"unknown logical operator {operator!r}: use AND, OR or NOT")
    message = "it needs an 'operator', and a 'field' with a 'value' or a list of 'conditions'"
    raise ValueError(f"{message}: {node!r}")


def _comparison(field: str, operator: Any, value: Any) -> Filter:
    # A bare name means a meta field.
    key = field if field.startswith("meta.") or field in _TOP_LEVEL else f"meta.{field}"
    match operator:
        case "==":
            return _equal(key, value)
        case "!=":
            return {"must_not": [_equal(key, value)]}
        case "in" | "not in" if isinstance(value, list):
            member = _any_of(key, value)
            return member if operator == "in" else {"must_not": [member]}
        case ">" | ">=" | "<" | "<=":
            return _range(key, _RANGES[operator], value)
    names = "use ==, !=, >, >=, <, <=, or in or not in with a list"
    raise ValueError(f"{field!r} cannot be compared by {operator!r} with {value!r}: {names}")


def _path(key: str) -> str:
    """Quote what the engine's paths cannot name bare, such as `date created`."""
    parts = key.split(".")
    if '"' in key or not all(parts):
        raise ValueError(f"a field of no possible name: {key}")
    return ".".join(part if _BARE_NAME.match(part) else f'"{part}"' for part in parts)


def _equal(key: str, value: Any) -> Filter:
    path = _path(key)
    if value is None:
        return {"must": [{"is_empty": {"key": path}}]}
    if isinstance(value, int) and abs(value) >= _INTEGERS:
        raise OverflowError(f"{value} has more than 64 bits")
    if isinstance(value, str) or (isinstance(value, int) and abs(value) >= _EXACT_INTEGER):
        return _field(path, match={"value": value})
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _field(path, range={"gte": float(value), "lte": float(value)})
    raise TypeError(f"cannot compare {key} with a {type(value).__name__}")


def _any_of(key: str, values: list[Any]) -> Filter:
    if values and all(isinstance(value, str) for value in values):
        return _field(_path(key), match={"any": values})
    return {"should": [_equal(key, value) for value in values]} if values else has_id(())


def _range(key: str, bound: str, value: Any) -> Filter:
    if value is None:
        return has_id(())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _field(_path(key), range={bound: float(value)})
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(moment, datetime):
        return _field(_path(key), range={bound: moment.isoformat()})
    raise TypeError(f"an order needs a number or an ISO date, not {value!r}")


def _field(path: str, **condition: Any) -> Filter:
    return {"must": [{"key": path, **condition}]}
