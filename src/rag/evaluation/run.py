"""Question sets (JSON lines, one question each), asking one of the index, and the metrics of its
rankings."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any, NamedTuple
from unicodedata import normalize

from haystack import Pipeline
from pydantic import AfterValidator, ConfigDict, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json

from rag.exceptions import QueryError, UsageError
from rag.search.results import QueryFilters, SearchMode
from rag.search.run import search
from rag.text.messages import refusal

HINT = 'One object a line: {"query": "rolling back", "relevant": ["folder/note.md"]}'
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
NotePath = Annotated[Text, AfterValidator(lambda path: normalize("NFC", path))]


@dataclass(frozen=True)
class Question:
    """A query and the notes it should find, by path or `vault/path` (NFC, each named once).

    A `partial` note is worth half a relevant one. `category` is empty for a question without.
    """

    __pydantic_config__ = ConfigDict(coerce_numbers_to_str=True)

    id: Text
    query: Text
    relevant: tuple[NotePath, ...]
    partial: tuple[NotePath, ...] = ()
    category: str = ""


_QUESTION = TypeAdapter(Question)


def read_questions(file: Path) -> list[Question]:
    """Read a question set from a file.

    :raises UsageError: when it cannot be read, or as `parse_questions` says.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        hint = "`rag eval --help` says what a question set is."
        raise UsageError(f"cannot read {file}", error.strerror or "", hint=hint) from error
    return parse_questions(data, str(file))


def parse_questions(data: bytes, name: str) -> list[Question]:
    """Read a question set: each line is an object with `query` and `relevant` (a list of paths),
    and optionally `id` (else the line's number), `partial` and `category`; other keys are passed
    over.

    :param name: what messages call the source.
    :raises UsageError: for anything else; it names the line and the cause.
    """
    questions: dict[str, Question] = {}
    # Not `splitlines`: a JSON string may hold U+2028 and other ends of lines as they are.
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            question = _parse(line, number)
            if question.id in questions:
                raise ValueError(f"the id {question.id!r} is that of an earlier line too")
        except ValueError as error:
            raise UsageError(f"{name}, line {number}: {cause_of(error)}", hint=HINT) from error
        questions[question.id] = question
    if not questions:
        raise UsageError(f"{name} holds no questions", hint=HINT)
    return [*questions.values()]


def _parse(line: bytes, number: int) -> Question:
    """Return the question of a line, each note named once.

    :raises ValueError: for anything else.
    """
    given = from_json(line)
    if not isinstance(given, dict):
        raise ValueError("not a JSON object")
    present = {key: value for key, value in given.items() if value is not None}
    question = _QUESTION.validate_python({"id": str(number), **present})
    relevant = tuple(dict.fromkeys(question.relevant))
    partial = tuple(path for path in dict.fromkeys(question.partial) if path not in relevant)
    if not relevant and not partial:
        raise ValueError("'relevant' and 'partial' name no note")
    return replace(question, relevant=relevant, partial=partial)


def cause_of(error: ValueError) -> str:
    """Return what is wrong with JSON, or the first thing that is wrong with its content."""
    if not isinstance(error, ValidationError):
        return str(error)
    return refusal(error.errors(include_url=False)[0])


RELEVANT, PARTIAL = 1.0, 0.5
DEPTH = 10  # results that are examined
METRICS = ("ndcg_5", "ndcg_10", "mrr", "hit_1", "hit_3", "hit_5", "recall_10")
LATENCY = "latency_ms_p50"


class Place(NamedTuple):
    """Where a note is."""

    vault: str
    path: str

    def __str__(self) -> str:
        return f"{self.vault}/{self.path}"


class Judged(NamedTuple):
    """What a question names: its gain, and the notes that answer to the name (perhaps none)."""

    gain: float
    places: frozenset[Place]


class Judge:
    """Knows the notes of an index by the names that a question may use for them.

    :param places: vault and path (NFC) of every note that may be found.
    """

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        self._places: dict[str, set[Place]] = {}
        for place in (Place(*pair) for pair in places):
            for name in (place.path, str(place)):
                self._places.setdefault(name, set()).add(place)

    def judged(self, question: Question) -> list[Judged]:
        """Return what a question names, the most telling first.

        Two names of one note (`a.md`, `work/a.md`) count once, with the higher gain.
        """
        judged: list[Judged] = []
        seen: set[frozenset[Place]] = set()
        for gain, names in ((RELEVANT, question.relevant), (PARTIAL, question.partial)):
            for name in names:
                places = frozenset(self._places.get(name, ()))
                if places not in seen or not places:
                    judged.append(Judged(gain, places))
                    seen.add(places)
        return sorted(judged, key=lambda target: (-target.gain, len(target.places)))

    def knows(self, question: Question) -> bool:
        """Return whether any note that the question calls relevant can be found at all."""
        return any(name in self._places for name in question.relevant or question.partial)


