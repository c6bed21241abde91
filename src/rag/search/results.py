"""What goes into a search and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Literal, NamedTuple

from rag.config import SearchMode as SearchMode
from rag.support.file_kinds import place_of
from rag.support.json_reports import optional
from rag.vault.frontmatter import Property


@dataclass
class QueryFilters:
    """Which notes may be found: vaults any-of, tags all-of, dates inclusive.

    `paths` are globs (`projects/**/*.md`), any of which may match; so may any of `any_tags` and of
    `titles` (aliases and file names count), but none of `excluded_tags`. `values` is what front
    matter fields hold. `date_field` is the date that counts: `created` or `modified`; the days of
    `modified_from` and `modified_to` hold besides.
    """

    vaults: list[str] | None = None
    tags: list[str] | None = None
    date_from: date | None = None
    date_to: date | None = None
    paths: list[str] | None = None
    any_tags: list[str] | None = None
    excluded_tags: list[str] | None = None
    titles: list[str] | None = None
    values: dict[str, str] | None = None
    date_field: Literal["created", "modified"] = "created"
    modified_from: date | None = None
    modified_to: date | None = None


@dataclass
class SearchedVariant:
    """A text that was searched for besides the query; `label` names it in `found_by`.

    `transform` made it; `weight` is what it counts for, the query being 1; `sides` are those of
    `words` and `meaning` on which it is sought; `fallback` says why no model wrote it.
    """

    label: str
    transform: str
    text: str
    weight: float
    sides: list[str]
    fallback: str = ""


@dataclass(frozen=True)
class TermScore:
    """What one term of one field added to a chunk's score. `forms` are those in which the chunk
    holds the term, where they are others than the one that was asked for."""

    field: str
    term: str
    score: float
    forms: tuple[str, ...] = optional(())


@dataclass(frozen=True)
class ChunkScore:
    """A chunk's part in its note's score: weight · score, and what that is the sum of: its
    terms, what it gained by `meaning`, being as near the query as `cosine` (0 without an
    embedding: it gained what chunks do on average), and what `variants` of the query add, by their
    labels."""

    id: str
    line_start: int
    weight: float
    score: float
    terms: list[TermScore]
    meaning: float = 0.0
    cosine: float = 0.0
    variants: dict[str, float] = optional(factory=dict)


@dataclass(frozen=True)
class Explanation:
    """A result's score: `total` = `bonus` + Σ weight · score of `chunks`.

    `fields` sums the terms of all chunks by field, and their `meaning` and `variants`, weights
    included. `bonus` is what the note has for being called exactly what was searched for. `kept`
    says that it is the best of the query itself, which stays among the first ten.
    """

    total: float
    bonus: float
    fields: dict[str, float]
    chunks: list[ChunkScore]
    kept: bool = optional(False)


@dataclass
class SearchResult:
    """One result: the best chunk of a note. Lines count from 1 in the file."""

    content: str
    score: float  # in [0, 1)
    file_path: str
    title: str
    vault: str
    position: int
    heading: list[str] = field(default_factory=list)
    line_start: int = 1  # of the chunk
    line_end: int = 1
    line: int = 1  # the one that matches best; it may be that of a property
    # Lines at the head of `content` that stand further up in the file: the header of a long table.
    repeated: int = 0
    tags: list[str] = field(default_factory=list)
    created: str = ""
    scores: dict[str, float] = field(default_factory=dict)  # what the score was made from
    duplicates: list[str] = field(default_factory=list)  # `vault/path` of those that say the same
    explanation: Explanation | None = None
    found_by: list[str] = field(default_factory=list)  # `original`, and labels of variants
    gone: bool = False  # its file was moved or deleted since it was indexed
    properties: list[Property] = field(default_factory=list)  # of the first chunk of a note
    chunk: str = ""  # its id
    page: int = 0  # of a PDF, or a slide, from 1; 0 where there is none
    is_borne: bool = True  # words or nearness speak for it; see `rag.search.relevance`

    def place(self, line: int = 0) -> str:
        """Return where it is: `vault/path:line`, or `vault/path, page 12`.

        :param line: another than the one that matches best.
        """
        return place_of(f"{self.vault}/{self.file_path}", line or self.line, self.page)


class NearWord(NamedTuple):
    """A word that notes hold, and how many do; 0 where they are many."""

    word: str
    notes: int


@dataclass
class SearchResponse:
    """The results of a query, best first."""

    query: str
    results: list[SearchResult]
    total: int
    mode: str = SearchMode.LEXICAL.value
    notices: list[str] = field(default_factory=list)
    searched: str = ""  # what notes were ranked by: the query's words and those added to them
    corrections: dict[str, str] = field(default_factory=dict)  # words that no note holds
    missing: dict[str, NearWord | None] = field(default_factory=dict)  # others, with the nearest
    tags: list[str] = field(default_factory=list)  # that were filtered by
    route: str = ""  # the one of `[routes]` that the query took
    variants: list[SearchedVariant] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict, compare=False)  # milliseconds
    relaxed: bool = False  # filters that were only understood were dropped: nothing fits them
