"""Candidates: what ranking needs to know of a chunk, and no more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

CANDIDATE_FIELDS = ["id", "meta.file_id", "meta.section"]


class Candidate(NamedTuple):
    """A chunk that a query found: its document's id, the id of its note, which section of the
    note it is part of, and its score."""

    id: str
    note: str
    section: int
    score: float


class Candidates(tuple[Candidate, ...]):
    """Candidates that one component hands to the next without their being copied."""

    def __new__(cls, candidates: Iterable[Candidate] = ()) -> Candidates:
        return super().__new__(cls, candidates)

    def __deepcopy__(self, memo: dict[int, Any]) -> Candidates:
        return self


def to_candidate(point: Any) -> Candidate:
    """Convert a point whose payload holds `CANDIDATE_FIELDS`; a chunk without a note is one."""
    payload = point.payload
    meta = payload.get("meta") or {}
    identity = str(payload.get("id", point.id))
    score = getattr(point, "score", 0.0)
    return Candidate(identity, meta.get("file_id") or identity, meta.get("section") or 0, score)
