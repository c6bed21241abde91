"""Answers without a model: the sentences of the notes that speak most of what was asked."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from haystack import component
from haystack.dataclasses import Document

from rag.qa.answer import Quote
from rag.text.bm25 import content_terms
from rag.text.normalize import normalize
from rag.text.tokenizer import terms, tokens
from rag.vault.frontmatter import FrontMatter
from rag.vault.markdown import Kind, outline, plain
from rag.vault.sentences import sentence_spans

# A best chunk that holds less than this share of what the question's terms weigh is no
# evidence: it shares common words with the question, not its subject. Measured by
# `benchmarks/quotation.py` on questions that the notes answer and on some that they do not.
MIN_COVERAGE = 0.28
_CONTEXT_WEIGHT = 0.4  # a term in the title or headings above a sentence, against one in it
_AVERAGE_TERMS = 40.0
_OTHER_SCRIPT = 0.6  # a sentence in another script than the question's, against one in its own
# What stands before the words of a line: quote marks, list marks, task boxes, callout types.
_MARKER = re.compile(
    r"^\s*(?:>\s?)*\s*(?:\[![\w-]+\][+-]?\s*)?(?:(?:[-*+]|\d+[.)])\s+)?(?:\[.\]\s+)?"
)
_EMPHASIS = re.compile(r"[_*`]")
# Emphasis that a sentence ends within, or begins within.
_HALF_MARKED = re.compile(r"^(?:\*\*|__|~~|==)|(?:\*\*|__|~~|==)$")
_CALLOUT = re.compile(r"\s*(?:>\s?)+\[!")
# What is asked after, not about: a note that answers "how long" rarely says "long".
_MEASURE = re.compile(
    r"\bhow (?:long|often|many|much|far|big|large|old|fast|soon)\b", re.IGNORECASE
)
# "What is X?" and 「Xとは」 ask for a definition, and a definition begins "X is" or 「Xは」.
_WHAT_IS = re.compile(
    r"what(?:'s| is| are) (?:an? |the )?(?P<en>[^?]+)|(?P<ja>[^、。]+?)(?:とは|って何)"
)
_DEFINES = r"(?:an? |the )?{}(?: is | are | means | refers |は、?|とは)"
_DEFINITION = 2.5  # what the beginning of a definition counts for
_ITEM = re.compile(r"\s*(?:>\s?)*\s*(?:[-*+]\s|\d+[.)]\s|\[!)")


@dataclass(slots=True)
class _Sentence:
    text: str
    source: int
    line: int
    counts: Counter[str]
    context: frozenset[str]
    rank: float


@component
class QuotationAnswerer:
    """Answer a question by quoting the best sentences of ranked documents.

    :param max_quotes: how many sentences to quote.
    """

    def __init__(self, max_quotes: int = 4) -> None:
        if max_quotes < 1:
            raise ValueError("max_quotes must be at least 1")
        self.max_quotes = max_quotes

    @component.output_types(quotes=list[Quote], coverage=float)
    def run(
        self, query: str, documents: list[Document], typed: str = "", listed: bool = False
    ) -> dict[str, list[Quote] | float]:
        """Return `quotes`, best first, and `coverage`, the share of the question that the best
        document speaks of; no quotes when that is too little.

        :param typed: the question as it was typed, where `query` is a corrected one: a guess finds
            sentences, but is no evidence that the notes speak of what was asked.
        :param listed: whether the documents themselves are what was asked for, and not what they
            say of it: each is quoted with its first sentence then.
        """
        wanted = content_terms(_MEASURE.sub("how", query))
        coverage = best_coverage(content_terms(_MEASURE.sub("how", typed or query)), documents)
        if listed:
            return {"quotes": _beginnings(documents)[: self.max_quotes], "coverage": coverage}
        if coverage < MIN_COVERAGE:
            return {"quotes": [], "coverage": coverage}
        sentences = [
            sentence
            for number, document in enumerate(documents, 1)
            for sentence in _sentences(document, number, documents[0].score or 1.0)
        ]
        weights = _weights(wanted, [s.counts for s in sentences])
        spaced, definition = _is_spaced(query), _definition(query)
        scored = []
        for sentence in sentences:
            score = _score(sentence, weights)
            score *= 1.0 if _is_spaced(sentence.text) == spaced else _OTHER_SCRIPT
            if definition and definition.match(normalize(_EMPHASIS.sub("", sentence.text))):
                score *= _DEFINITION
            scored.append((score, sentence))
        scored.sort(key=lambda pair: (-pair[0], pair[1].source, pair[1].line))
        quotes: dict[str, Quote] = {}
        for score, sentence in scored:
            if score <= 0 or score < scored[0][0] * 0.4 or len(quotes) == self.max_quotes:
                break
            quotes.setdefault(sentence.text, Quote(sentence.text, sentence.source, sentence.line))
        return {"quotes": list(quotes.values()), "coverage": coverage}


def _definition(query: str) -> re.Pattern[str] | None:
    """Return what a sentence that defines the query's subject begins with, if it asks for that."""
    asked = _WHAT_IS.match(normalize(query).strip())
    if not asked:
        return None
    subject = (asked["en"] or asked["ja"]).strip()
    return re.compile(_DEFINES.format(re.escape(subject)))