def gains(results: Iterable[Place], judged: Sequence[Judged]) -> list[float]:
    """Return the gain of each result, best first: 1 relevant, 0.5 partial, 0 neither.

    A name is answered once: of two notes called `a.md`, in two vaults, the better ranked
    counts and the other gains nothing. So no ranking gains more than the ideal one.
    """
    left = list(judged)
    gained = []
    for place in results:
        hit = next((target for target in left if place in target.places), None)
        if hit:
            left.remove(hit)
        gained.append(hit.gain if hit else 0.0)
    return gained


def score(gains: Sequence[float], judged: Sequence[float]) -> dict[str, float]:
    """Return all `METRICS` of one ranking, as trec_eval has them.

    nDCG counts every gain, the others only results with the highest gain there is. `mrr` is the
    reciprocal rank among the first ten (Voorhees, "The TREC-8 question answering track report",
    1999); where more than ten notes are wanted, `recall_10` of a perfect ranking stays below 1.

    :param gains: of the results by rank; `judged`: of all that the question names, at least one.
    """
    top = max(judged)
    hits = [gain == top for gain in gains[:DEPTH]]
    return {
        "ndcg_5": ndcg(gains, judged, 5),
        "ndcg_10": ndcg(gains, judged, 10),
        "mrr": next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0),
        **{f"hit_{k}": float(any(hits[:k])) for k in (1, 3, 5)},
        "recall_10": sum(hits) / sum(gain == top for gain in judged),
    }


def ndcg(gains: Sequence[float], judged: Sequence[float], k: int) -> float:
    """Return nDCG@k: the discounted gain of the first k, as a share of the best possible one.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4),
    2002, with linear gain and the discount 1 / log2(rank + 1): `ndcg_cut` of trec_eval.
    """
    dcg, ideal = (
        math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(ranked[:k], 1))
        for ranked in (gains, sorted(judged, reverse=True))
    )
    return dcg / ideal


@dataclass(frozen=True)
class Outcome:
    """What became of one question: `ranked` lists `vault/path`, best first, and `score` is that of
    the first, 0 where nothing was found."""

    question: Question
    ranked: list[str]
    metrics: dict[str, float]
    latency_ms: float
    score: float = 0.0


@dataclass
class Run:
    """A question set, asked in one mode, and the questions whose notes the index has not.

    `notices` are the first that a search gave.
    """

    mode: str
    outcomes: list[Outcome] = field(default_factory=list)
    unknown: list[Question] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def run_questions(
    pipeline: Pipeline,
    questions: Iterable[Question],
    judge: Judge,
    filters: QueryFilters | None = None,
    mode: str = SearchMode.AUTO,
) -> Run:
    """Search for each question and measure what is found; one whose notes the index lacks is a
    miss.

    :param mode: of the search; of `auto` the run has the name of what it came to.
    :raises UsageError: naming a question that is refused.
    """
    run, used = Run(mode), set()
    keep = mode != SearchMode.AUTO  # it is to be measured, whatever the routes
    for question in questions:
        started = time.perf_counter()
        try:
            response = search(pipeline, question.query, filters, DEPTH, mode=mode, keep_mode=keep)
        except (QueryError, UsageError) as error:
            raise UsageError(f"question {question.id}: {error.message}", hint=error.hint) from error
        milliseconds = (time.perf_counter() - started) * 1000
        places = [Place(result.vault, result.file_path) for result in response.results]
        judged = judge.judged(question)
        metrics = score(gains(places, judged), [target.gain for target in judged])
        best = response.results[0].score if response.results else 0.0
        run.outcomes.append(Outcome(question, [*map(str, places)], metrics, milliseconds, best))
        run.notices = run.notices or response.notices
        used.add(response.mode)
        if not judge.knows(question):
            run.unknown.append(question)
    if mode == SearchMode.AUTO:  # a hybrid search may search some queries lexically
        run.mode = SearchMode.HYBRID if SearchMode.HYBRID in used else SearchMode.LEXICAL
    return run


def summary(outcomes: list[Outcome]) -> dict[str, float]:
    """Return the mean of each metric, the median latency, and the number of `queries`."""
    return {
        **{name: fmean(outcome.metrics[name] for outcome in outcomes) for name in METRICS},
        LATENCY: median(outcome.latency_ms for outcome in outcomes),
        "queries": len(outcomes),
    }


def summaries(outcomes: list[Outcome]) -> dict[str, Any]:
    """Return `overall` and, by name in the order of the set, `categories`."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.question.category:
            groups.setdefault(outcome.question.category, []).append(outcome)
    return {
        "overall": summary(outcomes),
        "categories": {name: summary(group) for name, group in groups.items()},
    }


def score_auc(outcomes: Iterable[Outcome]) -> float | None:
    """Return how well the score tells right first results from wrong ones: the area under the ROC
    curve, equal scores counting a half (Hanley and McNeil, Radiology 143(1), 1982). `None` where
    none is right or none is wrong.
    """
    right: list[float] = []
    wrong: list[float] = []
    for outcome in outcomes:
        (right if outcome.metrics["hit_1"] else wrong).append(outcome.score)
    if not (right and wrong):
        return None
    pairs = product(right, wrong)
    return fmean(1.0 if score > other else 0.5 * (score == other) for score, other in pairs)
