"""What goes into a search and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePosixPath
from typing import ClassVar, Literal, NamedTuple

from rag.config import SearchMode as SearchMode
from rag.support.file_kinds import PAGED
from rag.support.json_reports import hidden, optional
from rag.vault.frontmatter import Property


def place_of(file: str, line: int, page: int = 0) -> str:
    """Return where something is in a file: `report.md:12`, or `report.pdf, page 3`.

    >>> place_of("work/Rollback.md", 12), place_of("work/plan.pptx", 40, 3)
    ('work/Rollback.md:12', 'work/plan.pptx, slide 3')
    """
    if not page:
        return f"{file}:{line}"
    return f"{file}, {PAGED.get(PurePosixPath(file).suffix.lower(), 'page')} {page}"


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


WORDS, MEANING = "words", "meaning"


@dataclass(frozen=True)
class SearchedVariant:
    """A text that is searched for besides the query; `label` names it in `found_by`.

    `transform` made it; `weight` is what it counts for, the query being 1; `sides` are those of
    `words` and `meaning` on which it is sought; `fallback` says why no model wrote it.
    """

    label: str
    transform: str
    text: str
    weight: float
    sides: tuple[str, ...] = (WORDS, MEANING)
    fallback: str = ""
    vector: list[float] | None = hidden(None)

    @property
    def is_embedded(self) -> bool:
        """Whether it can be searched semantically."""
        return MEANING in self.sides and self.vector is not None


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
    """A result's score: `total` = `bonus` + `fields["reading"]` + Σ weight · score of `chunks`.

    `fields` sums the terms of all chunks by field, and their `meaning` and `variants`, weights
    included, and `reading` is what a reader adds. `bonus` is what the note has for being called
    exactly what was searched for. `kept` says that it is the best of the query itself, which stays
    among the first ten.
    """

    total: float
    bonus: float
    fields: dict[str, float]
    chunks: list[ChunkScore]
    kept: bool = optional(False)


@dataclass(frozen=True)
class Excerpt:
    """Lines of a note, of which `line_start` is the number of the first."""

    line_start: int
    lines: list[str]


@dataclass
class SearchResult:
    """The best passage of a note that was found, in a search or as a source of an answer.

    :param rank: in a search, from 1.
    :param number: of a source, as the answer names it.
    :param score: in [0, 1); 0 where notes are only listed.
    :param scores: what the score was made from.
    :param id: of the note; `rag get ID` prints it. It stays as long as the note has its path.
    :param line: that which matches best, from 1 in the file; it may be that of a property.
    :param line_start: the first line of `content`.
    :param page: of a PDF, or slide, from 1.
    :param repeated: how many lines at the head of `content` stand further up in the file: the
        header of a long table.
    :param duplicates: notes (`vault/path`) that are left out because they say the same.
    :param gone: whether the file was moved or deleted since it was indexed.
    :param found_by: the variants of the query that found it: `original`, and their labels.
    :param explanation: what the score is the sum of, where that was asked for.
    :param position: of the chunk in its note, from 0; `chunk` is its id.
    :param properties: of the first chunk of a note.
    :param is_borne: words or nearness speak for it; see `rag.search.relevance`.
    """

    json_order: ClassVar[str] = (
        "rank number score scores id vault path=file_path file title heading line line_start"
        " line_end page tags created content repeated duplicates gone found_by explanation context"
    )

    content: str
    score: float
    file_path: str
    title: str
    vault: str
    position: int
    heading: list[str] = field(default_factory=list)
    line_start: int = 1
    line_end: int = 1
    line: int = 1
    repeated: int = optional(0)
    tags: list[str] = field(default_factory=list)
    created: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    explanation: Explanation | None = optional(None)
    found_by: list[str] = optional(factory=list)
    gone: bool = optional(False)
    properties: list[Property] = field(default_factory=list)
    chunk: str = ""
    page: int = optional(0)
    is_borne: bool = True
    id: str = ""
    file: str = ""
    rank: int = optional(0)
    number: int = optional(0)
    context: Excerpt | None = optional(None)

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
    """The results of a query, best first.

    :param mode: how they were found: `lexical`, `dense` or `hybrid`; `notices` say why not as
        wanted.
    :param searched: what notes were ranked by: the query's words and those added to them.
    :param corrections: words that no note holds, with what was searched for instead.
    :param missing: the other words that no note holds; `near_words` are the nearest to them.
    :param tags: that were filtered by.
    :param route: the one of `[routes]` that the query took.
    :param timings: the milliseconds that `transforms` took.
    :param relaxed: whether filters that were only understood were dropped: nothing fits them.
    """

    query: str
    results: list[SearchResult]
    total: int
    mode: str = SearchMode.LEXICAL.value
    notices: list[str] = field(default_factory=list)
    searched: str = hidden("")
    corrections: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    near_words: dict[str, NearWord] = hidden(factory=dict)
    tags: list[str] = hidden(factory=list)
    route: str = optional("")
    variants: list[SearchedVariant] = optional(factory=list)
    timings: dict[str, float] = optional(factory=dict, compare=False)
    relaxed: bool = hidden(False)