def best_coverage(wanted: Counter[str], documents: list[Document]) -> float:
    """Return the largest share of the wanted terms, weighed by rarity, that a document holds.

    Rarity is that among `documents`; a term that none of them holds is the rarest of all.
    """
    held = [Counter(terms(_context(d) + "\n" + plain(d.content or ""))) for d in documents]
    weights = _weights(wanted, held)
    total = sum(weights.values())
    if not total:
        return 0.0
    return max((sum(w for t, w in weights.items() if t in c) / total for c in held), default=0.0)


def _is_spaced(text: str) -> bool:
    """Return whether a text is written with spaces between words, as English is."""
    return not any(token.is_run for token in tokens(text))


def _weights(wanted: Counter[str], texts: list[Counter[str]]) -> dict[str, float]:
    """Weigh terms by how few of the texts hold them. A single character of an unsegmented
    script says little beside the pairs it stands in."""
    pairs = any(len(term) == 2 and not term.isascii() for term in wanted)
    weights = {}
    for term in wanted:
        frequency = sum(term in counts for counts in texts)
        weight = math.log(1 + (len(texts) + 1) / (frequency + 0.5))
        lone = pairs and len(term) == 1 and not term.isascii()
        weights[term] = weight * (0.2 if lone else 1.0)
    return weights


def _context(document: Document) -> str:
    meta = document.meta
    return " ".join(
        [str(meta.get("title", "")), *meta.get("heading", []), *meta.get("aliases", [])]
    )


def _sentences(document: Document, source: int, best: float) -> list[_Sentence]:
    repeated = int(document.meta.get("repeated", 0))  # lines that stand further up in the note
    first = int(document.meta.get("line_start", 1)) - repeated
    context = frozenset(terms(_context(document)))
    rank = (document.score or 0.0) / best
    found = []
    for block, starts, line in _paragraphs((document.content or "").split("\n")):
        if line < repeated:
            continue
        for left, right in sentence_spans(block):
            shown = _HALF_MARKED.sub("", plain(block[left:right]))
            counts = Counter(terms(shown))
            if counts:
                at = first + line + bisect_right(starts, left) - 1
                found.append(_Sentence(shown, source, at, counts, context, rank))
    return found


def _beginnings(documents: list[Document]) -> list[Quote]:
    first = [_sentences(document, number, 1.0)[:1] for number, document in enumerate(documents, 1)]
    return [Quote(one.text, one.source, one.line) for found in first for one in found]


def _paragraphs(lines: list[str]) -> Iterator[tuple[str, list[int], int]]:
    """Yield running text, its wrapped lines joined: the text, where in it each line starts, and
    the number of its first line. Headings and code are no answer."""
    kinds = outline(lines, FrontMatter({}, 0, "")).kinds
    joined, begin = "", 0
    starts: list[int] = []
    for number, line in enumerate([*lines, ""]):
        kind = kinds[number] if number < len(lines) else Kind.BLANK
        text = _MARKER.sub("", line).strip().strip("|").strip()
        if joined and (kind != Kind.TEXT or _ITEM.match(line)):
            yield joined, starts, begin
            joined, starts = "", []
        if not text.strip("|-: ") or text.startswith("$$"):
            continue
        if text and kind in (Kind.TEXT, Kind.TABLE):
            if not joined:
                begin = number
            # Latin words were parted by the line end, Japanese ones were not.
            joined += " " if joined and (joined[-1] + text[0]).isascii() else ""
            starts.append(len(joined))
            joined += text
            if kind == Kind.TABLE or _CALLOUT.match(line):  # a callout's title is no sentence
                yield joined, starts, begin
                joined, starts = "", []


def _score(sentence: _Sentence, weights: dict[str, float]) -> float:
    length = sum(sentence.counts.values())
    norm = 0.5 * (0.4 + 0.6 * length / _AVERAGE_TERMS)
    own = sum(
        weight * sentence.counts[term] / (sentence.counts[term] + norm)
        for term, weight in weights.items()
        if term in sentence.counts
    )
    if not own:
        return 0.0
    above = sum(w for t, w in weights.items() if t in sentence.context and t not in sentence.counts)
    return (own + _CONTEXT_WEIGHT * above) * (0.5 + 0.5 * sentence.rank)
