"""What goes into the pipelines and what comes out of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rag.exceptions import RAGError
from rag.vault import Note

if TYPE_CHECKING:
    from rag.pipelines.explaining import Explanation
    from rag.pipelines.window import WindowReport


@dataclass
class DocumentMeta:
    """What a note's front matter says of it; `file_id` is the UUID of the note."""

    tags: list[str] = field(default_factory=list)
    created: str = ""
    normalized: bool = False
    file_id: str = ""


@dataclass
class Document:
    """A note as `scan_vault` found it; `content` is its text below the front matter."""

    file_path: Path
    title: str
    content: str
    metadata: DocumentMeta
    vault_name: str
    note: Note | None = field(default=None, repr=False, compare=False)


@dataclass
class IndexingResult:
    """What indexing a vault did: notes found, notes (re)indexed, chunks written, what failed."""

    total_docs: int
    indexed_docs: int
    total_chunks: int
    errors: list[str] = field(default_factory=list)


@dataclass
class QueryFilters:
    """Which notes may be found: vaults any-of, tags all-of, dates inclusive.

    `paths` are globs (`projects/**/*.md`), any of which may match; so may any of `any_tags` and of
    `titles` (aliases and file names count), but none of `excluded_tags`. `values` is what front
    matter fields hold. `date_field` is the date that counts: `created` or `modified`.
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


@dataclass
class SearchResult:
    """One result: the best chunk of a note.

    `score` lies in [0, 1); `scores` holds what it was made from. Lines count from 1.
    `duplicates` are notes (`vault/path`) left out because they say the same. `found_by` names
    what found it, where variants of the query were searched for too: `original`, and their labels.
    """

    content: str
    score: float
    file_path: str
    title: str
    vault: str
    position: int
    heading: list[str] = field(default_factory=list)
    line_start: int = 1
    line_end: int = 1
    tags: list[str] = field(default_factory=list)
    created: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    explanation: Explanation | None = None
    found_by: list[str] = field(default_factory=list)


@dataclass
class SearchResponse:
    """The results of a query, best first.

    `mode` is how they were found: `lexical`, `dense` or `hybrid`; `notices` say why not as wanted.

    `searched` is what notes were ranked by: the query's words and those added to them.
    `corrections` maps words that no note holds to what was searched for instead; `tags` are
    those that were filtered by. `route` is the one of `[routes]` that the query took; `variants`
    is what was searched for besides it; `timings` the milliseconds that its `transforms` took,
    if it has any. `relaxed` is true when filters that were only understood were let go, since
    nothing fits them.
    """

    query: str
    results: list[SearchResult]
    total: int
    mode: str = "lexical"
    notices: list[str] = field(default_factory=list)
    searched: str = ""
    corrections: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    route: str = ""
    variants: list[SearchedVariant] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict, compare=False)
    relaxed: bool = False


@dataclass
class Quote:
    """A sentence of a note: `source` counts from 1 in the answer's sources, `line` in the file."""

    text: str
    source: int
    line: int


@dataclass(frozen=True)
class Citation:
    """A sentence of an answer and one of the sources it names, counted from 1; whether that
    source bears it out."""

    source: int
    sentence: str
    supported: bool


@dataclass
class Answer:
    """An answer and what it rests on.

    `confidence` is the mean score of its sources. `found` is false when the notes hold no
    answer. `model` names the model that wrote the text; empty means it is all quotation.
    `searched`, `corrections`, `tags`, `route`, `variants` and `relaxed` are as in `SearchResponse`.

    Of a model's answer: `verified` is the share of its `sentences` that carry a source which
    bears them out, `citations` are the sources they name, `struck` what was taken out. `partial`
    is true when it lacks its end; `finish_reason` is then `length`, `interrupted` or `error`, and
    `failure` what went wrong. `usage` holds `prompt_tokens`, `tokens` and `num_ctx`, `timings`
    the milliseconds of `retrieval`, of the `transforms` within it, of `load` and `generation`.
    `context` is what the model was shown; `None` when none was asked. `notices` are for the
    reader: why no model wrote the answer, above all.
    """

    text: str
    sources: list[SearchResult]
    confidence: float
    found: bool = True
    model: str = ""
    quotes: list[Quote] = field(default_factory=list)
    searched: str = ""
    corrections: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    verified: float = 0.0
    sentences: int = 0
    citations: list[Citation] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    thinking: str = ""
    partial: bool = False
    finish_reason: str = ""
    failure: RAGError | None = None
    usage: dict[str, int | None] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    context: WindowReport | None = None
    notices: list[str] = field(default_factory=list)
    route: str = ""
    variants: list[SearchedVariant] = field(default_factory=list)
    relaxed: bool = False


def plan_to_dict(response: SearchResponse | Answer) -> dict[str, Any]:
    """Return what the command line's JSON says of a query's route and variants, if it has any."""
    route = {"route": response.route} if response.route else {}
    variants = [variant_to_dict(variant) for variant in response.variants]
    return {**route, **({"variants": variants} if variants else {})}


def variant_to_dict(variant: SearchedVariant) -> dict[str, Any]:
    """Return a variant in the shape of the command line's JSON."""
    return {**asdict(variant), "weight": round(variant.weight, 6)}


def result_to_dict(result: SearchResult) -> dict[str, Any]:
    """Return a result in the shape of the command line's JSON, rank aside."""
    why = result.explanation
    explained = {"explanation": _explanation_to_dict(why)} if why else {}
    found_by = {"found_by": result.found_by} if result.found_by else {}
    return {
        "score": round(result.score, 6),
        "scores": {name: round(value, 6) for name, value in result.scores.items()},
        "vault": result.vault,
        "path": result.file_path,
        "title": result.title,
        "heading": result.heading,
        "line_start": result.line_start,
        "line_end": result.line_end,
        "tags": result.tags,
        "created": result.created,
        "content": result.content,
        "duplicates": result.duplicates,
        **found_by,
        **explained,
    }


def _explanation_to_dict(why: Explanation) -> dict[str, Any]:
    """What is only there with variants of the query is left out without."""
    found = asdict(why)
    if not found["kept"]:
        del found["kept"]
    for chunk in found["chunks"]:
        if not chunk["variants"]:
            del chunk["variants"]
    return found
